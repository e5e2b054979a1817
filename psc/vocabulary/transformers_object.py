"""Takes the tokenizer out of an object of another library: transformers, tokenizers, tiktoken, mistral-common.

None of them is imported: an object's attributes show which it is. In the end each holds something that psc reads
anyway, a `tokenizer.json` as a string, the path of a SentencePiece or Tekken file, or a table of ranks.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from psc.errors import TokenizerError
from psc.vocabulary.file_format import parse, read_bytes
from psc.vocabulary.huggingface_json import read_huggingface_json
from psc.vocabulary.reading import ModelConfiguration, Vocabulary, finish, place_tokens
from psc.vocabulary.resolve import file_label
from psc.vocabulary.spelling import byte_level_alphabet
from psc.vocabulary.tiktoken_ranks import from_ranks
from psc.vocabulary.token_table import VocabType
from psc.vocabulary.tokenizer_info import TokenizerInfo


def tokenizer_from_object(
    tokenizer: object, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | None = None
) -> TokenizerInfo:
    """Build a `TokenizerInfo` from a loaded tokenizer.

    Args:
        tokenizer: a transformers tokenizer (fast, SentencePiece, byte-level Python or tiktoken-based), a
            `tokenizers.Tokenizer`, a `tiktoken.Encoding`, or a tokenizer of mistral-common.
        vocab_size: width of the model's output layer, which the object does not know (`model.config.vocab_size`).
        stop_token_ids: the tokens that end the output; by default the object's end-of-sequence token.

    Raises:
        TokenizerError: the object is of none of these kinds.
    """
    loaded_as = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    origin = f"{type(tokenizer).__name__} {loaded_as!r}"
    # A Hugging Face id is a name; a folder's path is not, and reveals the layout of this machine.
    name = file_label(Path(loaded_as)) if Path(loaded_as).is_absolute() or Path(loaded_as).exists() else loaded_as
    info = finish(
        _vocabulary(tokenizer, origin),
        origin=origin,
        name=name,
        configuration=ModelConfiguration(stop_token_ids=_eos(tokenizer), added=_added(tokenizer)),
        vocab_size=vocab_size,
        stop_token_ids=stop_token_ids,
    )
    encode = _encode_of(tokenizer)
    return info if encode is None else info.with_encode(encode)


def _encode_of(tokenizer: Any) -> Callable[[str], Sequence[int]] | None:
    """How it cuts a text, without special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if callable(getattr(backend, "to_str", None)):
        return lambda text: backend.encode(text, add_special_tokens=False).ids
    if callable(getattr(tokenizer, "encode_ordinary", None)):  # tiktoken
        return lambda text: tokenizer.encode_ordinary(text)
    if callable(getattr(tokenizer, "build_inputs_with_special_tokens", None)):  # transformers
        return lambda text: tokenizer.encode(text, add_special_tokens=False)
    return None


def _vocabulary(tokenizer: Any, origin: str) -> Vocabulary:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if callable(getattr(backend, "to_str", None)):
        return read_huggingface_json(json.loads(backend.to_str()), origin)
    for inner in _nested(tokenizer):
        ranks = getattr(inner, "_mergeable_ranks", None)
        if isinstance(ranks, Mapping):
            special = getattr(inner, "_special_tokens", {})
            return from_ranks(list(ranks.values()), list(ranks), origin, special)
        path = getattr(inner, "file_path", None)  # mistral-common
        if isinstance(path, str | Path) and Path(path).is_file():
            return parse(read_bytes(Path(path)), str(path))
    serialized = getattr(getattr(tokenizer, "sp_model", None), "serialized_model_proto", None)
    if callable(serialized):
        return parse(serialized(), origin)
    path = getattr(tokenizer, "vocab_file", None)
    alphabet = getattr(tokenizer, "byte_decoder", None)
    if isinstance(alphabet, Mapping) and dict(alphabet) == byte_level_alphabet():
        return _byte_level(tokenizer, origin)
    if isinstance(path, str | Path) and Path(path).is_file():
        return parse(read_bytes(Path(path)), str(path))
    raise TokenizerError(
        f"{origin}: psc does not know how this tokenizer spells bytes; give a fast tokenizer (use_fast=True), "
        "or the tokenizer's file"
    )


def _nested(tokenizer: Any) -> list[Any]:
    """The object and those that it wraps, outermost first."""
    objects = [tokenizer]
    for each in objects:
        for attribute in ("tokenizer", "instruct_tokenizer", "model", "_model"):
            inner = getattr(each, attribute, None)
            if inner is not None and not any(inner is other for other in objects) and len(objects) < 16:
                objects.append(inner)
    return objects


def _byte_level(tokenizer: Any, origin: str) -> Vocabulary:
    """A Python tokenizer in GPT-2's manner: `get_vocab` in byte-level spelling, added tokens as they are."""
    added = set(_added(tokenizer))
    alphabet = byte_level_alphabet()
    ids: list[int] = []
    texts: list[bytes] = []
    for token, token_id in tokenizer.get_vocab().items():
        if token_id in added:
            continue
        if any(character not in alphabet for character in token):
            raise TokenizerError(f"{origin}: token {token!r} is not in byte-level spelling; give the tokenizer's file")
        ids.append(token_id)
        texts.append(bytes(alphabet[character] for character in token))
    return Vocabulary(
        place_tokens(ids, texts, origin),
        vocab_type=VocabType.BYTE_LEVEL,
        add_prefix_space=bool(getattr(tokenizer, "add_prefix_space", False)),
    )


def _added(tokenizer: Any) -> dict[int, tuple[str, bool]]:
    entries = getattr(tokenizer, "added_tokens_decoder", None)
    if not isinstance(entries, Mapping):
        return {}
    return {token_id: (str(token), bool(getattr(token, "special", False))) for token_id, token in entries.items()}


def _eos(tokenizer: Any) -> tuple[int, ...]:
    eos = getattr(tokenizer, "eos_token_id", None)
    if isinstance(eos, int):
        return (eos,)
    return tuple(eos) if isinstance(eos, list | tuple) else ()
