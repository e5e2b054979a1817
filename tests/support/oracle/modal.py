"""The modal lexer: some terminals are lexed only where the parser can take them, and there only with what else it can take.

These are the terminals that win over every ignored one. Those of them that the parser can take nowhere are lexed with them, so that
texts with one are refused. Everywhere else all the others are lexed together. The rest is as with the contextual lexer
(contextual.py). Source: docs/language.md.
"""

from .contextual import ContextualOracle
from .lexing import preference
from .parsing import Stack


class ModalOracle(ContextualOracle):
    """Masks of a Lark grammar, LALR(1), with the modal lexer. Raises what its base class does."""

    def context(self, stack: Stack) -> frozenset[str]:
        """Names of the terminals allowed on this stack."""
        ignored = frozenset(self.lark.ignore_tokens)
        names = [t.name for t in sorted(self.lark.terminals, key=preference)]
        first = next((i for i, name in enumerate(names) if name in ignored), len(names))
        modal = frozenset(names[:first])
        can_take = super().context(stack) - ignored
        return can_take | (modal & self.parser.never_taken) if can_take & modal else frozenset(names) - modal
