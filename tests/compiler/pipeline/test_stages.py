"""The stages of a compilation are told in one order and by one title each, whoever runs them."""

from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc
from psc import _core
from psc.cluster.run.compilation import ENCODING, N_STAGES, compile_artifact
from psc.cluster.run.splitting import assembly, classifier, sequences
from psc.compiler.cfg.terminals import terminal_arrays
from psc.compiler.pipeline.build import build, make_tables
from psc.compiler.pipeline.stages import Stage

GRAMMAR = 'root ::= "a" root "b" | "c"'
NAMES = {"grammar_name": "nested", "tokenizer_name": "bytes"}
ALL = [(stage.title, i) for i, stage in enumerate(Stage)]


class Told:
    """Remembers the stages, and of how many each was."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.of: set[int] = set()

    def __call__(self, title: str, number: int, of: int) -> None:
        self.stages.append((title, number))
        self.of.add(of)


def test_each_is_told_once_in_order() -> None:
    told = Told()
    result = build(psc.Grammar.from_ebnf(GRAMMAR).tables(), byte_tokenizer(), progress=told)
    assert told.stages == ALL and told.of == {len(Stage)}
    assert list(result.seconds) == [stage.title for stage in Stage]


def test_tables_that_are_made_are_no_stages() -> None:
    tables, told = psc.Grammar.from_ebnf(GRAMMAR).tables(), Told()
    make_tables(tables)
    result = build(tables, byte_tokenizer(), progress=told)
    assert told.stages == ALL[2:] and list(result.seconds) == [stage.title for stage in Stage]


def test_a_worker_tells_the_same_and_one_more() -> None:
    told = Told()
    compile_artifact(psc.Grammar.from_ebnf(GRAMMAR).tables(), byte_tokenizer(), **NAMES, progress=told)
    assert told.stages == [*ALL, (ENCODING, N_STAGES - 1)] and told.of == {N_STAGES}


def test_pieces_tell_those_that_they_are() -> None:
    told, info = Told(), byte_tokenizer()
    tables = psc.Grammar.from_ebnf(GRAMMAR).tables()
    make_tables(tables, progress=told)
    assert tables.is_complete
    found = sequences(tables, info, n_groups=1, progress=told)
    words = classifier(tables, found, group=0, progress=told)
    assembly(tables, info, found, words, **NAMES, progress=told)
    assert told.stages == [*ALL, (ENCODING, N_STAGES - 1)]


def test_a_stage_takes_what_the_one_before_returned() -> None:
    """A stage that ran out of turn read what was not there, and the process died."""
    tables, text = psc.Grammar.from_ebnf(GRAMMAR).tables(), byte_tokenizer().without_stop_tokens
    arrays: Any = terminal_arrays(tables.cfg, tables.automaton)
    lexer: Any = _core.close_lexer(tables.lr, **arrays, lexer=tables.cfg.lexer)
    classes: Any = _core.classify_tokens(lexer, text.data, text.offsets, text.text_token_ids, 1 << 20)
    sequences: Any = _core.find_sequences(classes)
    classifier: Any = _core.close_classifier(sequences)
    for stage, *wrong in (
        (_core.classify_tokens, tables.lr, text.data, text.offsets, text.text_token_ids, 1 << 20),
        (_core.find_sequences, lexer),
        (_core.close_classifier, classes),
        (_core.assemble, sequences, classes),
        (_core.assemble, classifier, classes),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            stage(*wrong)
    again = _core.find_sequences(classes)
    assert again.realized_words().tolist() == sequences.realized_words().tolist()
    assert again.trie_words().tolist() == sequences.trie_words().tolist()
