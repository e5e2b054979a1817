"""Added tokens that a byte-level tokenizer normalizes: their bytes are what the `tokenizers` library decodes them to."""

import json

import pytest

import psc
from psc.vocabulary.huggingface_json import read_huggingface_json
from psc.vocabulary.spelling import byte_level_alphabet

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402

CONTENTS = ["naïve", "ñ", "ÀÀ", "«q»", "Ġx", "naïve 日", "x Ö", "ab", "AB", "é", "e\u0301", "Ċ", " x", "日本", "ﬁ", "Å", "\n", "~"]
NORMALIZERS = {
    "none": None,
    "ByteLevel": lambda: normalizers.ByteLevel(),
    "in a sequence": lambda: normalizers.Sequence([normalizers.ByteLevel()]),
    "NFC": lambda: normalizers.NFC(),
    "NFC, ByteLevel": lambda: normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()]),
    "NFKC, ByteLevel": lambda: normalizers.Sequence([normalizers.NFKC(), normalizers.ByteLevel()]),
    "NFD, ByteLevel": lambda: normalizers.Sequence([normalizers.NFD(), normalizers.ByteLevel()]),
    "Lowercase, ByteLevel": lambda: normalizers.Sequence([normalizers.Lowercase(), normalizers.ByteLevel()]),
    "ByteLevel, Lowercase": lambda: normalizers.Sequence([normalizers.ByteLevel(), normalizers.Lowercase()]),
    "Prepend, ByteLevel": lambda: normalizers.Sequence([normalizers.Prepend("x"), normalizers.ByteLevel()]),
    "Replace, ByteLevel": lambda: normalizers.Sequence([normalizers.Replace("x", "yé"), normalizers.ByteLevel()]),
}


def make(normalizer, pre_tokenizer, normalized, *, merged=()):
    vocab = {c: i for i, c in enumerate([*byte_level_alphabet(), *merged])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.normalizer = normalizer() if normalizer else None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False) if pre_tokenizer else None
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(c, normalized=normalized) for c in CONTENTS])
    return tokenizer


@pytest.mark.parametrize("pre_tokenizer", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("merged", [(), ("Ġx", "ab")])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_bytes_are_what_is_decoded(name, pre_tokenizer, normalized, merged):
    tokenizer = make(NORMALIZERS[name], pre_tokenizer, normalized, merged=merged)
    of_object = psc.TokenizerInfo.from_huggingface(tokenizer).token_texts
    of_file = read_huggingface_json(json.loads(tokenizer.to_str()), "file").tokens
    for content in CONTENTS:
        token = tokenizer.token_to_id(content)
        decoded = tokenizer.decode([token], skip_special_tokens=False)
        assert of_object[token].decode("utf-8", "replace") == decoded == of_file[token].decode("utf-8", "replace")


def test_a_mask_allows_what_is_decoded():
    info = psc.TokenizerInfo.from_huggingface(make(NORMALIZERS["ByteLevel"], False, True), stop_token_ids=[0])
    texts = {text: i for i, text in enumerate(info.token_texts) if len(text) > 1}
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(info, store=False).compile_grammar('root ::= "naïve" | " x" | "ñ"'))
    assert matcher.is_allowed(texts["naïve".encode()]) and matcher.is_allowed(texts["ñ".encode()])
    assert not matcher.is_allowed(texts["Ġx".encode()]) and matcher.is_allowed(texts[b" x"])


@pytest.mark.parametrize(
    "step", [{"type": "StripAccents"}, {"type": "Precompiled"}, {"type": "Replace", "pattern": {"Regex": "a"}}]
)
def test_steps_that_psc_does_not_know_are_refused(step):
    document = json.loads(make(NORMALIZERS["NFC"], True, True).to_str())
    document["normalizer"] = step
    with pytest.raises(psc.TokenizerError, match="save it with normalized=False"):
        read_huggingface_json(document, "file")
    for entry in document["added_tokens"]:
        entry["normalized"] = False
    read_huggingface_json(document, "file")
