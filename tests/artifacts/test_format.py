"""The artifact format: round trips, the same bytes for the same input, and files that are damaged, hostile or not ours."""

import json
import random
import struct
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from grammar_tables import tables_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lark_grammars import lark_text
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.artifacts.format import MAGIC, VERSION, decode, encode, read_file, write_file
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.pipeline.build import build
from psc.errors import ArtifactError, ResourceLimitError

GRAMMAR = 'start: pair ("," pair)*\npair: NAME "=" (NAME | "(" start ")")\nNAME: /[a-z]+/\n%ignore " "\n'


@pytest.fixture(scope="module")
def data() -> bytes:
    result = build(tables_of(load_lark(GRAMMAR, lexer="basic")), byte_tokenizer())
    return encode(result.arrays, result.metadata)


@given(
    arrays=st.dictionaries(
        st.text("abc_", min_size=1, max_size=5),
        hnp.arrays(np.int32, st.integers(0, 30), elements=st.integers(-(2**31), 2**31 - 2))
        | hnp.arrays(np.uint8, st.integers(0, 30)),
        max_size=4,
    ),
    metadata=st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=5) | st.none(), max_size=3),
)
def test_round_trip(arrays: dict[str, np.ndarray], metadata: dict[str, object]) -> None:
    wide = any(
        a.dtype == np.int32 and len(a) and int(np.abs(np.diff(a.astype(np.int64))).max(initial=0)) > 2**30 for a in arrays.values()
    )
    try:
        encoded = encode(arrays, metadata)
    except ValueError:
        assert wide or any((a < -1).any() for a in arrays.values())
        return
    back = decode(encoded)
    assert back.metadata == metadata
    assert back.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert np.array_equal(back.arrays[name], array)


def test_same_input_gives_the_same_bytes(data: bytes) -> None:
    result = build(tables_of(load_lark(GRAMMAR, lexer="basic")), byte_tokenizer())
    assert encode(result.arrays, result.metadata) == data


def test_loaded_masks_are_those_of_the_process(tmp_path: Path) -> None:
    vocabulary = byte_tokenizer()
    result = build(tables_of(load_lark(lark_text("json"), lexer="basic")), vocabulary)
    write_file(tmp_path / "json.psc", encode(result.arrays, result.metadata))
    here = psc.GrammarCompiler(vocabulary).compile_lark(lark_text("json"), lexer="basic")
    loaded = psc.load(tmp_path / "json.psc", tokenizer_info=vocabulary)
    a, b = psc.GrammarMatcher(here), psc.GrammarMatcher(loaded)
    rng = random.Random(3)
    for _ in range(300):
        assert np.array_equal(a.mask(), b.mask())
        choices = a.allowed_tokens()
        token = int(rng.choice(choices))
        assert a.accept_token(token)
        assert b.accept_token(token)
        if a.is_terminated():
            a.reset()
            b.reset()


def test_every_truncation_is_refused(data: bytes) -> None:
    for end in {*range(0, 200), *range(0, len(data), 37), len(data) - 1}:
        with pytest.raises(ArtifactError):
            decode(data[:end])
    with pytest.raises(ArtifactError):
        decode(data + b"\0")


def test_every_flipped_bit_is_refused(data: bytes) -> None:
    rng = random.Random(0)
    for at in {*range(0, 120), *(rng.randrange(len(data)) for _ in range(1500))}:
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.randrange(8)
        with pytest.raises(ArtifactError):
            decode(bytes(flipped))


def test_not_ours_and_other_versions() -> None:
    for content in (b"", b"PK\x03\x04", b"{}", MAGIC, MAGIC + b"\0" * 7):
        with pytest.raises(ArtifactError):
            decode(content)
    with pytest.raises(ArtifactError, match=r"format 1; this psc reads format 5.*[Cc]ompile"):
        decode(MAGIC + struct.pack("<II", 1, 0) + b"\0" * 64)
    with pytest.raises(ArtifactError, match="cut short"):
        decode(MAGIC + struct.pack("<II", VERSION, 2**31) + b"\0" * 64)


