"""Artifacts that are not closed, of any grammar: as where building ahead of time met a limit."""

from dataclasses import replace
from typing import Any

from grammar_tables import tables_of

import psc
from psc.artifacts.format import encode
from psc.compiler.pipeline.build import NotClosed, open_build
from psc.compiler.pipeline.pieces import find_sequences
from psc.compiler.pipeline.stages import Stage
from psc.grammars.compiled_grammar import compiled_from_file
from psc.vocabulary.tokenizer_info import TokenizerInfo

WHY = NotClosed(Stage.STACK_CLASSIFIER, "steps that a test allows: more than 0")


def not_closed_bytes(grammar: Any, info: TokenizerInfo, *, classes: bool = True) -> bytes:
    """The artifact of a grammar, or of what a front end made of one, as if its compilation had met a limit.

    Args:
        grammar: either.
        info: the vocabulary.
        classes: whether the classes of tokens had been found by then.
    """
    tables = tables_of(grammar)
    found = find_sequences(tables, info, 1) if classes else WHY
    tokens = found.tokens if isinstance(found, NotClosed) else found.vocabulary.tokens
    build = open_build(tables, info, replace(WHY, tokens=tokens))
    return encode(build.arrays, build.metadata)


def compile_not_closed(grammar: Any, info: TokenizerInfo, *, classes: bool = True) -> psc.CompiledGrammar:
    """The same, loaded."""
    return compiled_from_file(not_closed_bytes(grammar, info, classes=classes), tokenizer_info=info, place="not closed")
