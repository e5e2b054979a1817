"""Grammar tables: those of rules, which the native core makes, are those of their terminals and productions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strategies
from bounded import bounded
from hypothesis import given

import psc
from psc.compiler.frontends.tables import CfgTables, GrammarTables
from psc.errors import GrammarError

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "number"}}, "b": {"enum": ["x", "y"]}},
    "required": ["a"],
}


def assert_equal(a: GrammarTables, b: GrammarTables) -> None:
    assert a.cfg == b.cfg and a.source_name == b.source_name and a.warnings == b.warnings
    for name in ("next", "accept", "match_offsets", "match_terminals"):
        ours, theirs = getattr(a.automaton, name), getattr(b.automaton, name)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs), name
    ours, theirs = a.lr.arrays(), b.lr.arrays()
    assert ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert np.array_equal(a.symbols(300), b.symbols(300))


@pytest.mark.parametrize(
    "make",
    [
        lambda: psc.Grammar.builtin_json_grammar(),
        lambda: psc.Grammar.from_regex(r"(\d{1,3}\.){3}[a-f]*"),
        lambda: psc.Grammar.from_json_schema(json.dumps(SCHEMA)),
        lambda: psc.Grammar.from_ebnf('root ::= "a" <[5-7]> | root "b" | never\nnever ::= never "x"'),
    ],
)
def test_tables_of_rules_are_those_of_their_productions(make: Any) -> None:
    grammar = make()
    assert_equal(grammar.artifact_tables(), CfgTables(grammar.to_cfg()))


@given(strategies.cfg_texts())
@bounded
def test_tables_of_random_rules(text: str) -> None:
    try:
        grammar = psc.Grammar.from_ebnf(text)
        tables, of_productions = grammar.artifact_tables(), CfgTables(grammar.to_cfg())
        of_productions.make()
    except GrammarError:  # no text, or too large
        return
    assert_equal(tables, of_productions)


def test_each_value_is_made_when_it_is_needed(tmp_path: Path) -> None:
    grammar = psc.Grammar.from_lark('start: A | B\nA: "a"\nB: "ab"')
    tables = grammar.tables()
    assert isinstance(tables, CfgTables) and not tables.are_made and not grammar.parsed.has_tables
    assert tables is grammar.tables()
    tables.make()
    assert tables.are_made and grammar.parsed.has_tables
    assert tables.automaton is tables.automaton
