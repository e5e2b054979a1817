"""Grammars that are linked of parts are checked, drawn from and explained like others, as far as the matcher knows."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.inspection.checking import Checker
from psc.inspection.explaining import Explainer
from psc.inspection.linked import NOT_KNOWN
from psc.inspection.sampling import Sampler
from psc.playground.looking import BYTES, Choices, Looker
from psc.vocabulary.segment import Segmenter

NAMES = {"type": "array", "items": {"type": "string", "pattern": "^[ab]{1,2}$"}, "uniqueItems": True, "minItems": 3}
TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<f>", "content": {"type": "json_schema", "json_schema": NAMES}, "end": "</f>"},
}
EBNF = 'root ::= "x" w "y"\nw[max_tokens=3] ::= [a-z]+'
LARK = 'start: "x" w "!"\nw[max_tokens=3]: /[a-z]+/'
TOKENIZER = byte_tokenizer("abc", '","', "xy", "</f>")


def _is_names(tokens: list[bytes]) -> bool:
    try:
        value = json.loads(b"".join(tokens))
    except ValueError:
        return False
    return len(value) >= 3 and len(set(value)) == len(value) and all(re.fullmatch("[ab]{1,2}", item) for item in value)


def _in_tag(tokens: list[bytes]) -> bool:
    text = b"".join(tokens)
    return text.startswith(b"<f>") and text.endswith(b"</f>") and _is_names([text[3:-4]])


def _counted(end: str) -> Callable[[list[bytes]], bool]:
    def counted(tokens: list[bytes]) -> bool:
        text = b"".join(tokens).decode()
        ends = list(accumulate(map(len, tokens)))
        inside = sum(at > 1 and at - len(token) < len(text) - 1 for at, token in zip(ends, tokens, strict=True))
        return re.fullmatch(f"x[a-z]+{end}", text) is not None and inside <= 3

    return counted


LANGUAGES: dict[str, tuple[str, Any, Callable[[list[bytes]], bool]]] = {
    "unique": ("json_schema", NAMES, _is_names),
    "tag": ("structural_tag", TAG, _in_tag),
    "ebnf": ("ebnf", EBNF, _counted("y")),
    "lark": ("lark", LARK, _counted("!")),
}
EVERY = pytest.mark.parametrize("name", LANGUAGES)


@cache
def _compiled(name: str) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(TOKENIZER, store=False)
    language, text, _ = LANGUAGES[name]
    if language == "json_schema":
        return compiler.compile_json_schema(text)
    if language == "structural_tag":
        return compiler.compile_structural_tag(text)
    return compiler.compile_lark(text) if language == "lark" else compiler.compile_grammar(text)


@EVERY
@pytest.mark.parametrize("max_tokens", [0, 4, 40])
def test_sentences_are_drawn(name: str, max_tokens: int) -> None:
    compiled = _compiled(name)
    assert compiled.is_linked
    sampler = Sampler(compiled)
    rng = random.Random(max_tokens)
    texts = set()
    for _ in range(8):
        sample = sampler.sample(rng, max_tokens=max_tokens)
        matcher = psc.GrammarMatcher(compiled)
        assert all(matcher.accept_token(token) for token in sample.tokens) and matcher.is_completed()
        assert sample.text == b"".join(TOKENIZER.token_texts[token] for token in sample.tokens)
        assert LANGUAGES[name][2]([TOKENIZER.token_texts[token] for token in sample.tokens])
        texts.add(sample.text)
    assert len(texts) > 1 or max_tokens < 40


@pytest.mark.parametrize(
    ("name", "text", "offset", "expected"),
    [
        ("unique", '["a","b","ab"]', None, ()),
        ("unique", '["a","b"]', 8, (r"one of '\t' '\n' '\r' ' ' ','",)),
        ("unique", '["a", "ab", "ab"]', 14, None),
        ("tag", '<f>["a","a"', 10, ("one of 'a' 'b'",)),
        ("tag", '<f>["a","b","ab"]</f>', None, ()),
        ("tag", "<g>", 1, ("'f'",)),
        ("ebnf", "xabcabcabcy", None, ()),
        ("ebnf", "xabcabcabcabcy", 10, ("'y'",)),
        ("ebnf", "xa", 2, ("one of 'a'-'z'",)),
        ("lark", "xabc?", 4, ("one of '!' 'a'-'z'",)),
    ],
)
def test_texts_are_checked(name: str, text: str, offset: int | None, expected: tuple[str, ...] | None) -> None:
    check = Checker(_compiled(name), Segmenter(TOKENIZER)).check(text.encode())
    assert check.disagreement is None
    assert (check.stop and check.stop.offset) == offset
    if check.stop is not None and expected is not None:
        assert check.stop.expected == expected


@EVERY
def test_texts_are_explained(name: str) -> None:
    explainer = Explainer(_compiled(name))
    sample = Sampler(_compiled(name)).sample(random.Random(1), max_tokens=3)
    whole = explainer.explain(sample.text)
    assert whole.notes == (NOT_KNOWN,) and whole.stop is None and whole.may_end and not whole.places
    begun = explainer.explain(sample.text[:1], [TOKENIZER.stop_token_ids[0], ord("\x01")])
    assert [verdict.allowed for verdict in begun.tokens] == [False, False]
    assert all(verdict.reasons for verdict in begun.tokens)
    assert begun.shortest_end is not None and begun.characters and begun.allowed > 0
    assert explainer.explain(sample.text + b"\x01").stop is not None


def test_a_rule_without_tokens_left_is_named() -> None:
    explained = Explainer(_compiled("ebnf")).explain(b"xabcabcabc", [ord("a"), ord("y")])
    refused, allowed = explained.tokens
    assert refused.reasons == ("a rule with max_tokens has none left for 'a'",) and refused.expected == ("'y'",)
    assert allowed.allowed


@EVERY
def test_the_playground_shows_them(name: str) -> None:
    language, text, _ = LANGUAGES[name]
    written = text if isinstance(text, str) else json.dumps(text)
    request = {"grammar": {"language": language, "text": written}, "tokenizer": BYTES, "text": "?", "find": "x"}
    found = Looker(Choices()).look(request)
    assert found["walks"] == [] and found["explanation"]["stop"] and found["n_read"] == 0
    json.dumps(found)
