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


BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
NESTED = "root ::= " + " | ".join(f'"{opens}" root "{closes}"' for opens, closes in BRACKETS.items()) + " | [a-z]"


def test_a_state_is_looked_into_after_few_masks() -> None:
    grammar, other = compiled(SMALL, NESTED), compiled(SMALL, NESTED)
    machine = grammar._machine
    assert machine.most_read == 0
    machine.most_read = 2
    n_visited = []
    for prefix in ("", "", "(", "[", "", "[(", "(", "{", "<"):
        matchers = [GrammarMatcher(g) for g in (grammar, other)]
        assert all(m.accept_string(prefix) for m in matchers)
        assert matchers[0].mask().tobytes() == matchers[1].mask().tobytes()
        n_visited.append(machine.counts()["visited_lexer_states"])
    # The very first is read whatever else is so, then two; and what was read is known wherever the top of the stack is the same.
    assert n_visited == [*[0] * 7, 1, 1]


def test_what_was_read_is_known_where_the_top_of_the_stack_is_the_same() -> None:
    grammar = compiled(LARGE, NESTED)
    most = grammar._machine.most_read
    assert most > 0
    n_visited = []
    for opened in itertools.product(BRACKETS, repeat=4):
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string("".join(opened) + "x")
        assert matcher.allowed_tokens().tolist() == [ord(BRACKETS[opened[-1]])]
        n_visited.append(grammar._machine.counts()["visited_lexer_states"])
    assert len(n_visited) > most
    assert not any(n_visited)


def test_what_was_read_is_told_apart_by_as_much_of_the_stack_as_a_token_can_close() -> None:
    tokens = [*LARGE, *(a.encode() + b.encode() for a in BRACKETS.values() for b in BRACKETS.values())]
    grammar = compiled(tokens, NESTED)
    for opened in itertools.product(BRACKETS, repeat=3):
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string("".join(opened) + "x")
        closed = "".join(BRACKETS[opens] for opens in reversed(opened))
        allowed = {tokens[token] for token in matcher.allowed_tokens()}
        assert allowed == {closed[:1].encode(), closed[:2].encode()}


def test_a_lexeme_that_begins_alike_in_two_places_is_that_of_the_place() -> None:
    text = """
        root ::= "a" long "a" | "b" short "b"
        long ::= "<" [a-z]{1,9} ">"
        short ::= "<" [a-z]{1,3} ">"
    """
    for most_read in (0, 9):
        grammar = compiled(SMALL, text)
        grammar._machine.most_read = most_read
        for prefix, allowed in (("a<xyz", b">abcdefghijklmnopqrstuvwxyz"), ("b<xyz", b">"), ("a<xyz>", b"a"), ("b<xyz>", b"b")):
            matcher = GrammarMatcher(grammar)
            assert matcher.accept_string(prefix)
            assert bytes(matcher.allowed_tokens().tolist()) == allowed
