"""What a schema's text may be: pairs of surrogates, a byte order mark. Errors have a pointer and repeat little of what was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled
from vocabularies import byte_tokenizer

import psc
from psc.requests.json_schemas import schema_text

SMILE = "\ud83d\ude00"  # as programs of UTF-16 pass U+1F600
HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    "schema",
    [
        {"const": SMILE},
        {"enum": ["x", SMILE]},
        json.dumps({"const": SMILE}),
        f'{{"const": "{SMILE}"}}',
        '{"const": "\\ud83d\\ude00"}',
        {"type": "string", "pattern": f"^{SMILE}$"},
    ],
)
def test_two_halves_are_one_character(schema: Any) -> None:
    grammar = compiled(schema)
    assert accepts(grammar, '"\U0001f600"')
    assert not accepts(grammar, '"y"')


def test_two_halves_in_every_language() -> None:
    smile = "\U0001f600"
    assert str(psc.Grammar.from_ebnf(f'root ::= "{SMILE}"')) == str(psc.Grammar.from_ebnf(f'root ::= "{smile}"'))
    assert str(psc.Grammar.from_regex(SMILE)) == str(psc.Grammar.from_regex(smile))
    lark = [str(psc.Grammar.from_lark(f'start: "{text}"')) for text in (SMILE, smile)]
    assert lark[0] == lark[1]
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": SMILE}}
    for given in (tag, json.dumps(tag), json.dumps(tag, ensure_ascii=False)):
        grammar = psc.GrammarCompiler(byte_tokenizer(), store=False).compile_structural_tag(given)
        assert psc.GrammarMatcher(grammar).accept_string(smile)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"const": HIGH}, "#/const"),
        ({"properties": {"a/b": {"enum": ["x", LOW]}}}, "#/properties/a~1b/enum/1"),
        ({"properties": {HIGH: {}}}, "#/properties"),
        ({"const": LOW + HIGH}, "#/const"),
        ({"const": SMILE + HIGH, "title": "t"}, "#/const"),
    ],
)
def test_half_of_a_pair_in_a_dictionary_has_a_pointer(schema: Any, pointer: str) -> None:
    with pytest.raises(psc.GrammarError, match="half of a surrogate pair") as caught:
        compiled(schema)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("schema", [f'{{"a": "{HIGH}"}}', f'\n{{"const": "{SMILE}{LOW}"}}'])
def test_half_of_a_pair_in_a_text_has_line_and_column(schema: str) -> None:
    with pytest.raises(psc.GrammarError, match="half of a surrogate pair") as caught:
        schema_text(schema)
    line, column = caught.value.line, caught.value.column
    assert line is not None
    assert column is not None
    whole = schema.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split("\n")[line - 1]
    assert whole[column - 1] == "\ufffd"


def test_a_byte_order_mark_is_skipped() -> None:
    assert accepts(compiled('\ufeff{"type": "integer"}'), "3")
    assert accepts(compiled(' {"const": "\ufeff"}'), '"\ufeff"')
    with pytest.raises(psc.GrammarError, match="line 1, column 2: this is no value"):
        compiled(' \ufeff{"type": "integer"}')


@pytest.mark.parametrize(
    ("text", "line", "column", "pointer"),
    [
        ("", 1, 1, "#"),
        ("x", 1, 1, "#"),
        ('{"properties": {"a": {"enum": [1, }}}', 1, 35, "#/properties/a/enum/1"),
        ('{"properties": {"a": {"b": 1 "c"}}}', 1, 30, "#/properties/a/b"),
        ('{"properties":\n {"a/b": tru}}', 2, 10, "#/properties/a~1b"),
        ('{"a": {"const": "\\ud83d"}}', 1, 18, "#/a/const"),
        ('{"a": [{}, {"b": 01}]}', 1, 18, "#/a/1/b"),
        ('{"a": 1,}', 1, 9, "#/a"),
        ('{"a": {}} {', 1, 11, "#"),
        ('[[1, [2, "x\ny"]]]', 1, 12, "#/0/1/1"),
    ],
)
def test_what_is_no_json_has_line_column_and_pointer(text: str, line: int, column: int, pointer: str) -> None:
    with pytest.raises(psc.GrammarError) as caught:
        compiled(text)
    error = caught.value
    assert (error.line, error.column, error.pointer) == (line, column, pointer), error
    assert f"line {line}, column {column}: " in str(error)
    assert pointer == "#" or f"(in {pointer})" in str(error)


LONG = "x" * 1_000_000
_LONG_TEXTS: dict[str, Callable[[], Any]] = {
    "$ref to a pointer": lambda: {"$ref": f"#/{LONG}"},
    "$ref to a text": lambda: {"$ref": f"http://x/{LONG}"},
    "$ref to an anchor": lambda: {"$ref": f"#{LONG}"},
    "$dynamicRef": lambda: {"$dynamicRef": f"#{LONG}"},
    "type": lambda: {"type": LONG},
    "name of a member": lambda: {"properties": {LONG: {"type": "strnig"}}},
    "name of a member, count": lambda: {"properties": {LONG: {"minLength": -1}}},
    "name of a member, limit": lambda: {"properties": {LONG: {"pattern": "^(a|b)*a(a|b){20}$"}}},
    "name of a definition": lambda: {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": f"#/$defs/{LONG}"}, LONG: {"items": 7}}},
    "pattern": lambda: {"pattern": f"\\p{{{LONG}}}"},
    "enum without a value": lambda: {"type": "null", "enum": [LONG, LONG + "y"]},
    "required without a value": lambda: {"type": "object", "required": [LONG], "properties": {LONG: False}},
    "const": lambda: {"const": LONG},
    "number": lambda: '{"a": ' + "9" * 1_000_000 + "x}",
    "escape": lambda: '{"' + LONG + '": "\\q"}',
    "uniqueItems": lambda: {"properties": {LONG: {"type": "array", "uniqueItems": True}}},
    "multipleOf": lambda: {"properties": {LONG: {"multipleOf": 0.123456789}}},
    "half of a pair": lambda: {LONG: HIGH},
}


@pytest.mark.parametrize("name", _LONG_TEXTS)
def test_a_message_repeats_at_most_200_characters(name: str) -> None:
    with pytest.raises(psc.GrammarError) as caught:
        compiled(_LONG_TEXTS[name]())
    assert len(str(caught.value)) < 500
    assert str(caught.value).count("x") < 220


def test_what_can_be_left_out_is_said() -> None:
    with pytest.raises(psc.GrammarError, match=r"#/items, uniqueItems: .*; lenient=True leaves it out"):
        compiled({"items": {"type": "array", "items": {"type": "object"}, "uniqueItems": True}})
    with pytest.raises(psc.GrammarError, match=r"#, multipleOf: .*; lenient=True leaves it out"):
        compiled({"multipleOf": 0.123456789})


def test_limits_have_a_pointer() -> None:
    with pytest.raises(psc.ResourceLimitError) as caught:
        compiled({"properties": {"a": {"pattern": "^(a|b)*a(a|b){20}$"}}})
    assert caught.value.pointer == "#/properties/a"


def test_a_limit_of_texts_with_a_format_says_what_leaves_the_format_out() -> None:
    schema = {"properties": {"a": {"type": "string", "format": "uri", "not": {"pattern": "(?=.*[A-Z]).*[0-9].{12}x"}}}}
    with pytest.raises(psc.ResourceLimitError, match=r"assert_format=False leaves formats out$"):
        compiled(schema)
    without = {"properties": {"a": {"pattern": "^(a|b)*a(a|b){20}$"}}}
    with pytest.raises(psc.ResourceLimitError) as caught:
        compiled(without)
    assert "assert_format" not in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "text", "is_valid"),
    [
        ({"properties": {"b": {}}, "required": ["a"]}, '{"a": 1}', True),
        ({"properties": {"card": {}}, "dependentRequired": {"card": ["cvv"]}}, '{"card": 1}', False),
        ({"properties": {"card": {}}, "dependentRequired": {"card": ["cvv"]}}, '{"card": 1, "cvv": 2}', False),
        ({"$ref": "#/$defs/b", "properties": {"n": {}}, "$defs": {"b": {"properties": {"i": {}}}}}, '{"n": 2, "i": 1}', True),
        ({"$ref": "#/$defs/b", "properties": {"n": {}}, "$defs": {"b": {"properties": {"i": {}}}}}, '{"i": 1, "n": 2}', False),
        ({"allOf": [{"properties": {"i": {}}}], "properties": {"n": {}}}, '{"i": 1, "n": 2}', False),
    ],
)
def test_what_the_page_says_of_strict_schemas_and_order(schema: dict[str, Any], text: str, is_valid: bool) -> None:
    assert accepts(compiled({"type": "object", **schema}, strict_mode=True), text) == is_valid


def test_what_the_page_says_of_open_objects() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    for any_order in (False, True):
        assert accepts(compiled(schema, any_order=any_order), '{"b": 1, "a": 2}') == any_order


def test_a_schema_that_refers_to_itself_has_a_pointer() -> None:
    for schema in (
        {"$ref": "#"},
        {"properties": {"x": {}}, "dependentSchemas": {"x": {"$ref": "#"}}},
        {"items": {"allOf": [{"$ref": "#/items"}]}},
    ):
        with pytest.raises(psc.GrammarError, match=r"<JSON schema>: #[^ ]*, \$ref: it refers to itself") as caught:
            compiled({**schema, "type": ["object", "array"]}, strict_mode=True)
        assert str(caught.value.pointer).startswith("#")
