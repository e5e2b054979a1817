"""Predictions: what they say, what no cluster can do, chance, and other sizes of the cluster."""

import io
import itertools
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from psc.cluster.simulate.cluster_spec import ClusterSpec, Failures, NodePool, Scheduler, Trials
from psc.cluster.simulate.prediction_table import money, prediction_table
from psc.cluster.simulate.schedule import SimulatedTask
from psc.cluster.simulate.simulation import Prediction, WhatIf, simulate, what_if
from psc.cluster.units import parse_bytes
from psc.errors import SimulationError

ALL_MEMORY = Scheduler(memory_share=1.0)


def spec(*pools: NodePool, **more: object) -> ClusterSpec:
    return replace(ClusterSpec(pools or (NodePool(2, 100, name="n"),), ALL_MEMORY), **more)  # type: ignore[arg-type]


def jobs(*seconds: float, memory: int = 0) -> list[SimulatedTask]:
    return [SimulatedTask(f"j{i}", s, memory) for i, s in enumerate(seconds)]


def as_text(prediction: Prediction, sizes: tuple[WhatIf, ...] = ()) -> str:
    out = io.StringIO()
    prediction_table(prediction, sizes, Console(file=out, width=120, no_color=True))
    return out.getvalue()


def test_time_cost_memory_and_use() -> None:
    pools = (NodePool(2, 100, 1, "large", 3.0), NodePool(1, 50, 2, "small", 0.5, speed=0.5))
    tasks = [SimulatedTask("a", 3600.0, 80), SimulatedTask("b", 3600.0, 20), SimulatedTask("c", 1800.0, 40, estimated=True)]
    found = simulate(tasks, spec(*pools, scheduler=Scheduler(startup=36.0, memory_share=1.0)))
    assert found.makespan_seconds == found.makespan_p5 == found.makespan_p95 == pytest.approx(36 + 7200)
    assert (found.trials, found.startup_seconds, found.lost_attempts) == (1, 36.0, 0)
    assert found.node_hours == pytest.approx(3 * 7236 / 3600)
    assert found.cost == pytest.approx(4.0 * 7236 / 3600)
    assert found.shortest_seconds == pytest.approx(36 + 3600)
    assert found.longest_job == "a"
    # a takes the first node to more than half; b and c find the small ones less used.
    assert [(t.job, t.node, t.begin, t.end) for t in found.tasks] == [
        ("a", "large", 36.0, pytest.approx(3636.0)),
        ("b", "small 1", 36.0, pytest.approx(7236.0)),
        ("c", "small 2", 36.0, pytest.approx(3636.0)),
    ]
    large = found.nodes[0]
    assert (large.name, large.tasks, large.peak_reserved_bytes, large.memory_bytes) == ("large", 1, 80, 100)
    assert large.busy_share == pytest.approx(3600 / (7236 * 2))
    assert found.tail == ("b", "a", "c") and found.tail_seconds == pytest.approx(7200)
    assert found.estimated_jobs == ("c",)


def test_only_a_share_of_the_memory_can_be_reserved() -> None:
    tasks = jobs(1.0, 1.0, memory=40)
    assert simulate(tasks, spec()).makespan_seconds == pytest.approx(1.0)
    assert simulate(tasks, spec(scheduler=Scheduler(memory_share=0.7))).makespan_seconds == pytest.approx(2.0)


def test_what_would_fit_nowhere() -> None:
    gib = 1 << 30
    tasks = [SimulatedTask("java/x", 1.0, 30 * gib), SimulatedTask("ok/x", 1.0, gib), SimulatedTask("sql/x", 1.0, 25 * gib)]
    with pytest.raises(SimulationError) as caught:
        simulate(tasks, spec(NodePool(8, 32 * gib, 4), scheduler=Scheduler(memory_share=0.75)))
    assert str(caught.value).startswith(
        "2 jobs fit on no node: java/x (32.2 GB), sql/x (26.8 GB). The largest node lets tasks reserve 25.8 GB"
    )
    assert "memory of 43.0 GB or more, or lower the jobs' reservations" in str(caught.value)


@pytest.mark.parametrize("memory", [999, 1_000_000_007, (40 << 30) - 1, 77 << 30])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_the_way_out_of_what_would_fit_nowhere_is_one(memory: int, share: float) -> None:
    tasks = jobs(1.0, memory=memory)
    with pytest.raises(SimulationError) as caught:
        simulate(tasks, spec(NodePool(1, int((memory - 1) / share)), scheduler=Scheduler(memory_share=share)))
    said = re.findall("node memory of (.*) or more", str(caught.value).replace(" bytes", ""))[0]
    assert parse_bytes(said) < 1.2 * memory / share + 1
    simulate(tasks, spec(NodePool(1, parse_bytes(said)), scheduler=Scheduler(memory_share=share)))


def test_a_cycle_or_a_missing_step_is_refused() -> None:
    with pytest.raises(SimulationError, match="only earlier ones"):
        simulate([SimulatedTask("j", 1.0, after=(0,))], spec())


def test_nothing_to_do() -> None:
    found = simulate([], spec(scheduler=Scheduler(startup=5.0)))
    assert found.makespan_seconds == found.shortest_seconds == 5.0 and found.tail == ()
    assert "0 jobs would take 5.00 s" in as_text(found, what_if([], spec()))


