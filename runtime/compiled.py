"""A compiled grammar as the runtime holds it; the matcher that follows one generated text is native.

An artifact's tables know the text tokens of a vocabulary and nothing else of it. Its width and its stop tokens are applied here,
when the machine is made: ids beyond the last text token are never allowed, and neither stop tokens nor other special tokens are
text.

So an artifact also serves a vocabulary that takes more of the same tokens for special. Whether a token is allowed depends on the
token's own bytes, so the masks are those of an artifact for that vocabulary. The other way round nothing would be known of a token.

The artifact of a grammar that names tokens is for one vocabulary in all that a name can depend on. Its metadata have a
``text_fingerprint`` besides, and its fingerprint is of all tokens (`TokenizerInfo.tokens_fingerprint`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from psc._core import BatchGrammarMatcher, GrammarMatcher, Machine
from psc.artifacts.description import check_description
from psc.artifacts.format import Artifact, IntArray
from psc.artifacts.scalars import has_lexer, without_scalars
from psc.errors import ArtifactError, TokenizerError
from psc.runtime.forced_tokens import Encode, ForcedTokens
from psc.support.cached_property import cached_property
from psc.vocabulary.token_table import MAX_VOCAB_SIZE
from psc.vocabulary.tokenizer_info import TokenizerInfo

__all__ = ["BatchGrammarMatcher", "FindTokenizer", "GrammarMatcher", "LoadedGrammar"]

FindTokenizer = Callable[[Mapping[str, Any], str], TokenizerInfo]


def vocabulary_tag(fingerprint: str) -> int:
    """A vocabulary's fingerprint in the 64 bits by which native code tells vocabularies apart; never 0."""
    try:
        return int.from_bytes(bytes.fromhex(fingerprint[:16])) | 1
    except ValueError:
        return 1


