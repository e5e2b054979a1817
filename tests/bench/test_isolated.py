"""Processes that measurements run in: what becomes of them is said, and the others go on."""

from __future__ import annotations

import os

import pytest
from resident_counter import Counter

from psc.bench.isolated import Failed, Resident, result

pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="other processes are not instrumented")


def test_a_resident_keeps_what_it_has() -> None:
    counter = Resident(Counter, 5, timeout=60)
    assert [counter.ask("add", 2, timeout=60), counter.ask("add", 3, timeout=60)] == [7, 10]
    with pytest.raises(Failed, match=r"^no$"):
        counter.ask("fail", timeout=60)
    assert counter.alive and counter.ask("add", 1, timeout=60) == 11
    with pytest.raises(Failed, match=r"died \(exit status 3\)"):
        counter.ask("crash", timeout=60)
    assert not counter.alive
    with pytest.raises(Failed):
        counter.ask("add", 1, timeout=60)


def test_a_resident_that_does_not_come_back_is_ended() -> None:
    counter = Resident(Counter, 5, timeout=60)
    with pytest.raises(Failed, match="did not come back"):
        counter.ask("sleep", timeout=0.2)
    assert not counter.alive


def test_a_resident_that_cannot_be_made_says_why() -> None:
    with pytest.raises(Failed, match="negative"):
        Resident(Counter, -1, timeout=60)


def test_a_function_elsewhere() -> None:
    assert result(abs, -3, timeout=60) == 3
