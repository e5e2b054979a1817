"""Row ids instead of masks on the way from vLLM's scheduler to its workers, where the operator enables it (`mask_table_mb`).

The idea: the scheduler has a table of mask rows, and each worker one that follows it. A step sends four bytes for each request, and
a row only on its first use, instead of a mask for each request (16 kB with 128,000 tokens), and one for each draft. While a
model reasons, the row is that of a grammar of any tokens but some. Masks that no table has (tokens that vLLM holds back, another
backend's grammar) are sent whole, as before.

A worker applies every step's ids, in order (`psc.adapters.vllm.workers`): vLLM drops no step's masks between the two. A missing
step is an error.

Cost: for the scheduler 0.15 us a request; for a worker the update of its table, and one kernel over the logits.
"""

from __future__ import annotations

import importlib.util
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psc._core import GrammarMatcher
from psc.adapters.seams import Seam, broken_seams
from psc.adapters.vllm.configuration import options_of
from psc.adapters.vllm.grammar import FEW_WORDS, PADDING, PscGrammar
from psc.adapters.vllm.workers import FIRST_RUNNER, RowIds, follow
from psc.errors import BitmaskError
from psc.runtime import numpy_masks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from psc.grammars.grammar_compiler import GrammarCompiler
    from psc.vocabulary.tokenizer_info import TokenizerInfo

_log = logging.getLogger("psc.adapters.vllm")

