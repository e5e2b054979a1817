"""Vocabularies of GGUF models: what each type of token stands for, what ends a text, and what damaged files lead to."""

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_bytes import ARRAY, BYTE, CONTROL, NORMAL, STRING, UNKNOWN, UNUSED, USER_DEFINED, gguf_bytes, string, vocabulary_pairs

from psc import TokenizerInfo, load_tokenizer
from psc.errors import TokenizerError
from psc.vocabulary.gguf_file import read_gguf_pairs
from psc.vocabulary.gguf_vocabulary import read_gguf_vocabulary
from psc.vocabulary.reading import Vocabulary
from psc.vocabulary.token_table import VocabType

SPACED = [
    ("<unk>", UNKNOWN),
    ("<s>", CONTROL),
    ("</s>", CONTROL),
    ("<0x0A>", BYTE),
    ("<0xfF>", BYTE),
    ("▁the", NORMAL),
    ("<0x41>", NORMAL),  # text that looks like a byte
    ("<think>", USER_DEFINED),
    ("▁▁", USER_DEFINED),  # converters have written the spaces themselves, where they are meant
    ("[PAD9]", UNUSED),
    ("", 0),
    (b"\xff", NORMAL),
]
BYTE_LEVEL = [
    ("<|endoftext|>", CONTROL),
    ("<|im_end|>", CONTROL),
    ("Ġthe", NORMAL),
    ("Ċ", NORMAL),
    ("Ã", NORMAL),  # half a character
    ("<think>", USER_DEFINED),
    ("Ġ", USER_DEFINED),
    ("<0x41>", BYTE),
    ("[PAD8]", UNUSED),
]


def read(pairs: dict[str, object]) -> Vocabulary:
    content = gguf_bytes(pairs)
    return read_gguf_vocabulary(io.BytesIO(content), len(content), "x.gguf")


def test_sentencepiece_spelling() -> None:
    vocabulary = read(vocabulary_pairs(SPACED, eos_token_id=2, add_space_prefix=False))
    assert vocabulary.tokens == [
        b"",
        b"",
        b"",
        b"\n",
        b"\xff",
        b" the",
        b"<0x41>",
        b"<think>",
        "▁▁".encode(),
        b"",
        b"",
        b"\xff",
    ]
    assert vocabulary.special == {0: "<unk>", 1: "<s>", 2: "</s>"}
    assert (vocabulary.stop, vocabulary.vocab_type, vocabulary.add_prefix_space) == ((2,), VocabType.BYTE_FALLBACK, False)


def test_byte_level_spelling() -> None:
    vocabulary = read(vocabulary_pairs(BYTE_LEVEL, model="gpt2", pre="qwen2", eos_token_id=1))
    assert vocabulary.tokens == [b"", b"", b" the", b"\n", b"\xc3", b"<think>", "Ġ".encode(), b"A", b""]
    assert vocabulary.special == {0: "<|endoftext|>", 1: "<|im_end|>"}
    assert (vocabulary.stop, vocabulary.vocab_type, vocabulary.add_prefix_space) == ((0, 1), VocabType.BYTE_LEVEL, False)


@pytest.mark.parametrize(("model", "pre"), [("gemma4", "gemma4"), ("gpt2", "sarvam-moe"), ("t5", "default")])
def test_other_models_that_spell_as_sentencepiece(model: str, pre: str) -> None:
    vocabulary = read(vocabulary_pairs([("▁the", NORMAL), ("Ġ", NORMAL), ("<0x0A>", BYTE)], model=model, pre=pre))
    assert vocabulary.tokens == [b" the", "Ġ".encode(), b"\n"]


def test_without_types_all_tokens_are_text() -> None:
    pairs = vocabulary_pairs([("▁a", NORMAL), ("</s>", CONTROL)], eos_token_id=1)
    del pairs["tokenizer.ggml.token_type"]
    assert read(pairs).tokens == [b" a", b"</s>"]


@pytest.mark.parametrize(
    ("names", "more", "stop"),
    [
        (["<s>", "</s>"], {}, (1,)),
        (["<s>", "</s>", "<end_of_turn>"], {"eos_token_id": 1}, (1, 2)),
        (["<|return|>", "<|call|>", "<|end|>"], {"eos_token_id": 0}, (0, 1)),  # gpt-oss: it ends a message
        (["<|endoftext|>", "<|end|>"], {"eos_token_id": 0}, (0, 1)),  # Phi
        (["<s>", "over"], {"eot_token_id": 1, "eom_token_id": 0, "eos_token_id": 77}, (0, 1)),
    ],
)
def test_what_ends_a_text(names: list[str], more: dict[str, object], stop: tuple[int, ...]) -> None:
    assert read(vocabulary_pairs([(name, CONTROL) for name in names], **more)).stop == stop


def test_a_text_token_may_end_the_text(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf_bytes(vocabulary_pairs([("a", NORMAL), ("</think>", USER_DEFINED)], eos_token_id=1)))
    info = load_tokenizer(tmp_path / "m.gguf")
    assert (info.stop_token_ids, info.token_bytes(1)) == ([1], b"")
    assert info.fingerprint == TokenizerInfo.from_tokens([b"a", b"</think>"]).fingerprint


