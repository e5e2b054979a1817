"""What a request is constrained by, and the masks of the sequences that follow it.

A constraint is a compiled grammar, a `DeferredGrammar`, or None for a request without one. A `Hypothesis` is one sequence that is
being generated for a request: a matcher, and whether it is still of any use.

Cost: a copy of vocab_size / 8 bytes for each constrained sequence and step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psc.decoding.deferred import AnyMatcher, DeferredGrammar
from psc.errors import ArtifactError, BitmaskError, MatcherError, TokenizerError
from psc.runtime.compiled import CompiledGrammar, GrammarMatcher
from psc.vocabulary.tokenizer_info import TEXT, TokenizerInfo

Constraint = CompiledGrammar | DeferredGrammar | None


def constraints_of(grammars: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints of a batch of requests, checked: one for all of them, or one for each.

    Raises:
        MatcherError: there is none, one is something else, all are None, or they were compiled for different vocabularies.
    """
    listed = (grammars,) if grammars is None or isinstance(grammars, Constraint) else tuple(grammars)
    for each in listed:
        if not isinstance(each, Constraint):
            raise MatcherError(
                f"a compiled grammar, a DeferredGrammar or None was expected for a request, not {type(each).__name__}"
            )
    compiled = [c for c in map(_compiled, listed) if c is not None]
    if not compiled:
        raise MatcherError("no grammar was given")
    for other in compiled[1:]:
        if (other.fingerprint, other.vocab_size) != (compiled[0].fingerprint, compiled[0].vocab_size):
            raise MatcherError(
                f"grammars {compiled[0].grammar_name!r} and {other.grammar_name!r} were compiled for different vocabularies "
                f"({compiled[0].tokenizer_name or 'unnamed'}, {other.tokenizer_name or 'unnamed'}); one batch has one model"
            )
    return listed


def _compiled(constraint: Constraint) -> CompiledGrammar | None:
    return constraint.compiled if isinstance(constraint, DeferredGrammar) else constraint


@dataclass
class Hypothesis:
    """One sequence: None for a matcher is a sequence without a grammar. Given up: it holds a token that the grammar refuses."""

    matcher: AnyMatcher | None
    given_up: bool = False

    @classmethod
    def of(cls, constraint: Constraint) -> Hypothesis:
        """A sequence at the beginning of a request's text."""
        if isinstance(constraint, DeferredGrammar):
            return cls(constraint.matcher())
        return cls(None if constraint is None else GrammarMatcher(constraint))

    def fork(self) -> Hypothesis:
        """A second one at the same place. Cost: O(1)."""
        return Hypothesis(None if self.matcher is None else self.matcher.fork(), self.given_up)

    @property
    def has_ended(self) -> bool:
        """A token that ends the text was accepted: there can be another, and nothing else."""
        return self.matcher is not None and not self.given_up and self.matcher.is_terminated()

    @property
    def constraining(self) -> GrammarMatcher | None:
        """The matcher whose mask the next token is under; None where there is none, and after the end."""
        if self.matcher is None or self.given_up or self.matcher.is_terminated():
            return None
        return self.matcher if isinstance(self.matcher, GrammarMatcher) else self.matcher.matcher

    def accept(self, token_id: int) -> bool:
        """Takes a token. After the end, and without a grammar, any will do: engines pad."""
        if self.matcher is None or self.given_up or self.matcher.is_terminated():
            return True
        return self.matcher.accept_token(token_id)


class Vocabulary:
    """What masks need to know of the vocabulary that all constraints share."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._compiled = next(c for c in map(_compiled, constraints) if c is not None)
        self.size = self._compiled.vocab_size
        self.n_words = -(-self.size // 32)
        self.stop_token_ids = self._compiled.stop_token_ids

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
        """Raises MatcherError when it is another vocabulary."""
        if (tokenizer_info.fingerprint, tokenizer_info.vocab_size) != (self._compiled.fingerprint, self._compiled.vocab_size):
            raise MatcherError(
                f"grammar {self._compiled.grammar_name!r} was compiled for another vocabulary "
                f"({self._compiled.tokenizer_name or 'unnamed'}) than the one given ({tokenizer_info.name or 'unnamed'}); "
                "compile it for that"
            )

    def check_width(self, width: int) -> None:
        """Raises BitmaskError when logits are too few for the vocabulary."""
        if width < self.size:
            raise BitmaskError(
                f"the logits are {width} wide, and the grammar was compiled for a vocabulary of {self.size} tokens: this is "
                "another model's, or vocab_size= of the tokenizer was larger than the model's output layer"
            )

    def is_text(self, token_id: int) -> bool:
        """The token stands for text; unknown tokens do when they do not end the text."""
        if not 0 <= token_id < self.size or token_id in self.stop_token_ids:
            return False
        return self._kinds is None or bool(self._kinds[token_id] == TEXT)

    def spelling(self, token_id: int) -> str:
        """A token for a message."""
        if self._kinds is None or not 0 <= token_id < self.size:
            return f"token {token_id}"
        return f"token {token_id} ({self._compiled.tokenizer_info.token_bytes(token_id)!r})"

    @cached_property
    def stop_mask(self) -> NDArray[np.int32]:
        """A mask of only the tokens that end the text."""
        bits = np.zeros(self.n_words * 32, dtype=np.uint8)
        bits[list(self.stop_token_ids)] = 1
        return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)

    def fill(self, hypotheses: Sequence[Hypothesis], bitmask: NDArray[np.int32]) -> list[int]:
        """Writes the masks of the sequences that have one to their rows of `bitmask`; which rows those are.

        A sequence that has ended may only end again, which matters where an engine goes on with it: beam search does.
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
