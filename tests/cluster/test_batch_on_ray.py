"""``psc batch --ray local`` as a process: signals at any moment, and Ray's own processes killed. Nothing is left behind.

No test waits for a fixed time. A worker is stopped in the middle of a task, so that the run cannot be over before what is to happen
has happened.
"""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from batches import blobs, run, write_folder
from needed import needed

from psc.artifacts.store import Store
from psc.cluster.run.outcomes import RunReport
from psc.cluster.run.tagged_processes import servers

needed("ray")
pytestmark = [
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="Ray's processes do not run under the sanitizer"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc"),
    pytest.mark.slow,
]

PATIENCE_S = 240.0
JOBS = """
[[jobs]]
grammars = ["sql", "java"]
tokenizers = ["models/bytes.json"]
[[jobs]]
grammars = ["grammars/sums.ebnf"]
tokenizers = ["models/bytes.json"]
priority = -1
"""
BEGAN = re.compile(r"psc: (\S+): compile, \S+:(\d+)$", re.MULTILINE)
ENDED = re.compile(r"psc: \[\d+/\d+\] (\S+): ", re.MULTILINE)


class Batch:
    """A batch that runs, and all the processes that descend from it."""

    def __init__(self, jobs: Path, *more: object) -> None:
        self.log = jobs.parent / "log"
        self.mark = f"PSC_TEST_MARK={secrets.token_hex(8)}"
        name, _, value = self.mark.partition("=")
        path = os.pathsep.join(p for p in sys.path if p)
        command = [sys.executable, "-m", "psc", "batch", jobs, "--ray", "local", "--store", jobs.parent / "store", *more]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*map(str, command)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": path, "RAY_AUTH_MODE": "disabled", name: value},
                start_new_session=True,
            )

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, found: Callable[[], Any]) -> Any:
        """What `found` returns, as soon as that is something; the batch must be alive until then."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := found()):
            assert self.process.poll() is None and time.monotonic() < deadline, self.text()
            time.sleep(0.02)
        return value

    def finish(self) -> str:
        """What it prints, when it has ended."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return str(out)

    def alive(self) -> list[int]:
        """Its processes, itself included."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def stop_a_worker(self) -> int:
        """Stops a worker in the middle of a task, which does not end then; returns its process."""

        def stopped() -> int:
            for job, process in reversed(BEGAN.findall(self.text())):
                with contextlib.suppress(ProcessLookupError):  # it has crashed
                    os.kill(int(process), signal.SIGSTOP)
                    if job not in ENDED.findall(self.text()):
                        return int(process)
                    os.kill(int(process), signal.SIGCONT)
            return 0

        return int(self.wait_for(stopped))


@pytest.fixture
def batch(tmp_path: Path) -> Iterator[Callable[..., Batch]]:
    """Starts batches; whatever of them is there in the end is killed."""
    started: list[Batch] = []

    def start(*more: object) -> Batch:
        started.append(Batch(write_folder(tmp_path, JOBS), *more))
        return started[-1]

    yield start
    for one in started:
        while left := one.alive():
            for process in left:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            one.process.poll()
            time.sleep(0.02)
        one.process.communicate()


@pytest.mark.parametrize("server", ["raylet", "gcs_server"])
def test_a_server_of_ray_is_killed(tmp_path: Path, batch: Callable[..., Batch], server: str) -> None:
    """Another Ray is started, and all jobs are done. Before that a worker crashes, which is no reason for another Ray."""
    started = batch("--json")
    process = started.stop_a_worker()
    os.kill(process, signal.SIGSEGV)
    os.kill(process, signal.SIGCONT)
    started.wait_for(lambda: "was lost" in started.text())
    assert "starting another" not in started.text()
    (process,) = servers(started.alive(), server)
    started.stop_a_worker()
    os.kill(process, signal.SIGKILL)
    out = started.finish()
    assert started.process.returncode == 0, started.text()
    assert started.text().count("starting another, and what ran is run again") == 1
    report = RunReport.from_json(json.loads(out))
    assert [j.status for j in report.jobs] == ["compiled"] * 3
    # The crash, and what ran when the server was killed: its worker's loss may be noticed before Ray's.
    assert len([task for task in report.tasks if "was lost" in (task.error or "")]) >= 2, report.tasks
    assert started.alive() == []
    calm = Store(tmp_path / "calm")
    run(tmp_path / "jobs.toml", calm)
    assert blobs(Store(tmp_path / "store")) == blobs(calm)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_ray_is_starting(tmp_path: Path, batch: Callable[..., Batch], number: signal.Signals, code: int) -> None:
    started = batch("--json", "--html", tmp_path / "page.html")
    started.wait_for(lambda: servers(started.alive(), "gcs_server"))
    started.process.send_signal(number)
    out = started.finish()
    assert started.process.returncode == code, started.text()
    report = RunReport.from_json(json.loads(out))
    assert report.interrupted and [j.status for j in report.jobs] == ["not run"] * 3
    assert "interrupted" in (tmp_path / "page.html").read_text()
    assert started.alive() == []
    assert "Traceback" not in started.text() and "***" not in started.text(), "no trace of Ray's"


def test_a_signal_while_it_compiles(batch: Callable[..., Batch]) -> None:
    started = batch("--json")
    started.stop_a_worker()
    started.process.send_signal(signal.SIGTERM)
    report = RunReport.from_json(json.loads(started.finish()))
    assert started.process.returncode == 143, started.text()
    assert report.interrupted and "not run" in {j.status for j in report.jobs}
    assert started.alive() == []


def test_a_second_signal_leaves_nothing_either(batch: Callable[..., Batch]) -> None:
    started = batch()
    started.stop_a_worker()
    deadline = time.monotonic() + 120
    while started.process.poll() is None:  # as somebody who is in a hurry
        assert time.monotonic() < deadline
        os.killpg(started.process.pid, signal.SIGINT)
        time.sleep(0.05)
    assert started.process.returncode == 130
    assert started.alive() == []
