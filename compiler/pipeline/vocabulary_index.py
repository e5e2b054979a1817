"""The index of a vocabulary, as machines that are built just in time walk it.

One index serves all grammars of a tokenizer that speak of no token. Cost: 20 ms for 128,000 tokens.
"""

from __future__ import annotations

import numpy as np

from psc._core import VocabularyIndex
from psc.compiler.cfg.token_symbols import NO_SYMBOLS, Words
from psc.vocabulary.tokenizer_info import TokenizerInfo


def vocabulary_index(tokenizer: TokenizerInfo, symbols: Words = NO_SYMBOLS) -> VocabularyIndex:
    """The vocabulary as machines walk it.

    Args:
        tokenizer: the vocabulary.
        symbols: per token the number of its symbol, or -1, for grammars that speak of tokens; int32.
    """
    stops = np.array(tokenizer.stop_token_ids, np.int32)
    return VocabularyIndex(tokenizer.data, tokenizer.offsets, tokenizer.text_token_ids, stops, symbols)
