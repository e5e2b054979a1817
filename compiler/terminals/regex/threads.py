"""Threads: the simulation behind regexes with assertions, atomic groups or lazy quantifiers, one character at a time.

A thread is a location in the program with a set of *obligations*. An obligation is a lookahead that has begun and is still
undecided: a simulation of the lookahead's body, from where it began, that has to end in success, or in failure. Lookbehinds run
the other way round. Each has one simulation, fed from the start of the text, which says at every position whether the body has
just matched.

Threads are stored as they are right after a character. They are followed through the program (`close`) when the next character
is known, because assertions may look at it.

An atomic group has one thread, whose location carries an ordered list of threads inside the group. When a thread inside leaves
the group, it gets an obligation: no thread before it in the list ever leaves. If the leaving thread has no other obligation, the
threads behind it are dropped. Otherwise they stay, with the obligation that the leaving thread's obligations fail. An example is
`(?>a|ab)c` after `a`: the thread of `a` leaves without an obligation, so the thread of `ab` behind it is dropped, and `abc` does
not match.

Cost: exponential at worst in nested lookarounds, so all steps are counted and bounded by `MAX_WORK`, some ten seconds.
Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach"; A. K. Chandra, D. C. Kozen, L. J. Stockmeyer,
"Alternation" (1981), of which obligations are this case. Empty iterations follow CPython's _sre.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from psc.compiler.terminals.regex.partition import Partition
from psc.compiler.terminals.regex.program import EARLY, MATCH, Anchor, Kind, Program
from psc.compiler.terminals.regex.unsupported import RegexTooLarge
from psc.support.limits import limit

MAX_WORK: Final = limit("lookaround_steps")

Obligations = frozenset[int]
"""Numbers 2 * s (simulation s must succeed) and 2 * s + 1 (it must fail)."""

Location = Any
"""A node's number, or (number of an ATOMIC node, threads inside the group)."""

Thread = tuple[Location, Obligations]
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
        self.remaining: dict[tuple[Obligations, int], Obligations | None] = {}
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

    # Following threads to the locations where they need a character

    def close(self, threads: Iterable[Thread], at: Position) -> Threads:
        """The threads that wait for a character, or have matched, in order of priority.

        A loop whose body matched nothing is left at once, as CPython does. So two visits of a node differ if other loops have
        begun at this very position (`begun`).
        """
        key = tuple(threads)
        known = at.closed.get(key)
        if known is not None:
            return known
        nodes = self.nodes
        result: dict[Thread, None] = {}
        visited: set[tuple[Location, Obligations, frozenset[int]]] = set()
        stack: list[tuple[Location, Obligations, frozenset[int]]] = [(p, o, NONE) for p, o in reversed(key)]
        while stack:
            visit = stack.pop()
            if visit in visited:
                continue
            visited.add(visit)
            location, obligations, begun = visit
            if isinstance(location, tuple):
                self._close_atomic(location, obligations, begun, at, stack, result)
                continue
            kind, arg, out = nodes[location]
            if kind <= Kind.CHAR:
                result[location, obligations] = None
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
                stack.append(((location, ((out[0], NONE),)), obligations, begun))
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
        location: Location,
        obligations: Obligations,
        begun: frozenset[int],
        at: Position,
        stack: list[tuple[Location, Obligations, frozenset[int]]],
        result: dict[Thread, None],
    ) -> None:
        node, inside = location
        before: list[Thread] = []
        blocked: Obligations = NONE  # every way out that was found so far fails
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
        """The closed `threads` after a character of class c; threads that have matched are left out."""
        self._count(len(closed))
        result: list[Thread] = []
        for location, obligations in closed:
            if isinstance(location, tuple):
                node, inside = location
                moved = self.move(inside, at, c)
                if not moved:
                    continue
                following: Location = (node, reduced(moved, ordered=True))
            elif self.nodes[location].kind == Kind.CHAR and c in self.members[self.nodes[location].arg]:
                following = self.nodes[location].out[0]
            else:
                continue
            remaining = self.remaining(obligations, at, c)
            if remaining is not None:
                result.append((following, remaining))
        return result

    def remaining(self, obligations: Obligations, at: Position, c: int) -> Obligations | None:
        """What is left of `obligations` after a character of class c; None if one of them is broken."""
        if not obligations:
            return obligations
        key = obligations, c
        if key not in at.remaining:
            at.remaining[key] = self._remaining(obligations, at, c)
        return at.remaining[key]

    def _remaining(self, obligations: Obligations, at: Position, c: int) -> Obligations | None:
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
        for location, obligations in closed:
            if location == MATCH:
                remaining = self.remaining(obligations, at, c)
                if remaining is not None:
                    if not remaining:
                        return True
                    following.append((MATCH, remaining))
        return self.number(reduced(following, ordered=False), atomic) if following else False

    def number(self, threads: Threads, atomic: bool = False) -> int:
        """The number of a simulation, new or not.

        Simulations that an atomic group makes have numbers of their own. All that they say about the text after the lexeme is that
        the group would rather have matched more. A lexer that prefers longer lexemes wants that anyway.
        """
        key = frozenset(threads), atomic
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.simulations)
            self.simulations.append((threads, atomic))
        return known

    # Verdicts at the end

    def are_met(self, obligations: Obligations, at: Position) -> bool | None:
        """Whether `obligations` are fulfilled if the text ends here; None if `at` lets more follow, and it matters."""
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
        for location, obligations in self.close(threads, at):
            verdict = self.are_met(obligations, at) if location == MATCH else None if not at.after.known else False
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
    """`threads` without those that cannot matter: another thread at the same location has a part of their obligations.

    With `ordered`, only an earlier thread makes a later one superfluous. A thread that has matched early makes every later thread
    with more obligations superfluous, wherever that is.
    """
    if not ordered:
        threads = sorted(threads, key=lambda thread: len(thread[1]))
    result: list[Thread] = []
    lesser: dict[Location, list[Obligations]] = {}
    for location, obligations in threads:
        rivals = lesser.setdefault(location, [])
        early = lesser.get(EARLY, ())
        if not any(r <= obligations for r in rivals) and not any(r <= obligations for r in early):
            rivals.append(obligations)
            result.append((location, obligations))
    return tuple(result)
