"""Lengths of raw parameters that the lexer counts, with line breaks around them that are layout, against a reader."""

from __future__ import annotations

import random
from typing import Any

import pytest
from json_schema.bytewise import vocabulary

import psc
from psc._core import TextAutomaton

CASES: list[dict[str, Any]] = [
    {"maxLength": 300},
    {"pattern": r"\S", "maxLength": 400},
    {"pattern": r"^\S(.*\S)?$", "minLength": 300, "maxLength": 350},
    {"format": "uri", "minLength": 1, "maxLength": 2083},
    {"minLength": 280},
]


def _texts(schema: dict[str, Any]) -> TextAutomaton:
    found = TextAutomaton.format(schema["format"]) if "format" in schema else TextAutomaton.pattern(schema.get("pattern", ""))
    assert found is not None
    return found


@pytest.mark.parametrize("number", range(len(CASES)))
def test_one_line_break_on_each_side_is_not_counted(number: int) -> None:
    schema, rng = CASES[number], random.Random(number)
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "string", **schema}},
        "required": ["a"],
        "additionalProperties": False,
    }
    content = {"type": "json_schema", "style": "qwen_xml", "json_schema": parameters}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}}
    grammar = psc.GrammarCompiler(vocabulary(), store=False).compile_structural_tag(tag)
    texts, least, most = _texts(schema), schema.get("minLength", 0), schema.get("maxLength", 10**9)
    n_valid = 0
    for _ in range(300):
        length = max(0, rng.choice([least, min(most, least + 5), 3]) + rng.randint(-2, 2))
        if most < 10**9 and rng.random() < 0.4:
            length = most + rng.randint(-2, 2)
        text = (rng.choice(["x", "ab ", " \n"]) * length)[:length]
        if "format" in schema:
            text = ("http://" + "a/b?c" * length)[:length]
        text = text[:-1] + "\n" if rng.random() < 0.3 else text
        text = "\n" + text[1:] if rng.random() < 0.3 else text
        raw = rng.choice(["", "\n"]) + text + rng.choice(["", "\n"])
        value = raw.removeprefix("\n").removesuffix("\n")
        valid = texts.matches(value) and least <= len(value) <= most
        matcher = psc.GrammarMatcher(grammar)
        assert (matcher.accept_string(f"<f><parameter=a>{raw}</parameter></f>") and matcher.is_completed()) == valid, (schema, raw)
        n_valid += valid
    assert n_valid > 0
