"""From a grammar to a machine that is built as it is visited, or to the bytes of an artifact.

Grammars find things out about a vocabulary (for example, in which lexer state each token leaves a JSON string). All grammars of a
process that are compiled for one vocabulary share them.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from psc._core import Machine, VocabularyIndex
from psc.artifacts.format import encode
from psc.grammars.grammar import Grammar
from psc.support.forks import new_lock
from psc.support.warning import warn
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.artifacts.format import IntArray
    from psc.artifacts.store import Store
    from psc.compiler.cfg.token_symbols import Words
    from psc.compiler.pipeline.build import Build
    from psc.compiler.pipeline.part_cache import PartCache
    from psc.compiler.pipeline.stages import Progress

_log = logging.getLogger("psc.compiler")
_vocabularies: WeakValueDictionary[tuple[object, ...], VocabularyIndex] = WeakValueDictionary()
_vocabularies_lock = new_lock()
_with_symbols: deque[VocabularyIndex] = deque(maxlen=2)  # kept, as the next grammar of a kind has the same symbols


def shared_vocabulary(tokenizer_info: TokenizerInfo, symbols: Words | None = None) -> VocabularyIndex:
    """The index of a vocabulary, shared by all that use it at the time.

    Args:
        tokenizer_info: the vocabulary.
        symbols: see ``GrammarTables.symbols``; None or empty for grammars that speak of no token.
    """
    from psc.compiler.cfg.token_symbols import NO_SYMBOLS
    from psc.compiler.pipeline.vocabulary_index import vocabulary_index

    symbols = NO_SYMBOLS if symbols is None else symbols
    stops = tuple(tokenizer_info.stop_token_ids)
    key = tokenizer_info.fingerprint, tokenizer_info.vocab_size, stops, hashlib.sha256(symbols.tobytes()).digest()
    with _vocabularies_lock:
        index = _vocabularies.get(key)
        if index is None:
            index = _vocabularies[key] = vocabulary_index(tokenizer_info, symbols)
            if len(symbols):
                _with_symbols.append(index)
        return index


@dataclass(frozen=True)
class BuiltMachine:
    """A machine that is built as matchers visit it, and what is known of it."""

    machine: Machine
    describe: Callable[[], dict[str, Any]]
    """Gives the metadata that go with it."""
    terminal_names: Callable[[], tuple[str, ...]] | None = None
    """Gives the names of its terminals, where they are not those of the grammar."""


def build_machine(
    grammar: Grammar,
    tokenizer_info: TokenizerInfo,
    *,
    cache_limit_bytes: int = -1,
    store: Store | None = None,
    parts: Callable[[], PartCache] | None = None,
    index: VocabularyIndex | None = None,
) -> BuiltMachine:
    """A machine that is built as matchers visit it.

    Args:
        grammar: the grammar.
        tokenizer_info: the vocabulary.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.
        store: where the tables of a grammar that takes long to parse are stored.
        parts: gives the cache of parts, for a grammar that is made of parts; None makes one grammar of all, where it can be one.
        index: of the vocabulary, as `shared_vocabulary` gives it where there are no symbols, if the caller has it.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.
    """
    from psc.compiler.pipeline.spelling_check import unspellable

    grammar = grammar.for_vocabulary(tokenizer_info)

    def describe() -> dict[str, Any]:
        return describe_grammar(grammar, tokenizer_info)

    rules = grammar.parsed.linked_rules
    if rules is not None and (grammar.parsed.needs_linking or (parts is not None and len(tokenizer_info.byte_values) == 256)):
        # Where a vocabulary lacks bytes, only the tables of the whole grammar say what cannot be written.
        from psc.compiler.pipeline.linking import link, plan_links
        from psc.compiler.pipeline.part_cache import PartCache

        plan = plan_links(rules)
        if plan is not None:
            cache = PartCache(shared_vocabulary(tokenizer_info), tokenizer_info.vocab_size, 0) if parts is None else parts()
            linked = link(plan, cache, max(cache_limit_bytes, 0))
            return BuiltMachine(linked.machine, describe, linked.terminal_names)
    tables = grammar.machine_tables(store=store)
    _warn(grammar, unspellable(tables, tokenizer_info))
    symbols = tables.symbols(tokenizer_info.vocab_size)
    if index is None or len(symbols):
        index = shared_vocabulary(tokenizer_info, symbols)
    return BuiltMachine(tables.machine(index, cache_limit_bytes=cache_limit_bytes), describe)


def describe_grammar(grammar: Grammar, tokenizer_info: TokenizerInfo) -> dict[str, Any]:
    """The metadata of a machine that is built as matchers visit it."""
    from psc.compiler.pipeline.build import describe

    return describe(grammar.parsed.machine_tables().cfg, tokenizer_info)


@dataclass(frozen=True)
class BuiltArtifact:
    """An artifact that was built ahead of time, before it is encoded."""

    build: Build
    unspelled: str | None
    """Which terminals no token of the vocabulary can write, in words."""

    def encoded(self, more: Mapping[str, IntArray] | None = None) -> bytes:
        """The artifact's bytes, with more arrays where some are given."""
        return encode({**self.build.arrays, **(more or {})}, self.build.metadata)


def build_artifact(grammar: Grammar, tokenizer_info: TokenizerInfo, *, progress: Progress | None = None) -> BuiltArtifact:
    """An artifact, closed where limits allow.

    Args:
        grammar: the grammar.
        tokenizer_info: the vocabulary.
        progress: called as each stage begins.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.
    """
    from psc.compiler.pipeline.build import build
    from psc.compiler.pipeline.spelling_check import unspellable

    tables = grammar.for_vocabulary(tokenizer_info).artifact_tables()
    return BuiltArtifact(build(tables, tokenizer_info, progress=progress), unspellable(tables, tokenizer_info))


def artifact_bytes(grammar: Grammar, tokenizer_info: TokenizerInfo) -> bytes:
    """The bytes of the same; what it warns of goes to the log."""
    began = time.perf_counter()
    built = build_artifact(grammar, tokenizer_info)
    _log.info("%s: built ahead of time in %.2f s", grammar.origin, time.perf_counter() - began)
    _warn(grammar, built.unspelled)
    for warning in built.build.warnings:
        _warn(grammar, warning)
    return built.encoded()


def _warn(grammar: Grammar, problem: str | None) -> None:
    if problem is not None:
        warn(_log, f"{grammar.origin}: {problem}")
