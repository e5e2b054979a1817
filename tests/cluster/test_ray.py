"""Batches on a Ray that is started here once: the same bytes, and what Ray's failures cost."""

import gc
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import JOBS, blobs, job, plan_of, run, statuses, write_folder
from needed import needed

from psc.artifacts.store import Store
from psc.cluster.run.batch import run_batch
from psc.cluster.run.compilation import Compiled
from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import JobOutcome
from psc.cluster.run.plan import Plan, Task
from psc.cluster.run.ray_connection import open_connection
from psc.cluster.run.ray_executor import RayExecutor, connect
from psc.cluster.run.splitting import split_long_jobs
from psc.cluster.run.task import Progress

needed("ray")
pytestmark = [
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="Ray's processes do not run under the sanitizer"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        connection = open_connection("local")
        yield
        connection.close()
    gc.collect()


@pytest.fixture
def executor(ray: None) -> Iterator[RayExecutor]:
    executor = connect("local")
    yield executor
    executor.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def one(tmp_path: Path, grammar: str = "grammars/sums.ebnf", more: str = "") -> Path:
    return write_folder(tmp_path, f'[[jobs]]\ngrammars = ["{grammar}"]\ntokenizers = ["models/bytes.json"]\n{more}')


class Stages(Observer):
    def __init__(self) -> None:
        self.stages: list[str] = []
        self.workers: dict[str, str] = {}

    def task_began(self, job: str, what: str, worker: str) -> None:
        self.workers[job] = worker

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        self.stages.append(stage)


def test_the_same_bytes_as_in_this_process(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    text = JOBS.replace('"grammars/*.lark"', '"grammars/*.lark", "json"')
    path = write_folder(tmp_path, text, {"grammars/nonsense.lark": "start: ("})
    calm = Store(tmp_path / "calm")
    run(path, calm)
    observer = Stages()
    report = run_batch(plan_of(path, store), store, executor, observer=observer)
    assert {n for n, s in statuses(report).items() if s == "failed"} == {"nonsense/bytes", "nonsense/pieces"}
    assert blobs(store) == blobs(calm) and len(blobs(store)) == 8
    assert store.verify() == []
    assert observer.stages.count("lexer") == observer.stages.count("encoding") == 8
    assert "terminals" not in observer.stages  # each grammar's tables were made once, for both vocabularies
    assert len(report.tasks) == 8 and report.executor.startswith("ray")
    for task in report.tasks:
        assert 0 <= task.begin <= task.end <= report.wall_seconds + 0.1
        assert int(task.worker.rpartition(":")[2]) != os.getpid()
    assert set(statuses(run_batch(plan_of(path, store), store, executor)).values()) == {"failed", "present"}


def test_a_job_in_pieces(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    calm = Store(tmp_path / "calm")
    run(one(tmp_path, "json"), calm)
    plan = plan_of(one(tmp_path, "json", "pieces = 3\n"), store)
    split_long_jobs(plan, executor.cpus)
    report = run_batch(plan, store, executor)
    assert report.ok and blobs(store) == blobs(calm)
    assert [t.what for t in report.tasks].count("assembly") == 1 and len(report.tasks) == 5


class KillsOnce(Observer):
    """Kills the worker of the job that takes longest, in the middle."""

    def __init__(self) -> None:
        self.workers: dict[str, str] = {}
        self.killed: str | None = None
        self.notes: list[str] = []

    def task_began(self, job: str, what: str, worker: str) -> None:
        self.workers[job] = worker

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        if self.killed is None and job == "sql/bytes" and stage == "token classes":
            self.killed = job
            os.kill(int(self.workers[job].rpartition(":")[2]), signal.SIGKILL)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_killed_worker_costs_its_task(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    path = one(tmp_path, 'sql", "json')
    calm = Store(tmp_path / "calm")
    run(path, calm)
    observer = KillsOnce()
    report = run_batch(plan_of(path, store), store, executor, observer=observer)
    assert report.ok, [j.error for j in report.jobs]
    assert blobs(store) == blobs(calm)
    assert observer.killed is not None
    assert {j.name: j.attempts for j in report.jobs} == {n: 2 if n == observer.killed else 1 for n in ("sql/bytes", "json/bytes")}
    assert "was lost" in observer.notes[0]


def test_too_much_memory_is_refused_at_once(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    path = one(tmp_path)
    planned = plan_of(path, store)
    planned.costs.add(planned.todo[0].costs_key, planned.todo[0].fingerprint, 1.0, 1 << 50)
    planned.costs.save()
    report = run_batch(plan_of(path, store), store, executor)
    assert "of memory are to be reserved for it" in (job(report, "sums/bytes").error or "")
    assert "but the largest node has" in (job(report, "sums/bytes").error or "")


def test_a_limit_on_memory_in_the_worker(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    report = run_batch(plan_of(one(tmp_path, "java", 'memory = "3MiB"'), store), store, executor)
    assert "needed more memory than 3.15 MB" in (job(report, "java/bytes").error or "")
    assert run_batch(plan_of(one(tmp_path), store), store, executor).ok


def with_tasks(planned: Plan, *tasks: Task, **shared: Any) -> Plan:
    planned.shared = shared
    planned.todo = [replace(planned.todo[0], tasks=tasks)]
    return planned


def test_a_limit_on_time_is_kept_by_the_driver(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    def sleeps(*, progress: Progress) -> None:  # nested, so that it travels by value: workers do not have this file
        import time

        progress("asleep", 0, 1)
        time.sleep(600)

    planned = with_tasks(
        plan_of(one(tmp_path, more="time = 0.2"), store), Task("sleep", sleeps, options={}, shared=(), memory_bytes=1 << 28)
    )
    report = run_batch(planned, store, executor)
    assert (job(report, "sums/bytes").error or "").startswith("took longer than its limit of 200 ms")
    assert run_batch(plan_of(one(tmp_path), store), store, executor).ok


def test_a_job_of_several_tasks(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    """Results of tasks go from worker to worker, not through the driver."""

    def half(text: str, *, which: int, progress: Progress) -> str:
        return text[: len(text) // 2] if which == 0 else text[len(text) // 2 :]

    def join(compiled: Any, first: str, second: str, *, progress: Progress) -> Any:
        if first + second != "0123456789" * 100_000:
            raise ValueError(first + second)
        return compiled

    path, elsewhere = one(tmp_path), Store(tmp_path / "elsewhere")
    run(path, elsewhere)
    reference = elsewhere.find_named("sums", "bytes")
    assert reference is not None
    compiled = Compiled(elsewhere.read(reference) or b"", reference, {}, ())
    tasks = (
        Task("half 1 of 2", half, options={"which": 0}, shared=("text",), memory_bytes=1 << 28),
        Task("half 2 of 2", half, options={"which": 1}, shared=("text",), memory_bytes=1 << 28),
        Task("join", join, options={}, shared=("compiled",), needs=(0, 1), memory_bytes=1 << 28),
    )
    planned = with_tasks(plan_of(path, store), *tasks, text="0123456789" * 100_000, compiled=compiled)
    report = run_batch(planned, store, executor)
    assert report.ok, job(report, "sums/bytes").error
    assert [t.what for t in report.tasks][-1] == "join" and blobs(store) == blobs(elsewhere)


def test_work_that_cannot_be_loaded_there(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    class Unloadable:
        def __reduce__(self) -> Any:
            return (__import__, ("no_such_module_anywhere",))

    def never(thing: Any, *, progress: Progress) -> None: ...

    planned = with_tasks(
        plan_of(one(tmp_path), store), Task("x", never, options={}, shared=("thing",), memory_bytes=1 << 28), thing=Unloadable()
    )
    report = run_batch(planned, store, executor)
    assert "no_such_module_anywhere" in (job(report, "sums/bytes").error or "")


class Interrupting(Observer):
    def job_ended(self, outcome: JobOutcome) -> None:
        raise KeyboardInterrupt


def test_interrupted(tmp_path: Path, store: Store, executor: RayExecutor) -> None:
    path = write_folder(tmp_path)
    report = run_batch(plan_of(path, store), store, executor, observer=Interrupting())
    assert report.interrupted and "not run" in statuses(report).values()
    assert "compiled" in statuses(report).values()
    assert run(path, store).ok
