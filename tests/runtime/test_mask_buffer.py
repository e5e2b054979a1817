"""The bitmask of a batch that is used again: whatever was in its rows, they are the masks that matchers make one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hostile_texts import COSTLY_MASKS
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc._core import MaskBuffer

# So many that a row may be stored as the few ids allowed, the few refused, or all bits; the last word is not full.
LETTERS = "abcdefgh"
TOKENS = [bytes([b]) for b in b'abcdefgh"{}:,0123456789 '] + sorted(
    {"".join(random.Random(i).choices(LETTERS, k=2 + i % 4)).encode() for i in range(1900)}
)
INFO = tokenizer(TOKENS)
END = len(TOKENS)
ALL = -1
GRAMMARS = {
    "names and texts": 'root ::= "{" ("abc" | "def") ":" "\\"" [a-h]* "\\"" ("," [0-9]+)* "}"',
    "all but a few": 'root ::= [^{}]+ "{"',
    "one word": 'root ::= "abcdefgh"',
    "one of two": 'root ::= "ab" [c-h]+ | "aba" "1"*',
    "ambiguous": 'root ::= root root | "a" | "b" | "ab" | "{" root "}"',
}
SEEDS = st.integers(0, 2**32)


def compiled(name: str, closed: bool = False, cache: int = -1) -> psc.CompiledGrammar:
    if closed:
        return psc.compile_ahead_of_time(psc.Grammar.from_ebnf(GRAMMARS[name]), INFO)
    return psc.GrammarCompiler(INFO, store=False, cache_limit_bytes=cache).compile_grammar(GRAMMARS[name])


KEPT = {(name, closed): compiled(name, closed) for name in GRAMMARS for closed in (False, True)}


def at(grammar: psc.CompiledGrammar, tokens: list[int], **more: object) -> psc.GrammarMatcher:
    """A matcher after tokens, none of which was ever taken back."""
    matcher = psc.GrammarMatcher(grammar, **more)
    for token in tokens:
        assert matcher.accept_token(token)
    return matcher


def rows_along(grammar: psc.CompiledGrammar, tokens: list[int], drafts: list[int]) -> tuple[np.ndarray, int | None]:
    """What a request's rows have to be, and which draft is refused: each row made by a matcher of its own."""
    rows = np.full((len(drafts) + 1, -(-INFO.vocab_size // 32)), ALL, np.int32)
    for k in range(len(drafts) + 1):
        matcher = at(grammar, tokens + drafts[:k])
        if matcher.is_terminated():
            return rows, None
        matcher.fill_next_token_bitmask(rows, k)
        if k < len(drafts) and drafts[k] == -1:
            return rows, None
        if k < len(drafts) and not matcher.accept_token(drafts[k]):
            rows[k:] = rows[k]
            return rows, k
    return rows, None


def some_drafts(rng: random.Random, grammar: psc.CompiledGrammar, tokens: list[int]) -> list[int]:
    """Mostly tokens that are allowed, the end among them; now and then one that is not, or padding."""
    matcher, drafts = at(grammar, tokens), []
    for _ in range(rng.randrange(6)):
        if rng.random() < 0.15 or matcher.is_terminated():
            drafts.append(rng.choice([-1, 0, 7, END, INFO.vocab_size, -5, 2**40]))
            continue
        allowed = matcher.allowed_tokens().tolist()
        drafts.append(rng.choice(allowed) if allowed else 0)
        matcher.accept_token(drafts[-1])
    return drafts


@given(seed=SEEDS, threads=st.sampled_from([1, 3]))
def test_rows_are_those_of_each_matcher(seed: int, threads: int) -> None:
    rng = random.Random(seed)
    buffer = MaskBuffer(40, INFO.vocab_size, threads)
    grammars = [KEPT[rng.choice(list(GRAMMARS)), rng.random() < 0.5] for _ in range(4)]
    texts: list[list[int]] = [[] for _ in grammars]
    matchers = [psc.GrammarMatcher(g) for g in grammars]
    for _ in range(8):
        order = rng.sample(range(4), rng.randint(1, 4))
        drafts = [some_drafts(rng, grammars[i], texts[i]) for i in order]
        firsts, end = [], 0
        for own in drafts:
            firsts.append(end + rng.randrange(3))
            end = firsts[-1] + len(own) + 1
        if rng.random() < 0.3:  # as an engine does before
            for i, own in zip(order, drafts, strict=True):
                matchers[i].validate_tokens(own)
        who = [None if rng.random() < 0.1 else matchers[i] for i in order]
        if rng.random() < 0.2:
            row = rng.randrange(38)
            buffer.rows[row : row + 2] = rng.choice([0, ALL, 5])
            buffer.forget(row, 2)
        steps = [m.n_steps for m in matchers]
        remarks = buffer.fill(who, drafts, firsts)
        assert steps == [m.n_steps for m in matchers]
        expected = []
        for k, (i, own, first) in enumerate(zip(order, drafts, firsts, strict=True)):
            rows, refused = rows_along(grammars[i], texts[i], own) if who[k] else (np.full((len(own) + 1, 1), ALL), None)
            np.testing.assert_array_equal(
                buffer.rows[first : first + len(own) + 1], np.broadcast_to(rows, (len(own) + 1, buffer.rows.shape[1]))
            )
            expected += [(k, at_row, "empty") for at_row in range(len(own) + 1) if not rows[at_row].any()]
            expected += [] if refused is None else [(k, refused, "refused")]
        assert remarks == expected
        for i in range(4):
            if matchers[i].is_terminated() or rng.random() < 0.1:
                texts[i], _ = [], matchers[i].reset()
            elif allowed := matchers[i].allowed_tokens().tolist():
                texts[i].append(rng.choice(allowed))
                assert matchers[i].accept_token(texts[i][-1])


def test_rows_of_a_cache_that_is_begun_anew() -> None:
    """A row is known by its cache: ids of one mean other rows in the next, and what a cache had is gone with it."""
    rng = random.Random(3)
    buffer = MaskBuffer(3, INFO.vocab_size, 1)
    grammar = compiled("names and texts", cache=1)
    matchers = [psc.GrammarMatcher(grammar) for _ in range(3)]
    texts: list[list[int]] = [[], [], []]
    for _ in range(200):
        assert buffer.fill(matchers, [[]] * 3, range(3)) == []
        for i, matcher in enumerate(matchers):
            np.testing.assert_array_equal(buffer.rows[i], at(KEPT["names and texts", False], texts[i]).mask())
            texts[i].append(rng.choice(matcher.allowed_tokens().tolist()))
            assert matcher.accept_token(texts[i][-1])
            if matcher.is_terminated():
                texts[i] = []
                matchers[i] = psc.GrammarMatcher(compiled("names and texts", cache=1) if rng.random() < 0.3 else grammar)


@given(seed=SEEDS, own_end=st.booleans())
def test_tokens_at_once_are_those_one_by_one(seed: int, own_end: bool) -> None:
    rng = random.Random(seed)
    grammar = KEPT[rng.choice(list(GRAMMARS)), rng.random() < 0.5]
    more = {"override_stop_tokens": [TOKENS.index(b"h")]} if own_end else {}
    matcher, text = psc.GrammarMatcher(grammar, **more), []
    for _ in range(10):
        single = at(grammar, text, **more)
        drafts = []
        for _ in range(rng.randrange(6)):
            choices = [] if single.is_terminated() or rng.random() < 0.1 else single.allowed_tokens().tolist()
            drafts.append(rng.choice(choices) if choices else rng.choice([-1, 0, END, 2**40]))
            single.accept_token(drafts[-1])
        single = at(grammar, text, **more)
        taken = 0
        while taken < len(drafts) and single.accept_token(drafts[taken]):
            taken += 1
        assert matcher.validate_tokens(drafts) == taken and matcher.n_steps == len(text)
        if rng.random() < 0.7:
            assert matcher.accept_tokens(drafts) == taken
            text += drafts[:taken]
            assert matcher.is_terminated() == single.is_terminated()
        if not matcher.is_terminated():
            np.testing.assert_array_equal(matcher.mask(), at(grammar, text, **more).mask())
        else:
            matcher.reset()
            text = []


@pytest.mark.parametrize(
    "drafts, rows, message",
    [
        ([[], []], [0], "size is 1"),
        ([[]], [0, 1], "size is 1"),
        ([[], []], [1, 0], "behind those of the request before"),
        ([[1, 2], []], [0, 2], "behind those of the request before"),
        ([[], [1]], [0, 3], "of a bitmask of 4 rows"),
        ([[], []], [-1, 0], "rows -1"),
        ([[], []], [0, 2**40], "of a bitmask of 4 rows"),
        ([[], [1] * 9], [0, 1], "of a bitmask of 4 rows"),
    ],
)
def test_rows_that_are_not_there(drafts: list[list[int]], rows: list[int], message: str) -> None:
    buffer = MaskBuffer(4, INFO.vocab_size)
    matchers = [psc.GrammarMatcher(KEPT["one word", False]) for _ in range(2)]
    with pytest.raises(psc.PscError, match=message):
        buffer.fill(matchers, drafts, rows)
    assert (buffer.rows == ALL).all()


def test_what_is_no_matcher_or_of_another_vocabulary() -> None:
    buffer = MaskBuffer(4, INFO.vocab_size + 1)
    with pytest.raises(psc.BitmaskError, match="matcher 0 has a vocabulary of"):
        buffer.fill([psc.GrammarMatcher(KEPT["one word", False])], [[]], [0])
    with pytest.raises(TypeError):
        buffer.fill([3], [[]], [0])
    with pytest.raises(psc.BitmaskError, match="rows 4"):
        buffer.forget(4)
    with pytest.raises(psc.MatcherError, match="max_threads"):
        MaskBuffer(4, 8, 0)
    with pytest.raises(psc.BitmaskError):
        MaskBuffer(4, 0)


def test_the_rows_outlive_the_buffer() -> None:
    buffer = MaskBuffer(2, INFO.vocab_size)
    rows = buffer.rows
    buffer.fill([psc.GrammarMatcher(KEPT["one word", False])], [[]], [1])
    del buffer
    assert (rows[0] == ALL).all()
    np.testing.assert_array_equal(rows[1], psc.GrammarMatcher(KEPT["one word", False]).mask())


def hostile(tokens: int = 40) -> psc.GrammarMatcher:
    """A matcher whose mask needs more steps than it may take."""
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_grammar(COSTLY_MASKS), max_steps=200)
    for _ in range(tokens):
        assert matcher.accept_string("a")
    return matcher


def test_a_limit_of_steps_is_of_the_matcher_and_its_forks() -> None:
    matcher = hostile()
    for each in (matcher, matcher.fork()):
        with pytest.raises(psc.ResourceLimitError, match="steps for one token or mask: more than 200"):
            each.mask()
    assert psc.GrammarMatcher(matcher.compiled).accept_string("a" * 40)
    with pytest.raises(psc.MatcherError, match="max_steps"):
        psc.GrammarMatcher(matcher.compiled, max_steps=0)


@pytest.mark.parametrize("drafts", [[], [0, 1]])
def test_a_buffer_says_whose_masks_cannot_be_made(drafts: list[int]) -> None:
    good = [psc.GrammarMatcher(KEPT["all but a few", False]) for _ in range(15)]
    bad = hostile()
    matchers = [*good[:5], bad, *good[5:]]
    n = len(drafts) + 1
    buffer = MaskBuffer(16 * n, INFO.vocab_size)
    buffer.rows[:] = 3
    buffer.forget(0, 16 * n)
    ((who, k, error),) = buffer.fill(matchers, [drafts] * 16, range(0, 16 * n, n))
    assert (who, k) == (5, 0) and isinstance(error, psc.ResourceLimitError)
    expected, _ = rows_along(KEPT["all but a few", False], [], drafts)
    for i in range(16):
        np.testing.assert_array_equal(buffer.rows[i * n : i * n + n], expected if i != 5 else np.full_like(expected, ALL))
    assert bad.n_steps == 40


def test_a_batch_says_which_rows_were_not_filled() -> None:
    grammar = KEPT["names and texts", False]
    ended = at(KEPT["one word", False], [*map(TOKENS.index, (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h")), END])
    matchers = [psc.GrammarMatcher(grammar) for _ in range(16)]
    matchers[3], matchers[9] = hostile(), ended
    rows = np.full((16, -(-INFO.vocab_size // 32)), 7, np.int32)
    with pytest.raises(psc.ResourceLimitError) as raised:
        psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, rows)
    failures = raised.value.failures
    assert list(failures) == [3, 9]
    assert isinstance(failures[3], psc.ResourceLimitError) and str(raised.value).endswith(f": {failures[3]}")
    assert str(raised.value).startswith("matcher 3 of ")
    assert isinstance(failures[9], psc.MatcherError) and "terminated" in str(failures[9])
    for i in set(range(16)) - {3, 9}:
        np.testing.assert_array_equal(rows[i], psc.GrammarMatcher(grammar).mask())
    with pytest.raises(psc.MatcherError) as wrong:
        psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, rows, [0])
    assert not hasattr(wrong.value, "failures")
