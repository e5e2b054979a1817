"""How a text can end: a short run of bytes from any place of a text to a complete sentence.

The LR automaton's items say how far the end is. To finish an item costs the shortest yield of what follows its dot; then the
production is reduced, and the item of the state under it is next. The cheapest way down the stack, by Dijkstra's algorithm over
(stack, item) steps, estimates how many bytes are missing. It is exact but for separators and for resolved conflicts.

With that estimate, best-first search over bytes finds the way. Each place of it is a fork of the matcher, which decides every
step, so what is found is a sentence, however the grammar is lexed and however ambiguous it is.

Cost: the estimate's tables take some 0.1 s for a programming language; a search visits about as many places as it returns bytes.
"""

from __future__ import annotations

import heapq
from collections import deque
from functools import cached_property

from psc._core import MatcherView
from psc.errors import GrammarError
from psc.inspection.lexemes import Lexemes
from psc.inspection.lr_items import LrItems, LrState
from psc.runtime.compiled import CompiledGrammar, GrammarMatcher

_NEVER = float("inf")
_MOST_VISITS = 50_000
# Which byte stands for its class: what reads well first.
_READABLE = b"abcdefghijklmnopqrstuvwxyz 0123456789\"'.;\n" + bytes(range(33, 127)) + b"\t\r"

_Place = tuple[tuple[int, tuple[int, ...]], ...]
"""Lexer states and parser stacks."""


class Stacks:
    """Parser stacks that share what is below: a stack is the number of (LR state, stack below); equal ones have equal numbers."""

    EMPTY = -1

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def push(self, stack: int, state: int) -> int:
        """The stack with one LR state more on top."""
        key = (state, stack)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._nodes)
            self._nodes.append(key)
        return number

    def of(self, states: list[int]) -> int:
        """The stack with these LR states, top first."""
        stack = self.EMPTY
        for state in reversed(states):
            stack = self.push(stack, state)
        return stack

    def top(self, stack: int) -> int:
        """The LR state on top."""
        return self._nodes[stack][0]

    def pop(self, stack: int, n: int) -> int:
        """The stack without its top ``n`` states."""
        while n > 0 and stack != self.EMPTY:
            stack = self._nodes[stack][1]
            n -= 1
        return stack


