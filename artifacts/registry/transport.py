"""The transport of a registry: reading and writing the files of its layout, in any kind of storage.

A transport does not know what the files mean and trusts nothing that it reads: lengths are bounded here, contents are checked by
`psc.artifacts.registry.client`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from psc.artifacts.references import Reference
from psc.errors import RegistryError, RegistryUnreachableError

Progress = Callable[[int, int], None]
"""Called with the number of bytes of an artifact moved so far, and its size."""

ABSENT = ""
"""The entity tag of a missing file."""
PIECE_BYTES = 1 << 18


class ChangedError(RegistryError):
    """A file was to be replaced only if nobody else had replaced it, and somebody had."""


class BrokenOffError(RegistryUnreachableError):
    """A blob's bytes ended early; those that came are good, and the rest may be requested."""


class StalledError(BrokenOffError):
    """A blob's bytes stopped coming, or came too slowly to ever end."""


@dataclass(frozen=True)
class Patience:
    """How long a registry is waited for. Seconds, but for the two numbers."""

    connect: float = 2.0
    stall: float = 10.0
    """Without `least_bytes` in it, a connection is given up."""
    least_bytes: int = 1024
    answer: float = 120.0
    """How long a server may check an artifact that was pushed."""
    attempts: int = 4
    """The most attempts of a request, as long as failures look temporary."""
    backoff: float = 0.2
    """Before the second attempt; doubled before each further one."""
    longest_wait: float = 20.0
    """A server that demands a longer wait is given up."""


@dataclass(frozen=True)
class SmallFile:
    """A file read as a whole, and its entity tag, by which a later change is noticed."""

    data: bytes
    etag: str | None


@dataclass(frozen=True)
class Part:
    """A blob's bytes from `offset` on, which is 0 where a server cannot begin elsewhere."""

    offset: int
    etag: str | None
    pieces: Iterator[bytes]


class Transport(Protocol):
    """The files of a registry.

    All methods raise RegistryError, or RegistryUnreachableError where waiting or asking elsewhere may help.
    """

    @property
    def url(self) -> str:
        """Identifies the registry, in messages too; without secrets."""

    @property
    def is_local(self) -> bool:
        """Whether it never waits on a network."""

    def read(self, path: PurePosixPath, limit: int) -> SmallFile | None:
        """A file; None when it is not there. One of more than ``limit`` bytes is an error, and not read to its end."""

    def read_blob(self, reference: Reference, offset: int, etag: str | None) -> AbstractContextManager[Part | None]:
        """A blob from an offset on; None when it is not there. Ends after the reference's size: more bytes are an error.

        Raises BrokenOffError when the bytes end early, in the iterator too.
        """

    def write(self, path: PurePosixPath, data: bytes, *, if_match: str | None = None) -> None:
        """Writes a file, whole or not at all.

        Args:
            path: in the layout.
            data: all of it.
            if_match: replace only a file with this entity tag; `ABSENT`: only where there is none. Raises ChangedError.
        """

    def write_blob(self, reference: Reference, data: bytes, progress: Progress) -> bool:
        """Writes a blob unless it is there. Returns whether it was written."""

    def check_writable(self) -> None:
        """Raises where no write could succeed, as far as that can be checked without leaving a file."""

    def publish(self, references: Sequence[Reference]) -> None:
        """Sees to it that the index lists these references, which were written."""

    def close(self) -> None:
        """Gives back connections."""


def no_progress(_done: int, _total: int) -> None:
    """Shows nothing."""
