"""``P̃_a``: reads a stack, makes the one transition that reads terminal ``a``, writes the stack that results.

The result need not be stable: of an LR table the transition only writes the terminal on top (see ``pda``), and ``P_ε``
does the rest.

Source: the paper, section 3.4 and algorithm 4. Cost: O(LR states²) states and arcs.
"""

from __future__ import annotations

import pynini

from psc.compiler.paper.pda import Pda


def terminal_transducer(pda: Pda) -> pynini.Fst:
    """``P̃_a`` for the automaton's terminal, stack in, stack out, top first."""
    fst = pynini.Fst()
    start, final = fst.add_state(), fst.add_state()
    fst.set_start(start)
    fst.set_final(final)
    deeper = [*pda.states, pda.bottom]
    for symbol in deeper:
        fst.add_arc(final, pynini.Arc(symbol, symbol, None, final))
    for top in pda.states:
        after = pda.read(top)
        if after is None:
            continue
        one_read = fst.add_state()
        fst.add_arc(start, pynini.Arc(top, 0, None, one_read))
        for below in deeper:
            both_read, one_written = fst.add_state(), fst.add_state()
            fst.add_arc(one_read, pynini.Arc(below, 0, None, both_read))
            fst.add_arc(both_read, pynini.Arc(0, after, None, one_written))
            fst.add_arc(one_written, pynini.Arc(0, below, None, final))
    return fst
