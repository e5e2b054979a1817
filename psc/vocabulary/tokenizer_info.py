"""The part of a tokenizer that psc uses: which bytes each token id stands for, and which ids are not text.

A mask is a set of token ids, so masks depend on the tokenizer through one table only: id -> bytes. Merges, scores,
normalizers and chat templates do not enter. Each id is of one of three kinds:

* text: it stands for a non-empty byte string (often not valid UTF-8 by itself);
* special: a control token (begin of text, end of turn, image slot). Never text, whatever its name spells. Stop tokens
  are special tokens that end the output;
* padding: no token at all. Models round their output layer up (Qwen3: 151,669 tokens, 151,936 logits), and some
  vocabularies have holes. Never allowed.

Special and padding ids have no bytes (`b""`), so that code which walks the bytes cannot take them for text; the
name of a special token is stored apart, and shown by `decoded_vocab`.

Storage is a `TokenTable`, two flat arrays. Building from a list of bytes is linear in the total number of bytes (some 20 ms for
128,000 tokens); `token_bytes` is O(1); hashing takes the fingerprint, computed once.

An artifact depends on the text tokens only, and the `fingerprint` is theirs. Stop tokens, special tokens and
padding are applied where a machine is loaded, so one artifact serves every way of getting a tokenizer: `load_tokenizer("qwen3")`
(two stop tokens, 151,936 ids) and `from_huggingface` (one stop token, 151,669 ids) have one fingerprint. A token may be text to
the tokenizer and a stop token of one model, and no other (a line break, `</think>`): a mask allows it as a stop token only, and
the fingerprint counts it as text.

A grammar that names tokens depends on all of this. The keys of its artifacts have the `tokens_fingerprint`.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psc.errors import TokenizerError
from psc.support.cached_property import cached_property
from psc.vocabulary.token_table import TokenTable, VocabType, called

TEXT: Final = 0
SPECIAL: Final = 1
PADDING: Final = 2

_FINGERPRINT_HEADER: Final = b"psc tokenizer fingerprint 2\n"
_TOKENS_HEADER: Final = b"psc tokens fingerprint 1\n"


class TokenizerInfo:
    """The id -> bytes table of one tokenizer, immutable.

    The constructor takes a vocabulary as a tokenizer spells it, and has to guess which tokens are not text;
    `from_huggingface` and `psc.load_tokenizer` need not. `from_tokens` and `from_arrays` take decoded tokens.

    Args:
        encoded_vocab: token 0, 1, 2, ..., as the tokenizer spells it; `""` for an id without token.
        vocab_type: the spelling.
        vocab_size: number of logits of the model, at least `len(encoded_vocab)`, which is the default.
        stop_token_ids: ids that end the output; by default the tokens that are called like one.
        add_prefix_space: whether the tokenizer puts a space before a text; for callers only, masks do not depend on it.
        special_token_ids: ids that are never text; by default the tokens that are called like one, see
            `psc.vocabulary.encoded_vocab`. Stop tokens need not be listed.
        name: for messages.

    Raises:
        TokenizerError: an id is out of range, a token is neither `str` nor `bytes`, or `vocab_size` is too small.

    Cost: linear in the total number of bytes, some 0.1 s for 128,000 tokens.
    """

    _table: TokenTable
    _name: str
    _vocab_type: VocabType
    _add_prefix_space: bool
    _encode: Callable[[str], Sequence[int]] | None = None

    def __init__(
        self,
        encoded_vocab: Sequence[bytes | str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        add_prefix_space: bool = False,
        special_token_ids: Iterable[int] | None = None,
        name: str = "",
    ) -> None:
        from psc.vocabulary.encoded_vocab import decode_vocab, guess_special, guess_stop

        vocab_type = VocabType(vocab_type)
        tokens = decode_vocab(encoded_vocab, vocab_type, called(name))
        if stop_token_ids is None:
            stop: Iterable[int] = guess_stop(encoded_vocab)
        else:
            stop = (stop_token_ids,) if isinstance(stop_token_ids, int) else tuple(stop_token_ids)
        special = set(guess_special(encoded_vocab) if special_token_ids is None else special_token_ids)
        decoded = self.from_tokens(
            tokens,
            special_token_ids=special,
            stop_token_ids=stop,
            text_stop_ids=[i for i in stop if i not in special],
            vocab_size=vocab_size,
            name=name,
            vocab_type=vocab_type,
            add_prefix_space=add_prefix_space,
        )
        self.__dict__.update(decoded.__dict__)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes],
        *,
        special_token_ids: Iterable[int] = (),
        stop_token_ids: Iterable[int] = (),
        text_stop_ids: Iterable[int] = (),
        vocab_size: int | None = None,
        name: str = "",
        vocab_type: VocabType = VocabType.RAW,
        add_prefix_space: bool = False,
    ) -> TokenizerInfo:
        """Build from the bytes of each token.

        Args:
            tokens: bytes of id 0, 1, 2, ...; for a special token its name, if any; `b""` for an id without token.
            special_token_ids: ids that are never text.
            stop_token_ids: ids that end the output; they count as special too.
            text_stop_ids: which of them are text to the tokenizer, as far as they have bytes; see `without_stop_tokens`.
            vocab_size: number of logits of the model, at least `len(tokens)`, which is the default.
            name: for messages; not part of the fingerprint.
            vocab_type: how the tokenizer itself spells bytes; not part of the fingerprint either.
            add_prefix_space: whether it puts a space before a text; neither.

        Raises:
            TokenizerError: an id is out of range, a token is not bytes, or `vocab_size` is too small.

        Cost: linear in the total number of bytes.
        """
        table = TokenTable.of_tokens(
            tokens,
            special_token_ids=special_token_ids,
            stop_token_ids=stop_token_ids,
            text_stop_ids=text_stop_ids,
            vocab_size=vocab_size,
            name=name,
        )
        return cls._of(table, name, vocab_type, add_prefix_space)

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[np.generic]],
        *,
        name: str = "",
        vocab_type: VocabType = VocabType.RAW,
        add_prefix_space: bool = False,
    ) -> TokenizerInfo:
        """Rebuild from `to_arrays`, checking everything that other code relies on.

        Args:
            arrays: `data` uint8 (bytes), `offsets` int64 (vocab_size + 1), `special_token_ids`, `stop_token_ids` and
                `text_stop_ids` int32 (ascending, each list among the one before), `special_data` uint8 and `special_offsets`
                int64 (the special tokens' names).
                The arrays may be read-only views of a mapped file; they are not copied.
            name: for messages.
            vocab_type: see `from_tokens`.
            add_prefix_space: see `from_tokens`.

        Raises:
            TokenizerError: an array is missing, has the wrong dtype or shape, or contradicts another.

        Cost: linear in vocab_size.
        """
        return cls._of(TokenTable.of_arrays(arrays, name=name), name, vocab_type, add_prefix_space)

    @staticmethod
    def from_huggingface(
        tokenizer: object, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | int | None = None
    ) -> TokenizerInfo:
        """Build from a tokenizer that another library has loaded.

        Args:
            tokenizer: a transformers tokenizer, fast or slow; `tokenizers.Tokenizer` and `tiktoken.Encoding` will do too. It is
                kept, and cuts texts: see `encode`.
            vocab_size: number of logits of the model (`model.config.vocab_size`); by default the tokenizer's size.
            stop_token_ids: ids that end the output; by default the tokenizer's end-of-sequence token.

        Raises:
            TokenizerError: psc cannot read such a tokenizer, `stop_token_ids` is empty, or the sizes do not fit.
        """
        from psc.vocabulary.transformers_object import tokenizer_from_object

        stop = (stop_token_ids,) if isinstance(stop_token_ids, int) else stop_token_ids
        if stop is not None and len(stop) == 0:
            raise TokenizerError("stop_token_ids cannot be empty; leave it out to take the tokenizer's end-of-sequence token")
        return tokenizer_from_object(tokenizer, vocab_size=vocab_size, stop_token_ids=stop)

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: Sequence[bytes | str], metadata: str) -> TokenizerInfo:
        """Build from a vocabulary as the tokenizer spells it, and the result of `dump_metadata` (or XGrammar's).

        Raises:
            InvalidJSONError: `metadata` is not JSON.
            DeserializeFormatError: it lacks something, or does not fit the vocabulary.
        """
        from psc.vocabulary.tokenizer_json import from_vocab_and_metadata

        return from_vocab_and_metadata(encoded_vocab, metadata)

    @staticmethod
    def _detect_metadata_from_hf(backend_str: str) -> dict[str, VocabType | bool]:
        """`vocab_type` and `add_prefix_space` of the text of a `tokenizer.json`; for callers of XGrammar that need no more.

        Raises:
            InvalidJSONError: the text is not JSON.
            TokenizerError: it is no `tokenizer.json`.
        """
        from psc.support.serialization import read_object
        from psc.vocabulary.huggingface_json import spelling_of

        vocab_type, adds_prefix_space = spelling_of(read_object(backend_str, "tokenizer.json"), "tokenizer.json")
        return {"vocab_type": vocab_type, "add_prefix_space": adds_prefix_space}

    def dump_metadata(self) -> str:
        """All but the tokens themselves, as JSON, for `from_vocab_and_metadata`."""
        from psc.vocabulary.tokenizer_json import metadata

        return metadata(self)

    def serialize_json(self) -> str:
        """Everything, as JSON, for `deserialize_json`. Cost: linear; 3 MB and 0.1 s for 128,000 tokens."""
        from psc.vocabulary.tokenizer_json import serialize

        return serialize(self)

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """Rebuild from `serialize_json`; the result is equal in everything, names included.

        Raises:
            InvalidJSONError: it is not JSON.
            DeserializeVersionError: it was written in another version of the format, or by XGrammar.
            DeserializeFormatError: it is damaged, or describes something else.
        """
        from psc.vocabulary.tokenizer_json import deserialize

        return deserialize(json_string)

    @classmethod
    def _of(cls, table: TokenTable, name: str, vocab_type: VocabType, add_prefix_space: bool) -> TokenizerInfo:
        self = cls.__new__(cls)
        self._table = table
        self._name = name
        self._vocab_type = vocab_type
        self._add_prefix_space = bool(add_prefix_space)
        return self

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `from_arrays` takes. Cost: linear in the number of special tokens."""
        return self._table.arrays()

    @property
    def name(self) -> str:
        """The name that the tokenizer was loaded under; for messages only."""
        return self._name

    @property
    def vocab_size(self) -> int:
        """Number of ids, padding included: the width of the model's logits."""
        return len(self._table.offsets) - 1

    @property
    def vocab_type(self) -> VocabType:
        """How the tokenizer itself spells bytes. Everything here is decoded already."""
        return self._vocab_type

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """Deprecated: `add_prefix_space`."""
        warnings.warn("prepend_space_in_tokenization is called add_prefix_space now", DeprecationWarning, stacklevel=2)
        return self._add_prefix_space

    @property
    def encode(self) -> Callable[[str], Sequence[int]] | None:
        """Gives the tokens of a text as the tokenizer cuts it, for `GrammarMatcher.find_forced_tokens`.

        That of the object from which `from_huggingface` made this; None where there was none, and after pickling.
        """
        return self._encode

    def with_encode(self, encode: Callable[[str], Sequence[int]]) -> TokenizerInfo:
        """The same vocabulary with another way to cut texts. Cost: O(1).

        Args:
            encode: gives the tokens of a text, without special tokens, as the model's tokenizer does.
        """
        other = TokenizerInfo._of(self._table, self._name, self._vocab_type, self._add_prefix_space)
        other._encode = encode
        return other

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of all text tokens in id order, uint8, read-only."""
        return self._table.data

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Token `i` is `data[offsets[i]:offsets[i + 1]]`; int64, length vocab_size + 1, read-only."""
        return self._table.offsets

    @property
    def special_token_ids(self) -> list[int]:
        """Ids that are never text, ascending; the stop tokens are among them, padding is not. A new list each time."""
        return list(self._table.special_token_ids)

    @property
    def stop_token_ids(self) -> list[int]:
        """Ids that end the output, ascending. A new list each time."""
        return list(self._table.stop_token_ids)

    @cached_property
    def special_tokens(self) -> Mapping[bytes, int]:
        """Name -> id of the special tokens that have a name (the first id, where two share one)."""
        return {content: token_id for token_id, content in reversed(self._table.names.items()) if content}

    @cached_property
    def token_texts(self) -> tuple[bytes, ...]:
        """The text of every id; `b""` for special and padding ids. Built once, in linear time."""
        return tuple(self._table.texts)

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The printable form of every id: its text, or its name if it is special; `b""` for padding. A new list each time.

        To walk the text of a vocabulary take `token_texts`, in which a special token has no text.
        """
        decoded = list(self.token_texts)
        for token_id, content in self._table.names.items():
            decoded[token_id] = content
        return decoded

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for; `b""` if it is special or padding.

        Raises:
            IndexError: no such id.
        """
        if not 0 <= token_id < self.vocab_size:
            raise IndexError(f"{called(self._name)}no token {token_id}; ids are below {self.vocab_size}")
        return self._table.data[self._table.offsets[token_id] : self._table.offsets[token_id + 1]].tobytes()

    @cached_property
    def token_kinds(self) -> NDArray[np.uint8]:
        """TEXT, SPECIAL or PADDING for each id; uint8, length vocab_size, read-only."""
        kinds = np.where(np.diff(self._table.offsets) > 0, TEXT, PADDING).astype(np.uint8)
        kinds[list(self._table.special_token_ids)] = SPECIAL
        kinds.flags.writeable = False
        return kinds

    @cached_property
    def text_token_ids(self) -> NDArray[np.int32]:
        """Ids that stand for text, ascending; int32, read-only."""
        ids = np.flatnonzero(self.token_kinds == TEXT).astype(np.int32)
        ids.flags.writeable = False
        return ids

    @cached_property
    def sorted_texts(self) -> tuple[list[bytes], list[int]]:
        """The texts of tokens, ascending, and the id of each: of several tokens with one text, the smallest."""
        ids: dict[bytes, int] = {}
        for token in self.text_token_ids.tolist():
            ids.setdefault(self.token_texts[token], token)
        texts = sorted(ids)
        return texts, [ids[text] for text in texts]

    @cached_property
    def without_stop_tokens(self) -> TokenizerInfo:
        """The same vocabulary without stop tokens, for which artifacts are compiled.

        A stop token that the tokenizer takes for text is text again; any other is a special token like the rest.
        """
        return self.with_text(())

    def with_text(self, token_ids: Iterable[int]) -> TokenizerInfo:
        """The same vocabulary without stop tokens, in which these special tokens are text, spelled by their names.

        So two views of one tokenizer differ from two tokenizers: transformers 5 takes Gemma 3's `<mask>` for special, and
        tokenizer.json for text. Tokens that are text already, and those without a name, stay as they are.

        Cost: a copy of the bytes.
        """
        return TokenizerInfo._of(self._table.with_text(token_ids), self._name, self._vocab_type, self._add_prefix_space)

    @cached_property
    def byte_values(self) -> NDArray[np.intp]:
        """The values of bytes that occur in text tokens, ascending, read-only; 256 of them in a byte-level vocabulary."""
        values = np.flatnonzero(np.bincount(self._table.data, minlength=256))
        values.flags.writeable = False
        return values

    @cached_property
    def text_end(self) -> int:
        """One past the last id that stands for text, stop tokens or not; `vocab_size` may be as small as this."""
        ids = self.without_stop_tokens.text_token_ids
        return int(ids[-1]) + 1 if len(ids) else 0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of the text tokens: of which id stands for which bytes.

        The hashed bytes are, integers little-endian: the header line `psc tokenizer fingerprint 2`; the number of ids up to the
        last one that is text (u64); the length in bytes of each of them (u32; 0 if it is not text); the bytes of all of them in
        order. A stop token that the tokenizer takes for text counts as text. Left out are values that no artifact depends on:
        vocab_size, which of the other ids are special tokens, which tokens stop, and every name.
        """
        plain = self.without_stop_tokens
        digest = hashlib.sha256(_FINGERPRINT_HEADER)
        digest.update(self.text_end.to_bytes(8, "little"))
        digest.update(np.diff(plain._table.offsets[: self.text_end + 1]).astype("<u4").tobytes())
        digest.update(plain._table.data.tobytes())
        return digest.hexdigest()

    @cached_property
    def tokens_fingerprint(self) -> str:
        """SHA-256, in hex, of all that a grammar that names tokens can depend on: the text, special and stop tokens, the size.

        The hashed bytes are, integers little-endian: the header line `psc tokens fingerprint 1`; the fingerprint (32 bytes);
        vocab_size (u64); the number of stop tokens (u64) and their ids (u32 each); the number of special tokens (u64), their ids
        and the lengths of their names (u32 each); these names in order.
        """
        digest = hashlib.sha256(_TOKENS_HEADER)
        digest.update(bytes.fromhex(self.fingerprint))
        digest.update(self.vocab_size.to_bytes(8, "little"))
        for ids in (self._table.stop_token_ids, self._table.special_token_ids):
            digest.update(len(ids).to_bytes(8, "little"))
            digest.update(np.array(ids, "<u4").tobytes())
        digest.update(np.array([len(content) for content in self._table.special_names], "<u4").tobytes())
        digest.update(b"".join(self._table.special_names))
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.vocab_size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenizerInfo):
            return NotImplemented
        return self is other or self._facts() == other._facts()

    def _facts(self) -> tuple[object, ...]:
        """Everything that a mask can depend on, and which ids are special."""
        table = self._table
        return self.vocab_size, table.special_token_ids, table.stop_token_ids, table.text_stop_ids, self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _unpickle, (self.to_arrays(), self._name, self._vocab_type, self._add_prefix_space)

    def __repr__(self) -> str:
        return (
            f"TokenizerInfo({self._name!r}, vocab_size={self.vocab_size}, text={len(self.text_token_ids)}, "
            f"special={len(self._table.special_token_ids)}, stop_token_ids={list(self._table.stop_token_ids)}, "
            f"fingerprint={self.fingerprint[:12]})"
        )


def _unpickle(arrays: Mapping[str, NDArray[np.generic]], name: str, vocab_type: VocabType, add_prefix_space: bool) -> TokenizerInfo:
    return TokenizerInfo.from_arrays(arrays, name=name, vocab_type=vocab_type, add_prefix_space=add_prefix_space)
