"""The table of a vocabulary: the bytes of all ids one after the other, and which ids are not text.

Two flat arrays, bytes and offsets, are what the native code walks and what an artifact stores. Special tokens and padding have no
bytes there; the names of special tokens stand beside. `TokenizerInfo` is a table with a name and derived values; readers
of tokenizer formats make one from tokens, artifacts from arrays.

Cost: linear in the number of bytes, some 20 ms for 128,000 tokens; from arrays, linear in the number of ids, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from operator import index
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from psc.errors import TokenizerError
from psc.support.limits import limit

# Ids index arrays of the size of the vocabulary: a damaged file that claims id 4,000,000,000 must not allocate them.
MAX_VOCAB_SIZE: Final = limit("vocabulary_size")

_Scalar = TypeVar("_Scalar", bound=np.generic)


class VocabType(Enum):
    """How a vocabulary spells the bytes of its tokens."""

    RAW = 0
    """As they are (tiktoken)."""
    BYTE_FALLBACK = 1
    """SentencePiece's way: U+2581 is a space, `<0x0A>` is a byte (Llama 2, Gemma)."""
    BYTE_LEVEL = 2
    """GPT-2's way: a printable character for each byte (Llama 3, Qwen)."""


@dataclass(frozen=True, eq=False)
class TokenTable:
    """The bytes of each id of a vocabulary. The arrays are read-only."""

    data: NDArray[np.uint8]
    """The bytes of all text tokens in id order."""
    offsets: NDArray[np.int64]
    """Token `i` is `data[offsets[i]:offsets[i + 1]]`; of length vocab_size + 1."""
    special_token_ids: tuple[int, ...]
    """Ascending; the stop tokens are among them."""
    stop_token_ids: tuple[int, ...]
    """Ascending."""
    text_stop_ids: tuple[int, ...]
    """Stop tokens that would be text, did they not stop; their names are their bytes."""
    special_names: tuple[bytes, ...]

    def __post_init__(self) -> None:
        # Views, so that freezing them does not freeze an array that the caller goes on using.
        for field, array in (("data", self.data[:]), ("offsets", self.offsets[:])):
            array.flags.writeable = False
            object.__setattr__(self, field, array)

    @classmethod
    def of_tokens(
        cls,
        tokens: Sequence[bytes],
        *,
        special_token_ids: Iterable[int],
        stop_token_ids: Iterable[int],
        text_stop_ids: Iterable[int],
        vocab_size: int | None,
        name: str,
    ) -> TokenTable:
        """From the bytes of each token. Arguments and errors are those of `TokenizerInfo.from_tokens`."""
        tokens = list(tokens)
        size = len(tokens) if vocab_size is None else index(vocab_size)
        if size < len(tokens):
            raise TokenizerError(
                f"{called(name)}vocab_size={size} is smaller than the tokenizer, which has {len(tokens)} ids; "
                "give the size of the model's output layer (config.json, vocab_size)"
            )
        _check_size(size, name)
        stop = _sorted_ids(stop_token_ids, size, "stop token", name)
        special = _sorted_ids((*special_token_ids, *stop), size, "special token", name)
        text_stops = tuple(i for i in sorted({*text_stop_ids} & {*stop}) if i < len(tokens) and tokens[i])
        names = [b""] * len(special)
        for position, token_id in enumerate(special):
            if token_id < len(tokens):
                names[position], tokens[token_id] = tokens[token_id], b""
        try:
            b"".join(names)
            data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
        except TypeError as error:
            raise TokenizerError(f"{called(name)}every token must be bytes: {error}") from error
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens)), out=offsets[1 : len(tokens) + 1])
        offsets[len(tokens) + 1 :] = offsets[len(tokens)]
        return cls(data, offsets, special, stop, text_stops, tuple(names))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], *, name: str) -> TokenTable:
        """From `arrays`. Arguments and errors are those of `TokenizerInfo.from_arrays`."""
        data = _array(arrays, "data", np.uint8, name)
        offsets = _array(arrays, "offsets", np.int64, name)
        size = len(offsets) - 1
        _check_size(size, name)
        _check_offsets(offsets, len(data), "offsets", name)
        special = _ascending_ids(arrays, "special_token_ids", size, name)
        stop = _ascending_ids(arrays, "stop_token_ids", size, name)
        if not set(stop) <= set(special):
            raise TokenizerError(f"{called(name)}a stop token is not among the special tokens; the arrays are damaged")
        text_stops = _ascending_ids(arrays, "text_stop_ids", size, name)
        if not set(text_stops) <= set(stop):
            raise TokenizerError(f"{called(name)}text_stop_ids holds an id that is no stop token; the arrays are damaged")
        if special and np.any(np.diff(offsets)[list(special)]):
            raise TokenizerError(f"{called(name)}a special token has text bytes; the arrays are damaged")
        special_data = _array(arrays, "special_data", np.uint8, name)
        special_offsets = _array(arrays, "special_offsets", np.int64, name)
        if len(special_offsets) != len(special) + 1:
            raise TokenizerError(
                f"{called(name)}special_offsets has length {len(special_offsets)} for {len(special)} special tokens"
            )
        _check_offsets(special_offsets, len(special_data), "special_offsets", name)
        names = tuple(_split(special_data, special_offsets))
        if not {token_id for token_id, content in zip(special, names, strict=True) if content}.issuperset(text_stops):
            raise TokenizerError(f"{called(name)}text_stop_ids holds an id without bytes; the arrays are damaged")
        return cls(data, offsets, special, stop, text_stops, names)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All of it, as `of_arrays` takes it."""
        special_offsets = np.zeros(len(self.special_names) + 1, dtype=np.int64)
        np.cumsum([len(content) for content in self.special_names], out=special_offsets[1:])
        return {
            "data": self.data,
            "offsets": self.offsets,
            "special_token_ids": np.array(self.special_token_ids, dtype=np.int32),
            "stop_token_ids": np.array(self.stop_token_ids, dtype=np.int32),
            "text_stop_ids": np.array(self.text_stop_ids, dtype=np.int32),
            "special_data": np.frombuffer(b"".join(self.special_names), dtype=np.uint8),
            "special_offsets": special_offsets,
        }

    @property
    def texts(self) -> list[bytes]:
        """The text of every id."""
        return _split(self.data, self.offsets)

    @property
    def names(self) -> dict[int, bytes]:
        """The name of each special token, `b""` where it has none, by ascending ids."""
        return dict(zip(self.special_token_ids, self.special_names, strict=True))

    def with_text(self, token_ids: Iterable[int]) -> TokenTable:
        """Without stop tokens; those that are text to the tokenizer, and these special tokens, are text, spelled by their names."""
        names = self.names
        text = sorted(i for i in {*token_ids, *self.text_stop_ids} if names.get(i))
        pieces, begin = [], 0
        lengths = np.diff(self.offsets)
        for i in text:
            at = int(self.offsets[i])
            pieces += [self.data[begin:at], np.frombuffer(names[i], np.uint8)]
            begin, lengths[i] = at, len(names.pop(i))
        offsets = np.zeros_like(self.offsets)
        np.cumsum(lengths, out=offsets[1:])
        data = np.concatenate([*pieces, self.data[begin:]]) if pieces else self.data
        return TokenTable(data, offsets, tuple(names), (), (), tuple(names.values()))


def called(name: str) -> str:
    """How messages about a tokenizer begin."""
    return f"tokenizer {name!r}: " if name else "tokenizer: "


def _split(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[bytes]:
    whole, bounds = data.tobytes(), offsets.tolist()
    return [whole[begin:end] for begin, end in pairwise(bounds)]


def _check_size(size: int, name: str) -> None:
    if not 0 <= size <= MAX_VOCAB_SIZE:
        raise TokenizerError(f"{called(name)}vocab_size={size}; it must be from 0 to {MAX_VOCAB_SIZE}")


def _sorted_ids(ids: Iterable[int], size: int, what: str, name: str) -> tuple[int, ...]:
    unique = sorted({index(token_id) for token_id in ids})
    for token_id in unique:
        if not 0 <= token_id < size:
            raise TokenizerError(f"{called(name)}{what} {token_id} is out of range; vocab_size is {size}")
    return tuple(unique)


def _array(arrays: Mapping[str, NDArray[np.generic]], key: str, dtype: type[_Scalar], name: str) -> NDArray[_Scalar]:
    if key not in arrays:
        raise TokenizerError(f"{called(name)}array {key!r} is missing; the artifact is damaged or of another version")
    array = np.asarray(arrays[key])
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise TokenizerError(
            f"{called(name)}array {key!r} is {array.dtype} with {array.ndim} dimensions; expected {np.dtype(dtype)} with one"
        )
    return cast("NDArray[_Scalar]", array)


def _check_offsets(offsets: NDArray[np.int64], total: int, key: str, name: str) -> None:
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != total or np.any(offsets[1:] < offsets[:-1]):
        raise TokenizerError(f"{called(name)}{key} must ascend from 0 to {total}; the arrays are damaged")


def _ascending_ids(arrays: Mapping[str, NDArray[np.generic]], key: str, size: int, name: str) -> tuple[int, ...]:
    ids = _array(arrays, key, np.int32, name)
    if len(ids) and (ids[0] < 0 or ids[-1] >= size or np.any(ids[1:] <= ids[:-1])):
        raise TokenizerError(f"{called(name)}{key} must ascend and lie below {size}; the arrays are damaged")
    return tuple(ids.tolist())
