"""Whatever a matcher tries and takes back, with a fork alive: what it holds afterwards, and that its memory is its own.

Each of these calls allocates stacks that it gives back. The fork shares the matcher's memory, so going back ends in a chunk that
is not the matcher's alone; what is accepted afterwards must not be written behind that chunk. The sanitizer build sees the write
itself; the other builds see the process die, or masks that differ from a matcher's that never tried anything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from vocabularies import byte_tokenizer

import psc
from psc._core import MatcherView
from psc.grammars.compiled_grammar import compile_ahead_of_time

Call = Callable[[psc.GrammarMatcher], object]


def places(matcher: psc.GrammarMatcher) -> list[tuple[int, list[int]]]:
    """Lexer states and parser stacks."""
    return MatcherView(matcher).configurations()


def draft_tree(matcher: psc.GrammarMatcher) -> None:
    """A chain of eight brackets, a refused token beside each."""
    n = 17
    child, sibling, token = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for depth in range(8):
        taken, refused = 2 * depth + 1, 2 * depth + 2
        child[max(0, taken - 2)] = taken
        sibling[taken] = refused
        token[taken], token[refused] = ord("["), ord("}")
    assert matcher.traverse_draft_tree(child, sibling, token, np.zeros((n, matcher.mask().size), np.int32))


def part_of_it(matcher: psc.GrammarMatcher) -> None:
    assert matcher.accept_prefix(b"[" * 40 + b"]" * 5 + b"x") == 45
    matcher.rollback(1)


CALLS: dict[str, Call] = {
    "find_jump_forward_string": lambda m: m.find_jump_forward_string(),
    "accept_string, refused": lambda m: m.accept_string(b"[" * 30 + b"}"),
    "accept_string, refused at once": lambda m: m.accept_string(b"}"),
    "accept_prefix, nothing of it": lambda m: m.accept_prefix(b"}"),
    "accept_prefix, a part of it": part_of_it,
    "accept_token, refused": lambda m: m.accept_token(ord("}")),
    "is_completed": lambda m: m.is_completed(),
    "expected_terminals": lambda m: m.expected_terminals(),
    "continuations": lambda m: MatcherView(m).continuations(),
    "stacks_after": lambda m: [MatcherView(m).stacks_after(0, [t]) for t in range(3)],
    "traverse_draft_tree": draft_tree,
}
GRAMMARS = {
    "deterministic": 'start: value\n?value: "[" [value ("," value)*] "]" | "1"\n',
    # Two ways for every bracket: several stacks, so that every step goes along a graph.
    "ambiguous": 'root ::= value\nvalue ::= "[" list "]" | "1"\nlist ::= "" | value | list "," list | value list\n',
}


@pytest.fixture(scope="module", params=["deterministic", "ambiguous", "json", "ahead of time"])
def compiled(request: pytest.FixtureRequest) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(byte_tokenizer())
    if request.param == "json":
        return compiler.compile_builtin_json_grammar()
    if request.param == "ambiguous":
        return compiler.compile_grammar(GRAMMARS["ambiguous"])
    if request.param == "ahead of time":
        return compile_ahead_of_time(psc.Grammar.from_lark(GRAMMARS["deterministic"]), byte_tokenizer())
    return compiler.compile_lark(GRAMMARS["deterministic"])


@pytest.mark.parametrize("name", CALLS)
def test_what_is_tried_with_a_fork_alive(compiled: psc.CompiledGrammar, name: str) -> None:
    for depth in (0, 1, 2, 3, 4, 5, 6, 7, 8, 40):  # the chunk that is shared is more or less full
        check(compiled, CALLS[name], depth)


def check(compiled: psc.CompiledGrammar, call: Call, depth: int) -> None:
    matcher, fresh = psc.GrammarMatcher(compiled), psc.GrammarMatcher(compiled)
    for _ in range(depth):
        assert matcher.accept_token(ord("["))
        assert fresh.accept_token(ord("["))
    fork = matcher.fork()
    call(matcher)
    for _ in range(100):
        assert matcher.accept_token(ord("["))
        assert fresh.accept_token(ord("["))
        call(fork)
    assert places(matcher) == places(fresh)
    assert np.array_equal(matcher.mask(), fresh.mask())
    fresh.rollback(100)
    assert places(fork) == places(fresh)
    assert np.array_equal(fork.mask(), fresh.mask())


def test_deep_brackets_after_a_jump_forward() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer()).compile_builtin_json_grammar()
    matcher = psc.GrammarMatcher(compiled)
    for _ in range(7):
        assert matcher.accept_token(ord("["))
    fork = matcher.fork()
    assert matcher.find_jump_forward_string() == ""
    for _ in range(3000):
        assert matcher.accept_token(ord("["))
    assert matcher.accept_string(b"]" * 3007)
    assert matcher.is_completed()
    assert fork.accept_string(b"]" * 7)
    assert fork.is_completed()
