"""Where a text leaves a schema, `check` says which member or which bound was expected, in the schema's words."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from json_schema.bytewise import compiled

from psc.inspection.checking import Check, Checker

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["a", "b"]},
        "n": {"type": "integer", "minimum": 3, "maximum": 9},
        "s": {"type": "string", "maxLength": 3},
        "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1},
        "day": {"type": "string", "format": "date"},
        "x": {"type": "string", "pattern": "^x+$"},
        "user": {"$ref": "#/$defs/user"},
        "any": {"anyOf": [{"const": None}, {"type": "number", "exclusiveMinimum": 0.5}]},
        'q"t': {"type": "null"},
    },
    "required": ["kind", "n"],
    "$defs": {
        "user": {
            "type": "object",
            "allOf": [{"properties": {"name": {"type": "string", "minLength": 2}, "at": {"enum": [[1], [2]]}}}],
            "required": ["name"],
        }
    },
}
BEGUN = '{"kind": "a", "n": 3, '


def _check(text: str, schema: Any = SCHEMA, **options: Any) -> Check:
    return Checker(compiled(schema, strict_mode=True, **options)).check(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 3}', ["the member 'kind'"]),
        ("{}", ["the member 'kind'"]),
        ('{"other": 3}', ["the member 'kind'"]),
        ('{"kind": "a", "x": 1}', ["the member 'n'"]),
        ('{"kind": "a"}', ["the member 'n'"]),
        ('{"kind": "c"}', ['a value: kind must be one of "a", "b"']),
        ('{"kind": 3}', ['a value: kind must be one of "a", "b"']),
        ('{"kind": "a", "n": 2}', ["a value: n must be an integer, at least 3, at most 9"]),
        ('{"kind": "a", "n": 10}', ["a value: n must be an integer, at least 3, at most 9"]),
        ('{"kind": "a", "n": "3"}', ["a value: n must be an integer, at least 3, at most 9"]),
        (BEGUN + '"s": "abcd"}', ["a value: s must be a string of at most 3 characters"]),
        (BEGUN + '"list": []}', ["a value: list[0] must be true or false"]),
        (BEGUN + '"list": [true, 1]}', ["a value: list[1] must be true or false"]),
        (BEGUN + '"day": "2000-13-01"}', ['a value: day must be a string of the format "date"']),
        (BEGUN + '"x": "xy"}', ['a value: x must be a string that matches "^x+$"']),
        (BEGUN + '"user": {"at": [1]}}', ["the member 'name'"]),
        (BEGUN + '"user": {"name": "a"}}', ["a value: user.name must be a string of at least 2 characters"]),
        (BEGUN + '"user": {"name": "ab", "at": [3]}}', ["a value: user.at must be one of [1], [2]"]),
        (BEGUN + '"any": 0.5}', ["a value: any must be null or a number, greater than 0.5"]),
        (BEGUN + '"q\\"t": 1}', ['a value: q"t must be null']),
        (BEGUN + '"zzz": 1}', ["the member 's'", "the member 'list'", "the member 'day'", "the member 'x'", "the member 'user'"]),
        ("[]", ["a value that is an object"]),
        ("", ["a value that is an object"]),
    ],
)
def test_the_member_or_the_bound_is_named(text: str, expected: list[str]) -> None:
    stop = _check(text).stop
    assert stop is not None
    assert list(stop.expected[: len(expected)]) == expected, stop.message()
    assert "[\\t\\n" not in stop.message()


def test_in_any_order_all_members_that_are_left_are_named() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {}, "c": {}}, "required": ["a", "b"]}
    assert _check('{"b": 1, "d": 1}', schema, any_order=True).stop.expected == ("the member 'a'", "the member 'c'")  # type: ignore[union-attr]
    assert _check('{"b": 1}', schema, any_order=True).stop.expected == ("the member 'a'", "the member 'c'")  # type: ignore[union-attr]


def test_the_end_of_an_object_is_named() -> None:
    stop = _check('{"a": 1 x', {"type": "object", "properties": {"a": {}, "b": {}}}).stop
    assert stop is not None
    assert stop.expected == ("the member 'b'", '"}"')


def test_long_names_and_values_are_shortened() -> None:
    long = "x" * 10_000
    schema = {"type": "object", "properties": {long: {"enum": [long, long + "y"]}}, "required": [long]}
    for text in ("{}", json.dumps({long: 1})):
        stop = _check(text, schema).stop
        assert stop is not None
        assert len(stop.message()) < 500


DEFS = {"$defs": SCHEMA["$defs"]}


@pytest.mark.parametrize("value", ["3.5", '"x"', "true", "null", "2", "-3"])
def test_a_bound_is_not_said_without_the_type(value: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}}
    stop = _check(f'{{"n": {value}}}', schema).stop
    assert stop is not None and stop.expected == ("a value: n must be an integer, at least 3",)


@pytest.mark.parametrize("items", [{"type": "string"}, {"type": "string", "pattern": "^[ab]$"}, {"enum": ["a", "b"]}])
@pytest.mark.parametrize("lenient", [False, True])
def test_an_item_that_came_already_is_said_to_be_one(items: Any, lenient: bool) -> None:
    """Not of lenient settings, which leave it out unless the values are listed."""
    schema = {"type": "object", "properties": {"u": {"type": "array", "items": items, "uniqueItems": True}}}
    stops = [_check(f'{{"u": {text}}}', schema, lenient=lenient).stop for text in ('["a","a"]', '["a",0]', "[0]")]
    differ = [stop is not None and stop.expected[0].endswith(", other than the items before it") for stop in stops]
    assert differ == [not lenient, not lenient, False]


OTHERS = [
    SCHEMA,
    {"type": "array", "items": SCHEMA, **DEFS},
    {"anyOf": [SCHEMA, {"type": "string"}], **DEFS},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
]


@pytest.mark.parametrize("schema", OTHERS, ids=range(len(OTHERS)))
def test_every_text_gets_an_answer(schema: Any) -> None:
    """Texts with a mistake anywhere, and texts that are cut."""
    draw = random.Random(3)
    checker = Checker(compiled(schema, strict_mode=True))
    whole = BEGUN + '"s": "ab", "list": [true], "user": {"name": "abc", "at": [1]}, "q\\"t": null}'
    for begin in (whole, f"[{whole}, {whole}]", '"a\\u00e4"', "[[], [[]]]"):
        for _ in range(60):
            at = draw.randrange(len(begin) + 1)
            text = (
                begin[:at]
                + draw.choice(["", "", "x", '"', "}", "]", ",", ":", "\\", "{", "1", "-", "é"])
                + begin[at + draw.randrange(2) :]
            )
            check = checker.check(text[: draw.randrange(1, len(text) + 1)].encode())
            assert check.disagreement is None
            if check.stop is not None:
                assert check.stop.message()
