"""`TokenizerInfo` as JSON text: in full, and all but the tokens.

In full, each token is a string with one character (U+0000 to U+00FF) a byte, as XGrammar writes it, since JSON has no bytes and
tokens are often no UTF-8. Special tokens stand there with their names; the list of their ids says that they are not text.

Cost: linear in the vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psc.errors import DeserializeFormatError, TokenizerError
from psc.support.serialization import field, int_list, read_document, read_object, write_document
from psc.vocabulary.token_table import VocabType
from psc.vocabulary.tokenizer_info import TokenizerInfo

_KIND = "tokenizer"
_WHAT = "serialized tokenizer"
_METADATA = "tokenizer metadata"


def _metadata(info: TokenizerInfo) -> dict[str, Any]:
    return {
        "vocab_type": info.vocab_type.value,
        "vocab_size": info.vocab_size,
        "add_prefix_space": info.add_prefix_space,
        "stop_token_ids": info.stop_token_ids,
        "special_token_ids": info.without_stop_tokens.special_token_ids,
    }


def metadata(info: TokenizerInfo) -> str:
    """All but the tokens, as JSON: XGrammar's fields, and `special_token_ids`."""
    return json.dumps(_metadata(info), separators=(",", ":"))


def from_vocab_and_metadata(encoded_vocab: Sequence[bytes | str], text: str) -> TokenizerInfo:
    """Rebuild from a vocabulary in its own spelling and its metadata; without `special_token_ids` in it they are guessed.

    Raises:
        InvalidJSONError: the metadata is not JSON.
        DeserializeFormatError: it lacks something, or does not fit the vocabulary.
    """
    data = read_object(text, _METADATA)
    vocab_type, vocab_size, add_prefix_space, stop = _read_metadata(data, _METADATA)
    special = int_list(data, "special_token_ids", _METADATA) if "special_token_ids" in data else None
    try:
        return TokenizerInfo(
            encoded_vocab,
            vocab_type,
            vocab_size=vocab_size,
            stop_token_ids=stop,
            add_prefix_space=add_prefix_space,
            special_token_ids=special,
        )
    except TokenizerError as e:
        raise DeserializeFormatError(f"{_METADATA} does not fit the vocabulary: {e}") from e


def serialize(info: TokenizerInfo) -> str:
    """Everything, as JSON."""
    tokens = info.decoded_vocab
    while len(tokens) > 1 and not tokens[-1]:
        tokens.pop()
    content = _metadata(info) | {"name": info.name, "decoded_vocab": [token.decode("latin-1") for token in tokens]}
    return write_document(_KIND, content)


def deserialize(text: str) -> TokenizerInfo:
    """Rebuild from `serialize`.

    Raises:
        InvalidJSONError, DeserializeVersionError, DeserializeFormatError: see `psc.support.serialization`.
    """
    data = read_document(text, _KIND)
    vocab_type, vocab_size, add_prefix_space, stop = _read_metadata(data, _WHAT)
    tokens: list[Any] = field(data, "decoded_vocab", list, _WHAT)
    if not set(map(type, tokens)) <= {str}:
        raise DeserializeFormatError(f"{_WHAT}: 'decoded_vocab' must hold strings only")
    special = set(int_list(data, "special_token_ids", _WHAT))
    try:
        return TokenizerInfo.from_tokens(
            [token.encode("latin-1") for token in tokens],
            special_token_ids=special,
            stop_token_ids=stop,
            text_stop_ids=[i for i in stop if i not in special],
            vocab_size=vocab_size,
            name=field(data, "name", str, _WHAT),
            vocab_type=vocab_type,
            add_prefix_space=add_prefix_space,
        )
    except UnicodeEncodeError as e:
        raise DeserializeFormatError(f"{_WHAT}: a token has the character {e.object[e.start]!r}, which is not a byte") from e
    except TokenizerError as e:
        raise DeserializeFormatError(f"{_WHAT}: {e}") from e


def _read_metadata(data: Mapping[str, Any], what: str) -> tuple[VocabType, int, bool, list[int]]:
    number = field(data, "vocab_type", int, what)
    try:
        vocab_type = VocabType(number)
    except ValueError as e:
        raise DeserializeFormatError(f"{what}: there is no vocab_type {number}; it is 0, 1 or 2") from e
    size: int = field(data, "vocab_size", int, what)
    space: bool = field(data, "add_prefix_space", bool, what)
    return vocab_type, size, space, int_list(data, "stop_token_ids", what)
