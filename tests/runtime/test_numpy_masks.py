"""Masks by row ids on the CPU: tables, steps, updates of following tables, and what is done to logits; against brute force and
against the bitmasks of the same matchers.
"""

import multiprocessing
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from following_table import follow
from hypothesis import given
from hypothesis import strategies as st
from mask_cases import DTYPES, SHORT_DTYPES, masked, random_logits, random_table, same_bits
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.runtime import numpy_masks
from psc.runtime.numpy_masks import MaskTable, apply_bitmask, apply_rows, masked_argmax, masked_sample, union_rows
from psc.runtime.row_slots import MaskUpdate, RowWrites

INFO = byte_tokenizer()
COMPILER = psc.GrammarCompiler(INFO, store=False)
EXPRESSIONS = COMPILER.compile_grammar(
    'root ::= term (("+" | "-" | "*") term)*\n'
    'term ::= [0-9]+ | "int" [a-m] | "(" root ")" | "<" [n-z] [^a-z<>]{1,3} ">" | "0x" [0-9a-f]{2} | "if" root "then" [p-r]'
)
STRINGS = COMPILER.compile_grammar(
    'root ::= "{" (pair ("," pair)*)? "}"\npair ::= "\\"" [^"{}\\x00-\\x1f]* "\\"" ":" ("true" | "null" | root)'
)
ROW_BYTES = 4 * -(-INFO.vocab_size // 32)


def matchers(*compiled: Any) -> list[psc.GrammarMatcher]:
    return [psc.GrammarMatcher(c) for c in compiled]


def mask(matcher: psc.GrammarMatcher) -> list[int]:
    return np.asarray(matcher.mask()).tolist()


def some_token(matcher: psc.GrammarMatcher, rng: random.Random) -> int:
    going_on = [int(t) for t in matcher.allowed_tokens() if t not in INFO.stop_token_ids]
    return rng.choice(going_on) if going_on else -1


# ---------------------------------------------------------------------------------------------------------------------
# Tables


@pytest.mark.parametrize("n_slots", [4, 6, 1000])
def test_a_row_is_always_the_matchers_mask(n_slots: int) -> None:
    """With room for no more than a step needs, too: then almost every step throws rows out."""
    rng = random.Random(n_slots)
    table = MaskTable(INFO, max_bytes=n_slots * ROW_BYTES, max_batch=4, n_buffers=2)
    batch: list[Any] = [*matchers(EXPRESSIONS, STRINGS, EXPRESSIONS), None]
    step = table.step(batch)
    seen = set()
    for _ in range(150):
        for matcher, i in zip(batch, step.ids.tolist(), strict=True):
            if matcher is None:
                assert i == -1
            else:
                assert table.rows[i].tolist() == mask(matcher)
                seen.add(tuple(mask(matcher)))
        step = table.step(batch, [-1 if m is None else some_token(m, rng) for m in batch])
        assert step.refused == []
    assert len(seen) > 15
    assert table.n_used == min(n_slots, len(seen)) if n_slots < 15 else table.n_used >= len(seen)
    assert table.n_slots == n_slots and table.nbytes == n_slots * ROW_BYTES


def test_equal_masks_share_a_row_and_ids_stay() -> None:
    table = MaskTable(INFO, max_batch=8)
    first = table.step(matchers(STRINGS, STRINGS, EXPRESSIONS)).ids.tolist()
    assert first[0] == first[1] != first[2]
    assert table.step(matchers(STRINGS, EXPRESSIONS)).ids.tolist() == [first[0], first[2]]
    assert table.n_used == 2


def test_a_refused_token_is_told_and_changes_nothing() -> None:
    table = MaskTable(INFO, max_batch=8)
    batch = matchers(STRINGS, EXPRESSIONS)
    before = table.step(batch).ids.tolist()
    step = table.step(batch, [ord("x"), ord("7")])
    assert step.refused == [0] and step.ids[0] == before[0] and step.ids[1] != before[1]
    assert [m.n_steps for m in batch] == [0, 1]


def test_buffers_rotate() -> None:
    table = MaskTable(INFO, max_batch=2, n_buffers=3)
    steps = [table.step(matchers(EXPRESSIONS)) for _ in range(4)]
    addresses = [s.ids.ctypes.data for s in steps]
    assert addresses[0] == addresses[3] and len(set(addresses)) == 3


def test_ids_into_memory_that_is_always_the_same() -> None:
    table = MaskTable(INFO, max_batch=4)
    step = table.step(matchers(EXPRESSIONS, STRINGS), into=table.fixed_ids)
    assert step.ids.ctypes.data == table.fixed_ids.ctypes.data
    assert table.fixed_ids.tolist() == [*step.ids.tolist(), -1, -1]
    table.step(matchers(STRINGS), into=table.fixed_ids)
    assert table.fixed_ids.tolist()[1:] == [-1, -1, -1]


def test_terminated_matchers_have_no_mask() -> None:
    table = MaskTable(INFO, max_batch=4)
    batch = matchers(STRINGS, EXPRESSIONS)
    for token in (*b"{}", INFO.stop_token_ids[0]):
        step = table.step(batch, [token, -1])
    assert step.ids[0] == -1 and step.ids[1] >= 0
    # A token for it is refused, as any that is not allowed.
    step = table.step(batch, [ord("{"), ord("7")])
    assert step.refused == [0] and step.ids[0] == -1 and batch[1].n_steps == 1


class Failing:
    """Native slots that fail when all is done, as where one matcher exceeds a limit."""

    def __init__(self, slots: Any) -> None:
        self._slots = slots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slots, name)

    def step(self, *arguments: Any) -> list[int]:
        self._slots.step(*arguments)
        raise RuntimeError("stacks under one terminal: more than 10")


