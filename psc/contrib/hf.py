"""XGrammar's logits processor for `transformers`: one for each call of ``generate``.

    processor = psc.contrib.hf.LogitsProcessor(compiled)
    model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)

The first call allows what may begin the text; each later one takes the last token of each row and allows what may come next. For
beam search, assisted decoding and several generations take `psc.adapters.transformers.GrammarLogitsProcessor`. Importing this
module imports neither torch nor transformers: ``generate`` takes any callable, and scores bring their torch with them.

Cost: a copy of each row's mask, masking the scores on the device where they are, and comparing the ids with those of a step ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from psc.errors import BitmaskError, MatcherError
from psc.runtime.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar

__all__ = ["LogitsProcessor"]


class LogitsProcessor:
    """Keeps one call of ``generate`` inside a grammar, or each row inside its own.

    Args:
        compiled_grammar: one for all rows, or a list with one for each.

    Raises:
        ValueError: the list is empty, or something in it is no compiled grammar.
    """

    def __init__(self, compiled_grammar: LoadedGrammar | Sequence[LoadedGrammar]) -> None:
        if isinstance(compiled_grammar, LoadedGrammar):
            self.compiled_grammars = [compiled_grammar]
        else:
            self.compiled_grammars = list(compiled_grammar)
        if not self.compiled_grammars:
            raise MatcherError("LogitsProcessor needs a compiled grammar, or one for each row; the list is empty")
        self.full_vocab_size = self.compiled_grammars[0].vocab_size
        self.matchers: list[GrammarMatcher] = []
        self.token_bitmask: Any = None
        self.prefilled = False
        self.batch_size = 0
        self._ids: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores, with minus infinity for each token that the grammar does not allow; masked in place.

        Args:
            input_ids: (rows, length) integers.
            scores: (rows, width) of any float dtype.

        Raises:
            MatcherError: the grammars are not as many as the rows, the rows not as many as at first, a token is not allowed, or the
                rows are not those of the step before with one token more: beams have changed places, or drafts were tried.
            BitmaskError: the scores are of the wrong shape or dtype.
        """
        if not self.matchers:
            self._begin(len(input_ids), "torch" if hasattr(scores, "detach") else "numpy")
        if len(input_ids) != self.batch_size:
            raise MatcherError(
                f"{len(input_ids)} rows, where generation began with {self.batch_size}; make a processor for each call of generate"
            )
        if len(scores) != self.batch_size:
            raise BitmaskError(f"{len(scores)} rows of scores for {self.batch_size} rows of ids")
        if self.prefilled:
            self._check_continued(input_ids)
            self._accept([int(row[-1]) for row in input_ids])
        self.prefilled = True
        self._ids = input_ids
        going_on = [row for row, matcher in enumerate(self.matchers) if not matcher.is_terminated()]
        for row in going_on:
            self.matchers[row].fill_next_token_bitmask(self.token_bitmask, row)
        if going_on:
            on_device = hasattr(scores, "detach") and scores.device.type != "cpu"
            bitmask = self.token_bitmask.to(scores.device) if on_device else self.token_bitmask
            apply_token_bitmask_inplace(scores, bitmask, indices=going_on)
        return scores

    def _begin(self, n_rows: int, library: Literal["torch", "numpy"]) -> None:
        grammars = self.compiled_grammars * n_rows if len(self.compiled_grammars) == 1 else self.compiled_grammars
        if len(grammars) != n_rows:
            raise MatcherError(f"{len(grammars)} compiled grammars for {n_rows} rows; give one, or one for each row")
        self.compiled_grammars, self.batch_size = grammars, n_rows
        self.matchers = [GrammarMatcher(grammar) for grammar in grammars]
        self.token_bitmask = allocate_token_bitmask(n_rows, self.full_vocab_size, library=library)

    def _check_continued(self, input_ids: Any) -> None:
        """A row that took another's place would be masked by the other's matcher, which need not notice."""
        before = self._ids
        if (
            not hasattr(input_ids, "shape") or input_ids.shape == before.shape
        ):  # a loop of one's own that shows the last tokens alone
            return
        if input_ids.shape[1] != before.shape[1] + 1 or not bool((input_ids[:, :-1] == before).all()):
            raise MatcherError(
                "the rows are not those of the step before with one token more; for beam search, assisted decoding and a next call "
                "of generate take psc.adapters.transformers.GrammarLogitsProcessor"
            )

    def _accept(self, tokens: list[int]) -> None:
        for row, (matcher, token) in enumerate(zip(self.matchers, tokens, strict=True)):
            if not matcher.is_terminated() and not matcher.accept_token(token):
                raise MatcherError(
                    f"row {row}: token {token} is not allowed here, so it was not sampled from the scores that were masked; "
                    "make a processor for each call of generate, and put it last among those that change scores"
                )
