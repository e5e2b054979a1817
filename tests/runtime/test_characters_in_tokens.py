"""Tokens that begin, end or break within a character of UTF-8: masks, read and classified, against reading each token."""

from __future__ import annotations

import random

import pytest
from vocabularies import tokenizer

import psc

PIECES = [
    *(b"a", b"b", b"<", b">", b'"', b"\\", b" ", b"\n"),
    *(c.encode() for c in "éßあ中€😀"),
    *(b"\xc3", b"\xe3\x81", b"\xe3", b"\xf0\x9f", b"\xf0\x9f\x98"),  # beginnings
    *(b"\xa9", b"\x82", b"\x81\x82", b"\x80"),  # what is left of a character
    *(b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80"),  # no UTF-8
]
GRAMMARS = {
    "all but one": 'root ::= [^<]* "<" [^>]+ ">"',
    "a string": 'root ::= "\\"" ([^"\\\\\\n] | "\\\\" [\\\\nあ])* "\\""',
    "some characters": "root ::= [a-zé€]+ [^a]",
    "all but one beyond ASCII": 'root ::= [^あ]* "あ" [a-z]*',
    "beyond ASCII alone": "root ::= [\\u0080-\\U0010ffff]+ [a-z<]",
    "by turns": "root ::= ([^<a] [^<b])*",
    "counted": 'root ::= "<" [^>]{2,5} ">"',
    "one of three bytes": 'root ::= [\\u0800-\\uffff]* | [^b]* a?\na ::= "b"',
    "two ways": 'root ::= [^<]* "é" | [^>]* "😀"',
}


def read_one_by_one(compiled: psc.CompiledGrammar, prefix: bytes, tokens: list[bytes]) -> list[bool]:
    allowed = []
    for token in tokens:
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_string(prefix)
        allowed.append(matcher.accept_string(token))
    return allowed


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_what_reading_tokens_says(name: str) -> None:
    rng = random.Random(name)
    tokens = sorted({*PIECES, *(b"".join(rng.choices(PIECES, k=rng.randint(2, 4))) for _ in range(160))})
    info = tokenizer(tokens)
    builds = [psc.GrammarCompiler(info).compile_grammar(GRAMMARS[name]) for _ in range(2)]
    builds[0]._machine.set_steps_to_classify(0)
    prefixes = {b""}
    for _ in range(12):
        matcher, text = psc.GrammarMatcher(builds[0]), b""
        for _ in range(4):
            allowed = [t for t in tokens if matcher.fork().accept_string(t)]
            if not allowed:
                break
            token = rng.choice(allowed)
            assert matcher.accept_string(token)
            text += token
            prefixes.add(text)
    n_allowed = 0
    for prefix in sorted(prefixes):
        wanted = read_one_by_one(builds[1], prefix, tokens)
        n_allowed += sum(wanted)
        for compiled in builds:
            matcher = psc.GrammarMatcher(compiled)
            assert matcher.accept_string(prefix)
            found = [matcher.is_allowed(i) for i in range(len(tokens))]
            assert [t for t, f, w in zip(tokens, found, wanted, strict=True) if f != w] == [], prefix
    assert n_allowed > len(prefixes)
