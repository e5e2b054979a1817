"""Artifact format v5: named integer arrays and a JSON description, compressed, checksummed, the same bytes for the same input.

::

    8 bytes   magic
    4 bytes   format version, little-endian
    4 bytes   length H of the header
    H bytes   header: JSON (UTF-8, sorted keys): metadata, sections, payload length and the frame's sha256
    32 bytes  sha256 of everything above
    rest      one zstd frame: the sections' bytes, one after the other

A section is an array of integers, stored in the narrowest type that holds it, by differences when that is narrower still. The two
tables of where arcs lead are three sections (`psc.artifacts.targets`).
Nothing is pickled. Reading checks, in this order: magic, version, header length, header checksum, header structure, the sizes that
the header declares (against limits, the size of the frame and each other), the frame's checksum, its declared size against the
header's, the payload's size, and the lengths of tables against the numbers of the grammar. Only then are numbers widened to int32.
The users of the arrays check what they mean.

Cost: writing is dominated by compression; reading decompresses at about 1 GB/s and widens the arrays with NumPy.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from psc.artifacts.folder import replace_whole
from psc.artifacts.scalars import SCALARS_SECTION, check_lengths
from psc.artifacts.targets import SECTIONS, TARGET, with_targets, without_targets
from psc.errors import ArtifactError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.regular_file import read_regular
from psc.support.serialization import bounded_json

MAGIC = b"\x8apsc\r\n\x1a\n"
VERSION = 5
_MAX_HEADER = limit("artifact_header_bytes")
_MAX_PAYLOAD = limit("artifact_payload_bytes")
_MAX_RATIO = 1_000
"""Bytes of a payload for one of its frame. Sparse LR tables, which shrink most, have 110 where they are large."""
_FREE_PAYLOAD = 16 << 20
"""Bytes of a payload that may shrink to anything."""
_MAX_SCALARS = 1_000
_WINDOW_LOG = 27
_BLOCK = 1 << 18  # elements that are coded at a time
_WIDTHS: dict[str, type[np.unsignedinteger[Any]]] = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32}

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Artifact:
    """The content of a file: ``arrays`` (int32 or uint8) and JSON-like ``metadata``."""

    arrays: Mapping[str, IntArray]
    metadata: Mapping[str, Any]
    digest: str
    """sha256 of the whole file, in hex."""
    size: int
    """Bytes of the whole file."""
    version: int = VERSION


def encode(arrays: Mapping[str, IntArray], metadata: Mapping[str, Any]) -> bytes:
    """The file's bytes. Arrays must hold integers from -2**31 to 2**31 - 1; uint8 arrays come back as uint8, others as int32."""
    sections, parts = [], []
    for name, array in sorted(with_targets(arrays).items()):
        array = np.ascontiguousarray(array)
        if array.dtype == np.uint8:
            sections.append({"name": name, "n": len(array), "type": "u1", "as": "bytes"})
            parts.append(array.tobytes())
            continue
        stored, how = _narrow(array, by_steps=name in SECTIONS)
        sections.append({"name": name, "n": len(array), "type": f"u{stored.dtype.itemsize}", "as": how})
        parts.append(stored.tobytes())
    payload = b"".join(parts)
    parameters = zstandard.ZstdCompressionParameters.from_level(9, window_log=_WINDOW_LOG, enable_ldm=True)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compress(payload)
    header = json.dumps(
        {
            "metadata": metadata,
            "payload": {"bytes": len(payload), "sha256": hashlib.sha256(frame).hexdigest()},
            "sections": sections,
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    head = MAGIC + struct.pack("<II", VERSION, len(header)) + header
    return head + hashlib.sha256(head).digest() + frame


def _narrow(array: npt.NDArray[np.integer[Any]], *, by_steps: bool) -> tuple[npt.NDArray[np.unsignedinteger[Any]], str]:
    """The narrowest encoding: values shifted by one (so that -1 fits), or differences as zigzag numbers.

    Where both are as narrow, ``by_steps`` decides.
    """
    codes = {"plus1": _shifted, "steps": _zigzag_steps}
    least = dict.fromkeys(codes, 0)
    top = dict.fromkeys(codes, 0)
    for block in _blocks(array):
        for how, code in codes.items():
            coded = code(*block)
            least[how], top[how] = min(least[how], int(coded.min())), max(top[how], int(coded.max()))

    def width(how: str) -> int:
        return next((w for w in (1, 2, 4) if least[how] >= 0 and top[how] < 1 << (8 * w)), 99)

    how = min(reversed(codes) if by_steps else codes, key=width)
    if width(how) == 99:
        raise ValueError("array elements do not fit into 32 bits")
    stored = np.empty(len(array), _WIDTHS[f"u{width(how)}"])
    for at, block in zip(range(0, len(array), _BLOCK), _blocks(array), strict=True):
        stored[at : at + _BLOCK] = codes[how](*block)
    return stored, how


def _blocks(array: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """An array in parts, each with the element before it, so that a large one is never there in 64 bits."""
    before = 0
    for at in range(0, len(array), _BLOCK):
        block = array[at : at + _BLOCK].astype(np.int64)
        yield block, before
        before = int(block[-1])


def _shifted(block: npt.NDArray[np.int64], _before: int) -> npt.NDArray[np.int64]:
    return block + 1


def _zigzag_steps(block: npt.NDArray[np.int64], before: int) -> npt.NDArray[np.int64]:
    steps = np.diff(block, prepend=before)
    return np.where(steps >= 0, steps * 2, -steps * 2 - 1)


def decode(data: bytes, *, origin: str = "artifact", max_payload: int = _MAX_PAYLOAD) -> Artifact:
    """Reads the bytes of a file. Raises :class:`ArtifactError` with the origin and the first error.

    Args:
        data: the file's bytes.
        origin: the name of their source, for messages.
        max_payload: a file that declares more bytes is refused before decompression, and so is one whose tables take more than
            twice as much when each number has four bytes.

    Cost: memory for the payload and for the tables, at most three times `max_payload`, and for the header.
    """
    if len(data) < 16 or data[:8] != MAGIC:
        raise ArtifactError(f"{origin}: not a psc artifact" + (" (the file is empty)" if not data else ""))
    version, header_length = struct.unpack_from("<II", data, 8)
    if version != VERSION:
        raise ArtifactError(f"{origin}: artifact format {version}; this psc reads format {VERSION}. Compile the grammar again.")
    begin = 16 + header_length
    if header_length > _MAX_HEADER or begin + 32 > len(data):
        raise ArtifactError(f"{origin}: the file is cut short, or its header is damaged")
    if hashlib.sha256(data[:begin]).digest() != data[begin : begin + 32]:
        raise ArtifactError(f"{origin}: the header's checksum does not match: the file is damaged")
    try:
        header = bounded_json(data[16:begin])
        sections = [_Section(str(s["name"]), _count(s["n"]), str(s["type"]), str(s["as"])) for s in header["sections"]]
        size, digest = _count(header["payload"]["bytes"]), str(header["payload"]["sha256"])
        metadata = header["metadata"]
        if not isinstance(metadata, dict):
            raise TypeError("metadata")
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise ArtifactError(f"{origin}: the header is malformed: {shortened(str(e))}") from e
    frame = memoryview(data)[begin + 32 :]
    _check_sizes(sections, size, len(frame), origin, max_payload)
    if hashlib.sha256(frame).hexdigest() != digest:
        raise ArtifactError(f"{origin}: the payload's checksum does not match: the file is damaged or cut short")
    payload = _decompress(frame, size, origin)
    return Artifact(_split(payload, sections, origin), metadata, hashlib.sha256(data).hexdigest(), len(data))


def _count(value: object) -> int:
    """A number of the header that counts something: JSON knows Infinity, fractions and true as well."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value


@dataclass(frozen=True)
class _Section:
    """What the header says of a section."""

    name: str
    n: int
    kind: str
    how: str

    @property
    def is_sound(self) -> bool:
        return self.kind in _WIDTHS and self.how in ("bytes", "plus1", "steps") and self.n >= 0

    @property
    def stored_bytes(self) -> int:
        return self.n * np.dtype(_WIDTHS[self.kind]).itemsize

    @property
    def table_bytes(self) -> int:
        if self.name == TARGET:
            return 8 * self.n  # two tables are made of it
        return self.stored_bytes if self.how == "bytes" else 4 * self.n


def _check_sizes(sections: list[_Section], size: int, frame_bytes: int, origin: str, limit: int) -> None:
    """Raises ArtifactError before anything of a size that the header declares is made."""
    if not 0 <= size <= limit:
        raise ArtifactError(f"{origin}: the header declares a payload of {size:,} bytes; at most {limit:,} are read here")
    if size > _FREE_PAYLOAD + _MAX_RATIO * frame_bytes:
        raise ArtifactError(
            f"{origin}: a payload of {size:,} bytes in {frame_bytes:,} compressed ones is a decompression bomb; tables shrink to a "
            f"hundredth, and at most {_MAX_RATIO} bytes for one are read"
        )
    names: set[str] = set()
    for section in sections:
        if not section.is_sound or section.name in names:
            raise ArtifactError(f"{origin}: section {shortened(section.name)!r} is malformed")
        names.add(section.name)
    stored, tables = sum(s.stored_bytes for s in sections), sum(s.table_bytes for s in sections)
    if stored != size:
        raise ArtifactError(f"{origin}: the sections have {stored:,} bytes, and the payload {size:,}")
    if tables > 2 * limit:
        raise ArtifactError(f"{origin}: the tables take {tables:,} bytes; at most {2 * limit:,} are read here")


def _decompress(frame: memoryview, size: int, origin: str) -> bytes:
    try:
        declared = zstandard.frame_content_size(frame)
        if declared != size:
            raise ArtifactError(f"{origin}: the compressed payload declares {declared} bytes, the header {size}")
        payload = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG).decompress(
            frame, max_output_size=size, allow_extra_data=False
        )
    except (zstandard.ZstdError, MemoryError) as e:
        raise ArtifactError(f"{origin}: the payload cannot be decompressed: {e}") from e
    if len(payload) != size:
        raise ArtifactError(f"{origin}: the payload has {len(payload)} bytes instead of {size}")
    return payload


def _split(payload: bytes, sections: list[_Section], origin: str) -> dict[str, IntArray]:
    """The arrays by name. The numbers of the grammar are read first, so that no table is made that these do not allow."""
    begins = dict(zip((s.name for s in sections), accumulate((s.stored_bytes for s in sections), initial=0), strict=False))
    numbers = next((s for s in sections if s.name == SCALARS_SECTION), None)
    if numbers is not None and numbers.n <= _MAX_SCALARS:
        try:
            check_lengths({s.name: s.n for s in sections}, _widened(payload, begins[numbers.name], numbers, origin))
        except ValueError as e:
            raise ArtifactError(f"{origin}: the tables are malformed: {e}") from e
    try:
        return without_targets({section.name: _widened(payload, begins[section.name], section, origin) for section in sections})
    except ValueError as e:
        raise ArtifactError(f"{origin}: the tables are malformed: {e}") from e


def _widened(payload: bytes, begin: int, section: _Section, origin: str) -> IntArray:
    stored = np.frombuffer(payload, _WIDTHS[section.kind], section.n, begin)
    if section.how == "bytes":
        return stored.view(np.uint8)
    if section.how == "plus1":
        widened = stored.astype(np.int32)  # which wraps, so that the largest numbers are negative ones
        widened -= 1
        return widened
    made = np.empty(section.n, np.int32)
    for at, (zigzag, _) in zip(range(0, section.n, _BLOCK), _blocks(stored), strict=True):
        total = np.cumsum((zigzag >> 1) ^ -(zigzag & 1)) + (int(made[at - 1]) if at else 0)
        if int(total.max()) > 2**31 - 1 or int(total.min()) < -(2**31):
            raise ArtifactError(f"{origin}: section {shortened(section.name)!r} overflows")
        made[at : at + _BLOCK] = total
    return made


def write_file(path: str | Path, data: bytes) -> None:
    """Writes a whole file or nothing: a temporary file beside it, flushed to disk, then renamed.

    Raises:
        ArtifactError: the disk is full, or the folder cannot be written; the temporary file is removed.
    """
    path = Path(path)
    try:
        replace_whole(path, data)
    except OSError as e:
        raise ArtifactError(f"{path}: cannot write the file: {e.strerror or e}; nothing was left behind") from e


def file_bytes(path: str | Path) -> bytes:
    """The bytes of an artifact file. Raises :class:`ArtifactError` when it is missing, no regular file, or too large."""
    try:
        return read_regular(path, 16 + _MAX_HEADER + 32 + _MAX_PAYLOAD)  # compressed: more than any frame has
    except (OSError, ValueError) as e:  # ValueError: the path has a character that none can have
        raise ArtifactError(f"{path}: cannot read the artifact: {getattr(e, 'strerror', None) or e}") from e


def read_file(path: str | Path) -> Artifact:
    """Reads an artifact file. Raises :class:`ArtifactError` when it is missing, damaged or of another version."""
    return decode(file_bytes(path), origin=str(path))