def test_a_step_that_fails_loses_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other matchers' new rows need is written with the next step, here and in tables that follow."""
    size = {"max_batch": 2, "max_bytes": 3 * ROW_BYTES}
    table, following = MaskTable(INFO, **size), MaskTable(INFO, **size)
    batch = matchers(STRINGS, EXPRESSIONS)
    following.apply_update(table.step(batch).update())
    good = table._slots._slots
    for tokens in ((b"{0"), (b'"+'), (b"x0"), (b'"-')):
        with monkeypatch.context() as patch:
            patch.setattr(table._slots, "_slots", Failing(good))
            with pytest.raises(RuntimeError, match="more than 10"):
                table.step(batch, list(tokens))
    step = table.step(batch)
    followed = following.apply_update(step.update())
    for at, matcher in enumerate(batch):
        assert matcher.n_steps == 4
        assert table.rows[step.ids[at]].tolist() == following.rows[followed.ids[at]].tolist() == mask(matcher)


def test_writes_of_failed_steps_are_merged() -> None:
    array = lambda *numbers: np.array(numbers, np.int32)  # noqa: E731
    first = RowWrites(array(3, 0, 0, 2, 5, 0, 2, 1), np.array([7, 8, 9], np.uint32))
    then = RowWrites(array(3, 1, 0, 1), np.array([4], np.uint32))
    both = first.then(then)
    assert both.writes.tolist() == [5, 0, 2, 1, 3, 1, 3, 1] and both.pool.tolist() == [7, 8, 9, 4]
    assert len(both) == 2 and then.writes.tolist() == [3, 1, 0, 1]


# ---------------------------------------------------------------------------------------------------------------------
# Following tables


def test_a_table_in_another_process_follows() -> None:
    rng = random.Random(1)
    max_bytes = 5 * ROW_BYTES
    leading = MaskTable(INFO, max_bytes=max_bytes, max_batch=4)
    batch: list[Any] = [*matchers(EXPRESSIONS, STRINGS), None]
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=follow, args=(there, max_bytes))
    process.start()
    there.close()  # else nobody would notice that the other process is gone
    try:
        step = leading.step(batch)
        for _ in range(40):
            here.send(step.update())
            assert here.recv() == [None if m is None else mask(m) for m in batch]
            step = leading.step(batch, [-1 if m is None else some_token(m, rng) for m in batch])
        here.send(None)
    finally:
        process.join(30)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
        here.close()


def test_an_update_is_four_bytes_a_sequence() -> None:
    table = MaskTable(INFO, max_batch=256)
    batch = matchers(*[STRINGS] * 256)
    assert table.step(batch).update().writes is not None
    update = table.step(batch).update()
    assert update.writes is None and update.nbytes == 4 * 256
    assert len(pickle.dumps(update)) < 4 * 256 + 1000


