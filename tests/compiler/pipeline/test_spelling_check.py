"""Which terminals a vocabulary cannot write: what is seen at once from sets of characters, beside a walk over the automaton."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_schema.random_schemas import DRAFTS, schemas

import psc
from psc.compiler.cfg.token_symbols import NO_SYMBOLS
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline import spelling_check
from psc.compiler.pipeline.spelling_check import _matched, unspellable
from psc.errors import GrammarError
from psc.grammars.grammar import Grammar

NEVER_WRITTEN = [4, 6, 19, 20, 22, 29, 192, 193, 241, 242, *range(245, 256)]
"""The bytes that SmolLM2's tokens do not have."""


def tables_of(grammar: Grammar) -> GrammarTables:
    return grammar.tables()


def vocabulary(missing: list[int]) -> psc.TokenizerInfo:
    return psc.TokenizerInfo.from_tokens(
        [*(bytes([b]) for b in range(256) if b not in missing), b"</s>"], stop_token_ids=[256 - len(missing)]
    )


def walked(tables: GrammarTables, values: list[int]) -> bool:
    """Whether the automaton, with these bytes alone, reaches a match of each terminal."""
    written = _matched(tables.automaton, np.array(values, np.intp), NO_SYMBOLS)
    return written.issuperset(range(len(tables.cfg.terminals)))


MISSING = st.one_of(
    st.sets(st.integers(0, 255), max_size=200),
    st.sets(st.sampled_from([*b'{}[]":,0123456789-+.eE\\/tfnu abc', *range(0x80, 0x100)]), max_size=12),
).map(sorted)


class TestWhatIsSeenAtOnceIsTrue:
    """It says yes only where a walk over the automaton finds every terminal."""

    @settings(deadline=None)
    @given(st.sampled_from(sorted(DRAFTS)).flatmap(schemas), MISSING)
    def test_of_schemas(self, schema: Any, missing: list[int]) -> None:
        try:
            tables = tables_of(Grammar.from_json_schema(json.dumps(schema, default=float), lenient=True))
            tables.make()
        except GrammarError:
            return
        values = [b for b in range(256) if b not in missing]
        if tables.are_spelled(bytes(values)):
            assert walked(tables, values)

    @pytest.mark.parametrize(
        "pattern, missing, seen, all_written",
        [
            ("abc", "", True, True),
            ("abc", "b", False, False),
            ("[a-c]", "ab", True, True),
            ("[a-c]x", "abc", False, False),
            ("ab?", "b", False, True),  # the walk does without it
            ("ä|é", "\u00e9", True, True),  # both begin with the byte C3, and 0xA9 is missing
            ("ä", "\u00e4", False, False),
            ("[ä-é]", "\u00e4", True, True),
            ("€+", "\u20ac", False, False),
            (r"[^\x00-\x7f]", "", True, True),
        ],
    )
    def test_of_patterns(self, pattern: str, missing: str, seen: bool, all_written: bool) -> None:
        last = [text.encode()[-1] for text in missing]
        values = [b for b in range(256) if b not in last]
        tables = tables_of(Grammar.from_regex(pattern))
        tables.make()
        assert tables.are_spelled(bytes(values)) is seen
        assert walked(tables, values) is all_written

    def test_symbols_of_tokens_are_not_written_by_bytes(self) -> None:
        grammar = Grammar.from_lark('start: "a" <[5]> "b"')
        tables = grammar.for_vocabulary(vocabulary([])).tables()
        tables.make()
        assert not tables.are_spelled(bytes(range(256)))


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 1000},
        "day": {"type": "string", "format": "date"},
        "kind": {"enum": ["a", "b", "ü"]},
        "n": {"type": "integer", "minimum": 0, "maximum": 1000},
        "code": {"type": "string", "pattern": "^[A-Z]{2,8}$"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_a_schema_needs_no_automaton_where_no_byte_that_matters_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_of(Grammar.from_json_schema(SCHEMA))
    monkeypatch.setattr(spelling_check, "_matched", None)
    assert unspellable(tables, vocabulary(NEVER_WRITTEN)) is None
    assert "automaton" not in vars(tables) and "lr" not in vars(tables)


def test_what_is_missing_is_named_as_before() -> None:
    tables = tables_of(Grammar.from_json_schema(SCHEMA))
    assert "the tokenizer cannot write" in (unspellable(tables, vocabulary([*b"{"])) or "")
    assert "no text of the grammar can be written" in (unspellable(tables, vocabulary([*b"{"])) or "")
