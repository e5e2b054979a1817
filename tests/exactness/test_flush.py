"""The lexers `flush` and `flush-modal` against their oracles, and against `basic` and `modal`: the same texts, but those that begin
with what is ignored."""

import pytest
import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from languages import LANGUAGES, check_short_histories
from vocabularies import byte_tokenizer

import psc
from psc.compiler.cfg.grammar import LarkLexer
from psc.grammars.compiled_grammar import compile_ahead_of_time

GRAMMARS: dict[LarkLexer, str] = {
    "basic": 'start: (NAME | "=")+ | "b" "c"\nNAME: /[a-z]+/\nBLANKS: /[ =]*[ ]/\n%ignore BLANKS\n',
    # Lines that say something, a terminal with lines before it, and texts within quotes. LINES wins over what is ignored.
    "modal": r"""
        start: (item | LINES)*
        item: NAME | EQUAL | QUOTE TEXT QUOTE
        NAME: /[a-z]+/
        EQUAL: /[ \n]*=/
        QUOTE: /[ \n]*"/
        TEXT.2: /[^"]+/
        LINES: / *\n[ \n]*/
        BLANKS.1: / +/
        LEADING.-1: /[ \n]+/
        %ignore BLANKS
        %ignore LEADING
        """,
}
FLUSH: dict[LarkLexer, LarkLexer] = {"basic": "flush", "modal": "flush-modal"}


@pytest.mark.parametrize(
    ("lexer", "grammars"), [("flush", strategies.grammars()), ("flush-modal", strategies.contextual_grammars())]
)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=6), walk=st.integers(0, 2**16))
@bounded
def test_random_grammars(lexer: str, grammars: st.SearchStrategy[str], data: st.DataObject, tokens: list[bytes], walk: int) -> None:
    """Just in time, ahead of time and loaded again."""
    reading, text = LANGUAGES[lexer], data.draw(grammars)
    check_short_histories(reading.builds(text, tokens), reading.oracle(text), tokens, walk, longest=3)


@given(text=st.text(" =ab", max_size=9))
def test_what_is_left_of_the_basic_language(text: str) -> None:
    basic, flush, ahead = (takes(compiled, text) for compiled in COMPILED["basic"])
    assert flush == ahead
    if not text.startswith((" ", "=")):
        assert flush == basic


def test_what_may_be_ignored_is_another_terminal_at_the_start() -> None:
    for text, by_basic, by_flush in (("= a", True, True), (" a", True, False), ("a  ", True, True), (" ", False, False)):
        assert [takes(compiled, text) for compiled in COMPILED["basic"]] == [by_basic, by_flush, by_flush], text


@given(text=st.text(' \n="ab', max_size=9))
def test_what_is_left_of_the_modal_language(text: str) -> None:
    """No terminal that takes blanks before it into itself begins a text with them."""
    modal, flush, ahead = (takes(compiled, text) for compiled in COMPILED["modal"])
    assert flush == ahead == (modal and not text.startswith((" ", "\n")))


def takes(compiled: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


_INFO = byte_tokenizer()
COMPILED = {
    lexer: (
        psc.GrammarCompiler(_INFO, store=False).compile_lark(text, lexer=lexer),
        psc.GrammarCompiler(_INFO, store=False).compile_lark(text, lexer=FLUSH[lexer]),
        compile_ahead_of_time(psc.Grammar.from_lark(text, lexer=FLUSH[lexer]), _INFO),
    )
    for lexer, text in GRAMMARS.items()
}
