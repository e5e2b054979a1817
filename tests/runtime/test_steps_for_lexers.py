"""What a mask builds of a shared lexer counts as its steps; a mask that ran out of them leaves the lexer whole."""

from __future__ import annotations

import random

import numpy as np
import pytest
from vocabularies import tokenizer

import psc

_WORDS = [chr(c) for c in range(0x100, 0x2000, 5)] + [chr(c) + chr(c + 9) + chr(c + 300) for c in range(0x100, 0x1E00, 7)]
INFO = tokenizer([bytes([b]) for b in range(256)] + [word.encode() for word in _WORDS])
OVERLAPPING = "root ::= " + "|".join(rf"[\u{a:04x}-\u{a + 255:04x}]+" for a in range(0x100, 0x2000, 14))
GRAMMARS = {
    "overlapping classes": OVERLAPPING,
    "many words": "root ::= (" + " | ".join(f'"{word}"' for word in _WORDS[:400]) + ")+",
    "repeats": "root ::= " + " ".join(rf"[\u0100-\u{0x200 + i:04x}]{{1,{9 + i}}}" for i in range(8)),
    "ambiguous": "root ::= (a | b | c)*\na ::= [\\u0100-\\u0400]+\nb ::= [\\u0200-\\u0600]{1,9}\nc ::= [^a-z]",
}


def compiled(name: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(INFO, store=False).compile_grammar(GRAMMARS[name])


def test_many_ways_for_each_byte_are_many_steps() -> None:
    grammar = compiled("overlapping classes")
    before = grammar.memory_size_bytes
    with pytest.raises(psc.ResourceLimitError, match="steps for one token or mask: more than 60000"):
        psc.GrammarMatcher(grammar, max_steps=60_000).mask()
    assert grammar.memory_size_bytes - before < 4_000_000
    assert psc.GrammarMatcher(grammar).accept_string(chr(0x150) + chr(0x151))


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_mask_that_ran_out_of_steps_again_and_again_is_the_mask(name: str) -> None:
    rng = random.Random(name)
    whole, pieces = compiled(name), compiled(name)
    expected, found = psc.GrammarMatcher(whole), psc.GrammarMatcher(pieces)
    ran_out, accepted = 0, list[int]()
    for _ in range(6):
        mask = expected.mask()
        for steps in (300, 3_000, 10_000, 30_000, 100_000, 300_000):  # what was built by the calls before is there
            starved = psc.GrammarMatcher(pieces, max_steps=steps)
            try:
                assert all(starved.accept_token(token) for token in accepted)
                np.testing.assert_array_equal(starved.mask(), mask)
            except psc.ResourceLimitError:
                ran_out += 1
        np.testing.assert_array_equal(found.mask(), mask)
        allowed = [t for t in range(INFO.vocab_size - 1) if mask[t // 32] >> (t % 32) & 1]
        if not allowed:
            break
        accepted.append(rng.choice(allowed))
        assert expected.accept_token(accepted[-1]) and found.accept_token(accepted[-1])
    assert ran_out
