"""The constraints of a batch's requests, and the masks of the sequences that follow them.

A constraint is a compiled grammar, a `DeferredGrammar`, or None for a request without one. `Requests` has the constraints of a
batch and the vocabulary that these share. A `Hypothesis` is one sequence that is being generated for a request: a matcher, and
whether the matcher still follows the sequence.

Cost: a copy of vocab_size / 8 bytes for each constrained sequence and step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psc.adapters.guarded_matcher import row_of
from psc.decoding.deferred import AnyMatcher, DeferredGrammar
from psc.errors import ArtifactError, BitmaskError, MatcherError, TokenizerError
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.support.arguments import check_type
from psc.support.cached_property import cached_property
from psc.vocabulary.tokenizer_info import TEXT, TokenizerInfo

Constraint = LoadedGrammar | DeferredGrammar | None


def _compiled(constraint: Constraint) -> LoadedGrammar | None:
    return constraint.compiled if isinstance(constraint, DeferredGrammar) else constraint


def _listed(grammars: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Raises MatcherError for anything that is no constraint, and where none of them is a grammar."""
    listed = (grammars,) if grammars is None or isinstance(grammars, Constraint) else tuple(grammars)
    for each in listed:
        if not isinstance(each, Constraint):
            raise MatcherError(
                f"a compiled grammar, a DeferredGrammar or None was expected for a request, not {type(each).__name__}"
            )
    if all(each is None for each in listed):
        raise MatcherError("no grammar was given")
    return listed


@dataclass
class Hypothesis:
    """One sequence: None for a matcher is a sequence without a grammar. Given up: it holds a token that the grammar refuses."""

    matcher: AnyMatcher | None
    given_up: bool = False

    def fork(self) -> Hypothesis:
        """A second one at the same position. Cost: O(1)."""
        return Hypothesis(None if self.matcher is None else self.matcher.fork(), self.given_up)

    @property
    def has_ended(self) -> bool:
        """A token that ends the text was accepted: there can be another, and nothing else."""
        return self.matcher is not None and not self.given_up and self.matcher.is_terminated()

    @property
    def constraining(self) -> GrammarMatcher | None:
        """The matcher that masks the next token; None where there is none, and after the end."""
        if self.matcher is None or self.given_up or self.matcher.is_terminated():
            return None
        return self.matcher if isinstance(self.matcher, GrammarMatcher) else self.matcher.matcher

    def accept(self, token_id: int) -> bool:
        """Takes a token. After the end, and without a grammar, any will do: engines pad."""
        if self.matcher is None or self.given_up or self.matcher.is_terminated():
            return True
        return self.matcher.accept_token(token_id)


class Requests:
    """The constraints of a batch of requests, and the facts on their vocabulary that masks need.

    Args:
        grammars: one constraint for all requests, or one for each.
        stop_token_ids: ids that end the text instead of the vocabulary's stop tokens; by default the vocabulary's.

    Raises MatcherError where no grammar was given, one is something else, two were compiled for different vocabularies, or a stop
    token is not in the vocabulary.
    """

    def __init__(self, grammars: Constraint | Iterable[Constraint], *, stop_token_ids: int | Sequence[int] | None = None) -> None:
        self.constraints = _listed(grammars)
        compiled = [c for c in map(_compiled, self.constraints) if c is not None]
        self._compiled = compiled[0]
        for other in compiled[1:]:
            if (other.fingerprint, other.vocab_size) != (self._compiled.fingerprint, self._compiled.vocab_size):
                raise MatcherError(
                    f"grammars {self._compiled.grammar_name!r} and {other.grammar_name!r} were compiled for different vocabularies "
                    f"({self._compiled.tokenizer_name or 'unnamed'}, {other.tokenizer_name or 'unnamed'}); one batch has one model"
                )
        self.vocab_size = self._compiled.vocab_size
        self.n_words = -(-self.vocab_size // 32)
        self._override = stop_token_ids
        # A matcher checks the ids that were given: they end the text from its first token on.
        self.stop_token_ids = GrammarMatcher(self._compiled, override_stop_tokens=stop_token_ids).stop_token_ids

    def begin(self, request: int) -> Hypothesis:
        """A sequence at the beginning of a request's text."""
        constraint = self.constraints[request]
        if constraint is None:
            return Hypothesis(None)
        if isinstance(constraint, DeferredGrammar):
            return Hypothesis(constraint.matcher(override_stop_tokens=self._override))
        return Hypothesis(GrammarMatcher(constraint, override_stop_tokens=self._override))

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary. Raises TokenizerError where an artifact's cannot be found."""
        return self._compiled.tokenizer_info

    @cached_property
    def _kinds(self) -> NDArray[np.uint8] | None:
        try:
            return self._compiled.tokenizer_info.token_kinds
        except (TokenizerError, ArtifactError):  # an artifact whose tokenizer is not here; masks do not need it
            return None

    def check(self, tokenizer_info: TokenizerInfo) -> None:
        """Raises MatcherError when it is another vocabulary, TypeError when it is none."""
        check_type("tokenizer_info", tokenizer_info, TokenizerInfo)
        if (tokenizer_info.fingerprint, tokenizer_info.vocab_size) != (self._compiled.fingerprint, self._compiled.vocab_size):
            raise MatcherError(
                f"grammar {self._compiled.grammar_name!r} was compiled for another vocabulary "
                f"({self._compiled.tokenizer_name or 'unnamed'}) than the one given ({tokenizer_info.name or 'unnamed'}); "
                "compile it for that"
            )

    def check_width(self, width: int) -> None:
        """Raises BitmaskError when logits are too few for the vocabulary."""
        if width < self.vocab_size:
            raise BitmaskError(
                f"the logits are {width} wide, and the grammar was compiled for a vocabulary of {self.vocab_size} tokens: this is "
                "another model's, or vocab_size= of the tokenizer was larger than the model's output layer"
            )

    def is_text(self, token_id: int) -> bool:
        """Whether the token stands for text; tokens outside the vocabulary do unless they end the text."""
        if not 0 <= token_id < self.vocab_size or token_id in self.stop_token_ids:
            return False
        return self._kinds is None or bool(self._kinds[token_id] == TEXT)

    def spelling(self, token_id: int) -> str:
        """A token for a message."""
        if self._kinds is None or not 0 <= token_id < self.vocab_size:
            return f"token {token_id}"
        return f"token {token_id} ({self._compiled.tokenizer_info.token_bytes(token_id)!r})"

    def allowed(self, hypothesis: Hypothesis) -> list[int]:
        """The tokens that may come next in a sequence whose text continues."""
        row = np.zeros((1, self.n_words), np.int32)
        assert hypothesis.constraining is not None
        hypothesis.constraining.fill_next_token_bitmask(row)
        return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()

    @cached_property
    def stop_mask(self) -> NDArray[np.int32]:
        """A mask of only the tokens that end the text."""
        return row_of(self.stop_token_ids, self.vocab_size)

    def fill(self, hypotheses: Sequence[Hypothesis], bitmask: NDArray[np.int32]) -> list[int]:
        """Writes the masks of the sequences that have one to their rows of `bitmask`; which rows those are.

        A sequence that has ended may only end again, which matters where an engine continues it: beam search does.
        """
        rows: list[int] = []
        for row, hypothesis in enumerate(hypotheses):
            matcher = hypothesis.constraining
            if matcher is not None:
                matcher.fill_next_token_bitmask(bitmask, row)
            elif hypothesis.has_ended:
                bitmask[row] = self.stop_mask
            else:
                continue
            rows.append(row)
        return rows
