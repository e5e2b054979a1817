"""Grammar tables, and artifacts, of whatever a test has of a grammar."""

from typing import Any
from unittest import mock

import psc
from psc.artifacts.format import encode
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.frontends.tables import CfgTables, GrammarTables, RulesTables
from psc.compiler.pipeline.build import build
from psc.grammars.compiled_grammar import compiled_from_file
from psc.vocabulary.tokenizer_info import TokenizerInfo


def tables_of(grammar: Any) -> GrammarTables:
    """The tables of a grammar, of rules, or of terminals and productions."""
    if isinstance(grammar, GrammarTables):
        return grammar
    if isinstance(grammar, psc.Grammar):
        return grammar.artifact_tables()
    return CfgTables(grammar) if isinstance(grammar, Cfg) else RulesTables(LoweredRules(grammar))


def compile_ahead(grammar: Any, info: TokenizerInfo) -> psc.CompiledGrammar:
    """The same, ahead of time."""
    return compiled_from_file(ahead_bytes(grammar, info), tokenizer_info=info, place="artifact")


def cutting() -> Any:
    """A block in which sequences of terminals are cut behind the first one, as those of large grammars are."""
    return mock.patch("psc.compiler.pipeline.build.MOST_WHOLE_SEQUENCES", 0)


def compile_with_leads(grammar: Any, info: TokenizerInfo) -> psc.CompiledGrammar:
    """The same, with leads."""
    with cutting():
        return compile_ahead(grammar, info)


def ahead_bytes(grammar: Any, info: TokenizerInfo) -> bytes:
    """The artifact of any of these."""
    result = build(tables_of(grammar), info)
    return encode(result.arrays, result.metadata)
