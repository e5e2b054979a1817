"""The basic and the modal lexer, but no text begins with what is ignored.

On the stack that a text begins with, nothing is ignored, and no lexeme begins with what an ignored terminal matches. Source:
docs/language.md.
"""

from psc.support.cached_property import cached_property

from .contextual import ContextualOracle
from .lexing import LexerAutomaton
from .modal import ModalOracle
from .parsing import Stack


class _Flush(ContextualOracle):
    def automaton(self, stack: Stack) -> LexerAutomaton:
        return self._first if stack == self.parser.start else super().automaton(stack)

    @cached_property
    def _first(self) -> LexerAutomaton:
        ignored = frozenset(self.lark.ignore_tokens)
        allowed = self.context(self.parser.start) - ignored
        return LexerAutomaton(
            [t for t in self.lark.terminals if t.name in allowed], barred=[t for t in self.lark.terminals if t.name in ignored]
        )


class FlushOracle(_Flush):
    """Masks of a Lark grammar, LALR(1), with the lexer `flush`. Raises what its base class does."""

    def context(self, stack: Stack) -> frozenset[str]:
        """Names of all terminals."""
        return frozenset(t.name for t in self.lark.terminals)


class FlushModalOracle(_Flush, ModalOracle):
    """Masks of a Lark grammar, LALR(1), with the lexer `flush-modal`. Raises what its base class does."""
