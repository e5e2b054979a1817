"""Tokens that probably come next: allowed, at least what is forced, and right where a text keeps to one way of white space."""

import json
import random
from typing import Any

import pytest

pytest.importorskip("tokenizers")
from few_tokens import matcher_of
from trained_tokenizers import MAKES, trained

import psc
from psc.runtime.likely_text import usual_blanks

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "city": {"enum": ["Lisbon", "Lima"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "return": {
            "type": "object",
            "properties": {"old": {"type": "boolean"}, "maps": {"type": "null"}},
            "required": ["old", "maps"],
            "additionalProperties": False,
        },
        "weather": {"type": "string"},
    },
    "required": ["name", "age", "city", "names", "return", "weather"],
    "additionalProperties": False,
}
VALUE = {
    "name": 'the "city", [old',
    "age": 36,
    "city": "Lima",
    "names": ["a, b", "c: d", "{"],
    "return": {"old": True, "maps": None},
    "weather": "x",
}
STYLES: dict[str, dict[str, Any]] = {
    "one line": {},
    "two blanks": {"indent": 2},
    "four blanks": {"indent": 4},
    "tabs": {"indent": "\t"},
    "no blanks": {"separators": (",", ":")},
}


@pytest.mark.parametrize("style", STYLES)
def test_white_space_of_a_whole_text(style: str) -> None:
    """It is that of `json.dumps` before each sign, but for the first colon of a text without any."""
    text = json.dumps(VALUE, **STYLES[style])
    signs = [place for place, sign in enumerate(text) if sign in '"}]:,' and not _is_in_string(text[:place])]
    wrong = []
    for place in signs[1:]:
        before = text[:place].rstrip()
        if usual_blanks(before.encode(), text[place].encode()) != text[len(before) : place].encode():
            wrong.append(before)
    assert wrong == (['{"name":'] if style == "no blanks" else [])


def _is_in_string(text: str) -> bool:
    return text.replace('\\"', "").count('"') % 2 == 1


@pytest.mark.parametrize(
    ("text", "following", "blanks"),
    [
        ("", '"', ""),
        ("{", '"', ""),
        ('{"a":', "[", " "),
        ('{"a": 1,', '"', " "),
        ('{"a":1,"b":2,', '"', ""),
        ('{ "a": 1', "}", " "),
        ('{ "a": {', '"', " "),
        ('{\n   "a": [', '"', "\n      "),
        ('{\n   "a": [1, 2],', '"', "\n   "),
        ('{\n   "a": [1,', '"', " "),
        ('{\n   "a": [1, 2]', "}", "\n"),
        ('{\n   "a": {},', '"', "\n   "),
        ("{", "}", ""),
        ('{\r\n "a": 1,', '"', "\n "),
        ('"}", 1', "]", ""),
        ("select a from b", "w", ""),
    ],
)
def test_white_space(text: str, following: str, blanks: str) -> None:
    assert usual_blanks(text.encode(), following.encode()) == blanks.encode()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("make", MAKES)
def test_a_text_takes_fewer_passes(make: str, style: str) -> None:
    """A model that writes the text: what is proposed is allowed, mostly right, and more than what is forced."""
    tokenizer, info = trained(make)
    compiled = psc.GrammarCompiler(info).compile_json_schema(json.dumps(PERSON))
    tokens = tokenizer.encode(json.dumps(VALUE, **STYLES[style]), add_special_tokens=False).ids
    proposed = {"find_forced_tokens": 0, "find_likely_tokens": 0}
    right = dict(proposed)
    for how in proposed:
        matcher, place = psc.GrammarMatcher(compiled), 0
        while place < len(tokens) and not matcher.is_terminated():
            drafts, here = getattr(matcher, how)(), matcher.allowed_tokens().tolist()
            assert matcher.validate_tokens(drafts) == len(drafts) and matcher.allowed_tokens().tolist() == here
            n = 0
            while n < len(drafts) and drafts[n : n + 1] == tokens[place + n : place + n + 1]:
                n += 1
            proposed[how] += len(drafts)
            right[how] += n
            if matcher.accept_tokens(tokens[place : place + n + 1]) < len(tokens[place : place + n + 1]):
                pytest.skip("this tokenizer's cut of the text is not allowed: it puts a blank before it, or leaves characters out")
            place += n + 1
    assert right["find_forced_tokens"] == proposed["find_forced_tokens"]
    assert right["find_likely_tokens"] >= right["find_forced_tokens"]
    if style == "one line":
        assert right["find_likely_tokens"] > right["find_forced_tokens"]


@pytest.mark.parametrize("make", MAKES)
def test_proposals_anywhere_are_allowed(make: str) -> None:
    _, info = trained(make)
    compiler = psc.GrammarCompiler(info)
    tag = {"type": "tag", "begin": "<tool_call>", "content": {"type": "json_schema", "json_schema": PERSON}, "end": "</tool_call>"}
    grammars = [
        compiler.compile_json_schema(json.dumps(PERSON)),
        compiler.compile_builtin_json_grammar(),
        compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": tag})),
        compiler.compile_grammar('root ::= [ \\n] "a" [ \\t]* ("b" | "\\u00e9") [ ]* root?'),
    ]
    for seed, compiled in enumerate(grammars * 3):
        rng, matcher = random.Random(seed), psc.GrammarMatcher(compiled)
        for _ in range(60):
            if matcher.is_terminated():
                break
            drafts = matcher.find_likely_tokens()
            assert matcher.validate_tokens(drafts) == len(drafts)
            assert not set(drafts) & set(info.stop_token_ids)
            forced = matcher.find_forced_tokens()
            assert drafts or not forced
            usual = drafts and rng.random() < 0.5
            assert matcher.accept_token(drafts[0] if usual else rng.choice(matcher.allowed_tokens().tolist()))


def test_within_a_character() -> None:
    info = trained("GPT-2")[1]
    matcher = matcher_of('root ::= "a" [ ]* ("\u00e9" | "x") [ ]* "b"', info)
    assert matcher.accept_string(b"a \xc3")
    assert matcher.find_likely_tokens() == matcher.find_forced_tokens()


def test_without_a_tokenizer() -> None:
    plain = psc.TokenizerInfo.from_tokens([b"a", b"b", b" ", b"the", b"</s>"], stop_token_ids=[4])
    matcher = matcher_of('root ::= "a" " "* "b"', plain)
    assert matcher.find_likely_tokens() == matcher.find_forced_tokens() == [0]
    assert matcher.accept_token(0) and matcher.find_likely_tokens() == []
    encode = lambda text: [b"ab ".index(c) for c in text.encode()]  # noqa: E731
    assert matcher.find_likely_tokens(encode) == []  # the last one is held back
    assert matcher.accept_tokens([1, 4]) == 2
    with pytest.raises(RuntimeError):
        matcher.find_likely_tokens()
