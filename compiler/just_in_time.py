"""A grammar as a machine that is built on first visit.

text → terminals and productions → byte automaton, LR tables → machine. The rest of the pipeline (lexer states, token rows, stack
classifier) is run by the machine, as far as matchers ask for it.

Cost: milliseconds for a small grammar; for a programming language as long as its front end takes.
"""

from __future__ import annotations

import numpy as np

from psc._core import Machine, VocabularyIndex
from psc.compiler.build import named_limits, terminal_arrays
from psc.compiler.grammar import Cfg
from psc.compiler.lr_tables import lr_tables
from psc.compiler.terminals import terminal_automaton
from psc.vocabulary.tokenizer_info import TokenizerInfo


def vocabulary_index(tokenizer: TokenizerInfo) -> VocabularyIndex:
    """The vocabulary as machines walk it; one a tokenizer, shared by its grammars. Cost: some 20 ms for 128,000 tokens."""
    return VocabularyIndex(
        tokenizer.data, tokenizer.offsets, tokenizer.text_token_ids, np.array(tokenizer.stop_token_ids, np.int32)
    )


def lazy_machine(grammar: Cfg, vocabulary: VocabularyIndex, *, cache_limit_bytes: int = -1) -> Machine:
    """The machine of a grammar, nothing of it visited yet.

    Args:
        grammar: from a front end.
        vocabulary: see :func:`vocabulary_index`.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.

    Raises:
        GrammarError: a terminal is not regular or matches the empty string, or reductions clash; ResourceLimitError, one of them,
            names a limit that was exceeded.
    """
    automaton = terminal_automaton(grammar)
    lr = lr_tables(grammar, keep_all=grammar.keep_all_actions)
    with named_limits(grammar):
        return Machine.lazy(
            lr=lr,
            **terminal_arrays(grammar, automaton),
            lexer=grammar.lexer,
            vocabulary=vocabulary,
            cache_limit=max(cache_limit_bytes, 0),
        )
