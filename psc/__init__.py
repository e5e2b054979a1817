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
    BenchError,
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
    ReferenceMissingError,
    ReferenceParserError,
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
    from psc import builtin_structural_tag as builtin_structural_tag
    from psc import compiler as compiler
    from psc import config as config
    from psc import contrib as contrib
    from psc import exception as exception
    from psc import grammar as grammar
    from psc import kernels as kernels
    from psc import matcher as matcher
    from psc import openai_tool_call_schema as openai_tool_call_schema
    from psc import structural_tag as structural_tag
    from psc import testing as testing
    from psc import tokenizer_info as tokenizer_info
    from psc.compiler.grammars.sql_catalog import sql_catalog
    from psc.compiler.grammars.sql_catalog.catalogue import CatalogOptions
    from psc.contrib import hf as hf
    from psc.grammars.compile_file import CompileReport, compile_to_artifact
    from psc.grammars.compiled_grammar import CompiledGrammar, compile_ahead_of_time
    from psc.grammars.grammar import Grammar
    from psc.grammars.grammar_compiler import GrammarCompiler
    from psc.grammars.loading import load
    from psc.runtime.bitmask import (
        allocate_token_bitmask,
        apply_token_bitmask_inplace,
        bitmask_dtype,
        get_bitmask_shape,
        reset_token_bitmask,
    )
    from psc.runtime.compiled import BatchGrammarMatcher, GrammarMatcher
    from psc.support.cancellation import Cancellation
    from psc.support.recursion_depth import get_max_recursion_depth, max_recursion_depth, set_max_recursion_depth
    from psc.support.serialization import get_serialization_version
    from psc.tool_calls.builtin_structural_tag import (
        get_builtin_structural_tag,
        get_model_structural_tag,
        register_model_structural_tag,
    )
    from psc.tool_calls.models.request import normalize_tool_choice
    from psc.tool_calls.structural_tag import StructuralTag, StructuralTagItem
    from psc.vocabulary import load_tokenizer
    from psc.vocabulary.token_table import VocabType
    from psc.vocabulary.tokenizer_info import TokenizerInfo

__all__ = [
    "ArtifactError",
    "BatchGrammarMatcher",
    "BenchError",
    "BitmaskError",
    "Cancellation",
    "CatalogOptions",
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
    "ReferenceMissingError",
    "ReferenceParserError",
    "RegistryError",
    "RegistryNotFoundError",
    "RegistryUnreachableError",
    "ReportError",
    "ResourceLimitError",
    "SimulationError",
    "StoreError",
    "StructuralTag",
    "StructuralTagItem",
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
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "load",
    "load_tokenizer",
    "max_recursion_depth",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "sql_catalog",
]

# psc's log messages (docs/serving/artifacts.md) go where the program sends them, and nowhere before that.
logging.getLogger("psc").addHandler(logging.NullHandler())

# Loaded when first used, so that an error class or the version costs no import of NumPy.
_HOMES = {
    "Cancellation": "psc.support.cancellation",
    "CatalogOptions": "psc.compiler.grammars.sql_catalog.catalogue",
    "CompileReport": "psc.grammars.compile_file",
    "BatchGrammarMatcher": "psc.runtime.compiled",
    "CompiledGrammar": "psc.grammars.compiled_grammar",
    "Grammar": "psc.grammars.grammar",
    "GrammarCompiler": "psc.grammars.grammar_compiler",
    "GrammarMatcher": "psc.runtime.compiled",
    "StructuralTag": "psc.tool_calls.structural_tag",
    "StructuralTagItem": "psc.tool_calls.structural_tag",
    "TokenizerInfo": "psc.vocabulary.tokenizer_info",
    "VocabType": "psc.vocabulary.token_table",
    "allocate_token_bitmask": "psc.runtime.bitmask",
    "apply_token_bitmask_inplace": "psc.runtime.bitmask",
    "bitmask_dtype": "psc.runtime.bitmask",
    "compile_ahead_of_time": "psc.grammars.compiled_grammar",
    "compile_to_artifact": "psc.grammars.compile_file",
    "get_bitmask_shape": "psc.runtime.bitmask",
    "get_builtin_structural_tag": "psc.tool_calls.builtin_structural_tag",
    "get_max_recursion_depth": "psc.support.recursion_depth",
    "get_model_structural_tag": "psc.tool_calls.builtin_structural_tag",
    "get_serialization_version": "psc.support.serialization",
    "load": "psc.grammars.loading",
    "load_tokenizer": "psc.vocabulary",
    "max_recursion_depth": "psc.support.recursion_depth",
    "normalize_tool_choice": "psc.tool_calls.models.request",
    "register_model_structural_tag": "psc.tool_calls.builtin_structural_tag",
    "reset_token_bitmask": "psc.runtime.bitmask",
    "set_max_recursion_depth": "psc.support.recursion_depth",
    "sql_catalog": "psc.compiler.grammars.sql_catalog",
}
# Modules that XGrammar's callers reach as attributes of the package; `from xgrammar.contrib import hf` is `xgrammar.hf`, too.
_MODULES = {
    "builtin_structural_tag": "psc.builtin_structural_tag",
    "compiler": "psc.compiler",
    "config": "psc.config",
    "contrib": "psc.contrib",
    "exception": "psc.exception",
    "grammar": "psc.grammar",
    "hf": "psc.contrib.hf",
    "kernels": "psc.kernels",
    "matcher": "psc.matcher",
    "openai_tool_call_schema": "psc.openai_tool_call_schema",
    "structural_tag": "psc.structural_tag",
    "testing": "psc.testing",
    "tokenizer_info": "psc.tokenizer_info",
}


if not TYPE_CHECKING:  # to which every name would exist

    def __getattr__(name: str) -> Any:
        import importlib
        import sys

        if name in _MODULES:
            return importlib.import_module(_MODULES[name])
        if name not in _HOMES:
            raise AttributeError(f"module 'psc' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
