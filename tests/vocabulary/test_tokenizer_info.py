"""`TokenizerInfo`: kinds of ids, a canonical fingerprint, arrays that are checked when they come back from storage."""

import hashlib
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc.errors import PscError, TokenizerError
from psc.vocabulary.token_table import MAX_VOCAB_SIZE
from psc.vocabulary.tokenizer_info import PADDING, SPECIAL, TEXT, TokenizerInfo

TOKENS = [b"a", b"\xff", b"<s>", b"", b"bc", b"</s>"]


@pytest.fixture
def info() -> TokenizerInfo:
    return TokenizerInfo.from_tokens(TOKENS, special_token_ids=[2], stop_token_ids=[5], vocab_size=8, name="small")


def test_kinds(info):
    assert info.vocab_size == len(info) == 8
    assert info.token_kinds.tolist() == [TEXT, TEXT, SPECIAL, PADDING, TEXT, SPECIAL, PADDING, PADDING]
    assert info.text_token_ids.tolist() == [0, 1, 4]
    assert info.special_token_ids == [2, 5]  # a stop token is special without being listed
    assert info.stop_token_ids == [5]


def test_special_and_padding_ids_have_no_bytes(info):
    assert info.token_texts == (b"a", b"\xff", b"", b"", b"bc", b"", b"", b"")
    assert [info.token_bytes(i) for i in range(8)] == list(info.token_texts)
    assert info.decoded_vocab == [b"a", b"\xff", b"<s>", b"", b"bc", b"</s>", b"", b""]
    assert info.special_tokens == {b"<s>": 2, b"</s>": 5}
    for token_id in (-1, 8):
        with pytest.raises(IndexError, match="ids are below 8"):
            info.token_bytes(token_id)


def test_arrays_are_read_only(info):
    for array in (info.data, info.offsets, info.token_kinds, info.text_token_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def documented_fingerprint(tokens):
    """The docstring of `fingerprint`, done literally."""
    text = b"psc tokenizer fingerprint 2\n" + struct.pack("<Q", len(tokens))
    text += b"".join(struct.pack("<I", len(token)) for token in tokens) + b"".join(tokens)
    return hashlib.sha256(text).hexdigest()


def test_fingerprint_is_the_documented_one(info):
    assert info.fingerprint == documented_fingerprint([b"a", b"\xff", b"", b"", b"bc"])


# What an artifact does not depend on, so what may differ where it is looked for.
SAME_TEXT = {
    "wider": {"vocab_size": 64},
    "no wider than its text": {"tokens": TOKENS[:5], "stop_token_ids": [], "vocab_size": 5},
    "no stop token": {"stop_token_ids": [], "special_token_ids": [2, 5]},
    "other stop tokens": {"special_token_ids": [2, 5], "stop_token_ids": [2, 7]},
    "padding becomes special": {"special_token_ids": [2, 3, 6]},
    "special becomes padding": {"tokens": [*TOKENS[:2], b"", *TOKENS[3:]], "special_token_ids": []},
    "a stop token that is text": {"stop_token_ids": [4, 5], "text_stop_ids": [4]},
}
OTHER_TEXT = {
    "bytes": {"tokens": [b"b", *TOKENS[1:]]},
    "boundary between tokens": {"tokens": [b"a\xff", b"", *TOKENS[2:]]},
    "text becomes special": {"special_token_ids": [0, 2]},
    "special becomes text": {"special_token_ids": []},
    "a stop token that is not text": {"stop_token_ids": [4, 5]},
    "one more text token": {"tokens": [*TOKENS, b"d"]},
}


@pytest.mark.parametrize("changes", SAME_TEXT.values(), ids=SAME_TEXT)
def test_the_same_text_has_the_same_fingerprint(info, changes):
    assert variant(changes).fingerprint == info.fingerprint
    assert variant(changes) != info
    assert variant(changes).text_end == info.text_end == 5


@pytest.mark.parametrize("changes", OTHER_TEXT.values(), ids=OTHER_TEXT)
def test_another_text_has_another_fingerprint(info, changes):
    assert variant(changes).fingerprint != info.fingerprint


def test_a_stop_token_that_is_text_is_text_again_without_stop_tokens():
    info = variant({"stop_token_ids": [4, 5], "text_stop_ids": [4, 5, 0]})
    assert info.token_bytes(4) == b"" and info.special_token_ids == [2, 4, 5]
    plain = info.without_stop_tokens
    assert plain.token_bytes(4) == b"bc" and plain.token_bytes(5) == b"</s>"
    assert plain.special_token_ids == [2] and plain.stop_token_ids == []
    for again in (
        pickle.loads(pickle.dumps(info)),
        TokenizerInfo.from_arrays(info.to_arrays()),
        TokenizerInfo.deserialize_json(info.serialize_json()),
        TokenizerInfo.from_vocab_and_metadata([*TOKENS, b"", b""], info.dump_metadata()),
    ):
        assert again == info
        assert again.without_stop_tokens.token_bytes(4) == b"bc"


# What makes two vocabularies unequal, and what does not.
SAME = {
    "other name": {"name": "other"},
    "special name": {"tokens": [*TOKENS[:2], b"<bos>", *TOKENS[3:]]},
    "stop listed as special too": {"special_token_ids": [5, 2, 2]},
}
DIFFERENT = {
    "size": {"vocab_size": 9},
    "bytes": {"tokens": [b"b", *TOKENS[1:]]},
    "boundary between tokens": {"tokens": [b"a\xff", b"", *TOKENS[2:]]},
    "text becomes special": {"special_token_ids": [0, 2]},
    "padding becomes special": {"special_token_ids": [2, 3]},
    "no stop token": {"stop_token_ids": [], "special_token_ids": [2, 5]},
}


def variant(changes):
    arguments = {"tokens": TOKENS, "special_token_ids": [2], "stop_token_ids": [5], "vocab_size": 8, **changes}
    return TokenizerInfo.from_tokens(arguments.pop("tokens"), **arguments)


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_equal(info, changes):
    assert variant(changes) == info
    assert hash(variant(changes)) == hash(info)


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT)
def test_not_equal(info, changes):
    assert variant(changes) != info


