"""From a grammar to a machine that is built as it is visited, or to the bytes of an artifact.

Grammars find things out about a vocabulary (for example, in which lexer state each token leaves a JSON string). All grammars of a
process that are compiled for one vocabulary share them.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from psc._core import Machine, VocabularyIndex
from psc.artifacts.format import encode
from psc.artifacts.scalars import is_closed
from psc.grammars.grammar import Grammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.artifacts.store import Store
    from psc.compiler.cfg.grammar import Cfg
    from psc.compiler.cfg.terminals import TerminalAutomaton
    from psc.compiler.pipeline.just_in_time import Words
    from psc.compiler.pipeline.linking import Parts

_log = logging.getLogger("psc.compiler")
_vocabularies: WeakValueDictionary[tuple[object, ...], VocabularyIndex] = WeakValueDictionary()
_vocabularies_lock = threading.Lock()
_with_symbols: deque[VocabularyIndex] = deque(maxlen=2)  # kept, as the next grammar of a kind has the same symbols


def shared_vocabulary(tokenizer_info: TokenizerInfo, symbols: Words | None = None) -> VocabularyIndex:
    """The index of a vocabulary, one for all who use it at the time.

    Args:
        tokenizer_info: the vocabulary.
        symbols: see ``ReadyGrammar.symbols``; None or empty for grammars that speak of no token.
    """
    from psc.compiler.pipeline.just_in_time import NO_SYMBOLS, vocabulary_index

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
class LazyMachine:
    """A machine that is built as matchers visit it, and what is known of it."""

    machine: Machine
    describe: Callable[[], dict[str, Any]]
    """Gives the metadata that go with it."""
    terminal_names: Callable[[], tuple[str, ...]] | None = None
    """Gives the names of its terminals, where they are not those of the grammar."""


def lazy_machine(
    grammar: Grammar,
    tokenizer_info: TokenizerInfo,
    *,
    cache_limit_bytes: int = -1,
    store: Store | None = None,
    parts: Callable[[], Parts] | None = None,
    index: VocabularyIndex | None = None,
) -> LazyMachine:
    """A machine that is built as matchers visit it.

    Args:
        grammar: the grammar.
        tokenizer_info: the vocabulary.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.
        store: where the tables of a grammar that takes long to parse are kept.
        parts: gives those of other grammars, for one that is made of parts; None makes one grammar of all, where it can be one.
        index: of the vocabulary, as `shared_vocabulary` gives it where there are no symbols, if the caller has it.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.
    """
    from psc.compiler.expressions.joined_rules import has_lexers
    from psc.compiler.pipeline import just_in_time

    grammar = grammar.for_vocabulary(tokenizer_info)
    rules = grammar.linked_rules
    spells_all = len(tokenizer_info.byte_values) == 256  # else something may be amiss, of which the rules of all have to tell
    needs_linking = rules is not None and (grammar.counts_tokens or has_lexers(rules))
    if rules is not None and (needs_linking or (parts is not None and spells_all)):
        from psc.compiler.pipeline import linking

        limit = max(cache_limit_bytes, 0)
        known = linking.Parts(shared_vocabulary(tokenizer_info), tokenizer_info.vocab_size, 0) if parts is None else parts()
        linked = linking.linked_machine(rules, known, limit)
        if linked is not None:
            return LazyMachine(linked.machine, lambda: describe_grammar(grammar, tokenizer_info), linked.terminal_names)
    ready = grammar.ready(store=store)
    if not spells_all and len(tokenizer_info.byte_values):  # else nothing is told
        _tell_of_unspellable(ready.cfg, tokenizer_info, ready.automaton)
    symbols = ready.symbols(tokenizer_info.vocab_size)
    if index is None or len(symbols):
        index = shared_vocabulary(tokenizer_info, symbols)
    machine = just_in_time.lazy_machine(ready, index, cache_limit_bytes=cache_limit_bytes)
    return LazyMachine(machine, lambda: describe_grammar(grammar, tokenizer_info))


def describe_grammar(grammar: Grammar, tokenizer_info: TokenizerInfo) -> dict[str, Any]:
    """The metadata of a machine that is built as matchers visit it."""
    from psc.compiler.pipeline.build import describe

    return describe(grammar.uncounted_cfg(), tokenizer_info)


def artifact_bytes(grammar: Grammar | Cfg, tokenizer_info: TokenizerInfo) -> bytes:
    """A grammar as the bytes of an artifact, closed where limits allow. Raises GrammarError, as :func:`lazy_machine`."""
    from psc.compiler.pipeline.build import build

    lowered = grammar.for_vocabulary(tokenizer_info).to_cfg() if isinstance(grammar, Grammar) else grammar
    _tell_of_unspellable(lowered, tokenizer_info)
    began = time.perf_counter()
    result = build(lowered, tokenizer_info)
    _log.info("%s: built ahead of time in %.2f s", lowered.source_name, time.perf_counter() - began)
    if not is_closed(result.arrays):
        _log.warning("%s: %s", lowered.source_name, result.warnings[-1])
    return encode(result.arrays, result.metadata)


def _tell_of_unspellable(grammar: Cfg, tokenizer_info: TokenizerInfo, automaton: TerminalAutomaton | None = None) -> None:
    from psc.compiler.pipeline.spelling_check import unspellable

    if not len(tokenizer_info.byte_values):  # text is taken by accept_string
        return
    why = unspellable(grammar, tokenizer_info, automaton)
    if why is not None:
        _log.warning("%s: %s", grammar.source_name, why)
