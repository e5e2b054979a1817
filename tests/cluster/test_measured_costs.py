"""What reports tell about costs: times alone, overheads, the slowdown by neighbours, and jobs that were never measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from batch_reports import compiled, failed, hash_of, report
from hypothesis import given
from hypothesis import strategies as st

from psc.cluster.costs.job_costs import WantedJob, tasks_for
from psc.cluster.costs.measured_costs import (
    DEFAULT_SCHEDULER,
    JobCost,
    MeasuredCosts,
    PartCost,
    fitted_slowdown,
    host_of,
    measured_costs,
    read_costs,
    with_measured,
)
from psc.cluster.run.outcomes import JobOutcome, RunReport, TaskRun
from psc.cluster.simulate.cluster_spec import ClusterSpec, NodePool, Scheduler
from psc.cluster.simulate.schedule import Delays, Node, SimulatedTask, run_schedule
from psc.errors import SimulationError


def wanted(name: str, **more: object) -> WantedJob:
    grammar, _, tokenizer = name.partition("/")
    return WantedJob(name, grammar, tokenizer, **more)  # type: ignore[arg-type]


def run_of(tasks: list[SimulatedTask], cpus: int, delays: Delays) -> RunReport:
    """The report of a simulated run."""
    run = run_schedule(tasks, [Node("m", cpus, 10**12)], replace(delays, startup=0.0))
    free: list[float] = [0.0] * cpus
    ended = []
    for task, placed in sorted(zip(tasks, run.placed, strict=True), key=lambda pair: pair[1].begin):
        worker = next(i for i in range(cpus) if free[i] <= placed.begin + 1e-9)
        first = free[worker] == 0.0
        free[worker] = placed.end
        # A worker says that it begins when it does, after what it takes to get there.
        begin = placed.begin + delays.per_task + (delays.per_worker if first else 0.0)
        ended.append(compiled(task.job, placed.end - begin, begin=begin, worker=f"10.0.0.1 {worker}"))
    return replace(report(*ended, wall=run.makespan, cpus=cpus), setup_seconds=delays.startup)


@pytest.mark.parametrize(
    ("worker", "host"),
    [
        ("10.0.0.1 77", "10.0.0.1"),
        ("10.0.0.1:77", "10.0.0.1"),
        ("10.0.0.1, process 77", "10.0.0.1"),
        ("node-3 (pid 77)", "node-3 (pid 77)"),
        ("node-3 pid 77", "node-3"),
        ("fe80::1 9", "fe80::1"),
        ("in process", "in process"),
        ("", ""),
        ("7", "7"),
    ],
)
def test_the_machine_of_a_worker(worker: str, host: str) -> None:
    assert host_of(worker) == host


def test_a_time_alone_is_as_measured() -> None:
    found = measured_costs([report(compiled("a/t", 4.0, peak=600_000_000), compiled("b/t", 2.0, begin=5.0))])
    assert [(cost.grammar, cost.seconds) for cost in found.jobs] == [("a", 4.0), ("b", 2.0)]
    assert found.jobs[0].memory_bytes == 600_000_000, "more than was reserved"
    assert found.jobs[1].memory_bytes == 500_000_000, "what was reserved"


def test_a_time_beside_others_is_set_back() -> None:
    slowdown = DEFAULT_SCHEDULER.slowdown
    assert slowdown is not None
    ended = [compiled("a/t", 4.0, worker="h 1"), compiled("b/t", 2.0, worker="h 2"), compiled("c/t", 3.0, worker="other 1")]
    found = measured_costs([report(*ended, cpus=4)])
    assert [cost.seconds for cost in found.jobs] == pytest.approx([4 / (1 + slowdown / 2), 2 / (1 + slowdown), 3.0])


def test_only_what_was_compiled_is_known() -> None:
    present = JobOutcome("c/t", "c", "t", "present", size=1)
    found = measured_costs([report(compiled("a/t", 4.0), failed("b/t", "no"), more=(present,))])
    assert [cost.grammar for cost in found.jobs] == ["a"]


def test_failed_attempts_do_not_count() -> None:
    job, task = compiled("a/t", 4.0, begin=3.0)
    lost = replace(task, begin=0.0, end=3.0, error="lost")
    found = report((job, task))
    found.tasks.insert(0, lost)
    assert [cost.seconds for cost in measured_costs([found]).jobs] == [4.0]


def test_later_reports_take_precedence() -> None:
    found = measured_costs([report(compiled("a/t", 4.0), compiled("b/t", 1.0, begin=4.0)), report(compiled("a/t", 3.0))])
    assert {cost.grammar: cost.seconds for cost in found.jobs} == {"a": 3.0, "b": 1.0}


def test_a_split_job_keeps_its_steps() -> None:
    job, task = compiled("a/t", 6.0)
    whats = {"sequences": (0, 1), "classifier 2 of 2": (1, 3), "classifier 1 of 2": (3, 4), "assembly": (4, 5)}
    parts = [replace(task, what=what, begin=float(begin), end=float(end)) for what, (begin, end) in whats.items()]
    found = report((job, task))
    found.tasks = parts
    costs = measured_costs([found])
    assert sorted((p.step, p.what, p.seconds) for p in costs.jobs[0].parts) == [
        (0, "sequences", 1.0),
        (1, "classifier 1 of 2", 1.0),
        (1, "classifier 2 of 2", 2.0),
        (2, "assembly", 1.0),
    ]
    tasks = tasks_for([wanted("b/t", priority=1), wanted("a/t")], costs)
    assert [(t.job, t.what, t.after, t.estimated) for t in tasks] == [
        ("b/t", "compile", (), True),
        ("a/t", "sequences", (), False),
        ("a/t", "classifier 2 of 2", (1,), False),
        ("a/t", "classifier 1 of 2", (1,), False),
        ("a/t", "assembly", (2, 3), False),
    ]
    assert tasks[0].priority == 1 and tasks[0].seconds == pytest.approx(5.0)


@pytest.mark.parametrize("slowdown", [0.0, 0.25, 0.8])
@pytest.mark.parametrize("cpus", [2, 4])
def test_slowdown_and_overheads_are_found_again(slowdown: float, cpus: int) -> None:
    tasks = [SimulatedTask(f"j{i}/t", 1.0 + i) for i in range(9)]
    delays = Delays(startup=4.0, per_task=0.2, per_worker=0.7, slowdown=slowdown)
    alone, together = run_of(tasks, 1, delays), run_of(tasks, cpus, delays)
    assert fitted_slowdown([together]) is None, "nothing to compare with"
    # A task that waits for its worker is a neighbour already, but not yet in the report.
    assert fitted_slowdown([alone, together]) == pytest.approx(slowdown, abs=0.06)
    found = measured_costs([alone, together])
    assert found.scheduler.per_task_overhead == pytest.approx(0.2)
    assert found.scheduler.worker_startup == pytest.approx(0.7)
    assert found.scheduler.startup == 4.0
    assert [cost.seconds for cost in sorted(found.jobs, key=lambda c: c.grammar)] == pytest.approx(
        [t.seconds for t in tasks], rel=0.08
    )


def test_a_run_in_one_process_says_nothing_of_overheads() -> None:
    found = report(compiled("a/t", 1.0, worker="in process"), compiled("b/t", 1.0, begin=1.0, worker="in process"), cpus=1)
    found.executor, found.setup_seconds = "in process", 0.0
    assert measured_costs([found]).scheduler == Scheduler()


def test_the_spec_goes_before_the_reports_and_those_before_the_defaults() -> None:
    spec = ClusterSpec((NodePool(2, 1 << 30),), Scheduler(startup=9.0, memory_share=0.5))
    costs = MeasuredCosts((), Scheduler(startup=3.0, per_task_overhead=0.3))
    assert with_measured(spec, costs).scheduler == Scheduler(
        per_task_overhead=0.3,
        startup=9.0,
        worker_startup=DEFAULT_SCHEDULER.worker_startup,
        slowdown=DEFAULT_SCHEDULER.slowdown,
        memory_share=0.5,
    )


def cost(grammar: str, tokenizer: str, seconds: float, memory: int = 100, key: str | None = None) -> JobCost:
    return JobCost(grammar, tokenizer, key, (PartCost("compile", 0, seconds, memory),))


def test_jobs_are_found_by_key_then_by_name() -> None:
    costs = MeasuredCosts((cost("a", "t", 5.0, key=hash_of("a")), cost("b", "t", 7.0, key=hash_of("b"))))
    jobs = [wanted("renamed/t", input_key=hash_of("a")), wanted("b/t", input_key=hash_of("b, changed")), wanted("b/t")]
    found = tasks_for(jobs, costs)
    assert [(t.job, t.seconds, t.memory_bytes, t.estimated) for t in found] == [
        ("renamed/t", 5.0, 100, False),
        ("b/t", 7.0, 100, False),
        ("b/t", 7.0, 100, False),
    ]


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=5), st.lists(st.floats(0.2, 5), min_size=2, max_size=5))
def test_a_matrix_is_known_from_a_row_and_a_column(grammars: list[float], tokenizers: list[float]) -> None:
    known = [cost(f"g{i}", "t0", g * tokenizers[0], int(1e6 * g * tokenizers[0])) for i, g in enumerate(grammars)]
    known += [cost("g0", f"t{j}", grammars[0] * t, int(1e6 * grammars[0] * t)) for j, t in enumerate(tokenizers) if j]
    jobs = [wanted(f"g{i}/t{j}") for i in range(len(grammars)) for j in range(len(tokenizers))]
    found = tasks_for(jobs, MeasuredCosts(tuple(known)))
    exact = [g * t for g in grammars for t in tokenizers]
    assert [t.seconds for t in found] == pytest.approx(exact, rel=0.01)
    assert [t.memory_bytes for t in found] == pytest.approx([1e6 * x for x in exact], rel=0.01)
    assert [not t.estimated for t in found] == [i == 0 or j == 0 for i in range(len(grammars)) for j in range(len(tokenizers))]


def test_a_grammar_and_a_tokenizer_never_seen_are_the_middle_ones() -> None:
    costs = MeasuredCosts(tuple(cost(g, "t", s) for g, s in (("a", 1.0), ("b", 4.0), ("c", 100.0))))
    (found,) = tasks_for([wanted("x/y")], costs)
    assert found.seconds == pytest.approx(4.0, rel=0.01) and found.estimated


def test_what_the_pipeline_planned_is_what_is_reserved() -> None:
    planned = (PartCost("compile", 0, 9.0, 777),)
    costs = MeasuredCosts((cost("a", "t", 5.0), cost("b", "t", 5.0)))
    jobs = [
        wanted("a/t", planned=planned),
        wanted("x/t", planned=planned, planned_from_measurement=True),
        wanted("y/t", planned=planned),
    ]
    assert [(t.seconds, t.memory_bytes, t.estimated) for t in tasks_for(jobs, costs)] == [
        (5.0, 777, False),
        (9.0, 777, False),
        (pytest.approx(5.0), 777, True),
    ]
    assert [(t.seconds, t.estimated) for t in tasks_for(jobs, MeasuredCosts())] == [(9.0, True), (9.0, False), (9.0, True)]


def test_nothing_known_at_all() -> None:
    with pytest.raises(SimulationError, match=r"x/t: nothing is known.*name a report"):
        tasks_for([wanted("x/t")], MeasuredCosts())


def test_reports_are_read(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(compiled("a/t", 4.0)).to_json()))
    assert read_costs([path]) == measured_costs([report(compiled("a/t", 4.0))])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "psc batch writes reports with --report"),
        ("[]", "psc batch writes reports with --report"),
        ('{"schema": "x"}', "not a report of psc batch: schema 'x'"),
        ('{"schema": "psc.batch-report.v1", "ok": true}', "damaged report"),
        ("[" * 100_000, "psc batch writes reports"),
        (json.dumps(report(failed("a/t", "no")).to_json()), "no job was compiled there"),
    ],
)
def test_what_is_no_report_with_costs(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(SimulationError, match=said) as caught:
        read_costs([tmp_path / "r.json"])
    assert "r.json" in str(caught.value)


def test_a_report_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="cannot read the report: No such file"):
        read_costs([tmp_path / "none.json"])


def test_a_report_whose_times_are_nonsense_divides_nothing() -> None:
    task = TaskRun("a/t", "compile", "w 1", 5.0, 5.0)
    found = report(compiled("a/t", 0.0), compiled("b/t", 1.0, begin=-3.0))
    found.tasks.append(task)
    assert [c.grammar for c in measured_costs([found]).jobs] == ["b"]
