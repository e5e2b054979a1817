"""What a grammar derives, by definition, and whether it is in the normal form that generalized LR needs.

Cost: cubic in the text, times the productions, several times; for texts of a few characters.
"""

import re

from psc.compiler.cfg.grammar import Cfg


def derives(grammar: Cfg, text: str) -> bool:
    """Whether the start symbol derives the text: spans of every symbol, grown until they change no more."""
    n = len(text)
    spans: dict[int, set[tuple[int, int]]] = {}
    for i, terminal in enumerate(grammar.terminals):
        pattern = re.compile(terminal.pattern)
        spans[i] = {(a, b) for a in range(n + 1) for b in range(a, n + 1) if pattern.fullmatch(text, a, b)}
    changed = True
    while changed:
        changed = False
        for p in grammar.productions:
            found = {(i, i) for i in range(n + 1)}
            for symbol in p.rhs:
                found = {(a, d) for a, b in found for c, d in spans.get(symbol, ()) if b == c}
            if not found <= spans.setdefault(p.lhs, set()):
                spans[p.lhs] |= found
                changed = True
    return (0, n) in spans.get(grammar.first_nonterminal + grammar.nonterminals.index(grammar.start), set())


def check_normal_form(grammar: Cfg) -> None:
    """No empty production but of a start symbol that nothing uses, no cycle of unit productions, nothing useless, nothing twice."""
    first = grammar.first_nonterminal
    start = first + grammar.nonterminals.index(grammar.start)
    for p in grammar.productions:
        if not p.rhs:
            assert p.lhs == start
            assert not any(start in q.rhs for q in grammar.productions)
    assert len({(p.lhs, p.rhs) for p in grammar.productions}) == len(grammar.productions)
    units: dict[int, set[int]] = {}
    for p in grammar.productions:
        if len(p.rhs) == 1:
            units.setdefault(p.lhs, set()).add(p.rhs[0])
    for symbol in units:
        below, todo = set(), [symbol]
        while todo:
            for to in units.get(todo.pop(), ()):
                if to not in below:
                    below.add(to)
                    todo.append(to)
        assert symbol not in below
    assert {p.lhs for p in grammar.productions} == set(range(first, first + len(grammar.nonterminals)))
    used = {s for p in grammar.productions for s in p.rhs} | {start}
    assert used >= {p.lhs for p in grammar.productions}
    assert len(set(grammar.nonterminals)) == len(grammar.nonterminals)
