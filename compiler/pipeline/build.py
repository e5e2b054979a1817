"""A grammar and a vocabulary to the arrays of an artifact: the pipeline, stage by stage.

text → terminals and productions → byte automaton, LR tables → lexer, token classes → realizable sequences → stack classifier
→ arrays.

The stages from the lexer on have a limit each, in steps, because a classifier may have exponentially many states. A compilation
that exceeds one ends with an artifact anyway. If only the classifier is missing, the artifact is partly closed: a machine builds
the classifier's transitions just in time, as stacks need them. Else, and where the grammar speaks of tokens, the artifact holds
what a whole machine is built of just in time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from psc import _core
from psc._core import ClosedClassifier, TerminalSequences, TokenClasses, terminal_tables
from psc.artifacts.format import IntArray
from psc.artifacts.scalars import with_scalars
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lr_tables import require_storable
from psc.compiler.cfg.terminals import terminal_arrays
from psc.compiler.cfg.token_symbols import symbol_tables, token_sets
from psc.compiler.frontends.registry import front_end
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline.stages import Progress, Stage, StageClock
from psc.compiler.revision import COMPILER_REVISION
from psc.errors import ResourceLimitError
from psc.support.process_memory import peak_memory
from psc.vocabulary.tokenizer_info import TokenizerInfo

MOST_WHOLE_SEQUENCES = 175_000
"""Nodes of the trie of terminal sequences that the stack classifier is closed over as they are. Where there are more, sequences are
cut behind their first terminals, which matchers then shift before they read the stack (native/classifier/leads.hpp). Cut, Java's
artifact is a third smaller and compiles in 0.7 of the time; a step and its mask take 1.2 times as long (SQL 1.15, Go 1.4)."""
_OF_ALL_ACTIONS = 0.45
"""What part of that a grammar with a lexer may have that keeps all actions: its sequences need more states. C has 94,000 nodes for
Qwen 3 and 83,000 for Gemma 3; closed over these it takes four times as long as cut, and comes close to the limit or passes it."""


@dataclass
class Build:
    """A finished compilation: the arrays and metadata of an artifact, and a record of how it went (not part of the artifact)."""

    arrays: dict[str, IntArray]
    metadata: dict[str, Any]
    warnings: tuple[str, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory_bytes: int = 0

    def record(self) -> dict[str, Any]:
        """Times and peak memory, which differ from run to run and so are kept out of the artifact."""
        return {
            "seconds": {k: round(v, 4) for k, v in self.seconds.items()},
            "total_seconds": round(sum(self.seconds.values()), 4),
            "peak_memory_bytes": self.peak_memory_bytes,
        }


def make_tables(tables: GrammarTables, *, progress: Progress | None = None) -> dict[str, float]:
    """The first two stages: makes of a grammar's tables what is not made yet.

    Args:
        tables: of the grammar.
        progress: called as each stage begins, unless nothing is left to be made.

    Returns:
        The seconds of each stage, by title.

    Raises:
        GrammarError: a terminal is not regular or matches the empty string, or reductions clash; ResourceLimitError, one of them,
            names a limit that was exceeded.
    """
    clock = StageClock(None if tables.is_complete else progress)
    clock.begin(Stage.TERMINALS)
    _ = tables.automaton
    clock.begin(Stage.LR_TABLES)
    require_storable(tables.source_name, tables.lr)
    _ = tables.warnings
    clock.stop()
    return clock.seconds


def build(tables: GrammarTables, tokenizer: TokenizerInfo, *, progress: Progress | None = None) -> Build:
    """Compiles a grammar for a vocabulary. Where that exceeds a limit, or the grammar speaks of tokens, the artifact is not closed.

    The warnings say so, and why.

    Args:
        tables: of the grammar; what is made of them serves other vocabularies, too.
        tokenizer: the vocabulary.
        progress: called as each stage begins.

    Raises:
        GrammarError: a terminal is not regular or matches the empty string, or reductions clash; ResourceLimitError, one of them,
            names a limit that the grammar's own tables pass.
    """
    seconds = make_tables(tables, progress=progress)
    clock = StageClock(progress)
    closed = _closed(tables, tokenizer, clock)
    result = open_build(tables, tokenizer, closed) if isinstance(closed, NotClosed) else closed
    clock.stop()
    result.seconds.update({**seconds, **clock.seconds})
    return result


@dataclass(frozen=True)
class NotClosed:
    """Why a classifier was not closed ahead of time: a stage exceeded a limit, or the grammar speaks of tokens. Can be pickled."""

    stage: Stage | None
    """None: the grammar speaks of tokens, and no stage was begun."""
    limit: str = ""
    """As the core names it."""
    tokens: Mapping[str, Any] | None = None
    """The stored tables of the tokens, where their classes had been found by then."""

    @property
    def metadata(self) -> dict[str, str]:
        """What the artifact records of it."""
        return {"reason": "tokens"} if self.stage is None else {"reason": "limit", "stage": self.stage.title, "limit": self.limit}

    @property
    def cause(self) -> str:
        """The same, for users."""
        if self.stage is None:
            return "the grammar speaks of tokens, and not of their text alone"
        return f"building it to its end ahead of time exceeds a limit ({self.stage.title}: {self.limit})"


def _closed(tables: GrammarTables, tokenizer: TokenizerInfo, clock: StageClock) -> Build | NotClosed:
    found = terminal_sequences(tables, tokenizer, clock)
    if isinstance(found, NotClosed):
        return found
    vocabulary, sequences = found
    try:
        clock.begin(Stage.STACK_CLASSIFIER)
        try:
            classifier = _core.close_classifier(sequences)
        except ResourceLimitError:
            if sequences.has_leads:
                raise
            cut = terminal_sequences(tables, tokenizer, StageClock(None), most_whole=0)
            if isinstance(cut, NotClosed):
                raise
            vocabulary, sequences = cut
            classifier = _core.close_classifier(sequences)
        clock.begin(Stage.ASSEMBLY)
        arrays = _core.assemble(classifier, sequences)
    except ResourceLimitError as e:
        why = NotClosed(clock.stage, str(e))
        return partly_closed_build(tables, tokenizer, vocabulary, sequences.trie_words(), sequences.realized_words(), why)
    return put_together(tables, tokenizer, vocabulary, classifier, arrays)


def open_build(tables: GrammarTables, tokenizer: TokenizerInfo, why: NotClosed) -> Build:
    """The arrays and metadata of an artifact that is not closed, with no times yet.

    Args:
        tables: of the grammar.
        tokenizer: the vocabulary.
        why: it is not closed. Where that came before the classes of tokens, tokens of equal bytes are a class.
    """
    lr, automaton = tables.lr, terminal_tables(**terminal_arrays(tables.cfg, tables.automaton))
    symbols = symbol_tables(tables.symbols(tokenizer.vocab_size))
    stored = {**lr.arrays(), **automaton, **(why.tokens or _tokens_by_their_bytes(tokenizer)), **symbols}
    counts = {"token_classes": stored["n_classes"], **({"tokens_with_symbols": len(symbols["symbol_tokens"])} if symbols else {})}
    return _build_not_closed(tables, tokenizer, stored, counts, why, "not closed", "the grammar's tables")


def partly_closed_build(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    found: VocabularyTables,
    trie: npt.NDArray[np.int32],
    realized: npt.NDArray[np.int32],
    why: NotClosed,
) -> Build:
    """The arrays and metadata of an artifact that has everything but the classifier, with no times yet.

    Args:
        tables: of the grammar.
        tokenizer: the vocabulary.
        found: for it.
        trie: of the sequences.
        realized: what tokens the sequences stand for.
        why: the classifier was not closed.
    """
    stored = {**found.arrays, **_core.assemble_open(trie, realized)}
    counts = {**_counts_of_vocabulary(found), "token_sets": len(stored["set_offsets"]) - 1}
    return _build_not_closed(tables, tokenizer, stored, counts, why, "partly closed", "all but the stack classifier")


def _build_not_closed(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    stored: Mapping[str, Any],
    counts: Mapping[str, int],
    why: NotClosed,
    kind: str,
    held: str,
) -> Build:
    rest = "the rest is built just in time, as texts come to it, with the same masks"
    warnings = (*tables.warnings, f"{kind}: {why.cause}; the artifact holds {held}, and {rest}")
    metadata = {
        **describe(tables.cfg, tokenizer),
        "counts": {**_counts_of_tables(tables), **counts},
        "not_closed": why.metadata,
        "warnings": list(warnings),
    }
    return Build(with_scalars(stored), metadata, warnings, peak_memory_bytes=peak_memory())


def _tokens_by_their_bytes(tokenizer: TokenizerInfo) -> dict[str, Any]:
    text = tokenizer.without_stop_tokens
    class_of_token = np.full(tokenizer.text_end, -1, np.int32)
    classes: dict[bytes, int] = {}
    for token in text.text_token_ids.tolist():
        class_of_token[token] = classes.setdefault(text.token_bytes(token), len(classes))
    return _token_tables(class_of_token, list(classes))


@dataclass(frozen=True)
class VocabularyTables:
    """What a compilation knows before it has a classifier, as an artifact needs it. Can be pickled."""

    arrays: Mapping[str, Any]
    """The arrays of an artifact but for the classifier's; numbers are among them."""
    n_lexer_states: int
    n_token_classes: int
    n_sequences: int

    @property
    def tokens(self) -> dict[str, Any]:
        """Those of the tokens."""
        return {name: self.arrays[name] for name in ("class_of_token", "n_classes", "class_offsets", "class_bytes")}


