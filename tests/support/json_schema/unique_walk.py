"""A random walk along the masks of arrays whose items must differ, each compared with the oracle's."""

from __future__ import annotations

import json
import random

import psc
from tests.support.json_schema.unique_oracle import Form, complete, viable


def check_along_a_walk(form: Form, compiled: psc.CompiledGrammar, seed: int, dense: bytes, steps: int = 14) -> None:
    """Compares whole masks, while tokens are accepted and taken back, matchers forked, and refused tokens tried.

    Args:
        form: what the grammar is of.
        compiled: with a vocabulary whose last token is the only stop token.
        seed: of the walk.
        dense: one of these bytes, or a token of several, is taken where it is allowed.
        steps: how many.
    """
    rng = random.Random(seed)
    matcher = psc.GrammarMatcher(compiled)
    tokens = compiled.tokenizer_info.decoded_vocab
    stop = len(tokens) - 1
    text, past = b"", list[bytes]()
    for _ in range(steps):
        allowed = set(matcher.allowed_tokens().tolist())
        for token in range(stop):
            wanted = viable(form, text + tokens[token])
            assert (token in allowed) == wanted, (json.dumps(form.schema), text, tokens[token], wanted)
        assert (stop in allowed) == complete(form, text) == matcher.is_completed(), (form, text)
        ways = sorted(allowed - {stop})
        if not ways:
            break
        way = rng.random()
        if way < 0.1 and past:
            n = rng.randint(1, len(past))
            matcher.rollback(n)
            text = past[-n]
            del past[-n:]
            continue
        if way < 0.2:
            matcher = matcher.fork()
        token = rng.choice([t for t in ways if len(tokens[t]) > 1 or tokens[t] in dense] or ways)
        assert matcher.accept_string(tokens[token]) if way < 0.3 else matcher.accept_token(token)
        past.append(text)
        text += tokens[token]
        refused = sorted(set(range(stop)) - set(matcher.allowed_tokens().tolist()))
        for other in rng.sample(refused, min(4, len(refused))):
            assert not matcher.fork().accept_token(other)
            assert not matcher.fork().accept_string(tokens[other])
