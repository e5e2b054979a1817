"""Rules that can never be finished, beside others that can: left out with a warning, in every front end."""

from collections.abc import Callable

import pytest

import psc
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.frontends.tables import CfgTables

LARK = """\
start: "a" | dead "b" | "c" half
dead: "x" dead
half: "y" | "z" dead
"""
EBNF = """\
root ::= "a" | dead "b" | "c" half | empty
dead ::= "x" dead
half ::= "y" | "z" dead
empty ::= "" | "w" dead
"""
LOADERS: dict[str, Callable[[], psc.Grammar]] = {
    "contextual": lambda: psc.Grammar.from_lark(LARK),
    "basic": lambda: psc.Grammar.from_lark(LARK, lexer="basic"),
    "keep all": lambda: psc.Grammar.from_lark(LARK, keep_all_actions=True),
    "ebnf": lambda: psc.Grammar.from_ebnf(EBNF),
}


def lowered(name: str) -> Cfg:
    return LOADERS[name]().to_cfg()


@pytest.mark.parametrize("name", LOADERS)
def test_a_warning_names_the_rule(name: str) -> None:
    (warning,) = CfgTables(lowered(name)).warnings
    assert warning.startswith("rule 'dead' can never finish")


@pytest.mark.parametrize("name", LOADERS)
def test_no_production_uses_it(name: str) -> None:
    grammar = lowered(name)
    dead = [i for i, n in enumerate(grammar.nonterminals, grammar.first_nonterminal) if n == "dead"]
    assert not any(symbol in dead for p in grammar.productions for symbol in (p.lhs, *p.rhs))


@pytest.mark.parametrize("keep", [False, True])
def test_a_rule_that_needs_an_ignored_terminal(keep: bool) -> None:
    grammar = psc.Grammar.from_lark('start: "a" | r "b"\nr: "c" SPACE\nSPACE: " "\n%ignore SPACE', keep_all_actions=keep).to_cfg()
    assert grammar.left_out == ("r",)


@pytest.mark.parametrize("keep", [False, True])
def test_a_start_that_never_finishes_is_refused(keep: bool) -> None:
    with pytest.raises(psc.GrammarError, match=r"rule 'dead' can never finish: .*\(dead -> dead\)"):
        psc.Grammar.from_lark('start: "a" dead\ndead: "x" dead', keep_all_actions=keep)
