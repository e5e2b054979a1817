"""Random grammars in llguidance's dialect, and a slow reading of them that anyone can believe.

A grammar is made as values, written as text for psc, and read here from the values: a reading is the set of stacks of what is still
expected, after lexemes that end at the same places. Lexemes are matched by Python's `re`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Lexeme:
    """A regex, in the subset that Rust and Python share; `lazy`: it is the body of a rule that ends early, of this name."""

    pattern: str
    lazy: str | None = None


@dataclass(frozen=True)
class Use:
    """A rule."""

    name: str


@dataclass(frozen=True)
class Row:
    """One after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Either:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Many:
    """From `least` to `most` times; None is without limit."""

    body: Part
    least: int
    most: int | None


Part = Lexeme | Use | Row | Either | Many
Stack = tuple[Part, ...]
Rules = dict[str, Part]

_PATTERNS = (
    "a",
    "b",
    "[ab]",
    "[^a]",
    "ab",
    "ba",
    "a+",
    "b*",
    "(a|ab)",
    "[abc]*",
    "c",
    "[abc]*c",
    "[ab]*cb?",
    "(ab)*",
    "[bc]+",
    "a?c",
    ";",
)


def random_rules(source: random.Random) -> Rules:
    """Rules of which each uses only later ones, so that reading ends; some lexemes end early."""
    lazy = [Lexeme(source.choice(_PATTERNS), f"l{i}") for i in range(source.randint(1, 2))]
    names = ["start", *(f"r{i}" for i in range(source.randint(0, 3)))]

    def item(later: list[str], depth: int) -> Part:
        kind = source.random()
        if kind < 0.2 and later:
            part: Part = Use(source.choice(later))
        elif kind < 0.5:
            part = source.choice(lazy)
        elif kind < 0.65 and depth:
            part = either(later, depth - 1)
        else:
            part = Lexeme(source.choice(_PATTERNS))
        bounds = source.choice([(0, 1), (0, None), (1, None), (2, 2), (1, 3)])
        return Many(part, *bounds) if source.random() < 0.25 else part

    def either(later: list[str], depth: int) -> Part:
        rows = [Row(tuple(item(later, depth) for _ in range(source.randint(1, 3)))) for _ in range(source.randint(1, 3))]
        return Either(tuple(rows))

    return {name: either(names[i + 1 :], 1) for i, name in enumerate(names)}


def text_of(rules: Rules) -> str:
    """The grammar text."""
    lazy: dict[str, str] = {}

    def written(part: Part) -> str:
        if isinstance(part, Lexeme):
            if part.lazy is None:
                return f"/{part.pattern}/"
            lazy[part.lazy] = part.pattern
            return part.lazy
        if isinstance(part, Use):
            return part.name
        if isinstance(part, Row):
            return " ".join(written(p) for p in part.parts)
        if isinstance(part, Either):
            return f"({' | '.join(written(p) for p in part.parts)})"
        return f"({written(part.body)}){{{part.least},{'' if part.most is None else part.most}}}"

    lines = [f"{name}: {written(part)}" for name, part in rules.items()]
    return "\n".join(["%llguidance {}", *lines, *(f"{name}[lazy]: /{pattern}/" for name, pattern in lazy.items())])


def accepted(rules: Rules, text: str) -> bool:
    """Whether the rules have the text: whatever it is cut into, where a lexeme that ends early matches first, only such go on."""
    seen: set[tuple[int, frozenset[Stack]]] = set()
    todo = [(0, _ready(rules, frozenset([(Use("start"),)])))]
    while todo:
        begin, stacks = todo.pop()
        if (begin, stacks) in seen:
            continue
        seen.add((begin, stacks))
        if begin == len(text) and () in stacks:
            return True
        expected = {stack[0] for stack in stacks if stack}
        lazy = [x for x in expected if isinstance(x, Lexeme) and x.lazy is not None]
        for end in range(begin + 1, len(text) + 1):
            lexeme = text[begin:end]
            early = any(_matches(x.pattern, lexeme) for x in lazy)
            read = {
                x for x in expected if isinstance(x, Lexeme) and (x.lazy is not None or not early) and _matches(x.pattern, lexeme)
            }
            if read:
                todo.append((end, _ready(rules, frozenset(stack[1:] for stack in stacks if stack and stack[0] in read))))
            if early:
                break
    return False


@cache
def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _ready(rules: Rules, stacks: frozenset[Stack]) -> frozenset[Stack]:
    """The stacks with a lexeme on top, or empty, that stand for these; a lexeme that may be empty may be left out."""
    ready: set[Stack] = set()
    seen: set[Stack] = set()
    todo = list(stacks)
    while todo:
        stack = todo.pop()
        if stack in seen:
            continue
        seen.add(stack)
        if not stack:
            ready.add(stack)
            continue
        top, rest = stack[0], stack[1:]
        if isinstance(top, Lexeme):
            ready.add(stack)
            if _matches(top.pattern, ""):
                todo.append(rest)
        elif isinstance(top, Use):
            todo.append((rules[top.name], *rest))
        elif isinstance(top, Row):
            todo.append((*top.parts, *rest))
        elif isinstance(top, Either):
            todo += [(part, *rest) for part in top.parts]
        else:
            if top.least == 0:
                todo.append(rest)
            if top.most != 0:
                more = Many(top.body, max(top.least - 1, 0), None if top.most is None else top.most - 1)
                todo.append((top.body, more, *rest))
    return frozenset(ready)
