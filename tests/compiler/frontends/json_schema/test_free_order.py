"""Members in any order, more than eight of them: the parser's states know which were there (native/lr/free_order_states.hpp).

The oracle is enumeration. A schema of twelve names, most of which can never come, has few texts: whole masks are those of all
beginnings of all of them. Larger ones are compared with the library jsonschema, as in test_schemas_agree.
"""

from __future__ import annotations

import json
import random
from itertools import permutations, product
from typing import Any

import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from json_schema.bytewise import END, LONGER, accepts, compiled, compiler, vocabulary
from json_schema.random_schemas import DRAFTS, names, schemas, values
from json_schema.reference import NotComparable, is_valid, text_of, value_of
from json_schema.walks import walk
from jsonschema import Draft202012Validator

import psc
from psc.inspection.explaining import Explainer

PADDING = {f"p{i}": {"type": "null"} for i in range(9)}
NEVER = {f"n{i}": False for i in range(9)}
ONE_LINE = {"any_whitespace": False, "separators": (",", ":"), "any_order": True, "strict_mode": False}


def members(**properties: Any) -> dict[str, Any]:
    """An object of these members and of many that cannot come."""
    return {"type": "object", "properties": {**properties, **NEVER}, "additionalProperties": False}


# Formulas over which of the members a, b and c are there.
_formulas = st.recursive(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True).map(lambda some: {"required": some}),
    lambda inner: st.one_of(
        st.builds(lambda s: {"not": s}, inner),
        st.builds(lambda k, s: {k: s}, st.sampled_from(["anyOf", "allOf", "oneOf"]), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda a, b, c: {"if": a, "then": b, "else": c}, inner, inner, inner),
    ),
    max_leaves=5,
)
_terms = st.fixed_dictionaries(
    {},
    optional={
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "minProperties": st.integers(0, 3),
        "dependentRequired": st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from("abc"), max_size=2, unique=True)),
        "allOf": st.lists(_formulas, min_size=1, max_size=2),
    },
)
_values = st.sampled_from([{"const": True}, {"enum": ["u", "uv"]}, {"enum": [None, False, ""]}, {"enum": [{}, []]}])


def _texts(schema: dict[str, Any], most: int) -> list[bytes]:
    """Every text of at most so many members: a, b and c once at most, x as often as there is room."""
    properties = {**schema["properties"], "x": schema["patternProperties"]["^x$"]}
    allowed = {name: _values_of(s) for name, s in properties.items() if s is not False}
    validator = Draft202012Validator({k: v for k, v in schema.items() if k not in ("minProperties", "maxProperties")})
    texts = []
    for n in range(most + 1):
        for row in product(sorted(allowed), repeat=n):
            if n < schema.get("minProperties", 0) or any(row.count(name) > 1 for name in "abc"):
                continue
            for values_of_row in product(*(allowed[name] for name in row)):
                if validator.is_valid(dict(zip(row, values_of_row, strict=True))):
                    pairs = (f'"{k}":{json.dumps(v)}' for k, v in zip(row, values_of_row, strict=True))
                    texts.append(("{" + ",".join(pairs) + "}").encode())
    return texts


def _values_of(schema: dict[str, Any]) -> list[Any]:
    return schema["enum"] if "enum" in schema else [schema["const"]]


@examples(40)
@given(
    st.fixed_dictionaries({"a": _values, "b": _values, "c": _values}), _terms, st.sampled_from([None, "w"]), st.integers(0, 2**32)
)
@bounded
def test_masks_are_the_beginnings_of_all_texts(properties: dict[str, Any], terms: dict[str, Any], x: Any, seed: int) -> None:
    schema = members(**properties) | {"maxProperties": 3, "patternProperties": {"^x$": {"const": x} if x else False}} | terms
    texts = _texts(schema, 3)
    rng = random.Random(seed)
    longer = {
        text[i : i + n] for text in rng.sample(texts, min(len(texts), 30)) for n in (2, 4, 7, 9) for i in range(len(text) - n + 1)
    }
    info = vocabulary(tuple(sorted(longer)))
    try:
        grammar = psc.GrammarCompiler(info, store=False, cache_enabled=False).compile_json_schema(schema, **ONE_LINE)
    except psc.GrammarError as e:
        assert "no value is valid" in str(e)
        assert not texts
        return
    assert texts
    beginnings = {text[:i] for text in texts for i in range(len(text) + 1)}
    whole = set(texts)
    for text in rng.sample(texts, min(len(texts), 6)):
        matcher = psc.GrammarMatcher(grammar)
        done = b""
        while True:
            expected = {t for t, b in enumerate(info.token_texts) if t != END and done + b in beginnings} | (
                {END} if done in whole else set()
            )
            assert set(matcher.allowed_tokens().tolist()) == expected, (schema, done)
            if done == text:
                break
            token = rng.choice([t for t in expected if t != END and text.startswith(done + info.token_texts[t])])
            assert matcher.accept_token(token)
            done += info.token_texts[token]


