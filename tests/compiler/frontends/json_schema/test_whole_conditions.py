"""Conditions that are too many to be cases: what is left of them is in the states of an object.

The oracle is enumeration. Four members have few values, so the valid objects are listed, as the library jsonschema judges them, and
whatever a text has read, its continuations among them are known: names, values byte by byte, the comma and the end. Switches
between other members, which texts leave out, make more cases than the limit. No mask leads to where nothing valid follows.
"""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from json_schema.bytewise import END, accepts, compiled
from jsonschema import Draft202012Validator

import psc

Schema = dict[str, Any]
NAMES = "abcd"
VALUES: dict[str, list[Any]] = {"a": [True, False], "b": ["u", "uv", None], "c": [{}, {"k": True}, []], "d": [False, "u"]}
ONE_LINE: dict[str, Any] = {"any_whitespace": False, "separators": (",", ":")}


def _about(name: str) -> st.SearchStrategy[Schema]:
    some = st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=2).map(lambda values: {"enum": values})
    value = st.one_of(st.sampled_from(VALUES[name]).map(lambda v: {"const": v}), some, st.just(False))
    if name == "c":
        value = st.one_of(value, st.just({"required": ["k"]}), st.just({"type": "object", "maxProperties": 0}))
    said = value.map(lambda v: {"properties": {name: v}})
    both = value.map(lambda v: {"properties": {name: v}, "required": [name]})
    return st.one_of(st.just({"required": [name]}), said, both)


_atoms = st.sampled_from(NAMES).flatmap(_about)
_rows = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
_formulas = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.builds(lambda s: {"not": s}, inner),
        st.builds(lambda k, s: {k: s}, st.sampled_from(["anyOf", "allOf", "oneOf"]), st.lists(inner, min_size=2, max_size=4)),
        st.builds(lambda a, b: {"if": a, "then": b}, inner, inner),
        st.builds(lambda a, b, c: {"if": a, "then": b, "else": c}, inner, inner, inner),
    ),
    max_leaves=6,
)
_clauses = st.one_of(
    _formulas,
    st.builds(lambda a, b: {"if": a, "then": b}, _atoms, _atoms),
    st.dictionaries(st.sampled_from(NAMES), _rows, min_size=1).map(lambda d: {"dependentRequired": d}),
    st.dictionaries(st.sampled_from(NAMES), _atoms, min_size=1).map(lambda d: {"dependentSchemas": d}),
    st.lists(_rows, min_size=2, max_size=4).map(lambda rows: {"oneOf": [{"required": row} for row in rows]}),
)
_helped = st.builds(lambda a, name: {"if": a, "then": {"required": [name]}}, st.sampled_from("abc").flatmap(_about), st.just("d"))
_others = st.sampled_from([True, False, {"type": "null"}])


def switches(n: int) -> tuple[Schema, list[Schema]]:
    """Members and conditions: `if p is true then q is there`, for n pairs."""
    members = {name: {"type": "boolean"} for i in range(n) for name in (f"p{i}", f"q{i}")}
    return members, [KINDS["there"](f"p{i}", f"q{i}") for i in range(n)]


