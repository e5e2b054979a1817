"""A compilation in pieces gives the bytes that a whole one gives, whatever the pieces went through."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import strategies
from bounded import bounded
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from lark_grammars import lark_text
from not_closed import WHY
from random_grammars import KINDS
from vocabularies import byte_tokenizer

import psc
from psc._core import ClosedClassifier
from psc.artifacts.format import encode
from psc.artifacts.scalars import is_closed
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.tables import CfgTables
from psc.compiler.pipeline.build import NotClosed, build, make_tables, open_build, partly_closed_build
from psc.compiler.pipeline.pieces import assemble, classify, find_sequences
from psc.grammars.grammar import Grammar
from psc.vocabulary.tokenizer_info import TokenizerInfo


def sent(value: Any) -> Any:
    """As another process gets it."""
    return pickle.loads(pickle.dumps(value))


def same(grammar: psc.Grammar, info: TokenizerInfo, n_groups: int) -> int:
    """Builds whole, of the grammar's own tables, and in pieces, of those of its productions; says of how many groups."""
    made = CfgTables(grammar.to_cfg())
    try:
        make_tables(made)
    except psc.ResourceLimitError:
        assume(False)
    tables = sent(made)
    assert tables.are_made
    whole = build(grammar.artifact_tables(), info)
    if not is_closed(whole.arrays):
        assume(False)  # a limit that the whole meets, pieces may not meet
    found = sent(find_sequences(tables, info, n_groups))
    assert not isinstance(found, NotClosed) and len(found.groups) <= n_groups
    classifiers = [sent(classify(sent(tables), found.trie, group)) for group in found.groups]
    pieces = assemble(tables, info, found, classifiers)
    assert encode(pieces.arrays, pieces.metadata) == encode(whole.arrays, whole.metadata)
    assert sent(tables.lr).conflicts == tables.lr.conflicts
    return len(found.groups)


def test_a_piece_that_meets_a_limit() -> None:
    """Whichever it is: before the sequences, the artifact is not closed, and behind them it is partly closed."""
    tables, info = psc.Grammar.builtin_json_grammar().tables(), byte_tokenizer()
    found = find_sequences(tables, info, 3)
    assert not isinstance(found, NotClosed)
    classifiers = [classify(tables, found.trie, group) for group in found.groups]
    for got, want in (
        (assemble(tables, info, sent(WHY), []), open_build(tables, info, WHY)),
        (
            assemble(tables, info, found, [classifiers[0], sent(WHY), classifiers[2]]),
            partly_closed_build(tables, info, found.vocabulary, found.trie, found.realized, WHY),
        ),
    ):
        assert encode(got.arrays, got.metadata) == encode(want.arrays, want.metadata)
        assert len(got.warnings) == 1 and got.warnings == want.warnings and WHY.limit in got.warnings[0]


@pytest.mark.parametrize("kind", KINDS)
@examples(20)  # each builds its grammar twice
@given(data=st.data())
@bounded
def test_any_grammar(kind: str, data: st.DataObject) -> None:
    texts, load = KINDS[kind]
    try:
        grammar = load(data.draw(texts))
    except psc.GrammarError:  # one that matches no text
        assume(False)
    info = byte_tokenizer(*data.draw(st.lists(strategies.tokens(), max_size=30)))
    same(grammar, info, data.draw(st.integers(1, 5)))


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("name", ["json", "go"])
def test_bundled(name: str, lexer: Any) -> None:
    extra = [b"  ", b'":', b'", "', b"){", b"});", b"func (", b":= ", b" == ", b"...)"]
    assert same(psc.Grammar.from_lark(lark_text(name), lexer=lexer), byte_tokenizer(*extra), 4) == 4


def test_tables_serve_several_vocabularies() -> None:
    grammar = Grammar.parse(find_grammar("json").request())
    tables = grammar.tables()
    for info in (byte_tokenizer(), byte_tokenizer(b'{"', b"}}")):
        shared, own = build(tables, info), build(grammar.tables(), info)
        assert encode(shared.arrays, shared.metadata) == encode(own.arrays, own.metadata)


def test_words_of_another_version_are_refused() -> None:
    tables = Grammar.parse(find_grammar("json").request()).tables()
    found = find_sequences(tables, byte_tokenizer(), 2)
    classifiers = [classify(tables, found.trie, group) for group in found.groups]
    assert not isinstance(classifiers[0], NotClosed)
    words = classifiers[0].__getstate__()
    for damaged in (words[:-1], words[:0]):
        with pytest.raises(ValueError, match="cut short"):
            ClosedClassifier.__new__(ClosedClassifier).__setstate__(damaged)
    with pytest.raises(ValueError, match="cut short"):
        classify(tables, found.trie[:-1], found.groups[0])


def test_leaves_that_stand_for_sets_of_sequences() -> None:
    """T can fail in more ways than are spelled out, with conditions in them."""
    text = 'start: (A B | B A A | "c" T)* T?\nA: "a"\nB: "b"\nT: /[ab]{6}d/'
    info = byte_tokenizer(b"ab", b"ba", b"abaab", b"aab", b"cab")
    assert same(psc.Grammar.from_lark(text), info, 3) > 1
