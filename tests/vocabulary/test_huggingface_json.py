"""`tokenizer.json`: the bytes of every token against the `tokenizers` library's own decoding."""

import json
import random
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc.errors import TokenizerError
from psc.vocabulary import load_tokenizer
from psc.vocabulary.huggingface_json import read_huggingface_json
from psc.vocabulary.spelling import byte_level_alphabet

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

CORPUS = [
    "the quick brown fox jumps over the lazy dog, and the dog is not amused by the fox",
    "def f(x):\n\treturn {'a': [1, 2, 3], \"b\": x}  # comment\r\n",
    "Größe naïve façade, 你好世界 你好, привет мир, 🙂🙃 🙂🙃, e\u0301",
] * 5
TEXTS = [
    *CORPUS[:3],
    "",
    " ",
    "  two  spaces  ",
    "\x00\x01\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff",
    "<think>no</think>",
    "unseen: ∀x∈S ✓",
]


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]),
    )
    tokenizer.add_special_tokens(["<|im_end|>"])
    tokenizer.add_tokens(["<think>", "</think>", "two words", "\u00e9 \u4e16"])
    return tokenizer


def byte_level_in_sequences():
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])
    return tokenizer


def sentencepiece_like(decoder):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = decoder
    alphabet = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        [text.replace(" ", "\u2581") for text in CORPUS],
        trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>", "</s>", *alphabet], limit_alphabet=40),
    )
    document = json.loads(tokenizer.to_str())
    # The trainer makes every listed token special; in published files the byte tokens belong to the model alone.
    document["added_tokens"] = [token for token in document["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("\u2581\u2581", normalized=False)])
    return tokenizer


def gemma_like():
    return sentencepiece_like(decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]))


def unigram_metaspace():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    tokenizer.train_from_iterator(
        CORPUS, trainers.UnigramTrainer(vocab_size=200, special_tokens=["<unk>", "</s>"], unk_token="<unk>")
    )
    return tokenizer


