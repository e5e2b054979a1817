"""The thread that builds what nobody has asked for yet: in turn, to the end, and never in the way."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from psc.warming import WARMER, Warmer


class Owner:
    """What work is for."""


def pieces(done: list[str], name: str, n: int) -> Iterator[None]:
    for _ in range(n):
        done.append(name)
        yield


def test_in_turn_and_to_the_end() -> None:
    warmer, owner, done, go = Warmer(), Owner(), list[str](), threading.Event()

    def first() -> Iterator[None]:
        go.wait(30)
        yield

    started = warmer.add(owner, first(), "first")
    both = [warmer.add(owner, pieces(done, name, 3), name) for name in "ab"]
    assert not both[1].wait(0) and not started.is_over
    go.set()
    assert all(work.wait(30) for work in both)
    assert "".join(done) == "ababab"
    again = warmer.add(owner, pieces(done, "c", 1), "c")  # by another thread, where the first has ended
    assert again.wait(30) and done[-1] == "c"


def test_the_work_ends_with_what_it_is_for() -> None:
    warmer, owner, go = Warmer(), Owner(), threading.Event()

    def endless() -> Iterator[None]:
        go.set()
        while True:
            yield

    work = warmer.add(owner, endless(), "endless")
    assert go.wait(30) and not work.is_over
    del owner
    gc.collect()
    assert work.wait(30)


def test_an_error_is_told_to_who_looks_for_faults(caplog: pytest.LogCaptureFixture) -> None:
    warmer, owner = Warmer(), Owner()

    def fails() -> Iterator[None]:
        yield
        raise MemoryError("no room")

    with caplog.at_level(logging.DEBUG, "psc.warming"):
        assert warmer.add(owner, fails(), "some grammar").wait(30)
        assert warmer.add(owner, pieces([], "b", 1), "b").wait(30)
    assert [(r.levelname, r.getMessage().partition(":")[0]) for r in caplog.records] == [("DEBUG", "some grammar")]


def test_nothing_is_begun_at_the_end() -> None:
    warmer, owner, began = Warmer(), Owner(), threading.Event()

    def endless() -> Iterator[None]:
        while True:
            began.set()
            yield

    work = warmer.add(owner, endless(), "endless")
    assert began.wait(30)
    warmer.end()
    assert work.wait(30)
    assert warmer.add(owner, endless(), "later").wait(30)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_between_two_pieces() -> None:
    """The child has no thread, knows that the work is over, and can have work of its own."""
    owner, began = Owner(), threading.Event()

    def endless() -> Iterator[None]:
        while True:
            began.set()
            yield

    work = WARMER.add(owner, endless(), "endless")
    assert began.wait(30)
    child = os.fork()
    if child == 0:
        done: list[str] = []
        fine = work.is_over and WARMER.add(owner, pieces(done, "a", 2), "own").wait(30) and done == ["a", "a"]
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not work.is_over
    del owner
    assert work.wait(30)


def test_a_program_that_ends_meanwhile() -> None:
    program = """
from psc.warming import WARMER
class Owner: pass
def endless():
    while True:
        sum(range(1000))
        yield
owner = Owner()
WARMER.add(owner, endless(), "endless")
print("end")
"""
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=120)
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")
