"""A chart of a text: which rules are open at each of its positions, and which are complete (Earley 1970).

The text is bytes, and each of its tokens may also be read as itself. Columns stand where characters or tokens end. A column is made
once; later text does not change it, so text is taken back by dropping columns.

A rule may have a budget of n tokens. Once n tokens have had bytes in it, it is *closed* where the next token begins, if it can be
complete there: it reads nothing after that.

Cost: 10 to 20 us a character for each way in which it can be read; the same in bytes of memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from psc.rule_records.network import Network, NetworkState

Mark = tuple[int, tuple[int, ...]]
"""A position in the text, and the columns after which a character is not yet whole."""
START: Final[Mark] = (0, (0,))
"""The mark of a chart that has read nothing."""


class Item(NamedTuple):
    """A rule that is partly read."""

    rule: str
    state: NetworkState
    """What is left of the rule."""
    origin: int
    """The column where it began."""


class Link(NamedTuple):
    """How an item came about: from one before it, by a symbol or by a rule that was read between the two."""

    before: Item
    column: int
    """Of the item before."""
    child: str | None
    """The rule between the two, which began in that column."""


@dataclass(slots=True)
class Column:
    """The items at a position in the text."""

    items: dict[Item, list[Link]] = field(default_factory=dict)
    """How each item came about; one at the beginning of its rule has no links."""
    waiting: dict[str, list[tuple[Item, NetworkState]]] = field(default_factory=dict)
    """By rule that begins here: the items that need it, and their states after it."""
    completed: dict[tuple[str, int], list[Item]] = field(default_factory=dict)
    """Items of rules that end here, by (rule, where it began); inner ones first."""


class Chart:
    """The chart of a text that grows at its end.

    Args:
        network: of the rules.
        root: the rule of the whole text, which may be incomplete.
        budgets: tokens per rule that has a budget.
        exhausted: rules that can be complete only where a step ends and the budget of the rule that they begin is exhausted.
    """

    def __init__(
        self, network: Network, root: str, budgets: Mapping[str, int] | None = None, exhausted: Collection[str] = ()
    ) -> None:
        self._network = network
        self._root = root
        self._budgets = budgets or {}
        self._exhausted = exhausted
        self._token_ends: list[int] = []
        self._closed: dict[tuple[str, int], int] = {}
        """By (rule, where it began) the position after which it reads nothing."""
        self.text = bytearray()
        """The bytes read."""
        self.columns: dict[int, Column] = {0: Column({Item(root, network.start(root), 0): []})}
        """By position in the text, ascending."""
        self._open = [0]
        """Columns after which a character is not yet whole."""
        self._close(0)

    def append(self, text: bytes, token: int | None = None, *, is_text: bool = True) -> None:
        """Reads on.

        Args:
            text: more bytes, at least one.
            token: the token's symbol, if they are a token.
            is_text: whether they may be read as characters.
        """
        start = len(self.text)
        if self._budgets:
            self._reopen(start)
            if token is not None:
                self._close_exhausted(start)
                self._token_ends.append(start + len(text))
        self.text += text
        end = len(self.text)
        if token is not None and start in self.columns:
            self._scan(start, token, end)
        if not is_text:
            self._open = []
        waiting = []
        for at in self._readable(end):
            width = _width(self.text[at])
            if at + width > end:
                waiting.append(at)
                continue
            self._scan(at, _code_point(self.text[at : at + width]), at + width)
        if end in self.columns:
            self._close(end)
            waiting.append(end)
        self._open = waiting

    def mark(self) -> Mark:
        """What `rewind` takes to come back here."""
        return len(self.text), tuple(self._open)

    def rewind(self, mark: Mark) -> None:
        """Takes back the text since that mark."""
        length, waiting = mark
        del self.text[length:]
        for at in [at for at in self.columns if at > length]:
            del self.columns[at]
        self._open = list(waiting)
        while self._token_ends and self._token_ends[-1] > length:
            self._token_ends.pop()
        self._reopen(length)

    def reading(self) -> Iterator[tuple[Item, int]]:
        """The items, with their columns, that can read a next token."""
        if self._budgets:
            self._close_exhausted(len(self.text))
        seen: dict[tuple[str, int], bool] = {}
        for at in self._open:
            begun = bytes(self.text[at:])
            first, last = _begun_by(begun) if begun else (0, -1)
            for item in self.columns[at].items:
                reads = self._network.reads_within(item.state, first, last) if begun else self._network.moves(item.state).reads
                if reads and not self._is_closed(item, at) and (not self._closed or self._may_go_on(item, seen)):
                    yield item, at

    def callers(self, rule: str, origin: int) -> Iterator[Item]:
        """The items that need a rule where it began, and may read on."""
        for caller, _ in self.columns[origin].waiting.get(rule, ()):
            if (caller.rule, caller.origin) not in self._closed:
                yield caller

    def _is_closed(self, item: Item, at: int) -> bool:
        end = self._closed.get((item.rule, item.origin))
        return end is not None and end <= at

    def _may_go_on(self, item: Item, answers: dict[tuple[str, int], bool]) -> bool:
        """Whether open rules lead from an open rule up to the root."""
        todo, seen = [(item.rule, item.origin)], {(item.rule, item.origin)}
        needed = False
        for rule, origin in todo:  # which grows
            if (rule, origin) == (self._root, 0) or answers.get((rule, origin)):
                needed = True
                break
            more = {(c.rule, c.origin) for c in self.callers(rule, origin)} - seen
            seen |= more
            todo += more
        answers[item.rule, item.origin] = needed
        return needed

    def _is_exhausted(self, rule: str, origin: int) -> bool:
        budget = self._budgets.get(rule)
        return budget is not None and len(self._token_ends) - bisect_right(self._token_ends, origin) >= budget

    def _is_within_exhausted(self, rule: str, origin: int) -> bool:
        """Whether a rule is in one whose budget is exhausted."""
        todo, seen = [(rule, origin)], {(rule, origin)}
        for one, began in todo:  # which grows
            if self._is_exhausted(one, began):
                return True
            more = {(c.rule, c.origin) for c in self.callers(one, began)} - seen
            seen |= more
            todo += more
        return False

    def _reopen(self, at: int) -> None:
        """Opens the rules that were closed at a position or after it."""
        if self._closed:
            self._closed = {rule: end for rule, end in self._closed.items() if end < at}

    def _close_exhausted(self, at: int) -> None:
        """Closes the rules that are complete at a position and have exhausted their budget."""
        if at not in self.columns:
            return
        self._close(at)
        for rule, origin in self.columns[at].completed:
            if origin < at and self._is_exhausted(rule, origin):
                self._closed.setdefault((rule, origin), at)

    def _readable(self, end: int) -> Iterator[int]:
        """Columns to read a character from, ascending, with those that the reading reaches before `end`."""
        todo = sorted(self._open)
        while todo:
            at = todo.pop(0)
            if at >= end:
                continue
            self._close(at)
            yield at
            after = at + _width(self.text[at])
            if after < end and after in self.columns and after not in todo:
                todo = sorted([*todo, after])

    def _scan(self, at: int, symbol: int | None, end: int) -> None:
        if symbol is None:
            return
        step = self._network.step
        for item in self.columns[at].items:
            if self._closed and self._is_closed(item, at):
                continue
            for state in step(item.state, symbol):
                column = self.columns.setdefault(end, Column())
                column.items.setdefault(Item(item.rule, state, item.origin), []).append(Link(item, at, None))

    def _close(self, at: int) -> None:
        """Adds the items that those of a column need, and those after the rules that end there."""
        column = self.columns[at]
        if column.waiting or column.completed:  # it was done
            return
        moves_at = self._network.moves
        todo = list(column.items)

        def add(item: Item, *links: Link) -> None:
            present = column.items.get(item)
            if present is None:
                column.items[item] = present = []
                todo.append(item)
            present += links

        for item in todo:  # which grows
            moves = moves_at(item.state)
            for rule, after in moves.calls:
                callers = column.waiting.get(rule)
                if callers is None:
                    column.waiting[rule] = [(item, after)]
                    add(Item(rule, self._network.start(rule), at))
                else:
                    callers.append((item, after))
                if (rule, at) in column.completed:
                    add(Item(item.rule, after, item.origin), Link(item, at, rule))
            if not moves.ends:
                continue
            if item.rule in self._exhausted and not (at == len(self.text) and self._is_within_exhausted(item.rule, item.origin)):
                continue
            column.completed.setdefault((item.rule, item.origin), []).append(item)
            if len(column.completed[item.rule, item.origin]) == 1:
                for caller, after in list(self.columns[item.origin].waiting.get(item.rule, ())):
                    if self._closed.get((caller.rule, caller.origin), at) < at:
                        continue
                    add(Item(caller.rule, after, caller.origin), Link(caller, item.origin, item.rule))


def _width(lead: int) -> int:
    """Bytes of the character that begins with a byte."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _code_point(text: bytearray) -> int | None:
    try:
        return ord(text.decode())
    except UnicodeDecodeError:
        return None


def _begun_by(begun: bytes) -> tuple[int, int]:
    """The range of the characters whose bytes begin so. It may hold numbers that are no characters; no rule reads them."""
    width = _width(begun[0])
    bits = begun[0] & (0x7F >> width)
    for byte in begun[1:]:
        bits = bits << 6 | byte & 0x3F
    left = 6 * (width - len(begun))
    return bits << left, ((bits + 1) << left) - 1
