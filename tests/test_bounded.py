"""The bound on random examples is one: an example that would not end does, and one that fails fails."""

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
