"""The fuzzers' session: what crashes, hangs or raises is a finding with a way to see it again; and each fuzzer runs some cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FUZZERS = ["accidents", "api_walk", "artifacts", "cancellations", "grammars", "metadata", "registry_protocol", "triggers"]
BAD = """
import os, time
from fuzz.session import Case, main

def run_case(case: Case) -> None:
    case.attach("input", case.rng.randbytes(4))
    case.counts["begun"] += 1
    {what}

if __name__ == "__main__":
    main("bad", "For a test.", run_case, case_limit_s=2.0)
"""

pytestmark = pytest.mark.skipif(not (ROOT / "fuzz").is_dir(), reason="the fuzzers are not in this tree")


def run(fuzzer: str, *options: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*([str(path)] if path != ROOT else []), *sys.path, str(ROOT)])}
    environment.pop("PSC_SANITIZED", None)  # ten times as long before something hangs
    command = [sys.executable, "-m", f"fuzz.{fuzzer}", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=path)


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_each_runs(fuzzer: str, tmp_path: Path) -> None:
    ran = run(fuzzer, "--seconds", "0.5", "--seed", "5", "--json", "--out", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report["cases"] >= 1
    assert report["findings"] == []


@pytest.fixture
def bad(tmp_path: Path) -> Any:
    """Runs a fuzzer whose every case does something bad."""

    def go(what: str) -> dict[str, Any]:
        package = tmp_path / "fuzz"
        package.mkdir()
        (package / "__init__.py").write_text(f"__path__.append({str(ROOT / 'fuzz')!r})\n")
        (package / "bad.py").write_text(BAD.format(what=what))
        ran = run("bad", "--seconds", "1", "--seed", "3", "--json", "--out", str(tmp_path / "out"), path=tmp_path)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        return dict(json.loads(ran.stdout))

    return go


@pytest.mark.parametrize(
    ("what", "said", "tail"),
    [
        ("raise ValueError('of no use')", "ValueError: of no use", "ValueError: of no use"),
        ("os.write(2, b'why'); os.abort()", "died with status -6", "why"),
        ("os.write(2, b'where'); time.sleep(60)", "hangs: nothing for 2 s", "where"),
    ],
)
def test_what_is_a_finding(bad: Any, what: str, said: str, tail: str) -> None:
    first = bad(what)["findings"][0]
    assert said in first["what"]
    assert tail in first["tail"][-1]
    assert first["case"] == 0
    kept = Path(first["file"])
    assert first["again"] in kept.read_text()
    assert (kept.parent / f"{kept.stem}-input").stat().st_size == 4
