"""The lexer `flush` against its oracle and against `basic`: the same texts, but those that begin with what is ignored."""

import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from languages import LANGUAGES, check_short_histories
from vocabularies import byte_tokenizer

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time

GRAMMAR = 'start: (NAME | "=")+ | "b" "c"\nNAME: /[a-z]+/\nBLANKS: /[ =]*[ ]/\n%ignore BLANKS\n'


@given(text=strategies.grammars(), tokens=strategies.vocabularies(max_size=6), walk=st.integers(0, 2**16))
@bounded
def test_random_grammars(text: str, tokens: list[bytes], walk: int) -> None:
    """Just in time, ahead of time and loaded again."""
    reading = LANGUAGES["flush"]
    check_short_histories(reading.builds(text, tokens), reading.oracle(text), tokens, walk, longest=3)


@given(text=st.text(" =ab", max_size=9))
def test_what_is_left_of_the_basic_language(text: str) -> None:
    basic, flush, ahead = (takes(compiled, text) for compiled in COMPILED)
    assert flush == ahead
    if not text.startswith((" ", "=")):
        assert flush == basic


def test_what_may_be_ignored_is_another_terminal_at_the_start() -> None:
    for text, by_basic, by_flush in (("= a", True, True), (" a", True, False), ("a  ", True, True), (" ", False, False)):
        assert [takes(compiled, text) for compiled in COMPILED] == [by_basic, by_flush, by_flush], text


def takes(compiled: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


_INFO = byte_tokenizer()
COMPILED = (
    psc.GrammarCompiler(_INFO, store=False).compile_lark(GRAMMAR, lexer="basic"),
    psc.GrammarCompiler(_INFO, store=False).compile_lark(GRAMMAR, lexer="flush"),
    compile_ahead_of_time(psc.Grammar.from_lark(GRAMMAR, lexer="flush"), _INFO),
)
