"""Runs a fuzzer's cases for some seconds, in a process of its own that may crash or hang, and reports what was found.

A case is a function of a random number generator and of nothing else: its name is (fuzzer, seed, number), and `--case NUMBER` runs
it again alone. The cases run in a child that says which case it begins; a child that dies, by a signal or a sanitizer, or that says
nothing for longer than a case may take, is a finding, and another child goes on with the next case. An exception that leaves a
case is one too.

Output: the counts at the end; as one JSON object on request. Findings are kept, one file each, in `--out`: how to run the case
again, what happened, and whatever the case attached (the artifact, the grammar).

Cost: starting a child, and two lines through a pipe for each case.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_MAX_FINDINGS = 20
"""A fuzzer that finds more stops: they have one cause."""
_PRINTED_LINES = 12
"""Of a finding's details, the last ones; its file has all."""
_MAX_TO_START_S = 120.0
"""Python and its imports, on a machine that is busy."""


@dataclass
class Case:
    """What a case may use."""

    rng: random.Random
    counts: Counter[str]
    """Added to by the case; summed up over the run."""
    attached: dict[str, bytes] = field(default_factory=dict)
    """Files to keep beside a finding, by name. Survives a crash when ``attach`` wrote it before."""
    folder: Path | None = None

    def attach(self, name: str, content: bytes) -> None:
        self.attached[name] = content
        if self.folder is not None:
            (self.folder / name).write_bytes(content)


RunCase = Callable[[Case], None]


def main(name: str, what: str, run_case: RunCase, *, case_limit_s: float = 60.0) -> None:
    """The command line of one fuzzer; exits with 1 when there was a finding.

    Args:
        name: of the fuzzer, as in ``python -m fuzz.NAME``.
        what: one sentence.
        run_case: one case.
        case_limit_s: a case that takes longer hangs; ten times as long under the sanitizers.
    """
    parser = argparse.ArgumentParser(prog=f"python -m fuzz.{name}", description=what)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases (default: 1)")
    parser.add_argument("--case", type=int, help="run this case alone, in this process")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="where findings are kept (default: build/fuzz)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        counts: Counter[str] = Counter()
        run_case(Case(_rng(name, options.seed, options.case), counts))
        print(dict(counts))
        return
    if options.child is not None:
        _child(name, options.seed, options.first, options.seconds, options.child, run_case)
        return
    limit = case_limit_s * (10 if "PSC_SANITIZED" in os.environ else 1)
    run = _Run(name, options.seed, options.out, limit)
    run.go_on(options.first, options.seconds)
    report = run.report()
    if options.json:
        print(json.dumps(report))
    else:
        counted = ", ".join(f"{n:,} {what}" for what, n in sorted(report["counts"].items()))
        print(f"fuzz.{name}, seed {options.seed}: {report['cases']:,} cases in {report['seconds']:.0f} s ({counted})")
        for finding in report["findings"]:
            print(f"  found in case {finding['case']}: {finding['what'].splitlines()[0][:200]}\n    {finding['file']}")
            print("".join(f"    | {line[:200]}\n" for line in finding["tail"]), end="")
    sys.exit(1 if report["findings"] else 0)


def _rng(name: str, seed: int, case: int) -> random.Random:
    return random.Random(f"{name} {seed} {case}")


def _child(name: str, seed: int, first: int, seconds: float, folder: Path, run_case: RunCase) -> None:
    """Runs cases one after the other, and says so on standard output."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what psc prints is not for the parent

    def say(**said: Any) -> None:
        out.write(json.dumps(said) + "\n")

    until = time.monotonic() + seconds
    case = first
    while time.monotonic() < until:
        say(begin=case)
        own = folder / str(case)  # the parent removes it
        own.mkdir()
        counts: Counter[str] = Counter()
        try:
            run_case(Case(_rng(name, seed, case), counts, folder=own))
        except Exception as e:
            say(found=case, what=f"{type(e).__name__}: {e}"[:2000], details=traceback.format_exc()[-20000:])
        say(end=case, counts=dict(counts))
        case += 1
    say(over=True)


class _Run:
    """The parent's side: children one after the other, and what they said."""

    def __init__(self, name: str, seed: int, out: Path, limit_s: float) -> None:
        self.name, self.seed, self.out, self.limit_s = name, seed, out, limit_s
        self.counts: Counter[str] = Counter()
        self.findings: list[dict[str, Any]] = []
        self.n_cases = 0
        self.began = time.monotonic()

    def go_on(self, case: int, seconds: float) -> None:
        until = self.began + seconds
        while (left := until - time.monotonic()) > 0 and len(self.findings) < _MAX_FINDINGS:
            case = self._one_child(case, left)

    def report(self) -> dict[str, Any]:
        return {
            "fuzzer": self.name,
            "seed": self.seed,
            "seconds": time.monotonic() - self.began,
            "cases": self.n_cases,
            "counts": dict(self.counts),
            "findings": self.findings,
        }

    def _one_child(self, case: int, seconds: float) -> int:
        """Runs one child until it is over, dies or hangs; the number of the next case."""
        with tempfile.TemporaryDirectory(prefix="psc-fuzz-") as folder, tempfile.TemporaryFile("w+") as errors:
            command = [sys.executable, "-m", f"fuzz.{self.name}", "--seed", str(self.seed), "--first", str(case)]
            child = subprocess.Popen(
                [*command, "--seconds", str(seconds), "--child", folder], stdout=subprocess.PIPE, stderr=errors, text=True
            )
            said: queue.Queue[dict[str, Any] | None] = queue.Queue()
            assert child.stdout is not None
            threading.Thread(target=_listen, args=(child.stdout, said), daemon=True).start()
            running, over, limit = case, False, self.limit_s + _MAX_TO_START_S
            while True:
                try:
                    line = said.get(timeout=limit)
                except queue.Empty:
                    child.kill()
                    child.wait()
                    self._found(running, f"hangs: nothing for {self.limit_s:.0f} s", _tail(errors), Path(folder))
                    return running + 1
                if line is None:
                    break
                limit = self.limit_s
                if "begin" in line:
                    running = line["begin"]
                elif "found" in line:
                    self._found(line["found"], line["what"], line["details"], Path(folder))
                    if len(self.findings) >= _MAX_FINDINGS:
                        child.kill()
                        over = True
                elif "end" in line:
                    shutil.rmtree(Path(folder) / str(line["end"]))
                    self.counts.update(line["counts"])
                    self.n_cases += 1
                else:
                    over = True
            status = child.wait()
            if not over:
                self._found(running, f"the process died with status {status}", _tail(errors), Path(folder))
            return running + 1

    def _found(self, case: int, what: str, details: str, folder: Path) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        stem = f"{self.name}-{self.seed}-{case}"
        again = f"python -m fuzz.{self.name} --seed {self.seed} --case {case}"
        file = self.out / f"{stem}.txt"
        file.write_text(f"{again}\n\n{what}\n\n{details}\n")
        for attached in (folder / str(case)).glob("*"):
            (self.out / f"{stem}-{attached.name}").write_bytes(attached.read_bytes())
        tail = details.splitlines()[-_PRINTED_LINES:]
        self.findings.append({"case": case, "what": what, "tail": tail, "file": str(file), "again": again})


def _tail(errors: IO[str]) -> str:
    errors.seek(0)
    return errors.read()[-20000:]


def _listen(pipe: IO[str], said: queue.Queue[dict[str, Any] | None]) -> None:
    for line in pipe:
        said.put(json.loads(line))
    said.put(None)
