"""A model that writes white space, zeros and line breaks wherever it may comes to an end, unless JSON Schema is asked for."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import psc
from psc.serving import GrammarService, OptionError, ServiceOptions
from psc.tool_calls.models.formats import FORMATS

RUNS = [
    " ",
    "\n",
    "\t",
    "\r",
    "0",
    "  ",
    "    ",
    " " * 16,
    "\n\n",
    "\n  ",
    "\r\n",
    "\t\t",
    "00",
    "000",
    "0" * 16,
    ".0",
    "0.0",
    "00e",
]
INFO = psc.TokenizerInfo.from_tokens(
    [*[bytes([b]) for b in range(256)], *[r.encode() for r in RUNS if len(r) > 1], b"</s>"],
    special_token_ids=[256 + sum(len(r) > 1 for r in RUNS)],
    stop_token_ids=[256 + sum(len(r) > 1 for r in RUNS)],
)
STOP = INFO.stop_token_ids[0]
WORDS = INFO.decoded_vocab
BAD = [i for i, word in enumerate(WORDS) if i != STOP and word and set(word) <= set(b" \n\t\r0.e")]
CLOSERS = [ord(c) for c in '}]"<']
"""What ends a text without limit: this is about what looks bounded."""
INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
_CHOICE = {"enum": ["a", "b", 1, 2.5, None, True, [0, 1.0], {"a": 0}]}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


SCHEMAS: list[Any] = [
    INTEGER,
    NUMBER,
    BOOLEAN,
    {"type": "integer", "minimum": 0, "maximum": 150},
    {"type": "integer", "minimum": 10**25},
    {"type": "integer", "maximum": -1},
    {"type": "integer", "exclusiveMinimum": 0},
    {"type": "integer", "multipleOf": 7},
    {"type": "integer", "multipleOf": 1000},
    {"type": "integer", "multipleOf": 60, "minimum": 100},
    {"type": "number", "multipleOf": 0.01},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1e-9},
    {"type": "number", "not": INTEGER},
    {"type": ["integer", "null"]},
    {"type": ["number", "boolean", "null"]},
    {"anyOf": [INTEGER, {"type": "number", "minimum": 1000}]},
    {"const": 0},
    {"const": 1.0},
    {"const": 1e30},
    {"const": -2.5e-7},
    {"enum": [0, 1, 2]},
    {"enum": [0.5, 1, 1e21]},
    {"enum": ["", " ", "00", "\n"]},
    _CHOICE,
    {"type": "string", "maxLength": 12},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "time"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "duration"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "uuid"},
    {"type": "array", "items": INTEGER, "minItems": 3, "maxItems": 3},
    {"type": "array", "prefixItems": [NUMBER, BOOLEAN], "items": False},
    {"type": "array", "items": {"enum": [0, 1, 10]}, "maxItems": 4, "uniqueItems": True},
    _object(),
    _object(a=INTEGER),
    _object(a=INTEGER, b=NUMBER, c=_CHOICE),
    _object(a=_object(b=_object(c=_object(d=BOOLEAN)))),
    _object(at={"type": "string", "format": "date-time"}, n={"type": "integer", "minimum": 0}),
    {**_object(a=INTEGER, b=INTEGER), "required": []},
    {"$defs": {"n": INTEGER}, **_object(a={"$ref": "#/$defs/n"}, b={"$ref": "#/$defs/n"})},
    {"oneOf": [_object(kind={"const": "a"}, n=INTEGER), _object(kind={"const": "b"}, x=NUMBER)]},
    {"type": "object", "minProperties": 1, "maxProperties": 3, "propertyNames": {"enum": ["a", "b", "c"]}},
]
STYLES = [
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "deepseek_v4_1_xml",
]
ARGUMENTS = [
    _object(n=INTEGER),
    _object(n=INTEGER, x=NUMBER, b=BOOLEAN),
    _object(o=_object(n=INTEGER, x=NUMBER), a={"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}),
    {**_object(n=INTEGER, z={"type": "null"}), "required": ["z"]},
    _object(e={"enum": ["a", "b"]}, m={"type": ["integer", "null"]}, c={"const": 1.5}),
    _object(t={"type": "string", "format": "date-time"}, d={"type": "string", "maxLength": 5}),
    _object(),
]


def service(**options: Any) -> GrammarService:
    return GrammarService(INFO, options=ServiceOptions.of(options, {}))


def tag(schema: Any, style: str = "json", **said: Any) -> str:
    content = {"type": "json_schema", "json_schema": schema, "style": style, **said}
    return json.dumps({"type": "structural_tag", "format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}})


def orders() -> list[list[int]]:
    """Tokens in the orders in which adversaries like them."""
    longest = sorted(BAD, key=lambda i: (-len(WORDS[i]), i))
    zeros = sorted(longest, key=lambda i: b"0" not in WORDS[i])
    return [longest, longest[::-1], zeros, zeros[::-1], random.Random(5).sample(BAD, len(BAD))]


def length_of(compiled: psc.CompiledGrammar, order: list[int], most: int, begin: str = "") -> int:
    """How many tokens an adversary writes after a begin until the text ends, or `most`."""
    matcher = psc.GrammarMatcher(compiled)
    assert matcher.accept_string(begin)
    bits = psc.allocate_token_bitmask(1, INFO.vocab_size)
    ranked = [*order, STOP, *CLOSERS, *range(256)]
    for step in range(most):
        matcher.fill_next_token_bitmask(bits)
        allowed = np.unpackbits(np.asarray(bits).view(np.uint8), bitorder="little")
        token = next(token for token in ranked if allowed[token])
        assert matcher.accept_token(token)
        if token == STOP:
            return step
    return most


def assert_ends(compiled: psc.CompiledGrammar, text: str) -> None:
    bound = 200 + 25 * len(text)
    for order in orders():
        assert length_of(compiled, order, bound) < bound, text


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_json_ends(schema: Any) -> None:
    text = json.dumps(schema)
    assert_ends(service().compile("json", text), text)


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("schema", [s for s in SCHEMAS if "properties" in s], ids=json.dumps)
def test_json_ends_whatever_else_is_chosen(schema: Any, any_order: bool) -> None:
    text = json.dumps(schema)
    assert_ends(service(any_order=any_order, strict=True).compile("json", text), text)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("schema", ARGUMENTS, ids=json.dumps)
def test_calls_end_in_every_style(schema: Any, style: str) -> None:
    text = tag(schema, style)
    assert_ends(service().compile("structural_tag", text), text)
    assert_ends(service(any_whitespace=False).compile("structural_tag", text), text)


def test_other_kinds_end() -> None:
    assert_ends(service().compile("json_object", ""), "")
    dialect = 'start: "a" %json {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": false}'
    assert_ends(service().compile("lark", dialect), dialect)
    older = json.dumps(
        {
            "structures": [{"begin": "<f>", "schema": _object(n=INTEGER), "end": "</f>"}],
            "triggers": ["<f>"],
            "at_least_one": True,
            "stop_after_first": True,
        }
    )
    assert_ends(service().compile("structural_tag", older), older)


@pytest.mark.parametrize(
    "schema", [INTEGER, NUMBER, _object(a=INTEGER), {"const": 1}, {"type": "string", "format": "time"}], ids=json.dumps
)
def test_without_bounds_the_same_model_does_not_end(schema: Any) -> None:
    """The adversary is one, and the reading of JSON Schema is an option away."""
    compiled = service(bounded=False).compile("json", json.dumps(schema))
    assert max(length_of(compiled, order, 1500) for order in orders()) == 1500
    assert compiled is not service().compile("json", json.dumps(schema))


def tools(parameters: dict[str, Any]) -> list[Any]:
    return [{"type": "function", "function": {"name": "f", "parameters": {**parameters, "additionalProperties": False}}}]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}], ids=["required", "named"])
@pytest.mark.parametrize("model", [*FORMATS, "harmony", "kimi_k3"])
def test_a_call_ends_in_every_model_s_format(model: str, choice: Any) -> None:
    """All white space, numbers of calls and line breaks of the format itself are bounded, too."""
    for parameters in ARGUMENTS:
        tag = psc.get_model_structural_tag(model, tools(parameters), choice, reasoning="disabled", parallel_tool_calls=False)
        text = json.dumps(tag.model_dump())
        compiled = service().compile("structural_tag", text)
        begin = "<|close|>response<|sep|>" if model == "kimi_k3" else ""  # the response before calls is free text
        assert max(length_of(compiled, order, 1500, begin) for order in orders()) < 1500


@pytest.mark.parametrize(
    "said, ours", [({"max_digits": 3}, 3), ({"max_digits": 50}, 50), ({}, 20), ({"max_digits": None}, 20)], ids=str
)
def test_a_format_says_its_bounds_itself(said: dict[str, Any], ours: int) -> None:
    compiled = service().compile("structural_tag", tag(_object(n=INTEGER), **said))
    for n, taken in ((ours, True), (ours + 1, False)):
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_string('<f>{"n":' + "1" * n + "}</f>") == taken
    spaced = service(max_whitespace=3).compile(
        "structural_tag", tag(_object(n=INTEGER), max_whitespace_cnt=7, plain_integers=False)
    )
    assert psc.GrammarMatcher(spaced).accept_string('<f>{"n":' + " " * 7 + "1.0}</f>")
    assert not psc.GrammarMatcher(spaced).accept_string('<f>{"n":' + " " * 8)


def test_tags_take_all_options_of_the_service() -> None:
    members = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, '{ "a": 1}'),
        ({"any_order": True}, '{"b":2,"a":1}'),
        ({"strict": False}, '{"a":1,"zz":3}'),
        ({"any_whitespace": False}, '{"a":1,"b":2}'),
        ({"any_whitespace": False, "spaced": True}, '{"a": 1, "b": 2}'),
        ({"bounded": False}, '{"a":' + " " * 100 + "1.000}"),
    ]
    for options, text in cases:
        for others, _ in cases:
            takes = psc.GrammarMatcher(service(**others).compile("structural_tag", tag(members))).accept_string(f"<f>{text}</f>")
            plain = psc.GrammarMatcher(service(**others).compile("json", json.dumps(members))).accept_string(text)
            assert takes == plain
            assert takes or others != options


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, (20, 20, True)),
        ({"bounded": "0"}, (None, None, False)),
        ({"bounded": False, "max_whitespace": 2}, (2, None, False)),
        ({"bounded": False, "plain_integers": "1"}, (None, None, True)),
        ({"max_digits": "none"}, (20, None, True)),
        ({"max_whitespace": "NONE", "plain_integers": 0}, (None, 20, False)),
    ],
    ids=str,
)
def test_one_option_each(options: dict[str, Any], expected: tuple[Any, ...]) -> None:
    by_name = ServiceOptions.of(options, {})
    by_variable = ServiceOptions.of(
        {}, {f"PSC_{name.upper()}": str(int(v) if isinstance(v, bool) else v) for name, v in options.items()}
    )
    for read in (by_name, by_variable):
        assert (read.max_whitespace, read.max_digits, read.plain_integers) == expected
    assert ServiceOptions(bounded=False).schema_settings.text == ""


@pytest.mark.parametrize("name", ["max_whitespace", "max_digits"])
@pytest.mark.parametrize("value", [0, -1, "x", 1.5, True])
def test_bounds_that_cannot_be(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"{name} must be a whole number, [01] or more"):
        ServiceOptions.of({name: value}, {})
