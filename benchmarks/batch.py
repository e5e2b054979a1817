"""Measure a batch: 24 jobs, six grammars for four tokenizers, one after the other in one process and then on Ray.

    python benchmarks/batch.py --tokenizer SPEC SPEC SPEC SPEC [--ray local|auto|HOST:PORT] [--repeat R] [--json FILE]

The grammars are the bundled ones (java, go, sql, json) and two small EBNF grammars that lie here. Each run is ``psc batch`` in a
process of its own with an empty store, so nothing is there and nothing was measured; what is shown comes from its report. A job's
own time is what its task took on its worker, from the first message to the last. The wall time begins when the executor is ready
(Ray started, its workers warm) and ends with the last artifact in the store. Everything that the CPUs did not spend in tasks, the
gaps while the last task runs included, is counted as overhead. The artifacts of both runs are compared, byte by byte.

The cost: twice the compilation of all jobs and one start of Ray, for each repetition.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from psc.bench.measure import machine, number, report, table

BUNDLED = ["java", "go", "sql", "json"]
SMALL = ["arithmetic.ebnf", "contacts.ebnf"]
ASKED_RATIO = 0.6
ASKED_OVERHEAD_S = 0.2


def write_jobs(folder: Path, tokenizers: list[str]) -> Path:
    """A jobs file of all pairs."""
    here = Path(__file__).parent / "grammars"
    grammars = [*BUNDLED, *(str(here / name) for name in SMALL)]
    specs = [str(Path(t).absolute()) if Path(t).exists() else t for t in tokenizers]
    path = folder / "jobs.toml"
    path.write_text(f"[[jobs]]\ngrammars = {json.dumps(grammars)}\ntokenizers = {json.dumps(specs)}\n", encoding="utf-8")
    return path


def run(jobs: Path, folder: Path, ray: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    """One run into an empty store: its report, and the digest of each job's artifact."""
    with tempfile.TemporaryDirectory(dir=folder) as store:
        command = [sys.executable, "-m", "psc", "batch", str(jobs), "--store", store, "--json", "--quiet"]
        done = subprocess.run([*command, *(["--ray", ray] if ray else [])], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
        found: dict[str, Any] = json.loads(done.stdout)
    return found, {job["name"]: job["digest"] for job in found["jobs"]}


def figures(found: dict[str, Any]) -> dict[str, float]:
    """What is asked of a run."""
    own = sum(job["own_seconds"] for job in found["jobs"])
    wall, cpus, n = found["wall_seconds"], found["cpus"], len(found["jobs"])
    return {
        "jobs": n,
        "cpus": cpus,
        "setup_seconds": found["setup_seconds"],
        "wall_seconds": wall,
        "own_seconds": own,
        "ratio": wall / own,
        "overhead_per_job_seconds": (wall * cpus - own) / n,
        "peak_memory_bytes": max(job["peak_memory_bytes"] for job in found["jobs"]),
    }


def print_tables(rows: list[dict[str, Any]]) -> None:
    """A line per run, then what was asked and what it is."""
    head = ["run", "jobs", "cores", "setup s", "wall s", "own times s", "wall / own", "overhead s/job", "largest peak MB"]
    keys = ("jobs", "cpus", "setup_seconds", "wall_seconds", "own_seconds", "ratio", "overhead_per_job_seconds")
    body = [
        [r["executor"], *(number(r[k], 2 if k != "wall_seconds" else 3) for k in keys), number(r["peak_memory_bytes"] / 1e6)]
        for r in rows
    ]
    print(table(head, body))
    alone = [r for r in rows if r["executor"] == "in process"]
    on_ray = [r for r in rows if r["executor"] != "in process"]
    best = min(on_ray, key=lambda r: r["wall_seconds"])
    calm = min(alone, key=lambda r: r["own_seconds"])
    print()
    asked = [
        ["wall time / own times on Ray", f"at most {ASKED_RATIO}", number(best["ratio"], 2)],
        ["wall time on Ray / own times in one process", "-", number(best["wall_seconds"] / calm["own_seconds"], 2)],
        ["overhead per job, idle cores included, s", f"at most {ASKED_OVERHEAD_S}", number(best["overhead_per_job_seconds"], 2)],
    ]
    print(table(["figure", "asked", "measured"], asked))


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="Measure a batch of 24 jobs in one process and on Ray.")
    options.add_argument(
        "--tokenizer", nargs="+", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it; four for 24 jobs"
    )
    options.add_argument("--ray", default="local", metavar="WHERE", help="as psc batch takes it (default local)")
    options.add_argument(
        "--repeat", type=int, default=1, metavar="R", help="runs of each kind (default 1); the fastest on Ray counts"
    )
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    rows: list[dict[str, Any]] = []
    digests: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        jobs = write_jobs(folder, args.tokenizer)
        for ray in [None, args.ray] * args.repeat:
            print(f"{'in process' if ray is None else f'ray {ray}'}", file=sys.stderr, flush=True)
            found, artifacts = run(jobs, folder, ray)
            rows.append({"executor": found["executor"], **figures(found)})
            digests.append(artifacts)
    if args.json != "-":
        print_tables(rows)
        same = all(d == digests[0] for d in digests)
        print(f"\nThe artifacts of all runs are {'the same, byte by byte' if same else 'NOT the same'}.")
    report({"benchmark": "batch", **machine(), "results": rows}, args.json)
    if any(d != digests[0] for d in digests):
        sys.exit(1)


if __name__ == "__main__":
    main()