def terminal_sequences(
    tables: GrammarTables, tokenizer: TokenizerInfo, clock: StageClock, most_whole: int | None = None
) -> tuple[VocabularyTables, TerminalSequences] | NotClosed:
    """Runs the stages from the lexer to the terminal sequences. What they make depends on the text tokens only.

    `most_whole`: the nodes of whole sequences, if not MOST_WHOLE_SEQUENCES. Returns the reason instead where the grammar speaks of
    tokens, or a stage exceeds a limit.
    """
    if token_sets(tables.cfg):  # classes of tokens are classes of texts
        return NotClosed(None)
    if most_whole is None:
        is_large = tables.cfg.keep_all_actions and tables.cfg.lexer != "any"
        most_whole = int(MOST_WHOLE_SEQUENCES * (_OF_ALL_ACTIONS if is_large else 1))
    tokens = None
    try:
        clock.begin(Stage.LEXER)
        lexer = _core.close_lexer(tables.lr, **terminal_arrays(tables.cfg, tables.automaton), lexer=tables.cfg.lexer)
        clock.begin(Stage.TOKEN_CLASSES)
        text = tokenizer.without_stop_tokens
        classes = _core.classify_tokens(lexer, text.data, text.offsets, text.text_token_ids, most_whole)
        tokens = _tables_of_classes(classes, tokenizer)
        clock.begin(Stage.TERMINAL_SEQUENCES)
        sequences = _core.find_sequences(classes)
    except ResourceLimitError as e:
        return NotClosed(clock.stage, str(e), tokens)
    arrays = {**lexer.arrays(), **tables.lr.arrays(), **tokens}
    return VocabularyTables(arrays, lexer.n_states, len(classes), len(sequences)), sequences


