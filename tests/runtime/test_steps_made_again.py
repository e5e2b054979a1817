"""Steps that are taken back and made again, as drafts are: whatever the order, a matcher is where its tokens lead."""

from __future__ import annotations

import random

import pytest
from vocabularies import tokenizer

import psc

TOKENS = [b"a", b"b", b"ab", b"ba", b"(", b")", b"()", b"1", b"12", b"+", b" ", b"1+", b"(a", b'"', b'"a"', b",", b"x"]
INFO = tokenizer(TOKENS)
GRAMMARS = {
    "one stack": 'root ::= "(" root? ")" root? | [ab]+ "," root | "x"\n',
    "several stacks": 'root ::= root "+" root | root root | "(" root ")" | [ab]+ | [0-9]+ | "ab" "a"* ","\n',
}


def compiled(name: str, *, closed: bool) -> psc.CompiledGrammar:
    if closed:
        return psc.compile_ahead_of_time(psc.Grammar.from_ebnf(GRAMMARS[name]), INFO)
    return psc.GrammarCompiler(INFO, store=False).compile_grammar(GRAMMARS[name])


def at(grammar: psc.CompiledGrammar, steps: list[int | bytes]) -> psc.GrammarMatcher:
    """A matcher that has never taken a step back."""
    matcher = psc.GrammarMatcher(grammar)
    for step in steps:
        assert matcher.accept_token(step) if isinstance(step, int) else matcher.accept_string(step)
    return matcher


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_taken_back_and_made_again(name: str, closed: bool, seed: int) -> None:
    rng = random.Random(seed)
    grammar = compiled(name, closed=closed)
    matcher, steps = psc.GrammarMatcher(grammar), []
    undone: list[int | bytes] = []
    for _ in range(150):
        kind = rng.random()
        if kind < 0.25 and steps:
            n = rng.randint(1, len(steps) if rng.random() < 0.1 else min(len(steps), 5))
            matcher.rollback(n)
            undone, steps = steps[-n:], steps[:-n]
        elif kind < 0.5 and undone:
            step = undone.pop(0)
            if isinstance(step, bytes):
                assert matcher.accept_string(step)
            else:
                assert matcher.accept_token(step)
            steps.append(step)
        elif kind < 0.9:
            undone = []
            token = rng.randrange(INFO.vocab_size)
            text = TOKENS[token] if token < len(TOKENS) and rng.random() < 0.2 else None
            if matcher.is_terminated():
                assert not matcher.accept_token(token)
            elif matcher.accept_token(token) if text is None else matcher.accept_string(text):
                steps.append(token if text is None else text)
        elif kind < 0.95:
            matcher = matcher.fork()
        else:
            assert not matcher.accept_token(-1)
        expected = at(grammar, steps)
        assert matcher.is_terminated() == expected.is_terminated() and matcher.n_steps == len(steps)
        if rng.random() < 0.5 and not matcher.is_terminated():
            assert matcher.allowed_tokens().tolist() == expected.allowed_tokens().tolist()


def test_a_fork_makes_none_of_them_again() -> None:
    grammar = compiled("one stack", closed=False)
    matcher = at(grammar, [TOKENS.index(b"x")])
    matcher.rollback(1)
    fork = matcher.fork()
    assert fork.accept_token(TOKENS.index(b"(")) and matcher.accept_token(TOKENS.index(b"x"))
    assert fork.allowed_tokens().tolist() == at(grammar, [TOKENS.index(b"(")]).allowed_tokens().tolist()
    assert matcher.allowed_tokens().tolist() == at(grammar, [TOKENS.index(b"x")]).allowed_tokens().tolist()
