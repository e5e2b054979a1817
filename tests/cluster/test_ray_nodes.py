"""A cluster of several nodes, one of which goes while it is at work; joined by its address, as a cluster elsewhere is."""

import gc
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import blobs, plan_of, run, write_folder
from needed import needed

from psc.artifacts.store import Store
from psc.cluster.run.batch import run_batch
from psc.cluster.run.compilation import Compiled
from psc.cluster.run.observer import Observer
from psc.cluster.run.plan import Task
from psc.cluster.run.ray_executor import connect
from psc.cluster.run.task import Progress

needed("ray")
pytestmark = [
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="Ray's processes do not run under the sanitizer"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.slow,
]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that runs no tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        from ray.cluster_utils import Cluster

        # Nodes that are gone are noticed sooner than after ten seconds.
        health = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": health}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        yield cluster
        cluster.shutdown()
    gc.collect()


class RemovesNode(Observer):
    """Takes a node away, ungracefully, while a task sleeps there."""

    def __init__(self, cluster: Any, node: Any) -> None:
        self._cluster = cluster
        self._node = node
        self.notes: list[str] = []

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        if stage == "asleep" and self._node is not None:
            node, self._node = self._node, None
            self._cluster.add_node(num_cpus=1, memory=2 << 30)
            self._cluster.remove_node(node, allow_graceful=False)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_node_goes(tmp_path: Path, cluster: Any) -> None:
    """With it go a task at work, and the result of one that was done, which that needs: both are done again elsewhere."""
    marker = str(tmp_path / "marker")

    def part(*, progress: Progress) -> str:
        return "0123456789" * 100_000

    def sleeps_once(compiled: Any, text: str, *, progress: Progress) -> Any:  # nested, so that it travels by value
        import time
        from pathlib import Path

        if text != "0123456789" * 100_000:
            raise ValueError(text)
        if not Path(marker).exists():
            Path(marker).touch()
            progress("asleep", 0, 1)
            time.sleep(600)
        return compiled

    text = '[[jobs]]\ngrammars = ["grammars/*.ebnf"]\ntokenizers = ["models/bytes.json"]\n'
    path = write_folder(tmp_path, text)
    calm, store = Store(tmp_path / "calm"), Store(tmp_path / "store")
    run(path, calm)
    first = cluster.add_node(num_cpus=1, memory=4 << 30)
    executor = connect(cluster.address)
    try:
        assert executor.name == f"ray {cluster.address}" and executor.cpus == 1
        planned = plan_of(path, store)
        cut = next(i for i, p in enumerate(planned.todo) if p.outcome.name == "sums/bytes")
        reference = calm.find_named("sums", "bytes")
        assert reference is not None
        planned.shared["compiled"] = Compiled(calm.read(reference) or b"", reference, {}, ())
        tasks = (
            Task("part", part, options={}, shared=(), memory_bytes=1 << 28),
            Task("asleep", sleeps_once, options={}, shared=("compiled",), needs=(0,), memory_bytes=1 << 28),
        )
        planned.todo[cut] = replace(planned.todo[cut], tasks=tasks)
        seen = RemovesNode(cluster, first)
        report = run_batch(planned, store, executor, observer=seen)
    finally:
        executor.close()
    assert report.ok, [j.error for j in report.jobs]
    assert blobs(store) == blobs(calm)
    assert [t.what for t in report.tasks if t.job == "sums/bytes"] == ["part", "asleep", "asleep", "part", "asleep"]
    assert "was lost" in seen.notes[0] and "a part that it needs was lost" in seen.notes[1]
