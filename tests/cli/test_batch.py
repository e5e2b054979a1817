"""``psc batch`` as it is typed: what it prints where, its exit codes, and that a run that was killed goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from batches import CLASHING, JOBS, blobs, write_folder
from click.testing import Result

from psc.artifacts.store import Store
from psc.cli.batch_progress import LineDisplay, TerminalDisplay
from psc.cluster.run.outcomes import JobOutcome, RunReport

Run = Callable[..., Result]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


def test_a_run_and_its_reports(tmp_path: Path, jobs: Path, run: Run) -> None:
    report, page = tmp_path / "report.json", tmp_path / "report.html"
    done = run("batch", jobs, "--store", tmp_path / "store", "--report", report, "--html", page)
    assert done.exit_code == 0, done.output
    assert "6 compiled" in done.stdout and "assignments/pieces" in done.stdout
    assert re.search(r"psc: \[6/6\] \S+: compiled in [\d.]+ m?s, ", done.stderr)
    found = RunReport.from_json(json.loads(report.read_text()))
    assert found.ok and len(found.jobs) == 6
    assert "sums/bytes" in page.read_text() and page.read_text().startswith("<!")
    done = run("batch", jobs, "--store", tmp_path / "store", "--json", "--quiet")
    assert done.exit_code == 0 and done.stderr == ""
    assert {j["status"] for j in json.loads(done.stdout)["jobs"]} == {"present"}


def test_one_that_fails(tmp_path: Path, run: Run) -> None:
    jobs = write_folder(tmp_path, JOBS, {"grammars/clash.lark": CLASHING})
    done = run("batch", jobs, "--store", tmp_path / "store", "--quiet")
    assert done.exit_code == 1 and done.stdout == ""
    assert [line.split(":")[2].strip() for line in done.stderr.splitlines() if line.startswith("psc: error:")] == [
        "clash/bytes",
        "clash/pieces",
    ]
    assert len(blobs(Store(tmp_path / "store"))) == 6


def test_a_dry_run_does_nothing(tmp_path: Path, jobs: Path, run: Run) -> None:
    done = run("batch", jobs, "--store", tmp_path / "store", "--dry-run")
    assert done.exit_code == 0 and "6 to compile, about " in done.stdout
    assert not (tmp_path / "store").exists()
    planned = json.loads(run("batch", jobs, "--store", tmp_path / "store", "--dry-run", "--json").stdout)
    assert len(planned["todo"]) == 6 and planned["done"] == []
    assert all(p["memory_reserved_bytes"] > 0 and p["estimate_from"] == "formula" for p in planned["todo"])


def test_problems_of_the_jobs_file(tmp_path: Path, run: Run) -> None:
    jobs = write_folder(tmp_path, '[[jobs]]\ngrammars = ["jaba"]\ntokenizers = ["nope"]\n')
    done = run("batch", jobs, "--store", tmp_path / "store")
    assert done.exit_code == 1
    assert f"psc: error: {jobs}: 2 problems; nothing was compiled" in done.stderr
    assert f"{jobs}:2: jaba: no such file, nor a bundled grammar" in done.stderr
    assert not (tmp_path / "store").exists()


def test_the_store_of_the_jobs_file(tmp_path: Path, run: Run) -> None:
    jobs = write_folder(tmp_path, f'[defaults]\nstore = "kept/here"\n{JOBS}')
    assert run("batch", jobs, "--quiet").exit_code == 0
    assert len(blobs(Store(tmp_path / "kept" / "here"))) == 6


def test_a_report_that_could_not_be_written(tmp_path: Path, jobs: Path, run: Run) -> None:
    done = run("batch", jobs, "--store", tmp_path / "store", "--report", tmp_path / "none" / "r.json")
    assert done.exit_code == 2 and "there is no folder" in done.stderr
    assert not (tmp_path / "store").exists(), "found out before the work"


def test_publishing(tmp_path: Path, run: Run) -> None:
    jobs = write_folder(tmp_path, f'[defaults]\nregistry = ["published"]\n{JOBS}')
    done = run("batch", jobs, "--store", tmp_path / "store", "--json")
    assert done.exit_code == 0, done.stderr
    assert all(j["published"] == ["published"] for j in json.loads(done.stdout)["jobs"])
    assert blobs(Store(tmp_path / "published")) == blobs(Store(tmp_path / "store"))
    elsewhere = tmp_path / "elsewhere"
    done = run("batch", jobs, "--store", tmp_path / "store", "--registry", elsewhere, "--quiet")
    assert done.exit_code == 0 and len(blobs(Store(elsewhere))) == 6, "what was there is published, too"


def test_ray_that_is_not_there(tmp_path: Path, jobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = run("batch", jobs, "--store", tmp_path / "store", "--ray", "local")
    assert done.exit_code == 1 and "pip install " in done.stderr and "psc[cluster]" in done.stderr
    done = run("batch", jobs, "--store", tmp_path / "store", "--ray", "nowhere")
    assert done.exit_code == 1 and "--ray nowhere: give local, auto, or the HOST:PORT of a cluster's head" in done.stderr


SLOW = """\
[[jobs]]
grammars = ["grammars/sums.ebnf"]
tokenizers = ["models/bytes.json", "models/pieces.json"]
priority = 1
[[jobs]]
grammars = ["java", "go"]
tokenizers = ["models/bytes.json", "models/pieces.json"]
"""


def started(jobs: Path, store: Path, *more: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "psc", "batch", str(jobs), "--store", str(store), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for_artifacts(store: Path, n: int, process: "subprocess.Popen[str]") -> None:
    for _ in range(6000):
        if len(list((store / "names").glob("*/[!.]*.json"))) >= n or process.poll() is not None:
            return
        time.sleep(0.01)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_run_that_is_ended_goes_on(tmp_path: Path, run: Run, how: signal.Signals, code: int) -> None:
    jobs = write_folder(tmp_path, SLOW)
    process = started(jobs, tmp_path / "store", "--json")
    wait_for_artifacts(tmp_path / "store", 2, process)
    process.send_signal(how)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    if how is signal.SIGINT:
        found = json.loads(out)
        assert found["interrupted"] and {j["status"] for j in found["jobs"]} == {"compiled", "not run"}
        assert "psc: stopping; Ctrl-C again stops at once" in err
    done = run("batch", jobs, "--store", tmp_path / "store", "--json")
    assert done.exit_code == 0
    again = [j["status"] for j in json.loads(done.stdout)["jobs"]]
    assert again.count("present") >= 2 and "compiled" in again
    calm = Store(tmp_path / "calm")
    assert run("batch", jobs, "--store", calm.root, "--quiet").exit_code == 0
    assert blobs(Store(tmp_path / "store")) == blobs(calm)


def outcomes() -> Sequence[JobOutcome]:
    return (
        JobOutcome("a/x", "a", "x", "compiled", size=5_000, own_seconds=1.5),
        JobOutcome("b/x", "b", "x", "failed", error="b.lark:3: [no] good"),
        JobOutcome("c/x", "c", "x", "present", size=70_000),
    )


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with LineDisplay() as display:
        display.run_began(1, 3)
        display.task_began("a/x", "compile", "10.0.0.1:5")
        for outcome in outcomes():
            display.job_ended(outcome)
        display.note("again in 1 s")
    assert capsys.readouterr().err.splitlines() == [
        "psc: 3 jobs, 1 of them done already",
        "psc: a/x: compile, 10.0.0.1:5",
        "psc: [1/3] a/x: compiled in 1.50 s, 5,000 bytes",
        "psc: [2/3] b/x: failed: b.lark:3: [no] good",
        "psc: [3/3] c/x: present, 70 kB",
        "psc: again in 1 s",
    ]


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with TerminalDisplay() as display:
        display.connecting("connecting to Ray (local)")
        display.run_began(0, 3)
        display.task_began("a/x", "compile", "here")
        display.stage_began("a/x", "compile", "stack classifier", 5, 8)
        display.refresh()
        display.task_ended("a/x", "compile")
        for outcome in outcomes():
            display.job_ended(outcome)
        display.note("again in 1 s")
    shown = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "stack classifier" in shown and "5/8" in shown and "1 failed" in shown
    assert "psc: b/x: failed: b.lark:3: [no] good" in shown and "psc: again in 1 s" in shown
