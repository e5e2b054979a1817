"""The reasoning of a request as the first part of its grammar.

vLLM looks for the end of a model's reasoning beside the grammar, and gives the grammar what follows it. Releases differ in what
they do where the end is one of several tokens of a step. The idea here: the grammar begins with the first token, and its first part
is any tokens up to the end of the reasoning. vLLM then has nothing to look for, with drafts or without, in any release.

    tokens  think … </think> { "a" : 1 }          answers in JSON
    masks   ------- A ------ ------ B ------      A: all but stop tokens and what cannot follow; B: the grammar's

So a request does not stop before its reasoning ends. A token that ends the reasoning and belongs to the answer, as the beginning of
a call does for some models, is allowed where the grammar can begin with it.

Where one token ends it, psc knows which; where several do, psc asks the parser behind each token, as vLLM does behind each step.
Parsers that do not end it at their own `reasoning_end_str`, and `ServiceOptions.reasoning` = "engine", are vLLM's as before.

Cost: 0.1 us a token; with several tokens, what the parser takes.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psc.adapters.mask_rows import allow_all_but
from psc.adapters.seams import Seam, broken_seams
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.grammar import PscGrammar

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

_log = logging.getLogger("psc.adapters.vllm")
NAME: Final = "_create_grammar"
"""The manager's method that is replaced."""
_MANAGER: Final = "vllm.v1.structured_output:StructuredOutputManager"
_SEAMS: Final = (
    Seam(f"{_MANAGER}.{NAME}", ("self", "request"), by_position=True),
    Seam(f"{_MANAGER}._get_reasoner", ("self", "request"), by_position=True),
)
_Create = Callable[["StructuredOutputManager", "Request"], Any]


@dataclass(frozen=True, slots=True)
class Ends:
    """The tokens at which a parser has reasoning end."""

    explicit: frozenset[int]
    """Those that belong to the reasoning."""
    implicit: frozenset[int] = frozenset()
    """Those that belong to the answer."""
    asks: Callable[[list[int]], bool] | None = None
    """Whether the last of these tokens, all of a request so far, ends it; where no one token does."""


def ends_of(parser: Any, prompt: list[int]) -> Ends | None:
    """The ends of a parser's reasoning; None where psc cannot say.

    Args:
        parser: vLLM's reasoning parser of a request.
        prompt: the request's tokens before its reasoning.
    """
    base = import_module("vllm.reasoning.basic_parsers").BaseThinkingReasoningParser
    parser = getattr(parser, "_parser", parser)  # one that stands for another, by the request
    tokens = getattr(parser, "reasoning_end_token_ids", None)
    if tokens and hasattr(parser, "find_reasoning_end"):
        implicit = frozenset(token for token in tokens if parser.find_reasoning_end([token]).implicit)
        return Ends(frozenset(tokens) - implicit, implicit)
    if isinstance(parser, base) and type(parser).is_reasoning_end_streaming is base.is_reasoning_end_streaming:
        return Ends(frozenset((parser.end_token_id,)))

    def asks(tokens: list[int]) -> bool:
        return bool(parser.is_reasoning_end_streaming(tokens, tokens[-1:]))

    end = getattr(parser, "reasoning_end_str", None)
    tokenizer = getattr(parser, "model_tokenizer", None)
    if not end or tokenizer is None or getattr(parser, "engine_based_streaming", False):
        return None  # for the last kind, more than its end may end it, and that may belong to the answer
    thought, ending = (tokenizer.encode(text, add_special_tokens=False) for text in ("a", end))
    return Ends(frozenset(), asks=asks) if not asks([*prompt, *thought]) and asks([*prompt, *thought, *ending]) else None


