"""A grammar built just in time against the same ahead of time, with leads and without, and against artifacts that are not closed or
only partly, over vocabularies large enough for every shortcut of the token walk.

The two find what tokens do in different ways: one lexer state at a time with shared parts (native/classifier/token_walk.hpp), or
for all lexer states together (native/classifier/token_classes.hpp). The oracle tests have small vocabularies, in which nothing is
shared.
"""

import itertools
import random
import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from bounded import bounded
from grammar_tables import compile_with_leads, cutting
from hypothesis import assume, given
from hypothesis import strategies as st
from lark_grammars import lark_text
from not_closed import compile_not_closed
from random_grammars import KINDS
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.grammars.compiled_grammar import compile_ahead_of_time
from psc.vocabulary.tokenizer_info import TokenizerInfo

WORDS = [
    *("".join(t) for n in range(1, 5) for t in itertools.product("abcd", repeat=n)),
    *("".join(t) for n in range(1, 4) for t in itertools.product("ab .", repeat=n)),
    *(f" {w}{end}" for w in ("a", "ab", "abc", "b", "bb", "cab", "dd") for end in ("", " ", ".", " a", ".b", "é")),
    "é",
    "aé",
    "éa",
]


@pytest.fixture(scope="module")
def vocabulary() -> TokenizerInfo:
    return tokenizer([*dict.fromkeys(WORDS), b"\xc3", b"\xa9", b"a\xc3", b"\xa9a"])


def bits(row: Any) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def agree(grammar: psc.Grammar, info: TokenizerInfo, seed: int, *, walks: int, steps: int) -> None:
    # A compiler of its own for each, so that nothing is shared with another example.
    try:
        lazy = psc.GrammarCompiler(info).compile_grammar(grammar)
        whole = compile_ahead_of_time(grammar, info)
        opened = compile_not_closed(grammar, info, classes=seed % 2 == 0)
        leads = compile_with_leads(grammar, info)
        with cutting() if seed % 3 else nullcontext():
            partly = compile_not_closed(grammar, info, partly=True)
    except psc.ResourceLimitError:
        assume(False)
    rng = random.Random(seed)
    for _ in range(walks):
        a, b, *others = matchers = [psc.GrammarMatcher(compiled) for compiled in (lazy, whole, opened, leads, partly)]
        text = b""
        for _ in range(steps):
            want = b.mask()
            if rng.random() < 0.3:  # an empty machine finds its first masks for one LR state each
                lazy._machine.clear()
                partly._machine.clear()
            lazy._machine.most_read = rng.choice((0, 0, 1, 3))
            # Without an allowance the classifier ends anywhere, tokens are read, and what it has finished is used the next time.
            opened._machine.set_steps_to_classify(rng.choice((0, 1, 30, 1000, 30_000, 8_000_000)))
            for got in (a.mask(), *(m.mask() for m in others)):
                if not np.array_equal(got, want):
                    wrong = [info.token_bytes(t) for t in bits(got ^ want)]
                    raise AssertionError((text, wrong))
            choices = [t for t in bits(want) if t not in a.stop_token_ids]
            if not choices:
                break
            token = rng.choice(choices)
            assert all([m.accept_token(token) for m in matchers])
            text += info.token_bytes(token)
        assert len({m.is_completed() for m in matchers}) == 1


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seed=st.integers(0, 2**16))
@bounded
def test_random_grammars(kind: str, vocabulary: TokenizerInfo, data: st.DataObject, seed: int) -> None:
    texts, read = KINDS[kind]
    text = data.draw(texts, label="grammar")
    try:
        grammar = read(text)
    except psc.GrammarError as e:
        assert "ignored terminal" in str(e)
        return
    agree(grammar, vocabulary, seed, walks=3, steps=5)


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("name", ["json", "java", "go", "sql"])
def test_bundled_grammars(name: str, lexer: Any) -> None:
    agree(psc.Grammar.from_lark(lark_text(name), lexer=lexer), byte_tokenizer(), 1, walks=12, steps=40)


def test_json_in_ebnf() -> None:
    agree(psc.Grammar.builtin_json_grammar(), byte_tokenizer(), 2, walks=12, steps=40)


# What the walk passes over must end where the count ends: subtrees of words that are longer than what is left are not uniform.
COUNTED = {
    'root ::= [a-d]{2,4} ";"': "[a-d]{0,4}|[a-d]{2,4};",
    'root ::= [a-d]{1,9} ";"': "[a-d]{0,9}|[a-d]{1,9};",
    'root ::= ([a-c]{1,4} | [a-d]{1,6} "!") ";"': "[a-d]{0,6}|[a-c]{1,4};|[a-d]{1,6}!;?",
    'root ::= [a-d]{1,6} | [a-c]* ";"': "[a-d]{0,6}|[a-c]*;?",
    'root ::= (word ";")+\nword ::= [a-c]{1,5} "d"?': "([a-c]{1,5}d?;)*([a-c]{1,5}d?)?",
}


@pytest.fixture(scope="module")
def many_words() -> TokenizerInfo:
    words = ["".join(t) for n in range(1, 7) for t in itertools.product("abcd", repeat=n)]
    return tokenizer([*words, ";", "!", "!;", *(f"{w};" for w in words[:300]), *(f"{w}!" for w in words[::7]), "a;b", "ab;cd;abc"])


@pytest.mark.parametrize("text", COUNTED)
def test_counted_lexemes_end_where_their_count_ends(many_words: TokenizerInfo, text: str) -> None:
    prefix = re.compile(COUNTED[text])
    compiled = psc.GrammarCompiler(many_words, cache_enabled=False, store=False).compile_grammar(text)
    tokens = {i: many_words.token_bytes(i).decode() for i in range(many_words.vocab_size) if i not in many_words.special_token_ids}
    for before in ("", "a", "ab", "abc", "abca", "abcab"):
        if not prefix.fullmatch(before):
            continue
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_string(before)
        wanted = [i for i, token in tokens.items() if prefix.fullmatch(before + token)]
        assert [i for i in bits(matcher.mask()) if i in tokens] == wanted


@pytest.mark.parametrize("n_rules", [2, 5])
def test_a_lexeme_that_fails_into_itself_again_and_again(vocabulary: TokenizerInfo, n_rules: int) -> None:
    # Behind `aa` comes `b`, or the first `a` is a lexeme and `aa` is open again; the parser wants many more of them.
    text = f'start: r1 r2\nr1: T1 | start {"r2 " * n_rules}\nr2: T0 T0 T0\nT0: "a"\nT1: "aab"|"c"\n'
    grammar = psc.Grammar.from_lark(text, lexer="basic")
    sentence = "c" + "a" * (6 + 3 * n_rules)
    for compiled in (psc.GrammarCompiler(vocabulary).compile_grammar(grammar), compile_ahead_of_time(grammar, vocabulary)):
        by_string, by_token = psc.GrammarMatcher(compiled), psc.GrammarMatcher(compiled)
        for n, letter in enumerate(sentence):
            assert by_string.accept_string(letter), n
            allowed = {vocabulary.token_bytes(t).decode("latin-1") for t in bits(by_token.mask())}
            assert {w for w in allowed if w} >= {sentence[n : n + k] for k in range(1, 5)}, n
            assert by_token.accept_string(letter)
        assert by_token.is_completed()
