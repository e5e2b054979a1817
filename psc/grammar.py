"""XGrammar's module of grammars, for programs that import it by that name."""

from psc.grammars.grammar import Grammar

__all__ = ["Grammar"]
