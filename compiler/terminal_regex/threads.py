"""Threads: the simulation behind regexes with assertions, atomic groups or lazy quantifiers, one character at a time.

A thread is a place in the program with a set of *obligations*: lookaheads that were begun and are still undecided,
each the state of a simulation of its own (of the lookahead's body, from where it began) that has to end in success, or
in failure. Lookbehinds run the other way round: one simulation each, fed from the start of the text, says at every
position whether the body has just matched.

Assertions on the next character are why threads are kept as they are right after a character, and followed through the
program (`close`) only when the next is known.

An atomic group is a thread whose place carries an ordered list of threads inside the group. When one of them leaves, it
takes the obligation that none of those before it in the list ever does, and those behind it stay only for the case
that its own obligations, if it had any, fail.

Cost: exponential at worst in nested lookarounds, so all steps are counted and bounded by `MAX_WORK`, some ten seconds.
Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach"; A. K. Chandra, D. C. Kozen, L. J. Stockmeyer,
"Alternation" (1981), of which obligations are the case at hand. Empty iterations follow CPython's _sre.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from psc.compiler.terminal_regex.partition import Partition
from psc.compiler.terminal_regex.program import EARLY, MATCH, Anchor, Kind, Program
from psc.compiler.terminal_regex.unsupported import RegexTooLarge

MAX_WORK: Final = 4_000_000

Obligations = frozenset[int]
"""Numbers 2 * s (simulation s must succeed) and 2 * s + 1 (it must fail)."""

Place = Any
"""A node's number, or (number of an ATOMIC node, threads inside the group)."""

Thread = tuple[Place, Obligations]
Threads = tuple[Thread, ...]
History = tuple[tuple[bool, ...], tuple[frozenset[Thread], ...]]
"""What the anchors see of the last character, and the lookbehind simulations."""

NONE: Final[Obligations] = frozenset()
_UNKNOWN: Final = 0  # the simulation that depends on what follows the lexeme

# Python up to 3.13 lets \B fail in an empty text.
_EDGELESS_EMPTY: Final = re.fullmatch(r"\B", "") is not None


class _View:
    """What anchors can see on one side of a position; `outside`: nothing, the text ends here."""

    def __init__(self, outside: bool, bits: tuple[bool, ...], known: bool = True) -> None:
        self.outside = outside
        self.bits = bits
        self.known = known


class Position:
    """One combination of history and next character, with everything computed for it so far."""

    def __init__(self, history: History, before: _View, after: _View) -> None:
        self.history = history
        self.before = before
        self.after = after
        self.closed: dict[Threads, Threads] = {}
        self.behind: dict[int, int | bool] = {}
        self.kept: dict[tuple[Obligations, int], Obligations | None] = {}
        self.moved: dict[tuple[int, int], int | bool] = {}
        self.histories: dict[int, History] = {}
        self.verdicts: dict[int, bool | None] = {}


