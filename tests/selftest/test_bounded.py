"""The bound on random examples is one: an example that would not end does, and one that fails fails."""

import gc
import signal

import bounded
import pytest

import psc


def test_an_example_that_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "SECONDS", 0.05)
    turns = 0

    @bounded.bounded
    def example() -> None:
        nonlocal turns
        while True:
            turns += 1

    example()
    assert turns > 0


def test_an_example_whose_time_ends_within_a_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter ignores what a callback of the collector raises: the bound waits for its end."""
    monkeypatch.setattr(bounded, "SECONDS", 0.002)  # rings within the callback, which counts for longer
    monkeypatch.setattr(bounded, "AGAIN", 0.001)
    calls = 0

    def gc_callback(phase: str, info: dict[str, int]) -> None:
        nonlocal calls
        calls += 1
        for _ in range(1_000_000):
            pass

    @bounded.bounded
    def example() -> None:
        gc.collect(0)
        gc.callbacks.remove(gc_callback)
        while True:
            pass

    gc.callbacks.append(gc_callback)
    try:
        example()
    finally:
        if gc_callback in gc.callbacks:
            gc.callbacks.remove(gc_callback)
    assert calls > 0


def test_an_example_that_meets_a_limit() -> None:
    @bounded.bounded
    def example() -> None:
        raise psc.ResourceLimitError("more than 3")

    example()


def test_an_example_that_fails() -> None:
    @bounded.bounded
    def example(what: int) -> None:
        assert what == 1

    example(1)
    with pytest.raises(AssertionError):
        example(2)


def test_an_example_whose_time_ends_as_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock may ring until it is stopped; what it raises then is not the test's."""
    set_clock = signal.setitimer

    def set_late(which: int, seconds: float) -> None:
        set_clock(which, seconds)
        if not seconds:
            raise bounded.OutOfTime

    monkeypatch.setattr(signal, "setitimer", set_late)
    before = signal.getsignal(signal.SIGPROF)
    bounded.bounded(lambda: None)()
    assert signal.getsignal(signal.SIGPROF) == before
