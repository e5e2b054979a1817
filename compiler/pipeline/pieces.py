"""A compilation in pieces, for several processes: the stack classifier, half of the work, in groups of sequences.

There is one classifier for all lexer states, over the terminal sequences that they share; so it is not lexer states that are put
into groups but sequences, by their first terminal. A group's classifier does not use the others. Merged, they are the
classifier that one process would have built, and the artifact is the same to the byte (`native/classifier/closed_classifier.hpp`
says why).

::

    make_tables ─▶ find_sequences ─▶ classify, once per group ─▶ assemble

A piece that meets a limit says so instead, as the first one does where the grammar speaks of tokens. Then the artifact is not
closed. Every result can be pickled.

Cost, measured on SQL with 128,000 tokens: sequences 1.1 s; the classifier 1.8 s, in four groups 0.3 to 0.5 s each; merging and
assembly 1 s instead of 0.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from psc import _core
from psc._core import ClosedClassifier
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline.build import (
    Build,
    NotClosed,
    VocabularyTables,
    open_build,
    partly_closed_build,
    put_together,
    terminal_sequences,
)
from psc.compiler.pipeline.stages import Progress, Stage, StageClock
from psc.errors import ResourceLimitError
from psc.vocabulary.tokenizer_info import TokenizerInfo

Words = npt.NDArray[np.int32]


@dataclass(frozen=True)
class FoundSequences:
    """The terminal sequences of a grammar for a vocabulary, in groups that can be classified apart."""

    vocabulary: VocabularyTables
    trie: Words
    """Of all sequences; each group's classification needs it, and nothing else of this."""
    groups: tuple[Words, ...]
    realized: Words
    """What tokens the sequences stand for; only the assembly needs it."""
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


def find_sequences(
    tables: GrammarTables, tokenizer: TokenizerInfo, n_groups: int, *, progress: Progress | None = None
) -> FoundSequences | NotClosed:
    """The stages up to the terminal sequences.

    Args:
        tables: of the grammar.
        tokenizer: the vocabulary.
        n_groups: how many groups to make, at most.
        progress: called as each stage begins.
    """
    clock = StageClock(progress)
    found = terminal_sequences(tables, tokenizer, clock)
    if isinstance(found, NotClosed):
        return found
    vocabulary, sequences = found
    clock.stop()
    return FoundSequences(
        vocabulary, sequences.trie_words(), tuple(sequences.groups(n_groups)), sequences.realized_words(), clock.seconds
    )


def classify(tables: GrammarTables, trie: Words, group: Words) -> ClosedClassifier | NotClosed:
    """The classifier of one group of sequences."""
    try:
        return _core.classify_sequences(tables.lr, trie, group)
    except ResourceLimitError as e:
        return NotClosed(Stage.STACK_CLASSIFIER, str(e))


def assemble(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    found: FoundSequences | NotClosed,
    classifiers: Sequence[ClosedClassifier | NotClosed],
    *,
    progress: Progress | None = None,
) -> Build:
    """The artifact's arrays, from the classifiers of all groups, in the order of the groups.

    The result is that of :func:`~psc.compiler.pipeline.build.build`; its seconds are those of this call.
    """
    clock = StageClock(progress)
    clock.begin(Stage.ASSEMBLY)
    result = _assembled(tables, tokenizer, found, classifiers)
    clock.stop()
    result.seconds.update(clock.seconds)
    return result


def _assembled(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    found: FoundSequences | NotClosed,
    classifiers: Sequence[ClosedClassifier | NotClosed],
) -> Build:
    if isinstance(found, NotClosed):
        return open_build(tables, tokenizer, found)
    closed: list[ClosedClassifier] = []
    for one in classifiers:
        if isinstance(one, NotClosed):
            return partly_closed_build(tables, tokenizer, found.vocabulary, found.trie, found.realized, one)
        closed.append(one)
    try:
        merged = _core.merge_classifiers(tables.lr, closed)
        arrays = _core.assemble(merged, found.realized)
    except ResourceLimitError as e:
        why = NotClosed(Stage.ASSEMBLY, str(e))
        return partly_closed_build(tables, tokenizer, found.vocabulary, found.trie, found.realized, why)
    return put_together(tables, tokenizer, found.vocabulary, merged, arrays)