def test_the_file_alone_counts(tmp_path: Path) -> None:
    """Not the width or the stop tokens of the files beside it, which are another model's where models share a folder."""
    (tmp_path / "m-Q4_K_M.gguf").write_bytes(gguf_bytes(vocabulary_pairs(SPACED, eos_token_id=2)))
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 4, "eos_token_id": 1}))
    for spec in (tmp_path, tmp_path / "m-Q4_K_M.gguf", str(tmp_path / "m-Q4_K_M.gguf")):
        info = load_tokenizer(spec)
        assert (info.vocab_size, info.stop_token_ids) == (len(SPACED), [2])
    assert info.name == "m-Q4_K_M.gguf"
    assert load_tokenizer(tmp_path, vocab_size=64, stop_token_ids=[1]).stop_token_ids == [1]


def test_of_a_split_model_the_first_part_has_it(tmp_path: Path) -> None:
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(gguf_bytes(vocabulary_pairs(SPACED)))
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(gguf_bytes({"split.no": 1}))
    assert load_tokenizer(tmp_path).vocab_size == len(SPACED)
    with pytest.raises(TokenizerError, match="later part of a split model"):
        load_tokenizer(tmp_path / "m-00002-of-00002.gguf")


def test_tensors_are_not_read(tmp_path: Path) -> None:
    """A file of 64 GB, most of it a hole."""
    path = tmp_path / "large.gguf"
    path.write_bytes(gguf_bytes(vocabulary_pairs(SPACED)))
    with path.open("r+b") as stream:
        stream.truncate(1 << 36)
    assert load_tokenizer(path).vocab_size == len(SPACED)


def test_every_type_of_value() -> None:
    scalars = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    body = b""
    for kind, code in scalars.items():
        body += string(f"one {kind}") + struct.pack(f"<I{code}", kind, 1)
        body += string(f"several {kind}") + struct.pack(f"<IIQ3{code}", ARRAY, kind, 3, 1, 0, 1)
    body += string("texts") + struct.pack("<IIQ", ARRAY, STRING, 2) + string("a") + string("")
    content = b"GGUF" + struct.pack("<IQQ", 3, 0, 2 * len(scalars) + 1) + body
    wanted = [*(f"{n} {kind}" for n in ("one", "several") for kind in scalars), "texts", "absent"]
    found = read_gguf_pairs(io.BytesIO(content), len(content), "x", wanted)
    assert all(found[f"one {kind}"] == 1 and found[f"several {kind}"].tolist() == [1, 0, 1] for kind in scalars)
    assert found["texts"] == [b"a", b""]
    assert "absent" not in found


def array(kind: int, count: int, content: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<IIQ", ARRAY, kind, count) + content


DAMAGED = {
    "cut": (gguf_bytes(vocabulary_pairs(SPACED))[:-9], "truncated GGUF file"),
    "a text without end": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62), "bytes announced"),
    "an array without end": (array(4, 1 << 62), "bytes announced"),
    "texts without end": (array(8, 1 << 62), "ends after 0"),
    "a text of many that is too long": (array(8, 2, string("a") + struct.pack("<Q", 1 << 40)), "a string of 1099511627776 bytes"),
    "an array of arrays": (array(9, 1), "a value of type 9"),
    "an unknown type": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<I", 99), "a value of type 99"),
    "pairs without end": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "bytes announced, 0 left"),
    "version 1": (b"GGUF" + struct.pack("<III", 1, 0, 0), "GGUF of version 1; psc reads versions 2 and 3"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "a big-endian GGUF file, version 3"),
    "no vocabulary": (gguf_bytes({"general.architecture": "clip"}), "no vocabulary"),
    "no token": (gguf_bytes(vocabulary_pairs([])), "no token in this file"),
    "a kind that is not read": (gguf_bytes(vocabulary_pairs(SPACED, model="rwkv")), "kind 'rwkv'.*tokenizer_info"),
    "no kind": (gguf_bytes({"tokenizer.ggml.tokens": ["a"]}), "kind 'no name'"),
    "tokens that are a number": (gguf_bytes({"tokenizer.ggml.tokens": 3}), "tokens is of the wrong type"),
    "too few types": (gguf_bytes({**vocabulary_pairs(SPACED), "tokenizer.ggml.token_type": [1]}), "token_type is of the wrong"),
    "a byte that is none": (gguf_bytes(vocabulary_pairs([("<0xGG>", BYTE)])), "token 0 is a byte but spelt"),
    "no UTF-8": (gguf_bytes(vocabulary_pairs([(b"\xff", NORMAL)], model="gpt2")), "is not UTF-8"),
}


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        load_tokenizer(tmp_path / "x.gguf")
    assert str(caught.value).startswith(str(tmp_path / "x.gguf"))


def test_special_tokens_are_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(gguf_bytes(vocabulary_pairs(SPACED)))
    with pytest.raises(TokenizerError, match="carries its own"):
        load_tokenizer(tmp_path / "x.gguf", special_tokens={"<s>": 1})


@pytest.mark.parametrize("seed", range(3))
def test_as_the_package_gguf_writes_it(tmp_path: Path, seed: int) -> None:
    gguf: Any = pytest.importorskip("gguf")
    rng = np.random.default_rng(seed)
    tokens = [rng.bytes(int(rng.integers(1, 9))) for _ in range(300)]
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.5] * 300)
    writer.add_token_types([int(kind) for kind in rng.choice([1, 4], 300)])
    writer.add_eos_token_id(7)
    writer.add_bool("general.quantized", True)
    writer.add_tensor("t", np.zeros(5, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    info = load_tokenizer(tmp_path / "m.gguf")
    assert info.stop_token_ids == [7]
    assert [info.token_bytes(i) for i in range(300) if i != 7] == [t for i, t in enumerate(tokens) if i != 7]
