"""The class automaton of a regex without assertions: the classical subset construction, then minimization by OpenFst.

Priorities do not matter here, since the language is that of `fullmatch`. The construction is ours and not OpenFst's
because it must stop: a regex of twenty characters can have a million subsets, and `determinize` with a bound on its
states, which prunes, takes longer than without.

Cost: O(subsets * their size * classes), about 10 us for a small subset; bounded by `MAX_STATES` and `MAX_WORK`.
Source: M. O. Rabin, D. Scott, "Finite Automata and Their Decision Problems" (1959).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from psc.compiler.terminals.regex.partition import Partition
from psc.compiler.terminals.regex.program import MATCH, Kind, Program
from psc.compiler.terminals.regex.unsupported import UnsupportedRegex

from .arrays import Automaton, from_fst, to_fst

if TYPE_CHECKING:
    import pynini

MAX_STATES: Final = 100_000
MAX_WORK: Final = 20_000_000


def chain_automaton(sets: list[int]) -> Automaton:
    """The automaton of one character after another; each set is its own class."""
    state = np.arange(len(sets), dtype=np.int64)
    final = np.zeros(len(sets) + 1, dtype=bool)
    final[-1] = True
    return Automaton(final, state, np.array(sets, dtype=np.int64) + 1, state + 1)


def subset_automaton(program: Program, classes: Partition) -> Automaton:
    """The minimal deterministic automaton of a regular `program`; label c + 1 stands for class c.

    Raises:
        UnsupportedRegex: more than `MAX_STATES` subsets, or `MAX_WORK` steps.
    """
    nodes = program.nodes
    closures: dict[int, frozenset[int]] = {}

    def closure(start: int) -> frozenset[int]:
        """The nodes that wait for a character, or MATCH, reachable from `start` without reading."""
        known = closures.get(start)
        if known is None:
            visited = {start}
            stack = [start]
            while stack:
                node = nodes[stack.pop()]
                if node.kind > Kind.CHAR:
                    fresh = [following for following in node.out if following not in visited]
                    visited.update(fresh)
                    stack += fresh
            known = closures[start] = frozenset(n for n in visited if nodes[n].kind <= Kind.CHAR)
        return known

    first = closure(program.start)
    numbers = {first: 0}
    queue = [first]
    arcs: list[tuple[int, int, int]] = []
    work = 0
    for source, subset in enumerate(queue):
        by_class: dict[int, set[int]] = {}
        for number in subset:
            if number != MATCH:
                _, members, out = nodes[number]
                following = closure(out[0])
                for c in classes.members[members]:
                    by_class.setdefault(c, set()).update(following)
                work += len(following) * len(classes.members[members])
        for c, union in by_class.items():
            after = frozenset(union)
            target = numbers.setdefault(after, len(queue))
            if target == len(queue):
                queue.append(after)
            arcs.append((source, c + 1, target))
        if len(queue) > MAX_STATES or work > MAX_WORK:
            raise UnsupportedRegex(f"expression with more than {MAX_STATES} states, or too ambiguous to count them")
    return minimal(np.array([MATCH in subset for subset in queue], dtype=bool), arcs)


def minimal(final: npt.NDArray[np.bool_], arcs: list[tuple[int, int, int]]) -> Automaton:
    """The minimal automaton of a deterministic one, given by its final states and (source, label, target)."""
    table = np.array(arcs, dtype=np.int64).reshape(-1, 3)
    fst: pynini.Fst = to_fst(Automaton(final, table[:, 0], table[:, 1], table[:, 2]))
    fst.connect()
    fst.minimize()
    return from_fst(fst)
