"""Whole batches in this process: what is compiled, what is not compiled again, and what happens when something goes wrong."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from batches import CLASHING, JOBS, blobs, job, plan_of, run, statuses, write_folder

import psc.cluster.run.storing as storing
from psc.artifacts.folder import replace_whole
from psc.artifacts.format import decode
from psc.artifacts.references import Reference
from psc.artifacts.store import Store
from psc.cluster.costs.estimates import Estimate
from psc.cluster.report.summary import causes, summarize, verdict
from psc.cluster.run.batch import run_batch
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.errors import RegistryError, RegistryUnreachableError, StoreError

ALL = {f"{g}/{t}" for g in ("assignments", "sums", "list") for t in ("bytes", "pieces")}


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


class Remembered(Observer):
    """What was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ended: list[str] = []
        self.stages: list[str] = []

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        self.stages.append(stage)

    def job_ended(self, outcome: JobOutcome) -> None:
        self.ended.append(outcome.name)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_all_are_compiled_and_verified(jobs: Path, store: Store) -> None:
    observer = Remembered()
    report = run_batch(plan_of(jobs, store), store, InProcess(), observer=observer)
    assert statuses(report) == dict.fromkeys(ALL, "compiled")
    assert report.ok and not report.interrupted
    assert set(blobs(store)) == ALL == set(observer.ended)
    assert store.verify() == []
    one = job(report, "assignments/bytes")
    assert one.attempts == 1 and one.own_seconds > 0 and one.size > 0 and one.counts["terminals"] == 5
    assert list(one.stages)[-1] == "encoding" and observer.stages.count("encoding") == len(ALL)
    assert {t.job for t in report.tasks} == ALL
    assert all(t.worker == "in process" and 0 <= t.begin <= t.end <= report.wall_seconds for t in report.tasks)
    assert RunReport.from_json(json.loads(json.dumps(report.to_json()))) == replace(
        report, jobs=[replace(j, counts=dict(j.counts)) for j in report.jobs]
    )


def test_a_rerun_compiles_what_is_missing(jobs: Path, store: Store) -> None:
    run(jobs, store)
    calm = blobs(store)
    gone, damaged = store.find_named("sums", "bytes"), store.find_named("list", "bytes")
    assert gone is not None and damaged is not None
    (store.root / gone.blob_path).unlink()
    path = store.root / damaged.blob_path
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    report = run(jobs, store)
    assert {name for name, status in statuses(report).items() if status == "compiled"} == {"sums/bytes", "list/bytes"}
    assert report.ok and blobs(store) == calm
    assert job(report, "sums/pieces").counts and job(report, "sums/pieces").size
    assert store.verify() == []


def test_force_compiles_all(jobs: Path, store: Store) -> None:
    run(jobs, store)
    report = run_batch(plan_of(jobs, store, force=True), store, InProcess())
    assert set(statuses(report).values()) == {"compiled"}


