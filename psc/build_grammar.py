"""From a grammar to a machine that is built as it is visited, or to the bytes of an artifact.

Grammars find things out about a vocabulary (for example, in which lexer state each token leaves a JSON string). All grammars of a
process that are compiled for one vocabulary share them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from psc._core import Machine, VocabularyIndex
from psc.artifacts.format import encode
from psc.artifacts.scalars import is_closed
from psc.grammar import Grammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.artifacts.store import Store
    from psc.compiler.grammar import Cfg
    from psc.compiler.terminals import TerminalAutomaton

_log = logging.getLogger("psc.compiler")
_vocabularies: WeakValueDictionary[tuple[object, ...], VocabularyIndex] = WeakValueDictionary()
_vocabularies_lock = threading.Lock()


def shared_vocabulary(tokenizer_info: TokenizerInfo) -> VocabularyIndex:
    """The index of a vocabulary, one for all who use it at the time."""
    from psc.compiler.just_in_time import vocabulary_index

    key = tokenizer_info.fingerprint, tokenizer_info.vocab_size, tuple(tokenizer_info.stop_token_ids)
    with _vocabularies_lock:
        index = _vocabularies.get(key)
        if index is None:
            index = _vocabularies[key] = vocabulary_index(tokenizer_info)
        return index


def lazy_machine(
    grammar: Grammar, tokenizer_info: TokenizerInfo, *, cache_limit_bytes: int = -1, store: Store | None = None
) -> tuple[Machine, Callable[[], dict[str, Any]]]:
    """A machine that is built as matchers visit it, and what gives the metadata that go with it.

    Args:
        grammar: the grammar.
        tokenizer_info: the vocabulary.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.
        store: where the tables of a grammar that takes long to parse are kept.

    Raises:
        GrammarError: it cannot be compiled; ResourceLimitError, one of them, names a limit that it exceeds.
    """
    from psc.compiler import just_in_time
    from psc.compiler.build import describe

    ready = grammar.ready(store=store)
    if len(tokenizer_info.byte_values) < 256:  # else nothing is amiss, and no records need be made of the grammar
        _tell_of_unspellable(ready.cfg, tokenizer_info, ready.automaton)
    machine = just_in_time.lazy_machine(ready, shared_vocabulary(tokenizer_info), cache_limit_bytes=cache_limit_bytes)
    return machine, lambda: describe(grammar.to_cfg(), tokenizer_info)


def artifact_bytes(grammar: Grammar | Cfg, tokenizer_info: TokenizerInfo) -> bytes:
    """A grammar as the bytes of an artifact, closed where limits allow. Raises GrammarError, as :func:`lazy_machine`."""
    from psc.compiler.build import build

    lowered = grammar.to_cfg() if isinstance(grammar, Grammar) else grammar
    _tell_of_unspellable(lowered, tokenizer_info)
    began = time.perf_counter()
    result = build(lowered, tokenizer_info)
    _log.info("%s: built ahead of time in %.2f s", lowered.source_name, time.perf_counter() - began)
    if not is_closed(result.arrays):
        _log.warning("%s: %s", lowered.source_name, result.warnings[-1])
    return encode(result.arrays, result.metadata)


def _tell_of_unspellable(grammar: Cfg, tokenizer_info: TokenizerInfo, automaton: TerminalAutomaton | None = None) -> None:
    from psc.compiler.spelling_check import unspellable

    why = unspellable(grammar, tokenizer_info, automaton)
    if why is not None:
        _log.warning("%s: %s", grammar.source_name, why)
