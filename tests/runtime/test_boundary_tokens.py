"""Boundaries put into a vocabulary's trie against a vocabulary that has them from the start: rows of machines over them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from grammar_tables import tables_of

from psc import GrammarMatcher, TokenizerInfo
from psc._core import VocabularyIndex
from psc.compiler.cfg.token_symbols import NO_SYMBOLS
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Repeat, RuleSet, Sequence
from psc.compiler.expressions.tokens import FIRST_TOKEN
from psc.compiler.pipeline.build import describe
from psc.compiler.pipeline.part_ends import END_OF_PART, FIRST_CALL
from psc.grammars.build_grammar import shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar

PIECES = ["a", "b", "ab", "<", "é", "ü", "汉", "😀", "12", " "]
CALL_BYTES, END_BYTES = b"\xfb\xbe", b"\xfb\xbf"
WORDS = Repeat(Chars(((ord("a"), ord("b")), (0x80, 0x10FFFF))), 0, None)


def boundary(number: int) -> Expression:
    return Chars(((FIRST_TOKEN + number, FIRST_TOKEN + number),))


def drawn(rng: random.Random, depth: int) -> Expression:
    kind = rng.randrange(8 if depth else 5)
    if kind < 2:
        return Literal("".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4))))
    if kind == 2:
        return WORDS
    if kind < 5:
        return boundary(rng.choice([END_OF_PART, FIRST_CALL, FIRST_CALL + 1, FIRST_CALL + 70]))
    if kind == 5:
        return Repeat(drawn(rng, depth - 1), rng.randrange(2), rng.choice([None, 1, 2]))
    parts = tuple(drawn(rng, depth - 1) for _ in range(2))
    return Choice(parts) if kind == 6 else Sequence(parts)


def tokens(rng: random.Random) -> list[bytes]:
    texts = {"".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4))).encode() for _ in range(60)}
    cut = {t[: rng.randrange(1, len(t) + 1)] for t in texts} | {t[rng.randrange(len(t)) :] for t in texts}
    stray = {bytes([rng.randrange(256)]) + rng.choice([b"", b"a", b"\x80", b"\xf9"]) for _ in range(12)}
    return rng.sample(all_ := sorted(texts | cut | stray), len(all_))


def with_boundaries(all_tokens: list[bytes], before_end: bytes | None, before_call: bytes | None) -> VocabularyIndex:
    """Those that may have a text behind them and a boundary, in the order of their texts, are tokens like any other."""
    is_text = [not any(byte >= 0xF8 for byte in token) for token in all_tokens]
    beginnings = {token[:n] for token in all_tokens for n in range(1, len(token))}
    added = []
    for beginning in [b"", *sorted(beginnings)]:
        for boundary_bytes, before in ((END_BYTES, before_end), (CALL_BYTES, before_call)):
            if before is not None and (not beginning or beginning[-1] in before):
                added.append(beginning + boundary_bytes)
    added = [token for token in added if not any(byte >= 0xF8 for byte in token[:-2])]
    everything = [*all_tokens, *added]
    text = [i for i in range(len(everything)) if i >= len(all_tokens) or is_text[i]]
    offsets = np.cumsum([0, *map(len, everything)], dtype=np.int64)
    data = np.frombuffer(b"".join(everything), np.uint8)
    return VocabularyIndex(data, offsets, np.array(text, np.int32), np.array([], np.int32), NO_SYMBOLS)


def rows(expression: Expression, index: VocabularyIndex, tokenizer: TokenizerInfo, seed: int) -> list[list[int]]:
    """The rows along some texts, with the bits of the boundary tokens."""
    ready = tables_of(RuleSet({"root": Sequence((Literal("<"), expression))}, "root", "", "<test>", {}))
    compiled = CompiledGrammar(ready.machine(index), lambda: describe(ready.cfg, tokenizer), tokenizer_info=tokenizer)
    rng = random.Random(seed)
    found = []
    for _ in range(4):
        matcher = GrammarMatcher(compiled)
        for step in range(8):
            bits = np.unpackbits(compiled.row(matcher.mask_row()).view(np.uint8), bitorder="little")
            found.append(bits.tolist())
            while not matcher.accept_string(rng.choice(PIECES) if step else "<"):
                if rng.random() < 0.1:
                    break
    return found


@pytest.mark.parametrize("seed", range(40))
def test_boundaries_come_to_the_same_whenever_they_are_put_in(seed: int) -> None:
    rng = random.Random(seed)
    all_tokens = tokens(rng)
    tokenizer = TokenizerInfo.from_tokens(all_tokens, special_token_ids=[], stop_token_ids=[])
    sets = [None, b"", b"}<1", bytes(range(256))]
    before_end, before_call = rng.choice(sets), rng.choice(sets)
    index = shared_vocabulary(tokenizer).with_boundaries(before_end, before_call, NO_SYMBOLS)
    other = with_boundaries(all_tokens, before_end, before_call)
    for number in range(3):
        expression = drawn(random.Random(seed * 10 + number), 3)
        assert rows(expression, index, tokenizer, number) == rows(expression, other, tokenizer, number)
