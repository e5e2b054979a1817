"""Strongly connected components of a directed graph, callees first, without recursion (Tarjan, SIAM J. Comput. 1(2), 1972)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(nodes: Iterable[Node], successors: Callable[[Node], Iterable[Node]]) -> list[list[Node]]:
    """The components that can be reached from ``nodes``; each comes after those that it leads to.

    Cost: linear in nodes and edges.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[list[Node]] = []
    for root in nodes:
        if root in index:
            continue
        walk: list[tuple[Node, Iterator[Node]]] = []
        entered: Node | None = root
        while True:
            if entered is not None:
                index[entered] = low[entered] = len(index)
                stack.append(entered)
                on_stack.add(entered)
                walk.append((entered, iter(successors(entered))))
                entered = None
            node, rest = walk[-1]
            for to in rest:
                if to not in index:
                    entered = to
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            if entered is not None:
                continue
            walk.pop()
            if walk:
                parent = walk[-1][0]
                low[parent] = min(low[parent], low[node])
            if low[node] == index[node]:
                group = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    group.append(member)
                    if member == node:
                        break
                found.append(group)
            if not walk:
                break
    return found