KINDS = {
    "byte-level": byte_level,
    "byte-level in sequences": byte_level_in_sequences,
    "replace, byte fallback, fuse": gemma_like,
    "unigram with metaspace": unigram_metaspace,
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def pair(request):
    """A library tokenizer, and the bytes of each token as psc reads them."""
    tokenizer = request.param()
    return tokenizer, read_huggingface_json(json.loads(tokenizer.to_str()), "tokenizer.json")


def test_random_sequences_decode_alike(pair):
    tokenizer, vocabulary = pair
    text_ids = [i for i, token in enumerate(vocabulary.tokens) if token]
    assert len(vocabulary.tokens) == tokenizer.get_vocab_size()
    assert len(text_ids) + len(vocabulary.special) == tokenizer.get_vocab_size()
    rng = random.Random(1)
    sequences = [[i] for i in text_ids] + [rng.choices(text_ids, k=rng.randrange(2, 12)) for _ in range(2000)]
    for ids in sequences:
        assert tokenizer.decode(ids, skip_special_tokens=False) == shown(tokenizer, vocabulary, ids)


def shown(tokenizer, vocabulary, ids):
    """Our bytes as the library would show them: for each byte of a run of `<0xHH>` that is not UTF-8, one U+FFFD."""
    result = ""
    for is_byte, group in groupby(ids, lambda i: tokenizer.id_to_token(i).startswith("<0x")):
        run = b"".join(vocabulary.tokens[i] for i in group)
        try:
            result += run.decode("utf-8", "strict" if is_byte else "replace")
        except UnicodeDecodeError:
            result += "\ufffd" * len(run)
    return result


def test_texts_come_back(pair):
    tokenizer, vocabulary = pair
    complete = any(token in (b"\x80", b"\xff") for token in vocabulary.tokens)  # every byte has a token
    for text in TEXTS if complete else CORPUS[:2]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if complete or not set(ids) & set(vocabulary.special):
            assert b"".join(vocabulary.tokens[i] for i in ids) == text.encode()


@given(text=st.text(max_size=30))
def test_any_text_comes_back(text):
    for tokenizer, vocabulary in BYTE_COMPLETE:
        if "\u2581" in text and tokenizer.normalizer is not None:
            continue  # this tokenizer cannot tell U+2581 from a space
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if not set(ids) & set(vocabulary.special):
            assert b"".join(vocabulary.tokens[i] for i in ids) == text.encode()


BYTE_COMPLETE = [
    (tokenizer, read_huggingface_json(json.loads(tokenizer.to_str()), "tokenizer.json"))
    for tokenizer in (byte_level(), gemma_like())
]


def test_the_first_space_of_a_text_belongs_to_no_token():
    """Llama 2 and Mistral strip one space from the start of a text; the token keeps it."""
    tokenizer = sentencepiece_like(
        decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    )
    vocabulary = read_huggingface_json(json.loads(tokenizer.to_str()), "tokenizer.json")
    token = next(i for i, text in enumerate(vocabulary.tokens) if text.startswith(b" t"))
    other = next(i for i, text in enumerate(vocabulary.tokens) if text == b"a")
    assert not tokenizer.decode([token]).startswith(" ")
    assert tokenizer.decode([other, token]) == "a" + vocabulary.tokens[token].decode()


def test_alphabet_is_the_librarys():
    assert sorted(byte_level_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(byte_level_alphabet().values()) == list(range(256))


def document(**changes):
    """A byte-level file with the tokens `a`, `b` and the special `</s>`."""
    result = {
        "added_tokens": [{"id": 2, "content": "</s>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel"},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
    }
    model = changes.pop("model", {})
    return {**result, **changes, "model": {**result["model"], **model} if isinstance(model, dict) else model}


def added(token_id, content, special=False):
    return {"id": token_id, "content": content, "special": special}


def test_special_and_literal_added_tokens():
    vocabulary = read_huggingface_json(document(added_tokens=[added(2, "</s>", True), added(3, "<tool_call>")]), "x")
    assert vocabulary.special == {2: "</s>"}
    assert vocabulary.tokens == [b"a", b"b", b"", b"<tool_call>"]


def test_unknown_token_is_special():
    vocabulary = read_huggingface_json(document(added_tokens=[], model={"unk_token": "b"}), "x")
    assert vocabulary.special == {1: "b"}


def test_byte_level_without_decoder():
    assert read_huggingface_json(document(decoder=None), "x").tokens[:2] == [b"a", b"b"]


def test_files_without_model_type():
    vocabulary = read_huggingface_json(document(model={"type": None}), "x")
    assert vocabulary.tokens[:2] == [b"a", b"b"]


@pytest.mark.parametrize("seed", range(30))
def test_ids_of_added_tokens_are_the_librarys(seed):
    """The library ignores the ids in the file; where they differ from its own, we refuse the file."""
    rng = random.Random(seed)
    model = {chr(ord("a") + i): i for i in range(4)}
    if rng.random() < 0.3:
        del model["b"]  # a hole
    contents = rng.sample(["a", "d", "x", "y", "zz", "<s>"], 3)
    base = rng.choice([3, 4, 4, 4])
    entries, following = [], base
    for content in contents:
        token_id = model.get(content, following)
        following += content not in model
        entries.append(added(token_id, content, rng.random() < 0.5))
    if rng.random() < 0.3:
        entries[-1]["id"] += 1
    full = {
        **document(added_tokens=entries, model={"vocab": model}),
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "post_processor": None,
    }
    for key in ("pre_tokenizer", "decoder"):
        full[key] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    for entry in entries:
        entry.update(single_word=False, lstrip=False, rstrip=False, normalized=False)
    library = Tokenizer.from_str(json.dumps(full))
    agrees = all(library.token_to_id(entry["content"]) == entry["id"] for entry in entries)
    ids = [*model.values(), *(entry["id"] for entry in entries if entry["content"] not in model)]
    if agrees and len(set(ids)) == len(ids):
        vocabulary = read_huggingface_json(full, "x")
        for entry in entries:
            assert (entry["id"] in vocabulary.special) == entry["special"]
    else:
        with pytest.raises(TokenizerError, match=r"library gives it|is given to both"):
            read_huggingface_json(full, "x")


REPLACE = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}


def sequence(*steps):
    return {"type": "Sequence", "decoders": list(steps)}


REFUSED = {
    "WordPiece": (document(model={"type": "WordPiece"}), "the model is 'WordPiece'"),
    "WordLevel": (document(model={"type": "WordLevel"}), "the model is 'WordLevel'"),
    "old WordPiece": (
        {**document(), "model": {"vocab": {"a": 0}, "continuing_subword_prefix": "##"}},
        "the model is 'WordPiece or WordLevel'",
    ),
    "GPT-1": (document(model={"end_of_word_suffix": "</w>"}), "end_of_word_suffix='</w>'"),
    "BPEDecoder": (document(decoder={"type": "BPEDecoder"}), "step 'BPEDecoder' is not supported"),
    "CTC": (document(decoder={"type": "CTC"}), "step 'CTC' is not supported"),
    "strip each token": (document(decoder=sequence({"type": "Strip"}, REPLACE)), "decoder is Strip -> Replace"),
    "replace across tokens": (document(decoder=sequence({"type": "Fuse"}, REPLACE)), "decoder is Fuse -> Replace"),
    "regex": (document(decoder={**REPLACE, "pattern": {"Regex": "x+"}}), "only strings are supported"),
    "only Fuse": (document(decoder={"type": "Fuse"}), "does not say how tokens spell bytes"),
    "no decoder": (document(decoder=None, pre_tokenizer={"type": "Whitespace"}), "there is no decoder"),
    "model is a list": (document(model=[1]), "'model' is list"),
    "vocab is a list": (document(model={"vocab": ["a"]}), "must be an object of token: id"),
    "vocab of Unigram": (document(model={"type": "Unigram", "vocab": [["a"]]}), "list of \\[token, score\\]"),
    "id is a string": (document(model={"vocab": {"a": "0"}}), "is not an integer"),
    "id is true": (document(model={"vocab": {"a": True}}), "is not an integer"),
    "id is negative": (document(added_tokens=[], model={"vocab": {"a": -1}}), "-1 cannot be a token id"),
    "id is huge": (document(added_tokens=[], model={"vocab": {"a": 4_000_000_000}}), "4000000000 cannot be"),
    "id twice": (document(added_tokens=[], model={"vocab": {"a": 0, "b": 0}}), r"id 0 is given to both b'a' and b'b'"),
    "no tokens": (document(added_tokens=[], model={"vocab": {}}), "there is no token"),
    "lone surrogate": (document(model={"vocab": {"\ud800": 0, "b": 1}}), "not valid Unicode"),
    "added id in a gap": (document(added_tokens=[added(7, "x")]), "library gives it 2"),
    "added id taken": (document(added_tokens=[added(0, "x")]), "library gives it 2"),
    "added token renumbered": (document(added_tokens=[added(2, "a")]), "library gives it 0"),
    "added token without content": (document(added_tokens=[{"id": 2}]), "has no 'content'"),
    "added tokens no list": (document(added_tokens={"a": 1}), "must be a list"),
    "sequence without steps": (document(decoder={"type": "Sequence"}), "no list of steps"),
}


@pytest.mark.parametrize(("file", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(file, message):
    with pytest.raises(TokenizerError, match=message) as caught:
        read_huggingface_json(file, "dir/tokenizer.json")
    assert str(caught.value).startswith("dir/tokenizer.json")


def test_compressed_file(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = byte_level().to_str().encode()
    (tmp_path / "plain.json").write_bytes(text)
    (tmp_path / "packed.json.zst").write_bytes(zstandard.compress(text))
    (tmp_path / "cut.json.zst").write_bytes(zstandard.compress(text)[:200])
    assert load_tokenizer(tmp_path / "plain.json") == load_tokenizer(tmp_path / "packed.json.zst")
    with pytest.raises(TokenizerError, match=r"cut\.json\.zst"):
        load_tokenizer(tmp_path / "cut.json.zst")
