"""Many matchers at once: their masks, tokens, steps back and temperatures are those of each alone."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from few_tokens import AB, INFO, LIBRARIES, STOP, UNTOUCHED, A, B, X, allowed, bits, matcher_of
from vocabularies import byte_tokenizer, tokenizer

import psc


def several(n: int = 5) -> list[psc.GrammarMatcher]:
    compiled = psc.GrammarCompiler(INFO).compile_grammar('root ::= "a"{0,9} "b"')
    matchers = [psc.GrammarMatcher(compiled) for _ in range(n)]
    for i, matcher in enumerate(matchers):
        for _ in range(2 * i):
            assert matcher.accept_token(A)
    return matchers


@pytest.mark.parametrize("threads", [1, 2, 7, "auto"])
@LIBRARIES
def test_batches_fill_rows(zeros: Callable[..., Any], threads: int | str) -> None:
    batch, matchers = psc.BatchGrammarMatcher(threads), several(5)
    matchers += [m.fork() for m in matchers * (threads if isinstance(threads, int) else 20)]
    n = len(matchers)
    mask = zeros(n + 1, 1)
    mask[:] = UNTOUCHED
    assert batch.batch_fill_next_token_bitmask(matchers, mask) is None
    want = [allowed(m) for m in matchers]
    assert [bits(np.asarray(row)) for row in mask[:n]] == want
    assert int(mask[n, 0]) == UNTOUCHED
    rows = list(range(n, 0, -1))
    mask[:] = UNTOUCHED
    batch.batch_fill_next_token_bitmask(tuple(matchers), mask, np.array(rows))
    assert [bits(np.asarray(mask[r])) for r in rows] == want
    assert int(mask[0, 0]) == UNTOUCHED
    batch.batch_fill_next_token_bitmask([], mask)
    one = zeros(1)
    batch.batch_fill_next_token_bitmask(matchers[:1], one, debug_print=True)
    assert bits(np.asarray(one)) == want[0]


def test_batches_in_strided_rows() -> None:
    matchers, wide = several(), np.zeros((10, 3), np.int32)
    psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, wide[::2, 1:2], indices=[4, 3, 2, 1, 0])
    assert [bits(row) for row in wide[::2, 1:2]] == [allowed(m) for m in reversed(matchers)]
    assert np.count_nonzero(wide) == 5


def test_wrong_batches() -> None:
    batch, matchers, mask = psc.BatchGrammarMatcher(2), several(), np.zeros((5, 1), np.int32)
    for indices, message in (
        ([0, 1], "the indices size is 2, where there are 5 matchers"),
        ([0, 1, 2, 3, 5], "row 5 of a bitmask of 5 rows"),
        ([-1, 0, 1, 2, 3], "row -1"),
    ):
        with pytest.raises((psc.MatcherError, psc.BitmaskError), match=message):
            batch.batch_fill_next_token_bitmask(matchers, mask, indices)
    with pytest.raises(psc.BitmaskError, match="row 4 of a bitmask of 4 rows"):
        batch.batch_fill_next_token_bitmask(matchers, mask[:4])
    assert not mask.any()
    for call in (batch.batch_accept_token, batch.batch_accept_string):
        with pytest.raises(psc.MatcherError, match="size is 1, where there are 5 matchers"):
            call(matchers, [AB] if call == batch.batch_accept_token else ["a"])
    with pytest.raises(TypeError):
        batch.batch_accept_token(matchers, [1.5] * 5)
    with pytest.raises(TypeError, match="token ids must be integers, not str"):
        batch.batch_accept_token(matchers, ["1"] * 5)
    with pytest.raises(TypeError, match="made of GrammarMatchers, not of str"):
        batch.batch_fill_next_token_bitmask([matchers[0], "no matcher"], mask)
    assert [m.n_steps for m in matchers] == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("threads", [0, -1, "x", 1.5, None, 5000, 2**40])
def test_wrong_numbers_of_threads(threads: Any) -> None:
    with pytest.raises(psc.MatcherError, match='max_threads must be "auto" or a number from 1 to 4096'):
        psc.BatchGrammarMatcher(threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_one_that_has_ended_does_not_keep_others_from_their_rows(threads: int) -> None:
    matchers = [m.fork() for m in several() * (1 if threads == 1 else 8)]
    ended = matchers[2].fork()
    matchers[2] = ended
    assert ended.accept_string("b")
    assert ended.accept_token(STOP)
    mask = np.full((len(matchers), 1), UNTOUCHED, np.int32)
    with pytest.raises(psc.MatcherError, match="terminated"):
        psc.BatchGrammarMatcher(threads).batch_fill_next_token_bitmask(matchers, mask)
    assert mask[2, 0] == UNTOUCHED
    assert all(bits(mask[i]) == allowed(m) for i, m in enumerate(matchers) if i != 2)


def test_batches_accept() -> None:
    matchers = several(4)
    accept = psc.BatchGrammarMatcher.batch_accept_token
    assert accept(matchers, [A, AB, X, STOP]) == [True, True, False, False]
    assert [m.n_steps for m in matchers] == [1, 3, 4, 6]
    assert accept(matchers, np.array([B, STOP, B, -1])) == [True, True, True, False]
    assert accept(matchers, (STOP, A, 2**33 + STOP, B), debug_print=True) == [True, False, False, True]
    assert accept([], []) == []
    strings = psc.BatchGrammarMatcher.batch_accept_string
    matchers = several(3)
    assert strings(matchers, ["aaa", b"ab", "x"]) == [True, True, False]
    assert strings(matchers, ["", "", bytearray(b"b")]) == [True, True, True]
    with pytest.raises(TypeError, match="str or bytes"):
        strings(matchers, ["", "", 1])
    assert strings([matchers[0]] * 3, ["a", "a", "b"]) == [True, True, True]  # in order


def test_batches_go_back() -> None:
    matchers, rollback = several(4), psc.BatchGrammarMatcher.batch_rollback
    rollback(matchers, [0, 2, 1, 6])
    assert [m.n_steps for m in matchers] == [0, 0, 3, 0]
    with pytest.raises(psc.MatcherError, match="matcher 0 cannot take back 1 steps: only 0"):  # differs: none has changed
        rollback([matchers[0], matchers[2]])
    with pytest.raises(psc.MatcherError, match="matcher 1 cannot take back 4 steps: only 2"):
        rollback([matchers[2], matchers[2]], [1, 4])
    assert matchers[2].n_steps == 3
    with pytest.raises(psc.MatcherError, match="size is 1, where there are 2 matchers"):
        rollback(matchers[:2], [1])
    with pytest.raises(psc.MatcherError, match="cannot take back -1"):
        rollback(matchers[:1], [-1])
    rollback([matchers[2], matchers[2]], [1, 1])
    assert matchers[2].n_steps == 1
    with pytest.raises(psc.MatcherError):
        rollback([matchers[2], matchers[2]], 1)  # together they are too many
    assert matchers[2].n_steps == 1


def test_batches_keep_what_they_work_on() -> None:
    """Matchers and texts that only the sequence itself makes."""
    compiled = psc.GrammarCompiler(INFO).compile_grammar('root ::= "a"*')
    made = (psc.GrammarMatcher(compiled) for _ in range(50))
    mask = np.zeros((50, 1), np.int32)
    psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(made, mask)
    assert (mask == 1 << A | 1 << STOP).all()
    matchers = [psc.GrammarMatcher(compiled) for _ in range(50)]
    assert all(psc.BatchGrammarMatcher.batch_accept_string(matchers, ("a" * i for i in range(50))))


def test_matchers_of_several_grammars_in_one_batch() -> None:
    other = tokenizer(["b", "bb"])
    matchers = [*several(3), matcher_of('root ::= "b"*', other)]
    mask = np.zeros((4, 1), np.int32)
    psc.BatchGrammarMatcher(1).batch_fill_next_token_bitmask(matchers, mask)
    assert [bits(row) for row in mask] == [allowed(m) for m in matchers]
    matchers.append(matcher_of('root ::= "b"*', byte_tokenizer()))
    with pytest.raises(psc.BitmaskError, match="words a row"):
        psc.BatchGrammarMatcher(1).batch_fill_next_token_bitmask(matchers, np.zeros((5, 1), np.int32))


if sys.platform == "linux":

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("temperature", [-0.1, float("inf"), float("-inf"), float("nan")])
def test_a_default_temperature_is_a_finite_non_negative_number(temperature: float) -> None:
    with pytest.raises(psc.MatcherError, match="finite non-negative"):
        matcher_of('root ::= "a"', default_temperature=temperature)
    with pytest.raises(TypeError):
        matcher_of('root ::= "a"', default_temperature="warm")


def test_temperatures_of_a_batch() -> None:
    matchers = [matcher_of('root ::= "a"', default_temperature=t) for t in (0.5, None, 2)]
    out = np.zeros(4, np.float32)
    psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out)
    assert out.tolist() == [0.5, -1, 2, 0]
    psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out[::-1], indices=[0, 1, 2])
    assert out.tolist() == [0.5, 2, -1, 0.5]
    psc.BatchGrammarMatcher.batch_fill_temperature([], out)
    assert (matchers[2].temperature, matchers[2].fork().temperature) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("out", "indices", "message"),
    [
        (np.zeros(2), None, "float32"),
        (np.zeros((2, 1), np.float32), None, "one dimension"),
        (np.zeros(1, np.float32), None, "entry 1"),
        (np.zeros(2, np.float32), [0, -1], "entry -1"),
        (np.zeros(2, np.float32), [0], "the indices size is 1, where there are 2 matchers"),
        ([0.0, 0.0], None, "float32"),
        (np.frombuffer(bytes(8), np.float32), None, "written to"),
    ],
)
def test_temperatures_of_a_batch_that_do_not_fit(out: Any, indices: list[int] | None, message: str) -> None:
    matchers = [matcher_of('root ::= "a"', default_temperature=1.0)] * 2
    with pytest.raises(psc.MatcherError, match=message):
        psc.BatchGrammarMatcher.batch_fill_temperature(matchers, out, indices)
    assert not np.any(out)
