"""Whether an expression's automaton stays small when it is made deterministic.

Every terminal becomes part of one deterministic automaton, and ``[ab]*a[ab]{20}`` alone has a million states there. An expression
is safe when no state of its position automaton (Glushkov 1961; Brüggemann-Klein and Wood's one-unambiguity, 1998) has two
successors with a character in common: then the automaton is deterministic already. Where that fails, subsets are built up to a
limit. Cost: the positions times the successors of each; for the second, states times distinct sets of characters.
"""

from __future__ import annotations

from psc.compiler.expression_graph import CHARS, CHOICE, LITERAL, REPEAT, SEQUENCE, ExpressionGraph, Ranges

MAX_STATES = 1000
"""States that one terminal may have."""

_SMALL = 11  # positions: 2 to this power is about the limit


def stays_small(graph: ExpressionGraph, node: int) -> bool:
    """Whether the node, without references and with bounds worth unrolling, has a deterministic automaton of limited size."""
    if graph.size[node] <= _SMALL or is_plain(graph, node):
        return True
    automaton = _Positions(graph)
    first, _, _ = automaton.add(node)
    sets = [first, *automaton.follow]
    if not any(_overlap(automaton.ranges, s) for s in sets):
        return True
    return _subsets_within(automaton, first, MAX_STATES)


def is_plain(graph: ExpressionGraph, node: int) -> bool:
    """Literals in a row or side by side: a row of states, or a tree of them."""
    simple = (LITERAL, CHARS)
    kind = graph.kind[node]
    if kind == SEQUENCE:
        return all(graph.kind[p] in simple for p in graph.parts[node])
    return kind in simple or (kind == CHOICE and all(graph.kind[p] == LITERAL for p in graph.parts[node]))


class _Positions:
    """The position automaton: each character of the expression is a state, reached by reading it."""

    def __init__(self, graph: ExpressionGraph) -> None:
        self._graph = graph
        self.ranges: list[Ranges] = []
        self.follow: list[set[int]] = []

    def add(self, node: int) -> tuple[set[int], set[int], bool]:
        """Adds a copy of the node; the positions that it may begin and end with, and whether it may be empty."""
        graph = self._graph
        kind = graph.kind[node]
        if kind == CHARS:
            return self._row([graph.value[node]])
        if kind == LITERAL:
            return self._row([((ord(c), ord(c)),) for c in str(graph.value[node])])
        if kind == CHOICE:
            first: set[int] = set()
            last: set[int] = set()
            for part in graph.parts[node]:
                part_first, part_last, _ = self.add(part)
                first |= part_first
                last |= part_last
            return first, last, graph.nullable[node]
        if kind == SEQUENCE:
            return self._chain([(part, False) for part in graph.parts[node]])[:3]
        assert kind == REPEAT
        (body,) = graph.parts[node]
        least, most = graph.bounds(node)
        if most is None:
            # x{m,} is m copies of which the last one comes again.
            first, last, nullable, again = self._chain([(body, False)] * max(least, 1))
            for position in last:
                self.follow[position] |= again
            return first, last, nullable or least == 0
        return self._chain([(body, i >= least) for i in range(most)])[:3]

    def _row(self, characters: list[object]) -> tuple[set[int], set[int], bool]:
        if not characters:
            return set(), set(), True
        start = len(self.ranges)
        self.ranges += characters  # type: ignore[arg-type]
        self.follow += [{start + i + 1} for i in range(len(characters) - 1)]
        self.follow.append(set())
        return {start}, {len(self.ranges) - 1}, False

    def _chain(self, parts: list[tuple[int, bool]]) -> tuple[set[int], set[int], bool, set[int]]:
        """One part after the other; before a part marked optional, it may have ended. Also what the last part begins with."""
        first: set[int] = set()
        last: set[int] = set()
        part_first: set[int] = set()
        nullable = True
        ends: set[int] = set()
        ended_empty = False
        for part, optional in parts:
            part_first, part_last, part_nullable = self.add(part)
            if optional:
                ends |= last
                ended_empty |= nullable
            for position in last:
                self.follow[position] |= part_first
            if nullable:
                first |= part_first
            last = (last | part_last) if part_nullable else part_last
            nullable = nullable and part_nullable
        return first, last | ends, nullable or ended_empty, part_first


def _overlap(ranges: list[Ranges], positions: set[int]) -> bool:
    if len(positions) < 2:
        return False
    pieces = sorted([piece for p in positions for piece in ranges[p]])
    return any([pieces[i][1] >= pieces[i + 1][0] for i in range(len(pieces) - 1)])


def _subsets_within(automaton: _Positions, first: set[int], limit: int) -> bool:
    """Whether the subset construction ends within the limit. Sets of positions are the bits of an int."""
    cuts = sorted({edge for ranges in automaton.ranges for low, high in ranges for edge in (low, high + 1)})
    reading = {  # the distinct sets of positions that one character can lead to
        sum([1 << p for p, ranges in enumerate(automaton.ranges) if any([low <= c <= high for low, high in ranges])]) for c in cuts
    }
    follow = [sum([1 << p for p in s]) for s in automaton.follow]
    start = sum([1 << p for p in first])
    seen = {start}
    todo = [start]
    while todo:
        open_positions = todo.pop()
        for on in {open_positions & r for r in reading}:
            after = 0
            rest = on
            while rest:
                low_bit = rest & -rest
                after |= follow[low_bit.bit_length() - 1]
                rest ^= low_bit
            if on and after not in seen:
                if len(seen) >= limit:
                    return False
                seen.add(after)
                todo.append(after)
    return True
