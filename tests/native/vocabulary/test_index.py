"""The vocabulary's index against a plain account of what it is for."""

from collections.abc import Callable


def test_index(run_native: Callable[..., str]) -> None:
    run_native("vocabulary/index", sources=("vocabulary/index.cpp", "vocabulary/runs.cpp", "vocabulary/token_rests.cpp"))