def _padded(schema: Any) -> Any:
    """With nine members more, wherever a schema declares some."""
    if isinstance(schema, list):
        return [_padded(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: value if key in ("enum", "const", "required") else _padded(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        out["properties"] = {**out["properties"], **PADDING}
    return out


_cases = st.sampled_from(sorted(DRAFTS)).flatmap(lambda draft: st.tuples(st.just(draft), schemas(draft).map(_padded)))
_members = st.dictionaries(st.one_of(names, st.sampled_from(sorted(PADDING))), st.one_of(st.none(), values), max_size=5)


@examples(40)
@given(_cases, st.lists(_members, min_size=6, max_size=6), st.integers(0, 2**32))
@bounded
def test_schemas_with_many_members_are_exact(case: tuple[int, Any], some: list[Any], seed: int) -> None:
    draft, schema = case
    try:
        grammar = compiler(LONGER).compile_json_schema(text_of(schema), strict_mode=False, any_order=True)
    except psc.GrammarError:
        return
    rng = random.Random(seed)
    try:
        for _ in range(4):
            try:
                text = walk(grammar, rng)
                value = value_of(text)
            except (NotComparable, psc.GrammarError):  # no end was found within the bounds of the search
                continue
            assert is_valid(draft, schema, value), (text_of(schema), text)
            some.append(_shuffled(value, rng))
        for value in some:
            assert accepts(grammar, text_of(value)) == is_valid(draft, schema, value), (text_of(schema), text_of(value))
    except RecursionError:
        return


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        pairs = [(k, _shuffled(v, rng)) for k, v in value.items()]
        rng.shuffle(pairs)
        return dict(pairs)
    return [_shuffled(v, rng) for v in value] if isinstance(value, list) else value


def test_each_declared_name_comes_once_and_required_ones_come() -> None:
    n = 60
    schema = {
        "type": "object",
        "properties": {f"k{i}": {"type": "integer"} for i in range(n)},
        "required": [f"k{i}" for i in range(0, n, 2)],
        "additionalProperties": {"type": "boolean"},
    }
    grammar = compiled(schema, any_order=True)
    rng = random.Random(3)
    for _ in range(5):
        pairs = [f'"k{i}": {i}' for i in range(n) if i % 2 == 0 or rng.random() < 0.5] + ['"other": true']
        rng.shuffle(pairs)
        assert accepts(grammar, "{" + ", ".join(pairs) + "}")
        required = next(p for p in pairs if int(p.split()[-1]) % 2 == 0) if "true" not in pairs[0] else pairs[1]
        assert not accepts(grammar, "{" + ", ".join([*pairs, pairs[0]]) + "}") or "other" in pairs[0]
        assert not accepts(grammar, "{" + ", ".join(p for p in pairs if '"k0"' not in p) + "}"), required
    assert not accepts(grammar, '{"k0": 1, "k0": 2')


def test_objects_in_each_other_have_sets_of_their_own() -> None:
    names_ = [f"k{i}" for i in range(9)]
    inner = {
        "type": "object",
        "properties": {name: {"type": "null"} for name in names_},
        "required": ["k1"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {**{name: inner for name in names_}},
        "maxProperties": 2,
        "additionalProperties": False,
    }
    grammar = compiled({"type": "array", "items": schema}, any_order=True)
    assert accepts(grammar, '[{"k3": {"k1": null, "k3": null}, "k1": {"k1": null}}, {"k3": {"k1": null}}]')
    assert not accepts(grammar, '[{"k3": {"k1": null, "k3": null, "k1"')
    assert not accepts(grammar, '[{"k3": {"k3": null}')
    assert not accepts(grammar, '[{"k3": {"k1": null}, "k3"')
    assert not accepts(grammar, '[{"k3": {"k1": null}, "k1": {"k1": null}, ')


def test_a_member_that_has_no_value_makes_what_requires_it_impossible() -> None:
    recursive = {"type": "object", "properties": {**PADDING, "r": {"$ref": "#/$defs/r"}}, "required": ["r"]}
    with pytest.raises(psc.GrammarError, match="no value is valid"):
        compiled({"$ref": "#/$defs/r", "$defs": {"r": recursive}}, any_order=True)
    closed = {"type": "object", "properties": {**PADDING, "s": {"$ref": "#/$defs/r"}}, "additionalProperties": False}
    grammar = compiled({**closed, "$defs": {"r": recursive}}, any_order=True)
    assert accepts(grammar, '{"p1": null, "p0": null}')
    assert {grammar.tokenizer_info.token_texts[t] for t in _after(grammar, '{"').allowed_tokens()} == {b"p"}


def test_many_objects_need_a_member_that_has_no_value() -> None:
    """So far below that only the rules show it. They go together, not one after the other."""

    def without_value(i: int, depth: int) -> dict[str, Any]:
        inner = without_value(i, depth - 1) if depth else False
        return {"type": "object", "properties": {**PADDING, f"d{i}": inner}, "required": [f"d{i}"]}

    live = members(a={"type": "null"}, b={"type": "boolean"}) | {"required": ["b"]}
    grammar = compiled({"anyOf": [*(without_value(i, 12) for i in range(50)), live]}, any_order=True)
    assert accepts(grammar, '{"a": null, "b": true}')
    assert accepts(grammar, '{"b": true, "a": null}')
    texts = grammar.tokenizer_info.token_texts
    assert {texts[t] for t in _after(grammar, '{"').allowed_tokens()} == {b"a", b"b"}


def _after(grammar: psc.CompiledGrammar, text: str) -> psc.GrammarMatcher:
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string(text)
    return matcher


def test_matchers_go_back_and_fork_with_what_they_have_seen() -> None:
    grammar = compiled(members(**{name: {"type": "null"} for name in "abc"}), any_order=True)
    matcher = _after(grammar, '{"b": null, "')
    texts = grammar.tokenizer_info.token_texts
    assert {texts[t] for t in matcher.allowed_tokens()} == {b"a", b"c"}
    fork = matcher.fork()
    assert fork.accept_string('c": null, "')
    assert {texts[t] for t in fork.allowed_tokens()} == {b"a"}
    assert {texts[t] for t in matcher.allowed_tokens()} == {b"a", b"c"}
    fork.rollback(1)
    assert {texts[t] for t in fork.allowed_tokens()} == {b"a", b"c"}
    again = psc.CompiledGrammar.deserialize_json(grammar.serialize_json(), grammar.tokenizer_info)
    assert accepts(again, '{"c": null, "a": null}')
    assert not accepts(again, '{"c": null, "c": null}')


def test_all_orders_of_few_members() -> None:
    grammar = compiled(members(a={"type": "null"}, b={"type": "null"}, c={"type": "null"}, d={"type": "null"}), any_order=True)
    for n in range(5):
        for row in permutations("abcd", n):
            assert accepts(grammar, "{" + ",".join(f'"{name}":null' for name in row) + "}")


def test_some_member_that_a_pattern_names_must_be_so() -> None:
    strings = {"type": "object", "additionalProperties": {"type": "string"}}
    grammar = compiled({"type": "object", "properties": PADDING, "not": strings}, any_order=True)
    validator = Draft202012Validator({"type": "object", "properties": PADDING, "not": strings})
    rng = random.Random(11)
    for _ in range(40):
        value = {name: rng.choice([None, "a"]) for name in rng.sample([*PADDING, "x", "y"], rng.randrange(4))}
        assert accepts(grammar, json.dumps(value)) == validator.is_valid(value), value


@pytest.mark.parametrize("others", [False, True, {"type": "null"}], ids=str)
@pytest.mark.parametrize("most", [None, 2])
def test_some_member_of_several_names_must_be_so(others: Any, most: int | None) -> None:
    a_is_null = {"patternProperties": {"^a": {"type": "null"}}}
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "ab": {}, "b": {}, **NEVER}, "additionalProperties": others}
    schema["not"] = {"anyOf": [a_is_null, {"patternProperties": {"b$": {"type": "boolean"}}}]}
    if most is not None:
        schema["maxProperties"] = most
    if most is not None and others is not False:
        with pytest.raises(psc.ResourceLimitError, match="must be so by their names"):
            compiled(schema, any_order=True)
        return
    grammar, validator, rng = compiled(schema, any_order=True), Draft202012Validator(schema), random.Random(2)
    n_valid = 0
    for _ in range(200):
        value = {name: rng.choice([None, True, "a"]) for name in rng.sample(["a", "ab", "b", "ac", "x", "cb"], rng.randrange(1, 4))}
        valid = validator.is_valid(value)
        n_valid += valid
        assert accepts(grammar, json.dumps(value)) == valid, value
    assert n_valid > 5
    for _ in range(10):
        text = walk(grammar, rng)
        assert validator.is_valid(json.loads(text)), text


@pytest.mark.parametrize(
    "items",
    [
        {"enum": [*"abcdefghijklmno", None, True, 1, 11, 1.5]},
        {"type": "integer", "minimum": -7, "exclusiveMaximum": 12},
        {"anyOf": [{"enum": list(range(12))}], "enum": [*range(6, 30), "x"]},
    ],
    ids=["enum", "integers", "both"],
)
@pytest.mark.parametrize("count", [{}, {"minItems": 2, "maxItems": 3}], ids=str)
def test_many_values_that_must_differ(items: Any, count: dict[str, int]) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True, **count}
    grammar = compiled(schema)
    validator = Draft202012Validator(schema)
    rng = random.Random(5)
    some = [v for v in [*range(-9, 31), 1.5, 0.5, *"abcox", None, True, False, [], {}] if Draft202012Validator(items).is_valid(v)]
    assert len(some) > 5
    for _ in range(60):
        value = rng.choices([*some, 40, "q"], k=rng.randrange(5)) if rng.random() < 0.3 else rng.sample(some, rng.randrange(5))
        assert accepts(grammar, json.dumps(value)) == validator.is_valid(value), value
    assert not accepts(grammar, "[7, 7")
    assert not accepts(grammar, "[7.0, 7.00,")
    for _ in range(5):
        assert validator.is_valid(json.loads(walk(grammar, rng)))


def test_objects_that_must_differ_are_few() -> None:
    def of_objects(n: int) -> psc.CompiledGrammar:
        return compiled({"items": {"enum": [{"a": i} for i in range(n)]}, "uniqueItems": True})

    assert accepts(of_objects(8), '[{"a": 3}, {"a": 1}]')
    assert not accepts(of_objects(8), '[{"a": 3}, {"a": 3}]')
    with pytest.raises(psc.ResourceLimitError, match="20,000 states"):
        of_objects(16)


def test_such_a_schema_is_a_tool_of_a_structural_tag() -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "tag",
            "begin": "<call>",
            "content": {"type": "json_schema", "json_schema": members(a={"type": "null"}, b={"type": "null"}), "any_order": True},
            "end": "</call>",
        },
    }
    grammar = compiler().compile_structural_tag(tag)
    assert accepts(grammar, '<call>{"b": null, "a": null}</call>')
    assert not accepts(grammar, '<call>{"b": null, "b"')


def test_refusals_are_explained() -> None:
    grammar = compiled(members(a={"type": "null"}, b={"type": "null"}), any_order=True)
    explained = Explainer(grammar).explain(b'{"a": null, "a')
    assert explained.stop is not None and explained.read == '{"a": null, "'
    assert explained.characters == "'b'"
    assert explained.shortest_end == """'b":null}'"""


def test_what_cannot_hold_them_says_so() -> None:
    grammar = psc.Grammar.from_json_schema({"type": "object", "properties": PADDING}, any_order=True)
    with pytest.raises(psc.GrammarError, match="members in any order, more than eight"):
        psc.compile_ahead_of_time(grammar, vocabulary())
    with pytest.raises(psc.GrammarError, match="members in any order, more than eight"):
        str(grammar)
    with pytest.raises(psc.ResourceLimitError, match="more than 4000"):
        compiled({"type": "object", "properties": {f"k{i}": {} for i in range(5000)}}, any_order=True)