def _tables_of_classes(classes: TokenClasses, tokenizer: TokenizerInfo) -> dict[str, Any]:
    text = tokenizer.without_stop_tokens
    representatives = [text.token_bytes(int(t)) for t in classes.representatives]
    return _token_tables(classes.class_of_token[: tokenizer.text_end], representatives)


def _token_tables(class_of_token: IntArray, representatives: Sequence[bytes]) -> dict[str, Any]:
    return dict(
        class_of_token=class_of_token,
        n_classes=len(representatives),
        class_offsets=np.cumsum([0, *map(len, representatives)], dtype=np.int32),
        class_bytes=np.frombuffer(b"".join(representatives), np.uint8),
    )


def put_together(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    found: VocabularyTables,
    classifier: ClosedClassifier,
    assembled: Mapping[str, Any],
) -> Build:
    """The arrays and metadata of an artifact, with no times yet.

    Args:
        tables: of the grammar.
        tokenizer: the vocabulary.
        found: for it.
        classifier: of all its sequences.
        assembled: the arrays made of the classifier.
    """
    stored = {**found.arrays, **assembled}
    metadata = _metadata(tables, tokenizer, found, classifier, stored)
    return Build(with_scalars(stored), metadata, tables.warnings, peak_memory_bytes=peak_memory())