_MAX_OF_REASONING: Final = 64
"""Sets of tokens that reasoning may not have, whose rows are kept."""
_FIRST_RUNNER: Final = (
    FIRST_RUNNER,
    Seam("vllm.v1.core.sched.output:GrammarOutput", ("structured_output_request_ids", "grammar_bitmask")),
)
_SECOND_RUNNER: Final = (
    Seam(
        "vllm.v1.worker.gpu.structured_outputs:StructuredOutputsWorker.apply_grammar_bitmask",
        ("self", "logits", "input_batch", "grammar_req_ids", "grammar_bitmask"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a request that are of one matcher: where it is, and after each draft."""

    request: int
    matcher: GrammarMatcher | None
    drafts: list[int]
    has_first: bool = False
    """Whether the first of the rows is the reasoning's, and not this matcher's."""


class RowIdSource:
    """The scheduler's table.

    Args:
        vocabulary: the model's.
        max_bytes: of each table.
        max_batch: masks in a step at most.

    Raises:
        BitmaskError: ``max_bytes`` does not hold ``max_batch`` rows.
    """

    def __init__(self, vocabulary: TokenizerInfo, max_bytes: int, max_batch: int) -> None:
        self._vocabulary: Final = vocabulary
        self._of_reasoning: Final[dict[frozenset[int], GrammarMatcher]] = {}
        """By the tokens that the reasoning may not have, which are those of few requests' own stop tokens."""
        self._compiler: GrammarCompiler | None = None
        self._table = numpy_masks.MaskTable(vocabulary, max_bytes=max_bytes, max_batch=max_batch)
        self._leader: Final = uuid.uuid4().hex
        self._max_batch: Final = max_batch

    def step(self, grammars: Sequence[PscGrammar | None], drafts: Sequence[list[int]]) -> RowIds | None:
        """The ids of the masks after the grammars' texts, and along their drafts.

        Args:
            grammars: one a request; None for a request that may have any token.
            drafts: one list a request; from a draft of -1 on everything is allowed.

        Returns None where a mask cannot be made: masks, made one by one, show which.
        """
        followed = [d[: d.index(PADDING)] if PADDING in d else d for d in drafts]
        try:
            parts = [part for at, grammar in enumerate(grammars) for part in self._parts_of(at, grammar, followed[at])]
            step = self._table.step_along([part.matcher for part in parts], [part.drafts for part in parts])
        except Exception:
            return None
        of_part = np.repeat(np.arange(len(parts)), [len(part.drafts) + 1 for part in parts])
        of_grammar = np.array([part.request for part in parts], np.int64)[of_part]
        self._report_refused(step.refused, of_part, parts, grammars)
        update = step.update()
        self._open_empty_rows(update.ids, of_grammar, grammars)
        if any(part.has_first for part in parts):
            first = np.flatnonzero(np.diff(of_part, prepend=-1))
            kept = np.delete(np.arange(len(of_part)), first[[part.has_first for part in parts]])
            update, of_grammar = replace(update, ids=update.ids[kept]), of_grammar[kept]
        counts = [len(d) + 1 for d in drafts]
        if (n := sum(counts)) != len(of_grammar):
            ids = np.full(n, -1, np.int32)
            first = np.cumsum([0, *counts[:-1]])
            within = np.arange(len(of_grammar)) - np.searchsorted(of_grammar, of_grammar)
            ids[first[of_grammar] + within] = update.ids
            update = replace(update, ids=ids)
        return RowIds(self._leader, self._max_batch, counts, update)

    def _parts_of(self, request: int, grammar: PscGrammar | None, drafts: list[int]) -> list[_Part]:
        """What the rows of a request are of: its grammar, and before it each row of its reasoning."""
        if grammar is None:
            return [_Part(request, None, drafts)]
        reasoning = grammar.reasoning
        if reasoning is None or reasoning.ended:
            return [_Part(request, grammar.matcher, drafts)]
        n, ended = reasoning.look(drafts)
        own = reasoning.n_rows(drafts)
        free = _Part(request, self._matcher_of(reasoning.forbidden), [])
        return [free] * own + ([_Part(request, grammar.matcher, drafts[n:], has_first=own > n)] if ended else [])

    def _matcher_of(self, forbidden: frozenset[int]) -> GrammarMatcher:
        """A matcher whose mask has all tokens but these."""
        matcher = self._of_reasoning.get(forbidden)
        if matcher is None:
            if self._compiler is None:
                from psc.grammars.grammar_compiler import GrammarCompiler  # which no worker needs

                self._compiler = GrammarCompiler(self._vocabulary, cache_enabled=False, store=False)
            left_out = sorted(token for token in forbidden if token < self._vocabulary.vocab_size)
            stops = sorted(set(self._vocabulary.stop_token_ids) - forbidden)
            kinds = [f"{kind}({', '.join(map(str, ids))})" for kind, ids in (("ExcludeToken", left_out), ("Token", stops)) if ids]
            if len(self._of_reasoning) == _MAX_OF_REASONING:
                self._of_reasoning.clear()
            matcher = GrammarMatcher(self._compiler.compile_grammar(f"root ::= ({' | '.join(kinds)})+"))
            self._of_reasoning[forbidden] = matcher
        return matcher

    @staticmethod
    def _report_refused(
        refused: Sequence[int], of_part: NDArray[np.int64], parts: Sequence[_Part], grammars: Sequence[PscGrammar | None]
    ) -> None:
        for at in refused:
            part = parts[of_part[at]]
            grammar = grammars[part.request]
            assert grammar is not None  # as it refused
            grammar.report_refused_draft(part.drafts[at - int(np.searchsorted(of_part, of_part[at]))])

    def _open_empty_rows(self, ids: Any, of_grammar: Any, grammars: Sequence[PscGrammar | None]) -> None:
        """Makes the ids of rows in which nothing is allowed -1."""
        for at in np.flatnonzero((ids >= 0) & ~self._table.rows[ids, :FEW_WORDS].any(axis=1)).tolist():
            grammar = grammars[of_grammar[at]]
            assert grammar is not None  # as its id is not -1
            row = self._table.rows[[ids[at]]]  # a copy
            grammar.open_if_empty(row, 0)
            if row.all():
                ids[at] = -1


def row_id_source(vllm_config: Any, vocabulary: TokenizerInfo) -> RowIdSource | None:
    """The scheduler's table where the configuration enables one and its workers can follow.

    Args:
        vllm_config: the engine's configuration.
        vocabulary: the model's.
    """
    options = options_of(vllm_config)
    if options is None or not options.mask_table_mb or why_no_row_ids(vllm_config) is not None:
        return None
    try:
        max_rows = vllm_config.scheduler_config.max_num_seqs * (vllm_config.num_speculative_tokens + 1)
        source = RowIdSource(vocabulary, options.mask_table_mb << 20, max_rows)
    except BitmaskError as e:
        _log.warning("workers are sent masks and not row ids: mask_table_mb=%d is too little (%s)", options.mask_table_mb, e)
        return None
    follow()  # a worker may be in this process, to which nothing is sent
    return source


def why_no_row_ids(vllm_config: Any) -> str | None:
    """Why the workers of an engine cannot take row ids; None: they can.

    Cost: imports a module of the second runner, and triton with it, which takes a second or two.
    """
    if problems := broken_seams(_SECOND_RUNNER if getattr(vllm_config, "use_v2_model_runner", False) else _FIRST_RUNNER):
        return "; ".join(problems)
    if getattr(vllm_config.parallel_config, "enable_batch_sharded_sampling", False):
        return "with enable_batch_sharded_sampling a worker sees only its own requests"
    device = getattr(getattr(vllm_config, "device_config", None), "device_type", "cpu")
    if device not in ("cpu", "cuda"):
        return f"there is no table for the device {device!r}"
    if device == "cuda" and importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (psc's extra gpu)"
    return None
