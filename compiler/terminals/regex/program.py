"""A regex as a small program of nodes (a Thompson automaton with assertions), made from Python's own parse tree.

Concatenations are compiled from the back, so that every node is born knowing its successor; counted repetitions are
unrolled. The order of a node's successors is the order in which Python's backtracking matcher tries them. Anything
that this file cannot express exactly is refused by raising `UnsupportedRegex`.

Cost: linear in the pattern, with its counted repetitions written out.
Source: K. Thompson (1968); R. Cox, "Regular Expression Matching: the Virtual Machine Approach".
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, Final, NamedTuple

from psc.compiler.terminals.regex.codepoints import NEWLINE, Bounds, category, character_set, parser, sre
from psc.compiler.terminals.regex.partition import without_surrogates
from psc.compiler.terminals.regex.unsupported import RegexTooLarge, UnsupportedRegex
from psc.support.limits import limit

MAX_NODES: Final = limit("lookaround_parts")
"""Nodes of a program, with counted repetitions written out."""


class Kind(IntEnum):
    """What a node does, `out` being its successors in order of preference."""

    MATCH = 0  # the end of the pattern, or of the body of a lookaround or atomic group
    EARLY = 1  # the end of the pattern, before the end of the text
    CHAR = 2  # one character of sets[arg]
    SPLIT = 3  # any of out; none: failure
    REPEAT = 4  # enter loop arg
    GREEDY = 5  # loop arg: out = body, exit
    LAZY = 6  # the same, exit preferred
    ANCHOR = 7  # go on if Anchor arg holds here
    AHEAD = 8  # out = body, next
    NOT_AHEAD = 9
    BEHIND = 10  # out = body, next; the body is behinds[arg]
    NOT_BEHIND = 11
    ATOMIC = 12  # out = body, next


class Anchor(IntEnum):
    """An assertion on the characters on either side of a position."""

    TEXT_START = 0
    LINE_START = 1
    TEXT_END = 2
    LINE_END = 3
    WORD_EDGE = 4
    NOT_WORD_EDGE = 5
    ASCII_WORD_EDGE = 6
    NOT_ASCII_WORD_EDGE = 7


class Node(NamedTuple):
    """One instruction."""

    kind: int
    arg: int
    out: tuple[int, ...]


MATCH: Final = 0
EARLY: Final = 1


class Program:
    """The nodes of one regex.

    Attributes:
        nodes: nodes 0 and 1 are MATCH and EARLY.
        start: the first node.
        sets: what CHAR nodes and anchors refer to.
        behinds: first nodes of lookbehind bodies.
        anchors: the kinds of anchor used, each with the set that it looks at.
        lazy: whether any quantifier is lazy.
        regular: no node needs more than a classical automaton (no assertion, no atomic group).
    """

    def __init__(self, pattern: str, flags: int) -> None:
        try:
            tree = parser.parse(pattern, flags)
        except re.error as error:
            raise UnsupportedRegex(f"not a regular expression of Python's re ({error.msg})", error.pos) from None
        except (RecursionError, OverflowError) as error:
            raise RegexTooLarge(_too_deep(error)) from None
        flags |= tree.state.flags
        if not flags & re.ASCII:
            flags |= re.UNICODE
        self.pattern = pattern
        self.nodes: list[Node] = [Node(Kind.MATCH, 0, ()), Node(Kind.EARLY, 0, ())]
        self.sets: list[Bounds] = []
        self.behinds: list[int] = []
        self.anchors: dict[Anchor, int | None] = {}
        self.lazy = False
        self.regular = True
        self._set_number: dict[bytes, int] = {}
        self._loops = 0
        try:
            self.start = self._sequence(tree, flags, MATCH)
        except RecursionError as error:
            raise RegexTooLarge(_too_deep(error)) from None

    def set_number(self, bounds: Bounds) -> int:
        """The index in `sets` of a set, added if it is new."""
        key = bounds.tobytes()
        number = self._set_number.get(key)
        if number is None:
            number = self._set_number[key] = len(self.sets)
            self.sets.append(without_surrogates(bounds))
        return number

    def chain(self) -> list[int] | None:
        """The sets that follow each other, if the pattern is nothing but one character after another."""
        result: list[int] = []
        at = self.start
        while self.nodes[at].kind == Kind.CHAR:
            result.append(self.nodes[at].arg)
            at = self.nodes[at].out[0]
        return result if at == MATCH else None

    def _add(self, kind: Kind, arg: int, *out: int) -> int:
        if len(self.nodes) >= MAX_NODES:
            raise RegexTooLarge(f"counted repetition of more than {MAX_NODES:,} parts")
        self.nodes.append(Node(kind, arg, out))
        return len(self.nodes) - 1

    def _sequence(self, items: Any, flags: int, following: int) -> int:
        for op, value in reversed(items.data):
            following = self._item(op, value, flags, following)
        return following

    def _item(self, op: Any, value: Any, flags: int, following: int) -> int:
        bounds = character_set(op, value, flags)
        if bounds is not None:
            return self._add(Kind.CHAR, self.set_number(bounds), following)
        if op is sre.SUBPATTERN:
            _, added, removed, items = value
            if added & (re.ASCII | re.UNICODE):
                flags &= ~(re.ASCII | re.UNICODE)
            return self._sequence(items, (flags | added) & ~removed, following)
        if op is sre.BRANCH:
            return self._add(Kind.SPLIT, 0, *[self._sequence(items, flags, following) for items in value[1]])
        if op is sre.MAX_REPEAT or op is sre.MIN_REPEAT:
            low, high, items = value
            return self._repeat(op is sre.MIN_REPEAT, low, high, items, flags, following)
        if op is sre.AT:
            return self._at(value, flags, following)
        if op is sre.ASSERT or op is sre.ASSERT_NOT:
            direction, items = value
            return self._look(op is sre.ASSERT, direction, items, flags, following)
        if op is sre.FAILURE:
            return self._add(Kind.SPLIT, 0)
        if op is sre.ATOMIC_GROUP:
            self.regular = False
            return self._add(Kind.ATOMIC, 0, self._sequence(value, flags, MATCH), following)
        if op is sre.POSSESSIVE_REPEAT:
            low, high, items = value
            return self._possessive(low, high, items, flags, following)
        if op is sre.GROUPREF:
            raise UnsupportedRegex("backreference", _find(self.pattern, r"\\[1-9]|\(\?P="))
        if op is sre.GROUPREF_EXISTS:
            raise UnsupportedRegex("conditional group", _find(self.pattern, r"\(\?\("))
        raise UnsupportedRegex(str(op).lower().replace("_", " "))

    def _repeat(self, lazy: bool, low: int, high: int, items: Any, flags: int, following: int) -> int:
        self.lazy |= lazy
        kind = Kind.LAZY if lazy else Kind.GREEDY
        loop = self._loops
        self._loops += 1
        if high is sre.MAXREPEAT:
            check = self._add(kind, loop)
            self.nodes[check] = Node(kind, loop, (self._sequence(items, flags, check), following))
        else:
            check = following
            for _ in range(high - low):
                check = self._add(kind, loop, self._sequence(items, flags, check), following)
        for _ in range(low):
            check = self._sequence(items, flags, check)
        return self._add(Kind.REPEAT, loop, check)

    def _possessive(self, low: int, high: int, items: Any, flags: int, following: int) -> int:
        """Python commits to each repetition as soon as it has matched, the mandatory ones included."""
        self.regular = False
        loop = self._loops
        self._loops += 1
        if high is sre.MAXREPEAT:
            check = self._add(Kind.GREEDY, loop)
            body = self._add(Kind.ATOMIC, 0, self._sequence(items, flags, MATCH), check)
            self.nodes[check] = Node(Kind.GREEDY, loop, (body, MATCH))
        else:
            check = MATCH
            for _ in range(high - low):
                body = self._add(Kind.ATOMIC, 0, self._sequence(items, flags, MATCH), check)
                check = self._add(Kind.GREEDY, loop, body, MATCH)
        at = self._add(Kind.ATOMIC, 0, self._add(Kind.REPEAT, loop, check), following)
        for _ in range(low):
            at = self._add(Kind.ATOMIC, 0, self._sequence(items, flags, MATCH), at)
        return at

    def _at(self, where: Any, flags: int, following: int) -> int:
        self.regular = False
        multiline = bool(flags & re.MULTILINE)
        if where is sre.AT_BEGINNING:
            return self._anchor(Anchor.LINE_START if multiline else Anchor.TEXT_START, following)
        if where is sre.AT_BEGINNING_STRING:
            return self._anchor(Anchor.TEXT_START, following)
        if where is sre.AT_END_STRING:
            return self._anchor(Anchor.TEXT_END, following)
        if where is sre.AT_END and multiline:
            return self._anchor(Anchor.LINE_END, following)
        if where is sre.AT_END:  # before a final newline, too: (?=\n?\Z)
            end = self._anchor(Anchor.TEXT_END, MATCH)
            newline = self._add(Kind.CHAR, self.set_number(NEWLINE), end)
            return self._add(Kind.AHEAD, 0, self._add(Kind.SPLIT, 0, newline, end), following)
        ascii_only = bool(flags & re.ASCII)
        if where is sre.AT_BOUNDARY:
            return self._anchor(Anchor.ASCII_WORD_EDGE if ascii_only else Anchor.WORD_EDGE, following)
        if where is sre.AT_NON_BOUNDARY:
            return self._anchor(Anchor.NOT_ASCII_WORD_EDGE if ascii_only else Anchor.NOT_WORD_EDGE, following)
        raise UnsupportedRegex(str(where).lower().replace("_", " "))

    def _anchor(self, anchor: Anchor, following: int) -> int:
        self.anchors[anchor] = None
        if anchor in (Anchor.LINE_START, Anchor.LINE_END):
            self.anchors[anchor] = self.set_number(NEWLINE)
        elif anchor >= Anchor.WORD_EDGE:
            self.anchors[anchor] = self.set_number(category(r"\w", anchor >= Anchor.ASCII_WORD_EDGE))
        return self._add(Kind.ANCHOR, anchor, following)

    def _look(self, positive: bool, direction: int, items: Any, flags: int, following: int) -> int:
        self.regular = False
        if direction >= 0:
            body = self._sequence(items, flags, MATCH)
            return self._add(Kind.AHEAD if positive else Kind.NOT_AHEAD, 0, body, following)
        narrowest, widest = items.getwidth()
        if narrowest != widest:
            raise UnsupportedRegex("lookbehind of variable width", _find(self.pattern, r"\(\?<[=!]", once=True))
        body = self._sequence(items, flags, MATCH)
        self.behinds.append(body)
        return self._add(Kind.BEHIND if positive else Kind.NOT_BEHIND, len(self.behinds) - 1, body, following)


def _too_deep(error: Exception) -> str:
    return "nesting too deep" if isinstance(error, RecursionError) else "repetition count too large"


def _find(pattern: str, construct: str, once: bool = False) -> int | None:
    """Where `construct` first stands in `pattern`, outside classes and escapes.

    Python's parse tree has no positions. With `once`, None if there are several and the first may not be the culprit.
    """
    token = re.compile(rf"(?P<found>{construct})|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
    found = [m.start() for m in token.finditer(pattern) if m["found"] is not None]
    return found[0] if found and not (once and len(found) > 1) else None
