"""Grammars whose texts have more and more stacks as they grow: masks are those of unambiguous grammars of the same languages, and a
token costs hardly more than at the beginning.

Of stacks that include each other a matcher keeps the largest (native/matcher/graph.cpp). It knows which do as long as no token is
taken back, so walks take tokens back and fork.
"""

import random

import numpy as np
import pytest
from vocabularies import tokenizer

import psc

INFO = tokenizer([*"1+*()abc;-", "1+", "+1", "+1+1", "1)", "(1", "aa", "ab", "aab", "ba", "c1", "a;", "-1"])
TWINS = {
    "sums": ('root ::= e\ne ::= e "+" e | "1"', 'root ::= "1" ("+" "1")*', "1+"),
    "two operators": (
        'root ::= e\ne ::= e "+" e | e "*" e | "(" e ")" | "1"',
        'root ::= s\ns ::= f (("+" | "*") f)*\nf ::= "1" | "(" s ")"',
        "1+(1*1)*",
    ),
    "signs": ('root ::= e\ne ::= e "+" e | e "-" e | "-" e | "1"', 'root ::= f (("+" | "-") f)*\nf ::= "-"* "1"', "1+-1-"),
    "runs": ('root ::= s\ns ::= s s s | s s | "a" | ""', 'root ::= "a"*', "a"),
    "words": ('root ::= s\ns ::= s s | "a" | "ab" | "aab" | "c"', 'root ::= ("a" | "ab" | "aab" | "c")+', "aabc"),
    "lists in lists": ('root ::= l\nl ::= l l | "a" ";" | "(" l ")"', 'root ::= l\nl ::= ("a" ";" | "(" l ")")+', "a;(a;)"),
    "nested at the right": (
        'root ::= e\ne ::= "a" e | "a" e "b" e | "c"',
        'root ::= e\ne ::= "a" e ("b" e)? | "c"',
        "acb",
    ),
    "rules that mean the same": (
        'root ::= x | y\nx ::= x "a" x | "c"\ny ::= y "a" y | "c"',
        'root ::= "c" ("a" "c")*',
        "ca",
    ),
}
"""An ambiguous grammar, one of the same language, and what texts may repeat."""


def compiled(text: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(INFO).compile_grammar(psc.Grammar.from_ebnf(text))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", TWINS)
def test_masks_of_a_twin(name: str, seed: int) -> None:
    ambiguous, twin = map(compiled, TWINS[name][:2])
    rng = random.Random(f"{name} {seed}")
    if seed % 2:
        ambiguous._machine.most_read = 0
    pairs = [(psc.GrammarMatcher(ambiguous), psc.GrammarMatcher(twin))]
    taken = [0]
    for _ in range(80):
        at = rng.randrange(len(pairs))
        a, b = pairs[at]
        assert a.is_completed() == b.is_completed()
        want = b.mask()
        if rng.random() < 0.7:  # others are accepted without a mask
            assert np.array_equal(a.mask(), want)
        allowed = [t for t in b.allowed_tokens().tolist() if t not in b.stop_token_ids]
        if taken[at] and (not allowed or rng.random() < 0.1):
            n = rng.randint(1, taken[at])
            a.rollback(n), b.rollback(n)
            taken[at] -= n
        elif allowed and rng.random() < 0.2:  # what is read of a text that does not go on is given back
            text = INFO.token_bytes(rng.choice(allowed)) + INFO.token_bytes(rng.randrange(18)) + b"b;"
            n_read = a.accept_prefix(text)
            assert n_read == b.accept_prefix(text)
            taken[at] += n_read > 0
        elif rng.random() < 0.05 and len(pairs) < 4:
            pairs.append((a.fork(), b.fork()))
            taken.append(taken[at])
        else:
            token = rng.choice(allowed)
            assert a.accept_token(token) and b.accept_token(token)
            taken[at] += 1


@pytest.mark.parametrize("name", TWINS)
def test_a_character_costs_little_wherever_it_comes(name: str) -> None:
    """A character and its mask may take so many steps of work, wherever they come in the text."""
    repeated = TWINS[name][2]
    matcher = psc.GrammarMatcher(compiled(TWINS[name][0]), max_steps=20_000)
    for i in range(800):
        assert matcher.accept_string(repeated[i % len(repeated)])
        matcher.mask()
    matcher.rollback(300)  # what was found is found once more, for the whole text
    for i in range(500, 600):
        assert matcher.accept_string(repeated[i % len(repeated)])
        matcher.mask()
