"""Processes that are found by what they inherited."""

import subprocess
import sys
from pathlib import Path

import pytest

from psc.cluster.run.tagged_processes import alive, servers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")

_FORKS = "import os, sys, time\npid = os.fork()\nif pid: print(pid, flush=True)\nsys.stdin.read()\n"


def test_a_copy_is_not_taken_for_the_server() -> None:
    """As a raylet is, in the moment in which it starts a worker."""
    with subprocess.Popen([sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        copy = int(server.stdout.readline())
        name = Path(f"/proc/{copy}/comm").read_text().strip()
        assert servers([copy, server.pid], name, "another") == [server.pid]
        assert servers([copy], name) == [copy]
        assert servers([copy, server.pid], "another") == []
        assert alive(copy) and alive(server.pid)
        server.communicate("")
    assert not alive(server.pid)
    assert servers([server.pid], name) == []