def text_of(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class Objects:
    """The valid ones of the four members, and what goes on to one."""

    def __init__(self, schema: Schema, order: str | None) -> None:
        validator = Draft202012Validator(schema)
        rows = product(*([None, *map(text_of, VALUES[name])] for name in NAMES))
        objects = [{n: v for n, v in zip(NAMES, row, strict=True) if v is not None} for row in rows]
        self.valid = [o for o in objects if validator.is_valid({n: json.loads(v) for n, v in o.items()})]
        self.order = order

    def ends(self, read: dict[str, str]) -> bool:
        return read in self.valid

    def next(self, read: dict[str, str]) -> dict[str, set[str]]:
        """Per member that may come its values."""
        out: dict[str, set[str]] = {}
        for o in self.valid:
            if not read.items() <= o.items():
                continue
            more = [name for name in o if name not in read]
            if self.order is not None:
                more.sort(key=self.order.index)
                if read and more and self.order.index(more[0]) < max(map(self.order.index, read)):
                    continue
                more = more[:1]
            for name in more:
                out.setdefault(name, set()).add(o[name])
        return out


def after(grammar: psc.CompiledGrammar, text: str) -> set[str] | None:
    """The characters that may follow, or None where the text is refused."""
    matcher = psc.GrammarMatcher(grammar)
    if not matcher.accept_string(text):
        return None
    return {"" if t == END else chr(t) for t in matcher.allowed_tokens().tolist()}


def check(grammar: psc.CompiledGrammar, objects: Objects, padded_after: str, is_open: bool, rng: random.Random) -> None:
    """One random text, and all that may come along it. `padded_after`: the members behind which switches come."""
    read: dict[str, str] = {}
    text = "{"
    while True:
        may = objects.next(read)
        begun = text + ("," if read else "")
        for name in NAMES:
            follows = after(grammar, f'{begun}"{name}')
            assert (follows is not None and '"' in follows) == (name in may), (text, name, follows)
        follows = after(grammar, text) or set()
        assert ("}" in follows) == objects.ends(read), (text, follows)
        last = list(read)[-1] if read else None
        more = bool(may) or is_open or last is None or last in padded_after
        if last is not None:
            assert ("," in follows) == more, (text, follows)
        if not may:
            assert not objects.ends(read) or accepts(grammar, text + "}")
            return
        name = rng.choice(sorted(may))
        head = f'{begun}"{name}":'
        beginnings = {v[:i] for v in may[name] for i in range(len(v))}
        for part in beginnings:
            expected = {v[len(part)] for v in may[name] if v.startswith(part) and len(v) > len(part)}
            assert after(grammar, head + part) == expected, (head + part, expected)
        value = rng.choice(sorted(may[name]))
        text = head + value
        read = {**read, name: value}
        if objects.ends(read):
            assert accepts(grammar, text + "}"), text


@examples(60)
@given(
    st.one_of(st.lists(_clauses, min_size=1, max_size=4), st.lists(_helped, min_size=1, max_size=3)),
    st.permutations(NAMES),
    st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    _others,
    st.lists(st.integers(0, 4), min_size=2, max_size=2).map(sorted),
    st.sampled_from([7, 7, 17]),
    st.sampled_from(["schema", "strict", "any"]),
    st.integers(0, 2**32),
)
@bounded
def test_every_beginning_goes_on(
    clauses: list[Schema], order: list[str], required: list[str], others: Any, at: list[int], n: int, mode: str, seed: int
) -> None:
    members: Schema = {name: {"enum": VALUES[name]} for name in order}
    core: Schema = {"type": "object", "properties": members, "allOf": clauses, "required": required}
    switched, conditions = switches(n)
    listed, rest = list(members.items()), list(switched.items())
    first = rest if n == 7 else [pair for pair in rest if pair[0].startswith("p")]
    second = [] if n == 7 else [pair for pair in rest if pair[0].startswith("q")]
    properties = dict([*listed[: at[0]], *first, *listed[at[0] : at[1]], *second, *listed[at[1] :]])
    schema = {**core, "properties": properties, "allOf": [*clauses, *conditions], "additionalProperties": others}
    if mode == "strict" and others is True:
        del schema["additionalProperties"]
    options = {**ONE_LINE, "strict_mode": mode == "strict", "any_order": mode == "any"}
    objects = Objects(core, None if mode == "any" else "".join(order))
    try:
        grammar = compiled(schema, **options)
    except psc.ResourceLimitError:
        assert mode == "any" or n > 7, schema
        return
    except psc.GrammarError as e:
        assert "no value is" in str(e), e
        assert not objects.valid, schema
        return
    assert objects.valid
    rng = random.Random(seed)
    is_open = others is not False and not (mode == "strict" and others is True)
    padded_after = NAMES if mode == "any" else "".join(order[: at[n > 7]])
    for _ in range(3):
        check(grammar, objects, padded_after, is_open, rng)


PAIRS = [(f"e{i}", f"v{i}") for i in range(20)]
KINDS: dict[str, Any] = {
    "value": lambda e, v: {"if": {"properties": {e: {"const": True}}}, "then": {"required": [v]}},
    "there": lambda e, v: {"if": {"properties": {e: {"const": True}}, "required": [e]}, "then": {"required": [v]}},
    "present": lambda e, v: {"if": {"required": [e]}, "then": {"required": [v]}},
    "bound": lambda e, v: {
        "if": {"properties": {e: {"const": True}}, "required": [e]},
        "then": {"required": [v], "properties": {v: {"minimum": 3}}},
    },
    "dependent": lambda e, v: {"dependentRequired": {e: [v]}},
    "schemas": lambda e, v: {"dependentSchemas": {e: {"required": [v], "properties": {v: {"minimum": 3}}}}},
    "else": lambda e, v: {
        "if": {"properties": {e: {"const": True}}},
        "then": {"required": [v]},
        "else": {"properties": {v: False}},
    },
}


EXACT = {"together": set(KINDS), "apart": {"value", "there", "present", "dependent"}, "reversed": {"present", "dependent"}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["together", "apart", "reversed", "any"])
@pytest.mark.parametrize("closed", [False, True])
def test_twenty_switches(kind: str, order: str, closed: bool) -> None:
    """Each member that decides stands beside the one that it decides, or all stand before or behind all others."""
    deciding: Schema = {e: {"type": "boolean"} for e, _ in PAIRS}
    decided: Schema = {v: {"type": "integer"} for _, v in PAIRS}
    properties = {**decided, **deciding} if order == "reversed" else {**deciding, **decided}
    if order == "together":
        properties = {name: properties[name] for pair in PAIRS for name in pair}
    schema: Schema = {"type": "object", "properties": properties, "allOf": [KINDS[kind](e, v) for e, v in PAIRS]}
    if closed:
        schema["additionalProperties"] = False
    if kind not in EXACT.get(order, EXACT["apart"]):
        with pytest.raises(psc.ResourceLimitError, match=r"#: .*(states|more than 8)"):
            compiled(schema, any_order=order == "any")
        return
    grammar = compiled(schema, any_order=order == "any", strict_mode=not closed)
    validator, rng = Draft202012Validator(schema), random.Random(7)
    one = Draft202012Validator(KINDS[kind]("e", "v"))
    pairs = [{"e": e, "v": v} for e in (None, False, True) for v in (None, 1, 5)]
    pairs = [{name: value for name, value in pair.items() if value is not None} for pair in pairs]
    n_valid = 0
    for i in range(60):
        rows = [rng.choice([pair for pair in pairs if one.is_valid(pair)]) for _ in PAIRS]
        if i % 2:
            rows[rng.randrange(20)] = rng.choice(pairs)
        value = {f"{name}{k}": v for k, row in enumerate(rows) for name, v in row.items()}
        names = rng.sample(list(properties), len(properties)) if order == "any" else properties
        value = {name: value[name] for name in names if name in value}
        valid = validator.is_valid(value)
        n_valid += valid
        assert accepts(grammar, json.dumps(value)) == valid, value
    assert 30 < n_valid < 60
