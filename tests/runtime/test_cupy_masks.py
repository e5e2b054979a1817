"""Masks by row ids on a GPU: the same as on the CPU, to the bit.

Every test of the first part runs twice: on an emulated device (emulated_cuda.py: the kernels' own source, streams that do nothing
before they must), and on a GPU where there is one. The second part is what only an emulated device can show; test_cupy_on_a_gpu.py
has what only a GPU can.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cupy_places import EXPRESSIONS, INFO, STRINGS, Place, matchers, needs_gpu, some_token
from emulated_cuda import EmulatedDevice, HostKernels, Stream, on_device
from hypothesis import given
from hypothesis import strategies as st
from mask_cases import DTYPES, SHORT_DTYPES, random_logits, random_table, same_bits
from numpy.typing import NDArray
from vocabularies import tokenizer

import psc
from psc.runtime import cupy_masks, numpy_masks
from psc.runtime.cupy_masks import MaskTable, apply_bitmask, apply_rows, masked_argmax, masked_sample, union_rows

ROW_BYTES = 4 * -(-INFO.vocab_size // 32)


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=needs_gpu)])
def place(request: pytest.FixtureRequest) -> Place:
    """Where masks are."""
    return Place(request.getfixturevalue("emulated") if request.param == "emulated" else None)


def spread(array: NDArray[Any], how: str) -> NDArray[Any]:
    """The same values with other strides."""
    n, width = array.shape
    if how == "columns":
        there = np.zeros((width, n), array.dtype).T
    elif how == "slice":
        there = np.zeros((n, width + 7), array.dtype)[:, 3 : 3 + width]
    elif how == "backwards":
        there = np.zeros((n, width), array.dtype)[::-1, ::-1]
    else:
        there = np.zeros((n, width), array.dtype)
    there[...] = array
    return there


@pytest.mark.parametrize("n_slots", [4, 6, 1000])
@pytest.mark.parametrize("n_buffers", [1, 3])
def test_a_row_is_always_the_matchers_mask(place: Place, n_slots: int, n_buffers: int) -> None:
    rng = random.Random(n_slots)
    table = MaskTable(INFO, max_bytes=n_slots * ROW_BYTES, max_batch=4, n_buffers=n_buffers)
    batch: list[Any] = [*matchers(EXPRESSIONS, STRINGS, EXPRESSIONS), None]
    step = table.step(batch)
    for _ in range(60):
        ids, rows = place.get(step.ids), place.get(table.rows)
        assert ids[3] == -1
        for matcher, i in zip(batch[:3], ids.tolist(), strict=False):
            assert rows[i].tolist() == np.asarray(matcher.mask()).tolist()
        step = table.step(batch, [-1 if m is None else some_token(m, rng) for m in batch])
        assert step.refused == []
    assert table.n_slots == n_slots and table.nbytes >= n_slots * ROW_BYTES


def test_steps_that_nobody_waits_for(place: Place) -> None:
    """Every step's masks are applied in the stream's order, however far the CPU is ahead."""
    rng = random.Random(5)
    table = MaskTable(INFO, max_bytes=5 * ROW_BYTES, max_batch=2, n_buffers=2)
    batch = matchers(EXPRESSIONS, STRINGS)
    zeros = np.zeros((2, INFO.vocab_size), np.float32)
    step, results = table.step(batch), []
    for _ in range(40):
        logits, expected = place.put(zeros), zeros.copy()
        apply_rows(logits, table.rows, step.ids)
        psc.apply_token_bitmask_inplace(expected, np.stack([np.asarray(m.mask()) for m in batch]))
        results.append((logits, expected))
        step = table.step(batch, [some_token(m, rng) for m in batch])
    assert all(same_bits(place.get(logits), expected) for logits, expected in results)


def test_ids_into_memory_that_is_always_the_same(place: Place) -> None:
    table = MaskTable(INFO, max_batch=4)
    for batch in (matchers(EXPRESSIONS, STRINGS), matchers(STRINGS), []):
        step = table.step(batch, into=table.fixed_ids)
        ids = place.get(table.fixed_ids).tolist()
        assert ids[len(batch) :] == [-1] * (4 - len(batch)) and -1 not in ids[: len(batch)]
        assert place.get(step.ids).tolist() == ids[: len(batch)]
    half = table.fixed_ids[:2]
    table.step(matchers(STRINGS), into=half)
    assert place.get(half)[1] == -1


def test_tables_follow_over_libraries(place: Place) -> None:
    """A table on the CPU leads one on the GPU, and the other way round."""
    rng = random.Random(2)
    size = {"max_bytes": 5 * ROW_BYTES, "max_batch": 4}
    for leading, following in (
        (numpy_masks.MaskTable(INFO, **size), MaskTable(INFO, **size)),
        (MaskTable(INFO, **size), numpy_masks.MaskTable(INFO, **size)),
    ):
        batch = matchers(EXPRESSIONS, STRINGS)
        step: Any = leading.step(batch)  # type: ignore[attr-defined]
        for _ in range(30):
            followed: Any = following.apply_update(step.update())  # type: ignore[attr-defined]
            ids, rows = place.get(followed.ids), place.get(following.rows)  # type: ignore[attr-defined]
            assert [rows[i].tolist() for i in ids] == [np.asarray(m.mask()).tolist() for m in batch]
            step = leading.step(batch, [some_token(m, rng) for m in batch])  # type: ignore[attr-defined]


@given(
    dtype=st.sampled_from(list(DTYPES)),
    width=st.integers(1, 100),
    n_words=st.integers(1, 4),
    layout=st.sampled_from(["plain", "columns", "slice", "backwards"]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_apply_rows(place: Place, dtype: str, width: int, n_words: int, layout: str, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    table, before = random_table(rng, 5, n_words), random_logits(rng, (4, width), dtype)
    ids = rng.integers(-1, 5, 4).astype(np.int32)
    rows = data.draw(st.one_of(st.none(), st.permutations(range(4))))
    vocab_size = data.draw(st.one_of(st.none(), st.integers(0, min(width, 32 * n_words))))
    sent = data.draw(st.booleans())
    logits, expected = place.put(spread(before, layout)), before.copy()
    numpy_masks.apply_rows(expected, table, ids, rows=rows, vocab_size=vocab_size)
    rows_given = place.put(np.array(rows, np.int32)) if rows and sent else rows
    apply_rows(logits, place.put(table), place.put(ids) if sent else ids.tolist(), rows=rows_given, vocab_size=vocab_size)
    assert same_bits(place.get(logits), expected)


@given(seed=st.integers(0, 1000), width=st.integers(1, 100), dtype=st.sampled_from(list(DTYPES)))
def test_apply_bitmask(place: Place, seed: int, width: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    table, before = random_table(rng, 4, 3), random_logits(rng, (4, width), dtype)
    for rows in (None, [2, 0]):
        logits, expected = place.put(before), before.copy()
        apply_bitmask(logits, place.put(table), rows=rows)
        numpy_masks.apply_bitmask(expected, table, rows=rows)
        assert same_bits(place.get(logits), expected)
    one, expected = place.put(before[0]), before[0].copy()
    apply_bitmask(one, place.put(table[0]))
    numpy_masks.apply_bitmask(expected, table[0])
    assert same_bits(place.get(one), expected)


def test_union(place: Place) -> None:
    rng = np.random.default_rng(0)
    table, ids = random_table(rng, 6, 40), rng.integers(-1, 6, (3, 4)).astype(np.int32)
    expected = numpy_masks.union_rows(table, ids)
    there = place.put(table)
    assert np.array_equal(place.get(union_rows(there, ids)), expected)
    out = place.put(np.zeros_like(expected))
    assert union_rows(there, place.put(ids), out) is out
    assert np.array_equal(place.get(out), expected)


@given(seed=st.integers(0, 1000), dtype=st.sampled_from(SHORT_DTYPES), layout=st.sampled_from(["plain", "columns", "slice"]))
def test_choosing_and_drawing(place: Place, seed: int, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(seed)
    table, before = random_table(rng, 5, 3), random_logits(rng, (4, 100), dtype)
    ids = rng.integers(-1, 5, 4).astype(np.int32)
    logits, there, ids_there = place.put(spread(before, layout)), place.put(table), place.put(ids)
    assert np.array_equal(place.get(masked_argmax(logits, there, ids_there)), numpy_masks.masked_argmax(before, table, ids))
    how = {"temperature": 0.7, "seed": seed, "step": 3}
    out = place.put(np.zeros(4, np.int32))
    assert masked_sample(logits, there, ids, out=out, **how) is out
    assert np.array_equal(place.get(out), numpy_masks.masked_sample(before, table, ids, **how))
    assert same_bits(place.get(logits), before)


def test_the_same_text_is_generated(place: Place) -> None:
    """With masks on the CPU, and on the GPU, from the same seed; the model is a table of random numbers."""
    model = np.random.default_rng(0).normal(0, 2, (512, INFO.vocab_size)).astype(np.float16)

    def generated(table: Any, masks: Any, put: Callable[[Any], Any], get: Callable[[Any], Any]) -> list[list[int]]:
        batch, tokens = matchers(EXPRESSIONS, STRINGS, STRINGS), [[0], [0], [0]]
        step = table.step(batch)
        for i in range(60):
            logits = put(model[[(31 * t[-1] + 7 * i) % 512 for t in tokens]])
            drawn = get(masks.masked_sample(logits, table.rows, step.ids, seed=11, step=i)).tolist()
            for text, token in zip(tokens, drawn, strict=True):
                text.append(token)
            step = table.step(batch, drawn)
        return tokens

    def same(array: Any) -> Any:
        return array

    on_cpu = generated(numpy_masks.MaskTable(INFO, max_batch=3), numpy_masks, same, same)
    on_gpu = generated(MaskTable(INFO, max_batch=3), cupy_masks, place.put, place.get)
    assert on_cpu == on_gpu
    assert any(len(set(t)) > 10 for t in on_cpu)


WRONG: dict[str, tuple[Callable[[Any, Any, Callable[[Any], Any]], object], str]] = {
    "id": (lambda x, t, put: apply_rows(x, t, [0, 3]), "no mask row 3"),
    "count": (lambda x, t, put: apply_rows(x, t, [0]), "1 ids of mask rows for 2 rows"),
    "count of rows": (lambda x, t, put: apply_rows(x, t, [0, 1], rows=[1]), "2 ids of mask rows, but 1 rows"),
    "row": (lambda x, t, put: apply_rows(x, t, [0], rows=[2]), "no row 2"),
    "vocab_size": (lambda x, t, put: apply_rows(x, t, [0, 0], vocab_size=65), "vocab_size=65"),
    "dtype": (lambda x, t, put: apply_rows(put(np.zeros((2, 70), np.int32)), t, [0, 0]), "logits are int32"),
    "dimensions": (lambda x, t, put: apply_rows(put(np.zeros((1, 2, 70), np.float32)), t, [0, 0]), "3 dimensions"),
    "logits on the CPU": (
        lambda x, t, put: apply_rows(np.zeros((2, 70), np.float32), t, [0, 0]),
        "logits: numpy.ndarray.*on no GPU",
    ),
    "table on the CPU": (lambda x, t, put: apply_rows(x, np.zeros((3, 2), np.int32), [0, 0]), "mask rows must be on a GPU"),
    "table": (lambda x, t, put: apply_rows(x, put(np.zeros((3, 2), np.int64)), [0, 0]), "must be int32"),
    "table's layout": (lambda x, t, put: apply_rows(x, put(np.zeros((3, 4), np.int32)[:, ::2]), [0, 0]), "side by side"),
    "ids of 64 bits": (lambda x, t, put: apply_rows(x, t, put(np.zeros(2, np.int64))), "must be int32"),
    "ids apart": (lambda x, t, put: apply_rows(x, t, put(np.zeros(4, np.int32)[::2])), "contiguous"),
    "rows apart": (lambda x, t, put: apply_rows(x, t, [0, 0], rows=put(np.zeros(4, np.int32)[::2])), "contiguous"),
    "bitmask": (lambda x, t, put: apply_bitmask(x, t), "2 rows of logits and 3"),
    "union": (lambda x, t, put: union_rows(t, [[3]]), "no mask row 3"),
    "union's out": (lambda x, t, put: union_rows(t, [[1]], put(np.zeros((2, 2), np.int32))), "out="),
    "double precision": (lambda x, t, put: masked_argmax(put(np.zeros((2, 70))), t, [0, 0]), "logits are float64"),
    "argmax's out": (lambda x, t, put: masked_argmax(x, t, [0, 0], out=put(np.zeros(3, np.int32))), "out="),
    "out on the CPU": (lambda x, t, put: masked_argmax(x, t, [0, 0], out=np.zeros(2, np.int32)), "on no GPU"),
    "temperature": (lambda x, t, put: masked_sample(x, t, [0, 0], temperature=-1, seed=0, step=0), "temperature=-1"),
    "seed": (lambda x, t, put: masked_sample(x, t, [0, 0], seed=1 << 64, step=0), "seed="),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments_launch_nothing(place: Place, case: str) -> None:
    call, message = WRONG[case]
    logits, table = place.put(np.zeros((2, 70), np.float32)), place.put(np.zeros((3, 2), np.int32))
    with pytest.raises(psc.BitmaskError, match=message):
        call(logits, table, place.put)
    assert not place.get(logits).any()
    if place.emulated is not None:
        assert not place.emulated[0].launches


def test_wrong_steps_do_nothing(place: Place) -> None:
    table = MaskTable(INFO, max_batch=2)
    others = psc.GrammarCompiler(tokenizer(["a", "b"]), store=False).compile_grammar('root ::= "a"+')
    batch = matchers(STRINGS, others)
    with pytest.raises(psc.BitmaskError, match="matcher 1 belongs to another vocabulary"):
        table.step(batch, [ord("{"), 0])
    with pytest.raises(psc.BitmaskError, match="max_batch=2"):
        table.step(matchers(*[STRINGS] * 3))
    for into, message in (
        (np.zeros(2, np.int32), "on no GPU"),
        (place.put(np.zeros(2, np.int64)), "contiguous int32"),
        (place.put(np.zeros(4, np.int32))[::2], "contiguous int32"),
        (place.put(np.zeros(1, np.int32)), "room for 1"),
        (place.put(np.zeros(3, np.int32)), "room for 3"),
    ):
        with pytest.raises(psc.BitmaskError, match=message):
            table.step(batch[:1] * 2, [ord("{"), -1], into=into)
    assert [m.n_steps for m in batch] == [0, 0] and table.n_used == 0


def test_four_bytes_a_sequence_cross_the_bus(emulated: dict[int, EmulatedDevice]) -> None:
    table = MaskTable(INFO, max_batch=256)
    batch = matchers(*[STRINGS] * 100)
    table.step(batch)
    before = emulated[0].uploaded_bytes
    table.step(batch)
    assert emulated[0].uploaded_bytes - before == 4 * 100
    table.step(batch, [ord("{")] * 100)
    # One new row for them all: the tokens that it allows, or all its bits.
    assert 4 * 100 < emulated[0].uploaded_bytes - before - 4 * 100 <= 4 * 100 + 16 + ROW_BYTES


def test_nothing_waits_before_the_rotation_is_over(emulated: dict[int, EmulatedDevice]) -> None:
    table = MaskTable(INFO, max_batch=2, n_buffers=3)
    stream = Stream()
    steps = [table.step(matchers(STRINGS), stream=stream) for _ in range(3)]
    assert emulated[0].n_waits == 0 and stream.work
    table.step(matchers(STRINGS), stream=stream)
    assert emulated[0].n_waits == 1
    # Only the first step has been done: what came later still waits to be wanted.
    assert steps[0]._buffer.event.happened is False and steps[1]._buffer.event.happened is False
    assert len({s.ids.ctypes.data for s in steps}) == 3


def test_another_stream_can_wait_for_a_step(emulated: dict[int, EmulatedDevice]) -> None:
    table = MaskTable(INFO, max_batch=2)
    upload, main = Stream(), Stream()
    matcher = matchers(STRINGS)[0]
    step = table.step([matcher], stream=upload)
    logits, expected = on_device(np.zeros((1, INFO.vocab_size), np.float32)), np.zeros((1, INFO.vocab_size), np.float32)
    step.wait(main)
    apply_rows(logits, table.rows, step.ids, stream=main)
    main.synchronize()
    psc.apply_token_bitmask_inplace(expected, np.asarray(matcher.mask())[None])
    assert same_bits(np.array(logits), expected) and not upload.work


def test_many_new_rows_at_once_grow_the_staging_memory(
    emulated: dict[int, EmulatedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupy_masks, "_STAGING_BYTES", 64)
    table = MaskTable(INFO, max_batch=8, n_buffers=2)
    rng = random.Random(0)
    batch = matchers(*[EXPRESSIONS, STRINGS] * 4)
    for _ in range(25):
        step = table.step(batch, [some_token(m, rng) for m in batch])
        emulated[0].current.synchronize()
        for m, i in zip(batch, np.array(step.ids).tolist(), strict=True):
            assert np.array(table.rows[i]).tolist() == np.asarray(m.mask()).tolist()


def test_one_table_on_two_devices(emulated: dict[int, EmulatedDevice]) -> None:
    rng = random.Random(3)
    table = MaskTable(INFO, max_batch=2, device=[0, 1], max_bytes=4 * ROW_BYTES)
    assert table.device == 0 and [r.device for r in table.replicas] == [1]
    batch = matchers(EXPRESSIONS, STRINGS)
    for _ in range(30):
        step = table.step(batch, [some_token(m, rng) for m in batch])
        for place, tab, there in ((0, table, step), (1, table.replicas[0], step.replicas[0])):
            emulated[place].current.synchronize()
            assert tab.rows.ordinal == there.ids.ordinal == place
            got = [np.array(tab.rows[i]).tolist() for i in np.array(there.ids).tolist()]
            assert got == [np.asarray(m.mask()).tolist() for m in batch]
    # A replica made later has what was there.
    late = table.replica(1)
    assert np.array_equal(late.rows, table.rows) and late.n_used == table.n_used
    step = table.step(batch, [some_token(m, rng) for m in batch])
    ids = late.apply_update(step.update()).ids
    emulated[1].current.synchronize()
    assert [np.array(late.rows[i]).tolist() for i in np.array(ids)] == [np.asarray(m.mask()).tolist() for m in batch]
    with pytest.raises(psc.BitmaskError, match="follows another"):
        late.step(batch)


def test_arrays_on_two_devices_do_not_mix(emulated: dict[int, EmulatedDevice]) -> None:
    table = on_device(np.zeros((3, 2), np.int32), 1)
    with pytest.raises(psc.BitmaskError, match="logits on GPU 0, and the mask rows on GPU 1"):
        apply_rows(on_device(np.zeros((2, 64), np.float32)), table, [0, 0])
    with pytest.raises(psc.BitmaskError, match="ids on GPU 0"):
        apply_rows(on_device(np.zeros((2, 64), np.float32), 1), table, on_device(np.zeros(2, np.int32)))
    with pytest.raises(psc.BitmaskError, match="into= is on GPU 1"):
        MaskTable(INFO, max_batch=2).step([], into=on_device(np.zeros(2, np.int32), 1))
    for devices in ([], [0, 0]):
        with pytest.raises(psc.BitmaskError, match="device="):
            MaskTable(INFO, max_batch=2, device=devices)


def test_a_table_that_does_not_fit_the_device(emulated: dict[int, EmulatedDevice], host_kernels: HostKernels) -> None:
    emulated[0] = EmulatedDevice(host_kernels, free=10 << 20)
    with pytest.raises(psc.BitmaskError, match="GPU 0 has 10485760 free: make max_bytes smaller"):
        MaskTable(INFO, max_bytes=100 << 20)
    MaskTable(INFO, max_bytes=1 << 20)


def test_rows_begin_at_sixteen_bytes(emulated: dict[int, EmulatedDevice]) -> None:
    table = MaskTable(INFO, max_batch=2)
    assert table.rows.shape == (table.n_slots, -(-INFO.vocab_size // 32))
    assert table.rows.strides[0] % 16 == 0 and table.rows.ctypes.data % 16 == 0
