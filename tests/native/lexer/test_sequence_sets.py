"""Sets of sequences when memory runs out."""

from collections.abc import Callable


def test_tables_when_memory_runs_out(run_native: Callable[..., str]) -> None:
    run_native("lexer/out_of_memory", sources=("lexer/sequence_sets.cpp",))
