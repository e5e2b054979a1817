"""How a lexeme can go on: what it can still become, and the fewest bytes to its end.

The lexer is a transducer that the matcher's machine holds, or builds on demand. This module searches it, breadth first, from one
state to where the lexeme is complete. The parser's state does not matter.

Cost: a search is linear in the lexer states of the lexeme; each is made once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from psc.ids import ByteClass, LexerState, LexSymbol, LrState
from psc.runtime.compiled import LoadedGrammar

START = LexerState(0)
"""The state where a lexeme begins, in any context; also the state after a lexeme that nothing can extend."""
RESTART = LexerState(-2)
"""Instead of a state: the byte is read again, from the start that the parser's stack has then."""
Symbols = tuple[LexSymbol, ...]
"""The lexer's output for the parser: terminals, and conditions on the top of the stack."""
_MAX_STATES = 20_000


class Lexemes:
    """The lexemes of one compiled grammar."""

    def __init__(self, compiled: LoadedGrammar) -> None:
        self._machine = compiled._machine
        self.n_terminals = self._machine.lr.n_terminals
        self._n_lr_states = self._machine.lr.n_lr_states
        self.byte_class: list[ByteClass] = self._machine.byte_class.tolist()
        """Per byte its class."""
        self._steps: dict[LexerState, list[tuple[ByteClass, Symbols, LexerState]]] = {}
        self._finishes: dict[LexerState, list[tuple[Symbols, int]]] = {}

    def start(self, lr_state: LrState) -> LexerState:
        """The lexer state in which a lexeme begins where this LR state is on top of the stack."""
        return LexerState(self._machine.lexer_start(lr_state))

    def steps(self, state: LexerState) -> list[tuple[ByteClass, Symbols, LexerState]]:
        """The steps on a byte: (byte class, symbols read, lexer state after it, or ``RESTART``)."""
        steps = self._steps.get(state)
        if steps is None:
            steps = self._steps[state] = [
                (ByteClass(c), tuple(map(LexSymbol, s)), LexerState(to)) for c, s, to in self._machine.lexer_steps(state)
            ]
        return steps

    def ends(self, state: LexerState) -> list[Symbols]:
        """The symbols read if the text ends here, one of these; none if the lexeme is incomplete."""
        return [tuple(map(LexSymbol, s)) for s in self._machine.lexer_ends(state)]

    def becomes(self, state: LexerState) -> list[LexSymbol]:
        """The terminals that the unfinished lexeme, or one begun in it where it fails, can become; none where it may be ignored."""
        return [LexSymbol(t) for t in self._machine.lexer_becomes(state)]

    def finishes(self, state: LexerState) -> list[tuple[Symbols, int]]:
        """The symbols that the unfinished lexeme can become, and the fewest bytes to that; nearest first."""
        finishes = self._finishes.get(state)
        if finishes is None:
            finishes = self._finishes[state] = sorted(self._find_finishes(state), key=lambda f: f[1])
        return finishes

    def _find_finishes(self, start: LexerState) -> Iterator[tuple[Symbols, int]]:
        complete: set[Symbols] = set()
        distance = {start: 0}
        queue = deque([start])
        while queue and len(distance) < _MAX_STATES:
            state = queue.popleft()
            n = distance[state]
            for last in self.ends(state):
                if last not in complete:
                    complete.add(last)
                    yield last, n
            if () in complete:
                return  # nothing is unfinished: another lexeme follows
            for _, symbols, to in self.steps(state):
                if to == START and not any(symbols[:k] in complete for k in range(1, len(symbols) + 1)):
                    # A lexeme that nothing can extend is complete at once. (After another that is complete here, it is the next.)
                    complete.add(symbols)
                    yield symbols, n + 1
                elif to > START and not symbols and to not in distance:
                    distance[to] = n + 1
                    queue.append(to)

    def shortest_spellings(self) -> dict[LexSymbol, int]:
        """Per terminal the fewest bytes of a lexeme; terminals without a lexeme are left out."""
        shortest: dict[LexSymbol, int] = {}
        for start in sorted({self.start(LrState(s)) for s in range(self._n_lr_states)}):
            for _, symbols, to in self.steps(start):
                ways: list[tuple[Symbols, int]] = [((), 0)] if to == START else self.finishes(to) if to > START else []
                for more, n in ways:
                    terminals = [s for s in (*symbols, *more) if s < self.n_terminals]
                    if len(terminals) == 1:
                        shortest[terminals[0]] = min(shortest.get(terminals[0], n + 1), n + 1)
        return shortest
