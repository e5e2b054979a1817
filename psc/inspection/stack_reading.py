"""How the classifier makes a mask: which symbols of the parser's stack it reads, and the decisions of each.

The classifier reads a stack from its top and stops when nothing is left to decide. On the way it reports which sequences of
terminals have become viable; the tokens that realize them are the mask. These are the steps that it takes for masks, too.

Cost: that of the mask for each symbol that is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from psc._core import GrammarMatcher, MatcherView
from psc.ids import LrState
from psc.inspection.configurations import configurations
from psc.inspection.expected import Names
from psc.inspection.lr_items import LrItems
from psc.runtime.compiled import LoadedGrammar

_MAX_SEQUENCES = 50


@dataclass(frozen=True)
class StackRead:
    """A symbol of the stack that the classifier has read."""

    depth: int
    """From the top, which is 0. Those between two reads decide nothing."""
    symbol: str
    """The terminal or nonterminal; empty at the bottom."""
    lr_state: int
    state: int
    """Of the classifier, before it read the symbol."""
    sequences: tuple[str, ...]
    """Terminals that a token may spell here, decided by this symbol; at most 50, and none where the grammar is from an artifact."""
    n_sequences: int
    allowed: int
    """Tokens that are allowed as far as it is decided now."""


@dataclass(frozen=True)
class StackReading:
    """How one configuration's stack is read."""

    always: int
    """Tokens that are allowed whatever the stack is."""
    reads: tuple[StackRead, ...]
    stack: tuple[str, ...]
    """Its symbols, top first; the bottom has none."""


class StackReader:
    """Shows how masks of a compiled grammar are made.

    Args:
        compiled: the grammar.
    """

    def __init__(self, compiled: LoadedGrammar) -> None:
        self._names = Names(compiled.metadata).of
        self._nonterminals = [str(name) for name in compiled.metadata["grammar"]["nonterminals"]]
        self._items = LrItems(compiled._machine.lr)

    def read(self, matcher: GrammarMatcher, configuration: int = 0) -> StackReading:
        """How a configuration's stack is read.

        Args:
            matcher: where a text is.
            configuration: its index, see `psc.inspection.configurations`.

        Raises:
            MatcherError: there is no such configuration.
        """
        always, reads = MatcherView(matcher).classifier_walk(configuration)
        stack = configurations(matcher)[configuration].stack
        return StackReading(
            always,
            tuple(
                StackRead(
                    depth,
                    self._symbol(LrState(lr_state)),
                    lr_state,
                    state,
                    tuple(" ".join(self._names[t] for t in sequence) for sequence in sequences[:_MAX_SEQUENCES]),
                    len(sequences),
                    allowed,
                )
                for depth, lr_state, state, sequences, allowed in reads
            ),
            tuple(map(self._symbol, stack[:-1])),
        )

    def _symbol(self, lr_state: LrState) -> str:
        symbol = self._items.accessing[lr_state]
        n = self._items.n_terminals
        if symbol < 0:
            return ""
        return self._names[symbol] if symbol < n else self._nonterminals[symbol - n]
