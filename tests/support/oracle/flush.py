"""The basic lexer, but nothing is ignored before the first terminal.

Source: docs/language.md.
"""

from .contextual import ContextualOracle
from .parsing import Stack


class FlushOracle(ContextualOracle):
    """Masks of a Lark grammar, LALR(1), with the lexer `flush`. Raises what its base class does."""

    def context(self, stack: Stack) -> frozenset[str]:
        """Names of the terminals allowed on this stack."""
        names = frozenset(t.name for t in self.lark.terminals)
        return names - frozenset(self.lark.ignore_tokens) if stack == self.parser.start else names
