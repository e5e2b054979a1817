"""A compiled grammar as the runtime holds it, and the matcher that follows one generated text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from psc._core import Matcher, Tables
from psc.artifacts.format import SCALARS, Artifact, IntArray
from psc.artifacts.tokenizer_info import TokenizerInfo
from psc.errors import ArtifactError

FindTokenizer = Callable[[Mapping[str, Any], str], TokenizerInfo]


class CompiledGrammar:
    """A grammar compiled for a vocabulary. Shared by any number of matchers; mask rows are made once and kept here.

    Args:
        arrays: the tables; every length and index is checked before use.
        metadata: as the compiler wrote it.
        tokenizer_info: the vocabulary, or a function of (metadata, place) that finds it when it is first asked for.
        place: the file, for messages.

    Raises:
        ArtifactError: a table is missing or malformed, or the vocabulary is not the one the grammar was compiled for.
    """

    def __init__(
        self,
        arrays: Mapping[str, IntArray],
        metadata: Mapping[str, Any],
        *,
        tokenizer_info: TokenizerInfo | FindTokenizer,
        place: str = "artifact",
    ) -> None:
        self.metadata = metadata
        self.place = place
        self._tokenizer: TokenizerInfo | None = None
        self._find_tokenizer: FindTokenizer | None = None
        try:
            self.grammar_name = str(metadata["grammar"]["name"])
            self.tokenizer_name = str(metadata["tokenizer"]["name"])
            self.fingerprint = str(metadata["tokenizer"]["fingerprint"])
        except (KeyError, TypeError) as e:
            raise ArtifactError(f"{place}: the metadata is malformed: {e!r}") from e
        if isinstance(tokenizer_info, TokenizerInfo):
            self._tokenizer = self._checked(tokenizer_info)
        else:
            self._find_tokenizer = tokenizer_info
        try:
            scalars = arrays["scalars"]
            if len(scalars) != len(SCALARS):
                raise ValueError("table 'scalars' has the wrong length")
            numbers = dict(zip(SCALARS, scalars.tolist(), strict=True))
            self._tables = Tables({**{k: v for k, v in arrays.items() if k != "scalars"}, **numbers})
            self.terminal_names = (*(str(t["name"]) for t in metadata["grammar"]["terminals"]), "$END")
            if len(self.terminal_names) != numbers["n_terminals"]:
                raise ValueError("the terminals' names do not match the tables")
        except (KeyError, TypeError, ValueError, RuntimeError) as e:
            raise ArtifactError(f"{place}: the tables are malformed: {e}") from e
        self.vocab_size: int = numbers["vocab_size"]
        self.stop_token_ids: tuple[int, ...] = tuple(arrays["stop_tokens"].tolist())

    @classmethod
    def from_artifact(
        cls, artifact: Artifact, *, tokenizer_info: TokenizerInfo | FindTokenizer, place: str = "artifact"
    ) -> CompiledGrammar:
        """The grammar in an artifact's arrays and metadata."""
        return cls(artifact.arrays, artifact.metadata, tokenizer_info=tokenizer_info, place=place)

    def _checked(self, tokenizer: TokenizerInfo) -> TokenizerInfo:
        if tokenizer.fingerprint != self.fingerprint:
            raise ArtifactError(
                f"{self.place}: compiled for tokenizer {self.tokenizer_name} with fingerprint {self.fingerprint}, but the "
                f"tokenizer given ({tokenizer.name or 'unnamed'}) has {tokenizer.fingerprint}. Compile the grammar for it."
            )
        return tokenizer

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

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of the mask rows made so far."""
        return int(self._tables.row_bytes)

    @property
    def n_rows(self) -> int:
        """Distinct mask rows made so far; row ids are below it."""
        return int(self._tables.n_rows)

    def row(self, row_id: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The mask row with this id: int32 of shape (ceil(vocab_size / 32),), read-only, no copy."""
        return self._tables.row(row_id)

    def __repr__(self) -> str:
        return f"CompiledGrammar({self.grammar_name!r}, tokenizer={self.tokenizer_name!r}, vocab_size={self.vocab_size})"


class GrammarMatcher(Matcher):
    """Follows one generated text: which tokens may come next, and what was accepted so far.

    The methods are native: ``mask_row``, ``mask``, ``fill_next_token_bitmask``, ``accept_token``, ``is_completed``,
    ``is_terminated`` and ``reset``; each has its own documentation.

    Args:
        compiled: shared by any number of matchers; it keeps the mask rows.

    Cost: a fraction of a microsecond a call in the steady state; the first visit to a new mask composes its row. Not safe for use
    from several threads at once, nor are several matchers of one compiled grammar without the interpreter's lock.
    """

    def __init__(self, compiled: CompiledGrammar) -> None:
        super().__init__(compiled._tables)
        self.compiled = compiled

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the text."""
        return self.compiled.stop_token_ids

    def expected_terminals(self) -> list[str]:
        """Names of the terminals that the parser can take next, ``$END`` among them when the text may end."""
        names = self.compiled.terminal_names
        return [names[t] for t in self._expected_terminals()]
