"""Predictions against a real run: from what a run's own tasks took, the simulator must find what the run took."""

import importlib.util
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizer_files import write_tokenizer
from vocabularies import PIECES

from psc.cluster.costs.job_costs import WantedJob, tasks_for
from psc.cluster.costs.measured_costs import measured_costs, with_measured
from psc.cluster.run.outcomes import RunReport
from psc.cluster.simulate.cluster_spec import ClusterSpec, NodePool, Scheduler
from psc.cluster.simulate.simulation import Prediction, simulate

pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="about time and memory, which are others then")
JOBS = """
[[jobs]]
grammars = ["sql", "java", "go", "json"]
tokenizers = ["all.json", "half.json", "bytes.json"]
"""


def run_batch(folder: Path, *options: str) -> RunReport:
    pieces = [*dict.fromkeys(p.encode() for p in PIECES if len(p.encode()) > 1)]
    write_tokenizer(folder / "all.json", pieces)
    write_tokenizer(folder / "half.json", pieces[::2])
    write_tokenizer(folder / "bytes.json", [])
    (folder / "jobs.toml").write_text(JOBS)
    arguments = ["batch", "jobs.toml", "--store", "store", "--report", "report.json", "--quiet", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        [sys.executable, "-m", "psc", *arguments], cwd=folder, capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return RunReport.from_json(json.loads((folder / "report.json").read_text()))


def predicted(report: RunReport, *, cpus: int, as_begun: bool) -> Prediction:
    """What the run's jobs would take on a machine of so many CPUs.

    Args:
        report: where costs and overheads come from.
        cpus: of the machine.
        as_begun: in the order in which they were begun, instead of the longest first.
    """
    costs = measured_costs([report])
    began = {task.job: task.begin for task in report.tasks}
    jobs = [
        WantedJob(job.name, job.grammar, job.tokenizer, job.input_key, priority=-place if as_begun else 0)
        for place, job in enumerate(sorted(report.jobs, key=lambda job: began[job.name]))
    ]
    overhead = 0.0 if report.cpus == 1 else None  # in one process nothing is between two tasks; what is usual is a cluster's
    scheduler = Scheduler(per_task_overhead=overhead, worker_startup=overhead, startup=0.0, memory_share=1.0)
    spec = ClusterSpec((NodePool(cpus, report.memory_bytes),), scheduler)
    return simulate(tasks_for(jobs, costs), with_measured(spec, costs))


def unaccounted(report: RunReport) -> float:
    """Seconds of the run in which a worker had nothing to do, or only the driver had: what scheduling, or a busy machine, took."""
    by_worker: dict[str, list[tuple[float, float]]] = {}
    for task in sorted(report.tasks, key=lambda t: t.begin):
        by_worker.setdefault(task.worker, []).append((task.begin, task.end))
    gaps = sum(max(b[0] - a[1], 0.0) for times in by_worker.values() for a, b in pairwise(times))
    first = sum(times[0][0] for times in by_worker.values())
    return gaps + first + report.wall_seconds - max(task.end for task in report.tasks)


def check(report: RunReport) -> None:
    assert report.ok and len(report.tasks) == len(report.jobs) == 12
    longest, together = max(job.own_seconds for job in report.jobs), sum(job.own_seconds for job in report.jobs)
    # Everything below is from this run: a slow or busy machine is slow on both sides.
    same = predicted(report, cpus=report.cpus, as_begun=True).makespan_seconds
    assert same == pytest.approx(report.wall_seconds, abs=0.15 * report.wall_seconds + unaccounted(report))
    best = predicted(report, cpus=report.cpus, as_begun=False)
    assert best.makespan_seconds == pytest.approx(same, abs=longest)
    assert max(task.begin for task in best.tasks) < best.makespan_seconds
    # What is a different cluster must come out differently, or the above says little.
    alone = predicted(report, cpus=1, as_begun=True).makespan_seconds
    assert alone > 0.75 * together
    if report.cpus > 1:
        assert alone > 1.3 * same


@pytest.mark.slow
def test_a_run_in_one_process(tmp_path: Path) -> None:
    report = run_batch(tmp_path)
    assert report.cpus == 1
    check(report)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs psc[cluster]")
def test_a_run_on_ray(tmp_path: Path) -> None:
    check(run_batch(tmp_path, "--ray", "local"))
