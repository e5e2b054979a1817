"""The masks of a batch, in the place of the manager's loop over its requests.

The rows are those of vLLM's own loop. Each request has one row, or one more than it may have drafts: row i is the mask after i
drafts. After a draft that is refused the row before it is repeated, after the end of the text and after padding (-1) rows allow
everything, and while the model reasons all but some tokens. What is not simple (a request that reasons and has drafts, a grammar of
another backend, diffusion) goes to vLLM's own code.

Cost: without drafts 1 us a request and a copy of each row, on all threads; with drafts 0.7 us and a copy for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from psc.adapters.vllm.grammar import FEW_WORDS, PADDING, PscGrammar
from psc.adapters.vllm.row_ids import RowIds, RowIdSource, row_id_source
from psc.runtime.compiled import BatchGrammarMatcher, GrammarMatcher

if TYPE_CHECKING:
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

Rows = NDArray[np.int32]
_Original = Callable[[Any, dict[str, "Request"], list[str], dict[str, list[int]]], "Rows | None"]


class MaskFilling:
    """Fills masks for vLLM's manager.

    Args:
        original: the manager's own method.
    """

    def __init__(self, original: _Original) -> None:
        self._original: Final = original
        self._batch: Final = BatchGrammarMatcher()
        self._sources: WeakKeyDictionary[StructuredOutputManager, RowIdSource | None] = WeakKeyDictionary()
        self._chains: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def grammar_bitmask(
        self,
        manager: StructuredOutputManager,
        requests: dict[str, Request],
        structured_output_request_ids: list[str],
        scheduled_spec_decode_tokens: dict[str, list[int]],
    ) -> Rows | RowIds | None:
        """The rows of the masks of a step, or their ids in a table; arguments and result are those of the manager's method."""
        ids, drafts = structured_output_request_ids, scheduled_spec_decode_tokens
        grammars = [requests[i].structured_output_request.grammar for i in ids]
        if not ids or manager.vllm_config.model_config.is_diffusion or not all(type(g) is PscGrammar for g in grammars):
            return self._original(manager, requests, ids, drafts)
        began = perf_counter()
        stride = manager.vllm_config.num_speculative_tokens + 1
        answer: Rows | RowIds | None = None
        if (source := self._source_of(manager, grammars[0])) is not None:
            answer = _row_ids(source, manager, [requests[i] for i in ids], grammars, [drafts.get(i, []) for i in ids])
        if answer is None:
            rows = _rows_of(manager, stride)
            if stride == 1 or not any(map(drafts.get, ids)):
                self._fill_without_drafts(manager, [requests[i] for i in ids], grammars, rows, stride)
            else:
                self._fill_with_drafts(manager, requests, ids, drafts, rows, stride)
            answer = rows[: len(ids) * stride]
        counters = grammars[0].counters
        counters.add("masks", amount=len(ids))
        counters.add("mask_seconds", amount=perf_counter() - began)
        return answer

    def _source_of(self, manager: StructuredOutputManager, grammar: PscGrammar) -> RowIdSource | None:
        """The scheduler's table of mask rows, where there is one."""
        if manager not in self._sources:
            self._sources[manager] = row_id_source(manager.vllm_config, grammar.matcher.compiled.tokenizer_info)
        return self._sources[manager]

    def _fill_without_drafts(
        self, manager: StructuredOutputManager, requests: Sequence[Request], grammars: Sequence[PscGrammar], rows: Rows, stride: int
    ) -> None:
        always = _constrains_always(manager)
        matchers: list[GrammarMatcher] = []
        filled: list[int] = []
        by_row: list[PscGrammar] = []
        for at, grammar in enumerate(grammars):
            row = at * stride
            constrained = always or manager._get_constraint_bounds(requests[at], ()).constraint_start == 0
            if constrained and not grammar.terminated and not grammar.failed:
                matchers.append(grammar.matcher)
                filled.append(row)
                by_row.append(grammar)
            else:
                masked = () if constrained else manager._masked_reasoning_ends(requests[at])
                _allow_all_but(rows[row], masked)
        try:
            self._batch.batch_fill_next_token_bitmask(matchers, rows, filled)
        except Exception:  # of one of them; each alone says of which
            for grammar, row in zip(by_row, filled, strict=True):
                grammar.fill_row(rows, row)
        for at in np.flatnonzero(~rows[filled, :FEW_WORDS].any(axis=1)).tolist():
            by_row[at].open_if_empty(rows, filled[at])

    def _fill_with_drafts(
        self,
        manager: StructuredOutputManager,
        requests: dict[str, Request],
        ids: Sequence[str],
        drafts: dict[str, list[int]],
        rows: Rows,
        stride: int,
    ) -> None:
        always = _constrains_always(manager)
        theirs: dict[int, Rows] = {}
        for at, request_id in enumerate(ids):  # first, since vLLM's own code writes what it is asked for from the first row on
            if always or requests[request_id].structured_output_request.reasoning_ended:
                continue
            filled = self._original(manager, requests, [request_id], drafts)
            assert filled is not None  # as there is a request
            theirs[at] = filled[: len(drafts.get(request_id, ())) + 1].copy()
        words = memoryview(rows)  # type: ignore[arg-type]
        for at, request_id in enumerate(ids):
            row = at * stride
            if at in theirs:
                rows[row : row + len(theirs[at])] = theirs[at]
                continue
            self._fill_chain(requests[request_id].structured_output_request.grammar, drafts.get(request_id, []), rows, words, row)

    def _fill_chain(self, grammar: PscGrammar, drafts: list[int], rows: Rows, words: memoryview, first: int) -> None:
        """The rows of one request: of the text as it is, and after each of its drafts."""
        n = drafts.index(PADDING) if PADDING in drafts else len(drafts)
        end = first + len(drafts) + 1
        if grammar.terminated:
            rows[first:end] = -1
            return
        if n == 0 or grammar.failed:
            grammar.fill_row(rows, first)
            rows[first + 1 : end] = -1
            return
        following, siblings = self._chain(n + 1)
        tokens = np.array([0, *drafts[:n]], np.int64)
        try:
            grammar.matcher.traverse_draft_tree(following, siblings, tokens, rows[first : first + n + 1])
        except Exception as e:
            grammar.fail(e)
            rows[first:end] = -1
            return
        n_bits = 32 * rows.shape[1]
        for at, token in enumerate(drafts[:n], first):
            if not 0 <= token < n_bits or not words[at, token >> 5] >> (token & 31) & 1:
                grammar.tell_of_refused_draft(token)
                grammar.open_if_empty(rows, at)
                rows[at + 1 : end] = rows[at]
                return
            if token in grammar.stop_token_ids:
                rows[at + 1 : end] = -1
                return
        rows[first + n + 1 : end] = -1

    def _chain(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A tree of n nodes that is a line."""
        if n not in self._chains:
            following = np.arange(1, n + 1, dtype=np.int64)
            following[-1] = -1
            self._chains[n] = following, np.full(n, -1, np.int64)
        return self._chains[n]


def _row_ids(
    source: RowIdSource,
    manager: StructuredOutputManager,
    requests: Sequence[Request],
    grammars: Sequence[PscGrammar],
    drafts: Sequence[list[int]],
) -> RowIds | None:
    """The ids of the rows of a step in the scheduler's table; None where a mask is of no grammar alone."""
    always = _constrains_always(manager)
    constrained: list[PscGrammar | None] = []
    for request, grammar, of_request in zip(requests, grammars, drafts, strict=True):
        bound = always or (
            request.structured_output_request.reasoning_ended
            if of_request
            else manager._get_constraint_bounds(request, ()).constraint_start == 0
        )
        if not bound and (of_request or manager._masked_reasoning_ends(request)):
            return None
        constrained.append(grammar if bound and not grammar.terminated and not grammar.failed else None)
    return source.step(constrained, drafts)


def _constrains_always(manager: StructuredOutputManager) -> bool:
    """Whether no request of the manager is ever without its grammar."""
    return manager.enable_in_reasoning or manager.reasoner_cls is None


def _rows_of(manager: StructuredOutputManager, stride: int) -> Rows:
    if manager._grammar_bitmask is None:
        assert manager.backend is not None
        most = manager.vllm_config.scheduler_config.max_num_seqs
        manager._grammar_bitmask = manager.backend.allocate_token_bitmask(most * stride)
    rows: Rows = manager._grammar_bitmask.numpy()
    return rows


def _allow_all_but(row: Rows, masked: Sequence[int]) -> None:
    row.fill(-1)
    unsigned = row.view(np.uint32)
    for token in masked:
        unsigned[token >> 5] &= ~np.uint32(1 << (token & 31))
