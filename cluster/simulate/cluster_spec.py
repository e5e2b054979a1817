"""The description of a cluster that one does not have, for the simulator: a TOML file, read strictly, each error with its line.

costs = "report.json"                  # reports of psc batch, beside this file; several as a list

[[nodes]]
count = 4
cpus = 8
memory = "32GiB"
price_per_hour = 0.40                  # optional, in any currency
speed = 1.2                            # optional; 1 is where the costs were measured

[scheduler]                            # optional, all of it: what is left out comes from the reports
startup = 5.0                          # seconds until the workers can be used
[[failures]]                           # optional
rate_per_node_hour = 0.02
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from psc.cluster.jobs.toml_lines import KeyPath, key_lines
from psc.cluster.units import parse_bytes
from psc.errors import SimulationError
from psc.support.limits import limit

MAX_CPUS = limit("simulated_cpus")
"""Of a whole cluster: beyond that a spec is a slip of the pen, and its simulation would take hours."""


@dataclass(frozen=True)
class NodePool:
    """Some nodes of one kind."""

    cpus: int
    memory_bytes: int
    """Of each machine."""
    count: int = 1
    name: str = ""
    price_per_hour: float | None = None
    """Of each node."""
    speed: float = 1.0
    """The speed of one of its CPUs, relative to the machine of the measurements."""


@dataclass(frozen=True)
class Scheduler:
    """The scheduler's costs and share of memory. None: from the reports."""

    per_task_overhead: float | None = None
    """Seconds between two tasks on a worker."""
    startup: float | None = None
    """Seconds until the workers can be used."""
    worker_startup: float | None = None
    """Seconds that the first task on a worker waits more than another."""
    slowdown: float | None = None
    """How much longer a task takes on a machine whose other CPUs are all busy than alone: 0.3 is 30 %."""
    memory_share: float = 0.7
    """The part of a machine's memory that tasks may reserve. Ray keeps 0.3 for the system and its object store."""


@dataclass(frozen=True)
class Failures:
    """How often nodes are lost."""

    rate_per_node_hour: float
    downtime: float = 120.0
    """Seconds until a lost node is replaced."""
    nodes: str | None = None
    """The name of the pool meant; all if there is none."""


@dataclass(frozen=True)
class Trials:
    """How chance is simulated."""

    runs: int = 200
    seed: int = 0
    duration_noise: float = 0.0
    """Standard deviation of the logarithm of a task's time: 0.1 is about 10 %."""


@dataclass(frozen=True)
class ClusterSpec:
    """A cluster to be simulated."""

    pools: tuple[NodePool, ...]
    scheduler: Scheduler = field(default_factory=Scheduler)
    failures: tuple[Failures, ...] = ()
    trials: Trials = field(default_factory=Trials)
    costs: tuple[Path, ...] = ()
    """Reports of ``psc batch`` to take the jobs' costs from."""

    @property
    def n_nodes(self) -> int:
        return sum(pool.count for pool in self.pools)

    @property
    def n_cpus(self) -> int:
        return sum(pool.count * pool.cpus for pool in self.pools)

    @property
    def price_per_hour(self) -> float | None:
        """Of the whole cluster; None when a price is missing."""
        prices = [pool.price_per_hour for pool in self.pools]
        return (
            sum(p * pool.count for p, pool in zip(prices, self.pools, strict=True) if p is not None) if None not in prices else None
        )

    def scaled(self, n_nodes: int) -> ClusterSpec:
        """The same with another number of nodes, each pool's share unchanged as far as whole nodes allow."""
        shares = [pool.count * n_nodes / self.n_nodes for pool in self.pools]
        counts = [math.floor(s) for s in shares]
        by_rest = sorted(range(len(shares)), key=lambda i: (counts[i] - shares[i], i))
        for i in by_rest[: n_nodes - sum(counts)]:
            counts[i] += 1
        pools = tuple(replace(pool, count=n) for pool, n in zip(self.pools, counts, strict=True) if n)
        used = {pool.name for pool in pools}
        return replace(self, pools=pools, failures=tuple(f for f in self.failures if f.nodes is None or f.nodes in used))


def read_spec(path: str | Path) -> ClusterSpec:
    """Reads the file of a spec. Raises SimulationError with the line, the error there, and the remedy."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SimulationError(f"{path}: there is no such file") from None
    except OSError as e:
        raise SimulationError(f"{path}: cannot read the file: {e.strerror or e}") from e
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        raise SimulationError(f"{path}:{line}: not UTF-8 text, so not a TOML file") from e
    return parse_spec(text, origin=str(path), folder=path.parent)


def parse_spec(text: str, *, origin: str = "spec", folder: Path | None = None) -> ClusterSpec:
    """Reads the text of a spec.

    Args:
        text: TOML.
        origin: its name in errors.
        folder: the base of its relative paths.

    Raises:
        SimulationError: with the line, what is wrong there, and what to write.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise SimulationError(f"{origin}: not TOML: {e}") from e
    return _Reader(key_lines(text), origin).spec(document, folder or Path())


