"""Structural tags by example: which texts each format takes, and which it does not."""

from __future__ import annotations

from typing import Any

import pytest

from psc import GrammarCompiler, GrammarMatcher, TokenizerInfo

_END = 256
_COMPILER = GrammarCompiler(
    TokenizerInfo.from_tokens([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[_END]), store=False, registry=False
)


def _takes(form: dict[str, Any], text: str) -> bool:
    matcher = GrammarMatcher(_COMPILER.compile_structural_tag({"type": "structural_tag", "format": form}))
    return bool(matcher.accept_string(text)) and bool(matcher.accept_token(_END))


def _tag(begin: str, content: dict[str, Any], end: object) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


_ANY = {"type": "any_text"}
_EMPTY = {"type": "const_string", "value": ""}
_OBJECT = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
_TAGS = [_tag(f"<function={name}>", _OBJECT, "</function>") for name in "fg"]
_TRIGGERED = {"type": "triggered_tags", "triggers": ["<function="], "tags": _TAGS}
_CALL = '<function=f>{"a":1}</function>'
_STRING = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
_INTEGER = {"type": "object", "properties": {"a": {"type": "integer"}}}
_ONE = {"type": "const_string", "value": "1"}

VECTORS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    (_tag("<t>", _ANY, "</t>"), ["<t></t>", "<t>a</t</t>", "<t><t></t>"], ["<t>a</t>b</t>", "<t>a"]),
    (_tag("B", {"type": "any_text", "excludes": ["Z"]}, ""), ["B", "Babc"], ["BZ", ""]),
    (_tag("a", {"type": "sequence", "elements": [_tag("<t>", _ANY, "</t>")]}, "b"), ["a<t>xbx</t>b"], ["a<t>xbx</t>"]),
    (_tag("<", _ANY, ["", "E"]), ["<", "<a", "<aE"], ["<aEb", "<EE"]),
    (_tag("<", {"type": "any_text", "excludes": ["E"]}, "E"), ["<E", "<aE"], ["<a", "<aEE"]),
    (
        {
            "json_schema": {
                "type": "object",
                "properties": {"v": {"type": "string"}, "p": {"type": "string", "pattern": "^[a-z]+$"}},
                "patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": {"type": "integer"},
            },
            "excludes": ["bad"],
        },
        ['{"v": "ba"}', '{"p": "bad"}', '{"xbad": 1}', '{"ba": 1}'],
        ['{"v": "a bad"}', '{"p": "BAD"}', '{"bad": 1}', '{"v": "\\u0062ad", "bad": 1}'],
    ),
    (
        {"json_schema": {"type": "object", "propertyNames": {"pattern": "^[a-z]*$"}}, "excludes": ["bad"]},
        ['{"bad": "b"}'],
        ['{"a": "bad"}', '{"A": 1}'],
    ),
    (_tag("<", {"type": "any_text", "excludes": ["a</"]}, "</t>"), ["<a</t>", "<b</t>"], ["<a</a</t>"]),
    (_tag("<", {"type": "any_text", "max_chars": 2}, "</t>"), ["<</t>", "<ab</t>", "<é<</t>"], ["<abc</t>", "<ab"]),
    ({"type": "any_text", "max_chars": 3}, ["", "abc", "ééé"], ["abcd"]),
    ({"type": "any_text", "max_chars": 3, "excludes": ["bc"]}, ["", "abb"], ["abc", "aaaa"]),
    ({"type": "any_text", "excludes": ["</x>"]}, ["", "a</x"], ["a</x>", "a</x>b"]),
    (
        _TRIGGERED,
        ["", "hello", "x<funct", f'hi {_CALL} mid <function=g>{{"a":2}}</function>'],
        ["x<function=", "x<function=h>", "<function=f></function>"],
    ),
    ({**_TRIGGERED, "at_least_one": True}, [_CALL, f"{_CALL} mid {_CALL}"], ["", "hello", f"hi {_CALL}"]),
    ({**_TRIGGERED, "stop_after_first": True}, ["", "hello", f"hi {_CALL}"], [f"hi {_CALL} ", _CALL + _CALL]),
    ({**_TRIGGERED, "at_least_one": True, "stop_after_first": True}, [_CALL], ["", "hi", f"hi {_CALL}", f"{_CALL} "]),
    ({**_TRIGGERED, "excludes": ["!"]}, ["a", _CALL], ["a!", f"!{_CALL}"]),
    (
        {"type": "triggered_tags", "triggers": ["abc", "b"], "tags": [_tag("abc1", _EMPTY, ""), _tag("b2", _EMPTY, "")]},
        ["ab2", "b2b2", "a"],
        ["abc1", "ab"],
    ),
    ({"type": "dispatch", "rules": [["a", _ONE]], "loop": False}, ["xa1", "x"], ["a1x", "a1a1", "a"]),
    ({"type": "dispatch", "rules": [["a", _ONE]]}, ["xa1", "x", "a1xa1"], ["a", "a2"]),
    ({"type": "tags_with_separator", "separator": ",", "tags": [_tag("T", _EMPTY, "")]}, ["", "T", "T,T"], ["TT", "T,", " T"]),
    (
        {"type": "tags_with_separator", "separator": ",", "tags": [_tag("T", _EMPTY, "")], "at_least_one": True},
        ["T", "T,T,T"],
        ["", "T,"],
    ),
    ({"type": "repeat", "min": 0, "max": 0, "content": _ANY}, [""], ["x"]),
    ({"type": "repeat", "min": 1, "max": -1, "content": _ONE}, ["1", "111"], ["", "2"]),
    ({"type": "optional", "content": _ONE}, ["", "1"], ["11"]),
    ({"type": "plus", "content": _ONE}, ["1", "11"], [""]),
    ({"type": "star", "content": _ONE}, ["", "11"], ["2"]),
    ({"type": "or", "elements": [_ONE, {"type": "regex", "pattern": "b|c+"}]}, ["1", "b", "cc"], ["ab", "", "1b"]),
    ({"type": "sequence", "elements": [_ANY, {"type": "const_string", "value": "X"}]}, ["aXX", "X"], ["a", ""]),
    ({"type": "grammar", "grammar": 'root ::= "a" root "b" | ""'}, ["", "aabb"], ["aab"]),
    ({"value": "1"}, ["1"], ["2"]),
    ({"elements": [{"value": "1"}, {"excludes": ["a"]}]}, ["1", "1b"], ["1a"]),
    (
        {"type": "json_schema", "style": "qwen_xml", "json_schema": _STRING},
        ["<parameter=a>\nx\n</parameter>", "<parameter=a></parameter>"],
        ["<parameter=b>x</parameter>", ""],
    ),
    (
        {"type": "qwen_xml_parameter", "json_schema": _INTEGER},
        ["", "\n", "<parameter=a>\n1\n</parameter>"],
        ["<parameter=a>x</parameter>"],
    ),
    ({"type": "json_schema", "json_schema": {"type": "integer"}, "strict_mode": False}, ["1"], [" 1", "1 "]),
    (
        {**_OBJECT, "any_whitespace": False, "separators": [",", ":"]},
        ['{"a":1}'],
        ['{"a": 1}'],
    ),
]


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_texts(number: int) -> None:
    form, taken, refused = VECTORS[number]
    assert [text for text in taken if not _takes(form, text)] == []
    assert [text for text in refused if _takes(form, text)] == []


def test_the_older_forms_are_triggered_tags() -> None:
    items = [{"begin": "<function=f>", "schema": _OBJECT["json_schema"], "end": "</function>"}]
    wire = {"type": "structural_tag", "structures": items, "triggers": ["<function="]}
    for compiled in (
        _COMPILER.compile_structural_tag(items, ["<function="]),
        _COMPILER.compile_structural_tag(wire),
    ):
        matcher = GrammarMatcher(compiled)
        assert matcher.accept_string(f"hi {_CALL}") and matcher.accept_token(_END)
    matcher = GrammarMatcher(_COMPILER.compile_structural_tag({**wire, "at_least_one": True}))
    assert not matcher.accept_string("hi")
