"""What lowering asks of a rule set: which rules can be terminals, and which rules and expressions may be empty.

Rules are taken in the order in which they refer to each other (strongly connected components, callees first), so that each is
looked at when everything that it refers to is known. Only rules that the root needs are looked at.
Cost: linear in the grammar, but for nullability within mutually recursive rules, which is iterated.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from psc.compiler.components import components
from psc.compiler.determinism import is_plain, stays_small
from psc.compiler.expression_fold import fold
from psc.compiler.expression_graph import CHOICE, REFERENCE, REPEAT, ExpressionGraph
from psc.compiler.expressions import Chars, Choice, Expression, Literal, Reference, Repeat, RuleSet, Sequence
from psc.compiler.linear_rules import without_self_reference
from psc.errors import GrammarError, ResourceLimitError

MAX_NODES = 500_000
"""Different parts of all expressions of a grammar."""
MAX_EXPANDED = 2_000_000
"""Parts of all expressions, with rules put in the places that refer to them."""
_MOST_DEPTH = 24
"""Expressions nested deeper are cut into rules, so that recursion over them is bounded."""
_MOST_TERMINAL_DEPTH = 48


@dataclass(frozen=True)
class TerminalLimits:
    """How large a terminal may be; what is larger is made of several, and counts are left to the parser."""

    size: int = 400
    """Characters and classes in its expression, with counted repetitions written out."""
    named_size: int = 128
    """The same for a rule that refers to others, so that large rules stay made of the terminals that others use too."""
    around_free_text: int = 2
    """How much a rule may add to a rule of free text that it refers to, and still be one terminal."""
    literals: int = 20_000
    """Characters, of literals side by side."""
    counted: int = 64
    """The size of one counted repetition, written out."""


class Analysis:
    """The rules that the root needs, as nodes of one graph."""

    def __init__(self, rule_set: RuleSet, limits: TerminalLimits) -> None:
        self.limits = limits
        self.graph = ExpressionGraph()
        self.bodies: dict[str, int] = {}
        """Every rule."""
        self.inlined: dict[str, int] = {}
        """Rules that are a terminal, as nodes without references; also those that are empty or match nothing."""
        self._empty_rules: set[str] = set()
        self._to_read: list[str] = []
        self._cuts: dict[str, int] = {}
        self._rule_set = rule_set
        self._terminal: dict[tuple[int, int], bool] = {}
        self._without_references: dict[int, int | None] = {}
        self._n_expanded = 0

    def nullable(self, node: int) -> bool:
        """Whether the node matches the empty text."""
        graph = self.graph
        if graph.nullable[node] or not graph.names[node]:
            return graph.nullable[node]
        kind = graph.kind[node]
        if kind == REFERENCE:
            return graph.value[node] in self._empty_rules
        if kind == REPEAT:
            return self.nullable(graph.parts[node][0])
        return (any if kind == CHOICE else all)([self.nullable(p) for p in graph.parts[node]])

    def is_terminal(self, node: int) -> bool:
        """Whether the node is to be one terminal: nothing in it is a rule, and its automaton is of limited size."""
        return self._is_terminal(node, self.limits.size)

    def _is_terminal(self, node: int, limit: int) -> bool:
        if self.graph.names[node]:
            return False
        known = self._terminal.get((node, limit))
        if known is None:
            known = self._terminal[node, limit] = self._fits(node, limit)
        return known

    def _fits(self, node: int, limit: int) -> bool:
        graph = self.graph
        if (
            node in (graph.empty, graph.nothing)
            or graph.counted[node] > self.limits.counted
            or graph.depth[node] > _MOST_TERMINAL_DEPTH
        ):
            return False
        if graph.nullable[node]:
            if not graph.separable(node):
                return False
            node = graph.nonempty(node)
        if is_plain(graph, node):
            return graph.size[node] <= self.limits.literals
        return graph.size[node] <= limit and stays_small(graph, node)

    def add_rules(self) -> None:
        """Reads the expressions of every rule that the root needs."""
        rules, graph = self._rule_set.rules, self.graph
        self._to_read.append(self._rule_set.root)
        for name in self._to_read:  # grows while it is read
            if name in self.bodies:
                continue
            if name not in rules:
                raise GrammarError(self._undefined(name))
            try:
                node = self._node(name, rules[name])
            except ResourceLimitError as e:
                raise ResourceLimitError(f"{self._rule_set.source_name}: rule {name}: {e}") from None
            if name in graph.names[node]:
                rewritten = without_self_reference(graph, name, node, only_at_the_end=True)
                node = node if rewritten is None else rewritten
            self.bodies[name] = node
            self._to_read += graph.names[node]
            if len(graph.kind) > MAX_NODES:
                raise ResourceLimitError(
                    f"{self._rule_set.source_name}: the rules have more than {MAX_NODES:,} different parts, which is the limit; "
                    "make the grammar smaller"
                )

    def _undefined(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._rule_set.rules, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "define it"
        return f"{self._rule_set.source_name}: rule {name!r} is not defined; {hint}"

    def _node(self, rule: str, expression: Expression) -> int:
        graph = self.graph

        def combine(e: Expression, parts: list[int]) -> int:
            if isinstance(e, Literal):
                return graph.literal(e.text)
            if isinstance(e, Chars):
                return graph.chars(e.ranges)
            if isinstance(e, Reference):
                return graph.reference(e.name)
            if isinstance(e, Sequence):
                node = graph.sequence(parts)
            elif isinstance(e, Choice):
                node = graph.choice(parts)
            else:
                assert isinstance(e, Repeat)
                node = graph.repeat(parts[0], e.least, e.most)
            return node if graph.depth[node] <= _MOST_DEPTH else self._cut(rule, node)

        return fold(expression, combine)

    def _cut(self, rule: str, node: int) -> int:
        number = self._cuts.get(rule, 0) + 1
        while (name := f"{rule}_{number}") in self._rule_set.rules or name in self.bodies:
            number += 1
        self._cuts[rule] = number
        self.bodies[name] = node
        self._to_read += self.graph.names[node]
        return self.graph.reference(name)

    def decide(self) -> None:
        """Fills ``inlined``, and finds which rules may be empty."""
        graph, bodies = self.graph, self.bodies
        for group in components(list(bodies), lambda name: graph.names[bodies[name]]):
            if len(group) == 1:
                self._inline(group[0])
            changed = True
            while changed:
                found = {n for n in group if n not in self._empty_rules and self.nullable(bodies[n])}
                self._empty_rules |= found
                changed = bool(found)

    def _inline(self, name: str) -> None:
        graph = self.graph
        body: int | None = self.bodies[name]
        if name in graph.names[self.bodies[name]]:
            # A left-recursive rule: as it is unless it is a terminal.
            body = without_self_reference(graph, name, self.bodies[name], only_at_the_end=False)
        node = None if body is None else self._expanded(body)
        if body is None or node is None:
            return
        if node in (graph.empty, graph.nothing):
            self.inlined[name] = self.bodies[name] = node
        elif self._is_terminal(node, self.limits.named_size if graph.names[body] else self.limits.size):
            # A rule of free text stays a terminal of its own, but for the quotes around it: nearly every token of a vocabulary
            # goes on in its states, and there should be few such states.
            free = [graph.size[n] for n in map(self.inlined.__getitem__, graph.names[body]) if graph.free[n]]
            if not free or graph.size[node] - max(free) <= self.limits.around_free_text:
                self.inlined[name] = node
                self.bodies[name] = body

    def _expanded(self, node: int) -> int | None:
        """The node with the rules that it refers to put in their place; None where one of them is no terminal."""
        graph = self.graph
        if not graph.names[node]:
            return node
        if graph.kind[node] == REFERENCE:
            return self.inlined.get(str(graph.value[node]))
        if node not in self._without_references:
            parts = []
            for p in graph.parts[node]:
                part = self._expanded(p)
                if part is None:
                    break
                parts.append(part)
            complete = len(parts) == len(graph.parts[node])
            expanded = self._without_references[node] = graph.rebuild(node, parts) if complete else None
            if expanded is not None:
                self._n_expanded += len(graph.parts[expanded])
            if self._n_expanded > MAX_EXPANDED:
                raise ResourceLimitError(
                    f"{self._rule_set.source_name}: with rules put where they are referred to, the alternatives have more than "
                    f"{MAX_EXPANDED:,} parts, which is the limit; write rules that are only alternatives of each other as one"
                )
        return self._without_references[node]


def analyse(rule_set: RuleSet, limits: TerminalLimits) -> Analysis:
    """Everything about the rules that the root needs. Raises :class:`GrammarError` for a rule that is not defined."""
    analysis = Analysis(rule_set, limits)
    analysis.add_rules()
    analysis.decide()
    return analysis
