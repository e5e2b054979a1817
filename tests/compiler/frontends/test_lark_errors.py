"""What is wrong with a text in Lark's language, in psc's words: line, column, cause, way out. Nothing of Lark's inside is shown."""

from pathlib import Path
from typing import Any

import pytest
from lark.lexer import PatternRE
from lark.load_grammar import PrepareLiterals

import psc
from psc.compiler.frontends.lark import building, loader, terminal_patterns, wording
from psc.compiler.frontends.lark.loader import load_lark
from psc.support.regular_file import FileOrigin

CASES = [
    # text, line, column, parts of the message
    ('start: valu\nvalue: "a"\n', 1, 8, ["rule 'valu' is not defined", "did you mean 'value'?"]),
    ('start: "x" (value | "y" [valeu])\nvalue: "a"\n', 1, 26, ["rule 'valeu' is not defined; did you mean 'value'?"]),
    ('// nope\nstart: "nope" nope // nope\n', 2, 15, ["rule 'nope' is not defined; define it"]),
    ('start: MISSING\nOTHER: "x"', 1, 8, ["terminal 'MISSING' is not defined"]),
    ('start: NUMBR\nNUMBER: "1"', 1, 8, ["did you mean 'NUMBER'?"]),
    ('start: A\nA: "a" | BC\nBCD: "d"', 2, 10, ["terminal 'BC' is not defined; did you mean 'BCD'?"]),
    ('start: "a"\n%ignore WS\n', 2, 9, ["terminal 'WS' is not defined"]),
    ('start: "a"\n%import common.WSS\n%ignore WSS\n', 2, 1, ["common.lark has no terminal 'WSS'; did you mean 'WS'?"]),
    ("start: NUM\n%import common.NUMBR -> NUM\n", 1, 8, ["common.lark has no terminal 'NUMBR'; did you mean 'NUMBER'?"]),
    ("%import comon.WS\nstart: WS\n", 1, 1, ["Lark's library has no comon.lark", "did you mean 'common'?"]),
    ("start: X\n%import nofile.X\n", 2, 1, ["Lark's library has no nofile.lark", "%import .nofile"]),
    ('start: "a" ("b"', 1, 16, ['found the end of the line, expected ")"', 'the "(" of line 1, column 12 is not closed']),
    ('start: (A | B\nA: "a"\nB: "b"\n', 1, 14, ['expected ")"', "line 1, column 8"]),
    ('start: ["a" "b"\nx: "c"\n', 1, 16, ['expected "]"', 'the "[" of line 1, column 8']),
    ('start: "a" )\n', 1, 12, ['found ")", expected the end of the line', "closes nothing"]),
    ('start: "a" ("(" ")"\n', 1, 20, ['the "(" of line 1, column 12 is not closed']),
    ('start: "a\n', 1, 8, ['no closing " on its line']),
    ("start: 'a'\n", 1, 8, ["written in double quotes"]),
    ("start: /a", 1, 8, ["no closing /"]),
    ('start: "a";\n', 1, 11, ["without a semicolon"]),
    ('start = "a"', 1, 7, ["a rule is written name: …"]),
    ('start "a"\n', 1, 7, ['found "a"', "a rule is written name: …"]),
    ('Start: "a"\n', 1, 1, ['found "Start"', "all lower case (a rule) or all upper case (a terminal)"]),
    ("start: aB\n", 1, 8, ["rule 'a' is not defined"]),
    ('start: "a"\n  "b"\n', 2, 3, ["a line that continues a rule begins with |"]),
    ("start: | | ->\n", 1, 14, ["found the end of the line, expected the name of a rule"]),
    ('start: "a" -> B\n', 1, 15, ['found "B", expected the name of a rule']),
    ("start: \\d+\n", 1, 8, ["within quotes or slashes"]),
    ('start: "a"\nstart: "b"\n', 2, 1, ["rule 'start' is defined twice, first in line 1", "join the two with |"]),
    ('start: A\nA: "a"\nA: "b"\n', 3, 1, ["terminal 'A' is defined twice, first in line 2"]),
    ('%import common.WS\nstart: WS\nWS: " "', 3, 1, ["terminal 'WS' is imported and defined"]),
    ('start: x{A}\nA: "a"\n', 1, 8, ["template 'x' is not defined"]),
    ('t{x,y}: x y\nstart: t{A}\nA: "a"\n', 2, 8, ["template 't' takes 2 arguments, not 1"]),
    ('t{x,x}: x\nstart: t{A,A}\nA: "a"\n', 1, 1, ["has the parameter 'x' twice"]),
    ('%override x: "a"\nstart: x', 1, 11, ["%override: no rule 'x'"]),
    ('%extend x: "a"\nstart: x', 1, 9, ["%extend: no rule 'x'"]),
    ("start: A\nA: /[a-z/\n", 2, 5, ["terminal A: unterminated character set"]),
    ('start: A\n\nA: "x" /[a-z/ "y"\n', 3, 9, ["terminal A: unterminated character set"]),
    ('start: A\nA.2: "é" | /(/\n', 2, 13, ["terminal A: missing )"]),
    ("start: A\nA: /a{2,1}/\n", 2, 7, ["min repeat greater than max repeat"]),
    ('start: "a"\n%ignore /[/\n', 2, 10, ["unterminated character set"]),
    ('start: b{""} "c"\nb{x}: x "d"\n', 1, 10, ["is empty; a terminal must match at least one character"]),
    ("start: b{A}\nb{x}: x\nA: /a/ /a\nb/\n", 3, 8, ["a line break in a regular expression is written \\n"]),
    ('start: "a" /[a-z/\n', 1, 13, ["unterminated character set"]),
    ('start: "\\xZZ" \n', 1, 8, ["an escape in this text is malformed", "\\xHH"]),
    ('start: "a"~5..2\n', 1, 1, ["the range 5..2, which is none"]),
    ('start: a\na: a "x"', 2, 1, ["rule 'a' can never finish"]),
    ("start: A\n\n  A.2: /a*/\n", 3, 3, ["terminal A", "empty string"]),  # the dialect has no priorities
    ('start: "x" /b(?!b|$)c|(?!)/\n', 1, None, []),
    ("%declare A\nstart: A", 1, 1, ["%declare"]),
    ("start: _INDENT\n%declare _INDENT _DEDENT", 2, 1, ["%declare", "in the bundled grammar python"]),
    ('root ::= "a" | b\n', 1, 6, ["with ::= the text is EBNF"]),
    ('root := "a"', 1, 6, ["a rule is written name: …", "EBNF"]),
    ('\n {"type": "object"}', 2, 2, ["looks like JSON", "compile_json_schema"]),
    ('[{"a": 1}]', 1, 1, ["looks like JSON"]),
    ("start: [a-z]+\n", 1, 9, ["written in slashes: /[a-z]/"]),
    ('foo: "a"\n', None, None, ["there is no rule 'start' to start from; the only rule is foo."]),
    ('foo: "a"\nbar: "b"', None, None, ["the rules are bar, foo."]),
    ("foo{x}: x\n", None, None, ["no rule 'start' to start from, and no other rule"]),
    ("", None, None, ["no rule 'start' to start from, and no other rule"]),
]
CASES = [case for case in CASES if case[3]]
_INSIDE = ("Token(", "_RPAR", "_NL", "_LPAR", "Expected one of", "Errno", "__ANON", "SyntaxError", "used but not defined")


