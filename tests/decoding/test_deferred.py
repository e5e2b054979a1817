"""Deferred activation: free before the trigger, the grammar after it, with rollback and forks across it."""

import random

import numpy as np
import pytest
from vocabularies import byte_tokenizer

from psc.decoding import DeferredGrammar, DeferredMatcher, Trigger
from psc.decoding.deferred import accept_free_tokens
from psc.errors import MatcherError
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.runtime.compiled import GrammarMatcher

INFO = byte_tokenizer("</", "think", ">", '>{"', ">\n\n", '>\n\n{"', "</think>")
STOP = INFO.stop_token_ids[0]
COMPILED = compile_just_in_time(Grammar.from_ebnf('root ::= "{" "\\"" [a-z]* "\\"" "}"'), INFO)
GRAMMAR = DeferredGrammar(COMPILED, "</think>")
PIECES = {INFO.token_bytes(i): i for i in range(INFO.vocab_size)}


def tokens(*pieces: str) -> list[int]:
    return [PIECES[p.encode()] for p in pieces]


def after(*pieces: str) -> DeferredMatcher:
    matcher = GRAMMAR.matcher()
    for token in tokens(*pieces):
        assert matcher.accept_token(token)
    return matcher


def mask(matcher: DeferredMatcher | GrammarMatcher) -> np.ndarray:
    bitmask = np.zeros((1, -(-INFO.vocab_size // 32)), np.int32)
    matcher.fill_next_token_bitmask(bitmask)
    return bitmask[0]


def mask_of_text(text: str) -> np.ndarray:
    matcher = GrammarMatcher(COMPILED)
    assert not text or matcher.accept_string(text)
    return mask(matcher)


def test_free_before_constrained_after() -> None:
    matcher = after("a", "<", "b", "</", "think")
    assert not matcher.active
    assert matcher.matcher is None
    assert (mask(matcher) == -1).all()
    assert matcher.accept_token(*tokens(">"))
    assert matcher.active
    np.testing.assert_array_equal(mask(matcher), mask_of_text(""))
    assert not matcher.accept_token(*tokens("a"))
    assert matcher.n_steps == 6
    for token in [*tokens("{", '"', "a", '"}'), STOP]:
        assert matcher.accept_token(token)
    assert matcher.is_terminated()


@pytest.mark.parametrize(
    ("last", "text", "dropped"),
    [(">", "", b""), ('>{"', '{"', b""), (">\n\n", "", b"\n\n"), ('>\n\n{"', '{"', b"\n\n")],
)
def test_rest_of_the_token_with_the_trigger(last: str, text: str, dropped: bytes) -> None:
    matcher = after("</", "think", last)
    np.testing.assert_array_equal(mask(matcher), mask_of_text(text))
    assert matcher.dropped == dropped
    assert matcher.n_steps == 3


def test_stop_in_the_free_text() -> None:
    matcher = after("a")
    assert matcher.accept_token(STOP)
    assert matcher.is_terminated()
    assert not matcher.is_completed()
    assert not matcher.accept_token(*tokens("a"))
    with pytest.raises(MatcherError, match="before the trigger"):
        mask(matcher)
    matcher.rollback()
    assert not matcher.is_terminated()
    assert matcher.accept_token(*tokens("</think>"))
    assert matcher.active


def test_no_such_token() -> None:
    matcher = after("a")
    assert not matcher.accept_token(-1)
    assert not matcher.accept_token(INFO.vocab_size)
    assert matcher.n_steps == 1


@pytest.mark.parametrize("last", [">", '>{"'])
def test_every_rollback_and_fork(last: str) -> None:
    """Back by any number of tokens is where a matcher is that never went further, also in forks."""
    rest = ["a", "b", '"}'] if last == '>{"' else ["{", '"', "a", '"}']
    pieces = ["a", "</", "think", last, *rest]
    whole = after(*pieces)
    for n in range(len(pieces) + 1):
        fork = whole.fork()
        fork.rollback(n)
        expected = after(*pieces[: len(pieces) - n])
        assert (fork.active, fork.n_steps, fork.dropped) == (expected.active, expected.n_steps, expected.dropped)
        np.testing.assert_array_equal(mask(fork), mask(expected))
        for piece in pieces[len(pieces) - n :]:
            assert fork.accept_token(*tokens(piece))
        np.testing.assert_array_equal(mask(fork), mask(whole))
    assert whole.n_steps == len(pieces)


def test_reset_and_bounds_of_rollback() -> None:
    matcher = after("</think>", "{")
    for wrong in (3, -1):
        with pytest.raises(MatcherError, match="2 tokens were accepted"):
            matcher.rollback(wrong)
    assert matcher.n_steps == 2
    matcher.reset()
    assert (matcher.active, matcher.n_steps) == (False, 0)


def test_random_walks_agree_with_text() -> None:
    """At every place the mask is the grammar's after the text that follows the trigger."""
    rng = random.Random(3)
    pieces = tokens("</", "think", ">", '>{"', ">\n\n", "{", '"', "a", "</think>", '"}')
    n_active = 0
    for _ in range(300):
        matcher = GRAMMAR.matcher()
        text = b""
        reference: GrammarMatcher | None = None
        for _ in range(12):
            token = rng.choice(pieces)
            if reference is None:
                assert matcher.accept_token(token)
                text += INFO.token_bytes(token)
                where = text.find(b"</think>")
                if where >= 0:
                    n_active += 1
                    reference = GrammarMatcher(COMPILED)
                    rest = text[where + len("</think>") :].lstrip()
                    assert not rest or reference.accept_string(rest) or matcher.dropped
            else:
                assert matcher.accept_token(token) == reference.accept_token(token)
            assert matcher.active == (reference is not None)
            if reference is not None:
                np.testing.assert_array_equal(mask(matcher), mask(reference))
    assert n_active > 100


def test_what_a_table_is_asked() -> None:
    free, triggering, active, plain = after("a"), after("</", "think"), after("</think>"), GrammarMatcher(COMPILED)
    ended = after(INFO.token_bytes(PIECES[b"a"]).decode())
    assert ended.accept_token(STOP)
    given = [PIECES[b"b"], PIECES[b'>{"'], PIECES[b"{"], PIECES[b"{"], PIECES[b"a"], -1]
    matchers = [free, triggering, active, plain, ended, None]
    native, left, refused = accept_free_tokens(matchers, given)
    assert native == [None, triggering.matcher, active.matcher, plain, None, None]
    assert left == [-1, -1, PIECES[b"{"], PIECES[b"{"], -1, -1]
    assert refused == [4]
    assert accept_free_tokens(matchers, None)[1] is None


def test_matcher_with_a_past_is_refused() -> None:
    used = GrammarMatcher(COMPILED)
    assert used.accept_token(PIECES[b"{"])
    with pytest.raises(MatcherError, match="already"):
        DeferredMatcher(used, Trigger("x", INFO))
    active = after("</think>")
    with pytest.raises(MatcherError, match="trigger has appeared"):
        active.accept_free(1)
