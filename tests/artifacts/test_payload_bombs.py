"""Small files that want to be large in memory: refused by what their header declares, before anything of that size is made."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import zstandard
from grammar_tables import ahead_bytes
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

from psc.artifacts import format as file_format
from psc.artifacts.format import MAGIC, VERSION, Artifact, decode, encode
from psc.artifacts.references import parse_json
from psc.artifacts.scalars import SCALARS, check_lengths
from psc.errors import ArtifactError, RegistryError
from psc.support.limits import limit

Section = tuple[str, int, str, str]
"""Name, elements, type, coding."""


def zeros(n_bytes: int) -> bytes:
    """A frame of zeros that is never whole in memory."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=n_bytes)
    piece = bytes(min(n_bytes, 1 << 20))
    parts = [compressor.compress(piece[: n_bytes - at]) for at in range(0, n_bytes, 1 << 20)]
    return b"".join([*parts, compressor.flush()])


def bomb(sections: list[Section], n_bytes: int, frame: bytes | None = None, metadata: object = None) -> bytes:
    """A file of zeros, every checksum of which is right."""
    frame = zeros(n_bytes) if frame is None else frame
    described = [{"name": name, "n": n, "type": kind, "as": how} for name, n, kind, how in sections]
    payload = {"bytes": n_bytes, "sha256": sha256(frame).hexdigest()}
    header = json.dumps({"metadata": metadata or {}, "payload": payload, "sections": described}).encode()
    head = MAGIC + struct.pack("<II", VERSION, len(header)) + header
    return head + sha256(head).digest() + frame


MIB = 1 << 20
BOMBS: dict[str, tuple[list[Section], int, str]] = {
    "what was found": ([("a", 1 << 30, "u1", "plus1")], 1 << 30, "declares a payload of 1,073,741,824 bytes"),
    "bytes": ([("a", 1 << 30, "u1", "bytes")], 1 << 30, "declares a payload"),
    "the format's end": ([("a", 1 << 30, "u4", "steps")], 1 << 32, "declares a payload"),
    "within the limit": ([("a", 256 * MIB, "u1", "bytes")], 256 * MIB, "decompression bomb"),
    "many sections": ([(f"a{i}", MIB, "u1", "plus1") for i in range(200)], 200 * MIB, "decompression bomb"),
    "a little above what is free": ([("a", 20 * MIB, "u1", "plus1")], 20 * MIB, "decompression bomb"),
    "more elements than bytes": ([("a", 1 << 40, "u1", "plus1")], MIB, "the sections have"),
    "sections that overlap": ([("a", MIB, "u1", "plus1"), ("b", MIB, "u1", "plus1")], MIB, "the sections have"),
    "wide elements": ([("a", MIB, "u4", "plus1")], MIB, "the sections have"),
    "fewer elements": ([("a", 1, "u1", "plus1")], MIB, "the sections have"),
    "a negative number": ([("a", -1, "u1", "plus1"), ("b", 2, "u1", "plus1")], 1, "malformed"),
    "twice the same": ([("a", MIB, "u1", "plus1"), ("a", MIB, "u1", "plus1")], 2 * MIB, "malformed"),
    "no such type": ([("a", MIB, "u8", "plus1")], 8 * MIB, "malformed"),
    "no such coding": ([("a", MIB, "u1", "lzma")], MIB, "malformed"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_refused_unread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sections, n_bytes, why = BOMBS[name]
    data = bomb(sections, n_bytes, frame=zeros(min(n_bytes, MIB)) if n_bytes > 1 << 30 else None)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the payload was decompressed")

    monkeypatch.setattr(zstandard, "ZstdDecompressor", refuse)
    with pytest.raises(ArtifactError, match=why) as e:
        decode(data)
    assert len(str(e.value)) < 400


def test_tables_that_widen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload within the limit whose numbers take four times as much in memory."""
    random = np.random.default_rng(1).integers(0, 255, MIB, np.uint8)
    data = encode({"a": np.minimum(random, 254).astype(np.int32)}, {})
    assert decode(data, max_payload=2 * MIB).arrays["a"].nbytes == 4 * MIB
    monkeypatch.setattr(file_format, "_decompress", None)
    with pytest.raises(ArtifactError, match="the tables take 4,194,304 bytes; at most 2,097,152"):
        decode(data, max_payload=MIB)
    assert limit("artifact_payload_bytes") == limit("registry_payload_bytes") == 256 * MIB


def small() -> Artifact:
    return decode(ahead_bytes(GRAMMARS["ebnf"](), byte_tokenizer()))


LONGER: dict[str, Callable[[Artifact], dict[str, np.ndarray]]] = {
    name: lambda artifact, name=name: {**artifact.arrays, name: np.zeros(len(artifact.arrays[name]) + 1, np.int32)}
    for name in ("lexer_next", "lexer_emit", "futures", "always", "action_offsets", "gotos", "arc_offsets", "class_offsets")
} | {
    "numbers below 0": lambda artifact: {**artifact.arrays, "scalars": -1 - np.abs(artifact.arrays["scalars"])},
    "too few numbers": lambda artifact: {**artifact.arrays, "scalars": artifact.arrays["scalars"][:-1]},
    "no numbers": lambda artifact: {**artifact.arrays, "scalars": artifact.arrays["scalars"][:0]},
}


@pytest.mark.parametrize("name", LONGER)
def test_tables_longer_than_the_numbers_allow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = small()
    data = encode(LONGER[name](artifact), artifact.metadata)
    widened, seen = file_format._widened, []

    def watched(payload: bytes, begin: int, section: file_format._Section, origin: str) -> file_format.IntArray:
        seen.append(section.name)
        return widened(payload, begin, section, origin)

    monkeypatch.setattr(file_format, "_widened", watched)
    with pytest.raises(ArtifactError, match="the tables are malformed"):
        decode(data)
    assert seen == ["scalars"]


@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_every_table_of_an_artifact_is_allowed(name: str) -> None:
    artifact = decode(ahead_bytes(GRAMMARS[name](), byte_tokenizer()))
    check_lengths({name: len(array) for name, array in artifact.arrays.items()}, artifact.arrays["scalars"])
    assert len(artifact.arrays["scalars"]) == len(SCALARS)


def test_headers_of_many_values() -> None:
    """A list in a list takes two bytes of JSON, and sixty in memory."""
    for values in ("[]", "{}", '{"a":0}', "0"):
        text = f"[{','.join([values] * (limit('json_values') + 1))}]"
        header = f'{{"metadata":{{"a":{text}}},"payload":{{"bytes":0,"sha256":""}},"sections":[]}}'.encode()
        head = MAGIC + struct.pack("<II", VERSION, len(header)) + header
        with pytest.raises(ArtifactError, match=r"values; at most 4,000,000 are read"):
            decode(head + sha256(head).digest())
        with pytest.raises(RegistryError, match=r"values; at most"):
            parse_json(text.encode(), "index.json", 1 << 30)


MEASURED = """
import resource, sys
from psc.artifacts.format import decode
from psc.errors import ArtifactError
data = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode(data)
except ArtifactError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def test_memory_of_a_gibibyte(tmp_path: Path) -> None:
    sections, n_bytes, _ = BOMBS["what was found"]
    (tmp_path / "bomb.psc").write_bytes(bomb(sections, n_bytes))
    assert (tmp_path / "bomb.psc").stat().st_size < 100_000
    run = subprocess.run([sys.executable, "-c", MEASURED, tmp_path / "bomb.psc"], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 50