def forge(data: bytes, change) -> bytes:  # type: ignore[no-untyped-def]
    """The file with its header changed, and the header's checksum right again."""
    (length,) = struct.unpack_from("<I", data, 12)
    header = json.loads(data[16 : 16 + length])
    change(header)
    encoded = json.dumps(header).encode()
    head = data[:12] + struct.pack("<I", len(encoded)) + encoded
    return head + sha256(head).digest() + data[48 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["payload"].update(bytes=2**40),
        lambda h: h["payload"].update(bytes=-1),
        lambda h: h["payload"].update(bytes=h["payload"]["bytes"] - 1),
        lambda h: h["payload"].update(bytes="many"),
        lambda h: h.update(payload=None),
        lambda h: h.update(metadata=[]),
        lambda h: h.update(sections={"a": 1}),
        lambda h: h["sections"][0].update(n=10**9),
        lambda h: h["sections"][0].update(n=-5),
        lambda h: h["sections"][0].update(type="f8"),
        lambda h: h["sections"][1].update(name=h["sections"][0]["name"]),
        lambda h: h["sections"].pop(0),
    ],
)
def test_hostile_headers_are_refused(data: bytes, change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ArtifactError):
        decode(forge(data, change))


def test_a_decompression_bomb_is_refused(data: bytes) -> None:
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes(300 << 20))
    forged = forge(data, lambda h: h["payload"].update(sha256=sha256(bomb).hexdigest()))
    (length,) = struct.unpack_from("<I", forged, 12)
    with pytest.raises(ArtifactError, match="declares"):
        decode(forged[: 48 + length] + bomb)


@pytest.mark.parametrize("where", ["grammar", "tokenizer"])
@pytest.mark.parametrize("value", [None, [], {}, "x", {"name": "x"}, {"name": "x", "terminals": [1], "fingerprint": "x"}])
def test_hostile_metadata_is_refused(data: bytes, where: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "x.psc").write_bytes(forge(data, lambda h: h["metadata"].update({where: value})))
    with pytest.raises(ArtifactError, match=r"x\.psc"):
        psc.load(tmp_path / "x.psc")


def use(path: Path) -> None:
    """Loads a file and runs a matcher over it, as a server would."""
    compiled = psc.load(path)
    matcher = psc.GrammarMatcher(compiled)
    rng = random.Random(1)
    for _ in range(40):
        choices = matcher.allowed_tokens()
        choices = choices[choices < compiled.vocab_size]
        if not len(choices) or matcher.is_terminated():
            return
        matcher.accept_token(int(rng.choice(choices)))
        if matcher.is_terminated():
            return
        matcher.expected_terminals()
        matcher.is_completed()


@given(seed=st.integers(0, 2**32))
def test_hostile_tables_never_crash(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tables with wrong numbers and right checksums: refused, or at worst useless; never a crash or a hang."""
    result = build(
        tables_of(load_lark(GRAMMAR, lexer="basic")), tokenizer(["a", "b", "=", ",", "(", ")", " ", "ab", "=(", "),", "a="])
    )
    arrays = {k: v.copy() for k, v in result.arrays.items()}
    rng = random.Random(seed)
    for _ in range(rng.choice([1, 1, 2, 5])):
        name = rng.choice(sorted(arrays))
        array = arrays[name]
        how = rng.randrange(4)
        if how == 0 and len(array):
            array[rng.randrange(len(array))] = (
                rng.choice([0, 1, 2, 3, 5, 7, 100])
                if array.dtype == np.uint8
                else rng.choice([-1, 0, 1, 2, 3, 5, 8, len(array), 1000, 2**30, 2**31 - 2])
            )
        elif how == 1:
            arrays[name] = array[: rng.randrange(len(array) + 1)]
        elif how == 2:
            arrays[name] = np.concatenate([array, array[:3]])
        else:
            del arrays[name]
    path = tmp_path_factory.mktemp("hostile") / "x.psc"
    path.write_bytes(encode(arrays, result.metadata))
    try:
        use(path)
    except ArtifactError as e:
        assert str(path) in str(e) or "damaged" in str(e)  # found when it was loaded, or when it was used
    except ResourceLimitError:
        pass  # tables that go round and round


def test_another_tokenizer_shows_both_fingerprints(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.psc").write_bytes(data)
    other = tokenizer(["a"])
    with pytest.raises(ArtifactError) as e:
        psc.load(tmp_path / "x.psc", tokenizer_info=other)
    assert byte_tokenizer().fingerprint in str(e.value)
    assert other.fingerprint in str(e.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="cannot read"):
        read_file(tmp_path / "absent.psc")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "x.psc").write_bytes(b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ArtifactError, match="No space left"):
        write_file(tmp_path / "x.psc", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["x.psc"]
    assert (tmp_path / "x.psc").read_bytes() == b"old"
