"""A grammar as a machine that is built on first visit.

text → terminals and productions → byte automaton, LR tables (`ready_grammar`) → machine. The rest of the pipeline (lexer states,
token rows, stack classifier) is run by the machine, as far as matchers ask for it; of a rule set the byte automaton too.

Cost: milliseconds, once the grammar has its tables.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psc._core import Machine, VocabularyIndex
from psc.compiler.pipeline.build import named_limits
from psc.compiler.pipeline.ready_grammar import ReadyGrammar, ReadyRules
from psc.vocabulary.tokenizer_info import TokenizerInfo

Words = npt.NDArray[np.int32]
NO_SYMBOLS: Words = np.zeros(0, np.int32)


def vocabulary_index(tokenizer: TokenizerInfo, symbols: Words = NO_SYMBOLS) -> VocabularyIndex:
    """The vocabulary as machines walk it; one a tokenizer, shared by its grammars. Cost: some 20 ms for 128,000 tokens.

    Args:
        tokenizer: the vocabulary.
        symbols: per token the number of its symbol, or -1, for grammars that speak of tokens; int32.
    """
    stops = np.array(tokenizer.stop_token_ids, np.int32)
    return VocabularyIndex(tokenizer.data, tokenizer.offsets, tokenizer.text_token_ids, stops, symbols)


def lazy_machine(grammar: ReadyGrammar | ReadyRules, vocabulary: VocabularyIndex, *, cache_limit_bytes: int = -1) -> Machine:
    """The machine of a grammar, nothing of it visited yet.

    Args:
        grammar: with its tables.
        vocabulary: see :func:`vocabulary_index`.
        cache_limit_bytes: what was built is dropped when it takes more; -1 is no limit.

    Raises:
        ResourceLimitError: names a limit that was exceeded.
    """
    with named_limits(grammar.source_name):
        return grammar.machine(vocabulary, max(cache_limit_bytes, 0))
