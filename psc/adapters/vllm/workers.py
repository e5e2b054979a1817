"""The worker's side of masks in vLLM: psc's kernel for logits on a CPU, and row ids where the scheduler sends them.

vLLM masks the logits of every backend by one function in each of its two runners. Both are replaced, once in a process. On a CPU
psc's kernel masks logits of any type in place. XGrammar's, which vLLM calls, takes float32 only and a mask for every row. vLLM's
own function stays for steps with drafts and for logits on a GPU, except for row ids (`psc.adapters.vllm.row_ids`).

Cost: on a CPU 0.2 to 0.3 ms for 64 rows of 49,152 logits; XGrammar's kernel takes 12 ms on two cores.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psc.adapters.seams import Seam, broken_seams
from psc.runtime import numpy_masks
from psc.runtime.mask_arguments import WORD_BITS
from psc.runtime.mask_table import MaskStep, MaskTable
from psc.runtime.row_slots import MaskUpdate

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

FIRST_RUNNER: Final = Seam(
    "vllm.v1.structured_output.utils:apply_grammar_bitmask", ("scheduler_output", "grammar_output", "input_batch", "logits")
)
_VLLMS: Final = "_vllms_own"
"""Of a function that is psc's: the one it replaces."""


@dataclass(frozen=True, slots=True)
class RowIds:
    """A step's ids, instead of vLLM's bitmask: for each request after its text, and after each of its drafts; -1 allows all."""

    leader: str
    """Of which scheduler."""
    max_batch: int
    counts: list[int]
    """The number of ids of each request."""
    update: MaskUpdate

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.leader, self.max_batch, self.counts, self.update)


def _received(leader: str, max_batch: int, counts: list[int], update: MaskUpdate) -> RowIds:
    """In a worker's process."""
    follow()
    return RowIds(leader, max_batch, counts, update)


def mask_on_cpus() -> list[str]:
    """Replaces the function that masks logits on a CPU. Returns why not, where this vLLM has no such function."""
    problems = broken_seams([FIRST_RUNNER])
    if not problems:
        follow()
    return problems


def follow() -> None:
    """Replaces vLLM's functions in the modules that this process has imported. Called again, nothing changes."""
    for owner, make in _owners():
        if not hasattr(owner.apply_grammar_bitmask, _VLLMS):
            original = owner.apply_grammar_bitmask
            ours = functools.wraps(original)(make(original))
            setattr(ours, _VLLMS, original)
            owner.apply_grammar_bitmask = ours


def unfollow() -> None:
    """Puts vLLM's own functions back, and forgets the tables."""
    for owner, _ in _owners():
        owner.apply_grammar_bitmask = getattr(owner.apply_grammar_bitmask, _VLLMS, owner.apply_grammar_bitmask)
    _FOLLOWERS.clear()


def _owners() -> Iterator[tuple[Any, Callable[..., Callable[..., None]]]]:
    """The modules, and the class, that have a function to be replaced."""
    for name, owner, make in (
        ("vllm.v1.structured_output.utils", None, _in_the_first_runner),
        ("vllm.v1.worker.gpu_model_runner", None, _in_the_first_runner),  # which imports the name from there
        ("vllm.v1.worker.gpu.structured_outputs", "StructuredOutputsWorker", _in_the_second_runner),
    ):
        module = sys.modules.get(name)
        place = module if owner is None else getattr(module, owner, None)
        if hasattr(place, "apply_grammar_bitmask"):
            yield place, make