def test_the_same_bytes_wherever_the_batch_is_run_from(
    jobs: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(jobs, store)
    monkeypatch.chdir(tmp_path)
    other = Store(tmp_path / "other")
    run(Path("jobs.toml"), other)
    assert blobs(other) == blobs(store)
    reference = store.find_named("assignments", "bytes")
    assert reference is not None
    metadata = decode(store.read(reference) or b"").metadata
    assert (metadata["grammar"]["name"], metadata["tokenizer"]["name"]) == ("assignments.lark", "bytes")


def test_broken_ones_fail_alone(tmp_path: Path, store: Store) -> None:
    more = {"grammars/clash.lark": CLASHING, "grammars/nonsense.ebnf": "root ::= (", "models/torn.json": '{"model": '}
    report = run(write_folder(tmp_path, JOBS, more), store)
    found = statuses(report)
    assert not report.ok
    assert {name for name, status in found.items() if status == "compiled"} == ALL
    assert found["clash/bytes"] == found["nonsense/pieces"] == found["sums/torn"] == "failed"
    assert "grammars/clash.lark" in (job(report, "clash/bytes").error or "")
    assert "nonsense.ebnf" in (job(report, "nonsense/bytes").error or "")
    assert "torn.json" in (job(report, "sums/torn").error or "")


def test_two_names_of_one_artifact(tmp_path: Path, store: Store) -> None:
    """The same grammar under two names is compiled once, and found under both."""
    table = '[[jobs]]\ngrammars = ["grammars/sums.ebnf"]\ntokenizers = ["models/bytes.json"]\n'
    path = write_folder(tmp_path, f'{table}{table}name = "plus"\n')
    report = run(path, store)
    assert statuses(report) == {"sums/bytes": "compiled", "plus/bytes": "present"}
    assert len(report.tasks) == 1
    one, other = store.find_named("sums", "bytes"), store.find_named("plus", "bytes")
    assert one is not None and other is not None and one.digest == other.digest
    path.write_text(f'{table}name = "third"\n')
    assert statuses(run(path, store)) == {"third/bytes": "present"}
    assert store.find_named("third", "bytes") is not None


def test_urgent_and_long_ones_first(tmp_path: Path, store: Store) -> None:
    text = """
[[jobs]]
grammars = ["grammars/sums.ebnf", "json", "sql"]
tokenizers = ["models/bytes.json"]
[[jobs]]
grammars = ["grammars/list.ebnf"]
tokenizers = ["models/bytes.json"]
priority = 1
"""
    planned = plan_of(write_folder(tmp_path, text), store)
    assert [p.outcome.name for p in planned.todo] == ["list/bytes", "sql/bytes", "json/bytes", "sums/bytes"]


def test_costs_are_remembered(jobs: Path, store: Store) -> None:
    before = plan_of(jobs, store).todo
    assert {p.estimate.basis for p in before} == {"formula"}
    report = run(jobs, store)
    after = {p.outcome.name: p for p in plan_of(jobs, store, force=True).todo}
    assert {p.estimate.basis for p in after.values()} == {"measured"}
    one = after["sums/bytes"]
    assert one.estimate.seconds == pytest.approx(job(report, "sums/bytes").own_seconds, abs=1e-4)
    assert one.estimate.memory_bytes == job(report, "sums/bytes").peak_memory_bytes
    (store.root / "costs.json").write_text('{"schema": "psc.costs.v1", "grammars": {"a": {"b": 1}}}')
    assert {p.estimate.basis for p in plan_of(jobs, store, force=True).todo} == {"formula"}


def test_a_grammar_measured_for_another_tokenizer(jobs: Path, store: Store) -> None:
    planned = plan_of(jobs, store)
    first = next(p for p in planned.todo if p.outcome.name == "sums/bytes")
    planned.costs.add(first.costs_key, first.fingerprint, 5.0, 1 << 20)
    planned.costs.save()
    found = {p.outcome.name: p.estimate for p in plan_of(jobs, store).todo}
    assert found["sums/pieces"] == Estimate(5.0, 1 << 20, "grammar measured")
    assert found["list/pieces"].basis == "formula"


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG])
def test_a_store_that_cannot_be_written_is_not_waited_for(
    jobs: Path, store: Store, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job fails at once, and all for one cause."""

    def refuse(path: Path, _data: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(storing, "WRITE_PAUSES_S", (60.0,))
    monkeypatch.setattr("psc.artifacts.folder.replace_whole", refuse)
    observer = Remembered()
    report = run_batch(plan_of(jobs, store), store, InProcess(), observer=observer)
    assert observer.notes == [] and not report.ok
    (cause,) = causes(report)
    assert cause.error.startswith(
        f"compiled, but it could not be stored: {store.root}: cannot write the file: {os.strerror(number)}"
    )
    assert len(cause.jobs) == len(report.jobs)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_for_a_while(jobs: Path, store: Store, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original, left = replace_whole, [3]

    def refuse(path: Path, data: bytes) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(number, os.strerror(number))
        original(path, data)

    monkeypatch.setattr(storing, "WRITE_PAUSES_S", (0.01, 0.02, 0.03, 0.04))
    monkeypatch.setattr("psc.artifacts.folder.replace_whole", refuse)
    observer = Remembered()
    assert run_batch(plan_of(jobs, store), store, InProcess(), observer=observer).ok
    assert len(observer.notes) == 3 and not any("sha256" in note for note in observer.notes)


def test_probing_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "new" / "store", tmp_path):
        Store(folder).check_writable()
        assert not [path for path in folder.rglob("*") if path.is_file() and path.name != "file"]
    for folder in (Path("/proc/store"), tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(StoreError, match="cannot write into the store"):
            Store(folder).check_writable()


def test_the_command_probes_the_store_first(jobs: Path) -> None:
    for folder in ("/proc/store", f"{jobs}/store"):
        run = subprocess.run(
            [sys.executable, "-m", "psc", "batch", jobs, "--store", folder, "--quiet"], capture_output=True, text=True, check=False
        )
        assert run.returncode == 1
        assert run.stderr.count("\n") == 1 and "cannot write into the store" in run.stderr and "nothing was compiled" in run.stderr


def full_disk(times: int, only: str = "") -> Callable[..., None]:
    """A store's ``add_verified`` that fails a few times, as on a full disk."""
    original = Store.add_verified
    left = [times]

    def add_verified(self: Store, data: bytes, reference: Reference) -> None:
        if only in reference.grammar and left[0] > 0:
            left[0] -= 1
            e = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise StoreError(f"{self.root}: cannot write the file: {e.strerror}") from e
        original(self, data, reference)

    return add_verified


def test_a_disk_that_is_full_for_a_while(jobs: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "WRITE_PAUSES_S", (0.01, 0.02, 0.03))
    monkeypatch.setattr(Store, "add_verified", full_disk(3))
    observer = Remembered()
    report = run_batch(plan_of(jobs, store), store, InProcess(), observer=observer)
    assert report.ok and len(report.tasks) == len(ALL)
    assert "No space left on device; again in 0.01 s" in observer.notes[0]
    assert store.verify() == []


def test_a_disk_that_stays_full_for_one(jobs: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "WRITE_PAUSES_S", (0.01, 0.01))
    monkeypatch.setattr(Store, "add_verified", full_disk(99, only="list"))
    report = run(jobs, store)
    assert {name for name, status in statuses(report).items() if status == "failed"} == {"list/bytes", "list/pieces"}
    assert "compiled, but it could not be stored in 3 attempts: " in (job(report, "list/bytes").error or "")
    monkeypatch.undo()
    assert run(jobs, store).ok


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer ends the process where an allocation fails")
def test_a_limit_on_memory(tmp_path: Path, store: Store) -> None:
    text = """
[[jobs]]
grammars = ["java"]
tokenizers = ["models/bytes.json"]
memory = "3MiB"
[[jobs]]
grammars = ["grammars/sums.ebnf"]
tokenizers = ["models/bytes.json"]
"""
    # In a process of its own: in this one other tests have left memory that would be used again without being asked for.
    command = [sys.executable, "-m", "psc", "batch", write_folder(tmp_path, text), "--store", store.root, "--json", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    report = RunReport.from_json(json.loads(done.stdout))
    assert statuses(report) == {"java/bytes": "failed", "sums/bytes": "compiled"}
    assert job(report, "java/bytes").error == (
        "needed more memory than 3.15 MB, which is what it was given; its limit is 3.15 MB: raise memory = in the jobs file, or "
        "make the grammar smaller"
    )
    assert job(report, "java/bytes").attempts == 1


def test_a_limit_on_time(tmp_path: Path, store: Store) -> None:
    text = '[[jobs]]\ngrammars = ["sql"]\ntokenizers = ["models/bytes.json"]\ntime = 0.001\n'
    report = run(write_folder(tmp_path, text), store)
    assert "took longer than its limit of 1 ms" in (job(report, "sql/bytes").error or "")


def test_publishing(jobs: Path, store: Store) -> None:
    pushed: dict[str, list[tuple[str, bytes]]] = {"good": [], "picky": []}

    def push(data: bytes, reference: Reference) -> None:
        pushed["good"].append((f"{reference.grammar}/{reference.tokenizer}", data))

    def picky(data: bytes, reference: Reference) -> None:
        if reference.grammar == "list":
            raise RegistryError("https://picky: 403, the token has expired")
        pushed["picky"].append((reference.grammar, data))

    report = run_batch(plan_of(jobs, store), store, InProcess(), publishers={"good": push})
    assert report.ok and dict(pushed["good"]) == blobs(store)
    assert all(j.published == ("good",) for j in report.jobs)
    # What is there is published too: the run before may have been cut off before it was.
    report = run_batch(plan_of(jobs, store), store, InProcess(), publishers={"good": push, "picky": picky})
    assert len(pushed["good"]) == 2 * len(ALL) and len(pushed["picky"]) == 4
    assert not report.ok
    assert statuses(report)["list/bytes"] == "not published"
    assert job(report, "list/bytes").error == "in the store, but not published: picky: https://picky: 403, the token has expired"
    assert statuses(report)["sums/bytes"] == "present" and job(report, "sums/bytes").published == ("good", "picky")


def test_a_registry_that_dies_is_noticed_once(jobs: Path, store: Store) -> None:
    """It is asked once, and once more in the end; all artifacts are in the store, and nobody says otherwise."""
    asked: list[str] = []

    def push(data: bytes, reference: Reference) -> None:
        asked.append(reference.grammar)
        if len(asked) > 1:
            raise RegistryUnreachableError(f"https://gone/{reference.blob_path}: no connection: Connection refused")

    observer = Remembered()
    report = run_batch(plan_of(jobs, store), store, InProcess(), publishers={"https://gone": push}, observer=observer)
    assert sorted(statuses(report).values()) == ["compiled", *["not published"] * 5]
    assert not report.ok and set(blobs(store)) == ALL == set(observer.ended)
    assert {j.error for j in report.jobs if j.error} == {
        "in the store, but not published: https://gone: no connection: Connection refused"
    }
    assert len(asked) == 3
    assert observer.notes == ["https://gone: no connection: Connection refused; it is asked again when everything else is done"]
    (cause,) = causes(report)
    assert len(cause.jobs) == 5 and verdict(summarize(report)) == "5 artifacts are in the store, but not published"


def test_a_registry_that_comes_back_has_everything(jobs: Path, store: Store) -> None:
    pushed: list[str] = []
    answers = iter([True, False])

    def push(data: bytes, reference: Reference) -> None:
        if not next(answers, True):
            raise RegistryUnreachableError("https://restarts: no answer")
        pushed.append(f"{reference.grammar}/{reference.tokenizer}")

    report = run_batch(plan_of(jobs, store), store, InProcess(), publishers={"https://restarts": push})
    assert report.ok and sorted(pushed) == sorted(ALL)


class Interrupting(Observer):
    def job_ended(self, outcome: JobOutcome) -> None:
        raise KeyboardInterrupt


def test_interrupted(jobs: Path, store: Store) -> None:
    """What is done stays, and the next run goes on."""
    report = run_batch(plan_of(jobs, store), store, InProcess(), observer=Interrupting())
    assert report.interrupted and not report.ok
    assert sorted(statuses(report).values()) == ["compiled", *["not run"] * 5]
    assert sorted(statuses(run(jobs, store)).values()) == [*["compiled"] * 5, "present"]
