"""A registry in a folder of this machine, or of a network file system: nothing is downloaded, everything is checked anyway.

Conditional writes compare and then write, under a lock where the file system has any. A caller that needs certainty reads the file
back.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from psc.artifacts.folder import open_to_read, read_whole, write_whole
from psc.artifacts.references import MAX_INDEX_BYTES, Reference
from psc.artifacts.registry.transport import ABSENT, PIECE_BYTES, BrokenOffError, ChangedError, Part, Progress, SmallFile
from psc.artifacts.store import Store
from psc.errors import RegistryError, StoreError


class FolderTransport:
    """The folder ``root``."""

    is_local = True

    def __init__(self, root: Path) -> None:
        self._root = root.expanduser()
        self._store = Store(self._root)

    @property
    def url(self) -> str:
        return str(self._root)

    def read(self, path: PurePosixPath, limit: int) -> SmallFile | None:
        self._check_there()
        data = read_whole(self._root / path, limit)
        return None if data is None else SmallFile(data, hashlib.sha256(data).hexdigest())

    @contextmanager
    def read_blob(self, reference: Reference, offset: int, etag: str | None) -> Iterator[Part | None]:
        path = self._root / reference.blob_path
        try:
            f = open(path, "rb", opener=open_to_read)  # noqa: SIM115
        except (FileNotFoundError, NotADirectoryError):
            yield None
            return
        except OSError as e:
            raise BrokenOffError(f"{path}: cannot read the file: {e.strerror or e}") from e
        with f:
            size = os.fstat(f.fileno()).st_size
            if size != reference.size:
                raise RegistryError(f"{path}: {size:,} bytes, but the reference says {reference.size:,}")
            f.seek(offset)
            yield Part(offset, None, _pieces(f, path))

    def write(self, path: PurePosixPath, data: bytes, *, if_match: str | None = None) -> None:
        if if_match is None:
            with _the_registrys_disk():
                write_whole(self._root / path, data)
            return
        with self._locked(), _the_registrys_disk():
            now = self.read(path, 2 * MAX_INDEX_BYTES)
            if (ABSENT if now is None else now.etag) != if_match:
                raise ChangedError(f"{self._root / path}: somebody else has changed the file meanwhile")
            write_whole(self._root / path, data)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Makes comparing and writing one step, where the file system has locks; where not, it is two."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with (self._root / ".lock").open("ab") as lock:
                with contextlib.suppress(ImportError, OSError):
                    import fcntl

                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as e:
            raise RegistryError(f"{self._root}: cannot write into the folder: {e.strerror or e}") from e

    def write_blob(self, reference: Reference, data: bytes, progress: Progress) -> bool:
        with _the_registrys_disk():
            written = self._store.add_blob(data, reference)
        progress(len(data), len(data))
        return written

    def check_writable(self) -> None:
        there = next(folder for folder in (self._root, *self._root.absolute().parents) if folder.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise RegistryError(
                f"{self._root}: {there} is {'no folder' if not there.is_dir() else 'a folder that cannot be written to'}"
            )

    def publish(self, references: Sequence[Reference]) -> None:
        with _the_registrys_disk():
            self._store.write_index()

    def close(self) -> None:
        pass

    def _check_there(self) -> None:
        if not self._root.is_dir():
            raise RegistryError(f"{self._root}: there is no such folder, so no registry")


@contextmanager
def _the_registrys_disk() -> Iterator[None]:
    """A registry that is a folder has the layout of a store, but what cannot be written there is no fault of the local store's."""
    try:
        yield
    except StoreError as e:
        raise RegistryError(str(e)) from e


def _pieces(f: BinaryIO, path: Path) -> Iterator[bytes]:
    while True:
        try:
            piece = f.read(PIECE_BYTES)
        except OSError as e:
            raise BrokenOffError(f"{path}: cannot read the file: {e.strerror or e}") from e
        if not piece:
            return
        yield piece
