"""Reads the vocabulary of a GGUF model, with the meaning that llama.cpp gives to it.

`tokenizer.ggml.tokens` has the tokens as their tokenizer spells them, `tokenizer.ggml.token_type` the type of each:

* normal: spelt SentencePiece's way (`tokenizer.ggml.model` is `llama` or `t5`; `gemma4`, and two pre-tokenizers of `gpt2`) or
  byte-level (`gpt2`);
* byte: `<0xHH>`;
* user-defined: its own UTF-8, unescaped. A token that a model writes as text and its tokenizer never splits (`<think>`) is of this
  type;
* control, unknown: special;
* unused, or of no type: no token. Converters fill the vocabulary up to the width of the model with tokens `[PAD151669]`.

The file's tokens eos, eot and eom end a text, and control tokens with a well-known name, which llama.cpp looks for, too: files
name one, and instruction models need two. Where there are `<|return|>` and `<|call|>`, `<|end|>` ends a message, and
not the text.

Text tokens are the same as those of `psc.adapters.llama_cpp.tokenizer_info`, which reads them from the loaded model. That one also
has the tokens at which llama.cpp alone ends a text: control tokens of code completion, and `</s>` where it is text (Qwen 3).

Cost: that of reading the file's pairs; and 0.1 s for 150,000 tokens.

Source: llama.cpp, `llama_vocab::impl::load` and `token_to_piece`.
"""

from collections.abc import Sequence
from typing import Any, BinaryIO, Final

import numpy as np

from psc.errors import TokenizerError
from psc.vocabulary.gguf_file import read_gguf_pairs
from psc.vocabulary.reading import WELL_KNOWN_STOP_TOKENS, Vocabulary, check_id, place_tokens
from psc.vocabulary.spelling import BYTE_TOKEN, METASPACE, byte_level_bytes
from psc.vocabulary.token_table import VocabType

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6

_MODEL: Final = "tokenizer.ggml.model"
_PRE: Final = "tokenizer.ggml.pre"
_TOKENS: Final = "tokenizer.ggml.tokens"
_TYPES: Final = "tokenizer.ggml.token_type"
_PREFIX: Final = "tokenizer.ggml.add_space_prefix"
_STOP: Final = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")

_SENTENCEPIECE: Final = (b"llama", b"t5", b"gemma4")
_BYTE_LEVEL: Final = b"gpt2"
_METASPACE_PRE_TOKENIZERS: Final = (b"gemma4", b"granite-embed-multi-311m", b"sarvam-moe")
"""Of byte-pair encodings that spell as SentencePiece does."""


def read_gguf_vocabulary(stream: BinaryIO, size: int, origin: str) -> Vocabulary:
    """The vocabulary of a GGUF file.

    Args:
        stream: the file, at its beginning.
        size: of the file, in bytes.
        origin: the file, for messages.

    Raises:
        TokenizerError: the file is damaged, has no vocabulary, or one of a kind that psc does not read.
    """
    pairs = read_gguf_pairs(stream, size, origin, (_MODEL, _PRE, _TOKENS, _TYPES, _PREFIX, *_STOP))
    spelt = pairs.get(_TOKENS)
    if spelt is None:
        raise TokenizerError(
            f"{origin}: this GGUF file has no vocabulary ({_TOKENS}): it is a later part of a split model, whose first part has "
            "it, or a projector, an adapter or the like"
        )
    if not isinstance(spelt, list):
        raise _wrong(origin, _TOKENS)
    check_id(len(spelt) - 1 if spelt else 0, origin)
    types = _types(pairs.get(_TYPES), len(spelt), origin) if spelt else []
    vocab_type = _vocab_type(pairs.get(_MODEL), pairs.get(_PRE), origin)
    tokens = [b""] * len(spelt)
    special: dict[int, str] = {}
    normal: list[int] = []
    for token_id, (kind, token) in enumerate(zip(types, spelt, strict=True)):
        if kind == _NORMAL:
            normal.append(token_id)
        elif kind == _BYTE:
            tokens[token_id] = _byte(token_id, token, origin)
        elif kind == _USER_DEFINED:
            tokens[token_id] = token
        elif kind in (_CONTROL, _UNKNOWN):
            special[token_id] = token.decode("utf-8", "replace")
    for token_id, text in zip(normal, _texts([spelt[i] for i in normal], vocab_type, origin), strict=True):
        tokens[token_id] = text
    return Vocabulary(
        place_tokens(range(len(tokens)), tokens, origin),
        special,
        _stop(pairs, types, special),
        vocab_type,
        bool(pairs.get(_PREFIX, vocab_type is VocabType.BYTE_FALLBACK)),
    )


def _types(types: Any, count: int, origin: str) -> list[int]:
    if types is None:
        return [_NORMAL] * count
    if not isinstance(types, np.ndarray) or types.dtype.kind not in "iu" or len(types) < count:
        raise _wrong(origin, _TYPES)
    return [int(kind) for kind in types[:count]]


def _vocab_type(model: Any, pre: Any, origin: str) -> VocabType:
    if model in _SENTENCEPIECE or (model == _BYTE_LEVEL and pre in _METASPACE_PRE_TOKENIZERS):
        return VocabType.BYTE_FALLBACK
    if model == _BYTE_LEVEL:
        return VocabType.BYTE_LEVEL
    called = model.decode("utf-8", "replace") if isinstance(model, bytes) else "no name"
    raise TokenizerError(
        f"{origin}: psc does not read vocabularies of the kind {called!r} ({_MODEL}) out of GGUF; give the model's tokenizer.json, "
        "or load the model with llama-cpp-python and use psc.adapters.llama_cpp.tokenizer_info"
    )


def _texts(spelt: Sequence[bytes], vocab_type: VocabType, origin: str) -> list[bytes]:
    """The bytes of normal tokens."""
    if vocab_type is VocabType.BYTE_FALLBACK:
        space = METASPACE.encode()
        return [token.replace(space, b" ") for token in spelt]
    try:
        return byte_level_bytes([token.decode() for token in spelt])
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{origin}: a byte-level token is not UTF-8 ({error.object!r}); the file is damaged") from error


def _byte(token_id: int, token: bytes, origin: str) -> bytes:
    match = BYTE_TOKEN.fullmatch(token.decode("utf-8", "replace"))
    if match is None:
        raise TokenizerError(f"{origin}: token {token_id} is a byte but spelt {token!r}; the file is damaged")
    return bytes((int(match[1], 16),))


def _stop(pairs: dict[str, Any], types: Sequence[int], special: dict[int, str]) -> tuple[int, ...]:
    named = {int(pairs[key]) for key in _STOP if isinstance(pairs.get(key), np.integer)}
    # As llama.cpp, which goes on without an id that is none.
    stop = {token_id for token_id in named if 0 <= token_id < len(types)}
    controls = {name: token_id for token_id, name in special.items() if types[token_id] == _CONTROL}
    stop.update(token_id for name, token_id in controls.items() if name in WELL_KNOWN_STOP_TOKENS)
    if "<|return|>" in controls and "<|call|>" in controls:
        stop.discard(controls.get("<|end|>", -1))
    return tuple(sorted(stop))


def _wrong(origin: str, key: str) -> TokenizerError:
    return TokenizerError(f"{origin}: {key} is of the wrong type or length; the file is damaged")
