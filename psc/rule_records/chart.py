"""A chart of a text: which rules are open at each of its places, and which are over (Earley 1970).

The text is bytes, and each of its tokens may also be read as itself. Columns stand where characters or tokens end. A column is made
once; what follows does not change it, so that text can be taken back by dropping columns.

Where a rule has a budget of tokens, and as many have had bytes in it, it is *closed* where the next token begins if it can be over
there: it reads nothing behind.

Cost: 10 to 20 us a character for each way in which it can be read; memory as much.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from psc.rule_records.network import Network

Mark = tuple[int, tuple[int, ...]]
"""A place of the text, and the columns behind which a character is not yet whole."""
START: Final[Mark] = (0, (0,))
"""Of a chart that has read nothing."""


class Item(NamedTuple):
    """A rule of which a part was read."""

    rule: str
    place: int
    """What is left of it."""
    origin: int
    """Where it began."""


class Link(NamedTuple):
    """How an item came about: from one before it, by a symbol or by a rule that was read between the two."""

    before: Item
    column: int
    """Of the item before."""
    child: str | None
    """The rule, which began in that column."""


@dataclass(slots=True)
class Column:
    """What is known at a place of the text."""

    items: dict[Item, list[Link]] = field(default_factory=dict)
    """How each came about; an item of which nothing was read has no links."""
    waiting: dict[str, list[tuple[Item, int]]] = field(default_factory=dict)
    """By rule that begins here: the items that need it, and their places behind it."""
    over: dict[tuple[str, int], list[Item]] = field(default_factory=dict)
    """Items of rules that end here, by (rule, where it began), in the order in which that was found: inner ones first."""


class Chart:
    """The chart of a text that grows at its end.

    Args:
        network: of the rules.
        root: the rule that the whole text is one of, or the beginning of one.
        budgets: per rule that has one, how many tokens.
        spent: rules that can be over where a step ends, and the rule that they are the beginning of is spent, and nowhere else.
    """

    def __init__(self, network: Network, root: str, budgets: Mapping[str, int] | None = None, spent: Collection[str] = ()) -> None:
        self._network = network
        self._root = root
        self._budgets = budgets or {}
        self._spent = spent
        self._token_ends: list[int] = []
        self._closed: dict[tuple[str, int], int] = {}
        """By (rule, where it began) the place behind which it reads nothing."""
        self.text = bytearray()
        """What was read."""
        self.columns: dict[int, Column] = {0: Column({Item(root, network.start(root), 0): []})}
        """By place of the text, ascending."""
        self._open = [0]
        """Columns behind which a character is not yet whole."""
        self._close(0)

    def append(self, text: bytes, token: int | None = None, *, is_text: bool = True) -> None:
        """Reads on.

        Args:
            text: more bytes, at least one.
            token: the symbol of the token that they are.
            is_text: whether they may be read as characters.
        """
        start = len(self.text)
        if self._budgets:
            self._reopen(start)
            if token is not None:
                self._close_spent(start)
                self._token_ends.append(start + len(text))
        self.text += text
        end = len(self.text)
        if token is not None and start in self.columns:
            self._scan(start, token, end)
        if not is_text:
            self._open = []
        waiting = []
        for at in self._places(end):
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
        """Takes back what was read since then."""
        length, waiting = mark
        del self.text[length:]
        for at in [at for at in self.columns if at > length]:
            del self.columns[at]
        self._open = list(waiting)
        while self._token_ends and self._token_ends[-1] > length:
            self._token_ends.pop()
        self._reopen(length)

    def reading(self) -> Iterator[tuple[Item, int]]:
        """The items, with their columns, that go on with the token that may come next."""
        if self._budgets:
            self._close_spent(len(self.text))
        known: dict[tuple[str, int], bool] = {}
        for at in self._open:
            begun = bytes(self.text[at:])
            first, last = _begun_by(begun) if begun else (0, -1)
            for item in self.columns[at].items:
                reads = self._network.reads_within(item.place, first, last) if begun else self._network.moves(item.place).reads
                if reads and not self._is_closed(item, at) and (not self._closed or self._may_go_on(item, known)):
                    yield item, at

    def callers(self, rule: str, origin: int) -> Iterator[Item]:
        """The items that need a rule where it began, and may read on."""
        for caller, _ in self.columns[origin].waiting.get(rule, ()):
            if (caller.rule, caller.origin) not in self._closed:
                yield caller

    def _is_closed(self, item: Item, at: int) -> bool:
        place = self._closed.get((item.rule, item.origin))
        return place is not None and place <= at

    def _may_go_on(self, item: Item, known: dict[tuple[str, int], bool]) -> bool:
        """Whether a rule that is open is needed by open ones only, up to the root."""
        todo, seen = [(item.rule, item.origin)], {(item.rule, item.origin)}
        found = False
        for rule, origin in todo:  # which grows
            if (rule, origin) == (self._root, 0) or known.get((rule, origin)):
                found = True
                break
            more = {(c.rule, c.origin) for c in self.callers(rule, origin)} - seen
            seen |= more
            todo += more
        known[item.rule, item.origin] = found
        return found

    def _is_spent(self, rule: str, origin: int) -> bool:
        most = self._budgets.get(rule)
        return most is not None and len(self._token_ends) - bisect_right(self._token_ends, origin) >= most

    def _is_within_spent(self, rule: str, origin: int) -> bool:
        """Whether a rule is in one that is spent."""
        todo, seen = [(rule, origin)], {(rule, origin)}
        for one, began in todo:  # which grows
            if self._is_spent(one, began):
                return True
            more = {(c.rule, c.origin) for c in self.callers(one, began)} - seen
            seen |= more
            todo += more
        return False

    def _reopen(self, at: int) -> None:
        """Takes back what was closed at a place, or behind."""
        if self._closed:
            self._closed = {rule: place for rule, place in self._closed.items() if place < at}

    def _close_spent(self, at: int) -> None:
        """Closes what is spent and over at a place."""
        if at not in self.columns:
            return
        self._close(at)
        for rule, origin in self.columns[at].over:
            if origin < at and self._is_spent(rule, origin):
                self._closed.setdefault((rule, origin), at)

    def _places(self, end: int) -> Iterator[int]:
        """Columns to read a character from, ascending; each that is reached before `end` comes later."""
        todo = sorted(self._open)
        while todo:
            at = todo.pop(0)
            if at >= end:
                continue
            self._close(at)
            yield at
            behind = at + _width(self.text[at])
            if behind < end and behind in self.columns and behind not in todo:
                todo = sorted([*todo, behind])

    def _scan(self, at: int, symbol: int | None, end: int) -> None:
        if symbol is None:
            return
        step = self._network.step
        for item in self.columns[at].items:
            if self._closed and self._is_closed(item, at):
                continue
            for place in step(item.place, symbol):
                column = self.columns.setdefault(end, Column())
                column.items.setdefault(Item(item.rule, place, item.origin), []).append(Link(item, at, None))

    def _close(self, at: int) -> None:
        """Adds what the items of a column need, and what the rules that end there lead to."""
        column = self.columns[at]
        if column.waiting or column.over:  # it was done
            return
        moves_at = self._network.moves
        todo = list(column.items)

        def add(item: Item, *links: Link) -> None:
            known = column.items.get(item)
            if known is None:
                column.items[item] = known = []
                todo.append(item)
            known += links

        for item in todo:  # which grows
            moves = moves_at(item.place)
            for rule, behind in moves.calls:
                callers = column.waiting.get(rule)
                if callers is None:
                    column.waiting[rule] = [(item, behind)]
                    add(Item(rule, self._network.start(rule), at))
                else:
                    callers.append((item, behind))
                if (rule, at) in column.over:
                    add(Item(item.rule, behind, item.origin), Link(item, at, rule))
            if not moves.ends:
                continue
            if item.rule in self._spent and not (at == len(self.text) and self._is_within_spent(item.rule, item.origin)):
                continue
            column.over.setdefault((item.rule, item.origin), []).append(item)
            if len(column.over[item.rule, item.origin]) == 1:
                for caller, behind in list(self.columns[item.origin].waiting.get(item.rule, ())):
                    if self._closed.get((caller.rule, caller.origin), at) < at:
                        continue
                    add(Item(caller.rule, behind, caller.origin), Link(caller, item.origin, item.rule))


def _width(lead: int) -> int:
    """Bytes of the character that begins with a byte."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _code_point(text: bytearray) -> int | None:
    try:
        return ord(text.decode())
    except UnicodeDecodeError:
        return None


def _begun_by(begun: bytes) -> tuple[int, int]:
    """The range of the characters whose bytes begin so; what is no character in it matters to no rule."""
    width = _width(begun[0])
    bits = begun[0] & (0x7F >> width)
    for byte in begun[1:]:
        bits = bits << 6 | byte & 0x3F
    left = 6 * (width - len(begun))
    return bits << left, ((bits + 1) << left) - 1
