"""XGrammar's module of vocabularies, for programs that import it by that name."""

from psc.vocabulary.token_table import VocabType
from psc.vocabulary.tokenizer_info import TokenizerInfo

__all__ = ["TokenizerInfo", "VocabType"]