def _refused(text: str, **options: object) -> psc.GrammarError:
    with pytest.raises(psc.GrammarError) as refused:
        grammar = psc.Grammar.from_lark(text, **options)
        grammar.tables().make()
    return refused.value


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_text(case: tuple[str, int | None, int | None, list[str]]) -> None:
    text, line, column, parts = case
    error = _refused(text)
    assert (error.line, error.column) == (line, column), error
    for part in parts:
        assert part in str(error), error
    for part in _INSIDE:
        assert part not in str(error), error
    if line is not None and "Lark error" not in str(error):
        assert str(error).startswith(f"<string>:{line}:{column}: ")
    assert "either" not in str(error)
    assert error.path == "<string>"


@pytest.mark.parametrize(
    ("text", "file", "position", "part"),
    [
        ("start: A\n%import .nofile (A)\n", None, (2, 1), "%import .nofile: there is no file nofile.lark beside the grammar"),
        ("start: A\n%import .a.b.A\n", None, (2, 1), "there is no file a/b.lark"),
        ("start: A\n%import .part.A\n", 'A: "a" (', (1, 9), "found the end of the line"),
        ("start: AB\n%import .part.AB\n", 'A: "a"\nABC: "b"', (1, 8), "part.lark has no terminal 'AB'; did you mean 'ABC'?"),
        ("start: A\n%import .part.A\n", "A: 'a'", (1, 4), "written in double quotes"),
    ],
)
def test_an_import(text: str, file: str | None, position: tuple[int, int], part: str, tmp_path: Path) -> None:
    if file is not None:
        (tmp_path / "part.lark").write_text(file)
    error = _refused(text, source_name=str(tmp_path / "whole.lark"))
    assert (error.line, error.column) == position and part in str(error), error
    in_part = file is not None and "has no terminal" not in part
    assert error.path == str(tmp_path / ("part.lark" if in_part else "whole.lark"))