REFUSED = {
    "stop token 8 is out of range": {"stop_token_ids": [8]},
    "special token -1 is out of range": {"special_token_ids": [-1]},
    "smaller than the tokenizer, which has 6 ids": {"vocab_size": 5},
    "every token must be bytes": {"tokens": ["a", *TOKENS[1:]]},
    "bytes-like object is required|expected a bytes-like object": {"tokens": [*TOKENS[:2], "<s>", *TOKENS[3:]]},
    "must be from 0 to": {"vocab_size": MAX_VOCAB_SIZE + 1},
}


@pytest.mark.parametrize(("message", "changes"), REFUSED.items())
def test_refused(message, changes):
    with pytest.raises(TokenizerError, match=message) as caught:
        variant(changes)
    assert isinstance(caught.value, PscError)
    assert isinstance(caught.value, ValueError)


def test_a_vocabulary_may_be_empty():
    info = TokenizerInfo.from_tokens([])
    assert (info.vocab_size, info.text_end, info.decoded_vocab, info.stop_token_ids) == (0, 0, [], [])
    assert TokenizerInfo.from_arrays(info.to_arrays()) == info == info.without_stop_tokens
    assert info != TokenizerInfo.from_tokens([b""])


@given(data=st.data(), tokens=st.lists(st.binary(max_size=4), min_size=1, max_size=20), padding=st.integers(0, 5))
def test_round_trip(data, tokens, padding):
    ids = st.lists(st.integers(0, len(tokens) + padding - 1), max_size=4)
    info = TokenizerInfo.from_tokens(
        tokens,
        special_token_ids=data.draw(ids),
        stop_token_ids=data.draw(ids),
        vocab_size=len(tokens) + padding,
        name="x",
    )
    for other in (TokenizerInfo.from_arrays(info.to_arrays(), name="x"), pickle.loads(pickle.dumps(info))):
        assert other == info
        for attribute in ("token_texts", "decoded_vocab", "special_token_ids", "stop_token_ids", "special_tokens", "name"):
            assert getattr(other, attribute) == getattr(info, attribute)
    expected = [b"" if i in info.special_token_ids else token for i, token in enumerate(tokens)] + [b""] * padding
    assert list(info.token_texts) == expected


def i32(*values):
    return np.array(values, dtype=np.int32)


DAMAGE = {
    "missing array": ("data", None, "'data' is missing"),
    "wrong dtype": ("offsets", np.zeros(9, dtype=np.int32), "is int32"),
    "two dimensions": ("data", np.zeros((2, 2), dtype=np.uint8), "2 dimensions"),
    "no offsets": ("offsets", np.zeros(0, dtype=np.int64), "vocab_size=-1"),
    "offsets descend": ("offsets", np.array([0, 3, 2, 2, 2, 4, 4, 4, 4]), "must ascend from 0 to 4"),
    "offsets start late": ("offsets", np.array([1, 1, 2, 2, 2, 4, 4, 4, 4]), "must ascend from 0 to 4"),
    "offsets end early": ("offsets", np.array([0, 1, 2, 2, 2, 3, 3, 3, 3]), "must ascend from 0 to 4"),
    "special id twice": ("special_token_ids", i32(2, 2), "must ascend and lie below 8"),
    "special id too large": ("special_token_ids", i32(2, 8), "must ascend and lie below 8"),
    "special id negative": ("special_token_ids", i32(-1, 5), "must ascend and lie below 8"),
    "special id with text": ("special_token_ids", i32(0, 5), "special token has text"),
    "stop not special": ("stop_token_ids", i32(3), "not among the special"),
    "names missing": ("special_offsets", np.array([0, 3]), "special_offsets has length 2"),
    "names cut": ("special_data", np.zeros(1, dtype=np.uint8), "special_offsets must ascend"),
}


@pytest.mark.parametrize(("key", "array", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_arrays_are_refused(info, key, array, message):
    arrays = info.to_arrays()
    if array is None:
        del arrays[key]
    else:
        arrays[key] = array
    with pytest.raises(TokenizerError, match=message):
        TokenizerInfo.from_arrays(arrays, name="small")


def test_arrays_are_not_copied(info):
    arrays = {key: array.copy() for key, array in info.to_arrays().items()}
    again = TokenizerInfo.from_arrays(arrays)
    assert again.data.base is arrays["data"]
    assert arrays["data"].flags.writeable  # the caller's own array stays as it was


def test_byte_values_are_those_of_text_tokens() -> None:
    info = TokenizerInfo.from_tokens([b"ab", b"<s>", b"\xff"], special_token_ids=[1])
    assert info.byte_values.tolist() == [*b"ab", 0xFF]
