"""The class automaton of a regex with assertions, atomic groups or lazy quantifiers.

A state of the deterministic automaton is what has to be known of the text read so far:

    (what the anchors can see of the last character, the lookbehind simulations, the threads).

There are two kinds, which differ in the threads only:

* `fullmatch`: the threads are a set, and any thread at the end accepts.
* `match`, where priorities decide: the threads are a list in the order in which Python's matcher would try them. The
  first to succeed is the match, so a thread that has matched before the end of the text cuts off those behind it, at
  once, or as long as its remaining obligations can still be fulfilled.

Cost: milliseconds for what grammars contain; bounded by `MAX_STATES` states and the simulation's own limit.
Source: the subset construction; for the ordered kind, R. Cox, "Regular Expression Matching: the Virtual Machine Approach".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from psc.compiler.terminals.regex.partition import Partition
from psc.compiler.terminals.regex.program import EARLY, MATCH, Program
from psc.compiler.terminals.regex.threads import NONE, History, Position, Simulation, Thread, Threads, reduced
from psc.compiler.terminals.regex.unsupported import RegexTooLarge
from psc.support.limits import limit

MAX_STATES: Final = limit("lookaround_states")


@dataclass(frozen=True)
class ThreadStates:
    """A deterministic automaton over classes of characters, start state 0, as it was found."""

    final: tuple[bool, ...]
    arcs: tuple[tuple[int, int, int], ...]
    """(source, class, target)."""
    trailing_context: bool
    """Whether an assertion looked past the end of a lexeme."""


def thread_states(program: Program, classes: Partition, *, ordered: bool) -> ThreadStates:
    """The deterministic automaton of `program` over `classes`.

    Args:
        program: the regex.
        classes: of the characters that its sets can tell apart.
        ordered: the language is that of `match` ending at the end of the text; else that of `fullmatch`.

    Raises:
        UnsupportedRegex: more than `MAX_STATES` states or `MAX_WORK` steps.
    """
    run = Simulation(program, classes)
    by_view: list[list[int]] = [[] for _ in run.views]
    for c, view in enumerate(run.view_of):
        by_view[view].append(c)

    start: tuple[History, Any] = (run.first, ((program.start, NONE),))
    numbers: dict[tuple[History, Any], int] = {start: 0}
    queue: list[tuple[History, Threads]] = [start]
    final: list[bool] = []
    arcs: list[tuple[int, int, int]] = []
    trailing_context = False
    for source, (history, threads) in enumerate(queue):
        for view, members in enumerate(by_view):
            if not members:
                continue
            at = run.position(history, view)
            closed = run.close(threads, at)
            for c in members:
                following = _step_in_order(run, closed, at, c) if ordered else run.move(closed, at, c)
                if not following:
                    continue
                after = reduced(following, ordered=ordered)
                state = run.next_history(at, c), after if ordered else frozenset(after)
                target = numbers.setdefault(state, len(queue))
                if target == len(queue):
                    queue.append((state[0], after))
                    if target >= MAX_STATES:
                        raise RegexTooLarge(f"lookarounds or lazy quantifiers with more than {MAX_STATES:,} states")
                arcs.append((source, c, target))
        final.append(_accepts(run, threads, run.position(history, run.at_end), ordered) is True)
        if not trailing_context:
            trailing_context = _accepts(run, threads, run.position(history, run.at_unknown), ordered) is None
    return ThreadStates(tuple(final), tuple(arcs), trailing_context)


def _step_in_order(run: Simulation, closed: Threads, at: Position, c: int) -> list[Thread]:
    """The threads after a character of class c, where one that has already matched outranks those behind it."""
    result: list[Thread] = []
    for thread in closed:
        location, obligations = thread
        if location in (MATCH, EARLY):
            left = run.remaining(obligations, at, c)
            if left is None:
                continue
            if not left:
                break
            result.append((EARLY, left))
        else:
            result += run.move((thread,), at, c)
    while result and result[-1][0] == EARLY:  # nobody left to outrank
        result.pop()
    return result


def _accepts(run: Simulation, threads: Threads, at: Position, ordered: bool) -> bool | None:
    """Whether the text may end here; None if that depends on what follows."""
    depends = False
    closed = run.close(threads, at)
    for location, obligations in closed:
        if location not in (MATCH, EARLY):
            continue
        verdict = run.are_met(obligations, at)
        if verdict is None:
            depends = True
        elif verdict and not (ordered and depends):
            return bool(location == MATCH)
    return None if depends and any(location == MATCH for location, _ in closed) else False
