"""How a text can end: a short run of bytes from the end of any text to a complete sentence.

The LR automaton's items say how far the end is. To finish an item costs the shortest yield of what follows its dot; then the
production is reduced, and the item of the state under it is next. The cheapest way down the stack, by Dijkstra's algorithm over
(stack, item) steps, estimates how many bytes are missing. It is exact but for separators, resolved conflicts and members in
any order.

With that estimate, best-first search over bytes finds the way. Each node of the search is a fork of the matcher. The matcher
decides every step, so the result is a sentence, however the grammar is lexed and however ambiguous it is.

Cost: the estimate's tables take some 0.1 s for a programming language; a search visits about as many nodes as it returns bytes.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import NewType

from psc.errors import GrammarError
from psc.ids import LexerState, LrState, Production, Symbol
from psc.inspection.configurations import Configuration, Stack, configurations, stacks_after
from psc.inspection.lexemes import Lexemes
from psc.inspection.lr_items import Item, LrItems
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.support.cached_property import cached_property

_NEVER = float("inf")
_MAX_VISITS = 50_000
_BYTES_OF_MEMBER = 64
"""The estimate for a missing member where members come in any order, which items do not show. It is high, so a search prefers the
member to the end of the object."""
# Which byte stands for its class: the most readable first.
_READABLE = b"abcdefghijklmnopqrstuvwxyz 0123456789\"'.;\n" + bytes(range(33, 127)) + b"\t\r"

StackNode = NewType("StackNode", int)
"""The number of a stack in `Stacks`."""
_Reached = tuple[Configuration, ...]
"""A node's state in a search: all configurations of a matcher."""


class Stacks:
    """Parser stacks with shared lower parts: a stack is the number of (LR state, stack below); equal ones have equal numbers."""

    EMPTY = StackNode(-1)

    def __init__(self) -> None:
        self._nodes: list[tuple[LrState, StackNode]] = []
        self._numbers: dict[tuple[LrState, StackNode], StackNode] = {}

    def push(self, stack: StackNode, state: LrState) -> StackNode:
        """The stack with one LR state more on top."""
        key = (state, stack)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = StackNode(len(self._nodes))
            self._nodes.append(key)
        return number

    def of(self, states: Stack) -> StackNode:
        """The stack with these LR states, top first."""
        stack = self.EMPTY
        for state in reversed(states):
            stack = self.push(stack, state)
        return stack

    def top(self, stack: StackNode) -> LrState:
        """The LR state on top."""
        return self._nodes[stack][0]

    def pop(self, stack: StackNode, n: int) -> StackNode:
        """The stack without its top ``n`` states."""
        while n > 0 and stack != self.EMPTY:
            stack = self._nodes[stack][1]
            n -= 1
        return stack