def test_losses_of_nodes_cost_time_and_are_drawn_by_the_seed() -> None:
    tasks = jobs(*[600.0] * 8)
    calm = spec(NodePool(2, 100, 2, "n"))
    rough = replace(calm, failures=(Failures(2.0, 60.0),), trials=Trials(40, seed=1))
    found = simulate(tasks, rough)
    assert simulate(tasks, rough) == found
    assert simulate(tasks, replace(rough, trials=Trials(40, seed=2))).makespan_p95 != found.makespan_p95
    assert found.makespan_p5 <= found.makespan_seconds <= found.makespan_p95
    assert found.makespan_p95 > simulate(tasks, calm).makespan_seconds == pytest.approx(1200.0)
    # 2 nodes x 2 losses an hour x at least 1/3 hour, each of up to two tasks.
    assert 0.5 < found.lost_attempts < 8
    assert found.trials == 40


def test_losses_can_be_of_one_pool() -> None:
    tasks = jobs(*[600.0] * 3)
    pools = (NodePool(1, 100, 1, "kept"), NodePool(1, 100, 1, "spot"))
    lost = [
        simulate(tasks, spec(*pools, failures=(Failures(3.0, nodes=n),), trials=Trials(30))).lost_attempts for n in ("spot", None)
    ]
    assert 0 < lost[0] < lost[1]


def test_noise_widens_and_keeps_the_mean() -> None:
    tasks = jobs(*[100.0] * 64)
    found = simulate(tasks, spec(NodePool(1, 100), trials=Trials(100, duration_noise=0.2)))
    assert found.makespan_p5 < found.makespan_seconds < found.makespan_p95
    assert found.makespan_seconds == pytest.approx(6400, rel=0.02)


def test_other_sizes_of_the_cluster() -> None:
    tasks = jobs(*[3600.0] * 12)
    rows = what_if(tasks, spec(NodePool(2, 100, 3, "n", 1.0)))
    assert [(r.nodes, r.cpus, r.as_specified) for r in rows[:4]] == [(1, 2, False), (2, 4, False), (3, 6, True), (4, 8, False)]
    assert [r.makespan_seconds for r in rows] == pytest.approx([21600, 10800, 7200, 7200, 3600, 3600][: len(rows)])
    assert [r.cost for r in rows[:4]] == pytest.approx([6.0, 6.0, 6.0, 8.0])
    assert rows[2].makespan_seconds == simulate(tasks, spec(NodePool(2, 100, 3, "n", 1.0))).makespan_seconds


def test_sizes_that_lack_the_large_node() -> None:
    tasks = [SimulatedTask("large", 10.0, 100), *jobs(*[10.0] * 6, memory=10)]
    rows = what_if(tasks, spec(NodePool(1, 20, 3, "small"), NodePool(1, 100, 1, "large")))
    assert rows[0].makespan_seconds is None and rows[0].cost is None
    (own,) = [r for r in rows if r.as_specified]
    assert own.nodes == 4 and own.makespan_seconds == pytest.approx(20.0)
    text = as_text(simulate(tasks, spec(NodePool(1, 20, 3, "small"), NodePool(1, 100, 1, "large"))), rows)
    assert "does not fit" in text and "4 *" in text


@given(st.lists(st.floats(0.1, 100.0), max_size=20), st.integers(1, 20), st.integers(1, 4))
def test_the_table_of_sizes_is_finite_and_has_the_specified_one(seconds: list[float], nodes: int, cpus: int) -> None:
    rows = what_if(jobs(*seconds), spec(NodePool(cpus, 100, nodes)))
    assert [r.nodes for r in rows] == sorted({r.nodes for r in rows}) and len(rows) <= 12
    assert [r.nodes for r in rows if r.as_specified] == [nodes]
    spans = [r.makespan_seconds for r in rows]
    assert all(a is not None and b is not None and b <= a + 1e-6 for a, b in itertools.pairwise(spans))


@given(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=20), st.integers(1, 3), st.sampled_from([0.5, 1.0, 2.0]))
def test_no_prediction_is_below_the_bound(seconds: list[float], nodes: int, speed: float) -> None:
    found = simulate(jobs(*seconds), spec(NodePool(2, 100, nodes, speed=speed), NodePool(1, 100, name="other")))
    assert found.makespan_seconds >= found.shortest_seconds - 1e-6
    assert max(t.end for t in found.tasks) == pytest.approx(found.makespan_seconds)
    assert all(0 <= node.busy_share <= 1 + 1e-9 for node in found.nodes)


def test_the_terminal_says_all_of_it() -> None:
    pools = (NodePool(2, 32 << 30, 20, "n\x1b[2J", 0.4),)
    tasks = [SimulatedTask("[b]a[/b]/x", 90.0, 1 << 30, estimated=True), *jobs(*[50.0] * 60, memory=1 << 29)]
    found = spec(*pools, failures=(Failures(1.0),), trials=Trials(20))
    text = as_text(simulate(tasks, found), what_if(tasks, found))
    assert "\x1b" not in text
    for said in (
        "61 jobs would take ",
        " in 90 % of 20 trials)",
        "node-hours, which cost ",
        "no schedule on this cluster takes less than",
        "the longest job is [b]a[/b]/x",
        "run again",
        "8 more, each on average",
        "nothing waits, and CPUs fall idle. Then still at work:",
        "20 *",
        "1 jobs were never measured, and are estimated from the others: [b]a[/b]/x",
    ):
        assert said in text, said


def test_as_data() -> None:
    data = json.loads(json.dumps(simulate(jobs(1.0), spec()).to_json()))
    assert data["schema"] == "psc.batch-prediction.v1"
    assert data["tasks"][0]["job"] == "j0" and data["makespan_seconds"] == 1.0


def test_amounts_of_money() -> None:
    assert [money(x) for x in (None, 0.0, 0.0123, 0.5, 12.345)] == ["-", "0.00", "0.012", "0.5", "12.35"]
