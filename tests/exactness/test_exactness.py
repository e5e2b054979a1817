"""Masks against the oracle: on random grammars, along random walks and after every short history; and mask against accept."""

import random
from collections.abc import Sequence

import strategies
from bounded import bounded
from hypothesis import assume, given
from hypothesis import strategies as st
from languages import allowed, replay
from lark_grammars import lark_text
from oracle import Oracle, Undecided
from vocabularies import tokenizer

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time


def compile_text(text: str, tokens: Sequence[bytes]) -> psc.CompiledGrammar:
    try:
        return psc.GrammarCompiler(tokenizer(tokens)).compile_lark(text, lexer="basic")
    except psc.ResourceLimitError:
        assume(False)
        raise


def check_here(compiled: psc.CompiledGrammar, oracle: Oracle, tokens: Sequence[bytes], history: Sequence[int]) -> list[int]:
    """The whole mask after `history` against the oracle, and against accept_token; the text tokens allowed."""
    prefix = b"".join(tokens[i] for i in history)
    got = allowed(replay(compiled, history), len(tokens) + 1)
    try:
        want = [*oracle.allowed(prefix, tokens), oracle.eos_allowed(prefix)]
    except Undecided:
        assume(False)  # a fall-back that goes on for ever
    assert got == want, (prefix, [(*tokens, b"<stop>")[i] for i in range(len(got)) if got[i] != want[i]])
    # accept_token on a fresh matcher that has computed no mask, for every token.
    for token, bit in enumerate(got):
        matcher = replay(compiled, history)
        assert matcher.accept_token(token) == bit
        assert matcher.is_terminated() == (bit and token == len(tokens))
    return [i for i in range(len(tokens)) if got[i]]


def walk(text: str, tokens: Sequence[bytes], seed: int, walks: int, steps: int) -> None:
    compiled, oracle, rng = compile_text(text, tokens), Oracle(text), random.Random(seed)
    for _ in range(walks):
        history: list[int] = []
        for _ in range(steps):
            choices = check_here(compiled, oracle, tokens, history)
            if not choices:
                break
            history.append(rng.choice(choices))


@given(text=strategies.grammars(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_random_grammars(text: str, tokens: list[bytes], seed: int) -> None:
    walk(text, tokens, seed, walks=2, steps=6)


@given(text=strategies.grammars(fancy=True), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_random_grammars_with_lookaround_and_laziness(text: str, tokens: list[bytes], seed: int) -> None:
    try:
        walk(text, tokens, seed, walks=2, steps=6)
    except psc.GrammarError as error:
        assert "matches no text at all" in str(error) or "matches the empty string" in str(error)


@given(text=strategies.grammars(), tokens=strategies.vocabularies(max_size=5))
@bounded
def test_every_short_history(text: str, tokens: list[bytes]) -> None:
    compiled, oracle = compile_text(text, tokens), Oracle(text)
    reached: list[tuple[int, ...]] = [()]
    for _ in range(4):
        reached = [(*h, t) for h in reached for t in check_here(compiled, oracle, tokens, h)][:40]


def test_a_rule_that_derives_itself_terminates() -> None:
    """Lark resolves this one into tables that reduce for ever after `a`; compiling and masking must end all the same."""
    compiled = compile_text('start: z "b" | "c" "b"\nz: x\nx: "a" | y\ny.2: x\n', [b"a", b"b", b"c"])
    matcher = psc.GrammarMatcher(compiled)
    assert allowed(matcher, 4) == [True, False, True, False]
    assert matcher.accept_token(2)
    assert allowed(matcher, 4) == [False, True, False, False]


def test_a_fall_back_with_exponentially_many_futures() -> None:
    text = 'start: (T2 | T3 | r2)+\nr2: "é"\nT0: "a"\nT2: "d"\nT3: /(?:d|é){2}[ab]/\n%ignore T0\n'
    walk(text, [b"d", "é".encode(), b"a", b"b", b"\xc3", b"da", b"dd"], seed=1, walks=3, steps=6)


def test_a_small_grammar_whose_lexeme_fails_in_thousands_of_ways() -> None:
    """As lists of terminals the ways in which T fails, after each text, were more than a limit allows."""
    text = 'start: (A B | B A A)* T?\nA: "a"\nB: "b"\nT: /[ab]{10}d/'
    compiled = compile_ahead_of_time(psc.Grammar.from_lark(text, lexer="basic"), tokenizer([b"a", b"b", b"d", b"ab", b"abaabab"]))
    check_here(compiled, Oracle(text), [b"a", b"b", b"d", b"ab", b"abaabab"], [3, 1])


def test_json() -> None:
    printable = [bytes([b]) for b in range(32, 127)]
    more = ['": "', '",', '{"', "[1", "true", " null", '"}', "}]", "\n", "\\u00", "1.5e", "-", "00", '\\"', '"a":[', "  ", "é"]
    tokens = [*printable, *(m.encode() for m in more), b"\xc3", b"\xa9", b"\xf0\x9f", b"\x80"]
    walk(lark_text("json"), tokens, seed=5, walks=6, steps=25)
