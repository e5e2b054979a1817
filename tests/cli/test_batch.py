"""``psc batch`` as it is typed: what it prints where, its exit codes, and that a run that was killed goes on."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from batches import CLASHING, JOBS, blobs, write_folder
from click.testing import Result

import psc.cli.batch as batch_command
from psc.artifacts.store import Store
from psc.cli.batch_progress import LineDisplay, TerminalDisplay
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.errors import ReportError

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
    assert done.stderr.startswith("psc: error: clash/bytes, clash/pieces: failed: ") and done.stderr.count("clash.lark") == 1
    assert len(blobs(Store(tmp_path / "store"))) == 6
    page = tmp_path / "page.html"
    done = run("batch", jobs, "--store", tmp_path / "store", "--html", page)
    for said in (done.stdout, done.stderr, page.read_text()):
        assert said.count("grammars/clash.lark") == 1, "one grammar is broken, not one for each tokenizer"
    assert "2 of 8 jobs have no artifact" in done.stdout


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


def test_a_report_whose_disk_is_full(tmp_path: Path, jobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The artifacts are there all the same, and the message says so; no half of a report is left."""

    def full(path: Path, data: bytes) -> None:
        if path.name == "r.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(path, data)

    original = batch_command.replace_whole
    monkeypatch.setattr(batch_command, "replace_whole", full)
    report = tmp_path / "r.json"
    done = run("batch", jobs, "--store", tmp_path / "store", "--report", report, "--quiet")
    assert done.exit_code == 1 and done.stdout == ""
    assert (
        done.stderr == f"psc: error: {report}: cannot write the report: No space left on device; the artifacts are in the store\n"
    )
    assert not report.exists() and len(blobs(Store(tmp_path / "store"))) == 6
    with pytest.raises(ReportError, match="cannot write the report: No space left"):
        batch_command._write(report, "{}")


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


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_dead_registry_is_found_out_before_anything_is_compiled(tmp_path: Path, run: Run) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    jobs = write_folder(tmp_path, f'[defaults]\nregistry = ["{url}"]\n{JOBS}')
    done = run("batch", jobs, "--store", tmp_path / "store")
    assert done.exit_code == 1 and done.stdout == ""
    assert done.stderr.count("Connection refused") == 1 and "--no-publish" in done.stderr
    assert not (tmp_path / "store").exists()
    done = run("batch", jobs, "--store", tmp_path / "store", "--no-publish", "--quiet")
    assert done.exit_code == 0 and len(blobs(Store(tmp_path / "store"))) == 6
    assert run("batch", jobs, "--no-publish", "--registry", url).exit_code == 2


def test_a_registry_that_refuses_is_found_out_before_anything_is_compiled(tmp_path: Path, run: Run) -> None:
    """One answers and may be read, but does not know who pushes; another is a file."""
    (tmp_path / "file").touch()
    with served(401) as url:
        jobs = write_folder(tmp_path, f'[defaults]\nregistry = ["{url}", "file"]\n{JOBS}')
        done = run("batch", jobs, "--store", tmp_path / "store")
    assert done.exit_code == 1 and "the registry wants a token" in done.stderr and "file is no folder" in done.stderr
    assert not (tmp_path / "store").exists()


@contextmanager
def served(status: int) -> Iterator[str]:
    """An empty registry that answers every push with a status."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()

        def do_PUT(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


SLOW = """\
[[jobs]]
grammars = ["grammars/sums.ebnf"]
tokenizers = ["models/bytes.json", "models/pieces.json"]
priority = 1
[[jobs]]
grammars = ["java"]
tokenizers = ["models/bytes.json", "models/pieces.json"]
"""

# A batch in which a function of psc never returns. The line on stdout says that it was come to.
STUCK = """
import sys, time
import {module} as module
original = module.{function}
def stuck(*arguments, **options):
    if {when}:
        print("here", flush=True)
        time.sleep(600)
    return original(*arguments, **options)
module.{function} = stuck
from psc.cli import main
main(sys.argv[1:], prog_name="psc")
"""
COMPILING = STUCK.format(module="psc.cluster.run.compilation", function="encoded", when='arguments[1] == "java"')
READING = STUCK.format(module="psc.cluster.jobs.expansion", function="load_tokenizer", when="True")
PLANNING = STUCK.format(module="psc.cluster.run.plan", function="describe", when='arguments[0].source_name == "java"')


@contextmanager
def stuck(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A batch that has come to where it never goes on."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", program, "batch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n", process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_run_that_is_ended_goes_on(tmp_path: Path, run: Run, how: signal.Signals, code: int) -> None:
    jobs, page = write_folder(tmp_path, SLOW), tmp_path / "page.html"
    with stuck(COMPILING, jobs, "--store", tmp_path / "store", "--json", "--html", page) as process:
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    if how is not signal.SIGKILL:
        found = json.loads(out)
        assert found["interrupted"] and [j["status"] for j in found["jobs"]] == ["compiled"] * 2 + ["not run"] * 2
        assert "stopping; Ctrl-C again stops at once" in err and "Aborted" not in err
        assert "2 of 4 jobs have no artifact" in page.read_text()
    done = run("batch", jobs, "--store", tmp_path / "store", "--json")
    assert done.exit_code == 0
    assert [j["status"] for j in json.loads(done.stdout)["jobs"]] == ["present"] * 2 + ["compiled"] * 2
    assert Store(tmp_path / "store").verify() == []


@pytest.mark.parametrize(("program", "n_known"), [(READING, 0), (PLANNING, 4)])
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_ended_before_it_begins(tmp_path: Path, how: signal.Signals, code: int, program: str, n_known: int) -> None:
    jobs, report, page = write_folder(tmp_path, SLOW), tmp_path / "report.json", tmp_path / "page.html"
    with stuck(program, jobs, "--store", tmp_path / "store", "--report", report, "--html", page) as process:
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
    assert process.returncode == code and "Aborted" not in err, err
    assert "the run was interrupted" in out and "the run was interrupted" in page.read_text().lower()
    found = RunReport.from_json(json.loads(report.read_text()))
    assert found.interrupted and [j.status for j in found.jobs] == ["not run"] * n_known


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
        "psc: [1/3] a/x: compiled in 1.50 s, 5.00 kB",
        "psc: [2/3] b/x: failed: b.lark:3: [no] good",
        "psc: [3/3] c/x: present, 70.0 kB",
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
