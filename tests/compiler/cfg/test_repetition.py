"""Counted repetition: exact counts, logarithmic size, and LALR(1) tables without conflicts."""

import itertools

import numpy as np
import pytest

from psc._core import LrTables
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lowering import TerminalLimits, lower
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.frontends.ebnf import load_ebnf

LIFTED = TerminalLimits(counted=0)
"""Every counted repetition is left to the parser."""


def conflicts(tables: LrTables) -> int:
    """Cells with more than one action."""
    return int((np.diff(tables.action_offsets) > 1).sum())


class Parser:
    """A deterministic LR parser over tables without conflicts; counts what it has to do."""

    def __init__(self, grammar: Cfg) -> None:
        self.grammar = grammar
        self.tables = lr_tables(grammar, keep_all=True)
        assert conflicts(self.tables) == 0
        offsets, actions = self.tables.action_offsets.tolist(), self.tables.actions.tolist()
        self._cells = [actions[a:b] for a, b in itertools.pairwise(offsets)]
        self._gotos = self.tables.gotos.tolist()
        self._lhs, self._length = self.tables.production_lhs.tolist(), np.diff(self.tables.rhs_offsets).tolist()
        self.stack = [0]
        self.highest = 0
        self.reductions = 0

    def _after(self, stack: list[int], terminal: int) -> list[int] | None:
        stack = list(stack)
        while True:
            cell = self._cells[stack[-1] * self.tables.n_terminals + terminal]
            if not cell:
                return None
            (action,) = cell
            if action % 2 == 0:
                return [*stack, action // 2]
            self.reductions += 1
            production = action // 2
            if self._length[production]:
                del stack[-self._length[production] :]
            stack.append(self._gotos[stack[-1] * self.tables.n_nonterminals + self._lhs[production]])

    def read(self, terminal: int) -> bool:
        after = self._after(self.stack, terminal)
        if after is None:
            return False
        self.stack = after
        self.highest = max(self.highest, len(after))
        return True

    def may_end(self) -> bool:
        return self._after(self.stack, self.grammar.end_terminal) is not None


def counts_allowed(grammar: Cfg, up_to: int) -> list[int]:
    """The numbers of the only terminal after which the text may end, up to a number."""
    assert len(grammar.terminals) == 1
    parser = Parser(grammar)
    allowed = [0] if parser.may_end() else []
    for n in range(1, up_to + 1):
        if not parser.read(0):
            break
        if parser.may_end():
            allowed.append(n)
    return allowed


@pytest.mark.parametrize("least", range(12))
@pytest.mark.parametrize("more", [0, 1, 2, 3, 4, 6, 7, 8, 11, 15, 16, 17, None])
def test_every_small_count(least: int, more: int | None) -> None:
    most = "" if more is None else least + more
    grammar = lower(load_ebnf(f'root ::= "a"{{{least},{most}}}'), LIFTED)
    if not grammar.terminals:
        assert (least, more) == (0, 0)
        return
    if more is None and least < 2:
        assert [t.pattern for t in grammar.terminals] == ["a+"]
        return
    up_to = least + (40 if more is None else more)
    assert counts_allowed(grammar, up_to + 3)[: up_to - least + 1] == list(range(least, up_to + 1))
    if more is not None:
        assert counts_allowed(grammar, up_to + 3)[-1] == up_to


@pytest.mark.parametrize(("least", "most"), [(0, 1000), (1000, 1000), (999, 1025), (0, 1023), (0, 1024), (1, 1025), (513, 2050)])
def test_large_counts(least: int, most: int) -> None:
    grammar = lower(load_ebnf(f"root ::= [a-z]{{{least},{most}}}"))
    assert counts_allowed(grammar, most + 3) == list(range(least, most + 1))


BODIES = [
    "root ::= [a-z]{0,%d}",
    'root ::= ([a-z] ","){5,%d}\n',
    'root ::= (item ","){5,%d}\nitem ::= "a" | "(" item ")"',
    'root ::= "\\"" [a-z]{3,%d} "\\"" ":" root?',
    'root ::= "[" (root ("," root){0,%d})? "]"',
    'root ::= ("a" [0-9]*){2,%d} "b"{1,%d}',
    'root ::= ("(" "x"{0,%d} ")"){0,%d} "."',
    'root ::= "a"{%d,} "b"{0,%d} "c"{7,%d}',
    'root ::= item{0,%d} | "-" item{3,%d} "!"\nitem ::= "a" | "(" root ")"',
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("most", [200, 5000, 100_000, 2**20 - 1])
def test_no_conflicts_and_logarithmic_size(body: str, most: int) -> None:
    grammar = lower(load_ebnf(body.replace("%d", str(most))))
    tables = lr_tables(grammar, keep_all=True)
    assert conflicts(tables) == 0
    counters = body.count("%d")
    assert len(grammar.productions) <= 30 + 10 * counters * most.bit_length()
    assert tables.n_lr_states <= 30 + 10 * counters * most.bit_length()


def test_parsing_a_long_repetition_is_cheap() -> None:
    """The stack holds the binary digits of the count, and there are two reductions for each on average."""
    parser = Parser(lower(load_ebnf("root ::= [a-z]{0,100000}")))
    for _ in range(20_000):
        assert parser.read(0)
    assert parser.highest <= 2 + 17
    assert parser.reductions <= 2 * 20_000


def test_lists_are_parsed_in_constant_stack() -> None:
    grammar = lower(load_ebnf('root ::= (item ",")* item+\nitem ::= "a" | "(" root ")"'))
    number = {t.text: i for i, t in enumerate(grammar.terminals)}
    parser = Parser(lower(load_ebnf('root ::= (item ",")*\nitem ::= "a" | "(" root ")"')))
    for _ in range(1000):
        assert parser.read(number["a"]) and parser.read(number[","])
    assert parser.highest <= 4


@pytest.mark.parametrize(
    ("nested", "flat"),
    [
        ('("a"{0,9}){0,9}', '"a"{0,81}'),
        ('("a"{1,9}){3,9}', '"a"{3,81}'),
        ('("a"{2,3}){2,9}', '"a"{4,27}'),
        ('("a"{4}){5}', '"a"{20}'),
        ('(("a"{1000}){1000}){1000}', '"a"{1000000000}'),
        ('("a"*){3,9}', '"a"*'),
        ('("a"+){3,9}', '"a"{3,}'),
        ('("a"{3,}){2,}', '"a"{6,}'),
        ('("a"?){7}', '"a"{0,7}'),
        ('"a"{2,3} "a"{4,5}', '"a"{6,8}'),
        ('"a"* "a" "a"+', '"a"{2,}'),
        ('ws ws\nws ::= "a"*', '"a"*'),
    ],
)
def test_repetitions_of_the_same_are_one(nested: str, flat: str) -> None:
    """Otherwise the count could be made up in many ways, and the parser would follow them all."""
    one, other = (lower(load_ebnf(f"root ::= {text}"), LIFTED) for text in (nested, flat))
    assert [one.production_text(i) for i in range(len(one.productions))] == [
        other.production_text(i) for i in range(len(other.productions))
    ]


@pytest.mark.parametrize("nested", ['("a"{3}){0,9}', '("a"{4,5}){2,9}', '("a"{3,}){0,2}', '("a"{2}){1,}'])
def test_repetitions_that_leave_gaps_stay_nested(nested: str) -> None:
    """3 k times is not any number of times; checked by counting."""
    from oracle.expressions import matches

    rule_set = load_ebnf(f"root ::= {nested}")
    allowed = [n for n in range(24) if matches(rule_set, "a" * n)]
    grammar = lower(rule_set)
    assert grammar.terminals[0].text is None  # small enough for one terminal
    import re

    pattern = re.compile(f"(?:{grammar.terminals[0].pattern})?" if 0 in allowed else grammar.terminals[0].pattern)
    assert [n for n in range(24) if pattern.fullmatch("a" * n)] == allowed
