"""Texts of an automaton whose length the lexer counts beside it, against the same with a state for each count.

The native core counts in states that are made as texts come to them (native/terminals/subsets.hpp); many of them share a mask.
`written_out` makes the automaton of all counts, which has nothing of that.
"""

from __future__ import annotations

import dataclasses
import random
from functools import cache

import numpy as np
import pytest

import psc
from psc import _core
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.words import NativeRules
from psc.compiler.frontends.parsed import ParsedRules

LETTERS = "ab(é漢"
COUNTED = 7


@cache
def _vocabulary(longest: int) -> psc.TokenizerInfo:
    rng = random.Random(longest)
    tokens = {bytes([i]) for i in range(256)}
    for _ in range(60):
        text = "".join(rng.choice(LETTERS + '"' + ",") for _ in range(rng.randint(2, 9))).encode()[:longest]
        tokens.add(text)
    return psc.TokenizerInfo([*sorted(tokens), b"</s>"], stop_token_ids=[len(tokens)])


def _counted(rng: random.Random) -> _core.RulePrograms:
    """A quoted text of a random automaton, in a list; its states count, or do not."""
    n = rng.randint(1, 5)
    arcs = []
    for state in range(n):
        for letter in sorted(LETTERS, key=ord):
            if rng.random() < 0.55:
                arcs.append((state + 1, ord(letter), ord(letter), rng.randint(1, n)))
    ends = {rng.randint(1, n) for _ in range(rng.randint(1, 3))}
    arcs += [(0, 34, 34, 1)] + [(state, 34, 34, n + 1) for state in ends]
    arcs.sort()
    flags = [0] + [2 if rng.random() < 0.8 else 0 for _ in range(n)] + [1]
    least = rng.choice([0, 0, 1, 2, rng.randint(0, 40)])
    most = rng.choice([-1, least, least + rng.randint(0, 3), least + rng.randint(0, 30)])
    words = [COUNTED, len(flags), len(arcs), least, most, *flags, *(word for arc in arcs for word in arc)]
    if rng.random() < 0.5:  # others begin with the same characters
        words += [0, 3, 34, 97, 34, 3, 2]
    strings = [*words]
    root = [5, 1, 0, 1, 44, 5, 1, 2, 2, 4, 0, -1, 2, 2]
    return _core.RulePrograms(
        np.array([*root, *strings], np.int64), np.array([0, len(root), len(root) + len(strings)], np.int64), ["root", "text"], 0
    )


def _grammar(programs: _core.RulePrograms) -> psc.Grammar:
    rules = RuleSet(NativeRules(programs), "root", "", "counted", {})
    return dataclasses.replace(psc.Grammar.from_ebnf('root ::= "x"'), parsed=ParsedRules(rules))


@pytest.mark.parametrize("seed", range(150))
def test_counts_beside_an_automaton_are_those_of_an_automaton_with_counts(seed: int) -> None:
    rng = random.Random(seed)
    info = _vocabulary(rng.choice([1, 3, 9]))
    programs = _counted(rng)
    compiler = psc.GrammarCompiler(info, store=False, cache_enabled=False)
    try:  # front ends write no automaton without texts
        written_out, counted = [compiler.compile_grammar(_grammar(rules)) for rules in (programs.written_out(), programs)]
    except psc.GrammarError as e:
        pytest.skip(str(e))
    for _ in range(6):
        matchers = [psc.GrammarMatcher(grammar) for grammar in (counted, written_out)]
        for _ in range(60):
            allowed = [matcher.allowed_tokens().tolist() for matcher in matchers]
            assert allowed[0] == allowed[1]
            if not allowed[0]:
                break
            token = rng.choice(allowed[0])
            if rng.random() < 0.9:
                token = rng.choice([t for t in allowed[0] if info.token_bytes(t)[:1] not in (b'"', b",")] or allowed[0])
            assert all(matcher.accept_token(token) for matcher in matchers)
            if matchers[0].is_terminated():
                break
