"""Long texts: what compiles is read to the end, near the limit of the lexer's states too."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiler, vocabulary

import psc

CHARACTERS = ["ab", "a/", "é-", "漢字", "😀x", "\x01é"]
PATTERNS = [r"\S", "^(ab|c)*$", "b$", "^[^x]+x?$", "^é(漢|a)*$", "^[ -~]*!$", r"^\w+(-\w+)*$", "^(?!.*--)[a-z-]+$"]
FORMATS = ["uri", "iri", "uri-template", "date-time"]


def _compiled(schema: Any) -> psc.CompiledGrammar | None:
    try:
        return compiler().compile_json_schema(schema)
    except psc.ResourceLimitError as e:
        assert "choose a smaller length" in str(e) and "lexer states" in str(e)
        return None


def _largest(text: dict[str, Any], keyword: str) -> tuple[int, psc.CompiledGrammar]:
    """The largest length that compiles, by halving, and the grammar."""
    low, high, grammar = 1_001, 400_000, None
    while high - low > 1:
        middle = (low + high) // 2
        if found := _compiled({"type": "string", **text, keyword: middle}):
            low, grammar = middle, found
        else:
            high = middle
    assert grammar is not None
    return low, grammar


def _repeated(characters: str, length: int, rng: random.Random) -> str:
    """Characters of these; what is drawn comes again and again, since drawing takes longer than reading."""
    drawn = "".join(rng.choices(characters, k=min(length, 1_000)))
    return (drawn * (length // 1_000 + 1))[:length]


def _is_read(grammar: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(grammar)
    for at in range(0, len(text), 5_000):
        if not matcher.accept_string(text[at : at + 5_000]):
            return False
        matcher.allowed_tokens()
    return matcher.is_completed()


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("escapes", [False, True])
def test_the_longest_texts_beside_a_pattern(pattern: str, escapes: bool) -> None:
    most, grammar = _largest({"pattern": pattern}, "maxLength")
    for unit in CHARACTERS:
        for end in ("", "x", "b", "!"):
            text = (unit * most)[: most - len(end)] + end
            if re.search(pattern, text, re.ASCII):
                assert _is_read(grammar, json.dumps(text, ensure_ascii=escapes)), unit


@pytest.mark.parametrize("name", FORMATS)
def test_the_longest_texts_of_a_format(name: str) -> None:
    most, grammar = _largest({"format": name}, "maxLength")
    begin, unit, end = {
        "uri": ("http://a/", "a%20", ""),
        "iri": ("http://é/", "漢", ""),
        "uri-template": ("", "a", "{b}"),
        "date-time": ("2020-01-01T00:00:00.", "0", "Z"),
    }[name]
    n = (most - len(begin) - len(end)) // len(unit)
    assert _is_read(grammar, json.dumps(begin + unit * n + end, ensure_ascii=False))


@pytest.mark.parametrize("seed", range(8))
def test_characters_of_one_class_have_any_length(seed: int) -> None:
    rng = random.Random(seed)
    characters, others = rng.choice([("abc", "d"), ("é漢", "a"), ('a"\\/', "b"), ("\x01\n", "a"), ("😀", "é")])
    most = rng.randrange(260_000, 300_000)
    least = rng.choice([0, 1, most, most - rng.randrange(1000), rng.randrange(most)])
    repeated = rng.choice("*+")
    pattern = "^[" + "".join(f"\\u{{{ord(c):x}}}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in characters) + f"]{repeated}$"
    grammar = compiler().compile_json_schema({"type": "string", "pattern": pattern, "minLength": least, "maxLength": most})
    for length in {0, 1, max(least - 1, 0), least, least + 1, most - 1, most, most + 1}:
        text = _repeated(characters, length, rng)
        fits = max(least, repeated == "+") <= length <= most
        assert accepts(grammar, json.dumps(text, ensure_ascii=rng.random() < 0.5)) == fits, length
        if length:
            assert not accepts(grammar, json.dumps(text[:-1] + others, ensure_ascii=False))


def test_masks_of_characters_that_are_counted_by_the_parser() -> None:
    tokens = (b"ab", b"aaaa", b'a"', b'"', "é".encode(), b"aax", b"b" * 7)
    grammar = compiler(tokens).compile_json_schema(
        {"type": "string", "pattern": "^[abé]+$", "minLength": 300_000, "maxLength": 300_004}
    )
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string('"' + "ab" * 149_998)
    info = vocabulary(tokens)
    while not matcher.is_completed():
        for token in range(info.vocab_size):
            assert matcher.fork().accept_token(token) == bool(token in matcher.allowed_tokens())
        assert matcher.accept_string("a" if matcher.fork().accept_string("a") else '"')


LOOPS = [
    ("^data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]*={0,2}$", "data:image/jpeg;base64,", "Ab+/09", "=="),
    ("^#[0-9a-f]+$", "#", "0a9f", ""),
    ("^(0x)?[0-9a-f]*h?$", "0x", "0a9f", "h"),
    ("^é?[^x]*x$", "é", 'a"\\é漢', "x"),
    ("^(none|[A-Z]+;|<[A-Z]+>)$", "<", "AZ", ">"),
    ("^[a-c]{2}d*(e|ff)?$", "cb", "d", "ff"),
]
"""A pattern with one repetition; what may come before it, in it, and after it."""


@pytest.mark.parametrize(("pattern", "begin", "characters", "end"), LOOPS, ids=[loop[0] for loop in LOOPS])
def test_one_repetition_has_any_length(pattern: str, begin: str, characters: str, end: str) -> None:
    rng = random.Random(pattern)
    for _ in range(2):
        most = rng.randrange(260_000, 300_000)
        least = rng.choice([0, 5, most, most - 3, rng.randrange(most)])
        try:
            grammar = compiler().compile_json_schema({"type": "string", "pattern": pattern, "minLength": least, "maxLength": most})
        except psc.ResourceLimitError:
            assert pattern.count("[A-Z]+") == 2
            return
        for length in {0, 1, 4, least - 1, least, least + 1, most - 1, most, most + 1}:
            others = [("", end), (begin, ""), (begin, end[:1]), (begin[:2], end)]
            for first, last in ((begin, end), rng.choice(others)):
                text = first + _repeated(characters, max(length - len(first + last), 0), rng) + last
                fits = least <= len(text) <= most and re.search(pattern, text) is not None
                assert accepts(grammar, json.dumps(text, ensure_ascii=rng.random() < 0.5)) == fits, (first, last, len(text))
        for text in ("none", "AZ;", "aa", "é"):
            assert accepts(grammar, json.dumps(text)) == (least <= len(text) and re.search(pattern, text) is not None)


@pytest.mark.parametrize(("pattern", "begin", "characters", "end"), [LOOPS[0], LOOPS[2], LOOPS[3]], ids=["0", "2", "3"])
def test_masks_of_one_repetition(pattern: str, begin: str, characters: str, end: str) -> None:
    tokens = tuple(
        text.encode() for text in ("aa", "==", "=", '="', '=="', "aah", 'h"', "fh", "xx", 'x"', '"', "a" * 5, "é", "0x", "00")
    )
    grammar = compiler(tokens).compile_json_schema(
        {"type": "string", "pattern": pattern, "minLength": 300_000, "maxLength": 300_003}
    )
    info = vocabulary(tokens)
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string('"' + begin + "0" * (299_996 - len(begin)))
    rng = random.Random(pattern)
    for _ in range(4):
        walk = matcher.fork()
        while not walk.is_completed():
            allowed = [token for token in range(info.vocab_size) if walk.fork().accept_token(token)]
            assert list(walk.allowed_tokens()) == allowed
            assert walk.accept_token(rng.choice(allowed))


def test_long_texts_of_one_schema_are_added_up() -> None:
    def members(*texts: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {f"p{i}": {"const": text} for i, text in enumerate(texts)},
            "required": [f"p{i}" for i in range(len(texts))],
        }

    one, other = "a" * 120_000, "b" * 130_000
    assert _is_read(compiler().compile_json_schema(members(one, other)), json.dumps({"p0": one, "p1": other}))
    with pytest.raises(psc.ResourceLimitError, match=r"#/properties/p2, const: .*10,002 lexer states beside the 250,004 of other"):
        compiler().compile_json_schema(members(one, other, "c" * 10_000))
    with pytest.raises(psc.ResourceLimitError, match=r"140,000 lexer states beside the 140,000 of other long texts"):
        compiler().compile_json_schema({"type": "object", "properties": {c * 140_000: True for c in "ab"}})
    url = {"type": "string", "format": "uri"}
    several = {"type": "object", "properties": {f"p{i}": {**url, "maxLength": 2083 + i} for i in range(9)}}
    grammar = compiler().compile_json_schema(several)  # lengths are not
    assert _is_read(grammar, json.dumps({f"p{i}": "http://a/" + "b" * 2_000 for i in range(9)}))
