"""The tables of grammars in a store: the part of a compilation that needs no vocabulary, stored so that no text is parsed again.

They lie in ``tables/KEY.1`` of the store's folder, uncompressed, as the copies of artifacts do (see `psc.artifacts.mapped`): whole
or not there, with checksums, mapped when they are read. They are a cache. A damaged file is not used, a file that cannot be
written is skipped, and the least recently used files are removed when there are too many.

Cost: a file of about 1 MB for a programming language; 1 ms to open.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from psc.artifacts.format import Artifact, IntArray
from psc.artifacts.mapped import open_mapped, write_mapped

MAX_FILES: Final = 1_000
MAX_BYTES: Final = 256 << 20
_USED_ANEW_S: Final = 3600.0


def tables_path(root: Path, key: str) -> Path:
    """The path of a grammar's tables in a store."""
    return root / "tables" / f"{key}.1"


def read_tables(root: Path, key: str) -> Artifact | None:
    """The tables of a grammar, as arrays and JSON; None where there are none that can be used."""
    path = tables_path(root, key)
    tables = open_mapped(path, key)
    if tables is not None:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _USED_ANEW_S:
                os.utime(path)
    return tables


def write_tables(root: Path, key: str, arrays: Mapping[str, IntArray], metadata: Mapping[str, Any]) -> None:
    """Keeps the tables of a grammar; those not used for longest go where there are too many. A full disk is no error."""
    if read_tables(root, key) is not None:
        return
    path = tables_path(root, key)
    if write_mapped(path, Artifact(arrays, metadata, key, 0)):
        keep_within(path.parent, MAX_FILES, MAX_BYTES)


def keep_within(folder: Path, max_files: int, max_bytes: int) -> None:
    """Removes the files not used for longest until no more are there. Files that somebody else removes meanwhile are no matter."""
    n, total = 0, 0
    for path, size, _ in _newest_first(folder):
        n, total = n + 1, total + size
        if n > max_files or total > max_bytes:
            with contextlib.suppress(OSError):
                path.unlink()


def collect_tables(root: Path, *, max_age_s: float | None, max_bytes: int | None, remove: Callable[[Path], int]) -> tuple[int, int]:
    """Removes tables that were not used for longer, and the least recently used until the rest fits.

    Args:
        root: the store's folder.
        max_age_s: None is any.
        max_bytes: None is any.
        remove: removes a file, and returns its size.

    Returns:
        The bytes removed, and those that stay.
    """
    freed = kept = 0
    now = time.time()
    for path, size, used in _newest_first(root / "tables"):
        if (max_age_s is not None and now - used > max_age_s) or (max_bytes is not None and kept + size > max_bytes):
            freed += remove(path)
        else:
            kept += size
    return freed, kept


def _newest_first(folder: Path) -> list[tuple[Path, int, float]]:
    """Files, with their sizes and times, but for those that are being written."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not entry.name.startswith("."):
                    status = entry.stat()
                    files.append((Path(entry.path), status.st_size, status.st_mtime))
    return sorted(files, key=lambda f: -f[2])
