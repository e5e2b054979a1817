"""How a text can end: a short run of bytes from any place of a text to a complete sentence.

The LR automaton says how far the end is. A state's kernel items are read off its tables: an item (production, dot)
stands in every state that lies that deep under a reduction by the production. To finish an item costs the shortest
yield of what follows its dot; then the production is reduced, and the item of the state under it is next. The
cheapest way down the stack, by Dijkstra's algorithm over (stack, item) steps, estimates how many bytes are missing.
It is exact but for separators and for resolved conflicts.

With that estimate, best-first search over bytes finds the way: lexer and parser decide each step, so what is found is
a sentence.

Cost: the estimate's tables take some 0.1 s for a programming language; a search visits about as many places as it returns bytes.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from functools import cached_property

from psc.errors import GrammarError
from psc.parse_tables import EMPTY, ParseTables

_NEVER = float("inf")
_MOST_VISITS = 50_000
# Which byte stands for its class: what reads well first.
_READABLE = b"abcdefghijklmnopqrstuvwxyz 0123456789\"'.;\n" + bytes(range(33, 127)) + b"\t\r"


class Completer:
    """Finds ends for texts of one grammar. What it learns of a stack it keeps, so reuse it."""

    def __init__(self, tables: ParseTables) -> None:
        self.tables = tables
        self._finishes: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        self._missing: dict[int, float] = {}
        preference = {byte: i for i, byte in reversed(list(enumerate((*_READABLE, *range(256)))))}
        by_class: dict[int, int] = {}
        for byte in sorted(range(256), key=preference.__getitem__):
            by_class.setdefault(tables.byte_class[byte], byte)
        self._bytes = sorted(by_class.items(), key=lambda item: preference[item[1]])

    def complete(self, lexer_state: int, stack: int) -> bytes:
        """Bytes that make a text complete.

        Args:
            lexer_state: where the lexer is.
            stack: the parser's, of this object's tables.

        Raises:
            GrammarError: none were found within a bounded search.
        """
        tables = self.tables
        # (estimate, length, place) of each place found; how it was reached, for reading the bytes off.
        came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(lexer_state, stack): None}
        queue = [(self.estimate(lexer_state, stack), 0, 0, (lexer_state, stack))]
        order = 0
        for _ in range(_MOST_VISITS):
            if not queue:
                break
            _, length, _, place = heapq.heappop(queue)
            if tables.accepts_end(*place):
                return self._read_off(came_from, place)
            for byte_class, byte in self._bytes:
                state, emitted = tables.lexer_next(place[0], byte_class)
                after = tables.shift_all(place[1], emitted) if state >= 0 else None
                if after is None or (state, after) in came_from:
                    continue
                estimate = self.estimate(state, after)
                if estimate == _NEVER:
                    continue
                came_from[state, after] = (place, byte)
                order += 1
                heapq.heappush(queue, (estimate, length + 1, order, (state, after)))
        raise GrammarError("no end of this text was found: the grammar leaves no way, or it is too far")

    @staticmethod
    def _read_off(came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None], place: tuple[int, int]) -> bytes:
        out = bytearray()
        while (step := came_from[place]) is not None:
            place, byte = step
            out.append(byte)
        return bytes(reversed(out))

    def estimate(self, lexer_state: int, stack: int) -> float:
        """About how many bytes are missing; infinity if there is no way on."""
        best = _NEVER
        for terminals, length in self._finishes_of(lexer_state):
            if length < best and (after := self.tables.shift_all(stack, terminals)) is not None:
                best = min(best, length + self._missing_bytes(after))
        return best

    # --- from a lexer state to the end of the lexeme

    def _finishes_of(self, lexer_state: int) -> list[tuple[tuple[int, ...], int]]:
        """What the unfinished lexeme can become, and the fewest bytes to that; nearest first."""
        known = self._finishes.get(lexer_state)
        if known is None:
            known = self._finishes[lexer_state] = sorted(self._find_finishes(lexer_state), key=lambda f: f[1])
        return known

    def _find_finishes(self, lexer_state: int) -> Iterator[tuple[tuple[int, ...], int]]:
        tables = self.tables
        found: set[tuple[int, ...]] = set()
        distance = {lexer_state: 0}
        queue = deque([lexer_state])
        while queue:
            state = queue.popleft()
            n = distance[state]
            last = tables.at_end(state)
            if last is not None and last not in found:
                found.add(last)
                yield last, n
                if n == 0 and not last:
                    return  # nothing is unfinished
            for byte_class in range(tables.n_byte_classes):
                to, emitted = tables.lexer_next(state, byte_class)
                if to < 0:
                    continue
                if not emitted and to not in distance:
                    distance[to] = n + 1
                    queue.append(to)
                elif emitted and to == 0 and emitted not in found:  # a lexeme that nothing can extend is complete at once
                    found.add(emitted)
                    yield emitted, n + 1

    # --- from a stack to the end of the text

    def _missing_bytes(self, stack: int) -> float:
        """The fewest bytes from a stack to the end of the text, separators not counted."""
        known = self._missing.get(stack)
        if known is not None:
            return known
        tables, best, done = self.tables, {stack: 0.0}, set[int]()
        queue: list[tuple[float, int]] = [(0.0, stack)]
        total = _NEVER
        while queue:
            cost, node = heapq.heappop(queue)
            if cost >= total:
                break
            if node in done:
                continue
            done.add(node)
            if node in self._missing:
                total = min(total, cost + self._missing[node])
                continue
            top = tables.top(node)
            if self._ends(top):
                total = min(total, cost)
                continue
            if tables.pop(node, 1) == EMPTY:  # nothing is read yet: no item is begun
                total = min(total, cost + self._shortest_text)
                continue
            for production, dot, rest in self._items[top]:
                below = tables.pop(node, dot)
                if below == EMPTY:
                    continue
                state = tables.go_to(tables.top(below), tables.production_lhs[production])
                if state < 0:
                    continue
                after = tables.push(below, state)
                if cost + rest < best.get(after, _NEVER):
                    best[after] = cost + rest
                    heapq.heappush(queue, (cost + rest, after))
        self._missing[stack] = total
        return total

    def _ends(self, state: int) -> bool:
        """Whether the end of the text is shifted here."""
        return state >= 0 and (action := self.tables.action(state, self.tables.end)) >= 0 and not action & 1

    @cached_property
    def _predecessors(self) -> list[list[int]]:
        """Per LR state, the states that lead into it."""
        t = self.tables
        out: list[set[int]] = [set() for _ in range(t.n_lr_states)]
        for state in range(t.n_lr_states):
            for terminal in range(t.n_terminals):
                action = t.action(state, terminal)
                if action >= 0 and not action & 1:
                    out[action >> 1].add(state)
            for nonterminal in range(t.n_nonterminals):
                if (to := t.go_to(state, nonterminal)) >= 0:
                    out[to].add(state)
        return [sorted(s) for s in out]

    @cached_property
    def _accessing(self) -> list[int]:
        """Per LR state, the symbol that leads into it; a nonterminal is counted from ``n_terminals``. -1 for the start."""
        t = self.tables
        out = [-1] * t.n_lr_states
        for state in range(t.n_lr_states):
            for terminal in range(t.n_terminals):
                action = t.action(state, terminal)
                if action >= 0 and not action & 1:
                    out[action >> 1] = terminal
            for nonterminal in range(t.n_nonterminals):
                if (to := t.go_to(state, nonterminal)) >= 0:
                    out[to] = t.n_terminals + nonterminal
        return out

    @cached_property
    def _item_sets(self) -> list[set[tuple[int, int]]]:
        """Per LR state its kernel items, as (production, dot), found backwards from the reductions."""
        t = self.tables
        items: list[set[tuple[int, int]]] = [set() for _ in range(t.n_lr_states)]
        work: list[tuple[int, int, int]] = []
        for state in range(t.n_lr_states):
            for terminal in range(t.n_terminals):
                action = t.action(state, terminal)
                if action >= 0 and action & 1:
                    work.append((state, action >> 1, t.production_length[action >> 1]))
        while work:
            state, production, dot = work.pop()
            if dot == 0 or (production, dot) in items[state]:
                continue
            items[state].add((production, dot))
            work.extend((p, production, dot - 1) for p in self._predecessors[state])
        return items

    @cached_property
    def _right_sides(self) -> list[list[int]]:
        """Per production its symbols; -1 where the symbol stands in no state's items, so the production is never reduced."""
        symbol_at: dict[tuple[int, int], int] = {}
        for state, items in enumerate(self._item_sets):
            for item in items:
                symbol_at[item] = self._accessing[state]
        lengths = enumerate(self.tables.production_length)
        return [[symbol_at.get((p, dot), -1) for dot in range(1, length + 1)] for p, length in lengths]

    @cached_property
    def _items(self) -> list[list[tuple[int, int, float]]]:
        """Per LR state its kernel items: (production, dot, shortest yield of what follows the dot), the cheapest first."""

        def rest(production: int, dot: int) -> float:
            return sum((self._shortest[s] for s in self._right_sides[production][dot:]), 0.0)

        priced = [[(p, dot, rest(p, dot)) for p, dot in items] for items in self._item_sets]
        return [sorted((i for i in items if i[2] < _NEVER), key=lambda i: (i[2], i)) for items in priced]

    @cached_property
    def _shortest_text(self) -> float:
        """The fewest bytes of a sentence."""
        t = self.tables
        starts = (n for n in range(t.n_nonterminals) if self._ends(t.go_to(0, n)))
        return min((self._shortest[t.n_terminals + n] for n in starts), default=_NEVER)

    @cached_property
    def _shortest(self) -> list[float]:
        """Per symbol the fewest bytes that it derives (Knuth 1977); a last entry, for symbol -1, is infinite."""
        t = self.tables
        shortest = [_NEVER] * (t.n_terminals + t.n_nonterminals + 1)
        for terminals, length in self._spellings():
            if len(terminals) == 1:
                shortest[terminals[0]] = min(shortest[terminals[0]], length)
        users: dict[int, list[int]] = {}
        for production, symbols in enumerate(self._right_sides):
            for symbol in symbols:
                users.setdefault(symbol, []).append(production)
        work = deque(range(len(self._right_sides)))
        while work:
            production = work.popleft()
            cost = sum((shortest[s] for s in self._right_sides[production]), 0.0)
            lhs = t.n_terminals + t.production_lhs[production]
            if cost < shortest[lhs]:
                shortest[lhs] = cost
                work.extend(users.get(lhs, ()))
        return shortest

    def _spellings(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Every terminal that the lexer can make from its start, with the fewest bytes."""
        t = self.tables
        for byte_class in range(t.n_byte_classes):
            state, emitted = t.lexer_next(0, byte_class)
            if state < 0:
                continue
            if emitted:
                yield emitted, 1
            else:
                yield from ((terminals, n + 1) for terminals, n in self._finishes_of(state) if terminals)
