"""A chart of a text: which rules are open at each of its places, and which are over (Earley 1970).

The text is bytes, and each of its tokens may also be read as itself. Columns stand where characters or tokens end. A column is made
once; what follows does not change it, so that text can be taken back by dropping columns.

Cost: 10 to 20 us a character for each way in which it can be read; memory as much.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """

    def __init__(self, network: Network, root: str) -> None:
        self._network = network
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

    def reading(self) -> Iterator[tuple[Item, int]]:
        """The items, with their columns, that go on with what may come next."""
        for at in self._open:
            begun = bytes(self.text[at:])
            first, last = _begun_by(begun) if begun else (0, -1)
            for item in self.columns[at].items:
                reads = self._network.reads_within(item.place, first, last) if begun else self._network.moves(item.place).reads
                if reads:
                    yield item, at

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
            column.over.setdefault((item.rule, item.origin), []).append(item)
            if len(column.over[item.rule, item.origin]) == 1:
                for caller, behind in list(self.columns[item.origin].waiting.get(item.rule, ())):
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
