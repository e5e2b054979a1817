"""The stages of a compilation are told in one order and by one title each, whoever runs them."""

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.cluster.run.compilation import ENCODING, N_STAGES, compile_artifact
from psc.cluster.run.splitting import assembly, classifier, sequences
from psc.compiler.pipeline.build import build, grammar_tables, native_compilation
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
    result = build(psc.Grammar.from_ebnf(GRAMMAR).to_cfg(), byte_tokenizer(), progress=told)
    assert told.stages == ALL and told.of == {len(Stage)}
    assert list(result.seconds) == [stage.title for stage in Stage]


def test_a_worker_tells_the_same_and_one_more() -> None:
    told = Told()
    compile_artifact(psc.Grammar.from_ebnf(GRAMMAR).to_cfg(), byte_tokenizer(), **NAMES, progress=told)
    assert told.stages == [*ALL, (ENCODING, N_STAGES - 1)] and told.of == {N_STAGES}


def test_pieces_tell_those_that_they_are() -> None:
    told, info = Told(), byte_tokenizer()
    tables = grammar_tables(psc.Grammar.from_ebnf(GRAMMAR).to_cfg(), progress=told)
    found = sequences(tables, info, n_groups=1, progress=told)
    words = classifier(tables, found, group=0, progress=told)
    assembly(tables, info, found, words, **NAMES, progress=told)
    assert told.stages == [*ALL, (ENCODING, N_STAGES - 1)]


def test_stages_out_of_turn_are_an_error() -> None:
    """Each works on what the one before has made: nothing of it was there, and the process died."""
    tables = grammar_tables(psc.Grammar.from_ebnf(GRAMMAR).to_cfg())
    compilation = native_compilation(tables.grammar, tables.lr, tables.automaton, byte_tokenizer())
    with pytest.raises(RuntimeError, match="in order; this is not the turn of the assembly"):
        compilation.assemble()
    for ask in (compilation.lexer_arrays, compilation.trie_words, lambda: compilation.sequence_groups(2)):
        with pytest.raises(RuntimeError, match="has not made yet"):
            ask()
    compilation.build_lexer()
    with pytest.raises(RuntimeError, match="not the turn of the lexer"):
        compilation.build_lexer()
    compilation.classify_tokens()
    with pytest.raises(RuntimeError, match="terminal sequences"):
        _ = compilation.n_sequences
    compilation.find_sequences()
    assert compilation.n_sequences > 0
