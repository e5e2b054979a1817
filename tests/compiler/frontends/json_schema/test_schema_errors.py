"""Bad and hostile schemas: each ends in an error that names a place or a limit, or compiles, within seconds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled

import psc


def _nested(opening: str, closing: str, n: int = 9_000) -> str:
    return opening * n + '{"type": "string"}' + closing * n


def _chain(link: Any, n: int = 20_000) -> str:
    """Definitions each of which refers to the next."""
    definitions = {str(i): link({"$ref": f"#/$defs/{i + 1}"}) for i in range(n)}
    return json.dumps({"$ref": "#/$defs/0", "$defs": definitions | {str(n): {"type": "null"}}})


def _still_usable() -> None:
    assert accepts(compiled({"type": "integer"}), "1")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"type": ', "line 1"),
        ('{\n"type":: 1}', "line 2, column 8"),
        ("[]", "#: a schema must be an object or a boolean"),
        ('{"properties": {"a": {"items": 7}}}', "#/properties/a/items: a schema must be"),
        ('{"properties": {"a~/b": {"type": "text"}}}', "#/properties/a~0~1b, type: there is no type 'text'"),
        ('{"minLength": -1}', "#, minLength: minLength must be a non-negative integer"),
        ('{"anyOf": []}', "#, anyOf: anyOf must be an array of schemas"),
        ('{"required": [1]}', "#, required: "),
        ('{"pattern": "(a"}', "#, pattern: "),
        ('{"pattern": "(a)\\\\1"}', "#, pattern: .*backreferences"),
        ('{"$ref": "#/$defs/none"}', r"#, \$ref: "),
        ('{"$ref": "#"}', r"\$ref: it refers to itself"),
        ('{"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#"}]}}}', r"\$ref: it refers to itself"),
        ('{"$ref": "https://example.com/other"}', r"\$ref: "),
        ('{"multipleOf": 0}', "#, multipleOf: multipleOf must be greater than 0"),
        ('{"items": {"multipleOf": 0.123456789}}', "#/items, multipleOf: "),
        ('{"type": "array", "uniqueItems": true}', "#, uniqueItems: "),
    ],
)
def test_an_error_names_place_and_keyword(schema: str, message: str) -> None:
    with pytest.raises(psc.GrammarError, match=message):
        compiled(schema)
    _still_usable()


@pytest.mark.parametrize(
    "schema",
    [
        "false",
        '{"not": {}}',
        '{"type": "string", "enum": [1]}',
        '{"type": "string", "minLength": 2, "maxLength": 1}',
        '{"type": "string", "format": "ipv4", "maxLength": 3}',
        '{"type": "string", "pattern": "^a", "enum": ["b"]}',
        '{"type": "string", "allOf": [{"pattern": "^ab$"}, {"pattern": "^ac$"}]}',
        '{"type": "integer", "minimum": 0.1, "exclusiveMaximum": 1}',
        '{"type": "number", "minimum": 2, "maximum": 1}',
        '{"type": "object", "minProperties": 2, "maxProperties": 1}',
        '{"type": "object", "required": ["a"], "properties": {"a": false}}',
        '{"type": "object", "required": ["a", "b"], "maxProperties": 1}',
        '{"type": "object", "minProperties": 3, "properties": {"a": {}, "b": {}}, "additionalProperties": false}',
        '{"type": "array", "minItems": 1, "items": false}',
        '{"type": "array", "contains": {"type": "null"}, "items": {"type": "string"}}',
        '{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}',
        '{"oneOf": [{"type": "null"}, {"enum": [null]}], "type": "null"}',
    ],
)
def test_what_no_value_is_valid_of_is_said_when_it_is_compiled(schema: str) -> None:
    with pytest.raises(psc.GrammarError, match="no value is valid"):
        compiled(schema)
    _still_usable()


_HOSTILE = {
    "deep text": lambda: "[" * 100_000,
    "deep allOf": lambda: _nested('{"allOf": [', "]}"),
    "deep anyOf": lambda: _nested('{"anyOf": [{"type": "null"}, ', "]}"),
    "deep not": lambda: _nested('{"not": ', "}"),
    "deep if": lambda: _nested('{"if": ', "}"),
    "deep items": lambda: _nested('{"items": ', "}", 2_000),
    "deep names": lambda: _nested('{"propertyNames": ', "}"),
    "deep contains": lambda: _nested('{"contains": ', "}", 2_000),
    "deep unevaluated": lambda: _nested('{"unevaluatedProperties": ', "}", 2_000),
    "deep dependencies": lambda: _nested('{"dependentSchemas": {"a": ', "}}"),
    "deep enum": lambda: '{"enum": [' + "[" * 9_000 + "]" * 9_000 + "]}",
    "deep unique": lambda: '{"uniqueItems": true, "items": {"const": ' + '{"a": ' * 9_000 + "1" + "}" * 9_000 + "}}",
    "chain of $ref": lambda: _chain(lambda ref: ref),
    "chain of not": lambda: _chain(lambda ref: {"not": ref}),
    "chain of allOf": lambda: _chain(lambda ref: {"allOf": [ref]}),
    "chain of names": lambda: _chain(lambda ref: {"propertyNames": ref}),
    "5 MB of text": lambda: json.dumps({"type": "string", "description": "x" * 5_000_000}),
    "many names": lambda: json.dumps({"properties": {f"n{i}": {"type": "integer"} for i in range(100_000)}}),
    "many required": lambda: json.dumps({"required": [f"n{i}" for i in range(100_000)]}),
    "small step": lambda: '{"multipleOf": 1e-300}',
    "huge step": lambda: '{"multipleOf": 1e999999999}',
    "huge bounds": lambda: '{"minimum": -1e999999999, "maximum": 1e999999999}',
    "huge exponent": lambda: '{"const": 1e99999999999999999999999}',
    "many digits": lambda: '{"minimum": ' + "7" * 1_000_000 + "}",
    "huge length": lambda: '{"minLength": 999999999}',
    "huge array": lambda: '{"type": "array", "minItems": 999999999}',
    "huge contains": lambda: '{"type": "array", "contains": {"type": "null"}, "minContains": 999999999}',
    "backtracking pattern": lambda: '{"pattern": "^(a|b)*a(a|b){20}$"}',
    "pattern of repetitions": lambda: '{"pattern": "(a{1000}){1000}"}',
    "deep pattern": lambda: json.dumps({"pattern": "(" * 50_000 + "a" + ")" * 50_000}),
    "conditions in a pattern": lambda: json.dumps({"pattern": "".join(f"(?=.*{c})" for c in "abcdefghijk")}),
    "branches apart": lambda: json.dumps({"oneOf": [{"properties": {"k": {"const": i}}, "required": ["k"]} for i in range(300)]}),
    "branches by presence": lambda: json.dumps({"oneOf": [{"required": [f"x{i}"]} for i in range(100)]}),
    "2^n choices": lambda: json.dumps(
        {"allOf": [{"anyOf": [{"contains": {"const": i}}, {"contains": {"const": -i - 1}}]} for i in range(20)]}
    ),
    "2^n what is looked at": lambda: json.dumps(
        {"unevaluatedProperties": False, "anyOf": [{"patternProperties": {f"b{i}.*": True}} for i in range(40)]}
    ),
    "2^n paths": lambda: _chain(lambda ref: {"allOf": [ref, ref]}, 60),
    "2^n values": lambda: _chain(lambda ref: {"properties": {"a": ref, "b": ref}}, 60),
}


def test_limits_are_told_from_schemas_that_are_wrong() -> None:
    """What takes grammars from strangers tells the two apart by the type of the error."""
    branch = {"type": "object", "properties": {"p": {"type": "integer"}}}
    with pytest.raises(psc.ResourceLimitError, match=r"^[^#]*#/anyOf/4999: more than 5,000 schemas are about one value"):
        compiled({"anyOf": [{**branch, "required": [f"k{i}"]} for i in range(6_000)]}, strict_mode=True)
    with pytest.raises(psc.ResourceLimitError, match=r"#, unevaluatedProperties: .* conditions, the limit"):
        compiled(_HOSTILE["2^n what is looked at"]())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", _HOSTILE)
def test_a_hostile_schema_compiles_or_names_a_limit(name: str, strict: bool) -> None:
    try:
        grammar = compiled(_HOSTILE[name](), strict_mode=strict)
        assert len(psc.GrammarMatcher(grammar).allowed_tokens())
    except psc.GrammarError as e:
        assert any(word in str(e) for word in ("limit", "more than", "multipleOf", "expected", "no value")), e
    _still_usable()
