"""psc: grammar-constrained decoding by parser stack classification.

Compile a grammar for a vocabulary once (``GrammarCompiler``, or ``psc compile``), ``load`` the artifact where text is generated,
and get the mask of allowed tokens from a ``GrammarMatcher`` at every decoding step. See the README.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from psc._version import __version__
from psc.errors import (
    ArtifactError,
    BitmaskError,
    ClusterError,
    CompilationCancelledError,
    DeserializeFormatError,
    DeserializeVersionError,
    DeviceError,
    GrammarError,
    InvalidJSONError,
    InvalidStructuralTagError,
    JobsFileError,
    MatcherError,
    MissingExtraError,
    PscError,
    RegistryError,
    RegistryNotFoundError,
    RegistryUnreachableError,
    ReportError,
    ResourceLimitError,
    SimulationError,
    StoreError,
    TokenizerError,
    VerificationError,
)

if TYPE_CHECKING:
    from psc.bitmask import (
        allocate_token_bitmask,
        apply_token_bitmask_inplace,
        bitmask_dtype,
        get_bitmask_shape,
        reset_token_bitmask,
    )
    from psc.cancellation import Cancellation
    from psc.compile_file import CompileReport, compile_to_artifact
    from psc.compiled_grammar import CompiledGrammar, compile_ahead_of_time
    from psc.grammar import Grammar
    from psc.grammar_compiler import GrammarCompiler
    from psc.loading import load
    from psc.runtime.compiled import BatchGrammarMatcher, GrammarMatcher
    from psc.serialization import get_serialization_version
    from psc.vocabulary import load_tokenizer
    from psc.vocabulary.tokenizer_info import TokenizerInfo, VocabType

__all__ = [
    "ArtifactError",
    "BatchGrammarMatcher",
    "BitmaskError",
    "Cancellation",
    "ClusterError",
    "CompilationCancelledError",
    "CompileReport",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "DeviceError",
    "Grammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "JobsFileError",
    "MatcherError",
    "MissingExtraError",
    "PscError",
    "RegistryError",
    "RegistryNotFoundError",
    "RegistryUnreachableError",
    "ReportError",
    "ResourceLimitError",
    "SimulationError",
    "StoreError",
    "TokenizerError",
    "TokenizerInfo",
    "VerificationError",
    "VocabType",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "compile_ahead_of_time",
    "compile_to_artifact",
    "get_bitmask_shape",
    "get_serialization_version",
    "load",
    "load_tokenizer",
    "reset_token_bitmask",
]

# What psc tells (docs/serving.md) goes where the program sends it, and nowhere before that.
logging.getLogger("psc").addHandler(logging.NullHandler())

# Loaded when first used, so that an error class or the version costs no import of NumPy.
_HOMES = {
    "Cancellation": "psc.cancellation",
    "CompileReport": "psc.compile_file",
    "BatchGrammarMatcher": "psc.runtime.compiled",
    "CompiledGrammar": "psc.compiled_grammar",
    "Grammar": "psc.grammar",
    "GrammarCompiler": "psc.grammar_compiler",
    "GrammarMatcher": "psc.runtime.compiled",
    "TokenizerInfo": "psc.vocabulary.tokenizer_info",
    "VocabType": "psc.vocabulary.tokenizer_info",
    "allocate_token_bitmask": "psc.bitmask",
    "apply_token_bitmask_inplace": "psc.bitmask",
    "bitmask_dtype": "psc.bitmask",
    "compile_ahead_of_time": "psc.compiled_grammar",
    "compile_to_artifact": "psc.compile_file",
    "get_bitmask_shape": "psc.bitmask",
    "get_serialization_version": "psc.serialization",
    "load": "psc.loading",
    "load_tokenizer": "psc.vocabulary",
    "reset_token_bitmask": "psc.bitmask",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psc' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
