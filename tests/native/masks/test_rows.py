"""Mask rows, and rows composed from others, against a plain account of what they are for."""

from collections.abc import Callable


def test_rows(run_native: Callable[..., str]) -> None:
    run_native("masks/rows", sources=("masks/rows.cpp",))


def test_composed_rows(run_native: Callable[..., str]) -> None:
    run_native("masks/composed_rows", sources=("masks/composed_rows.cpp", "masks/class_rows.cpp", "masks/rows.cpp"))
