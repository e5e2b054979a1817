"""The reasoning of a request as the first part of its grammar, in the engine's own wrapper.

SGLang puts a wrapper around the grammar of a request that reasons. It looks for the end of the reasoning, counts the tokens before
it for the budget, takes tokens back over it, and is configured by the request. All of that stays. What the wrapper lacks are masks
while the model reasons: a token that stops ends the request without an answer, and the beginning of a call ends the reasoning for
the engine's parser and not for the grammar, which then never begins. The idea here is a wrapper that has these masks.

    tokens  think … </think> { "a" : 1 }          answers in JSON
    masks   ------- A ------ ------ B ------      A: all but stop tokens and calls that cannot come; B: the grammar's

A call is allowed in the reasoning where the grammar can begin with one. It ends the reasoning, as though the end were before it.

This is for parsers that read reasoning as the engine's base class does, as others find other ends, too. The rest is the engine's as
before, and all of it with `ServiceOptions.reasoning` = "engine".

Cost: accepting a token 1 us more than the wrapper's; a mask 3 us.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend, ReasonerGrammarObject
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector

from psc.adapters.mask_rows import forbid
from psc.adapters.seams import broken_seams
from psc.adapters.sglang.backend import PscGrammarBackend
from psc.adapters.sglang.grammar import PscGrammar
from psc.adapters.sglang.seams import REASONING_SEAMS

if TYPE_CHECKING:
    import torch

_log = logging.getLogger("psc.adapters.sglang")
_READING: Final = (
    "detect_and_parse",
    "_detect_and_parse_impl",
    "parse_streaming_increment",
    "_parse_streaming_increment_impl",
)
"""The methods by which a parser finds the end of reasoning in a text; not all releases have all of them."""


class ReasoningGrammar(ReasonerGrammarObject):  # type: ignore[misc]  # the package is not typed
    """A request's grammar, and the reasoning before it."""

    grammar: PscGrammar
    _forbidden: frozenset[int]
    _calls: frozenset[int]
    _is_implied: bool

    @classmethod
    def of(cls, wrapper: ReasonerGrammarObject, forbidden: frozenset[int], calls: frozenset[int]) -> ReasoningGrammar:
        """The engine's wrapper, with masks while the model reasons.

        Args:
            wrapper: at the beginning of a text; releases differ in what they make it of. It is not used any more.
            forbidden: tokens that are not allowed in the reasoning, where they do not end it.
            calls: tokens that end the reasoning and belong to the grammar, which can begin with them.
        """
        made = cls.__new__(cls)
        made.__dict__.update(wrapper.__dict__)
        made._forbidden, made._calls = forbidden, calls
        made._is_implied = False  # whether a call ended the reasoning
        return made

    def accept_token(self, token: int) -> None:
        """Takes a token. Raises ValueError for one that is not allowed."""
        if self._has_mask():
            if token in self._forbidden_now():
                self.grammar.counters.add("refused_tokens")
                raise ValueError(f"Tokens not accepted: {token}: it is not allowed while the model reasons")
            if token in self._calls.difference(self.think_end_ids):
                self.grammar.accept_token(token)
                for each in (*self.think_end_ids, token):
                    self.transfer_state(each)
                self._is_implied = True
                self.current_token = token
                return
        super().accept_token(token)

    def rollback(self, k: int) -> None:
        """Takes back the last `k` tokens; an end that was not in the text goes with the call that implied it."""
        with_end = self._is_implied and 0 < self.tokens_after_end <= k
        super().rollback(k + len(self.think_end_ids) * with_end)
        self._is_implied = self._is_implied and not with_end

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Writes the mask of the next token to a row that allows everything."""
        super().fill_vocab_mask(vocab_mask, idx)
        if self._has_mask():
            row = vocab_mask.numpy()[idx]
            forbid(row, (token for token in self._forbidden_now() if token < 32 * len(row)))

    def copy(self) -> ReasoningGrammar:
        """The same grammar at the beginning of a text."""
        return self.of(super().copy(), self._forbidden, self._calls)

    def _has_mask(self) -> bool:
        """Whether the model reasons, and its grammar does not describe that."""
        return self._is_thinking() and not getattr(self, "reasoning_in_grammar", False)

    def _forbidden_now(self) -> frozenset[int]:
        return self._forbidden.difference(self.think_end_ids)


def begin_with_reasoning(backend: ReasonerGrammarBackend, detector: BaseReasoningFormatDetector, tokenizer: Any) -> None:
    """Has the engine's backend wrap psc's grammars in wrappers that have masks, where that is possible.

    Args:
        backend: around psc's.
        detector: of the reasoning parser.
        tokenizer: the model's, as the engine loaded it.
    """
    inner: PscGrammarBackend = backend.grammar_backend
    if inner.service.options.reasoning == "engine" or not _reads_as_base(detector):
        return
    if missing := broken_seams(REASONING_SEAMS):
        _log.warning("reasoning has no masks: %s", "; ".join(missing))
        return
    stops = _stop_ids(inner, tokenizer)
    calls = _call_ids(detector, tokenizer).difference(backend.think_excluded_token_ids or ())
    original = backend._make_grammar_object

    def make(grammar: Any, reasoning: bool) -> ReasonerGrammarObject:
        made = original(grammar, reasoning)
        if not isinstance(grammar, PscGrammar):
            return made
        can_begin = frozenset(token for token in calls if grammar.matcher.is_allowed(token))
        return ReasoningGrammar.of(made, stops | (calls - can_begin), can_begin)

    backend._make_grammar_object = make


def _reads_as_base(detector: BaseReasoningFormatDetector) -> bool:
    base = BaseReasoningFormatDetector
    return isinstance(detector, base) and all(getattr(type(detector), n, None) is getattr(base, n, None) for n in _READING)


def _stop_ids(backend: PscGrammarBackend, tokenizer: Any) -> frozenset[int]:
    """The tokens at which the engine ends any request: the model's, and those that the tokenizer has beside them."""
    more = {getattr(tokenizer, "eos_token_id", None), *(getattr(tokenizer, "additional_stop_token_ids", None) or ())}
    return frozenset(backend.service.tokenizer_info.stop_token_ids) | (more - {None})


def _call_ids(detector: BaseReasoningFormatDetector, tokenizer: Any) -> frozenset[int]:
    """The token at which a call begins, for parsers that have it end the reasoning; none where it is several."""
    begin = getattr(detector, "tool_start_token", None)
    if not begin or getattr(detector, "tool_start_at_line_start", False):
        return frozenset()
    ids = tokenizer.encode(begin, add_special_tokens=False)
    return frozenset(ids) if len(ids) == 1 else frozenset()
