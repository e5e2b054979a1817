"""Masks bit by bit, without an oracle: a token is allowed where a copy of the matcher takes it."""

import random
from collections.abc import Iterable, Sequence

import numpy as np

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo


def check_mask(matcher: psc.GrammarMatcher, vocabulary: TokenizerInfo, place: object = None) -> None:
    """The matcher's mask here, for every token of the vocabulary; `place` tells a failure where."""
    bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.vocab_size]
    for token, bit in enumerate(bits.tolist()):
        assert matcher.fork().accept_token(token) == bit, (place, vocabulary.decoded_vocab[token])


def check_masks_within(compiled: psc.CompiledGrammar, vocabulary: TokenizerInfo, texts: Iterable[str], rng: random.Random) -> None:
    """At a random place of each text that the grammar accepts."""
    for text in texts:
        data = text.encode()
        at = rng.randrange(len(data) + 1)
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_prefix(data[:at]) == at
        check_mask(matcher, vocabulary, data[:at])


def check_masks_along(compiled: psc.CompiledGrammar, vocabulary: TokenizerInfo, text: bytes) -> None:
    """Before every byte of a text, each of which is a token."""
    matcher = psc.GrammarMatcher(compiled)
    for at in range(len(text)):
        check_mask(matcher, vocabulary, text[:at])
        assert matcher.accept_token(vocabulary.decoded_vocab.index(text[at : at + 1]))


def read_by_tokens(
    matcher: psc.GrammarMatcher, vocabulary: TokenizerInfo, tokens: Sequence[bytes], data: bytes, rng: random.Random
) -> None:
    """Reads a text by tokens that are drawn from those that fit; compares whole masks at random places of it and behind it."""
    at = 0
    while at < len(data):
        if rng.random() < 0.3:
            check_mask(matcher, vocabulary, data[:at])
        token = rng.choice([i for i, token in enumerate(tokens) if data.startswith(token, at)])
        assert matcher.accept_token(token), data[:at]
        at += len(tokens[token])
    check_mask(matcher, vocabulary)


def go_where_masks_allow(matcher: psc.GrammarMatcher, vocabulary: TokenizerInfo, n_tokens: int, rng: random.Random) -> int:
    """Accepts 40 tokens of the first `n_tokens`, or fewer if none is allowed any more; compares masks at random places.

    Returns: how many it accepted.
    """
    for n in range(40):
        allowed = [token for token in matcher.allowed_tokens().tolist() if token < n_tokens]
        if not allowed:
            return n
        assert matcher.accept_token(rng.choice(allowed))
        if rng.random() < 0.3:
            check_mask(matcher, vocabulary)
    return 40
