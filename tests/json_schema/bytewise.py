"""Schemas over a vocabulary of single bytes: whether a text is a spelling of a valid value, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import psc

END = 256


@cache
def compiler() -> psc.GrammarCompiler:
    """Of the vocabulary of all bytes and an end."""
    info = psc.TokenizerInfo([bytes([i]) for i in range(256)] + [b"</s>"], stop_token_ids=[END])
    return psc.GrammarCompiler(info, store=False, cache_enabled=False)


def compiled(schema: Any, **options: Any) -> psc.CompiledGrammar:
    """A schema as JSON Schema means it: open objects stay open."""
    return compiler().compile_json_schema(schema, **{"strict_mode": False, **options})


def accepts(grammar: psc.CompiledGrammar, text: str) -> bool:
    """Whether the whole text is of the grammar."""
    matcher = psc.GrammarMatcher(grammar)
    return matcher.accept_string(text) and matcher.accept_token(END)
