"""The masks of a batch, instead of the manager's loop over its requests.

The rows are those of vLLM's own loop. Each request has one row, or one more than it may have drafts: row i is the mask after i
drafts. After a draft that is refused the row before it is repeated, after the end of the text and after padding (-1) rows allow
everything, and while the model reasons all but some tokens. Where the reasoning is not a part of psc's grammar, and has drafts, and
for grammars of another backend and diffusion, rows are vLLM's own.

All other rows are filled in one native call, into a buffer of psc's own that is used again in the next step, as vLLM's is: most
rows are there already, or differ in a few tokens. The call reports requests whose masks cannot be made, at no extra work.

Cost: 1 us a request and the differences in its rows, on all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from psc._core import MaskBuffer
from psc.adapters.mask_rows import allow_all_but
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.row_ids import RowIdSource, row_id_source
from psc.adapters.vllm.workers import RowIds

if TYPE_CHECKING:
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

    from psc.adapters.vllm.reasoning import Reasoning

Rows = NDArray[np.int32]
_Original = Callable[[Any, dict[str, "Request"], list[str], dict[str, list[int]]], "Rows | None"]
_NO_DRAFTS: Final[list[int]] = []


class MaskFilling:
    """Fills masks for vLLM's manager.

    Args:
        original: the manager's own method.
        fills_drafts: whether rows of requests with drafts, or that reason, are as psc knows them; else vLLM fills all batches of an
            engine that may have such requests.
    """

    def __init__(self, original: _Original, *, fills_drafts: bool = True) -> None:
        self._original: Final = original
        self._fills_drafts: Final = fills_drafts
        self._buffers: WeakKeyDictionary[StructuredOutputManager, MaskBuffer] = WeakKeyDictionary()
        self._sources: WeakKeyDictionary[StructuredOutputManager, RowIdSource | None] = WeakKeyDictionary()

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
        if not self._fills_drafts and (manager.vllm_config.num_speculative_tokens or not constrains_always(manager)):
            return self._original(manager, requests, ids, drafts)
        began = perf_counter()
        answer: Rows | RowIds | None = None
        if self._fills_drafts and (source := self._source_of(manager, grammars[0])) is not None:
            answer = _row_ids(source, manager, [requests[i] for i in ids], grammars, [drafts.get(i, []) for i in ids])
        if answer is None:
            answer = self._fill(manager, requests, ids, grammars, drafts)
        counters = grammars[0].counters
        counters.add("masks", amount=len(ids))
        counters.add("mask_seconds", amount=perf_counter() - began)
        return answer

    def _source_of(self, manager: StructuredOutputManager, grammar: PscGrammar) -> RowIdSource | None:
        """The scheduler's table of mask rows, where there is one."""
        if manager not in self._sources:
            self._sources[manager] = row_id_source(manager.vllm_config, grammar.matcher.compiled.tokenizer_info)
        return self._sources[manager]

    def _fill(
        self,
        manager: StructuredOutputManager,
        requests: dict[str, Request],
        ids: Sequence[str],
        grammars: Sequence[PscGrammar],
        scheduled: dict[str, list[int]],
    ) -> Rows:
        buffer = self._buffer_of(manager, grammars[0])
        rows = buffer.rows
        stride = manager.vllm_config.num_speculative_tokens + 1
        always = constrains_always(manager)
        firsts = list(range(0, len(ids) * stride, stride))
        matchers = [None if g.terminated or g.failed else g.matcher for g in grammars]
        drafts = [scheduled.get(i, _NO_DRAFTS) for i in ids] if scheduled else [_NO_DRAFTS] * len(ids)
        reasoning: list[tuple[Reasoning, int, list[int]]] = []
        if not always:
            kept = [True] * len(ids)
            for at, grammar in enumerate(grammars):
                if grammar.reasoning is not None and not grammar.reasoning.ended and not grammar.failed:
                    reasoning.append((grammar.reasoning, firsts[at], drafts[at]))
                    n, kept[at] = grammar.reasoning.look(drafts[at])
                    firsts[at], drafts[at] = firsts[at] + n, drafts[at][n:]
                    continue
                of_request = slice(firsts[at], firsts[at] + stride)
                if self._fill_of_reasoning(manager, requests, ids[at], drafts[at], rows[of_request]):
                    kept[at] = False
                    buffer.forget(firsts[at], stride)
            grammars, matchers = list(compress(grammars, kept)), list(compress(matchers, kept))
            drafts, firsts = list(compress(drafts, kept)), list(compress(firsts, kept))
        remarks = buffer.fill(matchers, drafts, firsts)
        for of_grammar, first, tokens in reasoning:
            buffer.forget(first, of_grammar.write(rows[first:], tokens))
        for at, offset, what in remarks:
            grammar = grammars[at]
            if isinstance(what, Exception):
                grammar.fail(what)
            elif what == "refused":
                grammar.report_refused_draft(drafts[at][offset])
            else:  # "empty"
                grammar.report_empty_mask()
                rows[firsts[at] + offset] = -1  # a sampler would get no numbers from it
                buffer.forget(firsts[at] + offset)
        return rows[: len(ids) * stride]

    def _fill_of_reasoning(
        self, manager: StructuredOutputManager, requests: dict[str, Request], request_id: str, drafts: list[int], rows: Rows
    ) -> bool:
        """Writes the rows of a request whose grammar does not hold yet, as the model reasons; False where it holds."""
        request = requests[request_id]
        if not drafts:
            if manager._get_constraint_bounds(request, ()).constraint_start == 0:
                return False
            allow_all_but(rows[0], manager._masked_reasoning_ends(request))
            return True
        if request.structured_output_request.reasoning_ended:
            return False
        grammar = request.structured_output_request.grammar
        with grammar.uncounted():  # as the caller counts all requests
            filled = self._original(manager, requests, [request_id], {request_id: drafts})
        assert filled is not None  # as there is a request
        rows[: len(drafts) + 1] = filled[: len(drafts) + 1]
        return True

    def _buffer_of(self, manager: StructuredOutputManager, grammar: PscGrammar) -> MaskBuffer:
        """The rows of a manager, which nobody else writes to."""
        buffer = self._buffers.get(manager)
        if buffer is None:
            max_rows = manager.vllm_config.scheduler_config.max_num_seqs * (manager.vllm_config.num_speculative_tokens + 1)
            buffer = self._buffers[manager] = MaskBuffer(max_rows, grammar.matcher.compiled.vocab_size)
        return buffer


