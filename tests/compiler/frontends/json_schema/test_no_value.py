"""The error about a schema without values names the smallest part that has none, by pointer and keywords."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import pytest
from json_schema.bytewise import compiled
from vocabularies import byte_tokenizer

import psc
from psc.tool_calls.builtin_structural_tag import get_model_structural_tag

KIND = {"type": "string", "enum": []}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


LEAVES: list[tuple[dict[str, Any], str]] = [
    ({"enum": []}, "enum"),
    ({"type": []}, "type"),
    ({"type": "string", "enum": []}, "enum"),
    ({"type": "string", "const": 1}, "type and const"),
    ({"type": ["string", "null"], "enum": [1, True]}, "type and enum"),
    ({"type": "integer", "enum": [1.5, "a"]}, "type and enum"),
    ({"type": "string", "enum": ["abc"], "format": "date"}, "enum and format"),
    ({"const": "x", "format": "uuid"}, "const and format"),
    ({"type": "string", "pattern": "^[a-z]{5}$", "maxLength": 3}, "pattern and maxLength"),
    ({"type": "string", "pattern": "^a?$", "minLength": 2}, "pattern and minLength"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength and maxLength"),
    ({"type": "string", "format": "ipv4", "maxLength": 3}, "format and maxLength"),
    ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum and maximum"),
    ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}, "exclusiveMinimum and exclusiveMaximum"),
    ({"type": "number", "minimum": 1e300, "maximum": 1, "description": "d"}, "minimum and maximum"),
    ({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6}, "multipleOf, minimum and maximum"),
    ({"const": 3, "multipleOf": 2}, "const and multipleOf"),
    ({"type": "array", "minItems": 3, "maxItems": 2}, "minItems and maxItems"),
    ({"type": "array", "minItems": 1, "items": False}, "minItems and items"),
    ({"type": "array", "contains": True, "maxItems": 0}, "contains and maxItems"),
    ({"type": "array", "minItems": 4, "uniqueItems": True, "items": {"type": "boolean"}}, "minItems, uniqueItems and items"),
    ({"type": "object", "minProperties": 2, "maxProperties": 1}, "minProperties and maxProperties"),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "required and maxProperties"),
    ({"type": "object", "required": ["b", "a"], "properties": {"b": {}}, "additionalProperties": False},
     "required and additionalProperties: no value is left that has the member 'a'"),
    ({"type": "object", "required": ["a"], "properties": {"a": False}}, "required and properties"),
    ({"type": "object", "required": ["a"], "propertyNames": {"pattern": "^b"}}, "required and propertyNames"),
    ({"not": {}}, "not"),
    ({"type": "null", "not": {"const": None}}, "type and not"),
    ({"type": "null", "oneOf": [{"type": "null"}, {"enum": [None]}]}, "oneOf"),
    ({"allOf": [{"type": "string"}, {"minLength": 1}, {"type": "null"}]}, "allOf: no value is left; the parts are "),
    ({"anyOf": [{"enum": []}, {"type": "string", "const": 1}]}, "anyOf: no value is left; the parts are "),
    ({"type": "string", "if": True, "then": {"type": "null"}}, "type, if and then"),
]  # fmt: skip
AROUND: dict[str, tuple[Any, str]] = {
    "at the top": (lambda leaf: leaf, "#"),
    "in a member": (lambda leaf: _object(user=_object(kind=leaf)), "#/properties/user/properties/kind"),
    "among others": (lambda leaf: _object(a={"type": "null"}, b=leaf, c=KIND | {"enum": ["x"]}) | {"title": "t"}, "#/properties/b"),
    "of items": (lambda leaf: {"type": "array", "minItems": 2, "items": leaf}, "#/items"),
    "of a tuple": (lambda leaf: {"type": "array", "minItems": 2, "prefixItems": [{}, leaf]}, "#/prefixItems/1"),
    "behind a reference": (lambda leaf: _object(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": leaf, "m": {}}}, "#/$defs/n"),
    "in a branch": (lambda leaf: {"allOf": [{"title": "t"}, leaf]}, "#/allOf/1"),
    "behind then": (lambda leaf: {"if": {}, "then": leaf, "else": {}}, "#/then"),
    "that is contained": (lambda leaf: {"type": "array", "contains": leaf}, "#/contains"),
    "50 deep": (lambda leaf: _nested(leaf, 50), "#" + "/properties/a" * 50),
}


def _nested(leaf: Any, n: int) -> Any:
    for _ in range(n):
        leaf = {"type": "object", "properties": {"z": {"type": "string"}, "a": leaf}, "required": ["a"]}
    return leaf


def _error(schema: object, **options: Any) -> psc.GrammarError:
    with pytest.raises(psc.GrammarError, match="no value is left") as caught:
        compiled(schema, **options)
    assert caught.value.pointer is not None
    return caught.value


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("leaf", "keywords"), LEAVES, ids=[f"{i}: {k}" for i, (_, k) in enumerate(LEAVES)])
def test_the_smallest_part_is_named(leaf: dict[str, Any], keywords: str, around: str) -> None:
    placed, pointer = AROUND[around]
    for options in ({}, {"strict_mode": True}, {"any_order": True}):
        error = _error(placed(leaf), **options)
        assert error.pointer == pointer, error
        assert f"{pointer if len(pointer) < 200 else 'a'}, {keywords}" in str(error), error


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (_object(a={"$ref": "#"}), "#/properties/a, $ref: no value is left, because each one needs another one inside"),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "#/items, $ref: no value is left, because"),
        (
            {"$ref": "#/$defs/b", "$defs": {"b": _object(c={"$ref": "#/$defs/c"}), "c": _object(b={"$ref": "#/$defs/b"})}},
            "$ref: no value is left, because each one needs another one inside, without end",
        ),
        (_object(a={"enum": []}, b={"type": []}), "#/properties/b, type: no value is left"),
        (
            {"type": "object", "required": ["a"], "allOf": [{"properties": {"a": {"type": t}}} for t in ("string", "null")]},
            "#, type, required and allOf: no value is left that has the member 'a'; the parts are #/allOf/0, #/allOf/1",
        ),
        (False, "#: no value is left"),
        (_object(**{"a%20b/~": {"enum": []}}), "#/properties/a%20b~1~0, enum: no value is left"),
        (_object(**{f"n{i}": {"type": "string"} for i in range(500)}, z={"enum": []}), "#/properties/z, enum: no value is left"),
    ],
)
def test_causes_of_other_kinds(schema: object, message: str) -> None:
    assert message in str(_error(schema))


def test_optional_parts_without_values_are_no_cause() -> None:
    optional = {"type": "object", "properties": {"a": KIND, "b": {"type": "string", "const": 1}}, "required": ["b"]}
    assert str(_error(optional)).startswith("<JSON schema>: #/properties/b, type and const: no value is left")
    assert psc.GrammarMatcher(compiled({"type": "object", "properties": {"a": KIND}})).accept_string("{}")


def test_a_deep_or_large_schema_is_searched_for_a_moment_only() -> None:
    opening = '{"type": "object", "required": ["a"], "properties": {"a": '
    error = _error(opening * 900 + '{"enum": []}' + "}}" * 900)
    assert error.pointer is not None
    assert error.pointer.startswith("#/properties/a")
    assert len(str(error)) < 600
    long = "n" * 100_000
    assert len(str(_error({"type": "object", "required": [long], "additionalProperties": False}))) < 600


def _tools(parameters: object) -> list[Any]:
    good = {"type": "object", "properties": {"city": {"type": "string"}}}
    named = {"one": good, "two": parameters, "three": good}
    return [{"type": "function", "function": {"name": n, "parameters": p}} for n, p in named.items()]


@pytest.mark.parametrize("model", ["llama", "qwen_3", "qwen_3_coder", "harmony", "minimax", "glm_4_7", "kimi", "deepseek_v3_1"])
def test_in_a_tool_the_message_has_the_path_the_name_and_the_pointer(model: str) -> None:
    tag = get_model_structural_tag(model, tools=_tools(_object(user=_object(kind=KIND))))
    with pytest.raises(psc.GrammarError, match=r"json_schema: #/properties/user/properties/kind, enum: no value is left") as caught:
        psc.GrammarCompiler(byte_tokenizer(), store=False).compile_structural_tag(tag)
    assert caught.value.pointer == "#/properties/user/properties/kind"
    assert "two" in str(caught.value).partition("(behind ")[2], caught.value


@pytest.mark.parametrize("style", ["qwen_xml", "glm_xml"])
def test_parameters_are_members_of_an_object(style: str) -> None:
    schema = {"type": "string"}
    content = {"type": "json_schema", "style": style, "json_schema": schema}
    document = {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": content, "end": "</a>"}}
    with pytest.raises(psc.GrammarError, match=r"json_schema: #, type: no object is valid, .*behind '<a>'"):
        psc.GrammarCompiler(byte_tokenizer(), store=False).compile_structural_tag(json.dumps(document))


NAMES = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
LETTERS = {"type": "array", "items": {"type": "string", "pattern": "^[ab]$"}, "uniqueItems": True}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            _object(names=NAMES, kind={"type": "string", "pattern": "^a$", "minLength": 3}),
            "#/properties/kind, pattern and minLength: no value is left",
        ),
        (
            {"type": "object", "properties": {"a": NAMES}, "required": ["a", "b"], "additionalProperties": False},
            "#, required and additionalProperties: no value is left that has the member 'b'",
        ),
        (_object(x={**LETTERS, "minItems": 3}), "#/properties/x, items, uniqueItems and minItems: no value is left"),
    ],
)
def test_items_that_differ_hide_no_cause(schema: object, message: str) -> None:
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False)
    with pytest.raises(psc.GrammarError, match=f": {re.escape(message)}") as caught:
        compiler.compile_json_schema(schema)
    assert caught.value.pointer == message.split(",")[0]
    content = {"type": "json_schema", "json_schema": schema}
    document = {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": content, "end": "</a>"}}
    with pytest.raises(psc.GrammarError, match=f"json_schema: {re.escape(message)}"):
        compiler.compile_structural_tag(document)


def test_other_languages_keep_their_words() -> None:
    with pytest.raises(psc.GrammarError, match=r"rule 'root' .*"):
        psc.GrammarCompiler(byte_tokenizer(), store=False).compile_grammar('root ::= "a" root')


def test_rules_of_a_schema_without_values_can_be_pickled() -> None:
    from psc.compiler.frontends.json_schema.front_end import rules_of
    from psc.compiler.frontends.json_schema.settings import SchemaSettings

    if_empty = rules_of('{"enum": []}', SchemaSettings(), "t").if_empty
    assert if_empty is not None
    assert str(pickle.loads(pickle.dumps(if_empty))()) == "t: #, enum: no value is left, so no value is valid"
