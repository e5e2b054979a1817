"""Productions while a grammar is being made: nonterminals that are never empty, and items that may be left out.

Terminals are numbers from 0, nonterminals the complements ``~0``, ``~1``, …, so that both can still be added. A nonterminal stands
for the nonempty texts of what it is made from; where that may be empty, the item that uses it is optional. So there are no empty
productions to remove later, only optional items to expand. Cost: constant per production.
"""

from __future__ import annotations

from psc.errors import ResourceLimitError

MAX_PRODUCTIONS = 200_000
"""Productions of one grammar."""

Item = tuple[int, bool]
"""A symbol of a right-hand side, and whether it may be left out."""


class Productions:
    """Nonterminals with their alternatives, in the order in which they were made."""

    def __init__(self, source_name: str) -> None:
        self.source_name = source_name
        self.names: list[str] = []
        self._taken: dict[str, int] = {}
        self.rules: list[tuple[int, tuple[Item, ...], int]] = []
        """Left-hand side, items, priority."""

    def reserve(self, names: list[str]) -> None:
        """Keeps these names for nonterminals made by :meth:`named`."""
        for name in names:
            self._taken.setdefault(name, 0)

    def named(self, name: str) -> int:
        """A nonterminal of exactly this name."""
        self.names.append(name)
        self._taken.setdefault(name, 0)
        return ~(len(self.names) - 1)

    def named_like(self, name: str) -> int:
        """A nonterminal of this name, or where it is taken, of one made from it."""
        return self.new(name) if name in self._taken else self.named(name)

    def new(self, name: str) -> int:
        """A nonterminal named after ``name``: name_1, name_2, …"""
        number = self._taken.get(name, 0)
        while True:
            number += 1
            if f"{name}_{number}" not in self._taken:
                break
        self._taken[name] = number
        return self.named(f"{name}_{number}")

    def name_of(self, nonterminal: int) -> str:
        return self.names[~nonterminal]

    def add(self, lhs: int, items: tuple[Item, ...], priority: int = 0) -> None:
        """Adds ``lhs : items``. Raises :class:`ResourceLimitError` past the limit."""
        if len(self.rules) >= MAX_PRODUCTIONS:
            raise ResourceLimitError(
                f"{self.source_name}: the grammar needs more than {MAX_PRODUCTIONS:,} productions, the limit; make it smaller"
            )
        self.rules.append((lhs, items, priority))