class _Follower:
    """A worker's table, and the library that its logits are for."""

    def __init__(self, ids: RowIds, logits: torch.Tensor) -> None:
        device: int | None = None
        self.library: Any = numpy_masks
        if not logits.is_cpu:
            from psc.runtime import cupy_masks

            self.library, device = cupy_masks, logits.device.index
        row_bytes = 4 * -(-ids.update.vocab_size // WORD_BITS)
        self.table: MaskTable[MaskStep] = self.library.MaskTable(
            ids.update, max_bytes=ids.update.n_slots * row_bytes, max_batch=ids.max_batch, device=device
        )

    def apply(self, ids: RowIds, logits: torch.Tensor, rows: Any) -> None:
        """Masks logits; ``rows`` are theirs, int for each id, on the CPU or, where -1 is none, the logits' device."""
        stream = None
        if not logits.is_cpu:
            import torch

            stream = torch.cuda.current_stream(logits.device)
        step = self.table.apply_update(ids.update, stream=stream)
        self.library.apply_rows(logits, self.table.rows, step.ids, rows=rows, stream=stream)


_FOLLOWERS: Final[dict[tuple[str, str], _Follower]] = {}


def _apply(ids: RowIds, logits: torch.Tensor, rows: Any) -> None:
    key = ids.leader, str(logits.device)
    follower = _FOLLOWERS.get(key)
    if follower is None:
        for old in [k for k in _FOLLOWERS if k[1] == key[1]]:  # of an engine that is no more
            del _FOLLOWERS[old]
        follower = _FOLLOWERS[key] = _Follower(ids, logits)
    follower.apply(ids, logits, rows)


def _in_the_first_runner(original: Callable[..., None]) -> Callable[..., None]:
    def apply_grammar_bitmask(scheduler_output: Any, grammar_output: Any, input_batch: Any, logits: torch.Tensor) -> None:
        masks, requests = grammar_output.grammar_bitmask, grammar_output.structured_output_request_ids
        drafts = scheduler_output.scheduled_spec_decode_tokens
        has_ids = isinstance(masks, RowIds)
        # The masks of requests with drafts lie differently from release to release, and vLLM knows how.
        if not has_ids and not (logits.is_cpu and len(masks) == len(requests) and not any(drafts.values())):
            original(scheduler_output, grammar_output, input_batch, logits)
            return
        first: dict[str, int] = {}
        n_drafts = 0
        for at, request in enumerate(input_batch.req_ids):
            first[request] = at + n_drafts
            n_drafts += len(drafts.get(request, ()))
        # A request may have left the batch since it was scheduled.
        begins = [first.get(request, -1) for request in requests]
        if has_ids:
            rows = [begin + k if begin >= 0 else -1 for begin, n in zip(begins, masks.counts, strict=True) for k in range(n)]
            _apply_where(masks, logits, np.array(rows, np.int64))
        else:
            _mask_on_a_cpu(masks, logits, np.array(begins, np.int64))

    return apply_grammar_bitmask


def _mask_on_a_cpu(masks: NDArray[np.int32], logits: torch.Tensor, rows: NDArray[np.int64]) -> None:
    """Masks rows of logits, each by the mask in its place; those of -1 are left out."""
    present = np.flatnonzero(rows >= 0)
    width = min(logits.shape[1], masks.shape[1] * WORD_BITS)  # as vLLM does it: logits that no mask covers stay
    numpy_masks.apply_rows(logits, masks, present, rows=rows[present], vocab_size=width)


def _in_the_second_runner(original: Callable[..., None]) -> Callable[..., None]:
    def apply_grammar_bitmask(
        self: Any, logits: torch.Tensor, input_batch: Any, grammar_req_ids: list[str], grammar_bitmask: Any
    ) -> None:
        if not isinstance(grammar_bitmask, RowIds):
            original(self, logits, input_batch, grammar_req_ids, grammar_bitmask)
            return
        import torch

        at = {request: i for i, request in enumerate(input_batch.req_ids)}
        n = len(grammar_bitmask.update.ids)
        counts = torch.tensor(grammar_bitmask.counts, dtype=torch.int64)
        requests = torch.tensor([at[r] for r in grammar_req_ids], dtype=torch.int64).repeat_interleave(counts)
        within = torch.arange(n) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        requests, within = (t.to(logits.device, non_blocking=True) for t in (requests, within))
        # Only the device has the positions of a request's logits, since it may have trimmed drafts.
        rows = input_batch.cu_num_logits[requests] + within
        rows = torch.where(rows < input_batch.cu_num_logits[requests + 1], rows, -1).to(torch.int32)
        if logits.is_cpu:
            _apply_where(grammar_bitmask, logits, rows.numpy())
        else:
            _apply(grammar_bitmask, logits, rows)

    return apply_grammar_bitmask


def _apply_where(ids: RowIds, logits: torch.Tensor, rows: Any) -> None:
    """As `_apply`, with rows on the CPU; those of -1 are left out."""
    if (rows < 0).any():
        present = rows >= 0
        ids = replace(ids, update=replace(ids.update, ids=ids.update.ids[present]))
        rows = rows[present]
    _apply(ids, logits, rows)
