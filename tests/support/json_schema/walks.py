"""Random texts of a schema, drawn from its masks."""

from __future__ import annotations

import random
from functools import lru_cache

import psc
from psc.inspection.completion import Completer

LIKELY = frozenset(b'"{}[],:-.0123ab')


def walk(grammar: psc.CompiledGrammar, rng: random.Random) -> str:
    """A text at whose end the masks allow the end: some tokens are drawn, the others are the shortest way to the end."""
    matcher = psc.GrammarMatcher(grammar)
    info = grammar.tokenizer_info
    texts = info.token_texts
    (end,) = info.stop_token_ids
    out = b""
    for _ in range(rng.choice([0, 3, 10, 30])):
        allowed = [int(t) for t in matcher.allowed_tokens()]
        assert allowed, f"no token is allowed after {out!r}"
        if end in allowed and (len(allowed) == 1 or rng.random() < 0.2):
            return out.decode()
        likely = [t for t in allowed if t != end and LIKELY.issuperset(texts[t])]
        token = rng.choice(likely if likely and rng.random() < 0.95 else [t for t in allowed if t != end])
        assert matcher.accept_token(token), f"the mask allows {texts[token]!r} after {out!r}, the parser does not"
        out += texts[token]
    if end not in matcher.allowed_tokens():
        out += _ending(grammar, matcher)
        assert end in matcher.allowed_tokens(), f"{out!r} is no whole text"
    return out.decode()


@lru_cache(maxsize=1)
def _completer(grammar: psc.CompiledGrammar) -> Completer:
    """Its estimates take longer than a walk, and the next walk is of the same grammar."""
    return Completer(grammar)


def _ending(grammar: psc.CompiledGrammar, matcher: psc.GrammarMatcher) -> bytes:
    ending = _completer(grammar).complete(matcher)
    assert matcher.accept_string(ending), f"the ending {ending!r} is refused"
    return ending
