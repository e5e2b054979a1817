"""`TokenizerInfo(...)` from a list of tokens in the tokenizer's own spelling: bytes, special tokens, sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc import TokenizerInfo, VocabType
from psc.errors import TokenizerError
from psc.vocabulary.spelling import byte_level_alphabet
from psc.vocabulary.tokenizer_info import PADDING, SPECIAL, TEXT

SPELLING = {byte: character for character, byte in byte_level_alphabet().items()}


def byte_level(data: bytes) -> str:
    return "".join(SPELLING[byte] for byte in data)


# (spelling, vocabulary type, bytes)
DECODED = {
    "raw text": ("é\n", VocabType.RAW, "é\n".encode()),
    "raw bytes": (b"\xff\x00", VocabType.RAW, b"\xff\x00"),
    "raw, spelt like the others": ("\u0120<0x0A>\u2581", VocabType.RAW, "\u0120<0x0A>\u2581".encode()),
    "byte-level space": ("\u0120a", VocabType.BYTE_LEVEL, b" a"),
    "byte-level newline": ("\u010a", VocabType.BYTE_LEVEL, b"\n"),
    "byte-level half a character": ("\u00c3", VocabType.BYTE_LEVEL, b"\xc3"),
    "byte-level Latin-1 is bytes": ("é", VocabType.BYTE_LEVEL, b"\xe9"),
    "byte-level NUL": ("\u0100", VocabType.BYTE_LEVEL, b"\x00"),
    "byte-level from bytes": ("\u0120a".encode(), VocabType.BYTE_LEVEL, b" a"),
    "outside the byte-level alphabet": ("\u0120\u4e2d", VocabType.BYTE_LEVEL, "\u0120\u4e2d".encode()),
    "added token with a space": ("a b", VocabType.BYTE_LEVEL, b"a b"),
    "byte-level, not UTF-8": (b"\xff", VocabType.BYTE_LEVEL, b"\xff"),
    "fallback byte": ("<0x0A>", VocabType.BYTE_FALLBACK, b"\n"),
    "fallback byte, small letters": ("<0xff>", VocabType.BYTE_FALLBACK, b"\xff"),
    "fallback byte as bytes": (b"<0x00>", VocabType.BYTE_FALLBACK, b"\x00"),
    "no fallback byte": ("<0xG0>", VocabType.BYTE_FALLBACK, b"<0xG0>"),
    "fallback byte within a text": ("<0x0A>x", VocabType.BYTE_FALLBACK, b"<0x0A>x"),
    "fallback space": ("\u2581a\u2581", VocabType.BYTE_FALLBACK, b" a "),
    "fallback text": ("\u4e2d", VocabType.BYTE_FALLBACK, "\u4e2d".encode()),
    "fallback, not UTF-8": (b"\xe2\x96", VocabType.BYTE_FALLBACK, b"\xe2\x96"),
}


@pytest.mark.parametrize(("token", "vocab_type", "expected"), DECODED.values(), ids=DECODED)
def test_decoding(token, vocab_type, expected):
    info = TokenizerInfo(["x", token, "y"], vocab_type)
    assert info.token_texts == (b"x", expected, b"y")
    assert info.vocab_type is vocab_type


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=20))
def test_byte_level_decoding_inverts_the_spelling(tokens):
    assert TokenizerInfo([byte_level(t) for t in tokens], VocabType.BYTE_LEVEL).decoded_vocab == tokens


@given(st.lists(st.one_of(st.binary(max_size=8), st.text(max_size=8)), min_size=1, max_size=20), st.sampled_from(VocabType))
def test_decoding_is_total(tokens, vocab_type):
    """Every list of tokens is a vocabulary; where there are characters there are bytes."""
    info = TokenizerInfo(tokens, vocab_type)
    assert [bool(t) for t in info.decoded_vocab] == [bool(t) for t in tokens]


SMALL = ["<s>", "</s>", "a", "", "<|im_start|>", "b"]


def test_kinds():
    info = TokenizerInfo(SMALL, vocab_size=8)
    assert info.token_kinds.tolist() == [SPECIAL, SPECIAL, TEXT, PADDING, SPECIAL, TEXT, PADDING, PADDING]
    assert info.special_token_ids == [0, 1, 4]
    assert info.stop_token_ids == [1]
    assert info.token_texts == (b"", b"", b"a", b"", b"", b"b", b"", b"")
    assert info.decoded_vocab == [b"<s>", b"</s>", b"a", b"", b"<|im_start|>", b"b", b"", b""]


def test_what_a_property_returns_can_be_changed():
    info = TokenizerInfo(SMALL)
    for read in (lambda: info.special_token_ids, lambda: info.stop_token_ids, lambda: info.decoded_vocab):
        before = list(read())
        read().append(7)
        assert read() == before


def test_equal_to_the_same_tokens_decoded():
    info = TokenizerInfo(["\u0120a", "</s>"], VocabType.BYTE_LEVEL, vocab_size=3)
    assert info == TokenizerInfo.from_tokens([b" a", b"</s>"], stop_token_ids=[1], vocab_size=3)
    assert hash(info) == hash(TokenizerInfo([b" a", b"</s>", b""]))


NUMBERED = [f"t{i}" for i in range(20)]
# name → special at the front, special far behind
NAMES = {
    "<|endoftext|>": (True, True),
    "<|reserved_special_token_7|>": (True, True),
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>": (True, True),
    "<start_of_turn>": (True, True),
    "<image_soft_token>": (True, True),
    "<pad>": (True, True),
    "<unused12>": (True, True),
    "[PAD]": (True, True),
    "<s>": (True, False),
    "</s>": (True, False),
    "<unk>": (True, False),
    "<div>": (False, False),
    "<table>": (False, False),
    "<|>": (False, False),
    "<||>": (False, False),
    "|>": (False, False),
    "<| a |>": (False, False),
    "[INDEX]": (False, False),
    "<0x0A>": (False, False),
}


@pytest.mark.parametrize("vocab_type", VocabType)
@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize(("name", "special"), NAMES.items())
def test_which_names_are_special(name, special, as_bytes, vocab_type):
    token = name.encode() if as_bytes else name
    front = TokenizerInfo([token, *NUMBERED], vocab_type, stop_token_ids=[])
    behind = TokenizerInfo([*NUMBERED, token, "x"], vocab_type, stop_token_ids=[])
    assert (front.special_token_ids == [0], behind.special_token_ids == [20]) == special


# Vocabulary → ids that stop.
STOPS = {
    "front": (["<unk>", "<s>", "</s>", "a"], [2]),
    "text and turn": (["a", "<|endoftext|>", "<|im_start|>", "<|im_end|>"], [1, 3]),
    "</s> as text, where another token stops": ([*NUMBERED, "</s>", "<|endoftext|>"], [21]),
    "</s> far behind, where nothing else stops": ([*NUMBERED, "</s>"], [20]),
    "none": (["a", "<|im_start|>"], []),
}


@pytest.mark.parametrize(("vocabulary", "stop"), STOPS.values(), ids=STOPS)
def test_stop_tokens_by_name(vocabulary, stop):
    assert TokenizerInfo(vocabulary).stop_token_ids == stop


def test_the_caller_knows_better():
    info = TokenizerInfo(SMALL, stop_token_ids=5, special_token_ids=[2])
    assert (info.stop_token_ids, info.special_token_ids) == ([5], [2, 5])
    assert info.token_texts == (b"<s>", b"</s>", b"", b"", b"<|im_start|>", b"")
    assert TokenizerInfo(SMALL, stop_token_ids=[5, 1, 1]).stop_token_ids == [1, 5]
    assert TokenizerInfo(SMALL, stop_token_ids=[]).stop_token_ids == []


def test_add_prefix_space_is_kept():
    info = TokenizerInfo(["a"], add_prefix_space=True)
    assert info.add_prefix_space
    with pytest.warns(DeprecationWarning, match="add_prefix_space"):
        assert info.prepend_space_in_tokenization
    assert not TokenizerInfo(["a"]).add_prefix_space
    assert info == TokenizerInfo(["a"])  # masks do not depend on it


REFUSED = {
    "size": (dict(encoded_vocab=["a", "b"], vocab_size=1), "vocab_size=1 is smaller than the tokenizer, which has 2 ids"),
    "number": (dict(encoded_vocab=["a", 3]), "token 1 is int"),
    "one string": (dict(encoded_vocab="ab"), "a list of tokens in the order of their ids, not str"),
    "dictionary": (dict(encoded_vocab={"a": 0}), "in the order of their ids, not dict"),
    "surrogate": (dict(encoded_vocab=["a", "\ud800"]), "not valid Unicode"),
    "byte-level surrogate": (dict(encoded_vocab=["\ud800"], vocab_type=VocabType.BYTE_LEVEL), "not valid Unicode"),
    "stop token": (dict(encoded_vocab=["a"], stop_token_ids=[1]), "stop token 1 is out of range"),
    "negative stop token": (dict(encoded_vocab=["a"], stop_token_ids=-1), "stop token -1 is out of range"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(arguments, message):
    with pytest.raises(TokenizerError, match=message) as caught:
        TokenizerInfo(**arguments)
    assert isinstance(caught.value, RuntimeError)


def test_unknown_vocabulary_type():
    with pytest.raises(ValueError, match="VocabType"):
        TokenizerInfo(["a"], 3)
    assert TokenizerInfo(["<0x0A>"], 1).decoded_vocab == [b"\n"]
