"""Counted repetition of a symbol as a binary counter on the parser stack: ``x{m,n}`` in O(log n) productions.

With ``T(0) = x`` and ``T(k+1) = T(k) T(k)``, so that ``T(k)`` is 2^k times x,

* exactly m is the product of the ``T(k)`` over the bits of m, largest first;
* 1 up to ``2^k - 1`` is ``U(k) = T(k-1) U(k-1) | T(k-1) | U(k-1)``, ``U(1) = x``;
* 1 up to r, where ``2^k <= r < 2^(k+1)``, is ``T(k) (1 up to r-2^k) | T(k) | U(k)``.

Every count has one derivation, the digits of its binary form, and a parser that has read some x holds exactly these digits, so the
tables need no conflict (LALR(1)) unless x itself may follow the repetition. No production is empty: what may be left out is an
optional item where it is used. Cost: at most 3 log2 n nonterminals; a parser makes two reductions for each x on average.
Compare the repetition compression of XGrammar 2 (section 3.6), which counts outside the grammar.
"""

from __future__ import annotations

from psc.compiler.productions import Item, Productions

_WRITTEN_OUT = 3
"""Exactly so many times are written as they are."""


class Repetition:
    """Adds repetitions to productions; those of one symbol share what they can."""

    def __init__(self, productions: Productions) -> None:
        self._productions = productions
        self._powers: dict[int, list[int]] = {}
        self._all_below: dict[int, list[int]] = {}
        self._up_to: dict[tuple[int, int], int] = {}
        self._lists: dict[int, int] = {}

    def items(self, x: int, least: int, most: int | None, name: str) -> tuple[Item, ...]:
        """``x{least,most}`` to stand in a right-hand side.

        Args:
            x: a symbol that is never empty.
            least, most: the bounds, ``None`` for an open one.
            name: what the new nonterminals are named after.
        """
        if most is None:
            if least == 0:
                return ((self.list_of(x, name), True),)
            return (*self._exactly(x, least - 1, name), (self.list_of(x, name), False))
        if most == least:
            return self._exactly(x, least, name)
        return (*self._exactly(x, least, name), (self._at_most(x, most - least, name), True))

    def list_of(self, x: int, name: str) -> int:
        """x once or more, as a left-recursive list: an LR parser reads it without its stack growing."""
        known = self._lists.get(x)
        if known is None:
            known = self._lists[x] = self._productions.new(name)
            self._productions.add(known, ((x, False),))
            self._productions.add(known, ((known, False), (x, False)))
        return known

    def _power(self, x: int, k: int, name: str) -> int:
        powers = self._powers.setdefault(x, [x])
        while len(powers) <= k:
            half = (powers[-1], False)
            powers.append(self._productions.new(name))
            self._productions.add(powers[-1], (half, half))
        return powers[k]

    def _exactly(self, x: int, count: int, name: str) -> tuple[Item, ...]:
        if count <= _WRITTEN_OUT:
            return ((x, False),) * count
        return tuple([(self._power(x, k, name), False) for k in range(count.bit_length() - 1, -1, -1) if count >> k & 1])

    def _below_power(self, x: int, k: int, name: str) -> int:
        """1 up to 2^k - 1."""
        known = self._all_below.setdefault(x, [x, x])
        while len(known) <= k:
            power, fewer = self._power(x, len(known) - 1, name), known[-1]
            known.append(self._productions.new(name))
            self._add_digit(known[-1], power, fewer, fewer)
        return known[k]

    def _at_most(self, x: int, count: int, name: str) -> int:
        """1 up to ``count``."""
        k = count.bit_length() - 1
        rest = count - (1 << k)
        if rest == (1 << k) - 1:
            return self._below_power(x, k + 1, name)
        if (x, count) not in self._up_to:
            after = self._at_most(x, rest, name) if rest else None
            power, fewer = self._power(x, k, name), self._below_power(x, k, name)
            new = self._up_to[x, count] = self._productions.new(name)
            self._add_digit(new, power, after, fewer)
        return self._up_to[x, count]

    def _add_digit(self, symbol: int, power: int, after: int | None, without: int) -> None:
        if after is not None:
            self._productions.add(symbol, ((power, False), (after, False)))
        self._productions.add(symbol, ((power, False),))
        self._productions.add(symbol, ((without, False),))
