"""Captures and temperatures of rules with a budget of tokens: of the ways to read a text that the budgets leave."""

import pytest

import psc

TOKENS = ["a", "b", "ab", "!", "<", "a<", "z"]
INFO = psc.TokenizerInfo([*TOKENS, "<|end|>"], stop_token_ids=[len(TOKENS)])


def matcher_of(text: str) -> psc.GrammarMatcher:
    grammar = psc.Grammar.from_lark("%llguidance {}\n" + text)
    return psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_grammar(grammar))


ANY = "\nT: /(.|\\n)*/"
CASES = {
    "what is spent is over": ('start: v "<" T\nv[capture, max_tokens=2]: T' + ANY, "a b < a <", [("v", b"ab")]),
    "what is not goes on": ('start: v "<" T\nv[capture, max_tokens=9]: T' + ANY, "a b < a <", [("v", b"ab<a")]),
    "a token over the end counts": ('start: v "<" T\nv[capture, max_tokens=2]: T' + ANY, "a a< < b", [("v", b"aa<")]),
    "what cannot end goes on": ('start: v "z"?\nv[capture, max_tokens=1]: "a"+ "b"', "a a a b z", [("v", b"aaab")]),
    "each has its own": ('start: v+ "z"\nv[capture, max_tokens=1]: "ab"+', "ab ab z", [("v", b"ab"), ("v", b"ab")]),
    "inner ones end with outer ones": (
        'start: v T\nv[capture, max_tokens=2]: "a" w\nw[capture, max_tokens=9]: T' + ANY,
        "a b a",
        [("w", b"b"), ("v", b"ab")],
    ),
    "without its marker": (
        'start: v "z"\nv[capture, max_tokens=2, suffix="!", stop_capture="m"]: /[ab]*/',
        "a b z",
        [("v", b"ab")],
    ),
    "with its marker": (
        'start: v "z"\nv[capture, max_tokens=2, suffix="!", stop_capture="m"]: /[ab]*/',
        "a ! z",
        [("m", b"!"), ("v", b"a")],
    ),
    "lazy": ('start: v "z"\nv[capture, max_tokens=2, lazy]: T "!"' + ANY, "a < z", [("v", b"a<")]),
}


@pytest.mark.parametrize("case", CASES)
def test_captures(case: str) -> None:
    text, tokens, captures = CASES[case]
    matcher = matcher_of(text)
    for token in tokens.split():
        assert matcher.accept_token(TOKENS.index(token))
    assert matcher.accept_token(len(TOKENS))
    if case == "without its marker":
        captures = [("m", b""), *captures]
    assert matcher.get_captures() == captures
    for _ in range(2):
        matcher.rollback(len(tokens.split()))
        for token in tokens.split()[1:]:
            assert matcher.accept_token(TOKENS.index(token))
        assert matcher.accept_token(len(TOKENS)) and matcher.get_captures() == captures


def test_text_is_not_counted() -> None:
    matcher = matcher_of(CASES["what is spent is over"][0])
    assert matcher.accept_string("ab<ab") and matcher.accept_token(0) and matcher.accept_token(0) and matcher.accept_string("<a")
    assert matcher.accept_token(TOKENS.index("<")) and matcher.accept_token(TOKENS.index("<"))
    assert matcher.get_captures() == [("v", b"ab<abaa<a")]


def test_the_temperature_of_what_is_spent_is_none() -> None:
    matcher = matcher_of('start: v "<" T\nv[temperature=0.5, max_tokens=2]: T' + ANY)
    temperatures = []
    for token in "ab<a":
        temperatures.append(matcher.temperature)
        assert matcher.accept_token(TOKENS.index(token))
    assert temperatures == [0.5, 0.5, None, None]
