"""Which assertions of a terminal's regex can look over the terminal's edge: past its last character, or before its first.

A terminal is judged as if the text began and ended with the lexeme. Lark's lexer matches in the whole text, so ``if(?![a-z])`` and
``\\bif\\b`` see the neighbours there. psc warns the author of such a terminal.

Example: in ``[a-z]+(?=\\()`` the lookahead reads one character more than comes after it, so it looks past the end; in
``(?!if)[a-z]{3}`` it reads two characters, and three come, so it does not.

Cost: the parser of `re`, and linear in the program of the pattern. The answer depends on counts of characters alone: an assertion
that can look over the edge, and never does for the characters that can stand there, is named, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from psc.compiler.terminals.regex.program import EARLY, MATCH, Anchor, Kind, Program

_AHEAD: Final = (Kind.AHEAD, Kind.NOT_AHEAD)
_BEHIND: Final = (Kind.BEHIND, Kind.NOT_BEHIND)
_BEFORE: Final = (Anchor.TEXT_START, Anchor.LINE_START)
_AFTER: Final = (Anchor.TEXT_END, Anchor.LINE_END)
_FAR: Final = 1 << 30


@dataclass(frozen=True)
class Edges:
    """Over which edges some assertion can look."""

    end: bool = False
    start: bool = False


@lru_cache(maxsize=1024)
def edges(pattern: str, flags: int = 0) -> Edges:
    """What the assertions of a pattern look over. Arguments and errors of `class_automaton`."""
    program = Program(pattern, flags)
    if program.regular:
        return Edges()
    reach = _Reach(program)
    to_end = reach.distances_to_end()
    end = start = False
    for node, before in reach.distances(program.start).items():
        kind, arg, out = program.nodes[node]
        if kind == Kind.ANCHOR:
            end |= arg not in _BEFORE and to_end.get(out[0], _FAR) < 1
            start |= arg not in _AFTER and before < 1
        elif kind in _AHEAD:
            end |= to_end.get(out[1], _FAR) < reach.longest(out[0])
            start |= reach.looks_back(out[0], before)
        elif kind in _BEHIND:
            start |= before < reach.longest(out[0])
    return Edges(end, start)


class _Reach:
    """Numbers of characters between nodes."""

    def __init__(self, program: Program) -> None:
        self._nodes = program.nodes
        self._longest: dict[int, int] = {}

    def _steps(self, node: int) -> Iterable[tuple[int, int]]:
        """The nodes after one in the pattern itself, each with how many characters lie between."""
        kind, _, out = self._nodes[node]
        if kind == Kind.CHAR:
            yield out[0], 1
        elif kind in (*_AHEAD, *_BEHIND):
            yield out[1], 0
        elif kind == Kind.ATOMIC:  # its body ends in MATCH, so all of it counts as nothing: a lower bound
            yield out[0], 0
            yield out[1], 0
        else:
            yield from ((to, 0) for to in out)

    def distances(self, start: int) -> dict[int, int]:
        """The least number of characters read before each node."""
        return self._least([start], self._steps)

    def distances_to_end(self) -> dict[int, int]:
        """The least number of characters read from each node to the end."""
        back: dict[int, list[tuple[int, int]]] = {}
        for node in range(len(self._nodes)):
            for to, cost in self._steps(node):
                back.setdefault(to, []).append((node, cost))
        return self._least([MATCH, EARLY], lambda node: back.get(node, ()))

    @staticmethod
    def _least(starts: Iterable[int], steps: Callable[[int], Iterable[tuple[int, int]]]) -> dict[int, int]:
        """The least cost of a way to each node; a step costs 0 or 1."""
        found = dict.fromkeys(starts, 0)
        todo = deque(found)
        while todo:
            node = todo.popleft()
            for to, cost in steps(node):
                distance = found[node] + cost
                if distance < found.get(to, _FAR):
                    found[to] = distance
                    (todo.append if cost else todo.appendleft)(to)
        return found

    def looks_back(self, body: int, before: int) -> bool:
        """Whether the body of a lookahead, with this number of characters before it, has an assertion that looks further back."""
        for node, more in self.distances(body).items():
            kind, arg, out = self._nodes[node]
            at = before + more
            if kind == Kind.ANCHOR and arg not in _AFTER and at < 1:
                return True
            if kind in _BEHIND and at < self.longest(out[0]):
                return True
            if kind in _AHEAD and self.looks_back(out[0], at):
                return True
        return False

    def longest(self, start: int) -> int:
        """The largest number of characters that the body of an assertion looks at; `_FAR` where that has no bound."""
        stack, on_way = [start], set()
        while stack:
            node = stack[-1]
            if node in self._longest:
                stack.pop()
                continue
            kind, _, out = self._nodes[node]
            missing = [to for to in out if to not in self._longest]
            if node in on_way:
                on_way.discard(node)
                if missing:  # a loop
                    self._longest[node] = _FAR
                else:
                    here = 1 if kind == Kind.ANCHOR else 0
                    step = 1 if kind == Kind.CHAR else 0
                    self._longest[node] = min(_FAR, max([here, *[step + self._longest[to] for to in out]]))
                stack.pop()
                continue
            on_way.add(node)
            if any(to in on_way for to in missing):
                self._longest[node] = _FAR
                on_way.discard(node)
                stack.pop()
                continue
            stack += missing
        return self._longest[start]
