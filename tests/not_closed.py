"""Artifacts that are not closed, of any grammar: as where building ahead of time met a limit."""

from typing import Any

import psc
from psc.artifacts.format import encode
from psc.compiled_grammar import compiled_from_file
from psc.compiler.build import NotClosed, grammar_tables, open_build
from psc.compiler.stages import Stage
from psc.vocabulary.tokenizer_info import TokenizerInfo

WHY = NotClosed(Stage.STACK_CLASSIFIER, "steps that a test allows: more than 0")


def not_closed_bytes(grammar: Any, info: TokenizerInfo) -> bytes:
    """The artifact of a grammar, or of what a front end made of one, as if its compilation had met a limit."""
    build = open_build(grammar_tables(grammar.to_cfg() if isinstance(grammar, psc.Grammar) else grammar), info, WHY)
    return encode(build.arrays, build.metadata)


def compile_not_closed(grammar: Any, info: TokenizerInfo) -> psc.CompiledGrammar:
    """The same, loaded."""
    return compiled_from_file(not_closed_bytes(grammar, info), tokenizer_info=info, place="not closed")
