"""Steps that other texts of a grammar have made: a matcher makes them as if nobody had.

Each check goes along texts, with drafts that are validated or without, on a grammar that has met many, and compares every mask, and
accept_token on every token, with matchers of the same grammar built anew, which keeps no steps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from languages import LANGUAGES, allowed, some_builds
from random_grammars import FANCY_TEXTS
from vocabularies import tokenizer

import psc

LONGEST = 14  # bytes of a text of a random grammar: what ambiguity costs is a power of the length

Made = Callable[[psc.CompiledGrammar], psc.GrammarMatcher]


def texts_of(
    grammar: psc.CompiledGrammar, made: Made, tokens: Sequence[bytes], rng: random.Random, longest: int
) -> list[list[int]]:
    """Some random texts of at most so many bytes, and a token."""
    texts = []
    for _ in range(3):
        matcher, text = made(grammar), []
        while sum(len(tokens[t]) for t in text) < longest:
            here = [t for t in matcher.allowed_tokens().tolist() if t not in matcher.stop_token_ids]
            if not here:
                break
            text.append(rng.choice(here))
            assert matcher.accept_token(text[-1])
        texts.append(text)
    return texts


def check_texts(
    met: psc.CompiledGrammar, anew: psc.CompiledGrammar, made: Made, texts: list[list[int]], n: int, rng: random.Random
) -> None:
    """All along texts, each four times, in a random order."""
    anew._machine.keeps_steps = False
    for text in rng.sample(texts * 4, 4 * len(texts)):
        matcher, plain = made(met), made(anew)
        has_drafts = rng.random() < 0.5
        for at in range(len(text) + 1):
            if not has_drafts:
                if rng.random() < 0.9:
                    assert allowed(matcher, n) == allowed(plain, n), text[:at]
                if at < len(text):
                    assert matcher.accept_token(text[at])
                    assert plain.accept_token(text[at])
                continue
            drafts = text[at : at + rng.randrange(4)] + ([rng.randrange(n)] if rng.random() < 0.5 else [])
            expected = made(anew)
            assert expected.accept_tokens(text[:at]) == at
            assert matcher.validate_tokens(drafts) == expected.accept_tokens(drafts), (text[:at], drafts)
            mask = allowed(plain, n)
            if rng.random() < 0.7:
                assert allowed(matcher, n) == mask, text[:at]
            if rng.random() < 0.3:
                for token, is_allowed in enumerate(mask):
                    assert matcher.validate_tokens([token]) == is_allowed, (text[:at], token)
                    assert matcher.accept_token(token) == is_allowed, (text[:at], token)
                    if is_allowed:
                        after = made(anew)
                        assert after.accept_tokens([*text[:at], token]) == at + 1
                        assert matcher.is_terminated() == after.is_terminated()
                        if not after.is_terminated():
                            assert allowed(matcher, n) == allowed(after, n), (text[:at], token)
                        matcher.rollback(1)
            if at < len(text):
                assert matcher.accept_token(text[at])
                assert plain.accept_token(text[at])


@pytest.mark.parametrize("language", FANCY_TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=8), seed=st.integers(0, 2**16))
@bounded
def test_random_grammars(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    text = data.draw(FANCY_TEXTS[language], "grammar")
    rng = random.Random(seed)
    names = some_builds(rng)
    try:
        met, anew = (LANGUAGES[language].builds(text, tokens, names) for _ in range(2))
    except psc.GrammarError:
        return
    own = [rng.randrange(len(tokens))] if rng.random() < 0.3 else None  # a token that ends the text, and is none of it
    how: dict[str, Any] = {"override_stop_tokens": own} if own else {"terminate_without_stop_token": rng.random() < 0.3}

    def made(grammar: psc.CompiledGrammar) -> psc.GrammarMatcher:
        return psc.GrammarMatcher(grammar, **how)

    for build in met:
        texts = texts_of(anew[build], made, tokens, rng, LONGEST)
        check_texts(met[build], anew[build], made, texts, len(tokens) + 1, rng)


TOKENS = [
    *(bytes([b]) for b in b'abx"{}[]:,.-019e \\n'),
    *b'{" "} "] ": ", ," }} ]] ]} }, ], ,{ ab ba "a "b a" b" "a" "b" "ab" a":1 10 .5 1} 1] 1, {} [] [[ {"a":[ }]} \\n'.split(),
]  # fmt: skip
INFO = tokenizer(TOKENS)
N = len(TOKENS) + 1
PAIR: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "number"}, "ab": {"type": "boolean"}},
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "nested": {
        "$ref": "#/$defs/n",
        "$defs": {
            "n": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}, {"type": "number"}, {"$ref": "#/$defs/o"}]},
            "o": {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}},
        },
    },
    "members": {"type": "array", "items": PAIR},
    "open": {"type": "object", "properties": {"a": PAIR}, "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    "short": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 2, "pattern": "^[ab]*$"}},
}


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("schema", SCHEMAS)
@given(seed=st.integers(0, 2**32))
@bounded
def test_schemas(schema: str, any_order: bool, seed: int) -> None:
    text = json.dumps(SCHEMAS[schema])
    met, anew = (psc.GrammarCompiler(INFO, store=False).compile_json_schema(text, any_order=any_order) for _ in range(2))
    rng = random.Random(seed)
    if rng.random() < 0.5:  # as with a large vocabulary, masks are read before they are classified
        for grammar in (met, anew):
            grammar._machine.most_read = 64
    if rng.random() < 0.5:
        for grammar in (met, anew):
            grammar._machine.set_limit(rng.choice([30_000, 100_000, 300_000]))  # so that caches are dropped on the way
    texts = texts_of(anew, psc.GrammarMatcher, TOKENS, rng, 40)
    check_texts(met, anew, psc.GrammarMatcher, texts, N, rng)


def test_matchers_with_other_stop_tokens_share_none() -> None:
    """The rows before the last token are the same, those after it are not."""
    grammar = psc.GrammarCompiler(INFO, store=False).compile_grammar('root ::= "a" "b"')
    a, b, own = TOKENS.index(b"a"), TOKENS.index(b"b"), TOKENS.index(b"1")
    for how, end in [({}, N - 1), ({"override_stop_tokens": own}, own), ({"override_stop_tokens": [own, a]}, own), ({}, N - 1)]:
        for _ in range(3):
            matcher = psc.GrammarMatcher(grammar, **how)  # type: ignore[arg-type]
            if a in matcher.stop_token_ids:
                assert matcher.accept_string(b"a")
            else:
                assert matcher.validate_tokens([a, b]) == 2
                assert matcher.accept_token(a)
            assert matcher.validate_tokens([b]) == 1
            assert matcher.accept_token(b)
            assert matcher.allowed_tokens().tolist() == sorted(set(matcher.stop_token_ids)) and end in matcher.stop_token_ids


@pytest.mark.parametrize("n_drafts", [0, 4])
def test_steps_are_kept(n_drafts: int) -> None:
    """The first texts that make a step keep it, with what it takes counted; later ones find it there."""
    compiler = psc.GrammarCompiler(INFO, store=False, cache_enabled=False)
    kept, other = (compiler.compile_grammar('root ::= "[" [ab]* ("," [ab]*)* "]"') for _ in range(2))
    other._machine.keeps_steps = False
    text = [TOKENS.index(t) for t in (b"[", b"ab", b",", b"a", b",", b"ba", b"]")]

    def along(grammar: psc.CompiledGrammar) -> int:
        matcher = psc.GrammarMatcher(grammar)
        for at, token in enumerate(text):
            assert matcher.validate_tokens(text[at : at + n_drafts]) == len(text[at : at + n_drafts])
            matcher.mask()
            assert matcher.accept_token(token)
        return int(grammar._machine.bytes)

    along(kept)  # drafts that nobody has met are read before their masks are known
    assert along(kept) >= along(other) + 64 * 64  # a table
    assert along(kept) == along(kept)


def test_steps_take_a_small_part_of_a_limited_cache() -> None:
    """Where memory is short, masks are worth more than steps."""
    words = [b"%d-" % i for i in range(1_000, 1_800)]
    info = tokenizer([*TOKENS, *words])
    grammar = psc.GrammarCompiler(info, store=False).compile_grammar('root ::= ([0-9] "-"? "a"?)*')
    limit = 200_000
    grammar._machine.set_limit(limit)
    matcher = psc.GrammarMatcher(grammar)
    matcher.mask()
    begun = int(grammar._machine.bytes)
    for token in range(len(TOKENS), len(TOKENS) + len(words)):
        matcher.mask()
        assert matcher.accept_token(token)
        assert int(grammar._machine.bytes) < begun + limit // 2


def test_free_text_leaves_room_for_other_steps() -> None:
    """Every token of a vocabulary may be one inside of a text, where it leads to where it began: most of them are not kept."""
    texts = [b"%d " % i for i in range(10_000, 13_000)]
    info = tokenizer([*TOKENS, *texts])
    free = psc.GrammarCompiler(info, store=False).compile_grammar('root ::= "[" [0-9 ]* "]"')
    matcher = psc.GrammarMatcher(free)
    assert matcher.accept_token(TOKENS.index(b"["))
    sizes = set()
    for token in range(len(TOKENS), len(TOKENS) + len(texts)):
        matcher.mask()
        assert matcher.accept_token(token)
        sizes.add(int(free._machine.bytes))
    assert 100_000 < max(sizes) - min(sizes) < 300_000  # 1,000 steps, where all would be 3,000