class Completer:
    """Finds ends for texts of one grammar. It keeps its estimates of stacks, so use one for many texts."""

    def __init__(self, compiled: LoadedGrammar) -> None:
        self.items = LrItems(compiled._machine.lr)
        self.lexemes = Lexemes(compiled)
        self._stacks = Stacks()
        self._missing: dict[StackNode, float] = {}
        self._estimates: dict[Configuration, float] = {}
        preference = {byte: i for i, byte in reversed(list(enumerate((*_READABLE, *range(256)))))}
        by_class: dict[int, int] = {}
        for byte in sorted(range(256), key=preference.__getitem__):
            by_class.setdefault(self.lexemes.byte_class[byte], byte)
        self._bytes = [bytes([byte]) for byte in by_class.values()]

    def complete(self, matcher: GrammarMatcher) -> bytes:
        """Bytes that make a text complete.

        Args:
            matcher: at the text's end; it stays there.

        Raises:
            GrammarError: none were found within a bounded search.
        """
        # From where, and by which byte, the search came to each set of configurations.
        came_from: dict[_Reached, tuple[_Reached, bytes] | None] = {configurations(matcher): None}
        # (estimate, length, order of discovery, matcher): the order decides between the equal ones.
        queue = [(self.estimate(matcher), 0, 0, matcher.fork())]
        for _ in range(_MAX_VISITS):
            if not queue:
                break
            _, length, _, here = heapq.heappop(queue)
            reached = configurations(here)
            if here.is_completed():
                return _read_off(came_from, reached)
            for byte in self._bytes:
                if not here.accept_string(byte):
                    continue
                after = configurations(here)
                if after not in came_from and (estimate := self.estimate(here)) < _NEVER:
                    came_from[after] = (reached, byte)
                    heapq.heappush(queue, (estimate, length + 1, len(came_from), here.fork()))
                here.rollback(1)
        raise GrammarError("no end of this text was found: the grammar leaves no way, or it is too far")

    def estimate(self, matcher: GrammarMatcher) -> float:
        """About how many bytes are missing; infinity if there is no way on."""
        best = _NEVER
        for i, configuration in enumerate(configurations(matcher)):
            estimate = self._estimates.get(configuration)
            if estimate is None:
                estimate = self._estimate_configuration(matcher, i, configuration.lexer_state)
                estimate = self._estimates[configuration] = estimate + _BYTES_OF_MEMBER * configuration.missing
            best = min(best, estimate)
        return best

    def _estimate_configuration(self, matcher: GrammarMatcher, configuration: int, lexer_state: LexerState) -> float:
        best = _NEVER
        for symbols, length in self.lexemes.finishes(lexer_state):
            if length >= best:
                break
            for stack in stacks_after(matcher, configuration, symbols):
                best = min(best, length + self._missing_bytes(self._stacks.of(stack)))
        return best

    def _missing_bytes(self, stack: StackNode) -> float:
        """The fewest bytes from a stack to the end of the text, separators not counted."""
        missing = self._missing.get(stack)
        if missing is not None:
            return missing
        stacks, best, before = self._stacks, {stack: 0.0}, {stack: stack}
        queue: list[tuple[float, StackNode]] = [(0.0, stack)]
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
        # The total gives the missing bytes of every stack on the way, too, so a nested text is searched to the bottom only once.
        while last != stack:
            self._missing[last] = total - best[last]
            last = before[last]
        return total

    def _finished(self, stack: StackNode) -> list[tuple[StackNode, float, Item]]:
        """Per kernel item of a stack's top: the stack once its rule is finished, the bytes that takes, and the item."""
        out = []
        for production, dot, rest in self._priced_items[self._stacks.top(stack)]:
            below = self._stacks.pop(stack, dot)
            if below == Stacks.EMPTY:
                continue
            state = self.items.go_to(self._stacks.top(below), self.items.production_lhs[production])
            if state is not None:
                out.append((self._stacks.push(below, state), rest, (production, dot)))
        return out

    def open_rules(self, states: Stack) -> list[Item]:
        """The rules that a stack is in the middle of, innermost first, as items: those that lead to the end the shortest way.

        Args:
            states: the stack.
        """
        out: list[Item] = []
        stack = self._stacks.of(states)
        while self._stacks.top(stack) not in self.items.ends and self._stacks.pop(stack, 1) != Stacks.EMPTY:
            ways = [(rest + self._missing_bytes(after), after, item) for after, rest, item in self._finished(stack)]
            if not ways or min(ways)[0] == _NEVER or len(out) > len(states) * len(self.items.production_lhs):
                break
            _, stack, item = min(ways)
            out.append(item)
        return out

    @cached_property
    def _priced_items(self) -> list[list[tuple[Production, int, float]]]:
        """Per LR state its kernel items: (production, dot, shortest yield of what follows the dot), the cheapest first."""

        def rest(production: Production, dot: int) -> float:
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
        users: dict[Symbol, list[int]] = {}
        for production, symbols in enumerate(items.right_sides):
            for symbol in symbols:
                users.setdefault(symbol, []).append(production)
        work = deque(range(len(items.right_sides)))
        while work:
            production = work.popleft()
            cost = sum((shortest[s] for s in items.right_sides[production]), 0.0)
            lhs = Symbol(items.n_terminals + items.production_lhs[production])
            if cost < shortest[lhs]:
                shortest[lhs] = cost
                work.extend(users.get(lhs, ()))
        return shortest


def _read_off(came_from: dict[_Reached, tuple[_Reached, bytes] | None], reached: _Reached) -> bytes:
    """The bytes that led there."""
    out = []
    while (step := came_from[reached]) is not None:
        reached, byte = step
        out.append(byte)
    return b"".join(reversed(out))
