"""The subsets of Java, Go and SQL: psc's Lark, the EBNF that XGrammar gets, and llguidance's Lark are one language.

Each reads texts, and mutants of them with one place changed, byte by byte. All must stop at the same byte, or end alike.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import psc
from psc.bench.end_to_end.grammars import LANGUAGES, CommonGrammar, common_grammar
from psc.bench.end_to_end.workloads import works_of
from psc.bench.lark_dialects import for_llguidance
from psc.compiler.grammars import bundled_path

END = 256
TOKENS = [bytes([byte]) for byte in range(256)]
Verdict = tuple[int, bool]
"""The number of bytes that are taken, and whether the text may end there."""
Reader = Callable[[bytes], Verdict]
_PIECES = (
    "(",
    ")",
    ";",
    " ",
    "\n",
    "x",
    "9",
    "if",
    " and ",
    "+",
    "--",
    "'",
    '"',
    "{",
    "}",
    ",",
    ".",
    "<",
    ">>",
    " as ",
    "return",
    "[]",
    "=",
)


@pytest.fixture(scope="module")
def info() -> psc.TokenizerInfo:
    return psc.TokenizerInfo([*TOKENS, b"<eos>"], stop_token_ids=[END], special_token_ids=[END])


def by_psc(compiled: psc.CompiledGrammar) -> Reader:
    def read(text: bytes) -> Verdict:
        matcher = psc.GrammarMatcher(compiled)
        taken = next((n for n, byte in enumerate(text) if not matcher.accept_token(byte)), len(text))
        return taken, matcher.is_completed()

    return read


def compiled(grammar: CommonGrammar, info: psc.TokenizerInfo) -> list[psc.CompiledGrammar]:
    compiler = psc.GrammarCompiler(info, store=False)
    return [compiler.compile_lark(grammar.lark()), compiler.compile_grammar(grammar.ebnf())]


def mutants(text: bytes, n: int, rng: random.Random) -> list[bytes]:
    """Texts with one place changed: a piece left out, doubled, put in, or in the place of another."""
    found = []
    for _ in range(n):
        pieces = re.findall(rb"\w+|\s+|[^\w\s]", text)
        at = rng.randrange(len(pieces))
        kind = rng.randrange(4)
        new = rng.choice(_PIECES).encode()
        pieces[at : at + 1] = [[], [pieces[at]] * 2, [new, pieces[at]], [new]][kind]
        found.append(b"".join(pieces))
    return found


def texts_of(language: str, n: int, each: int) -> list[bytes]:
    rng = random.Random(language)
    texts = [work.text.encode()[:2000] for work in works_of(language, n, "0")]
    return [*texts, *(mutant for text in texts for mutant in mutants(text, each, rng))]


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_of_the_subset_and_of_the_language(language: str, info: psc.TokenizerInfo) -> None:
    readers = [by_psc(each) for each in compiled(common_grammar(language), info)]
    readers.append(by_psc(psc.GrammarCompiler(info, store=False).compile_file(bundled_path(language))))
    for work in works_of(language, 20, "0"):
        text = work.text.encode()
        assert {read(text) for read in readers} == {(len(text), True)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_lark_and_ebnf_are_one_language(language: str, info: psc.TokenizerInfo) -> None:
    lark, ebnf = (by_psc(each) for each in compiled(common_grammar(language), info))
    stopped = 0
    for text in texts_of(language, 4, 40):
        verdict = lark(text)
        stopped += verdict[0] < len(text)
        assert ebnf(text) == verdict, text[max(0, verdict[0] - 40) : verdict[0] + 40]
    assert stopped > 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_llguidance_reads_it_alike(language: str, info: psc.TokenizerInfo) -> None:
    llguidance: Any = pytest.importorskip("llguidance")
    engines: Any = import_module("psc.bench.engines")
    grammar = common_grammar(language)
    tokenizer = engines.llguidance_tokenizer(info, list)
    source = llguidance.LLMatcher.grammar_from_lark(for_llguidance(grammar.lark()))
    assert "& ~" in for_llguidance(grammar.lark())
    lark = by_psc(compiled(grammar, info)[0])

    def read(text: bytes) -> Verdict:
        matcher = llguidance.LLMatcher(tokenizer, source, log_level=0)
        taken = next((n for n, byte in enumerate(text) if not matcher.consume_token(byte)), len(text))
        return taken, taken == len(text) and matcher.is_accepting()

    for text in texts_of(language, 2, 20):
        taken, ends = lark(text)
        assert read(text) == (taken, taken == len(text) and ends), text[max(0, taken - 40) : taken + 40]


@pytest.mark.parametrize("language", LANGUAGES)
def test_xgrammar_reads_it_alike(language: str, info: psc.TokenizerInfo) -> None:
    xgrammar: Any = pytest.importorskip("xgrammar")
    engines: Any = import_module("psc.bench.engines")
    grammar = common_grammar(language)
    made = engines.xgrammar_compiler(info).compile_grammar(grammar.ebnf())
    lark = by_psc(compiled(grammar, info)[0])

    def read(text: bytes) -> Verdict:
        matcher = xgrammar.GrammarMatcher(made)
        taken = next((n for n, byte in enumerate(text) if not matcher.accept_token(byte)), len(text))
        return taken, taken == len(text) and matcher.accept_token(END)

    for text in texts_of(language, 2, 10):
        taken, ends = lark(text[:800])
        assert read(text[:800]) == (taken, taken == len(text[:800]) and ends), text[max(0, taken - 40) : taken + 40]
