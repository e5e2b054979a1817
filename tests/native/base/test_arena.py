"""The arena of native/base/arena.hpp, alone and under the sanitizers: attempts, copies and rewinds in random order."""

from collections.abc import Callable

import pytest


@pytest.mark.parametrize("seed", [1, 1_000_001])
def test_what_is_kept_stays_as_it_was(run_native: Callable[..., str], seed: int) -> None:
    assert run_native("base/arena_walk", str(seed), "100").endswith("objects\n")
