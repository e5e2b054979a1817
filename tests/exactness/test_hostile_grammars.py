"""Grammars made to be expensive: what can be done in polynomial time is done, and the rest ends with an error that names a limit.

The bounds are on psc's own count of steps, so nothing here depends on how quick the machine is.
"""

import os
import random
from typing import Any

import numpy as np
import pytest
from vocabularies import tokenizer

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time

TOKENS = [b"x", b"a", b"b", b"c", b"aa", b"ab", b"ba", b"abab", b"aaaaa", b"babba", b"xxx", b"xxxxx", b"bcb", b"dd", b"."]
INFO = tokenizer(TOKENS)
STEPS_LIMIT = "steps for one token or mask: more than"

sanitized = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="a limit's worth of steps takes minutes there")


def nested(depth: int) -> str:
    body = '"x"'
    for _ in range(depth):
        body = f'("x" | {body})+'
    return f"root ::= {body}\n"


def matcher_of(text: str) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_grammar(text))


def walk(matcher: psc.GrammarMatcher, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        allowed = [t for t in matcher.allowed_tokens() if t < len(TOKENS)]
        assert matcher.accept_token(int(rng.choice(allowed)))


# Single masks of these took more than 20 seconds: sorting and searching of stacks made a steep power of a mild one.
MENDED = {
    "three of itself": 'root ::= root root root | "a" | "b"\n',
    "two or three of itself": 'root ::= r1 "a" root*\nr1 ::= r2 [ab]\nr2 ::= [ab]{0,1} | "a" | "ba" | [^c] | r1{2,3} | r2 r2\n',
    "counted itself": 'root ::= root{1,40} | "a" | [ab]{2} | ""\n',
}


@pytest.mark.parametrize("name", MENDED)
def test_a_long_ambiguous_text_is_read_within_the_limits(name: str) -> None:
    matcher = matcher_of(MENDED[name])
    walk(matcher, random.Random(1), 6 if "PSC_SANITIZED" in os.environ else 12)


MANY_STACKS = """\
root ::= r1+ "aa" | r1*
r1 ::= root{0,2} r3 root{2,} | "aba"?
r2 ::= [a-ba]{2} root | [a-aa-c]
r3 ::= ([^a-ba]{2,} [^ab]{1,3}){1,3} (([aa-ca-c]{2,} r2{2} root{0,1}){0,1} | r3)? | (root{2,} r2){2}
"""


@sanitized
def test_a_mask_over_many_stacks() -> None:
    """Hundreds of classifier states read each of thousands of nodes, and went on to each of their parents apart."""
    matcher = matcher_of(MANY_STACKS)
    assert matcher.accept_string("cacabacaaabacbbaaacaccaacccbbcbcabaaababbccacacbcabbccbbaabacacabacaaaba")
    assert len(matcher.allowed_tokens()) == INFO.vocab_size


def reached_the_limit(matcher: psc.GrammarMatcher, token: bytes) -> None:
    """Reads a token again and again until a mask costs too much."""
    for _ in range(40):
        try:
            matcher.mask()
        except psc.ResourceLimitError as error:
            assert STEPS_LIMIT in str(error)
            return
        assert matcher.accept_token(TOKENS.index(token))
    raise AssertionError("no limit was reached")


@sanitized
def test_a_mask_that_costs_too_much_leaves_the_matcher_as_it_was() -> None:
    matcher = matcher_of(nested(60))
    before = np.copy(matcher.mask())
    reached_the_limit(matcher, b"xxx")
    steps = matcher.n_steps
    assert steps > 0
    with pytest.raises(psc.ResourceLimitError, match=STEPS_LIMIT):  # and once more, from the same place
        matcher.mask()
    assert matcher.fork().accept_token(TOKENS.index(b"x"))  # one token costs less than all of them
    assert matcher.n_steps == steps and not matcher.is_terminated()
    matcher.rollback(steps)
    np.testing.assert_array_equal(matcher.mask(), before)
    assert matcher.accept_token(TOKENS.index(b"x"))
    assert TOKENS.index(b"x") in matcher.allowed_tokens()


def ahead_of_time(text: str) -> Any:
    return compile_ahead_of_time(psc.Grammar.from_ebnf(text), INFO)


HOSTILE = """\
root ::= "b" r1 r1* | [a-c]{1,3} r1+ | [^a] | r2
r1 ::= ([a-c]{2} [aé] root | root{1,3}){2} [^ab.] ("" | r3 r3?) | [^é]{1,3}
r2 ::= "" | [^ab.]{2,} "b"{2,} ([^ab.]+ ("é"{0,2} "é漢"{1,3} | "aadd" "d"{2} | "é漢"* ".")+ "\\u00E9b"*)*
r3 ::= "a" (root{2,} | "" | [^é] root{0,2} "d"{2,}){2,} | "b" r3 root* | "d" [a-d] ("."{1,3}){0,1}
"""


@sanitized
@pytest.mark.slow
def test_a_classifier_that_seems_to_have_no_end() -> None:
    """Closing it went on for more than 20 minutes once, and was given up by a guess later."""
    found = ahead_of_time(HOSTILE)
    assert not found.is_lazy
    ours, theirs = psc.GrammarMatcher(found), matcher_of(HOSTILE)
    rng = random.Random(1)
    for _ in range(6):
        np.testing.assert_array_equal(ours.mask(), theirs.mask())
        token = int(rng.choice([t for t in theirs.allowed_tokens() if t < len(TOKENS)]))
        assert ours.accept_token(token) and theirs.accept_token(token)


@sanitized
def test_hundreds_of_rules_that_may_be_empty() -> None:
    """Each of 400 terminals reduces by the same long productions; what they reduce to is found once."""
    rules = "".join(f'r{i} ::= "<{i}>" root | ""\n' for i in range(100))
    matcher = matcher_of(f"root ::= {' '.join(f'r{i}' for i in range(100))}\n{rules}")
    assert matcher.accept_string("<3><1><2>")
    assert matcher.is_completed()
    assert not matcher.accept_string("<100>")
