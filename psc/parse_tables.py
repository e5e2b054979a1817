"""The lexer and LR tables of an artifact, as Python reads them: to explain why a text stopped, and to look for how it can go on.

Generating text never comes here: that is the native matcher's work. A diagnosis or a search needs stacks that no
matcher has, so this is the same step over the same arrays, on stacks that are shared: a stack is the number of a
node, (LR state, node below), and equal stacks have equal numbers.

Cost: microseconds a step. The arrays must have been checked by the native tables before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from psc.artifacts.format import SCALARS, IntArray

EMPTY = -1
_MOST_REDUCTIONS = 1 << 16


class ParseTables:
    """Tables of one artifact, and the stacks met so far."""

    def __init__(self, arrays: Mapping[str, IntArray]) -> None:
        number: dict[str, int] = dict(zip(SCALARS, arrays["scalars"].tolist(), strict=True))
        self.n_terminals = number["n_terminals"]
        self.end = self.n_terminals - 1
        """The terminal that stands for the end of the text."""
        self.n_lexer_states = number["n_lexer_states"]
        self.n_byte_classes = number["n_byte_classes"]
        self.n_lr_states = number["n_lr_states"]
        self.n_nonterminals = number["n_nonterminals"]
        self.byte_class: list[int] = arrays["byte_class"].tolist()
        self.production_lhs: list[int] = arrays["production_lhs"].tolist()
        self.production_length: list[int] = arrays["production_length"].tolist()
        self.gotos: list[int] = arrays["gotos"].tolist()
        self._action_offsets: list[int] = arrays["action_offsets"].tolist()
        self._actions: list[int] = arrays["actions"].tolist()
        self._next: list[int] = arrays["lexer_next"].tolist()
        self._emit: list[int] = arrays["lexer_emit"].tolist()
        self._at_end: list[int] = arrays["at_end"].tolist()
        offsets, pool = arrays["emission_offsets"].tolist(), arrays["emission_terminals"].tolist()
        self._emissions = [tuple(pool[a:b]) for a, b in pairwise(offsets)]
        self._future_offsets: list[int] = arrays["future_offsets"].tolist()
        self._futures: list[int] = arrays["futures"].tolist()
        self._nodes: list[tuple[int, int]] = []
        self._node_of: dict[tuple[int, int], int] = {}

    # --- stacks

    def push(self, stack: int, state: int) -> int:
        """The stack with one LR state more on top; ``EMPTY`` is the stack below the first."""
        key = (state, stack)
        node = self._node_of.get(key)
        if node is None:
            node = self._node_of[key] = len(self._nodes)
            self._nodes.append(key)
        return node

    def stack_of(self, states: Sequence[int]) -> int:
        """The stack with these LR states, top first (as ``GrammarMatcher._stack`` gives them)."""
        node = EMPTY
        for state in reversed(states):
            node = self.push(node, state)
        return node

    def top(self, stack: int) -> int:
        """The LR state on top."""
        return self._nodes[stack][0]

    def pop(self, stack: int, n: int) -> int:
        """The stack without its top ``n`` states."""
        for _ in range(n):
            if stack == EMPTY:
                break
            stack = self._nodes[stack][1]
        return stack

    # --- parsing

    def action(self, state: int, terminal: int) -> int:
        """Twice the state for a shift, twice the production plus one for a reduction, -1 for an error."""
        cell = state * self.n_terminals + terminal
        first = self._action_offsets[cell]
        return self._actions[first] if first < self._action_offsets[cell + 1] else -1

    def go_to(self, state: int, nonterminal: int) -> int:
        """The LR state after a nonterminal, or -1."""
        return self.gotos[state * self.n_nonterminals + nonterminal]

    def shift(self, stack: int, terminal: int) -> int | None:
        """Reduces under the lookahead, then shifts it; None if the parser rejects it."""
        for _ in range(_MOST_REDUCTIONS):
            action = self.action(self._nodes[stack][0], terminal)
            if action < 0:
                return None
            if not action & 1:
                return self.push(stack, action >> 1)
            below = self.pop(stack, self.production_length[action >> 1])
            if below == EMPTY:
                return None
            state = self.go_to(self._nodes[below][0], self.production_lhs[action >> 1])
            if state < 0:
                return None
            stack = self.push(below, state)
        return None

    def shift_all(self, stack: int, terminals: Iterable[int]) -> int | None:
        """Shifts one after the other."""
        node: int | None = stack
        for terminal in terminals:
            if node is None:
                break
            node = self.shift(node, terminal)
        return node

    def expected(self, stack: int) -> list[int]:
        """The terminals that can be shifted next, the end of the text among them."""
        return [t for t in range(self.n_terminals) if self.shift(stack, t) is not None]

    # --- lexing; the lexer starts in state 0

    def lexer_next(self, lexer_state: int, byte_class: int) -> tuple[int, tuple[int, ...]]:
        """The lexer state after a byte of this class (-1: none), and the terminals it completes, ignored ones left out."""
        cell = lexer_state * self.n_byte_classes + byte_class
        return self._next[cell], self._emissions[self._emit[cell]]

    def at_end(self, lexer_state: int) -> tuple[int, ...] | None:
        """The terminals that the unfinished lexeme is if the text ends here; None if it is incomplete."""
        emission = self._at_end[lexer_state]
        return None if emission < 0 else self._emissions[emission]

    def futures(self, lexer_state: int) -> list[tuple[int, ...]]:
        """The sequences of terminals that the unfinished lexeme can still become; an empty one where it may be ignored."""
        begin, end = self._future_offsets[lexer_state], self._future_offsets[lexer_state + 1]
        return [self._emissions[e] for e in self._futures[begin:end]]

    def accepts_end(self, lexer_state: int, stack: int) -> bool:
        """Whether the text may end here."""
        last = self.at_end(lexer_state)
        return last is not None and self.shift_all(stack, (*last, self.end)) is not None

    def continuations(self, lexer_state: int, stack: int) -> list[int]:
        """What may come next: the terminals after the lexeme read last if that is complete and fits, else those it can become."""
        last = self.at_end(lexer_state)
        if last is not None and (after := self.shift_all(stack, last)) is not None:
            return self.expected(after)
        return sorted({s[-1] for s in self.futures(lexer_state) if s and self.shift_all(stack, s) is not None})
