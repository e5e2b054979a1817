"""Pushing a run's artifacts to registries during the run.

Each registry is pushed to one artifact at a time, since every push changes its index. An artifact that a registry refuses stays
in the store, and its job says "not published". A registry that does not answer is waited for once, not once for each artifact:
its other artifacts wait until everything else is done, and then they are tried again. A registry that was restarted meanwhile gets
all of them, and one that stays down costs two waits.

Cost: a thread for each registry; an artifact that has to wait is read from the store again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import JobOutcome
from psc.errors import PscError, RegistryError, RegistryUnreachableError

Publish = Callable[[bytes, Reference], None]
"""Pushes an artifact to a registry that may have it already. Raises PscError."""


@dataclass(frozen=True)
class _Push:
    registry: str
    outcome: JobOutcome
    reference: Reference


class Publishing:
    """The pushes of a run.

    Args:
        publishers: per registry, by its name in the report, the function that pushes to it.
        store: of the artifacts.
        observer: notified when a job has ended, and of problems with a registry.
    """

    def __init__(self, publishers: Mapping[str, Publish], store: Store, observer: Observer) -> None:
        self._publishers = publishers
        self._store = store
        self._observer = observer
        self._pools = {name: ThreadPoolExecutor(1, "psc publish") for name in publishers}
        self._running: list[tuple[Future[None], _Push]] = []
        self._waiting: list[_Push] = []
        """For registries that did not answer."""
        self._gone: dict[str, str] = {}
        """Registries that did not answer, and why."""
        self._is_second_attempt = False

    @property
    def busy(self) -> bool:
        """Whether something is being pushed."""
        return bool(self._running)

    @property
    def waits(self) -> bool:
        """Whether something is left for `ask_again`."""
        return bool(self._waiting)

    def add(self, outcome: JobOutcome, reference: Reference, data: bytes | None = None) -> None:
        """Pushes an artifact to all registries; without any, its job ends here.

        Args:
            outcome: of its job.
            reference: under which the registry gets it.
            data: its bytes; read from the store if left out.
        """
        if not self._publishers:
            self._observer.job_ended(outcome)
        for name in self._publishers:
            self._start(_Push(name, outcome, reference), data)

    def ask_again(self) -> None:
        """Pushes the rest to registries that did not answer; there is no third attempt."""
        self._is_second_attempt = True
        self._gone.clear()
        waiting, self._waiting = self._waiting, []
        for push in waiting:
            self._start(push, None)

    def take_in(self) -> None:
        """Collects the pushes that have ended."""
        ended = [push for push in self._running if push[0].done()]
        self._running = [push for push in self._running if not push[0].done()]
        for future, push in ended:
            try:
                future.result()
                done = {*push.outcome.published, push.registry}
                push.outcome.published = tuple(name for name in self._publishers if name in done)
            except RegistryUnreachableError as e:
                self._unreachable(push, str(e))
            except PscError as e:
                self._refused(push, cause_in(e, push.reference))
            except Exception as e:  # a registry's client may raise anything: the others go on
                self._refused(push, f"{type(e).__name__}: {e}")
            self._end_if_last(push.outcome)

    def stop(self) -> None:
        """Begins no further push. What was not pushed says so."""
        self.take_in()
        for future, push in self._running:
            future.cancel()
            self._refused(push, "the run was ended before")
        for push in self._waiting:
            self._refused(push, "the run was ended before")
        self._running, self._waiting = [], []

    def close(self, *, wait: bool) -> None:
        """Gives back the threads."""
        for pool in self._pools.values():
            pool.shutdown(wait=wait, cancel_futures=True)

    def _start(self, push: _Push, data: bytes | None) -> None:
        self._running.append((self._pools[push.registry].submit(self._push, push, data), push))

    def _push(self, push: _Push, data: bytes | None) -> None:
        """In the registry's thread."""
        if push.registry in self._gone:
            raise RegistryUnreachableError(self._gone[push.registry])
        if data is None:
            data = self._store.read(push.reference)
        if data is None:
            raise RegistryError(f"{push.reference.blob_path}: the artifact is no longer in the store; run the batch again")
        try:
            self._publishers[push.registry](data, push.reference)
        except RegistryUnreachableError as e:
            self._gone[push.registry] = cause_in(e, push.reference)
            raise RegistryUnreachableError(self._gone[push.registry]) from e

    def _unreachable(self, push: _Push, why: str) -> None:
        if self._is_second_attempt:
            self._refused(push, why)
            return
        if not any(waiting.registry == push.registry for waiting in self._waiting):
            self._observer.note(f"{why}; it is asked again when everything else is done")
        self._waiting.append(push)

    def _refused(self, push: _Push, why: str) -> None:
        outcome = push.outcome
        outcome.status = "not published"
        outcome.error = f"{outcome.error}; " if outcome.error else "in the store, but not published: "
        outcome.error += why if why.startswith(push.registry) else f"{push.registry}: {why}"

    def _end_if_last(self, outcome: JobOutcome) -> None:
        left = (*(push for _, push in self._running), *self._waiting)
        if not any(push.outcome is outcome for push in left):
            self._observer.job_ended(outcome)


def cause_in(error: Exception | str, reference: Reference) -> str:
    """The error without the file where it occurred, so that it is one cause for all artifacts."""
    text = str(error)
    for path in (reference.blob_path, reference.key_path, reference.name_path):
        text = text.replace(f"/{path}", "")
    return text
