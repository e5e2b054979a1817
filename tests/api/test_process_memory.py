"""The peak of a process's memory is its own, whoever started it."""

import os
import subprocess
import sys

import pytest

STARTED_BY_A_LARGE_PROCESS = """
import subprocess, sys
large = b"x" * (400 << 20)
subprocess.run([sys.executable, "-c", "from psc.support.process_memory import peak_memory; print(peak_memory() >> 20)"], check=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the two apart")
def test_what_the_starting_process_had_is_not_counted() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", STARTED_BY_A_LARGE_PROCESS], capture_output=True, text=True, env=environment, check=True
    )
    assert 5 < int(done.stdout) < 300