def _row_ids(
    source: RowIdSource,
    manager: StructuredOutputManager,
    requests: Sequence[Request],
    grammars: Sequence[PscGrammar],
    drafts: Sequence[list[int]],
) -> RowIds | None:
    """The ids of the rows of a step in the scheduler's table; None where a mask is of no grammar alone."""
    always = constrains_always(manager)
    constrained: list[PscGrammar | None] = []
    for request, grammar, of_request in zip(requests, grammars, drafts, strict=True):
        if grammar.reasons:
            constrained.append(None if grammar.failed else grammar)
            continue
        bound = always or (
            request.structured_output_request.reasoning_ended
            if of_request
            else manager._get_constraint_bounds(request, ()).constraint_start == 0
        )
        if not bound and (of_request or manager._masked_reasoning_ends(request)):
            return None
        constrained.append(grammar if bound and not grammar.terminated and not grammar.failed else None)
    return source.step(constrained, drafts)


def constrains_always(manager: StructuredOutputManager) -> bool:
    """Whether no request of the manager is ever without its grammar."""
    # Releases differ in what they call the parser; what has neither name may reason.
    parser = getattr(manager, "reasoner_cls", getattr(manager, "reasoner", manager))
    return bool(getattr(manager, "enable_in_reasoning", False)) or parser is None
