"""llguidance's dialect of Lark: which texts its grammars accept, just in time and ahead of time."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialect_texts import CASES, INFO, matches

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time


@pytest.mark.parametrize("name", CASES)
def test_texts(name: str) -> None:
    case = CASES[name]
    compiled = psc.GrammarCompiler(INFO, store=False).compile_lark(case.grammar, dialect="llguidance")
    assert [t for t in case.accepted if not matches(compiled, t)] == []
    assert [t for t in case.rejected if matches(compiled, t)] == []


@pytest.mark.parametrize(
    "name", ["and not", "substring of chunks", "ignored once", "two tools with one trigger", "schemas", "nested"]
)
def test_texts_ahead_of_time(name: str) -> None:
    case = CASES[name]
    compiled = compile_ahead_of_time(psc.Grammar.from_lark(case.grammar, dialect="llguidance"), INFO)
    assert [t for t in case.accepted if not matches(compiled, t)] == []
    assert [t for t in case.rejected if matches(compiled, t)] == []


@pytest.mark.parametrize(
    "name", ["schemas", "two tools with one trigger", "nested ignores by itself", "imports", "capture and temperature"]
)
def test_a_grammar_is_rebuilt_from_what_it_wrote(name: str) -> None:
    grammar = psc.Grammar.from_lark(CASES[name].grammar, dialect="llguidance")
    again = psc.Grammar.deserialize_json(grammar.serialize_json())
    assert again == grammar and again.to_cfg() == grammar.to_cfg()
    printed = psc.Grammar.from_ebnf(str(grammar))
    compiled = psc.GrammarCompiler(INFO, store=False).compile_grammar(printed)
    assert all(matches(compiled, t) for t in CASES[name].accepted)
    assert not any(matches(compiled, t) for t in CASES[name].rejected)


def test_a_file_in_the_dialect_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "tool.lark"
    path.write_text('start: <|tool|> %json {"type": "integer"}\n')
    compiled = psc.GrammarCompiler(INFO, store=False).compile_file(path)
    assert matches(compiled, [257, 49]) and not matches(compiled, "1")