class Completer:
    """Finds ends for texts of one grammar. What it learns of a stack it keeps, so reuse it."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        self.items = LrItems(compiled._machine.lr)
        self.lexemes = Lexemes(compiled)
        self._stacks = Stacks()
        self._missing: dict[int, float] = {}
        self._estimates: dict[tuple[int, tuple[int, ...]], float] = {}
        preference = {byte: i for i, byte in reversed(list(enumerate((*_READABLE, *range(256)))))}
        by_class: dict[int, int] = {}
        for byte in sorted(range(256), key=preference.__getitem__):
            by_class.setdefault(self.lexemes.byte_class[byte], byte)
        self._bytes = [bytes([byte]) for byte in by_class.values()]

    def complete(self, matcher: GrammarMatcher) -> bytes:
        """Bytes that make a text complete.

        Args:
            matcher: where the text is; it stays there.

        Raises:
            GrammarError: none were found within a bounded search.
        """
        start = _place(matcher)
        # How each place was reached, for reading the bytes off.
        came_from: dict[_Place, tuple[_Place, bytes] | None] = {start: None}
        # (estimate, length, order of discovery, matcher): the order decides between the equal ones.
        queue = [(self.estimate(matcher), 0, 0, matcher.fork())]
        for _ in range(_MOST_VISITS):
            if not queue:
                break
            _, length, _, here = heapq.heappop(queue)
            place = _place(here)
            if here.is_completed():
                return _read_off(came_from, place)
            for byte in self._bytes:
                if not here.accept_string(byte):
                    continue
                after = _place(here)
                if after not in came_from and (estimate := self.estimate(here)) < _NEVER:
                    came_from[after] = (place, byte)
                    heapq.heappush(queue, (estimate, length + 1, len(came_from), here.fork()))
                here.rollback(1)
        raise GrammarError("no end of this text was found: the grammar leaves no way, or it is too far")

    def estimate(self, matcher: GrammarMatcher) -> float:
        """About how many bytes are missing; infinity if there is no way on."""
        best = _NEVER
        for i, (lexer_state, stack) in enumerate(MatcherView(matcher).configurations()):
            key = (lexer_state, tuple(stack))
            known = self._estimates.get(key)
            if known is None:
                known = self._estimates[key] = self._estimate_pair(matcher, i, lexer_state)
            best = min(best, known)
        return best

    def _estimate_pair(self, matcher: GrammarMatcher, pair: int, lexer_state: int) -> float:
        best = _NEVER
        for symbols, length in self.lexemes.finishes(lexer_state):
            if length >= best:
                break
            for stack in MatcherView(matcher).stacks_after(pair, list(symbols)):
                best = min(best, length + self._missing_bytes(self._stacks.of(stack)))
        return best

    def _missing_bytes(self, stack: int) -> float:
        """The fewest bytes from a stack to the end of the text, separators not counted."""
        known = self._missing.get(stack)
        if known is not None:
            return known
        stacks, best, before = self._stacks, {stack: 0.0}, {stack: stack}
        queue: list[tuple[float, int]] = [(0.0, stack)]
        total, last = _NEVER, stack
        while queue:
            cost, node = heapq.heappop(queue)
            if cost >= total:
                break
            if cost > best[node]:
                continue
            left = self._missing.get(node)
            if left is None and stacks.top(node) in self.items.ends:
                left = 0.0
            elif left is None and stacks.pop(node, 1) == Stacks.EMPTY:  # nothing is read yet: no item is begun
                left = self._shortest_text
            if left is not None:
                if cost + left < total:
                    total, last = cost + left, node
                continue
            for after, rest, _ in self._finished(node):
                if cost + rest < best.get(after, _NEVER):
                    best[after] = cost + rest
                    before[after] = node
                    heapq.heappush(queue, (cost + rest, after))
        self._missing[stack] = total
        # What was found holds for every stack on the way, so that nested texts are not searched to the bottom time and again.
        while last != stack:
            self._missing[last] = total - best[last]
            last = before[last]
        return total

    def _finished(self, stack: int) -> list[tuple[int, float, tuple[int, int]]]:
        """Per kernel item of a stack's top: the stack once its rule is finished, the bytes that takes, and the item."""
        out = []
        for production, dot, rest in self._priced_items[self._stacks.top(stack)]:
            below = self._stacks.pop(stack, dot)
            if below == Stacks.EMPTY:
                continue
            state = self.items.go_to(LrState(self._stacks.top(below)), self.items.production_lhs[production])
            if state is not None:
                out.append((self._stacks.push(below, state), rest, (production, dot)))
        return out

    def open_rules(self, states: list[int]) -> list[tuple[int, int]]:
        """The rules that a stack is in the middle of, innermost first, as items: those that lead to the end the shortest way.

        Args:
            states: the stack, as LR states, top first.
        """
        out: list[tuple[int, int]] = []
        stack = self._stacks.of(states)
        while self._stacks.top(stack) not in self.items.ends and self._stacks.pop(stack, 1) != Stacks.EMPTY:
            ways = [(rest + self._missing_bytes(after), after, item) for after, rest, item in self._finished(stack)]
            if not ways or min(ways)[0] == _NEVER or len(out) > len(states) * len(self.items.production_lhs):
                break
            _, stack, item = min(ways)
            out.append(item)
        return out

    @cached_property
    def _priced_items(self) -> list[list[tuple[int, int, float]]]:
        """Per LR state its kernel items: (production, dot, shortest yield of what follows the dot), the cheapest first."""

        def rest(production: int, dot: int) -> float:
            return sum((self._shortest[s] for s in self.items.right_sides[production][dot:]), 0.0)

        priced = [[(p, dot, rest(p, dot)) for p, dot in items] for items in self.items.items]
        return [sorted((i for i in items if i[2] < _NEVER), key=lambda i: (i[2], i)) for items in priced]

    @cached_property
    def _shortest_text(self) -> float:
        """The fewest bytes of a sentence."""
        shortest = min((self._shortest[self.items.n_terminals + n] for n in self.items.starts), default=_NEVER)
        return 0.0 if 0 in self.items.ends else shortest

    @cached_property
    def _shortest(self) -> list[float]:
        """Per symbol the fewest bytes that it derives (Knuth 1977)."""
        items = self.items
        shortest = [_NEVER] * (items.n_terminals + items.n_nonterminals)
        for terminal, n in self.lexemes.shortest_spellings().items():
            shortest[terminal] = n
        users: dict[int, list[int]] = {}
        for production, symbols in enumerate(items.right_sides):
            for symbol in symbols:
                users.setdefault(symbol, []).append(production)
        work = deque(range(len(items.right_sides)))
        while work:
            production = work.popleft()
            cost = sum((shortest[s] for s in items.right_sides[production]), 0.0)
            lhs = items.n_terminals + items.production_lhs[production]
            if cost < shortest[lhs]:
                shortest[lhs] = cost
                work.extend(users.get(lhs, ()))
        return shortest


def _place(matcher: GrammarMatcher) -> _Place:
    return tuple((state, tuple(stack)) for state, stack in MatcherView(matcher).configurations())


def _read_off(came_from: dict[_Place, tuple[_Place, bytes] | None], place: _Place) -> bytes:
    out = []
    while (step := came_from[place]) is not None:
        place, byte = step
        out.append(byte)
    return b"".join(reversed(out))
