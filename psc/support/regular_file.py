"""Files that somebody names, or that a text imports: regular ones only, opened without waiting, read up to a limit.

A named pipe hangs the thread that opens it, and a device such as ``/dev/zero`` has no end although it says that it has 0 bytes. So
the kind is checked before the file is opened (opening a device can have effects of its own) and again once it is open.

Cost: two calls of the system more than ``Path.read_bytes``.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


class FileOrigin(str):
    """The origin of text or data of which the program itself says that it is this file: then files beside it are read, too.

    A Lark grammar imports others from there, and an artifact has its build record there. Every other origin is a label for
    messages, even one that reads like a path: an artifact, a document or a request can name any file of the machine that reads it.
    For example the text of an artifact whose grammar is called ``/home/u/x.lark`` imports nothing from ``/home/u``.
    """

    __slots__ = ()


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Opens a file for reading. Raises OSError, also for what is no regular file."""
    _check(path, os.stat(path).st_mode)
    descriptor = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY")))
    try:
        _check(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """The bytes of a file.

    Args:
        path: the file.
        limit: of its size, in bytes.

    Raises:
        OSError: it cannot be read, or is no regular file; with the number EFBIG where it is larger than the limit.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(size + 1) if size <= limit else b""  # asking for more would allocate it
        if len(content) > size:  # it grows, or is one of /proc, which has 0 bytes before it is read
            content += stream.read(limit + 1 - len(content))
    if size > limit or len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", os.fspath(path))
    return content


def read_regular_text(path: str | os.PathLike[str], limit: int) -> str:
    """The same as text in UTF-8, with lines that end in a line feed. Raises UnicodeDecodeError besides."""
    return read_regular(path, limit).decode().replace("\r\n", "\n").replace("\r", "\n")


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "no regular file (a pipe, a socket or a device)", os.fspath(path))
