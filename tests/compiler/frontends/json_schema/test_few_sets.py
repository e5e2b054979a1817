"""Four to eight members in any order: a machine built as it is visited has fewer rules than an artifact, and the same masks.

The oracle is the grammar of an artifact, whose rules say of each set of members what may come next.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from json_schema.bytewise import END, LONGER, vocabulary

import psc
from psc.compiler.frontends.parsed import ParsedRules
from psc.errors import GrammarError
from psc.grammars.compiled_grammar import compile_ahead_of_time, compile_just_in_time

NAMES = ["a", "ab", "b", "z", "c", "cd", "d", "y"]
INFO = vocabulary(LONGER)
ANY_ORDER: dict[str, Any] = {"any_order": True, "strict_mode": False, "any_whitespace": False, "separators": (",", ":")}

_leaves = st.sampled_from(
    [
        {"const": True},
        {"enum": ["u", "uv"]},
        {"type": "null"},
        {"enum": [{}, []]},
        {"type": "integer", "minimum": 0, "maximum": 20},
        False,
    ]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.lists(st.sampled_from(NAMES), min_size=4, max_size=8, unique=True)
    return names.flatmap(
        lambda declared: st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.fixed_dictionaries({name: inner for name in declared})},
            optional={
                "required": st.lists(st.sampled_from([*declared, "q"]), max_size=5, unique=True),
                "minProperties": st.integers(0, 6),
                "maxProperties": st.integers(0, 9),
                "additionalProperties": st.sampled_from([False, {"const": 1}]),
                "patternProperties": st.sampled_from([{"^q": {"const": 2}}, {"^c": {"type": "null"}}, {"q": False}]),
                "propertyNames": st.sampled_from([{"pattern": "^[a-z]$"}, {"maxLength": 1}]),
                "dependentRequired": st.sampled_from([{declared[0]: [declared[1]]}]),
                "not": st.sampled_from([{"required": declared[:2]}]),
            },
        )
    )


SCHEMAS = _objects(st.one_of(_leaves, _leaves, _objects(_leaves)))


def _grammar(schema: Any) -> psc.Grammar:
    return psc.Grammar.from_json_schema(json.dumps(schema), **ANY_ORDER)


@examples(40)
@given(SCHEMAS, st.integers(0, 2**32))
def test_masks_are_those_of_an_artifact(schema: dict[str, Any], seed: int) -> None:
    try:
        grammar = _grammar(schema)
    except GrammarError:
        return  # no value is valid
    written_out = psc.Grammar(grammar.request, ParsedRules(grammar.parsed.rules))
    sets, late = compile_just_in_time(written_out, INFO), compile_just_in_time(grammar, INFO)
    rng = random.Random(seed)
    for _ in range(4):
        left, right = psc.GrammarMatcher(sets), psc.GrammarMatcher(late)
        for _ in range(60):
            allowed = left.allowed_tokens().tolist()
            assert allowed == right.allowed_tokens().tolist(), schema
            more = [t for t in allowed if t != END]
            if not more or (END in allowed and rng.random() < 0.5):
                break
            token = rng.choice(more)
            assert left.accept_token(token) and right.accept_token(token)


EIGHT = {"type": "object", "properties": {name: {"type": "null"} for name in NAMES}, "additionalProperties": False}


def test_a_machine_has_no_rules_for_sets() -> None:
    parsed = _grammar(EIGHT).parsed
    assert len(parsed.machine_tables().cfg.productions) < 40
    assert len(parsed.tables().cfg.productions) > 1_000


@pytest.mark.parametrize(
    "more",
    [
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"if": {"properties": {"a": {"const": None}}, "required": ["a"]}, "then": {"required": ["b"]}},
        {"contains": {}, "minProperties": 2},
    ],
)
def test_members_of_which_more_is_said_together_keep_their_sets_or_serve_both(more: dict[str, Any]) -> None:
    grammar = _grammar({**EIGHT, **more})
    late, ahead = compile_just_in_time(grammar, INFO), compile_ahead_of_time(grammar, INFO)
    for text in ("{}", '{"a":null}', '{"b":null,"a":null}', '{"y":null,"b":null}', '{"a":null,"a":null}'):
        verdicts = [psc.GrammarMatcher(each).accept_string(text) for each in (late, ahead)]
        assert verdicts[0] == verdicts[1], text


def test_what_needs_productions_has_them() -> None:
    grammar = _grammar(EIGHT)
    text = '{"d":null,"a":null}'
    assert len(grammar.to_cfg().productions) > 1_000
    for other in (psc.Grammar.from_ebnf(str(grammar)), psc.Grammar.union(grammar, psc.Grammar.from_regex("x+"))):
        matcher = psc.GrammarMatcher(compile_just_in_time(other, INFO))
        assert matcher.accept_string(text) and matcher.is_completed()


def test_metadata_name_the_terminals_that_the_machine_has() -> None:
    grammar = _grammar(EIGHT)
    late = compile_just_in_time(grammar, INFO)
    named = [t["name"] for t in late.metadata["grammar"]["terminals"]]
    assert named == [t.name for t in grammar.parsed.machine_tables().cfg.terminals]


def test_a_schema_that_is_read_twice_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    grammar = _grammar({**EIGHT, "properties": {**EIGHT["properties"], "a": {"type": "integer", "maxmimum": 3}}})
    assert grammar.artifact_tables()
    assert [r.levelname for r in caplog.records if "maxmimum" in r.getMessage()] == ["WARNING"]
