"""`TokenizerInfo` as JSON text and back, whole and without its tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import psc
from psc import TokenizerInfo, VocabType

ATTRIBUTES = (
    "fingerprint",
    "name",
    "vocab_type",
    "vocab_size",
    "add_prefix_space",
    "decoded_vocab",
    "token_texts",
    "special_token_ids",
    "stop_token_ids",
    "special_tokens",
)


def same(one: TokenizerInfo, other: TokenizerInfo) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ATTRIBUTES)


@given(st.data(), st.lists(st.binary(max_size=4), min_size=1, max_size=12), st.sampled_from(VocabType), st.booleans())
def test_round_trip(data, tokens, vocab_type, space):
    size = len(tokens) + data.draw(st.integers(0, 40))
    ids = st.lists(st.integers(0, size - 1), max_size=4)
    info = TokenizerInfo.from_tokens(
        tokens,
        special_token_ids=data.draw(ids),
        stop_token_ids=data.draw(ids),
        vocab_size=size,
        name=data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
        vocab_type=vocab_type,
        add_prefix_space=space,
    )
    text = info.serialize_json()
    assert same(TokenizerInfo.deserialize_json(text), info)
    assert TokenizerInfo.deserialize_json(text).serialize_json() == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=12), st.sampled_from(VocabType))
def test_vocabulary_and_metadata(vocabulary, vocab_type):
    info = TokenizerInfo(
        [*vocabulary, "<s>", "</s>"], vocab_type, vocab_size=len(vocabulary) + 9, stop_token_ids=[0], add_prefix_space=True
    )
    assert same(TokenizerInfo.from_vocab_and_metadata([*vocabulary, "<s>", "</s>"], info.dump_metadata()), info)


def test_metadata_is_what_xgrammar_writes_and_the_special_tokens():
    info = TokenizerInfo(["a", "<s>", "</s>"], VocabType.BYTE_FALLBACK, vocab_size=5, add_prefix_space=True)
    assert json.loads(info.dump_metadata()) == {
        "vocab_type": 1,
        "vocab_size": 5,
        "add_prefix_space": True,
        "stop_token_ids": [2],
        "special_token_ids": [1, 2],
    }


def test_metadata_of_xgrammar_is_read():
    written = '{"vocab_type":1,"vocab_size":5,"add_prefix_space":true,"stop_token_ids":[2]}'
    info = TokenizerInfo.from_vocab_and_metadata(["\u2581a", "<s>", "</s>"], written)
    assert (info.vocab_type, info.vocab_size, info.add_prefix_space) == (VocabType.BYTE_FALLBACK, 5, True)
    assert (info.stop_token_ids, info.special_token_ids, info.token_texts[0]) == ([2], [1, 2], b" a")


METADATA = {"vocab_type": 0, "vocab_size": 3, "add_prefix_space": False, "stop_token_ids": [1]}
BAD_METADATA = {
    "not JSON": ("{", psc.InvalidJSONError, "not JSON"),
    "a list": ("[]", psc.DeserializeFormatError, "expected a JSON object, not list"),
    "nothing": ("{}", psc.DeserializeFormatError, "'vocab_type' is missing"),
    "unknown type": (METADATA | {"vocab_type": 7}, psc.DeserializeFormatError, "no vocab_type 7"),
    "size as text": (METADATA | {"vocab_size": "3"}, psc.DeserializeFormatError, "'vocab_size' is str"),
    "size as truth": (METADATA | {"vocab_size": True}, psc.DeserializeFormatError, "'vocab_size' is bool"),
    "truth as number": (METADATA | {"add_prefix_space": 1}, psc.DeserializeFormatError, "'add_prefix_space' is int"),
    "stop token out of range": (METADATA | {"stop_token_ids": [9]}, psc.DeserializeFormatError, "stop token 9 is out of range"),
    "stop token as text": (METADATA | {"stop_token_ids": ["9"]}, psc.DeserializeFormatError, "integers only"),
    "larger vocabulary": (METADATA | {"vocab_size": 1}, psc.DeserializeFormatError, "smaller than the tokenizer"),
}


@pytest.mark.parametrize(("metadata", "error", "message"), BAD_METADATA.values(), ids=BAD_METADATA)
def test_bad_metadata(metadata, error, message):
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    with pytest.raises(error, match=message) as caught:
        TokenizerInfo.from_vocab_and_metadata(["a", "b"], text)
    assert isinstance(caught.value, RuntimeError)


DOCUMENT = json.loads(TokenizerInfo([b"\xff", "b", "</s>"], name="x").serialize_json())
GONE = object()
BAD_DOCUMENTS = {
    "not JSON": ("", psc.InvalidJSONError, "not JSON"),
    "deep": ("[" * 100_000, psc.InvalidJSONError, "not JSON"),
    "null": ("null", psc.DeserializeFormatError, "expected a JSON object, not NoneType"),
    "no version": ({"__VERSION__": GONE}, psc.DeserializeVersionError, "no __VERSION__"),
    "other version": (
        {"__VERSION__": "v16"},
        psc.DeserializeVersionError,
        "version 'v16', where this release of psc reads 'psc-1'",
    ),
    "version before all else": ({"__VERSION__": 3, "kind": "grammar"}, psc.DeserializeVersionError, "version 3"),
    "another kind": ({"kind": "grammar"}, psc.DeserializeFormatError, "this is a serialized grammar"),
    "no kind": ({"kind": GONE}, psc.DeserializeFormatError, "object without a kind"),
    "no tokens": ({"decoded_vocab": GONE}, psc.DeserializeFormatError, "'decoded_vocab' is missing"),
    "tokens are numbers": ({"decoded_vocab": [1]}, psc.DeserializeFormatError, "strings only"),
    "not a byte": ({"decoded_vocab": ["\u0100"]}, psc.DeserializeFormatError, "which is not a byte"),
    "too small": ({"vocab_size": 2}, psc.DeserializeFormatError, "smaller than the tokenizer"),
    "special token out of range": ({"special_token_ids": [9]}, psc.DeserializeFormatError, "special token 9 is out of range"),
    "special tokens missing": ({"special_token_ids": GONE}, psc.DeserializeFormatError, "'special_token_ids' is missing"),
    "name": ({"name": 1}, psc.DeserializeFormatError, "'name' is int"),
}


@pytest.mark.parametrize(("changes", "error", "message"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_bad_documents(changes, error, message):
    if isinstance(changes, dict):
        changes = json.dumps({key: value for key, value in (DOCUMENT | changes).items() if value is not GONE})
    with pytest.raises(error, match=message) as caught:
        TokenizerInfo.deserialize_json(changes)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("text", [b"{}", None, 3])
def test_only_text_is_read(text):
    with pytest.raises(TypeError, match="expected a str"):
        TokenizerInfo.deserialize_json(text)


def test_serialization_version():
    assert json.loads(TokenizerInfo(["a"]).serialize_json())["__VERSION__"] == psc.get_serialization_version()
