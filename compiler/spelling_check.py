"""Terminals that a vocabulary cannot spell: a grammar that needs one leads to masks in which nothing is allowed.

The idea: the byte automaton of all terminals, walked with the bytes that occur in text tokens and no others. A terminal that no
state so reached matches cannot be written, whatever the tokens are: ``root ::= "z"`` with the tokens ``a``, ``b``, ``c``.
The converse does not hold: with the bytes of a terminal in tokens, the tokens' boundaries may still not fit a text.

Cost: nothing where all 256 bytes occur, as in byte-level and byte-fallback vocabularies; else a walk over the automaton.
"""

from __future__ import annotations

import numpy as np

from psc.compiler.grammar import Cfg
from psc.compiler.terminals import TerminalAutomaton, terminal_automaton
from psc.vocabulary.tokenizer_info import TokenizerInfo

_SHOWN = 6


def unspellable(grammar: Cfg, tokenizer: TokenizerInfo, automaton: TerminalAutomaton | None = None) -> str | None:
    """Which terminals no text of the vocabulary's tokens has, in words; None where there is none, or only ignored ones.

    Args:
        grammar: from a front end.
        tokenizer: the vocabulary.
        automaton: of its terminals, if there is one already.
    """
    if len(tokenizer.byte_values) == 256:
        return None
    automaton = automaton if automaton is not None else terminal_automaton(grammar)
    written = _matched(automaton, tokenizer.byte_values)
    missing = [i for i, t in enumerate(grammar.terminals) if i not in written and not t.ignored]
    if not missing:
        return None
    names = ", ".join(grammar.symbol_name(i) for i in missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    why = f"the tokenizer cannot write {names}: no token has the bytes"
    if _derives_a_text(grammar, written):
        return f"{why}. Texts that need them are never allowed, and where nothing else may follow, a mask is empty"
    return f"{why}, so no text of the grammar can be written, and masks become empty"


def _matched(automaton: TerminalAutomaton, byte_values: np.ndarray[tuple[int], np.dtype[np.intp]]) -> set[int]:
    """The terminals that match a string of these bytes."""
    step = automaton.next[:, byte_values]
    reached = np.zeros(len(step), bool)
    frontier = np.array([0])
    while len(frontier):
        reached[frontier] = True
        following = np.unique(step[frontier])
        frontier = following[(following >= 0) & ~reached[following]]
    offsets, terminals = automaton.match_offsets, automaton.match_terminals
    return {int(t) for state in np.flatnonzero(reached) for t in terminals[offsets[state] : offsets[state + 1]]}


def _derives_a_text(grammar: Cfg, written: set[int]) -> bool:
    """Whether the start derives a sequence of these terminals."""
    productive: set[int] = set(written)
    while True:
        more = {p.lhs for p in grammar.productions if p.lhs not in productive and productive.issuperset(p.rhs)}
        if not more:
            break
        productive |= more
    return grammar.first_nonterminal + grammar.nonterminals.index(grammar.start) in productive
