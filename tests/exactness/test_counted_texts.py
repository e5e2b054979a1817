"""Repetitions that count characters, over vocabularies whose tokens are longer than what is left of the count.

The walk of a vocabulary takes the tokens under a node by their number of characters where nothing else tells them apart
(native/classifier/token_walk.hpp). What it finds is held against reading each token, byte by byte.
"""

from __future__ import annotations

import itertools
import random

import pytest
from vocabularies import tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo

LETTERS = ("a", "B", "é", "漢")
ENDS = ('"', ">", "\\", " ", '",', "7", "\n")
# In each grammar the text between the signs is counted: as a lexeme, by characters that are lexemes, or by a choice of both.
GRAMMARS = {
    "a lexeme": 'root ::= "<" [^<>]{2,6} ">"',
    "up to the longest token": 'root ::= "<" [^<>]{0,7} ">"',
    "with escapes": 'root ::= "<" ([^"\\\\<>\\n] | "\\\\" ["nB]){0,4} ">"',
    "letters, then any": 'root ::= "<" [a-zA-Z]{1,3} [^>]{0,3} ">"',
    "of ASCII": 'root ::= "<" [a-zA-Z]{1,5} ">" [é漢]{1,4}',
    "characters alone": 'root ::= "<" char{1,5} ">"\nchar ::= letter | "\\\\" .\nletter ::= [^<>\\\\] | "(" letter ")"',
    "two counts": 'root ::= "<" ([^<>]{1,5} ">" | [^<>]{3,7} "!" | [aé]* "?")',
    "words of a list": 'root ::= "<" word (" " word){0,3} ">"\nword ::= [a-zA-Zé漢]{1,3} | "aaaaa"',
    "a word that is searched for": 'root ::= "<" ([^<>a] | "a" [^<>B])* "aB" [^<>]* ">"',
    "a count after a sign": 'root ::= "<" ([^<>B]{0,3} "B" [^<>]{1,4} | "aé" [^>]{0,5}) ">"',
    "longer than any token": 'root ::= "<" [^<>]{40} ">"',
}
SCHEMAS = {
    "a string": {"type": "string", "maxLength": 5},
    "an interval": {"type": "string", "minLength": 3, "maxLength": 300},
    "names": {"type": "object", "properties": {"aB": {"type": "null"}}, "propertyNames": {"maxLength": 6}},
    "a pattern": {"type": "string", "pattern": "^[aB]{1,4}(é|漢){0,2}$"},
    "a word that is searched for": {"type": "string", "pattern": "aBa|^.{1,4}é|漢漢$", "maxLength": 9},
    "lines": {"type": "string", "pattern": "^.+$"},
    "either": {"anyOf": [{"type": "string", "maxLength": 4}, {"type": "string", "pattern": "^a", "maxLength": 6}]},
}


@pytest.fixture(scope="module")
def vocabulary() -> TokenizerInfo:
    rng = random.Random(7)
    words = ["".join(t) for n in range(1, 7) for t in itertools.product(LETTERS, repeat=n)]
    short = words[:340]
    ended = [w + end for w in rng.sample(short, 120) for end in rng.sample(ENDS, 2)]
    inside = [rng.choice(short) + rng.choice(ENDS) + rng.choice(short) for _ in range(60)]
    long = ["a" * n for n in (7, 8, 15, 31, 32, 33, 40, 41)] + ["é" * n for n in (9, 31, 32, 33)]
    signs = ["<", "<a", '"a', "!", "?", "(", ")", "{", "}", ":", "null", "1"]
    cut = [w.encode() + b for w in rng.sample(short, 60) for b in (b"\xc3", b"\xe6", b"\xe6\xbc")]
    rest = [b"\xa9", b"\xbc\xa2", b"\xa2", b"\xa9aa", b"\xa2a\xc3", b"a\xff", b"\xffa"]
    return tokenizer([*dict.fromkeys([*words, *ended, *inside, *long, *ENDS, *signs]), *dict.fromkeys([*cut, *rest])])


def check(compiled: psc.CompiledGrammar, info: TokenizerInfo, seed: int, *, visits: int) -> None:
    """Masks of random texts against reading each token on a copy of the matcher."""
    rng = random.Random(seed)
    tokens = [(i, info.token_bytes(i)) for i in range(info.vocab_size) if i not in info.special_token_ids]
    psc.GrammarMatcher(compiled).mask()  # the first mask of a machine is read
    matcher, text = psc.GrammarMatcher(compiled), b""
    for _ in range(visits):
        if rng.random() < 0.2:
            compiled._machine.clear()
        matcher.mask()
        wanted = [i for i, token in tokens if matcher.fork().accept_string(token)]
        allowed = set(wanted)
        wrong = [token for i, token in tokens if matcher.is_allowed(i) != (i in allowed)]
        assert wrong == [], text
        if not wanted or len(text) > 30:
            matcher, text = psc.GrammarMatcher(compiled), b""
            continue
        token = rng.choice(wanted if rng.random() < 0.5 else sorted(wanted, key=lambda i: len(info.token_bytes(i)))[:20])
        assert matcher.accept_token(token)
        text += info.token_bytes(token)


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_of_counted_texts(vocabulary: TokenizerInfo, name: str) -> None:
    compiler = psc.GrammarCompiler(vocabulary, cache_enabled=False, store=False)
    check(compiler.compile_grammar(GRAMMARS[name]), vocabulary, 3, visits=30)


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_of_counted_strings(vocabulary: TokenizerInfo, name: str) -> None:
    compiler = psc.GrammarCompiler(vocabulary, cache_enabled=False, store=False)
    check(compiler.compile_json_schema(SCHEMAS[name]), vocabulary, 5, visits=30)