class Simulation:
    """The threads of one program over the classes of one partition, with everything computed for them so far."""

    def __init__(self, program: Program, classes: Partition) -> None:
        self.program = program
        self.nodes = program.nodes
        self.members = classes.members
        self.work = 0
        self.simulations: list[tuple[Threads, bool]] = [((), False)]  # number 0 is _UNKNOWN
        self.numbers: dict[tuple[frozenset[Thread], bool], int] = {}
        self.positions: dict[tuple[History, int], Position] = {}
        # The sets that anchors distinguish: a character is seen as its membership in each.
        watched: list[int] = []
        self.bit: dict[Anchor, int] = {}
        for anchor, number in program.anchors.items():
            if number is not None:
                if number not in watched:
                    watched.append(number)
                self.bit[anchor] = watched.index(number)
        self.sees_start = bool(program.anchors.keys() - {Anchor.TEXT_END, Anchor.LINE_END})
        nothing = (False,) * len(watched)
        self.seen = [tuple(c in self.members[n] for n in watched) for c in range(len(classes.classes))]
        self.views = [_View(False, bits) for bits in sorted(set(self.seen))]
        self.view_of = [sorted(set(self.seen)).index(bits) for bits in self.seen]
        self.views += [_View(True, nothing), _View(True, nothing, known=False)]
        self.at_end, self.at_unknown = len(self.views) - 2, len(self.views) - 1
        self.first: History = ((self.sees_start, *nothing), (frozenset(),) * len(program.behinds))

    # Positions and anchors

    def position(self, history: History, view: int) -> Position:
        found = self.positions.get((history, view))
        if found is None:
            outside, *bits = history[0]
            found = Position(history, _View(outside, tuple(bits)), self.views[view])
            self.positions[history, view] = found
        return found

    def holds_anchor(self, anchor: int, at: Position) -> bool | None:
        """Whether an anchor holds; None if that depends on what follows the lexeme."""
        before, after = at.before, at.after
        if anchor == Anchor.TEXT_START:
            return before.outside
        if anchor == Anchor.LINE_START:
            return before.outside or before.bits[self.bit[Anchor.LINE_START]]
        if not after.known:
            return None
        if anchor == Anchor.TEXT_END:
            return after.outside
        if anchor == Anchor.LINE_END:
            return after.outside or after.bits[self.bit[Anchor.LINE_END]]
        if before.outside and after.outside:
            return _EDGELESS_EMPTY and anchor in (Anchor.NOT_WORD_EDGE, Anchor.NOT_ASCII_WORD_EDGE)
        bit = self.bit[Anchor(anchor)]
        edge = before.bits[bit] != after.bits[bit]
        return edge == (anchor in (Anchor.WORD_EDGE, Anchor.ASCII_WORD_EDGE))

    def next_history(self, at: Position, c: int) -> History:
        known = at.histories.get(c)
        if known is None:
            behinds = []
            for threads, body in zip(at.history[1], self.program.behinds, strict=True):
                moved = self.move(self.close((*threads, (body, NONE)), at), at, c)
                behinds.append(frozenset(reduced(moved, ordered=False)))
            known = at.histories[c] = ((False, *self.seen[c]), tuple(behinds))
        return known

    # Following threads to the places where they need a character

    def close(self, threads: Iterable[Thread], at: Position) -> Threads:
        """The places that wait for a character, or have matched, in order of priority.

        A loop whose body matched nothing is left at once, as CPython does: hence the loops begun at this very
        position (`begun`) are part of what tells two visits of a node apart.
        """
        key = tuple(threads)
        known = at.closed.get(key)
        if known is not None:
            return known
        nodes = self.nodes
        result: dict[Thread, None] = {}
        visited: set[tuple[Place, Obligations, frozenset[int]]] = set()
        stack: list[tuple[Place, Obligations, frozenset[int]]] = [(p, o, NONE) for p, o in reversed(key)]
        while stack:
            visit = stack.pop()
            if visit in visited:
                continue
            visited.add(visit)
            place, obligations, begun = visit
            if isinstance(place, tuple):
                self._close_atomic(place, obligations, begun, at, stack, result)
                continue
            kind, arg, out = nodes[place]
            if kind <= Kind.CHAR:
                result[place, obligations] = None
            elif kind == Kind.SPLIT:
                stack.extend((following, obligations, begun) for following in reversed(out))
            elif kind == Kind.REPEAT:
                stack.append((out[0], obligations, begun - {arg}))
            elif kind == Kind.GREEDY or kind == Kind.LAZY:
                leave = (out[1], obligations, begun - {arg})
                if arg in begun:
                    stack.append(leave)
                else:
                    enter = (out[0], obligations, begun | {arg})
                    stack.extend((leave, enter) if kind == Kind.GREEDY else (enter, leave))
            elif kind == Kind.ANCHOR:
                holds = self.holds_anchor(arg, at)
                if holds is not False:
                    stack.append((out[0], obligations if holds else obligations | {2 * _UNKNOWN}, begun))
            elif kind == Kind.ATOMIC:
                stack.append(((place, ((out[0], NONE),)), obligations, begun))
            else:
                negative = kind in (Kind.NOT_AHEAD, Kind.NOT_BEHIND)
                if kind in (Kind.AHEAD, Kind.NOT_AHEAD):
                    verdict: int | bool = self.number(((out[0], NONE),))
                else:
                    verdict = self.is_behind(arg, at)
                if isinstance(verdict, bool):
                    if verdict != negative:
                        stack.append((out[1], obligations, begun))
                else:
                    duty = 2 * verdict + negative
                    if duty ^ 1 not in obligations:
                        stack.append((out[1], obligations | {duty}, begun))
        self._count(len(visited))
        known = at.closed[key] = tuple(result)
        return known

    def _close_atomic(
        self,
        place: Place,
        obligations: Obligations,
        begun: frozenset[int],
        at: Position,
        stack: list[tuple[Place, Obligations, frozenset[int]]],
        result: dict[Thread, None],
    ) -> None:
        node, inside = place
        before: list[Thread] = []
        blocked: Obligations = NONE  # that the ways out found so far are closed after all
        for where, duties in self.close(inside, at):
            duties |= blocked
            if where != MATCH:
                before.append((where, duties))
                continue
            leaving = obligations | duties
            if before:
                leaving |= {2 * self.number(tuple(before), atomic=True) + 1}
            stack.append((self.nodes[node].out[1], leaving, begun))
            if not duties:
                break
            blocked |= {2 * self.number(((MATCH, duties),), atomic=True) + 1}
        if before:
            result[(node, tuple(before)), obligations] = None

    def is_behind(self, number: int, at: Position) -> int | bool:
        """Whether lookbehind `number` holds here, or else the simulation that will tell."""
        known = at.behind.get(number)
        if known is None:
            threads = (*at.history[1][number], (self.program.behinds[number], NONE))
            matched = tuple(t for t in self.close(threads, at) if t[0] == MATCH)
            certain = not matched or any(not duties for _, duties in matched)
            known = at.behind[number] = bool(matched) if certain else self.number(matched)
        return known

    # Reading a character

    def move(self, closed: Threads, at: Position, c: int) -> list[Thread]:
        """The closed `threads` after a character of class c; those that have matched are gone."""
        self._count(len(closed))
        result: list[Thread] = []
        for place, obligations in closed:
            if isinstance(place, tuple):
                node, inside = place
                moved = self.move(inside, at, c)
                if not moved:
                    continue
                following: Place = (node, reduced(moved, ordered=True))
            elif self.nodes[place].kind == Kind.CHAR and c in self.members[self.nodes[place].arg]:
                following = self.nodes[place].out[0]
            else:
                continue
            kept = self.keep(obligations, at, c)
            if kept is not None:
                result.append((following, kept))
        return result

    def keep(self, obligations: Obligations, at: Position, c: int) -> Obligations | None:
        """What is left of `obligations` after a character of class c; None if one of them is broken."""
        if not obligations:
            return obligations
        key = obligations, c
        if key not in at.kept:
            at.kept[key] = self._keep(obligations, at, c)
        return at.kept[key]

    def _keep(self, obligations: Obligations, at: Position, c: int) -> Obligations | None:
        left: set[int] = set()
        for duty in obligations:
            result = self.advance(duty >> 1, at, c)
            if isinstance(result, bool):
                if result == bool(duty & 1):
                    return None
            elif 2 * result + (duty & 1 ^ 1) in left:
                return None
            else:
                left.add(2 * result + (duty & 1))
        return frozenset(left)

    def advance(self, simulation: int, at: Position, c: int) -> int | bool:
        """The simulation after a character of class c, or its outcome."""
        key = simulation, c
        known = at.moved.get(key)
        if known is None:
            known = at.moved[key] = self._advance(simulation, at, c)
        return known

    def _advance(self, simulation: int, at: Position, c: int) -> int | bool:
        threads, atomic = self.simulations[simulation]
        closed = self.close(threads, at)
        following = self.move(closed, at, c)
        for place, obligations in closed:
            if place == MATCH:
                kept = self.keep(obligations, at, c)
                if kept is not None:
                    if not kept:
                        return True
                    following.append((MATCH, kept))
        return self.number(reduced(following, ordered=False), atomic) if following else False

    def number(self, threads: Threads, atomic: bool = False) -> int:
        """The number of a simulation, new or not.

        Those that an atomic group makes are kept apart: what they say about the text after the lexeme is only that
        the group would rather have matched more, which any lexer that prefers longer lexemes wants anyway.
        """
        key = frozenset(threads), atomic
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.simulations)
            self.simulations.append((threads, atomic))
        return known

    # Verdicts at the end

    def met(self, obligations: Obligations, at: Position) -> bool | None:
        """Whether `obligations` are met if the text ends here; None if `at` lets more follow, and it matters."""
        result: bool | None = True
        for duty in obligations:
            verdict = self.succeeds(duty >> 1, at)
            if verdict is None:
                result = None
            elif verdict == bool(duty & 1):
                return False
        return result

    def succeeds(self, simulation: int, at: Position) -> bool | None:
        if simulation == _UNKNOWN:
            return None
        if simulation not in at.verdicts:
            at.verdicts[simulation] = self._succeeds(simulation, at)
        return at.verdicts[simulation]

    def _succeeds(self, simulation: int, at: Position) -> bool | None:
        threads, atomic = self.simulations[simulation]
        if atomic:
            at = self.position(at.history, self.at_end)
        result: bool | None = False
        for place, obligations in self.close(threads, at):
            verdict = self.met(obligations, at) if place == MATCH else None if not at.after.known else False
            if verdict:
                return True
            if verdict is None:
                result = None
        return result

    def _count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise RegexTooLarge(f"lookarounds, lazy quantifiers and repetitions that need more than {MAX_WORK:,} steps together")


def reduced(threads: Iterable[Thread], ordered: bool) -> Threads:
    """`threads` without those that cannot matter, because another at the same place asks for less.

    In order of priority, only an earlier one counts; and one that matched early and asks for less wins anyway.
    """
    if not ordered:
        threads = sorted(threads, key=lambda thread: len(thread[1]))
    result: list[Thread] = []
    lesser: dict[Place, list[Obligations]] = {}
    for place, obligations in threads:
        rivals = lesser.setdefault(place, [])
        early = lesser.get(EARLY, ())
        if not any(r <= obligations for r in rivals) and not any(r <= obligations for r in early):
            rivals.append(obligations)
            result.append((place, obligations))
    return tuple(result)
