"""Uncompressed copies of artifacts, to be mapped into memory: loading one again takes milliseconds, and processes share its pages.

::

    8 bytes   magic
    4 bytes   version, little-endian
    4 bytes   length H of the header
    4 bytes   CRC-32 of the header
    4 bytes   CRC-32 of the arrays
    H bytes   header: JSON: the artifact's digest, size, format and metadata, and per array its name, type, length and offset
    …         the arrays, as the runtime reads them: little-endian, each at a multiple of 64 bytes

A copy is made from a verified artifact and is only a cache: it may be deleted at any time, and a copy that is damaged, cut short
or of another version is not used. The checksum shows damage, not forgery, since a process that can write the copy can write the
store.

Cost: opening is a map, a checksum at about 5 GB/s and reading the header: 3 ms for a programming language.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import struct
import sys
import uuid
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from psc.artifacts.format import Artifact, IntArray

_MAGIC = b"\x8apscmap\n"
_VERSION = 1
_FIXED = struct.Struct("<8sIIII")
_ALIGNMENT = 64
_TYPES: dict[str, np.dtype[Any]] = {"u1": np.dtype(np.uint8), "i4": np.dtype(np.int32)}


def mapped_path(root: Path, digest: str) -> Path:
    """The path of an artifact's copy in a store."""
    return root / "mapped" / f"{digest}.{_VERSION}"


def write_mapped(path: Path, artifact: Artifact) -> bool:
    """Writes the copy. Returns whether it could: no room, or a folder that cannot be written to, is no error."""
    if sys.byteorder != "little":
        return False
    arrays, at = [], 0
    for name in sorted(artifact.arrays):
        array = artifact.arrays[name]
        kind = "u1" if array.dtype == np.uint8 else "i4"
        content = np.ascontiguousarray(array, _TYPES[kind])
        arrays.append(({"name": name, "type": kind, "n": len(content), "at": at}, content))
        at += -(-content.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = json.dumps(
        {
            "digest": artifact.digest,
            "size": artifact.size,
            "format": artifact.version,
            "metadata": artifact.metadata,
            "arrays": [entry for entry, _ in arrays],
            "bytes": at,
        },
        separators=(",", ":"),
    ).encode()
    parts = [content.tobytes() + bytes(-content.nbytes % _ALIGNMENT) for _, content in arrays]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    begin = _begin(len(header))
    head = (_FIXED.pack(_MAGIC, _VERSION, len(header), zlib.crc32(header), checksum) + header).ljust(begin, b"\0")
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as f:  # not flushed to disk: the checksum shows an incomplete write
            f.write(head)
            f.writelines(parts)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        return False
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def open_mapped(path: Path, digest: str) -> Artifact | None:
    """Maps the copy of an artifact; None when there is none that can be used.

    The arrays are read-only views of the file, and keep it mapped as long as one of them lives.
    """
    if sys.byteorder != "little":
        return None
    try:
        with path.open("rb") as f:
            data = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0), prot=mmap.PROT_READ)
    except (OSError, ValueError):  # ValueError: an empty file
        return None
    try:
        return _read(data, digest)
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _read(data: mmap.mmap, digest: str) -> Artifact | None:
    magic, version, header_length, header_checksum, checksum = _FIXED.unpack_from(data)
    begin = _begin(header_length)
    if magic != _MAGIC or version != _VERSION or begin > len(data):
        return None
    text = data[_FIXED.size : _FIXED.size + header_length]
    if zlib.crc32(text) != header_checksum:
        return None
    header = json.loads(text)
    with memoryview(data) as whole, whole[begin:] as content:
        if header["digest"] != digest or len(content) != header["bytes"] or zlib.crc32(content) != checksum:
            return None
    arrays: dict[str, IntArray] = {}
    for entry in header["arrays"]:
        arrays[entry["name"]] = np.frombuffer(data, _TYPES[entry["type"]], entry["n"], begin + entry["at"])
    return Artifact(arrays, header["metadata"], digest, header["size"], header["format"])


def _begin(header_length: int) -> int:
    return -(-(_FIXED.size + header_length) // _ALIGNMENT) * _ALIGNMENT
