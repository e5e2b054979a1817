"""psc: grammar-constrained decoding by parser stack classification.

Compile a grammar for a vocabulary once (``GrammarCompiler``, or ``psc compile``), ``load`` the artifact where text is generated,
and get the mask of allowed tokens from a ``GrammarMatcher`` at every decoding step. See the README.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psc._version import __version__
from psc.errors import ArtifactError, GrammarError, MissingExtraError, PscError, TokenizerError

if TYPE_CHECKING:
    from psc.api import GrammarCompiler, load
    from psc.artifacts.tokenizer_info import TokenizerInfo
    from psc.compile_file import CompileReport, compile_to_artifact
    from psc.runtime.compiled import CompiledGrammar, GrammarMatcher
    from psc.tokenizers import load_tokenizer

__all__ = [
    "ArtifactError",
    "CompileReport",
    "CompiledGrammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "MissingExtraError",
    "PscError",
    "TokenizerError",
    "TokenizerInfo",
    "__version__",
    "compile_to_artifact",
    "load",
    "load_tokenizer",
]

# Loaded when first used, so that an error class or the version costs no import of NumPy.
_HOMES = {
    "CompileReport": "psc.compile_file",
    "CompiledGrammar": "psc.runtime.compiled",
    "GrammarCompiler": "psc.api",
    "GrammarMatcher": "psc.runtime.compiled",
    "TokenizerInfo": "psc.artifacts.tokenizer_info",
    "compile_to_artifact": "psc.compile_file",
    "load": "psc.api",
    "load_tokenizer": "psc.tokenizers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psc' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
