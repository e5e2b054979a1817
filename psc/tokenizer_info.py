"""XGrammar's module of vocabularies, for programs that import it by that name."""

from psc.vocabulary.tokenizer_info import TokenizerInfo, VocabType

__all__ = ["TokenizerInfo", "VocabType"]
