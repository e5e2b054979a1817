"""Artifacts that are not closed, or only partly, of any grammar: as where building ahead of time exceeded a limit."""

from dataclasses import replace
from typing import Any

from grammar_tables import tables_of

import psc
from psc.artifacts.format import encode
from psc.compiler.pipeline.build import NotClosed, open_build, partly_closed_build
from psc.compiler.pipeline.pieces import find_sequences
from psc.compiler.pipeline.stages import Stage
from psc.grammars.compiled_grammar import compiled_from_file
from psc.vocabulary.tokenizer_info import TokenizerInfo

WHY = NotClosed(Stage.STACK_CLASSIFIER, "steps that a test allows: more than 0")


def not_closed_bytes(grammar: Any, info: TokenizerInfo, *, partly: bool = False, classes: bool = True) -> bytes:
    """The artifact of a grammar, or of what a front end made of one, as if its compilation had exceeded a limit.

    Args:
        grammar: either.
        info: the vocabulary.
        partly: whether only the classifier is missing: the grammar speaks of no tokens.
        classes: whether the classes of tokens had been found by then.
    """
    tables = tables_of(grammar)
    found = find_sequences(tables, info, 1) if classes or partly else WHY
    if partly and not isinstance(found, NotClosed):
        build = partly_closed_build(tables, info, found.vocabulary, found.trie, found.realized, WHY)
    else:
        tokens = found.tokens if isinstance(found, NotClosed) else found.vocabulary.tokens
        build = open_build(tables, info, replace(WHY, tokens=tokens))
    return encode(build.arrays, build.metadata)


def compile_not_closed(grammar: Any, info: TokenizerInfo, *, partly: bool = False, classes: bool = True) -> psc.CompiledGrammar:
    """The same, loaded."""
    return compiled_from_file(
        not_closed_bytes(grammar, info, partly=partly, classes=classes), tokenizer_info=info, place="not closed"
    )
