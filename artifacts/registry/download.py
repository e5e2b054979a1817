"""A blob from a registry into the local store: resumed wherever it was interrupted, verified before anyone sees it.

The bytes go to ``incoming/<digest>.part`` in the store. A pull that was killed leaves the file there, and the next pull continues
after its last byte. Of two pulls of one blob at once, the second finds the file locked and uses a file of its own. The lock only
saves work: where locks do not work, both write the same bytes at the same offsets, because a blob's name is its content's hash.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psc.artifacts.folder import way_out
from psc.artifacts.references import Reference, verified
from psc.artifacts.registry.transport import BrokenOffError, Patience, Progress, StalledError, Transport
from psc.artifacts.store import Store
from psc.errors import ArtifactError, RegistryError, StoreError

_FRUITLESS = 4
"""A download ends after this number of attempts in a row without a new byte. An attempt that brought bytes does not count."""
_MAX_ATTEMPTS = 10_000
_STALLS = 2
"""The most in a row, unless there was much between them."""
_MUCH = 1 << 20
_COUNTS_AS_FRUIT = 64


def download(transport: Transport, reference: Reference, store: Store, progress: Progress, patience: Patience) -> bytes:
    """The verified bytes of an artifact, from a registry.

    Args:
        transport: to the registry.
        reference: of the blob, with its size and input key.
        store: gathers the bytes in its folder.
        progress: called for each piece.
        patience: how long to wait between attempts.

    Raises:
        RegistryError: the registry does not have the blob, or something else under its name.
        StoreError: the bytes cannot be written here.
        RegistryUnreachableError: the registry stopped answering. The next pull continues with the bytes received.
        ArtifactError: the blob is no artifact.
    """
    origin = f"{transport.url}/{reference.blob_path}"
    with _part_file(store, reference) as part:
        begun_at = part.size
        while True:
            _fetch(transport, reference, part, progress, patience)
            data = part.read(reference.size)
            try:
                verified(data, reference, origin=origin)
                part.remove()
                return data
            except (RegistryError, ArtifactError):
                part.truncate(0)  # wrong bytes are dropped
                if begun_at == 0:
                    part.remove()
                    raise
                begun_at = 0  # the bytes of an earlier pull may be what is wrong: once more, from the beginning


def _fetch(transport: Transport, reference: Reference, part: _PartFile, progress: Progress, patience: Patience) -> None:
    """Gathers the missing bytes, with as many connections as it takes."""
    etag: str | None = None
    fruitless = stalls = 0
    if part.size > reference.size:
        part.truncate(0)
    for _ in range(_MAX_ATTEMPTS):
        if part.size == reference.size:
            return
        before = part.size
        try:
            with transport.read_blob(reference, before, etag) as answer:
                if answer is None:
                    raise RegistryError(f"{transport.url}/{reference.blob_path}: the registry refers to it, but does not have it")
                if answer.offset != before:
                    part.truncate(answer.offset)
                etag = answer.etag
                for piece in answer.pieces:
                    part.append(piece)
                    if part.size > reference.size:
                        raise RegistryError(
                            f"{transport.url}/{reference.blob_path}: has more bytes than the {reference.size:,} of the reference"
                        )
                    progress(part.size, reference.size)
                if part.size < reference.size:
                    raise BrokenOffError(f"{transport.url}/{reference.blob_path}: ended after {part.size:,} bytes")
        except BrokenOffError as e:
            if isinstance(e, StalledError):
                stalls = stalls + 1 if part.size - before < _MUCH else 1
            fruitless = 0 if part.size - before >= _COUNTS_AS_FRUIT else fruitless + 1
            if fruitless >= _FRUITLESS or stalls >= _STALLS:
                raise
            time.sleep(patience.backoff * 2 ** (fruitless - 1) if fruitless else 0.0)
    raise BrokenOffError(f"{transport.url}/{reference.blob_path}: the connection broke {_MAX_ATTEMPTS:,} times")


class _PartFile:
    """The bytes gathered so far, in a file that nobody else reads."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def append(self, piece: bytes) -> None:
        """Writes where this pull stands, not at the file's end: another one may be at it, if locks do not work."""
        view = memoryview(piece)
        try:
            while view:
                n = os.pwrite(self._descriptor, view, self.size)
                self.size += n
                view = view[n:]
        except OSError as e:
            raise self._failed(e) from e

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as e:
            raise self._failed(e) from e
        self.size = size

    def read(self, size: int) -> bytes:
        data = bytearray()
        try:
            while len(data) < size and (piece := os.pread(self._descriptor, size - len(data), len(data))):
                data += piece
        except OSError as e:
            raise StoreError(f"{self._path}: cannot read the file: {e.strerror or e}") from e
        return bytes(data)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _failed(self, e: OSError) -> StoreError:
        return StoreError(f"{self._path}: cannot write the file: {e.strerror or e}{way_out(e)}")


@contextmanager
def _part_file(store: Store, reference: Reference) -> Iterator[_PartFile]:
    folder = store.root / "incoming"
    shared = folder / f"{reference.digest}.part"
    own = folder / f"{reference.digest}.{uuid.uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path, descriptor = shared, os.open(shared, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _locked(descriptor) or not _is_at(descriptor, shared):
            os.close(descriptor)
            path, descriptor = own, os.open(own, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as e:
        raise StoreError(f"{folder}: cannot write into the store: {e.strerror or e}{way_out(e)}") from e
    part = _PartFile(path, descriptor)
    try:
        yield part
    finally:
        if path == own or part.size == 0:
            part.remove()
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file opened is still the one of that name: the pull that held the lock has removed it when it was done."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
