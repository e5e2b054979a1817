"""Masks of schemas: against the parser token by token, built just in time and ahead of time, and from what was saved."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from json_schema.bytewise import LONGER, accepts, compiled, compiler, vocabulary
from json_schema.walks import walk

import psc

_SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "integer", "maximum": 12}, "b": {"enum": ["a", "b"]}}, "required": ["b"]},
    {"type": "array", "items": {"anyOf": [{"const": 1.0}, {"type": "null"}, {"type": "boolean"}]}, "minItems": 1, "maxItems": 3},
    {"type": "array", "contains": {"const": "a"}, "items": {"type": "string", "maxLength": 2}, "maxItems": 4},
    {"oneOf": [{"type": "string", "pattern": "^ab?$"}, {"type": "object", "propertyNames": {"pattern": "b"}}]},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
    {"type": "number", "multipleOf": 0.5, "minimum": -1},
]
_OPTIONS: list[dict[str, Any]] = [
    {},
    {"strict_mode": True},
    {"any_order": True},
    {"any_whitespace": False},
    {"any_whitespace": False, "indent": 1},
    {"any_whitespace": False, "separators": (",", ":")},
    {"max_whitespace_cnt": 1},
]


def _tokens(matcher: psc.GrammarMatcher) -> set[int]:
    return set(matcher.allowed_tokens().tolist())


def _accepted(matcher: psc.GrammarMatcher, n_tokens: int) -> set[int]:
    """The tokens that the parser accepts, each tried."""
    found = set()
    for token in range(n_tokens):
        if matcher.accept_token(token):
            found.add(token)
            matcher.rollback(1)
    return found


@pytest.mark.parametrize("schema", _SCHEMAS, ids=range(len(_SCHEMAS)))
@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_masks_are_the_tokens_that_the_parser_accepts_however_they_are_built(
    schema: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    lazy = compiler(LONGER).compile_json_schema(schema, **{"strict_mode": False, **options})
    info = vocabulary(LONGER)
    grammar = psc.Grammar.from_json_schema(schema, **{"strict_mode": False, **options})
    others = [
        psc.compile_ahead_of_time(grammar, info),
        psc.load(lazy.save(tmp_path / "schema.psc"), tokenizer_info=info),
        psc.CompiledGrammar.deserialize_json(lazy.serialize_json(), info),
    ]
    rng = random.Random(7)
    for _ in range(3):
        text = walk(lazy, rng).encode()
        matchers = [psc.GrammarMatcher(g) for g in [lazy, *others]]
        for i in range(len(text) + 1):
            masks = [_tokens(m) for m in matchers]
            assert all(mask == masks[0] for mask in masks), (text[:i], masks)
            if i < 12 or rng.random() < 0.1:
                assert masks[0] == _accepted(matchers[0], info.vocab_size), text[:i]
            if i < len(text):
                assert all(m.accept_token(text[i]) for m in matchers), text[: i + 1]


def test_options_are_a_part_of_what_is_compiled() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    cached = psc.GrammarCompiler(vocabulary(), store=False)
    texts = ['{"b": 1, "a": 2}', '{"a": 1, "z": 2}', '{"a":1}', '{\n "a": 1\n}', '{  "a": 1}']
    verdicts = []
    for options in _OPTIONS:
        grammar = cached.compile_json_schema(schema, **{"strict_mode": False, **options})
        again = psc.CompiledGrammar.deserialize_json(grammar.serialize_json(), vocabulary())
        found = [psc.GrammarMatcher(grammar).accept_string(text) for text in texts]
        assert found == [psc.GrammarMatcher(again).accept_string(text) for text in texts]
        verdicts.append(found)
    yes, no = True, False
    assert verdicts == [
        [no, yes, yes, yes, yes],
        [no, no, yes, yes, yes],
        [yes, yes, yes, yes, yes],
        [no, yes, no, no, no],
        [no, no, no, yes, no],
        [no, no, yes, no, no],
        [no, yes, yes, no, no],
    ]


@pytest.mark.parametrize("indent", [0, 1, 4, None])
@pytest.mark.parametrize("separators", [None, (",", ":"), (", ", ": ")], ids=str)
def test_fixed_layouts_are_those_of_json_dumps(indent: int | None, separators: tuple[str, str] | None) -> None:
    value = {"a": [1, [], {}, {"b": [None, [True, {"z": {"ab": ["é"]}}]]}], "b": {}}
    for schema in (True, {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}):
        grammar = compiled(schema, any_whitespace=False, indent=indent, separators=separators)
        assert accepts(grammar, json.dumps(value, indent=indent, separators=separators, ensure_ascii=False))
        assert not accepts(grammar, json.dumps(value, indent=2, separators=separators, ensure_ascii=False))
