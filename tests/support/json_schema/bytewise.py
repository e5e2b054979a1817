"""Schemas over small vocabularies: whether a text is a spelling of a valid value, and what masks allow."""

from __future__ import annotations

from functools import cache
from typing import Any

import psc

END = 256


LONGER = (
    b'{"',
    b'"}',
    b'{"a',
    b'"a"',
    b'b":',
    b'": ',
    b'", "',
    b'":1',
    b"},",
    b"[]",
    b"[1",
    b", ",
    b'"b",',
    b"1.0",
    b".5",
    b"e1",
    b"true",
    b"nul",
)
"""Tokens that are in more than one terminal, or in a part of one."""


def vocabulary(longer: tuple[bytes, ...] = ()) -> psc.TokenizerInfo:
    """All bytes, an end, and other tokens."""
    return psc.TokenizerInfo([bytes([i]) for i in range(256)] + [b"</s>", *longer], stop_token_ids=[END])


@cache
def compiler(longer: tuple[bytes, ...] = ()) -> psc.GrammarCompiler:
    """Of a vocabulary."""
    return psc.GrammarCompiler(vocabulary(longer), store=False, cache_enabled=False)


def compiled(schema: Any, **options: Any) -> psc.CompiledGrammar:
    """A schema as JSON Schema means it: open objects stay open."""
    return compiler().compile_json_schema(schema, **{"strict_mode": False, **options})


def accepts(grammar: psc.CompiledGrammar, text: str) -> bool:
    """Whether the whole text is of the grammar."""
    matcher = psc.GrammarMatcher(grammar)
    return matcher.accept_string(text) and matcher.accept_token(END)
