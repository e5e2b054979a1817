"""The description of a cluster: what it may say, and that whatever else it says is refused with its line."""

from pathlib import Path

import pytest

from psc.cluster.simulate.cluster_spec import ClusterSpec, Failures, NodePool, Scheduler, Trials, parse_spec, read_spec
from psc.errors import SimulationError

WHOLE = """
costs = ["first.json", "second.json"]
[scheduler]
per_task_overhead = 0.1
startup = 7
worker_startup = 0.5
slowdown = 0.2
memory_share = 0.8
[simulation]
runs = 50
seed = 3
duration_noise = 0.1
[[nodes]]
name = "large"
count = 4
cpus = 8
memory = "32GiB"
price_per_hour = 0.4
speed = 1.2
[[nodes]]
cpus = 2
memory = 4_000_000_000
[[failures]]
nodes = "large"
rate_per_node_hour = 0.5
downtime = 60
"""


def test_everything_that_a_spec_may_say(tmp_path: Path) -> None:
    for name in ("first.json", "second.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "spec.toml").write_text(WHOLE)
    spec = read_spec(tmp_path / "spec.toml")
    assert spec == ClusterSpec(
        pools=(NodePool(8, 32 << 30, 4, "large", 0.4, 1.2), NodePool(2, 4_000_000_000, 1, "nodes 2")),
        scheduler=Scheduler(0.1, 7.0, 0.5, 0.2, 0.8),
        failures=(Failures(0.5, 60.0, "large"),),
        trials=Trials(50, 3, 0.1),
        costs=(tmp_path / "first.json", tmp_path / "second.json"),
    )
    assert (spec.n_nodes, spec.n_cpus, spec.price_per_hour) == (5, 34, None)


def test_the_least_that_a_spec_says() -> None:
    spec = parse_spec('[[nodes]]\ncpus = 2\nmemory = "8GiB"\n')
    assert spec == ClusterSpec((NodePool(2, 8 << 30, name="nodes 1"),))


NODES = '[[nodes]]\ncpus = 2\nmemory = "8GiB"\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, r"no nodes.*as \[\[nodes\]\]"),
        ("nodes = 3", 1, "nodes must be a list of tables: write \\[\\[nodes\\]\\]"),
        ("[nodes]\ncpus = 1", 1, "must be a list of tables"),
        ("[[nodes]]\ncpus = 2\n", 1, 'without memory; write for instance memory = "32GiB"'),
        ('\n[[nodes]]\nmemory = "1GiB"', 2, "without cpus"),
        (NODES + "count = 0", 4, "count = 0: must be a whole number from 1"),
        (NODES + "count = true", 4, "count = True: must be a whole number"),
        (NODES + "count = 100_000", None, "CPUs in all; at most"),
        (NODES + "speed = 0", 4, "speed = 0: must be a number from 0.001"),
        (NODES + "speed = nan", 4, "speed = nan"),
        (NODES + "price_per_hour = -1", 4, "price_per_hour = -1"),
        (NODES + "name = 7", 4, "name = 7: must be a text"),
        (NODES + "cpu = 7", 4, "unknown key 'cpu'; did you mean 'cpus'\\? there are count, cpus"),
        ('[[nodes]]\ncpus = 2\nmemory = "8 apples"\n', 3, "'8 apples' is not an amount of memory"),
        ("[[nodes]]\ncpus = 2\nmemory = 1.5\n", 3, "memory = 1.5: must be an amount"),
        (NODES + 'name = "a"\n' + NODES + 'name = "a"', 8, "two kinds of nodes are called 'a'"),
        (NODES + "[scheduler]\nstart = 1", 5, "unknown key 'start'; did you mean 'startup'\\? there are per_task_overhead"),
        (NODES + '[scheduler]\nstartup = "1s"', 5, "startup = '1s': must be a number"),
        (NODES + "[scheduler]\nmemory_share = 1.5", 5, "memory_share = 1.5: must be a number from 0.01 to 1"),
        ("scheduler = 1\n" + NODES, 1, "write \\[scheduler\\]"),
        (NODES + "[simulation]\nruns = 0", 5, "runs = 0"),
        (NODES + "[[failures]]\ndowntime = 3", 4, "without rate_per_node_hour"),
        (NODES + '[[failures]]\nrate_per_node_hour = 1\nnodes = "x"', 6, "no nodes are called 'x'; there are 'nodes 1'"),
        ("costs = 3\n" + NODES, 1, "costs must be the path"),
        ('costs = "none.json"\n' + NODES, 1, "there is no report none.json; psc batch writes one"),
        ('costs = [\n"none.json"]\n' + NODES, 2, "there is no report none.json"),
        ("a = 1\n" + NODES, 1, "unknown key 'a'; there are costs, nodes"),
        ("a = = 1", None, "not TOML: .*line 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int | None, said: str) -> None:
    with pytest.raises(SimulationError, match=said) as caught:
        parse_spec(text, origin="spec.toml")
    if line is not None:
        assert str(caught.value).startswith(f"spec.toml:{line}: ")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="there is no such file"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \n\n# caf\xe9")
    with pytest.raises(SimulationError, match=r"latin.toml:3: not UTF-8"):
        read_spec(tmp_path / "latin.toml")
    with pytest.raises(SimulationError, match="cannot read"):
        read_spec(tmp_path)


def test_scaling_keeps_the_parts() -> None:
    spec = ClusterSpec((NodePool(8, 1, 6, "a", 0.5), NodePool(2, 1, 2, "b", 0.1)), failures=(Failures(1.0, nodes="b"),))
    counts = {n: {pool.name: pool.count for pool in spec.scaled(n).pools} for n in (1, 2, 3, 4, 8, 16)}
    assert counts == {
        1: {"a": 1},
        2: {"a": 2},
        3: {"a": 2, "b": 1},
        4: {"a": 3, "b": 1},
        8: {"a": 6, "b": 2},
        16: {"a": 12, "b": 4},
    }
    assert spec.scaled(8) == spec
    assert spec.scaled(1).failures == ()
    assert spec.scaled(16).price_per_hour == pytest.approx(6.4)
