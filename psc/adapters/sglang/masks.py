"""The masks of a batch, and along trees of draft tokens, in one native call where they are psc's.

Two functions stand around the engine's own, which do what is not psc's. A grammar may be in the engine's wrapper that waits for the
end of reasoning: past that it is filled as without, and before that the wrapper says what to do.

Cost: a step about the copies of its rows, on all threads; a draft 0.7 us and a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import torch
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject

from psc.adapters.sglang.grammar import PscGrammar
from psc.runtime.compiled import BatchGrammarMatcher

if TYPE_CHECKING:
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarRow

_BATCH = BatchGrammarMatcher()
_FEW_WORDS = 8
"""Of a mask row, in which a row that allows anything nearly always has a bit."""


def psc_grammar(grammar: BaseGrammarObject) -> PscGrammar | None:
    """psc's grammar, in the wrapper that waits for the end of reasoning or without; None for another backend's."""
    inner = grammar.grammar if isinstance(grammar, ReasonerGrammarObject) else grammar
    return inner if isinstance(inner, PscGrammar) else None


def constraining(grammar: BaseGrammarObject) -> PscGrammar | None:
    """psc's grammar where it alone decides the next token: there is no wrapper, or the end of reasoning was passed."""
    ours = psc_grammar(grammar)
    if ours is grammar or ours is None:
        return ours
    # Releases before 0.5.23 have no grammars that describe the reasoning, too.
    return ours if grammar.tokens_after_end >= 0 and not getattr(grammar, "reasoning_in_grammar", False) else None


def fill_vocab_mask_batched(original: Callable[..., None], entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
    """Fills the rows of a batch, those of psc's grammars in one call.

    Args:
        original: the engine's function, for other grammars, and for those that wait for the end of reasoning.
        entries: the grammars, of any class, and their rows.
        vocab_mask: int32 of shape (batch, ceil(vocab_size / 32)), on the CPU.
    """
    ours: list[PscGrammar] = []
    indices: list[int] = []
    others: list[GrammarRow] = []
    for entry in entries:
        grammar = constraining(entry.grammar)
        if grammar is None:
            others.append(entry)
        elif grammar.failure is not None:
            grammar.fill_vocab_mask(vocab_mask, entry.row)
        elif not grammar.is_terminated():
            ours.append(grammar)
            indices.append(entry.row)
    if ours:
        _fill(ours, indices, vocab_mask)
    if others:
        original(others, vocab_mask)


def _fill(grammars: list[PscGrammar], indices: list[int], vocab_mask: torch.Tensor) -> None:
    began = perf_counter()
    failures: Mapping[int, Exception] = {}
    try:
        _BATCH.batch_fill_next_token_bitmask([g.matcher for g in grammars], vocab_mask, indices)
    except Exception as e:
        if not hasattr(e, "failures"):  # nothing was filled
            for grammar, index in zip(grammars, indices, strict=True):
                grammar.fill_vocab_mask(vocab_mask, index)
            return
        failures = e.failures  # of some of them; the other rows are filled
        for at, error in failures.items():
            grammars[at].fail(error)
    rows = vocab_mask.numpy()
    surely = rows[indices, :_FEW_WORDS].any(axis=1)
    surely[list(failures)] = False
    for at in np.flatnonzero(~surely).tolist():
        grammars[at].mend(rows, indices[at])
    counters = grammars[0].counters
    counters.add("masks", amount=len(grammars))
    counters.add("mask_seconds", amount=perf_counter() - began)


def traverse_tree(
    original: Callable[..., None],
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    grammar: BaseGrammarObject,
    allocate_token_bitmask: torch.Tensor,
    vocab_size: int | None = None,
) -> None:
    """Writes the masks along a tree of draft tokens, with the engine's results, in one native walk for psc's grammars.

    Args:
        original: the engine's function, for other grammars.
        retrieve_next_token: int64 of shape (n,), the first child of each node, or -1. Node 0 is where the grammar stands.
        retrieve_next_sibling: in the same way, the next sibling.
        draft_tokens: in the same way, the token that leads to each node.
        grammar: of any class; as before afterwards.
        allocate_token_bitmask: int32 of shape (n, ceil(vocab_size / 32)), -1. Rows of nodes that are refused, that end the text,
            or that are below such nodes, stay as they are.
        vocab_size: tokens from there on are refused.
    """
    ours = psc_grammar(grammar)
    children, siblings, tokens = retrieve_next_token, retrieve_next_sibling, draft_tokens
    mask = allocate_token_bitmask
    if ours is None:
        original(children, siblings, tokens, grammar, mask, vocab_size=vocab_size)
    elif constraining(grammar) is None:
        _walk(grammar, children.tolist(), siblings.tolist(), tokens.tolist(), mask, vocab_size)
    elif not ours.is_terminated():
        _walk_natively(ours, children.to(torch.int64), siblings.to(torch.int64), tokens.to(torch.int64), mask)


def _walk_natively(
    grammar: PscGrammar, children: torch.Tensor, siblings: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> None:
    began = perf_counter()
    rows = mask.numpy()
    try:
        if grammar.failure is not None:
            raise ValueError(grammar.failure)
        grammar.make_root_mask()
        grammar.matcher.traverse_draft_tree(children, siblings, tokens, mask)
    except Exception:
        # The tokens that these rows let through are refused when they are accepted.
        rows.fill(-1)
        grammar.fill_vocab_mask(mask, 0)
        return
    rows[~rows.any(axis=1)] = -1
    grammar.counters.add("masks", amount=len(rows))
    grammar.counters.add("mask_seconds", amount=perf_counter() - began)


def _walk(
    grammar: BaseGrammarObject,
    children: list[int],
    siblings: list[int],
    tokens: list[int],
    mask: torch.Tensor,
    vocab_size: int | None,
) -> None:
    """The walk by the grammar's own methods, for a wrapper that counts the tokens of reasoning."""
    rows = mask.numpy()
    end = vocab_size or rows.shape[1] * 32

    def is_allowed(parent: int, token: int) -> bool:
        return 0 <= token < end and bool(rows[parent, token >> 5] >> (token & 31) & 1)

    def visit(node: int, parent: int) -> None:
        while node != -1:
            if parent == -1 or is_allowed(parent, tokens[node]):
                enter(node, parent)
            node = siblings[node]

    def enter(node: int, parent: int) -> None:
        if parent != -1:
            try:
                grammar.accept_token(tokens[node])
            except ValueError:
                return
        if not grammar.is_terminated():
            grammar.fill_vocab_mask(mask, node)
            visit(children[node], node)
        if parent != -1:
            grammar.rollback(1)

    visit(0, -1)
