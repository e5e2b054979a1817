"""A length beside a pattern or a format: which strings a schema has, near its bounds, and what its masks allow there."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import jsonschema
import pytest
from json_schema.bytewise import END, accepts, compiler, vocabulary

import psc
from psc._core import TextAutomaton

STRINGS: list[dict[str, Any]] = [
    {"format": "uri", "minLength": 1, "maxLength": 2083},  # what Pydantic writes for HttpUrl
    {"format": "uri", "maxLength": 240},
    {"format": "uri", "minLength": 300, "maxLength": 310},
    {"format": "uri-reference", "maxLength": 2048},
    {"format": "iri", "minLength": 2000, "maxLength": 2001},
    {"format": "iri-reference", "maxLength": 500},
    {"format": "uri-template", "maxLength": 2048},
    {"format": "email", "minLength": 400, "maxLength": 420},
    {"format": "idn-email", "maxLength": 2048},
    {"format": "date-time", "maxLength": 2048},
    {"format": "date-time", "minLength": 600},
    {"format": "hostname", "minLength": 64, "maxLength": 2048},
    {"format": "json-pointer", "maxLength": 4000},
    {"pattern": r"\S", "maxLength": 2000},
    {"pattern": r"\S", "minLength": 1500, "maxLength": 20000},
    {"pattern": r"^\S(.*\S)?$", "maxLength": 10000},
    {"pattern": r"^\w+$", "maxLength": 65536},
    {"pattern": r"^[a-zA-Z0-9_-]+$", "maxLength": 10000},
    {"pattern": "^(ab)*$", "minLength": 2001, "maxLength": 2003},
    {"pattern": "^(abc|de)*$", "minLength": 1201, "maxLength": 1201},
    {"pattern": "^a{3}(b{1,40}c)*é*$", "maxLength": 900},
    {"pattern": "^(?!.*\\.\\.)[\\w.]+$", "minLength": 3, "maxLength": 5000},
    {"pattern": "^(漢|é|\\n)*x?$", "minLength": 1000, "maxLength": 1010},
    {"pattern": "x.*y", "minLength": 900},
    {"pattern": "^[^@]+@[^@]+$", "allOf": [{"pattern": "^[a-z@.]*$"}, {"maxLength": 1200}], "minLength": 1100},
    {"pattern": "^.{1,5000}$"},
    {"pattern": "^[\\s\\S]{0,65535}$"},
    {"pattern": "^[a-f\\d]{600}$"},
    {"pattern": "^[^x]{700,}$", "maxLength": 710},
]


def _texts(schema: dict[str, Any]) -> TextAutomaton:
    whole = {
        "^.{1,5000}$": "^.*$",
        "^[\\s\\S]{0,65535}$": "^[\\s\\S]*$",
        "^[a-f\\d]{600}$": "^[a-f\\d]*$",
        "^[^x]{700,}$": "^[^x]*$",
    }
    texts = TextAutomaton.everything()
    for part in (schema, *schema.get("allOf", [])):
        if "format" in part:
            of_format = TextAutomaton.format(part["format"])
            assert of_format is not None
            texts = texts.intersection(of_format)
        if "pattern" in part:
            texts = texts.intersection(TextAutomaton.pattern(whole.get(part["pattern"], part["pattern"])))
    return texts


def _bounds(schema: dict[str, Any]) -> tuple[int, int]:
    by_pattern = {
        "^.{1,5000}$": (1, 5000),
        "^[\\s\\S]{0,65535}$": (0, 65535),
        "^[a-f\\d]{600}$": (600, 600),
        "^[^x]{700,}$": (700, 10**9),
    }
    bounds = [by_pattern.get(schema.get("pattern", ""), (0, 10**9))]
    bounds += [(part.get("minLength", 0), part.get("maxLength", 10**9)) for part in (schema, *schema.get("allOf", []))]
    return max(least for least, _ in bounds), min(most for _, most in bounds)


class _Sampler:
    """Random texts of an automaton of about a length."""

    def __init__(self, texts: TextAutomaton) -> None:
        self.accepts = list(texts.accepts)
        self.arcs: list[list[tuple[int, int, int]]] = [[] for _ in self.accepts]
        for source, first, last, target in texts.arcs:
            self.arcs[source].append((first, last, target))
        self.rest = [0 if accepting else 10**9 for accepting in self.accepts]
        for _ in self.accepts:
            self.rest = [min([r, *(self.rest[t] + 1 for _, _, t in arcs)]) for r, arcs in zip(self.rest, self.arcs, strict=True)]

        self.longest = [0 if accepting else -1 for accepting in self.accepts]
        for _ in range(len(self.accepts) + 1):  # what still grows then grows without limit
            self.longest = [
                max([r, *(self.longest[t] + 1 for _, _, t in arcs if self.longest[t] >= 0)])
                for r, arcs in zip(self.longest, self.arcs, strict=True)
            ]
        self.longest = [10**9 if n > len(self.accepts) else n for n in self.longest]

    def text(self, rng: random.Random, length: int) -> str:
        state, out = 0, ""
        while len(out) + self.rest[state] < length or not self.accepts[state]:
            arcs = self.arcs[state]
            if len(out) + self.rest[state] >= length:
                arcs = [arc for arc in arcs if self.rest[arc[2]] < self.rest[state]]
            else:
                arcs = [arc for arc in arcs if self.longest[arc[2]] + len(out) + 1 >= length] or arcs
            if not arcs:
                break
            first, last, state = rng.choice(arcs)
            out += chr(rng.randint(first, min(last, first + 30)))
        return out


@cache
def _sampler(number: int) -> _Sampler:
    return _Sampler(_texts(STRINGS[number]))


def _lengths(least: int, most: int, rng: random.Random) -> list[int]:
    near = [least + d for d in (-2, -1, 0, 1)] + [most + d for d in (-2, -1, 0, 1)] + [rng.randint(least, min(most, least + 900))]
    return [length for length in near if 0 <= length < 12_000]


@pytest.mark.parametrize("number", range(len(STRINGS)))
def test_strings_near_the_bounds(number: int) -> None:
    schema, rng = STRINGS[number], random.Random(number)
    texts, (least, most) = _texts(schema), _bounds(schema)
    grammars = [
        compiler().compile_json_schema({"type": "string", **schema}),
        compiler().compile_json_schema({"type": "array", "items": {"type": "string", **schema}}),
    ]
    n_valid = 0
    for length in _lengths(least, most, rng):
        text = _sampler(number).text(rng, length)
        variants = [text, text[:-1], text + rng.choice("a/é \n"), text[: len(text) // 2] + text[len(text) // 2 + 1 :]]
        for variant in variants:
            valid = texts.matches(variant) and least <= len(variant) <= most
            n_valid += valid
            spelled = json.dumps(variant, ensure_ascii=rng.random() < 0.5)
            assert accepts(grammars[0], spelled) == valid, (schema, variant)
            assert accepts(grammars[1], f"[{spelled}]") == valid
    assert n_valid > 0


@pytest.mark.parametrize("number", range(len(STRINGS)))
def test_masks_near_the_bounds(number: int) -> None:
    """Each bit against the parser, before the closing quote of a text near a bound."""
    schema, rng = STRINGS[number], random.Random(number)
    longer = (
        b'a"',
        b'"]',
        b'",',
        b"ab",
        b"aaaa",
        b"//a",
        b"x" * 12,
        "é漢".encode(),
        "漢é漢é".encode(),
        b"\\u00",
        b'\\n"',
        b"%41",
        b"2.a",
    )
    info = vocabulary(longer)
    grammar = compiler(longer).compile_json_schema({"type": "array", "items": {"type": "string", **schema}})
    for length in _lengths(*_bounds(schema), rng)[-5:]:
        spelled = json.dumps(_sampler(number).text(rng, length), ensure_ascii=False).encode()[:-1]
        matcher = psc.GrammarMatcher(grammar)
        cut = max(len(spelled) - rng.randint(0, 20), 0)
        if not matcher.accept_string(b"[" + spelled[:cut]):
            continue  # too long already
        for byte in spelled[cut:]:
            allowed = set(matcher.allowed_tokens().tolist())
            for token in range(len(info)):
                accepted = matcher.accept_token(token) if token != END else matcher.is_completed()
                assert (token in allowed) == accepted, (schema, spelled, info.token_bytes(token))
                if accepted and token != END:
                    matcher.rollback(1)
            if not matcher.accept_token(byte):
                break


def test_a_length_that_no_text_of_a_pattern_has() -> None:
    for schema in (
        {"pattern": "^(ab)*$", "minLength": 2001, "maxLength": 2001},
        {"format": "uuid", "minLength": 2000},
        {"format": "uri", "maxLength": 1},
        {"pattern": "^(abc|de)+$", "maxLength": 1},
    ):
        with pytest.raises(psc.GrammarError):
            compiler().compile_json_schema({"type": "string", **schema})


def test_a_length_that_a_pattern_never_exceeds_costs_nothing() -> None:
    for schema in (
        {"format": "uuid", "maxLength": 10**8},
        {"format": "ipv6", "maxLength": 10**8},
        {"pattern": "^a?$", "maxLength": 10**8},
    ):
        assert accepts(compiler().compile_json_schema({"type": "string", **schema}), '"a"') == ("pattern" in schema)


def test_too_many_lengths_are_an_error_that_names_place_and_keyword() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "hostname", "maxLength": 100_000}},
        "required": ["a"],
    }
    with pytest.raises(psc.ResourceLimitError, match="#/properties/a: maxLength 100,000 beside a pattern or format"):
        compiler().compile_json_schema(schema)


def test_many_members_with_lengths() -> None:
    names = [f"p{i}" for i in range(20)]
    schema = {
        "type": "object",
        "properties": {n: {"type": "string", "format": "uri", "maxLength": 100 + i} for i, n in enumerate(names)},
    }
    grammar = compiler().compile_json_schema({**schema, "required": names})
    values = {name: "http://a.b/" + "c" * (89 + i) for i, name in enumerate(names)}
    assert accepts(grammar, json.dumps(values))
    assert not accepts(grammar, json.dumps({**values, "p19": values["p19"] + "d"}))


_LONG: list[dict[str, Any]] = [
    {"pattern": "^(ab|c)*$", "maxLength": 2001},
    {"pattern": "^[^c]*$", "minLength": 3, "maxLength": 3000},
    {"pattern": "c$", "minLength": 2001},
    {"pattern": "^(abc)*$", "minLength": 900, "maxLength": 2002},
]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [_LONG[0], {"const": "auto"}]},
        {"anyOf": [_LONG[0], _LONG[1], {"enum": ["cab", "b"]}]},
        {"oneOf": [_LONG[0], _LONG[2]]},
        {"anyOf": [{"allOf": [_LONG[1], {"not": _LONG[0]}]}, _LONG[3]]},
        {"not": {"anyOf": [_LONG[0], _LONG[1]]}},
        {"allOf": [{"anyOf": [_LONG[0], {"maxLength": 3}]}, {"anyOf": [_LONG[3], _LONG[2], {"const": "auto"}]}]},
    ],
)
def test_a_choice_of_strings_with_lengths(schema: dict[str, Any]) -> None:
    schema = {"type": "string", **schema}
    grammar = compiler().compile_json_schema({"type": "object", "properties": {"a": schema}})
    validator = jsonschema.Draft202012Validator(schema)
    texts = ["", "b", "ab", "cab", "auto", "abcc", "cccc"]
    for length in (899, 900, 2000, 2001, 2002, 2003, 3000, 3001):
        texts += [(unit * length)[:length] for unit in ("ab", "c", "abc", "b", "é")]
        texts += ["b" * (length - 1) + "c", "ab" * ((length - 1) // 2) + "c"]
    valid = [validator.is_valid(text) for text in texts]
    assert any(valid) and not all(valid)
    assert [accepts(grammar, json.dumps({"a": text}, ensure_ascii=False)) for text in texts] == valid


def test_a_url_or_a_word() -> None:
    url = {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}
    longest = "http://a.b/" + "c" * 2072
    for others, words in (([{"const": "auto"}, {"type": "null"}], ["auto"]), ([{"type": "string", "format": "ipv4"}], ["1.2.3.4"])):
        grammar = compiler().compile_json_schema({"type": "array", "items": {"anyOf": [url, *others]}})
        assert accepts(grammar, json.dumps([longest, *words, "http://a.b/", longest]))
        assert not accepts(grammar, json.dumps([longest + "c"]))
        assert not accepts(grammar, json.dumps(["aut"]))
    with pytest.raises(
        psc.ResourceLimitError, match="#/propertyNames: maxLength 2,083 beside a pattern, a format or other strings"
    ):
        compiler().compile_json_schema({"propertyNames": url})
