"""Grammars that cannot be compiled: the message says the place, the cause and the way out."""

from pathlib import Path

import lark
import pytest
import strategies
from bounded import bounded
from grammar_tables import tables_of
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import LexError, Oracle
from vocabularies import byte_tokenizer

import psc
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.cfg.terminals import terminal_automaton
from psc.compiler.frontends.lark.differences import lark_differences
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.pipeline.build import build

CASES = {
    "syntax": ("start: (\n", ["<string>", "line 1"]),
    "undefined rule": ('start: "a" missing\n', ["<string>", "missing"]),
    "undefined terminal": ("start: MISSING\n", ["<string>", "MISSING"]),
    "no start rule": ('begin: "a"\n', ["no rule 'start'", "begin"]),
    "declared terminal": (
        'start: A _INDENT\nA: "a"\n%declare _INDENT\n',
        ["<string>:3", "%declare", "_INDENT", "regular expressions"],
    ),
    "empty match": ("start: A\n\nA.2: /a*/\n", ["<string>:3", "terminal A", "empty string"]),  # llguidance refuses the priority
    "backreference": ("start: S\nS: /([\"']).*\\1/\n", ["<string>:2", "terminal S", "backreference"]),
    "reduce/reduce": ('start: a | b\na: "x"\nb: "x"\n', ["reduce/reduce", "a : X", "b : X", "$END"]),
    "matches nothing": ("start: A\nA: /a(?!.|$)/\n", ["terminal A", "no text"]),
    "recursive terminal": ('start: A\nA: "a" A\n', ["A"]),
    "import": ("start: X\n%import .nowhere.X\n", ["<string>", "%import .nowhere.X", "source_name"]),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    text, words = CASES[name]
    with pytest.raises(psc.GrammarError) as e:
        psc.GrammarCompiler(byte_tokenizer()).compile_lark(text)
    for word in words:
        assert word in str(e.value)


def test_text_from_no_file_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request's grammar must not read what is beside the server's program, or in its folder."""
    (tmp_path / "secret.lark").write_text('X: "x"\n')
    monkeypatch.chdir(tmp_path)
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False)
    for text in ("start: X\n%import .secret.X\n", "start: X\n%import .secret (X)\n", "start: Y\n%import .secret.X -> Y\n"):
        for read in (compiler.compile_lark, psc.Grammar.from_lark):
            with pytest.raises(psc.GrammarError, match="from no file"):
                read(text)
    assert psc.Grammar.from_lark("start: X\n%import .secret.X\n", source_name=str(tmp_path / "mine.lark"))
    with pytest.raises(psc.GrammarError, match="nowhere"):
        psc.Grammar.from_lark("start: X\n%import .nowhere.X\n", source_name=str(tmp_path / "mine.lark"))


def test_unreadable_files(tmp_path: Path) -> None:
    absent = tmp_path / "absent.lark"
    with pytest.raises(psc.GrammarError, match="no such file"):
        find_grammar(absent)
    absent.mkdir()
    with pytest.raises(psc.GrammarError, match="is a folder"):
        find_grammar(absent)
    absent.rmdir()
    absent.write_text("")
    found = find_grammar(absent)
    absent.unlink()
    with pytest.raises(psc.GrammarError, match="cannot read the grammar"):
        found.request()
    (tmp_path / "latin.lark").write_bytes(b'start: "\xe9"\n')
    with pytest.raises(psc.GrammarError, match="not UTF-8"):
        find_grammar(tmp_path / "latin.lark").request()


WARNINGS = {
    'start: A B\nA.2: "a"\nB: /ab+/\n': "A before B",
    'start: A B\nA: /a|ab/\nB: "b"\n': "inside: A",
    'start: A B\nA: /[0-9]+(?!\\.)/\nB: "."\n': "no lexeme where this one does: A",
    'start: ("a" | "\\n")+\nWS: /[ \\n]+/\n%ignore WS\n': "WS (here NEWLINE)",
    'start: (KW | NAME)+\nKW: "select"i\nNAME: /[a-z]+/\n%ignore " "\n': "NAME before KW",
}


@pytest.mark.parametrize("text", WARNINGS)
def test_lexing_that_differs_from_lark_is_named(text: str) -> None:
    assert any(WARNINGS[text] in w for w in build(tables_of(load_lark(text, lexer="basic")), byte_tokenizer()).warnings)


def test_no_warning_where_lexing_agrees() -> None:
    text = 'start: (KW | NAME | STRING)+\nKW: "if"\nNAME: /[a-z]+/\n%import common.ESCAPED_STRING -> STRING\n%ignore " "\n'
    assert build(tables_of(load_lark(text, lexer="basic")), byte_tokenizer()).warnings == ()


def test_terminals_that_are_never_allowed_together_do_not_clash() -> None:
    text = 'start: A "x" | B "y"\nA.2: "a"\nB: /ab+/\n'
    apart = 'start: "1" A | "2" B\nA.2: "a"\nB: /ab+/\n'
    assert build(tables_of(load_lark(text)), byte_tokenizer()).warnings != ()
    assert build(tables_of(load_lark(apart)), byte_tokenizer()).warnings == ()
    assert build(tables_of(load_lark(apart, lexer="basic")), byte_tokenizer()).warnings != ()


@given(text=strategies.grammars(), texts=st.lists(strategies.texts(), min_size=5, max_size=10))
@bounded
def test_no_warning_means_that_lark_lexes_alike(text: str, texts: list[bytes]) -> None:
    """Where our lexer reads a text, so does Lark's, with the same terminals; only texts that we refuse may differ (commitment)."""
    grammar = load_lark(text, lexer="basic")
    assume(not lark_differences(grammar, terminal_automaton(grammar), lr_tables(grammar)))
    oracle = Oracle(text)
    parser = lark.Lark(text, parser="lalr", lexer="basic")
    for sentence in texts:
        try:
            ours = oracle.terminals(sentence)
        except LexError:
            continue
        assert [t.type for t in parser.lex(sentence.decode())] == ours
