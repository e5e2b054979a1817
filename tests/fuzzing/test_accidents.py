"""Processes that end, are interrupted or fork while they compile, some dozen times; .ci/fuzz has hundreds (fuzz/accidents.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import times

ROOT = Path(__file__).parents[2]
_MANY = """
import random, sys
from collections import Counter
from fuzz.accidents import accident
from fuzz.session import Case
name, n = sys.argv[1], int(sys.argv[2])
counts = Counter()
for i in range(n):
    accident(name, Case(random.Random(f"{name} {i}"), counts))
print(dict(counts))
"""

pytestmark = [
    pytest.mark.skipif(not (ROOT / "fuzz").is_dir(), reason="the fuzzers are not in this tree"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
]


@pytest.mark.parametrize(("name", "n"), [("end", 20), ("interrupt", 50), ("fork", 16)])
def test_accidents(name: str, n: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    command = [sys.executable, "-W", "ignore", "-c", _MANY, name, str(times(n))]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.startswith("{")
