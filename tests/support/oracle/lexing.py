"""The lexer: all terminals together, longest lexeme first, with fall-back and commitment, one byte at a time.

`LexerAutomaton` is D, the minimal deterministic byte automaton of all terminals, states labelled with the terminal that
wins there (so terminals that never win do not count), states that cannot reach acceptance removed. `Lexer` walks it:

* the longest lexeme wins; on it, the higher priority, then string before regex, then Lark's order;
* a longer lexeme that was begun and fails falls back to the last complete one, and the bytes after that are lexed
  again;
* but on a non-accepting state on a cycle of non-accepting states (an open comment, which could be unboundedly long) the
  lexer is committed: no fall-back until the next accepting state.

An accepting state that leads nowhere could end its lexeme at once; it ends with the next byte instead, the same
language.

Cost: |D| x byte classes to build, times the rounds of Moore's minimization; then a dictionary lookup a byte.
Source: docs/language.md.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from .automaton import RegexAutomaton


class LexError(Exception):
    """No sequence of lexemes can begin like this text, or the text ends inside one."""


def preference(terminal: Any) -> tuple[int, bool, int, int, str]:
    """Sort key of a Lark terminal: among terminals that match the same longest lexeme the smallest key wins."""
    pattern = terminal.pattern
    is_regex = pattern.type != "str"
    return (-terminal.priority, is_regex, -pattern.max_width, -len(pattern.value), terminal.name)


class LexerAutomaton:
    """D. States are ints; `winner` names the terminal of an accepting state."""

    def __init__(self, terminals: Collection[Any], barred: Collection[Any] = (), *, ascii_case: bool = False) -> None:
        """No lexeme begins with what one of the `barred` terminals matches. `ascii_case`: the flag `i` is of letters of ASCII."""
        ordered = sorted(terminals, key=preference)
        names = [t.name for t in ordered]
        patterns = [(t.pattern.to_regexp(), ascii_case and "i" in t.pattern.flags) for t in (*ordered, *barred)]
        parts = [RegexAutomaton(f"(?a:{pattern})" if in_ascii else pattern) for pattern, in_ascii in patterns]
        classes = _byte_classes(parts)

        # The product: which terminals are still possible, and where each of them is.
        start = tuple((i, part.start) for i, part in enumerate(parts))
        states = [start]
        index = {start: 0}
        arrows: list[dict[int, int]] = []
        for state in states:  # grows while we walk it
            here: dict[int, int] = {}
            for byte in classes:
                target = tuple((i, after) for i, s in state if (after := parts[i].next(s, byte)) is not None)
                if target and not any(i >= len(names) and parts[i].accepts(s) for i, s in target):
                    if target not in index:
                        index[target] = len(states)
                        states.append(target)
                    here[byte] = index[target]
            arrows.append(here)
        winners = [next((names[i] for i, s in state if i < len(names) and parts[i].accepts(s)), None) for state in states]

        arrows = _without_dead_ends(arrows, winners)
        block = _equivalence(arrows, winners)
        self.start = block[0]
        self.winner: list[str | None] = [None] * (max(block) + 1)
        self.next: list[dict[int, int]] = [{} for _ in self.winner]
        for number, here in enumerate(arrows):
            self.winner[block[number]] = winners[number]
            for byte, to in here.items():
                for same in classes[byte]:
                    self.next[block[number]][same] = block[to]
        self.representative_bytes = tuple(classes)

        successors = [frozenset(here.values()) for here in self.next]
        silent = [frozenset(t for t in after if self.winner[t] is None) for after in successors]
        self.can_become = [
            frozenset(w for t in _reachable(successors, {s}) if (w := self.winner[t]) is not None) for s in range(len(successors))
        ]
        self.commits = [self.winner[s] is None and s in _reachable(silent, silent[s]) for s in range(len(successors))]


def _byte_classes(parts: Sequence[RegexAutomaton]) -> dict[int, list[int]]:
    """Bytes that no terminal tells apart, by their smallest member."""
    reads = [read for part in parts for read in part.pattern.reads]
    by_behaviour: dict[tuple[int | None, ...], list[int]] = {}
    for byte in range(256):
        behaviour = tuple(id(read.after[byte]) if byte in read.after else None for read in reads)
        by_behaviour.setdefault(behaviour, []).append(byte)
    return {members[0]: members for members in by_behaviour.values()}


def _reachable(successors: Sequence[frozenset[int]], start: Iterable[int]) -> set[int]:
    found = set(start)
    todo = list(found)
    while todo:
        new = successors[todo.pop()] - found
        found |= new
        todo += new
    return found


def _without_dead_ends(arrows: list[dict[int, int]], winners: list[str | None]) -> list[dict[int, int]]:
    """The arrows less those into states that cannot reach acceptance."""
    before: list[set[int]] = [set() for _ in arrows]
    for state, here in enumerate(arrows):
        for target in here.values():
            before[target].add(state)
    alive = _reachable([frozenset(b) for b in before], {s for s, w in enumerate(winners) if w is not None})
    return [{byte: t for byte, t in here.items() if t in alive} for here in arrows]


def _equivalence(arrows: list[dict[int, int]], winners: list[str | None]) -> list[int]:
    """The number of each state's equivalence class, by Moore's refinement from the winners."""
    numbers: dict[Any, int] = {}
    block = [numbers.setdefault(w, len(numbers)) for w in winners]
    while True:
        count, numbers = len(numbers), {}
        signatures = ((block[s], frozenset((b, block[t]) for b, t in here.items())) for s, here in enumerate(arrows))
        block = [numbers.setdefault(signature, len(numbers)) for signature in signatures]
        if len(numbers) == count:
            return block


@dataclasses.dataclass(frozen=True, eq=False)
class Pending:
    """Where the lexer stands in the lexeme that is not finished yet.

    `fall_back` is what takes its place if it fails or the text ends: the last terminal that it has been, then the
    terminals of the bytes read since, lexed again, and what is pending of those. It is brought up to date with every
    byte, so that the bytes need not be kept. None if there is no such thing: it never was complete, or the lexer is
    committed to it, or the bytes read since cannot be lexed again. A lexer makes each only once, so equal ones are one object.
    """

    state: int
    begun: bool  # whether any byte of it has been read
    fall_back: "Lexed | None"


Lexed = tuple[tuple[str, ...], Pending]  # the terminals that are certain, and what is pending after them


class Lexer:
    """Steps through text; what is pending is a value, so that lexing can be taken up anywhere."""

    def __init__(self, automaton: LexerAutomaton) -> None:
        self.automaton = automaton
        self._pending: dict[tuple[int, bool, Lexed | None], Pending] = {}
        self._steps: dict[tuple[Pending, int], Lexed | None] = {}
        self.nothing = self._interned(automaton.start, False, None)

    def step(self, pending: Pending, byte: int) -> Lexed | None:
        """What one more byte leads to; None if nothing can go on like this."""
        key = (pending, byte)
        if key not in self._steps:
            self._steps[key] = self._step(pending, byte)
        return self._steps[key]

    def _step(self, pending: Pending, byte: int) -> Lexed | None:
        d = self.automaton
        instead = self._after(pending.fall_back, byte)
        state = d.next[pending.state].get(byte)
        if state is None:
            return instead
        winner = d.winner[state]
        if winner is not None:
            return (), self._interned(state, True, ((winner,), self.nothing))
        return (), self._interned(state, True, None if d.commits[state] else instead)

    def _interned(self, state: int, begun: bool, fall_back: Lexed | None) -> Pending:
        key = (state, begun, fall_back)
        if key not in self._pending:
            self._pending[key] = Pending(state, begun, fall_back)
        return self._pending[key]

    def _after(self, lexed: Lexed | None, byte: int) -> Lexed | None:
        """`lexed` and one more byte."""
        step = lexed and self.step(lexed[1], byte)
        return (lexed[0] + step[0], step[1]) if lexed and step else None

    def read(self, pending: Pending, text: bytes) -> Lexed | None:
        """`step` for each byte of the text."""
        lexed: Lexed | None = ((), pending)
        for byte in text:
            if lexed is None:
                return None
            lexed = self._after(lexed, byte)
        return lexed

    def finish(self, pending: Pending) -> tuple[str, ...] | None:
        """The terminals of what is pending if the text ends here; None if it would end inside a lexeme."""
        if not pending.begun:
            return ()
        if pending.fall_back is None:
            return None
        terminals, still_pending = pending.fall_back
        last = self.finish(still_pending)
        return None if last is None else terminals + last

    def terminals(self, text: bytes) -> tuple[str, ...]:
        """The terminals of a whole text, ignored ones included. Raises LexError."""
        read = self.read(self.nothing, text)
        last = read and self.finish(read[1])
        if read is None or last is None:
            raise LexError(text)
        return read[0] + last
