"""Lark's contextual lexer, but maximal munch: each lexeme is lexed with the terminals that the parser could take there.

At the start of a lexeme the terminals allowed are those that the LR state on top of the stack has an action for (Lark's own
tables), and the ignored ones. The lexeme is then lexed with the minimal automaton of just these terminals: the longest
wins, on it the higher priority, then string before regex, then Lark's order; fall-back and commitment are judged on that
automaton (lexing.py says how). An ignored terminal leaves the stack, hence the context, as it is.

So lexing and parsing go together. A terminal goes to the parser as soon as its lexeme is complete, on a stack of its own; if
the lexeme then grows and fails, that stack is where the bytes since are lexed again, in the contexts that it gives.

Cost: an automaton for each set of terminals met; then a few microseconds for each byte. Source: docs/language.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import lark

from .lexing import LexerAutomaton
from .masks import Undecided
from .parsing import Parser, Stack

_MAX_FALL_BACKS = 5_000


@dataclass(frozen=True, eq=False)
class Reading:
    """Where lexer and parser stand, in a lexeme that is not finished yet.

    `fall_back` is what takes its place if it fails or the text ends: the parser has taken the terminal that it was when it
    was last complete, and the bytes since are lexed again. It is brought up to date with every byte. None if there
    is no such thing: it never was complete, the parser refuses the terminal, the lexer is committed to the longer
    lexeme, or the bytes since cannot be lexed again. An oracle makes each only once, so equal ones are one object.
    """

    stack: Stack  # when the lexeme began
    state: int  # in the automaton of that stack's context
    begun: bool  # whether any byte of it has been read
    fall_back: "Reading | None"


class ContextAutomata:
    """One automaton for each set of terminals that a lexeme is lexed with."""

    def __init__(self, terminals: Iterable[Any]) -> None:
        self._terminals = list(terminals)
        self._of: dict[frozenset[str], LexerAutomaton] = {}
        self.representative_bytes = LexerAutomaton(self._terminals).representative_bytes

    def of(self, context: frozenset[str]) -> LexerAutomaton:
        """The automaton of the terminals with these names."""
        if context not in self._of:
            self._of[context] = LexerAutomaton([t for t in self._terminals if t.name in context])
        return self._of[context]


class ContextualOracle:
    """Masks of a Lark grammar, LALR(1), with the contextual lexer.

    Raises what Lark raises for a bad grammar, `Unsupported` for a regex that the oracle refuses.
    """

    def __init__(self, grammar_text: str, start: str = "start") -> None:
        self.lark = lark.Lark(grammar_text, parser="lalr", lexer="contextual", start=start)
        self.parser = Parser(self.lark, start)
        self._automata = ContextAutomata(self.lark.terminals)
        self._bytes = self._automata.representative_bytes
        self._readings: dict[tuple[Stack, int, bool, Reading | None], Reading] = {}
        self._steps: dict[tuple[Reading, int], Reading | None] = {}
        self._continuations: dict[Reading, bool] = {}
        self.start = self._lexeme(self.parser.start)

    def automaton(self, stack: Stack) -> LexerAutomaton:
        """The automaton for the lexeme that begins on this stack."""
        return self._automata.of(self.context(stack))

    def context(self, stack: Stack) -> frozenset[str]:
        """Names of the terminals allowed on this stack."""
        return self.parser.context(stack)

    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]:
        """For each token, whether prefix + token begins some sentence. Raises Undecided."""
        here = self.read(self.start, prefix)
        after = [self.read(here, token) for token in tokens]
        return [reading is not None and self._continues(reading) for reading in after]

    def eos_allowed(self, prefix: bytes) -> bool:
        """Whether the text may end after the prefix."""
        return self.accepts(prefix)

    def accepts(self, text: bytes) -> bool:
        """Whether the text is a sentence."""
        return self._ends(self.read(self.start, text))

    def read(self, reading: Reading | None, text: bytes) -> Reading | None:
        """`step` for each byte of the text."""
        for byte in text:
            if reading is None:
                return None
            reading = self.step(reading, byte)
        return reading

    def step(self, reading: Reading | None, byte: int) -> Reading | None:
        """What one more byte leads to; None if nothing can go on like this."""
        if reading is None:
            return None
        key = (reading, byte)
        if key not in self._steps:
            self._steps[key] = self._step(reading, byte)
        return self._steps[key]

    def _lexeme(self, stack: Stack) -> Reading:
        """Before the first byte of a lexeme."""
        return self._interned(stack, self.automaton(stack).start, False, None)

    def _interned(self, stack: Stack, state: int, begun: bool, fall_back: Reading | None) -> Reading:
        key = (stack, state, begun, fall_back)
        if key not in self._readings:
            self._readings[key] = Reading(stack, state, begun, fall_back)
        return self._readings[key]

    def _step(self, reading: Reading, byte: int) -> Reading | None:
        d, stack = self.automaton(reading.stack), reading.stack
        instead = self.step(reading.fall_back, byte)
        state = d.next[reading.state].get(byte)
        if state is None:
            return instead
        winner = d.winner[state]
        if winner is not None:
            after = self.parser.shift(stack, winner)
            return self._interned(stack, state, True, None if after is None else self._lexeme(after))
        return self._interned(stack, state, True, None if d.commits[state] else instead)

    def _ends(self, reading: Reading | None) -> bool:
        """Whether the text may end here."""
        if reading is None or not reading.begun:
            return reading is not None and self.parser.accepts(reading.stack)
        return self._ends(reading.fall_back)

    def _continues(self, reading: Reading) -> bool:
        """Whether some text after this leads to terminals that the parser takes."""
        if reading not in self._continuations:
            self._continuations[reading] = self._search(reading)
        return self._continuations[reading]

    def _search(self, reading: Reading) -> bool:
        todo = [reading]
        seen = {reading}
        for reading in todo:  # grows while we walk it
            if not reading.begun:
                return True
            # It becomes one terminal, now or after more bytes.
            can_become = self.automaton(reading.stack).can_become[reading.state]
            if any(self.parser.shift(reading.stack, t) is not None for t in can_become):
                return True
            # It falls back because the text ends.
            if self._ends(reading):
                return True
            # It falls back because of some next byte, at once or after bytes that still go on with it.
            if reading.fall_back is not None:
                for byte in self._bytes:
                    after = self.step(reading, byte)
                    if after is not None and after not in seen:
                        seen.add(after)
                        todo.append(after)
            if len(seen) > _MAX_FALL_BACKS:
                raise Undecided(reading)
        return False
