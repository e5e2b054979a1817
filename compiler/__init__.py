"""The compiler: grammar text and a vocabulary in, an artifact's arrays out."""

from __future__ import annotations

from typing import Any

# XGrammar has its compiler in a module of this name, so its callers ask this package for the two. They are looked up by name:
# nothing in here knows the API.
_API = {"CompiledGrammar": "psc.grammars.compiled_grammar", "GrammarCompiler": "psc.grammars.grammar_compiler"}


def __getattr__(name: str) -> Any:
    if name not in _API:
        raise AttributeError(f"module 'psc.compiler' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_API[name]), name)
