"""The CUDA kernels on masks: their source, and how each is launched.

The idea: a launch is a value (name, grid, block, arguments of exact widths) made of numbers only, so that it can be made, looked at
and tested where there is no GPU; `cuda_device` carries it out. The tests carry it out on the host, with the same source.

Cost: some microseconds to make a launch. What the kernels cost stands in their sources (psc/runtime/kernels).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from psc.runtime.mask_arguments import FloatFormat

KERNELS = (
    "write_rows",
    "union_rows",
    "apply_16",
    "apply_32",
    "apply_64",
    "argmax_16",
    "argmax_32",
    "sample_f32",
    "sample_f16",
    "sample_bf16",
)
"""By the name under which each is found in a module made of `source()`."""

COMPILE_OPTIONS = ("--std=c++17",)

_BLOCK = 256
_CHOICE_BLOCK = 1024
_GROUPS_PER_THREAD = 4
"""Of 16 bytes: enough stores in flight for a thread, and blocks enough for one row to use many multiprocessors."""
_MAX_GRID_Y = 65_535


@dataclass(frozen=True, slots=True)
class Matrix:
    """An array of two dimensions on a device."""

    pointer: int
    n_rows: int
    n_columns: int
    row_stride: int
    """In elements, as `column_stride`."""
    column_stride: int = 1


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, and everything that it is launched with."""

    kernel: str
    grid: tuple[int, int]
    block: int
    arguments: tuple[np.generic, ...]
    """In the widths of the kernel's parameters; pointers are uint64."""


@cache
def source() -> str:
    """All kernels as one translation unit."""
    folder = files("psc.runtime").joinpath("kernels")
    return "\n".join(folder.joinpath(name).read_text("utf-8") for name in ("common.cuh", "rows.cu", "apply.cu", "select.cu"))


def write_rows(table: Matrix, vocab_size: int, n_writes: int, writes: int, pool: int) -> Launch:
    """Writes rows into their slots; ``writes`` and ``pool`` are pointers to what `RowWrites` holds."""
    arguments = (*_row_of(table), _i32(table.n_columns), _i32(vocab_size), _pointer(writes), _pointer(pool))
    return Launch("write_rows", (n_writes, 1), _BLOCK, arguments)


def union_rows(table: Matrix, ids: int, n: int, k: int, out: Matrix) -> Launch:
    """The union of k rows for each of n; ``ids`` points to n * k of them."""
    grid = (_ceil(table.n_columns, _BLOCK), min(n, _MAX_GRID_Y))
    arguments = (*_table(table), _pointer(ids), _i32(n), _i32(k), *_row_of(out))
    return Launch("union_rows", grid, _BLOCK, arguments)


def apply(form: FloatFormat, logits: Matrix, width: int, rows: int, ids: int, n: int, table: Matrix) -> Launch:
    """Masks n rows of logits; ``rows`` and ``ids`` point to int32, or are 0 for all rows, and for the rows' own numbers."""
    per_block = _BLOCK * _GROUPS_PER_THREAD * (16 // form.size if logits.column_stride == 1 else 1)
    arguments = (
        *_logits(logits),
        _i32(logits.n_rows),
        _i32(width),
        _pointer(rows),
        _pointer(ids),
        _i32(n),
        *_table(table),
        form.bits.type(form.minus_infinity),
    )
    return Launch(f"apply_{8 * form.size}", (max(_ceil(width, per_block), 1), min(n, _MAX_GRID_Y)), _BLOCK, arguments)


def argmax(form: FloatFormat, logits: Matrix, ids: int, table: Matrix, out: int) -> Launch:
    """The largest logit allowed in each row; ``ids`` and ``out`` point to an int32 for each."""
    arguments = (*_choice(logits, ids, table, out), np.uint32(form.infinity))
    return Launch(f"argmax_{8 * form.size}", (logits.n_rows, 1), _CHOICE_BLOCK, arguments)


def sample(
    form: FloatFormat, logits: Matrix, ids: int, table: Matrix, out: int, *, temperature: float, seed: int, step: int
) -> Launch:
    """A token drawn for each row."""
    inverse = np.float32(1) / np.float32(temperature)
    arguments = (*_choice(logits, ids, table, out), inverse, np.uint64(seed), np.uint64(step))
    short = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[form.name]
    return Launch(f"sample_{short}", (logits.n_rows, 1), _CHOICE_BLOCK, arguments)


def _choice(logits: Matrix, ids: int, table: Matrix, out: int) -> tuple[np.generic, ...]:
    n = _i32(logits.n_rows)
    return (*_logits(logits), _i32(logits.n_columns), _pointer(ids), n, *_table(table), _pointer(out))


def _logits(m: Matrix) -> tuple[np.generic, ...]:
    return (_pointer(m.pointer), np.int64(m.row_stride), np.int64(m.column_stride))


def _table(m: Matrix) -> tuple[np.generic, ...]:
    return (*_row_of(m), _i32(m.n_columns), _i32(m.n_rows))


def _row_of(m: Matrix) -> tuple[np.generic, ...]:
    return (_pointer(m.pointer), np.int64(m.row_stride))


def _pointer(address: int) -> np.uint64:
    return np.uint64(address)


def _i32(value: Any) -> np.int32:
    return np.int32(value)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
