"""Expressions that speak of tokens, over a small vocabulary with a special token, a stop token, padding and bytes of no text."""

from __future__ import annotations

import random

from psc import TokenizerInfo
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Repeat, RuleSet, Sequence
from psc.compiler.expressions.tokens import TokenNames, token_set

TOKENS = [b"a", b"b", b"ab", b"</", b"x>", b"<x>", b"<|c|>", b"<|end|>", b"", b"\xf8", b"\xf8\x80", b"<|c|>", b"ba<"]
SPECIAL, STOP, PADDING = 6, 7, 8
TOKENIZER = TokenizerInfo.from_tokens(TOKENS, special_token_ids=[SPECIAL], stop_token_ids=[STOP])
NAMES = TokenNames(TOKENIZER)


def spellings(names: TokenNames, text: str) -> Expression:
    """A marker: the text, in which what is the name of a special token may be that token.

    Of names that overlap the leftmost is a token, and of those that begin at one place the longest.
    """
    found = sorted((n for n in names.special_names if n and n in text), key=len, reverse=True)
    parts: list[Expression] = []
    begin = at = 0
    while at < len(text):
        name = next((n for n in found if text.startswith(n, at)), None)
        if name is None:
            at += 1
            continue
        if begin < at:
            parts.append(Literal(text[begin:at]))
        parts.append(Choice((Literal(name), token_set([names.special_names[name]]))))
        begin = at = at + len(name)
    if begin < len(text) or not parts:
        parts.append(Literal(text[begin:]))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def rule_set(expression: Expression) -> RuleSet:
    """The rules of one expression."""
    return RuleSet({"root": expression}, "root", "", "<test>", {})


def random_expression(rng: random.Random, depth: int) -> Expression:
    """Text, markers, tokens and all tokens but some, in any order, nested as deep."""
    kind = rng.randrange(9 if depth else 5)
    if kind == 0:
        return Literal(rng.choice(["a", "b", "ab", "<", "<|c|>", "/x"]))
    if kind == 1:
        return token_set(rng.sample([0, 2, 5, SPECIAL, STOP, 9, 11], rng.randrange(1, 3)))
    if kind == 2:
        return NAMES.tokens_except(rng.sample(range(len(TOKENS)), rng.randrange(3)))
    if kind == 3:
        return spellings(NAMES, rng.choice(["<|c|>", "a<|c|>", "<|end|>"]))
    if kind == 4:
        return Chars(((97, 98),))
    if kind < 7:
        return Sequence(tuple(random_expression(rng, depth - 1) for _ in range(2)))
    if kind < 8:
        return Choice(tuple(random_expression(rng, depth - 1) for _ in range(2)))
    return Repeat(random_expression(rng, depth - 1), 0, rng.choice([1, 2]))
