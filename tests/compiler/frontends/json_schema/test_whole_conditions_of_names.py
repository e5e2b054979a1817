"""Conditions on sets of names that are too many to be cases: `additionalProperties`, `patternProperties` and `propertyNames` in
`oneOf`, `not` and such, beside switches that make more cases than the limit.

The oracle is the library jsonschema, over all objects of five members with few values; of these some are declared and others are
not. Whatever a text has read, it can be completed.
"""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from json_schema.bytewise import END, accepts, compiled
from jsonschema import Draft202012Validator

import psc

Schema = dict[str, Any]
VALUES: dict[str, list[Any]] = {"a": [True, "s"], "b": ["u", 0], "z": [True, 0], "y1": ["s", True], "y2": ["s", 0]}
ABSENT = object()
N = 8

_scalars = st.sampled_from([True, "s", "u", 0])
_values = st.one_of(
    _scalars.map(lambda v: {"const": v}),
    st.lists(_scalars, min_size=2, max_size=2).map(lambda v: {"enum": v}),
    st.sampled_from([False, True, {"type": "string"}, {"type": ["string", "integer"]}, {"$ref": "#/$defs/s"}]),
)
_some = st.lists(st.sampled_from("abz"), min_size=1, max_size=2, unique=True)
_keywords = st.one_of(
    st.fixed_dictionaries({"required": _some}),
    st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abz"), _values, min_size=1)}),
    st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abz"), _values), "additionalProperties": _values}),
    st.fixed_dictionaries({"patternProperties": st.dictionaries(st.sampled_from(["^y", "1$", "^[ab]$"]), _values, min_size=1)}),
    st.sampled_from([{"enum": ["a", "b", "y1"]}, {"pattern": "^[ay]"}, {"maxLength": 1}]).map(lambda s: {"propertyNames": s}),
)
_atoms = st.lists(_keywords, min_size=1, max_size=2).map(lambda parts: {k: v for part in parts for k, v in part.items()})
_formulas = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.builds(lambda s: {"not": s}, inner),
        st.builds(lambda k, s: {k: s}, st.sampled_from(["anyOf", "allOf", "oneOf"]), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda a, b: {"if": a, "then": b}, inner, inner),
    ),
    max_leaves=5,
)


def switches() -> tuple[Schema, list[Schema]]:
    """Members and conditions, `p is true or q is there`, which no text of the test fulfils otherwise than by `p` being absent."""
    members = {name: {"type": "boolean"} for i in range(N) for name in (f"p{i}", f"q{i}")}
    return members, [{"anyOf": [{"properties": {f"p{i}": {"const": False}}}, {"required": [f"q{i}"]}]} for i in range(N)]


def shuffled(value: dict[str, Any], any_order: bool, rng: random.Random) -> dict[str, Any]:
    """The members in an order that is allowed: declared ones in the schema's, `z` last, which is declared where it is named."""
    rest = [name for name in value if name not in "abz"]
    names = rng.sample(list(value), len(value)) if any_order else [name for name in "ab" if name in value]
    if not any_order:
        for name in rest:
            names.insert(rng.randrange(len(names) + 1), name)
        names += ["z"] * ("z" in value)
    return {name: value[name] for name in names}


def check_beginning(grammar: psc.CompiledGrammar, beginning: str, rng: random.Random) -> None:
    """A beginning that is taken goes on to an end."""
    matcher = psc.GrammarMatcher(grammar)
    if not matcher.accept_string(beginning):
        return
    for _ in range(400):
        allowed = matcher.allowed_tokens().tolist()
        assert allowed, beginning
        if END in allowed:
            return
        assert matcher.accept_token(rng.choice([token for token in allowed if chr(token) in '"}]e'] or allowed))


def check(schema: Schema, any_order: bool, rng: random.Random) -> None:
    try:
        grammar = compiled(schema, any_order=any_order, any_whitespace=False, separators=(",", ":"))
    except psc.ResourceLimitError:
        return
    except psc.GrammarError as e:
        assert "no value is" in str(e), e
        grammar = None
    valid = Draft202012Validator(schema).is_valid
    rows = product(*([ABSENT, *values] for values in VALUES.values()))
    objects = [{n: v for n, v in zip(VALUES, row, strict=True) if v is not ABSENT} for row in rows]
    for n, value in enumerate(rng.sample(objects, 60)):
        if grammar is None:
            assert not valid(value), (schema, value)
            continue
        text = json.dumps(shuffled(value, any_order, rng), separators=(",", ":"))
        assert accepts(grammar, text) == valid(value), (schema, text)
        if n % 6 == 0:  # a walk takes ten times as long
            check_beginning(grammar, text[: rng.randrange(1, len(text))], rng)


@examples(40)
@given(st.lists(_formulas, min_size=1, max_size=3), st.integers(0, 2**32))
@bounded
def test_in_the_order_of_the_schema(formulas: list[Schema], seed: int) -> None:
    members, conditions = switches()
    schema = {"type": "object", "properties": {"a": {}, "b": {}, **members}, "allOf": [*conditions, *formulas]}
    check({**schema, "$defs": {"s": {"enum": ["s", 0]}}}, False, random.Random(seed))


@examples(40)
@given(st.lists(_formulas, max_size=2), st.lists(st.tuples(_values, _values), min_size=3, max_size=5), st.integers(0, 2**32))
@bounded
def test_in_any_order(formulas: list[Schema], closed: list[Any], seed: int) -> None:
    branches = [
        {"properties": {f"m{i}": {"type": "string"}, "a": a, "b": b}, "required": [f"m{i}"], "additionalProperties": False}
        for i, (a, b) in enumerate(closed)
    ]
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "allOf": [{"not": {"oneOf": branches}}, *formulas]}
    check({**schema, "$defs": {"s": {"enum": ["s", 0]}}}, True, random.Random(seed))
