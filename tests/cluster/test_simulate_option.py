"""``psc batch --simulate``, from a plan and a spec to what is printed."""

import json
from pathlib import Path

import pytest
from batch_reports import STAGES, report
from tokenizer_files import write_tokenizer

from psc.artifacts.store import Store
from psc.cli.simulate_option import run_simulation
from psc.cluster.jobs.expansion import find_jobs
from psc.cluster.jobs.jobs_file import read_jobs_file
from psc.cluster.run.outcomes import JobOutcome, TaskRun
from psc.cluster.run.plan import Plan, plan
from psc.errors import SimulationError

JOBS = """
[[jobs]]
grammars = ["json", "list.lark", "broken.lark"]
tokenizers = ["a.json", "b.json"]
[[jobs]]
grammars = ["urgent.lark"]
tokenizers = ["a.json"]
priority = 5
"""
SPEC = """
[scheduler]
startup = 10
per_task_overhead = 0
worker_startup = 0
slowdown = 0
memory_share = 1.0
[[nodes]]
cpus = 1
memory = "8GiB"
price_per_hour = 36.0
"""


@pytest.fixture
def planned(tmp_path: Path) -> Plan:
    (tmp_path / "list.lark").write_text('start: "[" NUM* "]"\nNUM: /[0-9]+/\n')
    (tmp_path / "urgent.lark").write_text('start: "a"\n')
    (tmp_path / "broken.lark").write_text("start: nothing\n")
    write_tokenizer(tmp_path / "a.json", [])
    write_tokenizer(tmp_path / "b.json", [b"ab", b"12"])
    (tmp_path / "jobs.toml").write_text(JOBS)
    (tmp_path / "spec.toml").write_text(SPEC)
    return plan(find_jobs(read_jobs_file(tmp_path / "jobs.toml")), Store(tmp_path / "store"), force=True)


def simulated(planned: Plan, spec: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    run_simulation(planned, spec, as_json=True)
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_with_costs_from_a_report(planned: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = {p.outcome.name: p.input_key for p in planned.todo}
    ended, at = [], 0.0
    # list/b was never measured: it takes as much longer than list/a as json/b takes longer than json/a.
    for name, seconds in (("json/a", 4.0), ("json/b", 8.0), ("list/a", 3.0), ("urgent/a", 1.0)):
        grammar, tokenizer = name.split("/")
        stages = {stage: part * seconds for stage, part in STAGES.items()}
        job = JobOutcome(name, grammar, tokenizer, "compiled", keys[name], own_seconds=seconds, attempts=1, stages=stages)
        ended.append((job, TaskRun(name, "compile", "in process", at, at + seconds, stages=stages)))
        at += seconds
    measured = report(*ended, cpus=1)
    measured.executor = "in process"
    (tmp_path / "report.json").write_text(json.dumps(measured.to_json()))
    (tmp_path / "spec.toml").write_text('costs = "report.json"\n' + SPEC)
    found = simulated(planned, tmp_path / "spec.toml", capsys)
    assert found["schema"] == "psc.batch-prediction.v1"
    assert found["makespan_seconds"] == pytest.approx(10 + 4 + 8 + 3 + 6 + 1, rel=0.01)
    assert found["cost"] == pytest.approx(0.32, rel=0.01)
    assert found["estimated_jobs"] == ["list/b"]
    tasks = found["tasks"]
    assert isinstance(tasks, list)
    assert [t["job"] for t in sorted(tasks, key=lambda t: t["begin"])] == ["urgent/a", "json/b", "list/b", "json/a", "list/a"]
    sizes = found["other_sizes"]
    assert isinstance(sizes, list)
    assert [row["nodes"] for row in sizes if row["as_specified"]] == [1]
    assert sizes[1]["makespan_seconds"] < found["makespan_seconds"]  # type: ignore[operator]


def test_without_a_report_the_plan_is_what_is_known(planned: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = simulated(planned, tmp_path / "spec.toml", capsys)
    expected = sum(p.estimate.seconds for p in planned.todo)
    assert found["makespan_seconds"] == pytest.approx(10 + expected)
    assert sorted(found["estimated_jobs"]) == ["json/a", "json/b", "list/a", "list/b", "urgent/a"]  # type: ignore[call-overload]


def test_for_people(planned: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_simulation(planned, tmp_path / "spec.toml", as_json=False)
    out, err = capsys.readouterr()
    assert "5 jobs would take 10." in out and "Other numbers of nodes:" in out and "1 *" in out
    assert "broken/a is left out: " in err and "broken/b is left out: " in err
    assert max(map(len, out.splitlines())) <= 120


def test_reservations_are_those_of_the_plan(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC.replace("8GiB", "64MiB"))
    with pytest.raises(SimulationError, match=r"5 jobs fit on no node: .*; give some node memory of .* or more"):
        run_simulation(planned, tmp_path / "spec.toml", as_json=True)
