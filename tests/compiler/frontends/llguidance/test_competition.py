"""Rules that end early, against a slow reading of random grammars, and the cases that decide what is left to others."""

from __future__ import annotations

import random

import pytest
from dialect_oracle import accepted, random_rules, text_of
from dialect_texts import INFO, matches

import psc

SEEDS = range(48)
REFUSED = "depends on what was read before"


def texts_for(source: random.Random) -> list[str]:
    return ["".join(source.choices("abc;", k=source.randint(0, 7))) for _ in range(40)]


@pytest.mark.parametrize("part", range(4))
def test_random_grammars(part: int) -> None:
    """A text is accepted if and only if reading takes it."""
    compiler = psc.GrammarCompiler(INFO, store=False)
    n_read = n_accepted = 0
    for seed in SEEDS[part::4]:
        source = random.Random(seed)
        rules = random_rules(source)
        try:
            compiled = compiler.compile_lark(text_of(rules))
        except psc.GrammarError as e:
            assert "which is the limit" in str(e) or "no text" in str(e)
            continue
        n_read += 1
        for text in texts_for(source):
            expected = accepted(rules, text)
            assert matches(compiled, text) == expected, (text_of(rules), text)
            n_accepted += expected
    assert n_read >= 10 and n_accepted >= 20


DECIDED = {
    "what is ignored ends as well": (
        'start: "a" h "!"\nh[lazy]: /(?s:.)*;/\n%ignore /#[^\\n]*\\n/',
        ("ab;!", "a#x\ny;!", "a#x;!"),
        ("a#x;\ny;!", "a#x\n!"),
    ),
    "white space around what ends early": (
        'start: (h INT)* TEXT\nINT: /[0-9]+/\nh[lazy]: TEXT "#"\nTEXT: /[a-z #]*/\n%ignore / /',
        ("a # 12 b#3", " ", "a b"),
        ("#", "# a"),
    ),
    "what was read decides": (
        'start: A h "!" | B TEXT\nA: /a|b/\nB: /b|c/\nh[lazy]: TEXT ";"\nTEXT: /[xyz;]*/',
        ("ax;!", "bx;!", "cx;", "bx", "cx;y;"),
        ("bx;", "ax", "cx;!", "bx;y"),
    ),
    "three tools at most": (
        'start: tool{0,3} TEXT\ntool: h /[0-9]/\nh[lazy]: TEXT "#"\nTEXT: /[a-z#0-9]*/',
        ("", "a#1b", "#1#2#3#"),
        ("#", "#1#2#"),
    ),
    "one use after another": ('start: "a" l "b" | "b" l+\nl[lazy]: /b/', ("abb", "bb", "bbb"), ("ab", "b")),
    "counted": ('start: l{1,3} "c"\nl[lazy]: /[abc]/', ("aaac", "abcc"), ("aac", "aaaac", "")),
    "the count is full": ("start: l{2} /[ab]+/\nl[lazy]: /[ab]/", ("abab", "aba"), ("ab", "")),
    "left recursion": ('start: start "x" | l ";" | "y"\nl[lazy]: /[a-z]*!/', ("a!;", "yxx", "y"), ("a!", "a!x")),
    "same beginning": ('start: "<" h "!" | "<" TEXT\nh[lazy]: TEXT ";"\nTEXT: /[xyz;]*/', ("<x;!", "<xy"), ("<x;", "<x;y")),
    "the empty text is left": ('start: h "!" | TEXT "."\nh[lazy]: /a*;/\nTEXT: /[a;]*/', (".", "aa.", ";!"), ("a;.", ";.")),
    "nothing is left": ('start: h "!" | "ab" "."\nh[lazy]: /a/', ("a!",), ("ab.", "a.")),
    "a token begins no text": ('start: (h "!")* <|tool|>\nh[lazy]: /.*;/', ([257], [97, 59, 33, 257]), ([97, 257], "a;!")),
    "a schema apart": ('start: h | %json {"type": "integer"}\nh[lazy]: /x.*;/', ("12", "x1;"), ("x1", "x;;")),
}


@pytest.mark.parametrize("name", DECIDED)
def test_decided(name: str) -> None:
    grammar, yes, no = DECIDED[name]
    compiled = psc.GrammarCompiler(INFO, store=False).compile_lark(grammar)
    assert [t for t in yes if not matches(compiled, t)] == []
    assert [t for t in no if matches(compiled, t)] == []


def test_undecided() -> None:
    grammar = 'start: list (h "!" | TEXT)\nlist: "x" list TEXT "." | "z"\nh[lazy]: TEXT ";"\nTEXT: /[a-z;]*/'
    with pytest.raises(psc.GrammarError, match=REFUSED):
        psc.Grammar.from_lark(grammar)


def test_many_strings_beside_a_rule_that_ends_early() -> None:
    words = " | ".join(f'"word-{i:03}"' for i in range(400))
    text = f'start: (h word){{0,3}} TEXT\nword: {words}\nh[lazy]: TEXT "#"\nTEXT: /(?s:.)*/'
    compiled = psc.GrammarCompiler(INFO, store=False).compile_lark(text)
    assert matches(compiled, "ab#word-007cd#word-399") and not matches(compiled, "ab#word-400")


def test_limits() -> None:
    bodies = "".join(f"r{i}: r{i + 1} r{i + 1}\n" for i in range(20))
    text = f'start: A h "!" | B TEXT r0\nA: /a|b/\nB: /b|c/\n{bodies}r20: "x" | "y"\nh[lazy]: TEXT ";"\nTEXT: /[a-z;]*/'
    with pytest.raises(psc.ResourceLimitError, match="which is the limit where rules end early"):
        psc.Grammar.from_lark(text)
