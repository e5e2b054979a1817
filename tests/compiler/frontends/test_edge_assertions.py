"""Assertions that look over the edge of a terminal: whoever writes one hears of it, by name, in the API too."""

import logging

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.compiler.terminals.regex import Edges, edges
from psc.grammars.build_grammar import build_artifact

END, START, BOTH, NEITHER = Edges(end=True), Edges(start=True), Edges(True, True), Edges()

EDGES = {
    r"if(?![a-z])": END,
    r"[0-9]+\b": END,
    r"[0-9]+(?![0-9.])": END,
    r"[0-9]+(?!\.)": END,
    r"a$": END,
    r"a\Z": END,
    r"(?m:a$)": END,
    r"a(?!.)": END,
    r"a(?=b)|c": END,
    r"[a-z]+(?=\()": END,
    r"match(?=\s)": END,
    r"\d{2}(?=\d{2}[NS])": END,
    r"a\bb?": END,
    r"a\B": END,
    r"(?!if)[a-z]+": END,
    r"(?!a*b)[a-z]{9}": END,
    r"(?:(?!\*/).)+": END,
    r"a(?=b(?!c))b": END,
    r"(?:a(?!b)|c)d?": END,
    r"\bif\b": BOTH,
    r"^a$": BOTH,
    r"\b[a-z]+": START,
    r"(?<!x)y": START,
    r"(?<=x)y": START,
    r"^b": START,
    r"(?m:^b)": START,
    r"\Ab": START,
    r"\B[a-z]+": START,
    r"x(?<=ax)y": START,
    r"(?=\bab)ab": START,
    r"(?=(?<!x)ab)ab": START,
    r"a?(?<!b)c": START,
    r"abc": NEITHER,
    r"(?!if)[a-z]{3}": NEITHER,
    r"a(?=b)b": NEITHER,
    r"a(?!b)c": NEITHER,
    r"x(?<=x)y": NEITHER,
    r"x(?<!a)y": NEITHER,
    r"a\b-": NEITHER,
    r"a(?:b(?=c)|d)e": NEITHER,
    r"/\*.*?\*/": NEITHER,
    r"(?:(?!\*/).)*\*/": NEITHER,
    r"a*+b": NEITHER,
    r"(?>ab|a)c": NEITHER,
    r"a(?<!b)": NEITHER,
}

# A terminal, what stands around it, and whether Lark's lexer sees something there.
TABLE = [
    ("start: KW NAME?\nKW: /if(?![a-z])/\nNAME: /[a-z]+/", "KW", "past its end"),
    ("start: A B\nA: /[0-9]+\\b/\nB: /[a-z0-9]+/", "A", "past its end"),
    ("start: A NAME?\nA: /\\bif\\b/\nNAME: /[a-z]+/", "A", "past its end and before its beginning"),
    ("start: /[0-9]+/ B\nB: /\\b[a-z]+/", "B", "before its beginning"),
    ('start: "x" B\nB: /(?<!x)y/', "B", "before its beginning"),
    ('start: "a" B\nB: /^b/', "B", "before its beginning"),
    ('start: "a" B\nB: /^b/m', "B", "before its beginning"),
    ("start: NUM UNIT\nNUM: /[0-9]+(?![0-9.])/\nUNIT: /[.a-z]+/", "NUM", "past its end"),
    ('start: A "b"?\nA: /a$/', "A", "past its end"),
    ('start: A "b"?\nA: /a\\Z/', "A", "past its end"),
    ("start: INT FLOAT?\nINT: /[0-9]+(?!\\.)/\nFLOAT: /[.][0-9]+/", "INT", "past its end"),
]
REFUSED = [
    ('start: F "("\nF: /[a-z]+(?=\\()/', "lookahead past the end of terminal F", (2, 11)),
    ('start: M " x:"\nM: /match(?=\\s)/', "lookahead past the end of terminal M", (2, 10)),
    ('start: "x" B\nB: /(?<=x)y/', "lookbehind past the beginning of terminal B", (2, 5)),
    ('start: "1" B\nB: /\\B[a-z]+/', "lookbehind past the beginning of terminal B", (2, 5)),
    ('start: /a(?=b)/ "b"', "lookahead past the end of terminal __ANON_0", (1, 10)),
    ('start: F "("\nF.2: "x" /[a-z](?=\\()/', "lookahead past the end of terminal F", (2, 16)),
    ("start: D\nD: /\\d{2}(?=\\d{2}[NS])/", "lookahead past the end of terminal D", (2, 10)),
]


@pytest.mark.parametrize("pattern", EDGES)
def test_edges(pattern: str) -> None:
    assert edges(pattern) == EDGES[pattern]


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
@pytest.mark.parametrize("case", TABLE, ids=[text for text, _, _ in TABLE])
def test_a_warning(case: tuple[str, str, str], lexer: str, caplog: pytest.LogCaptureFixture) -> None:
    text, name, where = case
    with caplog.at_level(logging.WARNING, "psc.compiler"):
        psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(text, lexer=lexer)
    (message,) = [r.getMessage() for r in caplog.records]
    assert message.startswith("<string>: assertions (lookahead") and f"terminal {name} (line " in message
    assert f"looks {where}" in message and "Say in the rules" in message
    built = build_artifact(psc.Grammar.from_lark(text, lexer=lexer), byte_tokenizer()).build
    assert any(message == f"<string>: {warning}" for warning in built.warnings)


@pytest.mark.parametrize("case", REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_can_match_nothing_is_refused_by_name(case: tuple[str, str, tuple[int, int]]) -> None:
    text, said, position = case
    with pytest.raises(psc.GrammarError, match="matches no text at all") as refused:
        psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(text)
    error = refused.value
    assert said in str(error) and (error.line, error.column) == position and f":{position[0]}:{position[1]}: " in str(error)


@pytest.mark.parametrize("text", ['start: A\nA: /"(?:[^"]|a(?=b)b)*?"/', "start: /a(?!b)c/ A\nA: /(?>ab|a)c/", "start: /[a-z]+/"])
def test_assertions_inside_say_nothing(text: str, caplog: pytest.LogCaptureFixture) -> None:
    psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(text)
    assert not caplog.records