class Reasoning:
    """Where the reasoning of one request is.

    Args:
        ends: the tokens that end it.
        vocab_size: the number of logits.
        forbidden: tokens that are not allowed in it, where they do not end it.
        prompt: the tokens before it.
    """

    def __init__(self, ends: Ends, vocab_size: int, forbidden: Iterable[int], prompt: Sequence[int] = ()) -> None:
        self._ends: Final = ends
        self._tokens: Final = list(prompt)
        """Up to here, where the parser is asked."""
        self.forbidden: Final = frozenset(forbidden)
        self.row: Final[NDArray[np.int32]] = np.empty(-(-vocab_size // 32), np.int32)
        """The mask of each of its tokens."""
        allow_all_but(self.row, (token for token in self.forbidden if token < vocab_size))
        self.ended = False
        """Whether the next token is the grammar's."""
        self._n = 0
        self._is_implicit = False

    def look(self, tokens: Sequence[int]) -> tuple[int, bool]:
        """How many of the next tokens belong to the reasoning, and whether that ends with them; else the next one is forbidden."""
        so_far = list(self._tokens) if self._ends.asks is not None else []
        for i, token in enumerate(tokens):
            if token in self._ends.explicit:
                return i + 1, True
            if token in self.forbidden or token < 0:
                return i, False
            if self._ends.asks is not None:
                so_far.append(token)
                if self._ends.asks(so_far):
                    return i + 1, True
            if token in self._ends.implicit:
                return i, True
        return len(tokens), False

    def write(self, rows: NDArray[np.int32], drafts: Sequence[int]) -> int:
        """Writes the rows of a request that the grammar's do not precede.

        Args:
            rows: int32 of shape (more than drafts, words): row i is the mask after i drafts.
            drafts: the tokens that may come next. From -1 on there are none, and rows allow everything.

        Returns:
            How many rows were written: `n_rows`.
        """
        written = self.n_rows(drafts)
        rows[:written] = self.row
        n, ended = self.look(drafts)
        if not ended and n < len(drafts) and drafts[n] < 0:
            rows[n + 1 : written] = -1
        return written

    def n_rows(self, drafts: Sequence[int]) -> int:
        """How many of a request's rows, one more than there are drafts, are the reasoning's."""
        n, ended = self.look(drafts)
        return n + (not self._belongs(drafts[:n])) if ended else len(drafts) + 1

    def _belongs(self, tokens: Sequence[int]) -> bool:
        """Whether what ended the reasoning is the last one of its tokens, and not the first one of the grammar's."""
        return bool(tokens) and (self._ends.asks is not None or tokens[-1] in self._ends.explicit)

    def take(self, tokens: Sequence[int]) -> int:
        """Takes those of the next tokens that belong to the reasoning; their number."""
        n, self.ended = self.look(tokens)
        self._n += n
        if self._ends.asks is not None:
            self._tokens.extend(tokens[:n])
        self._is_implicit = self.ended and not self._belongs(tokens[:n])
        return n

    def take_back(self, n: int, *, from_start: bool) -> None:
        """Takes tokens back.

        Args:
            n: how many of its own.
            from_start: whether the grammar's first token was taken back.
        """
        if n or (from_start and self._is_implicit):
            self.ended = self._is_implicit = False
        self._n -= n
        if self._ends.asks is not None:
            del self._tokens[len(self._tokens) - n :]

    def reset(self) -> None:
        """Back to its beginning."""
        self.take_back(self._n, from_start=True)


def of_one_grammar(original: _Create) -> _Create:
    """The manager's method, which has a request's reasoning be a part of psc's grammar."""

    @functools.wraps(original)
    def create(self: StructuredOutputManager, request: Request) -> Any:
        grammar = original(self, request)
        if isinstance(grammar, PscGrammar):
            _begin(self, request, grammar)
        return grammar

    return create


def can_begin() -> bool:
    """Whether this release has what is needed; a line in the log where it has not."""
    if missing := broken_seams(_SEAMS):
        _log.warning("vLLM looks for the end of reasoning, and not psc: %s", "; ".join(missing))
    return not missing


def _begin(manager: StructuredOutputManager, request: Request, grammar: PscGrammar) -> None:
    asked = request.structured_output_request
    options = options_of(manager.vllm_config)
    if options is None or options.reasoning == "engine" or manager.enable_in_reasoning or asked.reasoning_ended:
        return
    parser = manager._get_reasoner(request)
    prompt = list(request.prompt_token_ids or [])
    ends = None if parser is None else ends_of(parser, prompt)
    if ends is None:
        return
    if asked.reasoning_ended is False or not parser.is_reasoning_end(prompt):
        misplaced = {token for token in ends.implicit if not grammar.validate_tokens([token])}
        grammar.reasoning = Reasoning(ends, grammar.matcher.compiled.vocab_size, grammar.stop_token_ids | misplaced, prompt)
    asked.reasoning_ended = True  # for vLLM the grammar holds from here on