def test_a_missing_import_that_nobody_uses_is_none_as_in_lark() -> None:
    psc.Grammar.from_lark('start: "a"\n%import common.WSS\n')


def test_every_prefix_of_a_grammar_is_refused_at_a_position() -> None:
    text = 'start: (A | b{"c"})* ["x" ~ 2..3] -> y\nb{x}: x "d" | /e[f]/i\nA.2: "a".."z" | /g/\n'
    text += "%ignore /[ ]+/\n%import common.WS -> W\n"
    for end in range(1, len(text)):
        try:
            psc.Grammar.from_lark(text[:end])
        except psc.GrammarError as e:
            assert not any(part in str(e) for part in _INSIDE), (text[:end], e)
            assert e.line is not None or "no rule 'start'" in str(e), (text[:end], e)


@pytest.mark.parametrize(
    "error", [MemoryError(), TimeoutError(), RuntimeError("a handler's"), psc.CompilationCancelledError("off")]
)
@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (PrepareLiterals, "literal"),
        (terminal_patterns, "literal_pattern"),
        (PatternRE, "_get_width"),
        (loader, "terminal_patterns"),
        (building, "read_regular_text"),
        (building, "resolve_term_references"),
    ],
)
def test_what_says_nothing_of_the_text_passes(
    reader: Any, name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Memory that runs out while Lark reads, or what a signal's handler raises then, is no error of the text."""

    def raising(*arguments: object) -> None:
        raise error

    (tmp_path / "other.lark").write_text('B: "b"\n')
    text = "start: A B x{A}\nx{y}: y\n%import .other.B\nA: /a/ /a*/\n"
    origin = FileOrigin(str(tmp_path / "main.lark"))
    load_lark(text, source_name=origin)
    monkeypatch.setattr(reader, name, raising)
    with pytest.raises(type(error)) as raised:
        load_lark(text, source_name=origin)
    assert raised.value is error


@pytest.mark.parametrize("used", ["start: {}\n", 'start: "a"\n%ignore {}\n'])
def test_similar_names_are_looked_for_once(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all names that are not defined the first is reported."""
    asked = []
    monkeypatch.setattr(wording, "similar", lambda name, names: asked.append(name) or [])
    kind = "ABCX{}" if "ignore" in used else "abcx{}"
    names = [kind.format(i) for i in range(50)]
    error = _refused(used.format(" ".join(names) if "start: {" in used else "\n%ignore ".join(names)))
    assert asked == [names[0]] and f"{names[0]!r} is not defined" in str(error)
