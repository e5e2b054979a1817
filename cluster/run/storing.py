"""From a compiled artifact to the store, and on to the registries.

An artifact is written at once. When that fails because the disk is full or failing, it stays in memory and is written again after
growing pauses while other jobs go on; after the last one its job fails. Any other error stays, and fails its job at once.

Cost: hashing an artifact, and writing three small files with it: some 10 ms.
"""

from __future__ import annotations

import contextlib
import errno
import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.cluster.run.compilation import Compiled
from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import JobOutcome
from psc.cluster.run.plan import PlannedJob
from psc.cluster.run.publishing import Publishing, cause_in
from psc.errors import StoreError

WRITE_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Before each further attempt to write an artifact."""


@dataclass(order=True)
class _Write:
    due: float
    order: int
    attempt: int = field(compare=False)
    job: PlannedJob = field(compare=False)
    compiled: Compiled = field(compare=False)


class Storing:
    """The artifacts of a run on their way to the store.

    Args:
        store: of the artifacts.
        publishing: gets the artifacts written.
        observer: notified of retries, and of jobs that have failed.
    """

    def __init__(self, store: Store, publishing: Publishing, observer: Observer) -> None:
        self._store = store
        self._publishing = publishing
        self._observer = observer
        self._writes: list[_Write] = []
        self._numbers = itertools.count()

    def add(self, job: PlannedJob, compiled: Compiled) -> None:
        """Takes in a job's artifact, for `write_due`."""
        heapq.heappush(self._writes, _Write(time.monotonic(), next(self._numbers), 1, job, compiled))

    @property
    def next_due(self) -> float | None:
        """When the next artifact is to be written, in ``time.monotonic()``; None if none waits."""
        return self._writes[0].due if self._writes else None

    def write_due(self) -> None:
        """Writes the artifacts that are due."""
        while self._writes and self._writes[0].due <= time.monotonic():
            write = heapq.heappop(self._writes)
            try:
                self._write(write.job, write.compiled)
            except StoreError as e:
                self._once_more(write, e)

    def write_all(self) -> None:
        """Writes all waiting artifacts, due or not, once: the run has ended."""
        writes, self._writes = self._writes, []
        for write in writes:
            with contextlib.suppress(StoreError):
                self._write(write.job, write.compiled)

    def _once_more(self, write: _Write, error: StoreError) -> None:
        why = self._cause(error, write)
        if write.attempt > len(WRITE_PAUSES_S) or not _may_pass(error):
            attempts = f" in {write.attempt} attempts" if write.attempt > 1 else ""
            for outcome in (write.job.outcome, *write.job.followers):
                outcome.status = "failed"
                outcome.error = f"compiled, but it could not be stored{attempts}: {why}"
                self._observer.job_ended(outcome)
            return
        pause = WRITE_PAUSES_S[write.attempt - 1]
        self._observer.note(f"{write.job.job.name}: {why}; again in {pause:g} s")
        heapq.heappush(self._writes, replace(write, due=time.monotonic() + pause, attempt=write.attempt + 1))

    def _cause(self, error: StoreError, write: _Write) -> str:
        """The error without the file where it occurred, so that it is one cause for all artifacts."""
        why = str(error)
        for _, reference in _outcomes(write.job, write.compiled):
            why = cause_in(why, reference)
        return why

    def _write(self, job: PlannedJob, compiled: Compiled) -> None:
        for _, reference in _outcomes(job, compiled):
            self._store.add_verified(compiled.data, reference)
        for outcome, reference in _outcomes(job, compiled):
            outcome.status = "compiled" if outcome is job.outcome else "present"
            outcome.digest, outcome.size = compiled.reference.digest, compiled.reference.size
            outcome.counts, outcome.warnings = compiled.counts, compiled.warnings
            self._publishing.add(outcome, reference, compiled.data)


def _may_pass(error: StoreError) -> bool:
    """Whether the error may be over at the next attempt: a disk that is full or failing, and no folder that cannot be written."""
    cause = error.__cause__
    return not isinstance(cause, OSError) or cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def _outcomes(job: PlannedJob, compiled: Compiled) -> Iterator[tuple[JobOutcome, Reference]]:
    """The jobs that an artifact is for, and the reference by which each of them has it."""
    for outcome in (job.outcome, *job.followers):
        yield outcome, replace(compiled.reference, grammar=outcome.grammar, tokenizer=outcome.tokenizer)
