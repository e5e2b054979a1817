"""The class automaton of a regex without assertions: epsilon removal, subset construction and minimization by OpenFst.

Greedy and lazy do not matter here, since the language is that of `fullmatch` and nothing looks at the priorities.

Cost: OpenFst's, on an automaton with as many states as the program has nodes; bounded by `MAX_STATES` subsets.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pynini

from .openfst import Automaton, from_fst, to_fst
from .partition import Partition
from .program import MATCH, Kind, Program
from .unsupported import UnsupportedRegex

MAX_STATES: Final = 100_000


def chain_automaton(sets: list[int]) -> Automaton:
    """The automaton of one character after another; each set is its own class."""
    state = np.arange(len(sets), dtype=np.int64)
    final = np.zeros(len(sets) + 1, dtype=bool)
    final[-1] = True
    return Automaton(final, state, np.array(sets, dtype=np.int64) + 1, state + 1)


def subset_automaton(program: Program, classes: Partition) -> Automaton:
    """The minimal deterministic automaton of a regular `program`; label c + 1 stands for class c.

    Raises:
        UnsupportedRegex: the subset construction exceeds `MAX_STATES`.
    """
    source: list[int] = []
    label: list[int] = []
    target: list[int] = []
    # OpenFst starts at state 0 here, so node `start` trades places with node 0, which is MATCH.
    name = list(range(len(program.nodes)))
    name[program.start], name[MATCH] = MATCH, name[program.start]
    for number, node in enumerate(program.nodes):
        if node.kind == Kind.CHAR:
            members = program_members(classes, node.arg)
            source += [name[number]] * len(members)
            label += members
            target += [name[node.out[0]]] * len(members)
        else:
            source += [name[number]] * len(node.out)
            label += [0] * len(node.out)
            target += [name[following] for following in node.out]
    final = np.zeros(len(name), dtype=bool)
    final[name[MATCH]] = True
    fst = to_fst(Automaton(final, *(np.array(a, dtype=np.int64) for a in (source, label, target))))
    fst.connect()
    fst.rmepsilon()
    fst = pynini.determinize(fst, nstate=MAX_STATES)
    if fst.num_states() >= MAX_STATES:
        raise UnsupportedRegex(f"expression with more than {MAX_STATES} states")
    return minimal(fst)


def program_members(classes: Partition, number: int) -> list[int]:
    """The labels of the classes in set `number`."""
    return [c + 1 for c in sorted(classes.members[number])]


def minimal(fst: pynini.Fst) -> Automaton:
    """The arrays of the minimal automaton of a deterministic one."""
    fst.connect()
    fst.minimize()
    return from_fst(fst)
