"""Files in a folder, each there whole or not at all, even when other processes write or delete there at the same time.

A file is written under a temporary name in the same folder, flushed to disk and renamed, so a reader sees the old or the new file.
No lock is taken: a network file system may grant a lock to everyone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from psc.errors import RegistryError, StoreError

_TEMPORARY = ".tmp-"


def replace_whole(path: Path, data: bytes) -> None:
    """Writes or replaces a file in an existing folder. Raises OSError, and then leaves no temporary file."""
    temporary = path.with_name(f"{_TEMPORARY}{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file as `replace_whole`, and makes its folder. Raises StoreError, and then leaves no temporary file."""
    try:
        for attempt in (1, 2):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_whole(path, data)
                break
            except FileNotFoundError:  # somebody removed the empty folder between the two
                if attempt == 2:
                    raise
        flush_folder(path.parent)
    except OSError as e:
        raise StoreError(f"{path}: cannot write the file: {e.strerror or e}{way_out(e)}") from e


def flush_folder(folder: Path) -> None:
    """Flushes a folder's entries to disk, where the system can: else a renamed file may be gone after a power cut."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def open_to_read(path: str, flags: int) -> int:
    """For ``open(…, opener=)``: a file that somebody else may have put there. A named pipe is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_whole(path: Path, limit: int) -> bytes | None:
    """A file's bytes, or None when there is none. Raises RegistryError when it cannot be read or is longer than ``limit``."""
    try:
        with open(path, "rb", opener=open_to_read) as f:
            data = f.read(limit + 1) or b""  # None: a pipe that has nothing to say
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise RegistryError(f"{path}: cannot read the file: {e.strerror or e}") from e
    if len(data) > limit:
        raise RegistryError(f"{path}: longer than {limit:,} bytes")
    return data


def files_in(folder: Path, pattern: str) -> Iterator[Path]:
    """The files there, in order of their names, without those that are being written."""
    try:
        files = sorted(folder.glob(pattern))
    except OSError:
        return
    yield from (path for path in files if not path.name.startswith(_TEMPORARY) and path.is_file())


def remove_leftovers(folder: Path, older_than_s: float) -> int:
    """Removes temporary files that no writer can still be at work on. Returns how many bytes they had."""
    freed = 0
    for path in folder.rglob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            if time.time() - status.st_mtime > older_than_s:
                path.unlink()
                freed += status.st_size
    return freed


def way_out(error: OSError) -> str:
    """The remedy for a file that cannot be written; the end of a message."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "; make room, or shrink the store with psc registry gc"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "; choose a folder that you may write to, with --store or PSC_STORE"
    return ""
