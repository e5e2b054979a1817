"""Batches whose tasks are lost, run out of memory, or come back damaged; jobs of several tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import blobs, job, plan_of, run, statuses, write_folder

from psc.artifacts.store import Store
from psc.cluster.run.batch import MAX_LOST, run_batch
from psc.cluster.run.compilation import Compiled
from psc.cluster.run.executor import Event
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.plan import Plan, Task
from psc.cluster.run.task import Began, Call, Ended, Progress


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


class Rigged(InProcess):
    """Fails tasks as a cluster may: per task name a list of what happens in its attempts; then it works."""

    def __init__(self, fates: Mapping[str, Sequence[Ended]], largest: int = 1 << 40) -> None:
        super().__init__()
        self._fates = {name: list(fate) for name, fate in fates.items()}
        self._largest = largest
        self._ended: list[Event] = []
        self.given: list[tuple[str, int]] = []

    def largest_memory(self) -> int:
        return self._largest

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
        name = str(call.options.get("grammar_name"))
        self.given.append((name, memory_bytes))
        if fate := self._fates.get(name):
            self._ended += [Event(task, Began("10.0.0.1:7", 0.0)), Event(task, fate.pop(0))]
        else:
            super().start(task, call, shared, parts, memory_bytes)

    def wait(self, seconds: float) -> list[Event]:
        ended, self._ended = self._ended, []
        return ended or super().wait(seconds)


LOST = Ended(0.0, "lost", "its worker on 10.0.0.1 was lost")
MEMORY = Ended(0.0, "memory", "needed more memory than it was given")


def one(tmp_path: Path, more: str = "") -> Path:
    return write_folder(tmp_path, f'[[jobs]]\ngrammars = ["grammars/sums.ebnf"]\ntokenizers = ["models/bytes.json"]\n{more}')


def test_a_lost_worker_costs_an_attempt(tmp_path: Path, store: Store) -> None:
    report = run(one(tmp_path), store, Rigged({"sums": [LOST] * (MAX_LOST - 1)}))
    assert report.ok and job(report, "sums/bytes").attempts == MAX_LOST
    assert [t.error is None for t in report.tasks] == [False, False, True]
    assert [t.attempt for t in report.tasks] == [1, 2, 3]


def test_a_task_that_kills_its_workers(tmp_path: Path, store: Store) -> None:
    report = run(one(tmp_path), store, Rigged({"sums": [LOST] * 99}))
    assert statuses(report) == {"sums/bytes": "failed"} and len(report.tasks) == MAX_LOST
    assert "was lost, 3 times in a row; the job may be what kills it" in (job(report, "sums/bytes").error or "")


def test_out_of_memory_once_more_with_twice_as_much(tmp_path: Path, store: Store) -> None:
    executor = Rigged({"sums": [MEMORY]})
    assert run(one(tmp_path), store, executor).ok
    (_, first), (_, second) = executor.given
    assert second == 2 * first
    executor = Rigged({"sums": [MEMORY, MEMORY]})
    report = run(one(tmp_path), Store(tmp_path / "other"), executor)
    assert len(executor.given) == 2
    assert "set memory = for it in the jobs file" in (job(report, "sums/bytes").error or "")


def test_out_of_memory_once_more_with_the_limit(tmp_path: Path, store: Store) -> None:
    executor = Rigged({"sums": [MEMORY]})
    assert run(one(tmp_path, 'memory = "3GiB"'), store, executor).ok
    assert executor.given[1] == ("sums", 3 << 30)
    executor = Rigged({"sums": [MEMORY]}, largest=executor.given[0][1])
    report = run(one(tmp_path, 'memory = "3GiB"'), Store(tmp_path / "other"), executor)
    assert len(executor.given) == 1 and not report.ok, "no node has more"


def test_too_much_memory_is_refused(tmp_path: Path, store: Store) -> None:
    path = one(tmp_path)
    planned = plan_of(path, store)
    planned.costs.add(planned.todo[0].costs_key, planned.todo[0].fingerprint, 1.0, 1 << 40)
    planned.costs.save()
    executor = Rigged({}, largest=4 << 30)
    report = run(path, store, executor)
    assert executor.given == []
    assert job(report, "sums/bytes").error == (
        "1.37 TB of memory are to be reserved for it (from what it took before), but the largest node has 4.29 GB; add a larger "
        "node, or set memory = for it in the jobs file, to try it with less"
    )
    assert run(one(tmp_path, 'memory = "1GiB"'), store, executor).ok


def test_the_headroom_of_a_guess_is_no_reason_to_refuse(tmp_path: Path, store: Store) -> None:
    executor = Rigged({}, largest=64 << 20)
    assert run(one(tmp_path), store, executor).ok
    assert executor.given == [("sums", 64 << 20)]


def test_a_cluster_without_nodes(tmp_path: Path, store: Store) -> None:
    report = run(one(tmp_path), store, Rigged({}, largest=0))
    assert job(report, "sums/bytes").error == "no node of the cluster has a CPU and memory for tasks"


def half(text: str, *, which: int, progress: Progress, grammar_name: str) -> str:
    progress("halving", 0, 1)
    return text[: len(text) // 2] if which == 0 else text[len(text) // 2 :]


def joined(compiled: Compiled, first: str, second: str, *, progress: Progress, grammar_name: str) -> Compiled:
    progress("joining", 0, 1)
    assert first + second == "0123456789"
    return compiled


def split(tmp_path: Path, store: Store) -> Plan:
    """A plan whose job is cut in two and put together: its result was compiled before."""
    path, elsewhere = one(tmp_path), Store(tmp_path / "elsewhere")
    run(path, elsewhere)
    reference = elsewhere.find_named("sums", "bytes")
    assert reference is not None
    compiled = Compiled(elsewhere.read(reference) or b"", reference, {"labels": 1}, ())
    planned = plan_of(path, store)
    tasks = (
        Task("half 1 of 2", half, options={"which": 0, "grammar_name": "first"}, shared=("text",), memory_bytes=1 << 30),
        Task("half 2 of 2", half, options={"which": 1, "grammar_name": "second"}, shared=("text",), memory_bytes=1 << 30),
        Task("join", joined, options={"grammar_name": "join"}, shared=("compiled",), needs=(0, 1), memory_bytes=1 << 30),
    )
    planned.shared = {"text": "0123456789", "compiled": compiled}
    planned.todo = [replace(planned.todo[0], tasks=tasks)]
    return planned


def test_a_job_of_several_tasks(tmp_path: Path, store: Store) -> None:
    report = run_batch(split(tmp_path, store), store, InProcess())
    assert report.ok and [t.what for t in report.tasks] == ["half 1 of 2", "half 2 of 2", "join"]
    assert set(job(report, "sums/bytes").stages) == {"halving", "joining"}
    assert store.verify() == [] and set(blobs(store)) == {"sums/bytes"}


def test_a_part_that_is_lost_is_made_again(tmp_path: Path, store: Store) -> None:
    class LosesAPart(Rigged):
        def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
            super().start(task, call, shared, parts, memory_bytes)
            if self._ended and call.options["grammar_name"] == "join":
                self._ended[-1] = replace(self._ended[-1], lost_parts=frozenset({1}))

    executor = LosesAPart({"join": [Ended(0.0, "inputs lost", "a part was lost")]})
    report = run_batch(split(tmp_path, store), store, executor)
    assert report.ok
    assert [name for name, _ in executor.given] == ["first", "second", "join", "second", "join"]


def test_a_part_that_fails_fails_its_job(tmp_path: Path, store: Store) -> None:
    executor = Rigged({"first": [Ended(0.0, "error", "no good")]})
    report = run_batch(split(tmp_path, store), store, executor)
    assert job(report, "sums/bytes").error == "no good"
    assert [name for name, _ in executor.given] == ["first"]


def test_another_compiler_there(tmp_path: Path, store: Store) -> None:
    planned = split(tmp_path, store)
    compiled = planned.shared["compiled"]
    planned.shared["compiled"] = replace(compiled, reference=replace(compiled.reference, input_key="0" * 64))
    report = run_batch(planned, store, InProcess())
    assert "another psc is installed there" in (job(report, "sums/bytes").error or "")
    assert blobs(store) == {}


def test_damaged_on_its_way(tmp_path: Path, store: Store) -> None:
    planned = split(tmp_path, store)
    planned.shared["compiled"] = replace(planned.shared["compiled"], data=b"x" * 10)
    report = run_batch(planned, store, InProcess())
    assert "the artifact was damaged on its way" in (job(report, "sums/bytes").error or "")
    assert blobs(store) == {}
