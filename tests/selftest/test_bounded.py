"""The bound on random examples is one: an example that would not end does, and one that fails fails."""

import gc
import signal
import weakref
from typing import Any

import bounded
import numpy as np
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


def test_an_example_whose_time_ends_within_a_callback_of_a_weak_reference() -> None:
    """The interpreter ignores what such a callback raises, also one of the standard library."""
    went_on = False

    class Item:
        pass

    class Ringing(set[Any]):
        def discard(self, item: Any) -> None:
            signal.raise_signal(signal.SIGPROF)

    @bounded.bounded
    def example() -> None:
        nonlocal went_on
        item = Item()
        seen = weakref.WeakSet([item])
        seen.data = Ringing(seen.data)  # type: ignore[attr-defined]
        del item
        went_on = True
        while True:
            pass

    example()
    assert went_on


def test_an_example_whose_time_ends_within_other_code() -> None:
    """It may hide the exception, as NumPy does in some places, or be left half done: the bound waits for its end."""
    went_on = False

    @bounded.bounded
    def example() -> None:
        nonlocal went_on
        np.vectorize(signal.raise_signal, otypes=[object])([signal.SIGPROF])
        went_on = True
        signal.raise_signal(signal.SIGPROF)
        raise AssertionError("the clock has rung")

    example()
    assert went_on


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
    """The clock may ring until it is stopped, and later: what it raises then is not the test's."""
    set_clock = signal.setitimer
    bounded.bounded(lambda: None)()

    def ring_and_set(which: int, seconds: float, again: float = 0.0) -> None:
        if not seconds:
            signal.raise_signal(signal.SIGPROF)
        set_clock(which, seconds, again)

    monkeypatch.setattr(signal, "setitimer", ring_and_set)
    bounded.bounded(lambda: signal.raise_signal(signal.SIGPROF))()
    bounded.bounded(lambda: None)()
    signal.raise_signal(signal.SIGPROF)
