"""The index of the references in a served folder, updated without reading all of them again at every push.

The files are the truth. At the start, and after each change, the folder is listed, and only files whose status has changed are
read. So the index is right even after the server was killed, or when other processes write into the folder.

Cost: a file status per reference, some 10 µs each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from psc.artifacts.folder import read_whole, write_whole
from psc.artifacts.references import INDEX_PATH, MAX_INDEX_BYTES, MAX_REFERENCE_BYTES, Reference, encode_index, is_reference_path
from psc.errors import RegistryError
from psc.support.forks import new_lock

_Stamp = tuple[int, int, int]


class Listing:
    """The references in the folder ``root``. Its methods may be called from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = new_lock()
        self._read_before: dict[str, tuple[_Stamp, Reference | None]] = {}
        self._changes = 1
        self._written = 0

    @property
    def n_references(self) -> int:
        """How many files of references were there when the index was last written."""
        return sum(1 for _, reference in self._read_before.values() if reference is not None)

    @property
    def is_current(self) -> bool:
        """Whether the index was written since the last change."""
        return self._written == self._changes

    def changed(self) -> None:
        """A reference has been written."""
        self._changes += 1

    def write_index(self) -> None:
        """Writes the index, if it differs. Raises StoreError when it cannot be written."""
        with self._lock:
            changes = self._changes
            self._look()
            data = encode_index(reference for _, reference in self._read_before.values() if reference is not None)
            path = self._root / INDEX_PATH
            if read_whole(path, MAX_INDEX_BYTES) != data:
                write_whole(path, data)
            self._written = changes

    def _look(self) -> None:
        listed: dict[str, tuple[_Stamp, Reference | None]] = {}
        for path, stamp in self._files():
            before = self._read_before.get(path)
            listed[path] = before if before is not None and before[0] == stamp else (stamp, self._read(path))
        self._read_before = listed

    def _files(self) -> Iterator[tuple[str, _Stamp]]:
        folders = [self._root / "keys", *_folders(self._root / "names")]
        for folder in folders:
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        path = f"{folder.relative_to(self._root).as_posix()}/{entry.name}"
                        if is_reference_path(path) and entry.is_file(follow_symlinks=False):
                            status = entry.stat(follow_symlinks=False)
                            yield path, (status.st_ino, status.st_mtime_ns, status.st_size)
            except FileNotFoundError:
                continue

    def _read(self, path: str) -> Reference | None:
        try:
            data = read_whole(self._root / path, MAX_REFERENCE_BYTES)
            return None if data is None else Reference.decode(data, origin=path)
        except RegistryError:
            return None  # psc registry verify says what is wrong with it


def _folders(parent: Path) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
