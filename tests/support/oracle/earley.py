"""Earley's recognizer: which sequences of letters begin a sentence of a context-free grammar, and which are one.

Any grammar will do: ambiguous, with empty rules, left, right and hidden recursion, cycles. A letter is anything hashable
(a byte, the name of a terminal); a terminal is a deterministic automaton over letters, so it may be one letter or many.

An item says: this production was begun in that column, its right side is read up to the dot, and the terminal after the
dot, if it is one, is in that state. A column is the set of all items after a text. Productions that derive no text at
all are taken out first; then every item can be completed, so a text begins a sentence if and only if its column is not
empty. Nullable symbols are found beforehand and the dot also moves over them as soon as it stands before them (Aycock
and Horspool), which settles every item that would begin and end in the same column.

Columns with equal items are one object, so what follows a column is computed once however it was reached. So is what a nonterminal
brings into any column that expects it: those items begin in the column itself, so nothing of them depends on it.
Cost: Earley's, cubic in the text at worst; microseconds for each item. Source: Earley, "An Efficient Context-Free
Parsing Algorithm" (1970); Aycock and Horspool, "Practical Earley Parsing" (2002).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Symbol = Hashable
Letter = Hashable
Production = tuple[Symbol, tuple[Symbol, ...]]


@dataclass(frozen=True)
class TerminalAutomaton:
    """A terminal: from every state but a start that accepts nothing at all, acceptance can be reached."""

    start: int
    next: Sequence[Mapping[Letter, int]]
    accepts: Sequence[bool]


def one_letter(letter: Letter) -> TerminalAutomaton:
    """The terminal that is this one letter."""
    return TerminalAutomaton(0, ({letter: 1}, {}), (False, True))


NO_TEXT = TerminalAutomaton(0, ({},), (False,))


class Item(NamedTuple):
    """A production partly read; `begun` is the column it began in, None for the column that holds the item."""

    production: int
    dot: int
    state: int  # of the terminal after the dot; 0 if there is none
    begun: "Column | None"


@dataclass(eq=False)
class Column:
    """All items after some text; compared by identity. `waiting` has them by the nonterminal after the dot."""

    items: frozenset[Item]
    waiting: dict[Symbol, list[Item]] = field(default_factory=dict)
    after: "dict[Letter, Column | None]" = field(default_factory=dict)


class Earley:
    """Recognizer of one grammar. `first` is the column of the empty text, None if the grammar has no sentence."""

    def __init__(self, productions: Iterable[Production], terminals: Mapping[Symbol, TerminalAutomaton], start: Symbol) -> None:
        self._terminals = terminals
        goal: Production = (object(), (start,))
        written = [goal, *dict.fromkeys(productions)]
        productive = _closure(written, {t for t, a in terminals.items() if any(a.accepts)})
        self._productions = [p for p in written if productive.issuperset(p[1])]
        self._nullable = _closure(self._productions, {t for t, a in terminals.items() if a.accepts[a.start]})
        self._productions_of: dict[Symbol, list[int]] = {}
        for number, (left, _) in enumerate(self._productions):
            self._productions_of.setdefault(left, []).append(number)
        # Per production and dot the first state of the terminal there; 0 where there is none.
        starts = {t: a.start for t, a in terminals.items()}
        self._starts = [(*(starts.get(symbol, 0) for symbol in right), 0) for _, right in self._productions]
        self._brought: dict[Symbol, frozenset[Item]] = {}
        self._columns: dict[frozenset[Item], Column] = {}
        self.first = self._column([self._at(0, 0, None)]) if goal[0] in productive else None

    def step(self, column: Column, letter: Letter) -> Column | None:
        """The column after one more letter; None if no sentence goes on like this."""
        if letter not in column.after:
            column.after[letter] = self._column(self._scan(column, letter))
        return column.after[letter]

    def read(self, column: Column | None, letters: Iterable[Letter]) -> Column | None:
        """`step` for each letter."""
        for letter in letters:
            if column is None:
                return None
            column = self.step(column, letter)
        return column

    def accepts(self, column: Column) -> bool:
        """Whether what has been read is a sentence."""
        return any(item.production == 0 and item.dot == 1 for item in column.items)

    def _at(self, production: int, dot: int, begun: Column | None) -> Item:
        """The item with the dot there; a terminal after it is in its first state."""
        return Item(production, dot, self._starts[production][dot], begun)

    def _scan(self, column: Column, letter: Letter) -> Iterator[Item]:
        """The terminals after a dot, one letter on."""
        for item in column.items:
            right = self._productions[item.production][1]
            terminal = self._terminals.get(right[item.dot]) if item.dot < len(right) else None
            state = terminal.next[item.state].get(letter) if terminal else None
            if state is not None:
                yield Item(item.production, item.dot, state, item.begun or column)

    def _column(self, scanned: Iterable[Item]) -> Column | None:
        """The column of the scanned items and all that follows from them."""
        todo = list(scanned)
        items = set(todo)
        expected: set[Symbol] = set()
        completed: set[tuple[Symbol, Column]] = set()
        for item in todo:  # grows while we walk it
            left, right = self._productions[item.production]
            new: list[Item] = []
            if item.dot == len(right):
                # Completed. If it began in this very column, `left` is nullable, and the dot has moved over it already.
                if item.begun is not None and (left, item.begun) not in completed:
                    completed.add((left, item.begun))
                    new = [self._at(w.production, w.dot + 1, w.begun) for w in item.begun.waiting.get(left, ())]
            else:
                if right[item.dot] not in self._terminals:
                    expected.add(right[item.dot])
                new = self._over_nothing(item)
            for n in new:
                if n not in items:
                    items.add(n)
                    todo.append(n)
        return self._interned(frozenset(items.union(*map(self._bring, expected)))) if items else None

    def _over_nothing(self, item: Item) -> list[Item]:
        """The item with the dot moved over what is after it, if that may be, or end, without a further letter."""
        symbol = self._productions[item.production][1][item.dot]
        terminal = self._terminals.get(symbol)
        passes = terminal.accepts[item.state] if terminal else symbol in self._nullable
        return [self._at(item.production, item.dot + 1, item.begun)] if passes else []

    def _bring(self, symbol: Symbol) -> frozenset[Item]:
        """All items that begin in a column because it expects the nonterminal."""
        if symbol not in self._brought:
            todo = [self._at(number, 0, None) for number in self._productions_of.get(symbol, ())]
            items = set(todo)
            for item in todo:  # grows while we walk it
                right = self._productions[item.production][1]
                if item.dot < len(right):
                    begun = [self._at(number, 0, None) for number in self._productions_of.get(right[item.dot], ())]
                    for n in begun + self._over_nothing(item):
                        if n not in items:
                            items.add(n)
                            todo.append(n)
            self._brought[symbol] = frozenset(items)
        return self._brought[symbol]

    def _interned(self, items: frozenset[Item]) -> Column:
        if items not in self._columns:
            self._columns[items] = column = Column(items)
            for item in items:
                right = self._productions[item.production][1]
                if item.dot < len(right) and right[item.dot] not in self._terminals:
                    column.waiting.setdefault(right[item.dot], []).append(
                        Item(item.production, item.dot, item.state, item.begun or column)
                    )
        return self._columns[items]


def _closure(productions: Sequence[Production], symbols: set[Symbol]) -> set[Symbol]:
    """`symbols`, and every left side whose whole right side is in the result."""
    found = set(symbols)
    while new := {left for left, right in productions if found.issuperset(right)} - found:
        found |= new
    return found
