"""The CUDA kernels on masks: each compiles for the GPUs that are in use, and computes what NumPy does.

The numbers are computed by the same source compiled for this processor (emulated_cuda.py); `test_cupy_masks.py` does it on a GPU,
where there is one.
"""

import itertools
import os
import re
from typing import Any

import numpy as np
import pytest
from emulated_cuda import HostKernels, guards_hold, on_device
from hypothesis import given
from hypothesis import strategies as st
from mask_cases import DTYPES, SHORT_DTYPES, allowed_bits, masked, random_logits, random_table, same_bits
from numpy.typing import NDArray

from psc.runtime import mask_kernels, numpy_masks
from psc.runtime.gumbel import gumbel, philox
from psc.runtime.mask_arguments import FLOATS
from psc.runtime.mask_kernels import COMPILE_OPTIONS, KERNELS, Matrix

Array = NDArray[Any]


def matrix(array: Array) -> Matrix:
    row, column = (s // array.itemsize for s in array.strides)
    return Matrix(array.ctypes.data, array.shape[0], array.shape[1], row, column)


# ---------------------------------------------------------------------------------------------------------------------
# Compiled for GPUs

# The sanitizer's dlopen() does not look where NVRTC keeps a library of its own; and nothing of ours is called.
needs_nvrtc = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="NVRTC does not run under the sanitizers")


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_every_kernel_compiles(architecture: str) -> None:
    nvrtc = pytest.importorskip("cupy", reason="CuPy is not installed").cuda.nvrtc
    program = nvrtc.createProgram(mask_kernels.source(), "masks.cu", (), ())
    try:
        nvrtc.compileProgram(program, (*COMPILE_OPTIONS, f"-arch={architecture}", "--ptxas-options=--verbose"))
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    log = nvrtc.getProgramLog(program)
    assert len(nvrtc.getCUBIN(program)) > 10_000 and "warning" not in log
    assert sorted(re.findall(r"entry function '(\w+)' for '" + architecture, log)) == sorted(KERNELS)
    # Nothing is kept in slow memory, and blocks of 1,024 threads fit.
    assert re.findall(r"(\d+) bytes spill stores", log) == ["0"] * len(KERNELS)
    assert max(int(n) for n in re.findall(r"Used (\d+) registers", log)) <= 64


@needs_nvrtc
def test_memory_is_touched_sixteen_bytes_a_time() -> None:
    nvrtc = pytest.importorskip("cupy", reason="CuPy is not installed").cuda.nvrtc
    program = nvrtc.createProgram(mask_kernels.source(), "masks.cu", (), ())
    nvrtc.compileProgram(program, (*COMPILE_OPTIONS, "-arch=compute_80"))
    ptx = nvrtc.getPTX(program)
    entries = re.split(r"\.entry ", ptx.decode() if isinstance(ptx, bytes) else ptx)[1:]
    bodies = {re.match(r"\w+", e).group(): e for e in entries}  # type: ignore[union-attr]
    for name in ("apply_16", "apply_32", "apply_64"):
        assert bodies[name].count("st.global.v4.u32") >= 2 and "ld.global.v4.u32" in bodies[name]
    # Contracted operations would round once where NumPy rounds twice.
    assert not any("fma.rn.f32" in bodies[f"sample_{kind}"] for kind in ("f32", "f16", "bf16"))


# ---------------------------------------------------------------------------------------------------------------------
# Applying


def apply(kernels: HostKernels, logits: Array, table: Array, ids: Any, rows: Any = None, vocab_size: int | None = None) -> None:
    ids_there = None if ids is None else np.array(ids, np.int32)
    rows_there = None if rows is None else np.array(rows, np.int32)
    n = len(logits) if ids is None and rows is None else len(ids if rows is None else rows)
    launch = mask_kernels.apply(
        FLOATS[str(logits.dtype)],
        matrix(logits),
        logits.shape[1] if vocab_size is None else vocab_size,
        0 if rows_there is None else rows_there.ctypes.data,
        0 if ids_there is None else ids_there.ctypes.data,
        n,
        matrix(table),
    )
    kernels.launch(launch)


def spread(array: Array, how: str, offset: int) -> Array:
    """The same values in memory that is laid out otherwise, beginning off any boundary."""
    n, width = array.shape
    if how == "columns":
        place = np.zeros((width, n + 3), array.dtype).T[:n]
    elif how == "every other":
        place = np.zeros((n, 2 * width + 1), array.dtype)[:, ::2][:, :width]
    elif how == "backwards":
        place = np.zeros((n, width), array.dtype)[::-1, ::-1]
    else:
        place = np.zeros((n, width + offset + 5), array.dtype)[:, offset : offset + width]
    place[...] = array
    return place


