"""Parts of the native core, each against a plain account of what it is for: a defect in one is named by its own test."""

from collections.abc import Callable


def test_mask_rows(run_native: Callable[..., str]) -> None:
    run_native("mask_rows", sources=("mask_rows.cpp",))


def test_composed_rows(run_native: Callable[..., str]) -> None:
    run_native("composed_rows", sources=("composed_rows.cpp", "class_rows.cpp", "mask_rows.cpp"))


def test_vocabulary_index(run_native: Callable[..., str]) -> None:
    run_native("vocabulary_index", sources=("vocabulary_index.cpp", "vocabulary_runs.cpp", "token_rests.cpp"))


def test_tables_when_memory_runs_out(run_native: Callable[..., str]) -> None:
    run_native("out_of_memory", sources=("sequence_sets.cpp",))
