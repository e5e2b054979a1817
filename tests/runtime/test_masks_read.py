"""Masks for which tokens are read: the first few in each state of the lexer, where the vocabulary is large."""

from __future__ import annotations

import itertools

import psc
from psc import GrammarCompiler, GrammarMatcher, TokenizerInfo

SMALL = [bytes([byte]) for byte in range(256)]
LARGE = SMALL + [bytes(pair) for pair in itertools.product(b"abcdefghijklmnopqrstuvwxyz", repeat=2)] * 6


def compiled(tokens: list[bytes], text: str) -> psc.CompiledGrammar:
    info = TokenizerInfo.from_tokens(tokens, special_token_ids=[0], stop_token_ids=[0])
    return GrammarCompiler(info, store=False, registry=False).compile_grammar(text)


def test_a_state_is_looked_into_after_few_masks() -> None:
    text = 'root ::= "(" root ")" | "x"'
    grammar, other = compiled(SMALL, text), compiled(SMALL, text)
    machine = grammar._machine
    assert machine.most_read == 0
    machine.most_read = 2
    n_visited = []
    for prefix in ("", "", "(", "((", "", "(", "(((", "(((("):
        matchers = [GrammarMatcher(g) for g in (grammar, other)]
        assert all(m.accept_string(prefix) for m in matchers)
        assert matchers[0].mask().tobytes() == matchers[1].mask().tobytes()
        n_visited.append(machine.counts()["visited_lexer_states"])
    # The very first is read whatever else is so, then two; and what was read is known at the same place.
    assert n_visited == [0, 0, 0, 0, 0, 0, 1, 1]


def test_a_large_vocabulary_has_its_first_masks_read() -> None:
    grammar = compiled(LARGE, 'root ::= "(" root ")" | [a-z]')
    most = grammar._machine.most_read
    assert most > 0
    n_visited = []
    for depth in range(most + 3):
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string("(" * depth)
        assert matcher.allowed_tokens().tolist() == [ord("("), *range(ord("a"), ord("z") + 1)]
        n_visited.append(grammar._machine.counts()["visited_lexer_states"])
    assert n_visited == [*[0] * (most + 1), 1, 1]
