"""Masks by row ids in JAX arrays: the same as NumPy's, eager and traced. On the CPU here; on another device where JAX has one."""

import random
from typing import Any

import numpy as np
import pytest
from mask_cases import DTYPES, SHORT_DTYPES, random_logits, random_table, same_bits
from needed import needed
from vocabularies import byte_tokenizer

import psc
from psc.runtime import jax_masks, numpy_masks

jax = needed("jax")
jnp = needed("jax.numpy")

INFO = byte_tokenizer()
COMPILED = psc.GrammarCompiler(INFO, store=False).compile_grammar('root ::= "{" ([a-z]+ ":" [0-9]{1,3} ","?)* root? "}"')
ROW_BYTES = 4 * -(-INFO.vocab_size // 32)
SAME_DTYPES = [name for name in DTYPES if name != "float64"]  # JAX has no double precision unless told to


@pytest.mark.parametrize("n_slots", [3, 50])
def test_a_row_is_always_the_matchers_mask(n_slots: int) -> None:
    rng = random.Random(0)
    table = jax_masks.MaskTable(INFO, max_bytes=n_slots * ROW_BYTES, max_batch=3)
    following = numpy_masks.MaskTable(INFO, max_bytes=n_slots * ROW_BYTES, max_batch=3)
    batch: list[Any] = [psc.GrammarMatcher(COMPILED), None, psc.GrammarMatcher(COMPILED)]
    step = table.step(batch)
    for _ in range(40):
        ids, rows = np.asarray(step.ids), np.asarray(table.rows)
        followed = following.apply_update(step.update())
        assert ids[1] == -1 and followed.ids.tolist() == ids.tolist()
        for m, i in ((batch[0], ids[0]), (batch[2], ids[2])):
            assert rows[i].tolist() == np.asarray(m.mask()).tolist() == following.rows[i].tolist()
        tokens = [-1 if m is None else _token(m, rng) for m in batch]
        step = table.step(batch, tokens)
        assert step.refused == []
    assert table.n_slots == n_slots and table.n_used <= n_slots and table.nbytes == n_slots * ROW_BYTES


def _token(matcher: psc.GrammarMatcher, rng: random.Random) -> int:
    going_on = [int(t) for t in matcher.allowed_tokens() if t not in INFO.stop_token_ids]
    return rng.choice(going_on) if going_on else -1


# Narrower than a row of the table, as wide, and wider. XLA compiles anew for each shape and dtype.
@pytest.mark.parametrize(("dtype", "width"), [*((dtype, 50) for dtype in SAME_DTYPES), ("float16", 96), ("float32", 130)])
def test_masked_as_by_numpy(dtype: str, width: int) -> None:
    rng = np.random.default_rng(width)
    table, before = random_table(rng, 5, 3), random_logits(rng, (4, width), dtype)
    before = np.where(np.isnan(before.astype(np.float32)), before.dtype.type(1), before)
    ids = rng.integers(-1, 5, 4).astype(np.int32)
    for rows, vocab_size in ((None, None), ([3, 0, 1, 2], None), (None, 40)):
        expected = before.copy()
        numpy_masks.apply_rows(expected, table, ids, rows=rows, vocab_size=vocab_size)
        got = jax_masks.apply_rows(jnp.asarray(before), jnp.asarray(table), ids, rows=rows, vocab_size=vocab_size)
        assert same_bits(np.asarray(got), expected)
        traced = jax.jit(lambda x, t, i, rows=rows, size=vocab_size: jax_masks.apply_rows(x, t, i, rows=rows, vocab_size=size))
        assert same_bits(np.asarray(traced(before, jnp.asarray(table), jnp.asarray(ids))), expected)
    expected = before.copy()
    numpy_masks.apply_bitmask(expected, table[:4], rows=[2, 1])
    assert same_bits(np.asarray(jax_masks.apply_bitmask(jnp.asarray(before), jnp.asarray(table[:4]), rows=[2, 1])), expected)
    expected = before[0].copy()
    numpy_masks.apply_bitmask(expected, table[0])
    assert same_bits(np.asarray(jax_masks.apply_bitmask(jnp.asarray(before[0]), jnp.asarray(table[0]))), expected)


def test_union_is_numpys() -> None:
    rng = np.random.default_rng(0)
    table, ids = random_table(rng, 5, 3), rng.integers(-1, 5, (6, 3))
    assert np.array_equal(np.asarray(jax_masks.union_rows(jnp.asarray(table), ids)), numpy_masks.union_rows(table, ids))


@pytest.mark.parametrize("dtype", SHORT_DTYPES)
def test_chosen_as_by_numpy(dtype: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table, logits = random_table(rng, 5, 3), random_logits(rng, (4, 96), dtype)
        # NaN and minus infinity are told apart by NumPy's only.
        logits = np.where(np.isfinite(logits.astype(np.float32)), logits, logits.dtype.type(0))
        ids = rng.integers(-1, 5, 4)
        got = jax_masks.masked_argmax(jnp.asarray(logits), jnp.asarray(table), ids)
        assert np.asarray(got).tolist() == numpy_masks.masked_argmax(logits, table, ids).tolist()


def test_tokens_are_drawn_as_often_as_the_softmax_says() -> None:
    logits = jnp.tile(jnp.array([[1.0, 0.0, 2.0, -1.0, 3.0, 1.5]], jnp.float32), (4000, 1))
    table, ids = jnp.array([[0b101111]], jnp.int32), jnp.zeros(4000, jnp.int32)
    drawn = np.asarray(jax_masks.masked_sample(logits, table, ids, temperature=0.5, seed=7, step=1))
    weights = np.exp(np.asarray(logits[0], np.float64) / 0.5) * [1, 1, 1, 1, 0, 1]
    expected = weights / weights.sum()
    seen = np.bincount(drawn, minlength=6) / 4000
    assert seen[4] == 0 and np.all(np.abs(seen - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 4000) + 1e-12)
    again = np.asarray(jax_masks.masked_sample(logits, table, ids, temperature=0.5, seed=7, step=1))
    other = np.asarray(jax_masks.masked_sample(logits, table, ids, temperature=0.5, seed=7, step=2))
    assert np.array_equal(drawn, again) and not np.array_equal(drawn, other)


def test_wrong_arguments() -> None:
    logits, table = jnp.zeros((2, 70)), jnp.zeros((3, 2), jnp.int32)
    for call, message in (
        (lambda: jax_masks.apply_rows(logits, table, [0, 3]), "no mask row 3"),
        (lambda: jax_masks.apply_rows(logits, table, [0]), "1 ids of mask rows for 2 rows"),
        (lambda: jax_masks.apply_rows(logits, table, [0], rows=[2]), "no row 2"),
        (lambda: jax_masks.apply_rows(logits, table, [0, 0], vocab_size=65), "vocab_size=65"),
        (lambda: jax_masks.apply_rows(logits.astype(jnp.int32), table, [0, 0]), "logits are int32"),
        (lambda: jax_masks.apply_bitmask(logits, table), "2 rows of logits and 3"),
        (lambda: jax_masks.masked_sample(logits, table, [0, 0], temperature=0, seed=0, step=0), "temperature=0"),
        (lambda: jax_masks.MaskTable(INFO, max_bytes=0), "max_bytes=0"),
    ):
        with pytest.raises(psc.BitmaskError, match=message):
            call()
    nothing = jax_masks.apply_rows(logits, table + -1, jnp.array([3, -2]))
    assert bool(jnp.isneginf(nothing).all())


def test_the_same_names_as_elsewhere() -> None:
    assert jax_masks.__all__ == numpy_masks.__all__