def test_updates_are_taken_in_order_and_checked() -> None:
    leading = MaskTable(INFO, max_batch=4)
    batch = matchers(STRINGS, EXPRESSIONS)
    first = leading.step(batch).update()
    second = leading.step(batch, [ord("{"), ord("7")]).update()
    following = MaskTable(INFO, max_batch=4)
    with pytest.raises(psc.BitmaskError, match="update 2 after 0"):
        following.apply_update(second)
    following.apply_update(first)
    with pytest.raises(psc.BitmaskError, match="update 1 after 1"):
        following.apply_update(first)
    with pytest.raises(psc.BitmaskError, match="follows another"):
        following.step(batch)
    with pytest.raises(psc.BitmaskError, match="steps of its own"):
        leading.apply_update(second)
    with pytest.raises(psc.BitmaskError, match="same max_bytes"):
        MaskTable(INFO, max_batch=4, max_bytes=1 << 20).apply_update(first)
    with pytest.raises(psc.BitmaskError, match="another vocabulary"):
        MaskTable(tokenizer(["a", "b"]), max_batch=4).apply_update(first)
    assert following.n_used == leading.n_used or second.writes is not None


@pytest.mark.parametrize(
    ("writes", "message"),
    [
        ([-1, 0, 0, 0], "slot -1"),
        ([10**9, 0, 0, 0], "slot 1000000000"),
        ([0, 3, 0, 0], "unknown form"),
        ([0, 0, 0, 3], "within its pool"),
        ([0, 0, -1, 1], "within its pool"),
        ([0, 0, 2**31 - 1, 2**31 - 1], "within its pool"),
        ([0, 2, 0, 1], "does not fit"),
        ([0, 0, 1, 1], "does not fit"),
        ([0, 0, 0], "four numbers"),
    ],
)
def test_a_damaged_update_is_refused(writes: list[int], message: str) -> None:
    table = MaskTable(INFO, max_batch=4)
    pool = np.array([1, INFO.vocab_size], np.uint32)
    ids = np.zeros(1, np.int32)
    update = MaskUpdate(1, INFO.fingerprint, INFO.vocab_size, table.n_slots, ids, RowWrites(np.array(writes, np.int32), pool))
    with pytest.raises(psc.BitmaskError, match=message):
        table.apply_update(update)
    assert not table.rows[0].any()
    # It can still lead.
    table.step(matchers(STRINGS))


def test_damaged_ids_are_refused() -> None:
    table = MaskTable(INFO, max_batch=4)
    for wrong in (-2, table.n_slots):
        with pytest.raises(psc.BitmaskError, match="not in the table"):
            table.apply_update(
                MaskUpdate(1, INFO.fingerprint, INFO.vocab_size, table.n_slots, np.array([0, wrong], np.int32), None)
            )


# ---------------------------------------------------------------------------------------------------------------------
# What a table refuses


def test_a_table_that_does_not_fit() -> None:
    with pytest.raises(psc.BitmaskError, match=rf"holds 10 mask rows.*max_batch=11.*{11 * ROW_BYTES} bytes"):
        MaskTable(INFO, max_bytes=10 * ROW_BYTES, max_batch=11)
    for numbers in ({"max_batch": 0}, {"n_buffers": 0}, {"max_bytes": -1}):
        with pytest.raises(psc.BitmaskError):
            MaskTable(INFO, **numbers)
    with pytest.raises(psc.BitmaskError, match="cupy_masks"):
        MaskTable(INFO, device=0)


def test_a_step_that_does_not_fit() -> None:
    table = MaskTable(INFO, max_batch=2)
    with pytest.raises(psc.BitmaskError, match="max_batch=2"):
        table.step(matchers(*[STRINGS] * 3))
    with pytest.raises(psc.BitmaskError, match="room for 1"):
        table.step(matchers(STRINGS, STRINGS), into=np.zeros(1, np.int32))
    with pytest.raises(psc.BitmaskError, match="contiguous int32"):
        table.step(matchers(STRINGS), into=np.zeros(1, np.int64))
    with pytest.raises(psc.MatcherError, match="tokens size is 1"):
        table.step(matchers(STRINGS, STRINGS), [1])
    with pytest.raises(TypeError):
        table.step(["x"])  # type: ignore[list-item]


