"""Grammars that speak of tokens: masks against reading the symbols and the texts of tokens in a regular expression."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from grammar_tables import tables_of
from token_grammars import PADDING, SPECIAL, STOP, TOKENIZER, TOKENS, random_expression, rule_set

import psc
from psc import GrammarMatcher
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.expressions.tokens import FIRST_TOKEN, token_set, tokens_of
from psc.compiler.pipeline.build import describe
from psc.grammars.build_grammar import shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar


def compiled(expression: Expression) -> CompiledGrammar:
    ready = tables_of(rule_set(expression))
    machine = ready.machine(shared_vocabulary(TOKENIZER, ready.symbols(TOKENIZER.vocab_size)))
    return CompiledGrammar(machine, lambda: describe(ready.cfg, TOKENIZER), tokenizer_info=TOKENIZER)


def allowed(matcher: GrammarMatcher) -> set[int]:
    bitmask = psc.allocate_token_bitmask(1, TOKENIZER.vocab_size)
    matcher.fill_next_token_bitmask(bitmask)
    bits = np.unpackbits(np.asarray(bitmask[0]).view(np.uint8), bitorder="little")  # torch is there or not
    return set(np.flatnonzero(bits[: TOKENIZER.vocab_size]).tolist())


class Reading:
    """The oracle: all texts of an expression, in which symbols are private characters, and the beginnings of these texts."""

    def __init__(self, expression: Expression) -> None:
        self._texts = _texts(expression)
        self._beginnings = {t[:n] for t in self._texts for n in range(len(t) + 1)}

    def matches(self, text: str) -> bool:
        return text in self._texts

    def is_open(self, text: str) -> bool:
        return text in self._beginnings

    def spellings(self, token: int) -> list[str]:
        text = TOKENS[token] if token not in (SPECIAL, STOP, PADDING) else b""
        try:
            return [_symbol(token)] * (token != PADDING) + [text.decode()] * bool(text)
        except UnicodeDecodeError:
            return [_symbol(token)]


def _symbol(token: int) -> str:
    return chr(0xE000 + token)


def _texts(expression: Expression) -> set[str]:
    if isinstance(expression, Literal):
        return {expression.text}
    if isinstance(expression, Chars):
        tokens = {_symbol(t) for a, b in tokens_of(expression) for t in range(a, min(b, len(TOKENS)) + 1)}
        return tokens | {chr(c) for a, b in expression.ranges if b < FIRST_TOKEN for c in range(a, b + 1)}
    if isinstance(expression, Choice):
        return {t for option in expression.options for t in _texts(option)}
    if isinstance(expression, Sequence):
        return {"".join(parts) for parts in itertools.product(*map(_texts, expression.parts))}
    assert isinstance(expression, Repeat) and expression.most is not None
    body = _texts(expression.body)
    times = range(expression.least, expression.most + 1)
    return {"".join(parts) for n in times for parts in itertools.product(body, repeat=n)}


@pytest.mark.parametrize("seed", range(60))
def test_masks_are_those_of_reading_texts_and_symbols(seed: int) -> None:
    rng = random.Random(seed)
    expression = random_expression(rng, 2)
    oracle = Reading(expression)
    stops = [STOP] if seed % 2 else rng.sample([t for t in range(len(TOKENS)) if t != PADDING], 2)
    matcher = GrammarMatcher(compiled(expression), override_stop_tokens=stops)
    open_texts = {""}
    for _ in range(6):
        expected = set()
        after: dict[int, set[str]] = {}
        for token in range(len(TOKENS)):
            spellings = [s for s in oracle.spellings(token) if token not in stops or s == _symbol(token)]
            after[token] = {t + s for t in open_texts for s in spellings if oracle.is_open(t + s)}
            if after[token] or (token in stops and any(oracle.matches(t) for t in open_texts)):
                expected.add(token)
        assert allowed(matcher) == expected, (expression, open_texts, stops)
        for token in range(len(TOKENS)):
            fork = matcher.fork()
            assert fork.accept_token(token) == (token in expected)
            if token in stops and token in expected:
                asked_for = after[token]
                assert fork.is_terminated() == (not asked_for or any(oracle.matches(t) for t in asked_for))
        choices = [t for t in sorted(expected) if after[t] and not (t in stops and any(oracle.matches(x) for x in after[t]))]
        if not choices:
            break
        token = rng.choice(choices)
        assert matcher.accept_token(token)
        open_texts = after[token]


def test_a_text_is_never_taken_for_a_symbol() -> None:
    matcher = GrammarMatcher(compiled(token_set([0])))
    assert not matcher.accept_string(b"\xf8\x80\x80\x80")
    assert not matcher.accept_string(b"\xf8")
    assert matcher.find_jump_forward_string() == ""
    assert matcher.accept_token(0)
    assert allowed(matcher) == {STOP}


def test_other_stop_tokens_end_the_text_only_where_it_may_end() -> None:
    grammar: Any = compiled(Sequence((token_set([STOP]), Literal("a"))))
    matcher = GrammarMatcher(grammar, override_stop_tokens=[5])
    assert allowed(matcher) == {STOP}
    assert matcher.accept_token(STOP) and not matcher.is_terminated()
    assert allowed(matcher) == {0}
    assert matcher.accept_token(0)
    assert allowed(matcher) == {5}
    assert matcher.accept_token(5) and matcher.is_terminated()