class _Reader:
    """Checks the document that `tomllib` read; every path by which the document is indexed has a line."""

    def __init__(self, lines: Mapping[KeyPath, int], origin: str) -> None:
        self._lines = lines
        self._origin = origin

    def fail(self, at: KeyPath, what: str) -> SimulationError:
        where = next((self._lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in self._lines), None)
        return SimulationError(f"{self._origin}:{where}: {what}" if where is not None else f"{self._origin}: {what}")

    def spec(self, document: dict[str, Any], folder: Path) -> ClusterSpec:
        self._check_keys((), document, ("costs", "nodes", "scheduler", "failures", "simulation"))
        pools = tuple(self._pool(("nodes", i), table) for i, table in enumerate(self._tables(document, "nodes")))
        if not pools:
            raise self.fail(("nodes",), "no nodes: describe at least one kind of machine as [[nodes]] with cpus and memory")
        for i, pool in enumerate(pools):
            if pool.name in (other.name for other in pools[:i]):
                raise self.fail(("nodes", i, "name"), f"two kinds of nodes are called {pool.name!r}; give each its own name")
        failures = tuple(self._failures(("failures", i), t, pools) for i, t in enumerate(self._tables(document, "failures")))
        spec = ClusterSpec(pools, self._scheduler(document), failures, self._trials(document), self._costs(document, folder))
        if spec.n_cpus > MAX_CPUS:
            raise self.fail(("nodes",), f"{spec.n_cpus:,} CPUs in all; at most {MAX_CPUS:,} are simulated")
        return spec

    def _pool(self, at: KeyPath, table: dict[str, Any]) -> NodePool:
        self._check_keys(at, table, ("count", "cpus", "memory", "name", "price_per_hour", "speed"))
        for needed, example in (("cpus", "cpus = 8"), ("memory", 'memory = "32GiB"')):
            if needed not in table:
                raise self.fail(at, f"[[nodes]] without {needed}; write for instance {example}")
        name = table.get("name", f"nodes {int(at[-1]) + 1}")
        if not isinstance(name, str) or not name.strip():
            raise self.fail((*at, "name"), f"name = {name!r}: must be a text")
        price = table.get("price_per_hour")
        return NodePool(
            cpus=self._whole(at, table, "cpus", 1, least=1),
            memory_bytes=self._memory((*at, "memory"), table["memory"]),
            count=self._whole(at, table, "count", 1, least=1),
            name=name,
            price_per_hour=None if price is None else self._number(at, table, "price_per_hour", 0.0),
            speed=self._number(at, table, "speed", 1.0, least=0.001, most=1000.0),
        )

    def _scheduler(self, document: dict[str, Any]) -> Scheduler:
        table = self._table(document, "scheduler", Scheduler)
        at = ("scheduler",)
        given = {name: self._number(at, table, name, 0.0, most=1e6) for name in table if name != "memory_share"}
        return Scheduler(
            **given, memory_share=self._number(at, table, "memory_share", Scheduler.memory_share, least=0.01, most=1.0)
        )

    def _failures(self, at: KeyPath, table: dict[str, Any], pools: tuple[NodePool, ...]) -> Failures:
        self._check_keys(at, table, tuple(f.name for f in fields(Failures)))
        if "rate_per_node_hour" not in table:
            raise self.fail(at, "[[failures]] without rate_per_node_hour; write how often a node is lost per hour")
        nodes = table.get("nodes")
        if nodes is not None and nodes not in {pool.name for pool in pools}:
            names = ", ".join(repr(pool.name) for pool in pools)
            raise self.fail((*at, "nodes"), f"no nodes are called {nodes!r}; there are {names}")
        return Failures(
            self._number(at, table, "rate_per_node_hour", 0.0, most=3600.0),
            self._number(at, table, "downtime", Failures.downtime, most=1e6),
            nodes,
        )

    def _trials(self, document: dict[str, Any]) -> Trials:
        table = self._table(document, "simulation", Trials)
        at = ("simulation",)
        return Trials(
            runs=self._whole(at, table, "runs", Trials.runs, least=1, most=100_000),
            seed=self._whole(at, table, "seed", Trials.seed, least=0),
            duration_noise=self._number(at, table, "duration_noise", Trials.duration_noise, most=2.0),
        )

    def _costs(self, document: dict[str, Any], folder: Path) -> tuple[Path, ...]:
        costs = document.get("costs", [])
        listed = [costs] if isinstance(costs, str) else costs
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise self.fail(("costs",), 'costs must be the path of a report of psc batch, or a list of them: costs = "report.json"')
        paths = tuple(folder / name for name in listed)
        for i, path in enumerate(paths):
            if not path.is_file():
                at = ("costs",) if isinstance(costs, str) else ("costs", i)
                raise self.fail(at, f"there is no report {path}; psc batch writes one with --report")
        return paths

    def _table(self, document: dict[str, Any], name: str, kind: type[Scheduler] | type[Trials]) -> dict[str, Any]:
        table = document.get(name, {})
        if not isinstance(table, dict):
            raise self.fail((name,), f"{name} must be a table: write [{name}]")
        self._check_keys((name,), table, tuple(f.name for f in fields(kind)))
        return table

    def _tables(self, document: dict[str, Any], name: str) -> list[dict[str, Any]]:
        tables = document.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise self.fail((name,), f"{name} must be a list of tables: write [[{name}]]")
        return tables

    def _check_keys(self, at: KeyPath, table: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in table:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                raise self.fail((*at, name), f"unknown key {name!r}; {meant}there are {', '.join(names)}")

    def _memory(self, at: KeyPath, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise self.fail(at, f'memory = {value!r}: must be an amount such as "32GiB"')
        try:
            return parse_bytes(value)
        except ValueError as e:
            raise self.fail(at, str(e)) from e

    def _whole(self, at: KeyPath, table: Mapping[str, Any], name: str, default: int, *, least: int, most: int = MAX_CPUS) -> int:
        value = table.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.fail((*at, name), f"{name} = {value!r}: must be a whole number from {least:,} to {most:,}")
        return value

    def _number(
        self, at: KeyPath, table: Mapping[str, Any], name: str, default: float, *, least: float = 0.0, most: float = 1e9
    ) -> float:
        value = table.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise self.fail((*at, name), f"{name} = {value!r}: must be a number from {least:g} to {most:g}")
        return float(value)
