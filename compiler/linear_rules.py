"""Rules that only repeat, written as recursion: ``ws ::= [ ] ws | ""`` is ``[ ]*``.

A rule whose own name stands only at the end or at the beginning of alternatives, ``X : A X | X C | B``, derives ``A* B C*``
(Arden 1961; what A, B and C derive may depend on X through other rules). As repetition it can be part of a terminal, and recursion
at the end, for which an LR parser needs stack without bound, becomes a list, for which it needs none. Cost: linear in the rule.
"""

from __future__ import annotations

from psc.compiler.expression_graph import CHOICE, REFERENCE, REPEAT, SEQUENCE, ExpressionGraph

_Split = tuple[list[int], list[int], list[int]]
"""What stands before the name, what after it, and the alternatives without it."""


def without_self_reference(graph: ExpressionGraph, name: str, body: int, *, only_at_the_end: bool) -> int | None:
    """The body as repetition.

    None where the rule recurses in another way, has no alternative without itself, or, if ``only_at_the_end``, recurses only at the
    beginning of alternatives.
    """
    split = _split(graph, name, body)
    if split is None or not split[2] or (only_at_the_end and not split[0]):
        return None
    before, after, base = split
    return graph.sequence(
        (graph.repeat(graph.choice(before), 0, None), graph.choice(base), graph.repeat(graph.choice(after), 0, None))
    )


def _split(graph: ExpressionGraph, name: str, node: int) -> _Split | None:
    if name not in graph.names[node]:
        return [], [], [node]
    kind, parts = graph.kind[node], graph.parts[node]
    if kind == REFERENCE:
        return [graph.empty], [], []
    if kind == REPEAT:
        if graph.bounds(node) != (0, 1):
            return None
        split = _split(graph, name, parts[0])
        return None if split is None else (split[0], split[1], [*split[2], graph.empty])
    if kind == CHOICE:
        splits = [_split(graph, name, part) for part in parts]
        if any([s is None for s in splits]):
            return None
        found: _Split = [], [], []
        for split in splits:
            for all_of_kind, some in zip(found, split or (), strict=False):
                all_of_kind += some
        return found
    assert kind == SEQUENCE
    if not any([name in graph.names[p] for p in parts[:-1]]):
        rest, split = parts[:-1], _split(graph, name, parts[-1])
        if split is None or split[1]:
            return None
        return _around(graph, rest, split[0], ()), [], _around(graph, rest, split[2], ())
    if not any([name in graph.names[p] for p in parts[1:]]):
        rest, split = parts[1:], _split(graph, name, parts[0])
        # What is X alone on the left was counted as standing at an end: here it stands at the beginning.
        if split is None or any([p != graph.empty for p in split[0]]):
            return None
        after = [*split[1], *split[0]]
        return [], _around(graph, (), after, rest), _around(graph, (), split[2], rest)
    return None


def _around(graph: ExpressionGraph, left: tuple[int, ...], options: list[int], right: tuple[int, ...]) -> list[int]:
    return [graph.sequence((*left, graph.choice(options), *right))] if options else []
