"""XGrammar's logits processor for `transformers`, with arrays in the place of tensors."""

import subprocess
import sys

import numpy as np
import pytest

import psc
from psc.contrib.hf import LogitsProcessor

INFO = psc.TokenizerInfo(["a", "b", "ab", "</s>"], vocab_size=5)
A, B, AB, STOP = range(4)


def compiled(ebnf: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(INFO, store=False).compile_grammar(ebnf)


def allowed(processor: LogitsProcessor, *rows: list[int]) -> list[list[int]]:
    scores = processor(np.array(rows), np.zeros((len(rows), 5), np.float32))
    return [np.flatnonzero(row == 0).tolist() for row in scores]


def test_it_follows_each_row():
    processor = LogitsProcessor(compiled('root ::= "ab" "b"*'))
    assert allowed(processor, [9, 9], [9, 9]) == [[A, AB], [A, AB]]
    assert allowed(processor, [9, 9, A], [9, 9, AB]) == [[B], [B, STOP]]
    assert allowed(processor, [9, 9, A, B], [9, 9, AB, STOP]) == [[B, STOP], [0, 1, 2, 3, 4]]


def test_a_grammar_for_each_row():
    processor = LogitsProcessor([compiled('root ::= "a"'), compiled('root ::= "b"')])
    assert allowed(processor, [9], [9]) == [[A], [B]]
    with pytest.raises(psc.MatcherError, match="3 rows, where generation began with 2"):
        allowed(processor, [9], [9], [9])
    with pytest.raises(psc.MatcherError, match="row 1: token 0 is not allowed here"):
        allowed(processor, [9, A], [9, A])


def test_rows_that_change_places():
    """Each row's last token is one that its matcher takes, and the text before it is the other's."""
    processor = LogitsProcessor(compiled("root ::= [ab]{5}"))
    allowed(processor, [9, 9], [9, 9])
    allowed(processor, [9, 9, A], [9, 9, B])
    with pytest.raises(psc.MatcherError, match="beam search"):
        allowed(processor, [9, 9, B, A], [9, 9, A, A])


def test_several_tokens_at_once():
    processor = LogitsProcessor(compiled("root ::= [ab]{5}"))
    allowed(processor, [9, 9])
    with pytest.raises(psc.MatcherError, match="assisted decoding"):
        allowed(processor, [9, 9, A, A])


def test_a_loop_that_shows_the_last_token():
    processor = LogitsProcessor(compiled('root ::= "ab"'))
    assert [allowed(processor, [token]) for token in (9, A, B)] == [[[A, AB]], [[B]], [[STOP]]]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="the list is empty"):
        LogitsProcessor([])
    with pytest.raises(psc.MatcherError, match="2 compiled grammars for 3 rows"):
        allowed(LogitsProcessor([compiled('root ::= "a"')] * 2), [9], [9], [9])


def test_importing_it_imports_neither_torch_nor_transformers():
    program = "import psc.contrib.hf, sys; sys.exit(any(m in sys.modules for m in ('torch', 'transformers')))"
    subprocess.run([sys.executable, "-c", program], check=True)
