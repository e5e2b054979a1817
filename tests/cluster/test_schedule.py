"""The simulated schedule: hand-computable cases, and what holds of every schedule."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psc.cluster.simulate.schedule import Delays, Node, Schedule, SimulatedTask, longest_chains, run_schedule
from psc.errors import SimulationError

NO_DELAYS = Delays()


def node(cpus: int = 2, memory: int = 100, speed: float = 1.0, name: str = "m") -> Node:
    return Node(name, cpus, memory, speed)


def jobs(*seconds: float, memory: int = 0) -> list[SimulatedTask]:
    return [SimulatedTask(f"j{i}", s, memory) for i, s in enumerate(seconds)]


def begins(run: Schedule) -> list[float]:
    return [placed.begin for placed in run.placed]


@pytest.mark.parametrize(
    ("seconds", "cpus", "makespan"),
    [
        ((), 2, 0),
        ((5,), 2, 5),
        ((5, 5, 5), 1, 15),
        ((3, 3, 2, 2, 2), 2, 7),  # the longest first is not optimal here: 6 is
        ((4, 3, 3, 2), 2, 6),
        ((1, 2, 3, 10), 3, 10),  # the long one is not left to the end
        ((7, 6, 5, 4, 3, 2, 1), 7, 7),
    ],
)
def test_longest_first_on_one_machine(seconds: tuple[float, ...], cpus: int, makespan: float) -> None:
    assert run_schedule(jobs(*seconds), [node(cpus)], NO_DELAYS).makespan == pytest.approx(makespan)


def test_priority_goes_before_length() -> None:
    tasks = [SimulatedTask("long", 9.0), SimulatedTask("urgent", 1.0, priority=1), SimulatedTask("middle", 5.0)]
    assert begins(run_schedule(tasks, [node(1)], NO_DELAYS)) == pytest.approx([1.0, 0.0, 10.0])


def test_memory_keeps_tasks_apart_and_smaller_ones_pass() -> None:
    tasks = [SimulatedTask("a", 4.0, 60), SimulatedTask("b", 3.0, 60), SimulatedTask("c", 1.0, 40)]
    run = run_schedule(tasks, [node(2, 100)], NO_DELAYS)
    assert begins(run) == pytest.approx([0.0, 4.0, 0.0])
    assert run.makespan == pytest.approx(7.0)
    assert run.use[0].peak_reserved_bytes == 100
    assert run.use[0].busy_seconds == pytest.approx(8.0)


def test_what_is_large_goes_where_there_is_room() -> None:
    tasks = [SimulatedTask("large", 1.0, 80), *jobs(1.0, 1.0, memory=10)]
    run = run_schedule(tasks, [node(2, 50, name="small"), node(2, 90, name="big")], NO_DELAYS)
    assert run.placed[0].node == 1
    assert run.makespan == pytest.approx(1.0)


def test_nodes_fill_to_half_then_evenly() -> None:
    run = run_schedule(jobs(*[1.0] * 6), [node(4, name="a"), node(4, name="b")], NO_DELAYS)
    assert sorted(placed.node for placed in run.placed) == [0, 0, 0, 1, 1, 1]


def test_a_step_waits_for_the_whole_step_before() -> None:
    tasks = [
        SimulatedTask("j", 1.0, what="sequences"),
        SimulatedTask("j", 2.0, what="classifier 1 of 2", after=(0,)),
        SimulatedTask("j", 3.0, what="classifier 2 of 2", after=(0,)),
        SimulatedTask("j", 1.0, what="assembly", after=(1, 2)),
        SimulatedTask("other", 4.5),
    ]
    assert longest_chains(tasks) == [5.0, 3.0, 4.0, 1.0, 4.5]
    run = run_schedule(tasks, [node(2)], NO_DELAYS)
    assert begins(run) == pytest.approx([0.0, 1.0, 3.0, 6.0, 0.0])
    assert run.makespan == pytest.approx(7.0)


def test_what_each_delay_adds() -> None:
    tasks = jobs(3.0, 2.0, 1.0)
    assert run_schedule(tasks, [node(1)], Delays(startup=10.0)).makespan == pytest.approx(16.0)
    assert run_schedule(tasks, [node(1)], Delays(per_task=0.5)).makespan == pytest.approx(7.5)
    assert run_schedule(tasks, [node(1)], Delays(per_worker=0.5)).makespan == pytest.approx(6.5)
    assert run_schedule(tasks, [node(1, speed=2.0)], Delays(per_task=0.5)).makespan == pytest.approx(4.5)
    assert run_schedule([], [node(1)], Delays(startup=10.0)).makespan == 10.0


def test_neighbours_slow_a_task_down_while_they_are_there() -> None:
    # Together at 1 / 1.5 until the short one is done at 3; by then the long one has done 2 of 4.
    run = run_schedule(jobs(4.0, 2.0), [node(2)], Delays(slowdown=0.5))
    assert [placed.end for placed in run.placed] == pytest.approx([5.0, 3.0])
    apart = run_schedule(jobs(4.0, 2.0), [node(1), node(1)], Delays(slowdown=0.5))
    assert apart.makespan == pytest.approx(4.0)


def test_a_task_beside_one_that_has_not_begun_to_work_is_slowed_down_too() -> None:
    run = run_schedule(jobs(4.0, 2.0), [node(2)], Delays(per_task=1.0, slowdown=1.0))
    assert [placed.end for placed in run.placed] == pytest.approx([7.0, 5.0])


class _Fixed(Random):
    """Gives these times until the next loss of a node."""

    def __init__(self, *times: float) -> None:
        super().__init__(0)
        self.times = list(times)

    def expovariate(self, lambd: float = 1.0) -> float:
        return self.times.pop(0) if self.times else 1e9


def test_a_lost_node_costs_what_ran_there() -> None:
    nodes = [Node("m", 2, 100, losses_per_second=1e-3, downtime=10.0)]
    run = run_schedule(jobs(2.0, 5.0), nodes, Delays(per_worker=1.0), chance=_Fixed(4.0))
    # The short one was done at 3; the long one is lost at 4, the node is back at 14, and its worker starts anew.
    assert [placed.end for placed in run.placed] == pytest.approx([20.0, 3.0][::-1])
    assert run.losses == 1
    assert run.use[0].tasks == 2 and run.use[0].busy_seconds == pytest.approx(3 + 4 + 6)


def test_another_node_takes_over() -> None:
    nodes = [Node("a", 1, 100, losses_per_second=1e-3, downtime=100.0), Node("b", 1, 100)]
    run = run_schedule(jobs(5.0, 3.0), nodes, NO_DELAYS, chance=_Fixed(4.0))
    assert run.placed[0].node == 1 and run.placed[0].begin == pytest.approx(4.0)
    assert run.makespan == pytest.approx(9.0)


def test_a_cluster_on_which_nothing_can_end() -> None:
    nodes = [Node("flaky", 1, 100, losses_per_second=1.0)]
    with pytest.raises(SimulationError, match=r"lost so often .*flaky: every 1 s.*rate_per_node_hour"):
        run_schedule(jobs(1000.0), nodes, NO_DELAYS, chance=Random(1))


def test_a_task_that_fits_nowhere_is_no_endless_wait() -> None:
    with pytest.raises(SimulationError, match="j0 fits on no node"):
        run_schedule(jobs(1.0, memory=101), [node()], NO_DELAYS)


durations = st.floats(0.0, 50.0, allow_subnormal=False)


@st.composite
def task_lists(draw: st.DrawFn, max_memory: int = 100) -> list[SimulatedTask]:
    tasks: list[SimulatedTask] = []
    for i in range(draw(st.integers(0, 12))):
        after = draw(st.lists(st.integers(0, i - 1), max_size=2, unique=True)) if i else []
        memory, priority = draw(st.integers(0, max_memory)), draw(st.integers(-1, 1))
        tasks.append(SimulatedTask(f"j{i}", draw(durations), memory, priority=priority, after=tuple(after)))
    return tasks


machine_lists = st.lists(
    st.builds(node, st.integers(1, 3), st.integers(100, 200), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=3
)
delays = st.builds(Delays, *[st.sampled_from([0.0, 0.5, 3.0])] * 3, st.sampled_from([0.0, 0.3]))


@given(task_lists(), machine_lists, delays, st.sampled_from([0.0, 0.4]), st.integers(0, 3))
def test_what_holds_of_every_schedule(
    tasks: list[SimulatedTask], nodes: list[Node], waits: Delays, noise: float, seed: int
) -> None:
    run = run_schedule(tasks, nodes, waits, chance=Random(seed), duration_noise=noise)
    assert run == run_schedule(tasks, nodes, waits, chance=Random(seed), duration_noise=noise)
    end = max((placed.end for placed in run.placed), default=waits.startup)
    assert run.makespan == pytest.approx(end)
    for i, (task, placed) in enumerate(zip(tasks, run.placed, strict=True)):
        assert placed.begin >= waits.startup
        assert all(placed.begin >= run.placed[before].end for before in task.after), i
        if noise == 0:
            least = task.seconds / nodes[placed.node].speed
            most = least * (1 + waits.slowdown) + waits.per_task + waits.per_worker
            assert least - 1e-6 <= placed.end - placed.begin - waits.per_task <= most + 1e-6
    for number, node in enumerate(nodes):
        here = [i for i, placed in enumerate(run.placed) if placed.node == number]
        for i in here:
            at = run.placed[i].begin
            beside = [j for j in here if run.placed[j].begin <= at < run.placed[j].end]
            assert len(beside) <= node.cpus
            assert sum(tasks[j].memory_bytes for j in beside) <= node.memory_bytes
        assert run.use[number].tasks == len(here)
        assert run.use[number].peak_reserved_bytes <= node.memory_bytes


@given(st.lists(durations, max_size=15), st.integers(1, 4), st.integers(1, 3))
def test_between_the_bounds_of_list_scheduling(seconds: list[float], cpus: int, nodes: int) -> None:
    """Graham 1966: no CPU is idle while a task waits."""
    run = run_schedule(jobs(*seconds), [node(cpus, name=f"m{i}") for i in range(nodes)], NO_DELAYS)
    total, longest, m = sum(seconds), max(seconds, default=0.0), cpus * nodes
    assert max(total / m, longest) - 1e-6 <= run.makespan <= total / m + (1 - 1 / m) * longest + 1e-6


@given(task_lists(), machine_lists, delays)
def test_never_worse_than_one_after_the_other(tasks: list[SimulatedTask], nodes: list[Node], waits: Delays) -> None:
    run = run_schedule(tasks, nodes, waits)
    slowest = min(node.speed for node in nodes)
    alone = sum(t.seconds / slowest * (1 + waits.slowdown) + waits.per_task + waits.per_worker for t in tasks)
    assert run.makespan <= waits.startup + alone + 1e-6


@given(st.lists(durations, max_size=15), st.integers(1, 4))
def test_one_more_cpu_does_no_harm_to_independent_tasks(seconds: list[float], cpus: int) -> None:
    """With steps that wait for others, or memory that is short, it may (Graham's anomalies)."""
    one = run_schedule(jobs(*seconds), [node(cpus)], NO_DELAYS).makespan
    two = run_schedule(jobs(*seconds), [node(cpus + 1)], NO_DELAYS).makespan
    assert two <= one + 1e-6


@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=8), st.floats(0.1, 10.0))
def test_speed_scales_time(seconds: list[float], factor: float) -> None:
    one = run_schedule(jobs(*seconds), [node(2)], NO_DELAYS).makespan
    other = run_schedule(jobs(*seconds), [node(2, speed=factor)], NO_DELAYS).makespan
    assert other == pytest.approx(one / factor)
