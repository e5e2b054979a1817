"""``P_ε``: reads a stack, makes every transition that needs no input, writes the stack that results.

Each state is what is known of the top of the stack: symbols read, or put there by transitions. While fewer than two are
known it reads on; if the known top is stable it writes what is known and copies the rest; else it takes a transition.

It is built for one terminal (see ``pda``), since a stack names one terminal at most: its first symbol is an LR state or
``[s, a]``, all others are LR states or ⊥. The loops that the paper draws over all of Π are drawn over these only.

Source: the paper, section 3.3 and algorithm 3. Cost: O(|Π| · LR states) states, Π being the symbols of one terminal; a
few milliseconds for 30 LR states.
"""

from __future__ import annotations

import pynini

from psc.compiler.paper.pda import Pda
from psc.errors import GrammarError

_Known = tuple[int, ...]


def epsilon_transducer(pda: Pda) -> pynini.Fst:
    """``P_ε``, stack in, stack out, top first.

    Raises:
        GrammarError: the table makes reductions without end on some stack; no table without conflicts does.
    """
    fst = pynini.Fst()
    final = fst.add_state()
    fst.set_final(final)
    deeper = [*pda.states, pda.bottom]
    for symbol in deeper:
        fst.add_arc(final, pynini.Arc(symbol, symbol, None, final))
    start = fst.add_state()
    fst.set_start(start)
    numbers: dict[_Known, int] = {(): start}
    todo: list[_Known] = [()]
    writing: dict[_Known, int] = {(): final}

    def state_of(known: _Known) -> int:
        if known not in numbers:
            # Reductions by empty rules pile up states. Two equal ones, with nothing read in between, do so for ever.
            if len(known) > pda.n_states + 3:
                raise GrammarError("the LR table reduces without end: a rule begins with empty rules and then itself")
            numbers[known] = fst.add_state()
            todo.append(known)
        return numbers[known]

    def written(known: _Known) -> int:
        """The state that writes `known` and then copies the rest."""
        if known not in writing:
            writing[known] = fst.add_state()
            fst.add_arc(writing[known], pynini.Arc(0, known[0], None, written(known[1:])))
        return writing[known]

    while todo:
        known = todo.pop()
        here = numbers[known]
        if known and known[0] in pda.final:
            fst.add_arc(here, pynini.Arc(0, 0, None, written(known)))
        elif len(known) < 2:
            for symbol in deeper if known else pda.tops:
                fst.add_arc(here, pynini.Arc(symbol, 0, None, state_of((*known, symbol))))
        elif pda.is_stable(known[0]):
            fst.add_arc(here, pynini.Arc(0, 0, None, written(known)))
        else:
            for after in pda.epsilon(known[0], known[1]):
                fst.add_arc(here, pynini.Arc(0, 0, None, state_of((*after, *known[2:]))))
    return fst.connect()