def describe(grammar: Cfg, tokenizer: TokenizerInfo) -> dict[str, Any]:
    """What was compiled for what: the metadata that every compiled grammar has."""
    reader = front_end(grammar.language)
    text = reader.canonical(grammar.source)
    if reader.names_tokens(text, reader.settings_of(grammar.settings)) or grammar.reads_names or token_sets(grammar):
        made_for = {"fingerprint": tokenizer.tokens_fingerprint, "text_fingerprint": tokenizer.fingerprint}
    else:
        made_for = {"fingerprint": tokenizer.fingerprint}
    return {
        "compiler_revision": COMPILER_REVISION,
        "grammar": {
            "name": PurePath(grammar.source_name).name or grammar.source_name,  # no path: the bytes do not depend on places
            "text": text,
            "language": grammar.language,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "imports": [list(i) for i in grammar.imports],
            "start": grammar.asked_for or grammar.start,
            "lexer": grammar.lexer,
            "keep_all_actions": grammar.keep_all_actions,
            **({"settings": grammar.settings} if grammar.settings else {}),
            "terminals": [
                {"name": t.name, "pattern": t.pattern, "text": t.text, "flags": "".join(sorted(t.flags)), "ignored": t.ignored}
                for t in grammar.terminals
            ],
            "nonterminals": list(grammar.nonterminals),
            "productions": [grammar.production_text(i) for i in range(len(grammar.productions))],
        },
        "tokenizer": {
            "name": tokenizer.name,
            **made_for,
            # What a tokenizer is taken to have where none is given to the loader.
            "vocab_size": tokenizer.vocab_size,
            "stop_token_ids": list(tokenizer.stop_token_ids),
            "special_token_ids": list(tokenizer.special_token_ids),
        },
    }


def _metadata(
    tables: GrammarTables,
    tokenizer: TokenizerInfo,
    found: VocabularyTables,
    classifier: ClosedClassifier,
    stored: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        **describe(tables.cfg, tokenizer),
        "counts": {
            **_counts_of_tables(tables),
            **_counts_of_vocabulary(found),
            "classifier_states_before_minimization": classifier.n_states,
            "classifier_transitions_before_minimization": classifier.n_transitions,
            "classifier_states": stored["n_classifier_states"],
            "classifier_transitions": len(stored["arc_symbol"]),
            "emissions": len(stored["label_offsets"]) - 1,
            "labels": stored["n_labels"],
            "token_sets": len(stored["set_offsets"]) - 1,
        },
        "warnings": list(tables.warnings),
    }


def _counts_of_vocabulary(found: VocabularyTables) -> dict[str, int]:
    return {
        "lexer_states": found.n_lexer_states,
        "token_classes": found.n_token_classes,
        "terminal_sequences": found.n_sequences,
    }


def _counts_of_tables(tables: GrammarTables) -> dict[str, int]:
    return {
        "terminals": len(tables.cfg.terminals),
        "productions": len(tables.cfg.productions),
        "lr_states": tables.lr.n_lr_states,
        "shift_reduce_conflicts_resolved": tables.lr.shift_reduce_resolved,
    }