def test_a_matcher_of_another_vocabulary() -> None:
    others = psc.GrammarCompiler(tokenizer(["a", "b"]), store=False).compile_grammar('root ::= "a"+')
    table = MaskTable(INFO, max_batch=2)
    mine = matchers(STRINGS, others)
    with pytest.raises(psc.BitmaskError, match="matcher 1 belongs to another vocabulary"):
        table.step(mine, [ord("{"), 0])
    assert [m.n_steps for m in mine] == [0, 0] and table.n_used == 0
    # What the last good step had to write is not written again.
    table.step(mine[:1])
    with pytest.raises(psc.BitmaskError):
        table.step(mine)
    assert table.step(mine[:1]).update().writes is None


# ---------------------------------------------------------------------------------------------------------------------
# Logits


@given(
    dtype=st.sampled_from(list(DTYPES)),
    width=st.integers(1, 100),
    n_words=st.integers(1, 4),
    layout=st.sampled_from(["plain", "columns", "slice", "backwards", "one"]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_apply_rows(dtype: str, width: int, n_words: int, layout: str, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, 5, n_words)
    n = 1 if layout == "one" else 4
    before = random_logits(rng, (n, width), dtype)
    logits: Any = before.copy()
    if layout == "columns":
        logits = np.asfortranarray(before)
    elif layout == "slice":
        logits = np.zeros((n, 2 * width + 3), before.dtype)[:, 3::2]
        logits[...] = before
    elif layout == "backwards":
        logits = before[::-1, ::-1].copy()[::-1, ::-1]
    ids = rng.integers(-1, 5, n).tolist()
    rows = data.draw(st.one_of(st.none(), st.permutations(range(n))))
    vocab_size = data.draw(st.one_of(st.none(), st.integers(0, min(width, 32 * n_words))))
    apply_rows(logits[0] if layout == "one" else logits, table, ids, rows=rows, vocab_size=vocab_size)
    assert same_bits(logits, masked(before, table, ids, rows, vocab_size))


@given(seed=st.integers(0, 1000), width=st.integers(1, 100), dtype=st.sampled_from(["float16", "float32", "float64"]))
def test_the_same_as_a_bitmask(seed: int, width: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    table, before = random_table(rng, 5, 3), random_logits(rng, (4, width), dtype)
    ids = rng.integers(0, 5, 4)
    mine, theirs, direct = before.copy(), before.copy(), before.copy()
    apply_rows(mine, table, ids)
    psc.apply_token_bitmask_inplace(theirs, table[ids])
    apply_bitmask(direct, table[ids])
    assert same_bits(mine, theirs) and same_bits(mine, direct)
    mine, direct = before.copy(), before.copy()
    apply_rows(mine, table, ids[[2, 0]], rows=[2, 0])
    apply_bitmask(direct, table[ids], rows=[2, 0])
    assert same_bits(mine, direct)


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_torch_tensors_are_masked_in_place(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    table, before = random_table(rng, 3, 3), random_logits(rng, (2, 90), dtype)
    tensor = torch.from_numpy(before.view(f"i{before.itemsize}").copy()).view(getattr(torch, dtype)).requires_grad_()
    apply_rows(tensor, torch.from_numpy(table), torch.tensor([1, 2]), rows=torch.tensor([1, 0]))
    bits = tensor.detach().view(getattr(torch, f"int{8 * before.itemsize}")).numpy()
    assert same_bits(bits, masked(before, table, [1, 2], [1, 0]))
    if dtype != "float64":
        assert masked_argmax(tensor, table, [1, -1])[1] >= 0


@given(seed=st.integers(0, 1000), dtype=st.sampled_from(SHORT_DTYPES))
def test_choosing_is_masking_and_then_choosing(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, 5, 3)
    logits = np.round(rng.normal(0, 3, (4, 96))).astype(DTYPES[dtype])
    ids = rng.integers(-1, 5, 4)
    hidden = logits.copy()
    apply_rows(hidden, table, ids)
    nothing = np.isneginf(hidden.astype(np.float32)).all(axis=1)
    wanted = np.where(nothing, -1, hidden.astype(np.float32).argmax(axis=1))
    assert masked_argmax(logits, table, ids).tolist() == wanted.tolist()
    cold = masked_sample(logits, table, ids, temperature=1e-6, seed=seed, step=1)
    some = ~nothing
    assert np.array_equal(logits[some, cold[some]], logits[some, wanted[some]])
    assert (cold[nothing] == -1).all()
    out = np.zeros(4, np.int32)
    assert masked_argmax(logits, table, ids, out=out) is out and out.tolist() == wanted.tolist()


def test_union() -> None:
    table = np.array([[1, 0], [2, -1], [4, 8]], np.int32)
    assert union_rows(table, [[0, 1], [-1, 2], [-1, -1]]).tolist() == [[3, -1], [4, 8], [0, 0]]
    out = np.zeros((1, 2), np.int32)
    assert union_rows(table, [[0, 2]], out) is out and out.tolist() == [[5, 8]]
    assert union_rows(table, np.zeros((0, 3), int)).shape == (0, 2)


LOGITS = np.zeros((2, 70), np.float32)
TABLE = np.zeros((3, 2), np.int32)
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "id": (lambda: apply_rows(LOGITS, TABLE, [0, 3]), "no mask row 3"),
    "negative id": (lambda: apply_rows(LOGITS, TABLE, [0, -2]), "no mask row -2"),
    "ids of floats": (lambda: apply_rows(LOGITS, TABLE, [0.5, 1.0]), "integers"),
    "count": (lambda: apply_rows(LOGITS, TABLE, [0]), "1 ids of mask rows for 2 rows"),
    "count of rows": (lambda: apply_rows(LOGITS, TABLE, [0, 1], rows=[1]), "2 ids of mask rows, but 1 rows"),
    "row": (lambda: apply_rows(LOGITS, TABLE, [0], rows=[2]), "no row 2"),
    "negative row": (lambda: apply_rows(LOGITS, TABLE, [0], rows=[-1]), "no row -1"),
    "vocab_size": (lambda: apply_rows(LOGITS, TABLE, [0, 0], vocab_size=65), "vocab_size=65"),
    "dtype": (lambda: apply_rows(LOGITS.astype(np.int32), TABLE, [0, 0]), "logits are int32"),
    "byte order": (lambda: apply_rows(LOGITS.astype(">f4"), TABLE, [0, 0]), "logits are"),
    "dimensions": (lambda: apply_rows(LOGITS[None], TABLE, [0, 0]), "3 dimensions"),
    "list": (lambda: apply_rows([0.0], TABLE, [0]), "not list"),
    "read-only": (lambda: apply_rows(np.broadcast_to(LOGITS[:1], (2, 70)), TABLE, [0, 0]), "read-only"),
    "table": (lambda: apply_rows(LOGITS, TABLE.astype(np.int64), [0, 0]), "must be int32"),
    "bitmask": (lambda: apply_bitmask(LOGITS, TABLE), "2 rows of logits and 3"),
    "union": (lambda: union_rows(TABLE, [[3]]), "no mask row 3"),
    "union's ids": (lambda: union_rows(TABLE, [1]), "1 dimensions"),
    "union's out": (lambda: union_rows(TABLE, [[1]], np.zeros((2, 2), np.int32)), "out="),
    "double precision": (lambda: masked_argmax(LOGITS.astype(np.float64), TABLE, [0, 0]), "logits are float64"),
    "argmax's out": (lambda: masked_argmax(LOGITS, TABLE, [0, 0], out=np.zeros(3, np.int32)), "out="),
    "temperature": (lambda: masked_sample(LOGITS, TABLE, [0, 0], temperature=0, seed=0, step=0), "temperature=0"),
    "no number": (lambda: masked_sample(LOGITS, TABLE, [0, 0], temperature=float("nan"), seed=0, step=0), "temperature=nan"),
    "seed": (lambda: masked_sample(LOGITS, TABLE, [0, 0], seed=-1, step=0), "seed=-1"),
    "step": (lambda: masked_sample(LOGITS, TABLE, [0, 0], seed=0, step=1 << 64), "step="),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments_change_nothing(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(psc.BitmaskError, match=message):
        call()
    assert not LOGITS.any()


def test_the_same_names_as_on_a_gpu() -> None:
    from psc.runtime import cupy_masks

    assert cupy_masks.__all__ == numpy_masks.__all__
