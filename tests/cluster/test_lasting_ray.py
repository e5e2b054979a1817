"""A Ray that is lost, or does not start: what becomes of the run. Ray's part is played by this process."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from batches import blobs, plan_of, run, statuses, write_folder
from needed import needed

from psc.artifacts.store import Store
from psc.cluster.run.batch import run_batch
from psc.cluster.run.executor import Event
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.lasting_ray import MAX_LOST_RAYS, LastingRay
from psc.cluster.run.ray_host import Ready
from psc.cluster.run.ray_process import RayGoneError
from psc.cluster.run.splitting import split_long_jobs
from psc.cluster.run.task import Call, Ended
from psc.errors import ClusterError

needed("ray")


class FakeHost:
    """Runs tasks in this process, as `psc.cluster.run.ray_process.RayProcess` does in others, until it is gone.

    Args:
        refuses: why it does not start.
        gone_at: it is gone when that method is asked for so many times.
    """

    def __init__(self, refuses: str | None = None, gone_at: tuple[str, int] | None = None) -> None:
        self.refuses = refuses
        self.gone_at = gone_at
        self.killed = self.closed = False
        self.outputs: dict[int, Any] = {}
        self.forgotten: list[int] = []
        self._inner = InProcess()
        self._asked: list[str] = []

    def ready(self) -> Ready:
        if self.refuses is not None:
            raise ClusterError(self.refuses)
        return Ready("ray local", 2, 1 << 34, ())

    def ask(self, method: str, *arguments: Any) -> Any:
        assert not self.killed
        self._asked.append(method)
        if self.gone_at is not None and self._asked.count(self.gone_at[0]) >= self.gone_at[1] and method == self.gone_at[0]:
            raise RayGoneError("a server of it was killed")
        answer: Any = getattr(self, method)(*arguments)
        return answer

    def forget(self, output: int) -> None:
        self.forgotten.append(output)

    def close(self) -> None:
        self.closed = True

    def kill(self) -> None:
        self.killed = True
        self._inner.close()

    def share(self, things: Mapping[str, Any]) -> None:
        self._inner.share(things)

    def largest_memory(self) -> tuple[int, int]:
        return 1 << 34, 2

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[int], memory_bytes: int) -> None:
        self._inner.start(task, call, shared, [self.outputs[part] for part in parts], memory_bytes)

    def wait(self, seconds: float) -> list[Event]:
        events = []
        for event in self._inner.wait(seconds):
            output = None
            if isinstance(event.message, Ended) and event.message.failure is None:
                output = len(self.outputs)
                self.outputs[output] = event.output
            events.append(Event(event.task, event.message, output))
        return events

    def fetch(self, output: int) -> Any:
        return self.outputs[output]

    def cancel(self, task: int) -> bool:
        return True


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def lasting(hosts: Sequence[FakeHost], notes: list[str], spec: str = "local") -> LastingRay:
    left = list(hosts)
    return LastingRay(spec, note=notes.append, start=lambda _: left.pop(0))


def test_nothing_happens(tmp_path: Path, store: Store) -> None:
    host, notes = FakeHost(), list[str]()
    executor = lasting([host], notes)
    executor.start_ray()
    report = run_batch(plan_of(write_folder(tmp_path), store), store, executor)
    executor.close()
    assert report.ok and report.executor == "ray local" and report.cpus == 2
    assert notes == [] and host.closed and not host.killed
    assert sorted(host.forgotten) == sorted(host.outputs), "results that nobody needs are let go of"


@pytest.mark.parametrize("method", ["share", "largest_memory", "start", "wait", "fetch"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_another_ray_is_started(tmp_path: Path, store: Store, method: str, pieces: int) -> None:
    """Whatever is asked for when it is noticed; results that lay in the lost one are made again."""
    text = f'[[jobs]]\ngrammars = ["json", "grammars/*.ebnf"]\ntokenizers = ["models/bytes.json"]\npieces = {pieces}\n'
    path, calm = write_folder(tmp_path, text), Store(tmp_path / "calm")
    run(path, calm)
    for times in (1, 2, 7):
        hosts, notes = [FakeHost(gone_at=(method, times)), FakeHost()], list[str]()
        executor = lasting(hosts, notes)
        executor.start_ray()
        planned = plan_of(path, store, force=True)
        split_long_jobs(planned, 1)
        report = run_batch(planned, store, executor)
        executor.close()
        assert report.ok, [j.error for j in report.jobs]
        assert blobs(store) == blobs(calm)
        if hosts[0].killed:
            assert len(notes) == 1 and "starting another" in notes[0]
            assert hosts[1].closed
        else:
            assert times == 7 or method in ("share", "fetch"), "it was not asked for so often"


def test_after_some_the_run_goes_on_here(tmp_path: Path, store: Store) -> None:
    hosts, notes = [FakeHost(gone_at=("wait", 4)) for _ in range(MAX_LOST_RAYS + 1)], list[str]()
    executor = lasting(hosts, notes)
    executor.start_ray()
    report = run_batch(plan_of(write_folder(tmp_path), store), store, executor)
    executor.close()
    assert report.ok and report.executor == "in process, without Ray" and report.cpus == 1
    assert len(notes) == MAX_LOST_RAYS + 1 and "going on in this process" in notes[-1]
    assert all(host.killed for host in hosts)
    assert {t.worker for t in report.tasks} == {"in process"}


def test_ray_that_starts_at_the_second_attempt(tmp_path: Path, store: Store) -> None:
    hosts, notes = [FakeHost("--ray local: timed out during startup"), FakeHost()], list[str]()
    executor = lasting(hosts, notes)
    executor.start_ray()
    assert run_batch(plan_of(write_folder(tmp_path), store), store, executor).ok
    assert notes == ["--ray local: timed out during startup; once more"]
    assert hosts[0].killed and executor.name == "ray local"


def test_ray_that_does_not_start(tmp_path: Path, store: Store) -> None:
    notes = list[str]()
    executor = lasting([FakeHost("no"), FakeHost("no")], notes)
    executor.start_ray()
    report = run_batch(plan_of(write_folder(tmp_path), store), store, executor)
    assert report.ok and report.executor == "in process, without Ray"
    assert notes == ["no; once more", "no; going on in this process, a job at a time"]


def test_a_cluster_is_not_ours_to_start(tmp_path: Path, store: Store) -> None:
    executor = lasting([FakeHost("no cluster there")], [], spec="10.0.0.5:6379")
    with pytest.raises(ClusterError, match="no cluster there"):
        executor.start_ray()
    executor = lasting([FakeHost(gone_at=("fetch", 2))], [], spec="10.0.0.5:6379")
    executor.start_ray()
    report = run_batch(plan_of(write_folder(tmp_path), store), store, executor)
    assert not report.ok and not report.interrupted
    assert sorted(statuses(report).values()) == ["compiled", *["not run"] * 5]
    (error,) = {j.error for j in report.jobs if j.status == "not run"}
    assert error == "ray local: the connection to the cluster was lost (a server of it was killed); run again to go on"


def test_a_task_that_is_stopped_says_nothing_more(tmp_path: Path) -> None:
    hosts = [FakeHost(gone_at=("largest_memory", 1)), FakeHost()]
    executor = lasting(hosts, [])
    executor.start_ray()
    executor.share({})
    executor.start(1, Call(never), (), (), 0)
    executor.start(2, Call(never), (), (), 0)
    assert executor.largest_memory() > 0
    assert executor.cancel(1)
    (event,) = executor.wait(0)
    assert event.task == 2 and isinstance(event.message, Ended) and event.message.failure == "restarted"


def never(*, progress: Callable[[str, int, int], None]) -> None:
    raise AssertionError


def test_a_specification_that_is_none() -> None:
    with pytest.raises(ClusterError, match="give local, auto, or the HOST:PORT"):
        LastingRay("nowhere")