@given(
    dtype=st.sampled_from(list(DTYPES)),
    width=st.one_of(st.integers(1, 40), st.integers(60, 200)),
    n_words=st.integers(1, 6),
    layout=st.tuples(st.sampled_from(["slice", "slice", "columns", "every other", "backwards"]), st.integers(0, 9)),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_apply(
    host_kernels: HostKernels, dtype: str, width: int, n_words: int, layout: Any, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    table = on_device(random_table(rng, 5, n_words))
    ids = rng.integers(-1, 5, 4).tolist()
    rows = data.draw(st.one_of(st.none(), st.permutations(range(4))))
    vocab_size = data.draw(st.one_of(st.none(), st.integers(0, min(width, 32 * n_words))))
    before = random_logits(rng, (4, width), dtype)
    logits = on_device(spread(before, *layout))
    apply(host_kernels, logits, table, ids, rows, vocab_size)
    assert same_bits(logits, masked(before, table, ids, rows, vocab_size))
    assert guards_hold(logits) and guards_hold(table)


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_apply_over_many_blocks(host_kernels: HostKernels, dtype: str) -> None:
    rng = np.random.default_rng(3)
    table = random_table(rng, 3, 700)
    before = random_logits(rng, (3, 22_405), dtype)
    for lead in range(0, 16 // before.itemsize, 3):
        logits = on_device(spread(before, "slice", lead))
        ids = [2, 0, 1]
        apply(host_kernels, logits, table, ids)
        width = before.shape[1]
        allowed = np.zeros((3, width), bool)
        allowed[:, :22_400] = allowed_bits(table)[ids][:, :width]
        assert same_bits(logits, np.where(allowed, before, np.array(-np.inf, before.dtype)))
        assert guards_hold(logits)


def test_a_row_that_allows_all_is_not_written(host_kernels: HostKernels) -> None:
    before = np.arange(128, dtype=np.float32).reshape(1, 128)
    logits = on_device(before)
    logits.flags.writeable = False
    apply(host_kernels, logits, np.full((1, 4), -1, np.int32), [0])
    assert same_bits(logits, before)


def test_a_bitmask_has_a_row_for_each_row(host_kernels: HostKernels) -> None:
    rng = np.random.default_rng(5)
    table, before = random_table(rng, 6, 3), random_logits(rng, (6, 100), "bfloat16")
    logits = on_device(before)
    apply(host_kernels, logits, table, None)
    assert same_bits(logits, masked(before, table, range(6)))
    logits = on_device(before)
    apply(host_kernels, logits, table, None, rows=[4, 1])
    assert same_bits(logits, masked(before, table, [4, 1], [4, 1]))


@pytest.mark.parametrize("wrong", [3, 2**31 - 1, -2, -(2**31)])
def test_an_id_that_is_in_no_table_allows_nothing(host_kernels: HostKernels, wrong: int) -> None:
    table = on_device(np.full((3, 2), -1, np.int32))
    logits = on_device(np.zeros((3, 70), np.float16))
    apply(host_kernels, logits, table, [0, wrong, -1])
    assert (logits[1] == -np.inf).all() and (logits[0, :64] == 0).all() and (logits[2] == 0).all()


@pytest.mark.parametrize("wrong", [2, -1, 2**31 - 1])
def test_a_row_that_is_not_there_is_left_out(host_kernels: HostKernels, wrong: int) -> None:
    logits = on_device(np.zeros((2, 70), np.float32))
    apply(host_kernels, logits, np.zeros((1, 2), np.int32), [0, 0], rows=[wrong, 1])
    assert (logits[1] == -np.inf).all() and (logits[0] == 0).all() and guards_hold(logits)


# ---------------------------------------------------------------------------------------------------------------------
# Rows


@given(seed=st.integers(0, 1000), vocab_size=st.integers(1, 700))
def test_rows_are_composed(host_kernels: HostKernels, seed: int, vocab_size: int) -> None:
    rng = np.random.default_rng(seed)
    n_words = -(-vocab_size // 32)
    wanted = rng.random((5, vocab_size)) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], (5, 1))
    bits = np.zeros((5, 32 * n_words), np.uint8)
    bits[:, :vocab_size] = wanted
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
    writes, pool = [], np.zeros(0, np.uint32)
    for i, form in enumerate(rng.integers(0, 3, 5)):
        words = [np.flatnonzero(wanted[i]), np.flatnonzero(~wanted[i]), packed[i]][form].astype(np.uint32)
        writes += [7 - i, form, len(pool), len(words)]
        pool = np.concatenate((pool, words))
    array, pool_there = np.array(writes, np.int32), on_device(pool) if len(pool) else np.zeros(1, np.uint32)
    table = on_device(np.full((8, n_words), 0x5555, np.int32))
    host_kernels.launch(mask_kernels.write_rows(matrix(table), vocab_size, 5, array.ctypes.data, pool_there.ctypes.data))
    assert np.array_equal(table[3:].view(np.uint32)[::-1], packed)
    assert (table[:3] == 0x5555).all() and guards_hold(table)
    # Native code makes the same.
    mine = np.full((8, n_words), 0x5555, np.int32)
    numpy_masks.write_mask_rows(mine, array, pool, vocab_size)
    assert np.array_equal(mine, table)


@given(seed=st.integers(0, 1000), n=st.integers(1, 5), k=st.integers(1, 6), n_words=st.integers(1, 300))
def test_union(host_kernels: HostKernels, seed: int, n: int, k: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    table = on_device(random_table(rng, 9, n_words))
    ids = rng.integers(-1, 9, (n, k)).astype(np.int32)
    out = on_device(np.full((n, n_words), 0x33, np.int32))
    host_kernels.launch(mask_kernels.union_rows(matrix(table), ids.ctypes.data, n, k, matrix(out)))
    allowed = allowed_bits(table).tolist()
    wanted = [any(i >= 0 and allowed[i][j] for i in ids[0].tolist()) for j in range(32 * n_words)]
    assert allowed_bits(out)[0].tolist() == wanted
    assert np.array_equal(out, numpy_masks.union_rows(np.array(table), ids))
    assert guards_hold(out)


# ---------------------------------------------------------------------------------------------------------------------
# Choosing and drawing


def choose(kernels: HostKernels, logits: Array, table: Array, ids: Any, **drawing: Any) -> list[int]:
    there, out = np.array(ids, np.int32), on_device(np.full(len(ids), 99, np.int32))
    form = FLOATS[str(logits.dtype)]
    arguments = (form, matrix(logits), there.ctypes.data, matrix(table), out.ctypes.data)
    kernels.launch(mask_kernels.sample(*arguments, **drawing) if drawing else mask_kernels.argmax(*arguments))
    assert guards_hold(out)
    return out.tolist()


def best(logits: Array, allowed: Array) -> int:
    """The definition, in Python's numbers: greatest first, NaN last, of equals the first."""
    values = [(-np.inf if np.isnan(v) else v, not np.isnan(v), -j) for j, v in enumerate(logits.tolist()) if allowed[j]]
    return -max(values)[2] if values else -1


@given(
    dtype=st.sampled_from(SHORT_DTYPES),
    width=st.one_of(st.integers(1, 40), st.integers(100, 300)),
    n_words=st.integers(1, 9),
    layout=st.tuples(st.sampled_from(["slice", "slice", "columns", "backwards"]), st.integers(0, 9)),
    seed=st.integers(0, 1000),
)
def test_argmax(host_kernels: HostKernels, dtype: str, width: int, n_words: int, layout: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, before = random_table(rng, 4, n_words), random_logits(rng, (3, width), dtype)
    ids = rng.integers(-1, 4, 3).tolist()
    chosen = choose(host_kernels, on_device(spread(before, *layout)), on_device(table), ids)
    for k, i in enumerate(ids):
        allowed = np.zeros(width, bool)
        known = allowed_bits(table)[i][:width]
        allowed[: len(known)] = known
        assert chosen[k] == best(before[k].astype(np.float64), np.ones(width, bool) if i == -1 else allowed)
    assert chosen == numpy_masks.masked_argmax(before, table, ids).tolist()


@pytest.mark.parametrize("dtype", SHORT_DTYPES)
def test_argmax_of_zeros_and_what_is_no_number(host_kernels: HostKernels, dtype: str) -> None:
    inf, nan = np.inf, np.nan
    rows = [
        ((-0.0, 0.0), 0),
        ((0.0, -0.0), 0),
        ((nan, -inf), 1),
        ((-nan, nan), 0),
        ((inf, nan), 0),
        ((nan, -1.0), 1),
        ((-1.0, -0.0), 1),
        ((-inf, -inf), 0),
    ]
    logits, wanted = np.array([r for r, _ in rows]).astype(DTYPES[dtype]), [best for _, best in rows]
    table, ids = np.full((1, 1), -1, np.int32), [0] * len(rows)
    assert choose(host_kernels, logits, table, ids) == wanted
    assert numpy_masks.masked_argmax(logits, table, ids).tolist() == wanted


def test_argmax_over_a_long_row(host_kernels: HostKernels) -> None:
    rng = np.random.default_rng(0)
    table, before = np.full((1, 700), -1, np.int32), rng.normal(size=(2, 22_400)).astype(np.float32)
    assert choose(host_kernels, before, table, [0, -1]) == before.argmax(axis=1).tolist()
    for place in (0, 31, 32, 4_095, 4_096, 22_399):
        before[:, place] += 100
        assert choose(host_kernels, before, table, [0, -1]) == [place, place]
        before[:, place] -= 100


@given(
    dtype=st.sampled_from(SHORT_DTYPES),
    width=st.integers(1, 200),
    layout=st.tuples(st.sampled_from(["slice", "columns"]), st.integers(0, 9)),
    temperature=st.sampled_from([1.0, 0.3, 1e-3, 7.0]),
    seed=st.integers(0, 2**64 - 1),
    step=st.integers(0, 2**64 - 1),
)
def test_the_same_tokens_are_drawn_as_by_numpy(
    host_kernels: HostKernels, dtype: str, width: int, layout: Any, temperature: float, seed: int, step: int
) -> None:
    rng = np.random.default_rng(seed % 1000)
    table, before = random_table(rng, 4, 5), random_logits(rng, (3, width), dtype)
    ids = rng.integers(-1, 4, 3).tolist()
    how = {"temperature": temperature, "seed": seed, "step": step}
    drawn = choose(host_kernels, on_device(spread(before, *layout)), on_device(table), ids, **how)
    assert drawn == numpy_masks.masked_sample(before, table, ids, **how).tolist()


def test_every_half_precision_number_is_read_right(host_kernels: HostKernels) -> None:
    every = np.arange(1 << 16, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        wanted = every.astype(np.uint16).view(np.float16).astype(np.float32)
    read = host_kernels.f16_values(every)
    nan = np.isnan(wanted)
    assert same_bits(read[~nan], wanted[~nan]) and np.isnan(read[nan]).all()


def test_gumbel_is_numpys_to_the_bit(host_kernels: HostKernels) -> None:
    bits = np.concatenate((np.arange(70_000), (np.arange(-70_000, 0) % 2**32), np.arange(0, 2**32, 17_389))).astype(np.uint32)
    assert same_bits(host_kernels.gumbels(bits), gumbel(bits))


def test_philox_is_the_published_one() -> None:
    """Known answers of Random123 (kat_vectors, philox4x32 10)."""
    ones = 0xFFFF_FFFF
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    answers = {
        ((0, 0, 0, 0), (0, 0)): "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        ((ones, ones, ones, ones), (ones, ones)): "408f276d 41c83b0e a20bc7c6 6d5451fd",
        (pi, (0xA4093822, 0x299F31D0)): "d16cfe09 94fdcceb 5001e420 24126ea1",
    }
    for (counter, key), answer in answers.items():
        assert " ".join(f"{int(x):08x}" for x in philox(counter, key)) == answer


def test_gumbel_is_accurate_where_it_decides() -> None:
    bits = np.concatenate((np.arange(2000), np.geomspace(2000, 2**32 - 1, 200_000), 2**32 - 1 - np.arange(2000))).astype(np.uint32)
    u = (bits.astype(np.float64) + 0.5) / 2**32
    wanted = -np.log(-np.log1p(-u))
    assert np.abs(gumbel(bits) - wanted).max() < 3e-6
    large = wanted > 1
    assert (np.abs(gumbel(bits) - wanted) / wanted)[large].max() < 4e-7


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_tokens_are_drawn_as_often_as_the_softmax_says(temperature: float) -> None:
    logits = np.array([[1.0, 0.0, 2.0, -1.0, 3.0, 1.5]], np.float32)
    table = np.array([[0b101111]], np.int32)
    n = 6_000
    drawn = [numpy_masks.masked_sample(logits, table, [0], temperature=temperature, seed=7, step=s)[0] for s in range(n)]
    weights = np.exp(logits[0].astype(np.float64) / temperature) * [1, 1, 1, 1, 0, 1]
    expected = weights / weights.sum()
    seen = np.bincount(drawn, minlength=6) / n
    assert seen[4] == 0
    assert np.all(np.abs(seen - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n) + 1e-12)


def test_rows_and_steps_and_seeds_draw_differently() -> None:
    logits, table = np.zeros((2, 4096), np.float32), np.full((1, 128), -1, np.int32)
    drawn = {
        tuple(numpy_masks.masked_sample(logits, table, [0, 0], seed=seed, step=step).tolist())
        for seed, step in itertools.product((0, 1, 1 << 40), (0, 1, 1 << 40))
    }
    assert len(drawn) == 9 and all(a != b for a, b in drawn)
