"""The stored classifier against the paper's construction: every lexer, tables with conflicts, and damaged ones, which differ."""

from collections.abc import Sequence
from typing import Any

import pytest
import strategies
from bounded import bounded
from effort import examples
from grammar_tables import tables_of
from hypothesis import given

from psc._core import LrTables
from psc.artifacts.scalars import without_scalars
from psc.compiler import paper as transducers
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.paper import Verification, verify
from psc.compiler.pipeline.build import build
from psc.errors import GrammarError
from psc.grammars.grammar import Grammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

# `if` is a NAME where no IF may be: past the end of a lexeme, what a token means depends on the stack.
STATEMENTS = r"""
start: statement+
statement: "if" NAME block | NAME "=" value ";"
block: "{" statement* "}"
value: NAME | NUMBER | "(" value ")" | "if"
NAME: /[a-z]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
%ignore " "
"""
TOKENS = b"if i f fi { } {} = == ( ) (( )) ; }; a ab 1 1. .2 . 1.2 if( a=1; =if ;} ;}}".split()
TOKENS += [b" ", b" if ", b"a =", b"; }"]


def stored(grammar: Any, tokens: Sequence[bytes]) -> dict[str, Any]:
    tokenizer = TokenizerInfo.from_tokens([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
    built = build(tables_of(grammar), tokenizer)
    if "not_closed" in built.metadata:
        raise GrammarError("not closed: there is no classifier to verify")
    return without_scalars(built.arrays)


def conditions_in(arrays: dict[str, Any]) -> int:
    found = transducers.realized_sequences(arrays, LrTables.from_arrays(arrays))
    return sum(isinstance(symbol, frozenset) for sequences in found.values() for w in sequences for symbol in w)


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_lark_grammar(lexer: Any) -> None:
    arrays = stored(load_lark(STATEMENTS, lexer=lexer), TOKENS)
    found = verify(arrays)
    assert found.difference is None
    assert found.comparisons > 30
    assert bool(conditions_in(arrays)) == (lexer == "contextual")


@pytest.mark.parametrize(
    "text",
    ['root ::= "a" root "b" | ""', 'root ::= ("a" | "ab" | "b")* "c"', 'root ::= x x | "(" root ")"\nx ::= [a-c]{1,3} | "a" x'],
)
def test_ebnf_grammar(text: str) -> None:
    """Lexemes may end anywhere, LR cells have several actions."""
    found = verify(stored(Grammar.from_ebnf(text).to_cfg(), [b"a", b"b", b"ab", b"aab", b"abc", b"bb", b"c", b"(", b"))", b"(a"]))
    assert found.difference is None and found.comparisons > 1


def changed(arrays: dict[str, Any], name: str, at: int, value: int) -> Verification:
    table = arrays[name].copy()
    table[at] = value
    return verify({**arrays, name: table})


def test_a_damaged_classifier_differs() -> None:
    """Each arc that leaves the start, and each token set of each lexer state, is looked at."""
    arrays = stored(load_lark(STATEMENTS), TOKENS)
    first, last = arrays["arc_offsets"][arrays["start"] : arrays["start"] + 2].tolist()
    noticed = 0
    for arc in range(first, last):
        if arrays["arc_emission"][arc]:
            found = changed(arrays, "arc_emission", arc, 0).difference
            assert found is not None and found.allowed_by_paper and found.stack[0] == arrays["arc_symbol"][arc]
            noticed += 1
        if arrays["arc_next"][arc]:
            noticed += changed(arrays, "arc_next", arc, 0).difference is not None
    assert noticed > 10
    for i in range(0, len(arrays["meaning_sets"]), 7):
        other = 1 + arrays["meaning_sets"][i] % (len(arrays["set_offsets"]) - 2)
        assert changed(arrays, "meaning_sets", i, other).difference is not None


def test_what_the_classifier_allows_too_much() -> None:
    arrays = stored(load_lark(STATEMENTS), TOKENS)
    q = int(arrays["start_of_top"][0])
    everything = int((arrays["set_offsets"][1:] - arrays["set_offsets"][:-1]).argmax())
    found = changed(arrays, "always", q, everything).difference
    assert found is not None and not found.allowed_by_paper and found.lexer_state == q


@examples(30)
@given(strategies.grammars(), strategies.vocabularies(max_size=12))
@bounded
def test_random_contextual_grammars(text: str, tokens: list[bytes]) -> None:
    try:
        arrays = stored(load_lark(text), tokens)
        found = verify(arrays)
    except GrammarError:  # psc refuses some grammars that Lark takes; some are too large for this
        return
    assert found.difference is None