class LoadedGrammar:
    """A compiled grammar without the compiler: its machine and metadata, which is all that matchers need.

    ``psc.CompiledGrammar`` is one that also knows what it was compiled from. Shared by any number of matchers; mask rows are made
    once and cached here.
    """

    def __init__(
        self,
        machine: Machine,
        metadata: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        *,
        tokenizer_info: TokenizerInfo | FindTokenizer,
        place: str = "grammar",
    ) -> None:
        """Not called by programs.

        Args:
            machine: the tables.
            metadata: as the compiler wrote it, or, where the vocabulary is known, what gives it when it is first needed.
            tokenizer_info: the vocabulary, or a function of (metadata, place) that finds it when it is first needed.
            place: the file, for messages.

        Raises:
            ArtifactError: the metadata is malformed, or the vocabulary is not the one the grammar was compiled for.
        """
        self._machine = machine
        self.place = place
        self._tokenizer: TokenizerInfo | None = None
        self._find_tokenizer: FindTokenizer | None = None
        self._cutting: tuple[Encode, ForcedTokens] | None = None
        if callable(metadata):
            assert isinstance(tokenizer_info, TokenizerInfo)
            self._describe = metadata
            self.fingerprint = tokenizer_info.fingerprint
            self.vocab_size, self.stop_token_ids = tokenizer_info.vocab_size, tuple(tokenizer_info.stop_token_ids)
        else:
            self.metadata = metadata
            try:
                _ = self.grammar_name, self.tokenizer_name, self.terminal_names
                made_for = metadata["tokenizer"]
                recorded = str(made_for.get("text_fingerprint", made_for["fingerprint"]))
                self.fingerprint = tokenizer_info.fingerprint if isinstance(tokenizer_info, TokenizerInfo) else recorded
                self.vocab_size, self.stop_token_ids = _width_and_stops(metadata, tokenizer_info)
            except (KeyError, TypeError, ValueError, OverflowError) as e:
                raise ArtifactError(f"{place}: the metadata is malformed: {e!r}") from e
        # So that native code can tell vocabularies apart.
        machine.vocabulary_tag = vocabulary_tag(self.fingerprint)
        if isinstance(tokenizer_info, TokenizerInfo):
            self._tokenizer = tokenizer_info
        else:
            self._find_tokenizer = tokenizer_info

    @classmethod
    def from_artifact(
        cls,
        artifact: Artifact,
        *,
        tokenizer_info: TokenizerInfo | FindTokenizer,
        place: str = "artifact",
        cache_limit_bytes: int = -1,
        **own: Any,
    ) -> Self:
        """The grammar in an artifact's arrays and metadata.

        Args:
            artifact: what was read from a file.
            tokenizer_info: as in the constructor.
            place: the file, for messages.
            cache_limit_bytes: mask rows are dropped when they take more; -1 is no limit.
            own: what the constructor of a class made from this one takes besides.

        Raises:
            ArtifactError: a table is missing or malformed, or the vocabulary is another one. Every length and index is checked
                before use.
        """
        check_description(artifact.metadata, place)
        arrays: Mapping[str, IntArray] = artifact.arrays
        if "symbol_tokens" in arrays and "text_fingerprint" not in artifact.metadata["tokenizer"]:
            raise ArtifactError(f"{place}: the grammar speaks of tokens, and the metadata do not say of which; compile it again")
        try:
            if isinstance(tokenizer_info, TokenizerInfo):
                check_vocabulary(artifact.metadata, tokenizer_info, place, arrays["class_of_token"])
            width, stops = _width_and_stops(artifact.metadata, tokenizer_info)
            tables = {
                **without_scalars(arrays),
                "vocab_size": width,
                "class_of_token": _classes(arrays["class_of_token"], width, stops, tokenizer_info),
                "stop_tokens": np.array(stops, np.int32),
            }
            machine = _machine(tables, str(artifact.metadata["grammar"]["lexer"]), max(cache_limit_bytes, 0))
            compiled = cls(machine, artifact.metadata, tokenizer_info=tokenizer_info, place=place, **own)
            if len(compiled.terminal_names) != tables["n_terminals"]:
                raise ValueError("the terminals' names do not match the tables")
        except ArtifactError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as e:
            raise ArtifactError(f"{place}: the tables are malformed: {e}") from e
        return compiled

    def _checked(self, tokenizer: TokenizerInfo) -> TokenizerInfo:
        check_vocabulary(self.metadata, tokenizer, self.place)
        if (tokenizer.vocab_size, tuple(tokenizer.stop_token_ids)) != (self.vocab_size, self.stop_token_ids):
            raise ArtifactError(
                f"{self.place}: loaded with {self.vocab_size} ids and stop tokens {list(self.stop_token_ids)}, but tokenizer "
                f"{tokenizer.name or 'unnamed'} has {tokenizer.vocab_size} and {tokenizer.stop_token_ids}; load it with that"
            )
        return tokenizer

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """What was compiled for what, see docs/artifact-format.md."""
        return self._describe()

    @cached_property
    def grammar_name(self) -> str:
        """The grammar's file without its folder, its bundled name, or a label."""
        return str(self.metadata["grammar"]["name"])

    @cached_property
    def tokenizer_name(self) -> str:
        """The vocabulary's, as it was when the grammar was compiled; may be empty."""
        return str(self.metadata["tokenizer"]["name"])

    @cached_property
    def terminal_names(self) -> tuple[str, ...]:
        """Of all terminals by number; the last one is the end of the text."""
        return terminal_names(self.metadata)

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary.

        An artifact holds its fingerprint, not its bytes: it is looked up by name on first use, and checked.

        Raises:
            TokenizerError: it cannot be found.
            ArtifactError: what was found is another vocabulary.
        """
        if self._tokenizer is None:
            assert self._find_tokenizer is not None
            self._tokenizer = self._checked(self._find_tokenizer(self.metadata, self.place))
        return self._tokenizer

    def _cut_as_the_tokenizer_does(
        self, matcher: GrammarMatcher, steps: Sequence[int | bytes], forced: bytes, encode: Encode | None
    ) -> list[int]:
        """What `GrammarMatcher.find_forced_tokens` asks of Python."""
        cutting = self._cutting_by(encode)
        return [] if cutting is None else cutting.find(matcher, steps, forced)

    def _likely_tokens(self, matcher: GrammarMatcher, steps: Sequence[int | bytes], encode: Encode | None) -> list[int]:
        """What `GrammarMatcher.find_likely_tokens` asks of Python."""
        cutting = self._cutting_by(encode)
        return [] if cutting is None else cutting.find_likely(matcher, steps)

    def _cutting_by(self, encode: Encode | None) -> ForcedTokens | None:
        """What cuts texts as a tokenizer does, by default that of the vocabulary; None where there is none."""
        try:
            info = self.tokenizer_info
        except (TokenizerError, ArtifactError):  # an artifact whose tokenizer is not here
            if encode is not None:
                raise
            return None
        encode = encode or info.encode
        if encode is None:
            return None
        cutting = self._cutting
        if cutting is None or cutting[0] != encode:
            cutting = self._cutting = (encode, ForcedTokens(info, encode))
        return cutting[1]

    @property
    def is_lazy(self) -> bool:
        """Whether it is built just in time, as matchers visit it: true where no artifact was found, or none was looked for.

        False says that everything is there: from ``load``, ``compile_ahead_of_time``, a store or a registry. An artifact whose
        building ahead of time exceeded a limit is not closed, and is built just in time too. All give the same masks.
        """
        return bool(self._machine.is_lazy)

    @property
    def is_linked(self) -> bool:
        """Whether its machine is one of several, for a grammar that is made of parts."""
        return False

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of its tables, of the mask rows made so far and, just in time, of what else was built; an estimate."""
        return int(self._machine.bytes)

    @property
    def n_rows(self) -> int:
        """Distinct mask rows made so far; row ids are below it."""
        return int(self._machine.n_rows)

    def row(self, row_id: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The mask row with this id: int32 of shape (ceil(vocab_size / 32),), read-only, no copy.

        With a cache limit, ids hold until rows are dropped.
        """
        return self._machine.row(row_id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.grammar_name!r}, tokenizer={self.tokenizer_name!r}, vocab_size={self.vocab_size})"


def terminal_names(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a grammar's terminals by number, from the metadata; the last one is the end of the text."""
    return (*(str(t["name"]) for t in metadata["grammar"]["terminals"]), "$END")


def _machine(tables: Mapping[str, Any], lexer: str, cache_limit: int) -> Machine:
    """The machine of an artifact that is closed or partly closed, or of one that is neither."""
    if has_lexer(tables):
        return Machine(dict(tables), cache_limit=cache_limit)
    return Machine.from_open_tables(dict(tables), lexer, cache_limit=cache_limit)


def check_vocabulary(metadata: Mapping[str, Any], tokenizer: TokenizerInfo, place: str, classes: IntArray | None = None) -> None:
    """Raises ArtifactError unless the metadata are of a grammar that was compiled for this vocabulary's text, or for more of it.

    Of one that names tokens: for this vocabulary in all that this can depend on.

    Args:
        metadata: of the artifact.
        tokenizer: the vocabulary.
        place: the file, for messages.
        classes: per id, a class or -1: the ids that the artifact takes for text. Without them the text must be the same.
    """
    recorded = metadata["tokenizer"]
    theirs = str(recorded.get("text_fingerprint", recorded["fingerprint"]))
    if is_for(recorded, tokenizer):
        return
    if classes is not None and "text_fingerprint" not in recorded and serves(classes, theirs, tokenizer):
        return
    given = tokenizer.name or "unnamed"
    if recorded.get("text_fingerprint") == tokenizer.fingerprint:
        raise ArtifactError(
            f"{place}: the grammar names tokens, and was compiled for tokenizer {recorded['name']} with {recorded['vocab_size']} "
            f"ids and stop tokens {recorded['stop_token_ids']}; the tokenizer given ({given}), with {tokenizer.vocab_size} and "
            f"{tokenizer.stop_token_ids}, has the same text, and other special tokens, stop tokens or size. "
            f"Compile the grammar for it."
        )
    raise ArtifactError(
        f"{place}: compiled for tokenizer {recorded['name']} with fingerprint {theirs}, but the "
        f"tokenizer given ({given}) has {tokenizer.fingerprint}. Compile the grammar for it."
    )


def is_for(recorded: Mapping[str, Any], tokenizer: TokenizerInfo) -> bool:
    """Whether an artifact whose metadata record this of its tokenizer was compiled for a vocabulary, as far as it depends on it."""
    names_tokens = "text_fingerprint" in recorded
    return bool(recorded["fingerprint"] == (tokenizer.tokens_fingerprint if names_tokens else tokenizer.fingerprint))


def serves(classes: IntArray, fingerprint: str, tokenizer: TokenizerInfo) -> bool:
    """Whether tables for other text tokens serve a vocabulary: all its text is among theirs, and the rest is special to it.

    Args:
        classes: per id, a class or -1 where the tables know no text.
        fingerprint: of the vocabulary that the tables were made for.
        tokenizer: the vocabulary.

    Cost: where the ids fit, building a vocabulary and hashing it: 0.1 s for 150,000 tokens.
    """
    ours = tokenizer.without_stop_tokens.text_token_ids
    theirs = np.array(classes >= 0)
    if tokenizer.text_end > len(theirs) or not theirs[ours].all():
        return False
    theirs[ours] = False
    more = np.flatnonzero(theirs).tolist()
    if not more or not set(more) <= set(tokenizer.special_token_ids):
        return False
    return tokenizer.with_text(more).fingerprint == fingerprint


def _width_and_stops(metadata: Mapping[str, Any], tokenizer: TokenizerInfo | FindTokenizer) -> tuple[int, tuple[int, ...]]:
    """The number of logits and the stop tokens: the vocabulary's, else those of the vocabulary that was compiled for.

    Raises:
        KeyError, TypeError, ValueError: the metadata does not say, or names what cannot be.
    """
    if isinstance(tokenizer, TokenizerInfo):
        return tokenizer.vocab_size, tuple(tokenizer.stop_token_ids)
    width = int(metadata["tokenizer"]["vocab_size"])
    stops = tuple(int(i) for i in metadata["tokenizer"]["stop_token_ids"])
    if not 0 <= width <= MAX_VOCAB_SIZE or any(not 0 <= i < width for i in stops) or list(stops) != sorted(set(stops)):
        raise ValueError("the vocabulary described has a size or stop tokens out of range")
    return width, stops


def _classes(classes: IntArray, width: int, stops: tuple[int, ...], tokenizer: TokenizerInfo | FindTokenizer) -> IntArray:
    """The class of each id: -1, which is none, for special tokens and beyond the text. Raises ValueError for a width too small."""
    if len(classes) > width:
        raise ValueError(f"the tables are for {len(classes)} ids, and the vocabulary has {width}")
    padded = np.full(width, -1, np.int32)
    padded[: len(classes)] = classes
    padded[list(stops)] = -1
    if isinstance(tokenizer, TokenizerInfo):
        padded[tokenizer.special_token_ids] = -1
    return padded
