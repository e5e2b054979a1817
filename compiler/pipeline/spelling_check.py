"""Terminals that a vocabulary cannot spell: a grammar that needs one leads to masks in which nothing is allowed.

The idea: the byte automaton of all terminals, walked with the bytes that occur in text tokens and no others. A terminal that no
state so reached matches cannot be written, whatever the tokens are: ``root ::= "z"`` with the tokens ``a``, ``b``, ``c``. Tokens
that a grammar asks for as such are walked by their symbols besides.
The converse does not hold: with the bytes of a terminal in tokens, the tokens' boundaries may still not fit a text.

Most vocabularies that lack bytes lack none that matters: where each set of characters has one that can be written, nothing is
walked, and the automaton need not be made.

Cost: nothing where all 256 bytes occur, as in most byte-level and byte-fallback vocabularies; 10 us for the rules of a schema where
no set lacks all of its characters; else a walk over the automaton, and for its symbols four steps a state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.terminals import TerminalAutomaton
from psc.compiler.cfg.token_symbols import Words
from psc.compiler.frontends.tables import GrammarTables
from psc.vocabulary.tokenizer_info import TokenizerInfo

_SHOWN = 6
_FIRST_SYMBOL_BYTE: Final = 0xF8
"""No text with it or a larger one is read where a grammar speaks of tokens."""
_MAX_CELLS: Final = 1 << 20


def unspellable(tables: GrammarTables, tokenizer: TokenizerInfo) -> str | None:
    """Which terminals no text of the vocabulary's tokens has, in words; None where there is none, or only ignored ones.

    Args:
        tables: of the grammar.
        tokenizer: the vocabulary.
    """
    if len(tokenizer.byte_values) in (0, 256):  # without tokens, text is taken by accept_string
        return None
    if tables.are_spelled(bytes(tokenizer.byte_values.tolist())):
        return None
    grammar = tables.cfg
    written = _matched(tables.automaton, tokenizer.byte_values, tables.symbols(tokenizer.vocab_size))
    missing = [i for i, t in enumerate(grammar.terminals) if i not in written and not t.ignored]
    if not missing:
        return None
    names = ", ".join(grammar.symbol_name(i) for i in missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    why = f"the tokenizer cannot write {names}: no token has the bytes"
    if _derives_a_text(grammar, written):
        return f"{why}. Texts that need them are never allowed, and where nothing else may follow, a mask is empty"
    return f"{why}, so no text of the grammar can be written, and masks become empty"


def _matched(automaton: TerminalAutomaton, byte_values: npt.NDArray[np.intp], symbols: Words) -> set[int]:
    """The terminals that match a string of these bytes, and of tokens with these symbols."""
    if len(symbols):
        byte_values = byte_values[byte_values < _FIRST_SYMBOL_BYTE]
    step, spelled = automaton.next[:, byte_values], _spelled(np.unique(symbols[symbols >= 0]))
    has_symbols = automaton.next[:, _FIRST_SYMBOL_BYTE:].max(axis=1) >= 0
    reached = np.zeros(len(step), bool)
    frontier = np.array([0])
    while len(frontier):
        reached[frontier] = True
        some = _some_at_a_time(frontier[has_symbols[frontier]], len(spelled))
        found = np.unique(np.concatenate([step[frontier].ravel(), *(_after(automaton, states, spelled) for states in some)]))
        frontier = found[(found >= 0) & ~reached[found]]
    offsets, terminals = automaton.match_offsets, automaton.match_terminals
    return {int(t) for state in np.flatnonzero(reached) for t in terminals[offsets[state] : offsets[state + 1]]}


def _spelled(symbols: Words) -> Words:
    """The four bytes of each symbol, as native/text/token_symbols.hpp has them: shape (symbols, 4)."""
    return np.stack([first + (symbols >> shift & 0x3F) for shift, first in ((18, 0xF8), (12, 0x80), (6, 0x80), (0, 0x80))], axis=1)


def _after(automaton: TerminalAutomaton, states: Words, spelled: Words) -> Words:
    """The states after any of the symbols in any of these states, and -1."""
    at = np.repeat(states[:, None], len(spelled), axis=1)
    for byte in spelled.T:
        at = np.where(at >= 0, automaton.next[at, byte[None, :]], -1)
    return np.unique(at)


def _some_at_a_time(states: Words, n_symbols: int) -> Iterator[Words]:
    """The states in parts whose product with the symbols is no matter for memory."""
    n = max(1, _MAX_CELLS // max(1, n_symbols))
    for begin in range(0, len(states) if n_symbols else 0, n):
        yield states[begin : begin + n]


def _derives_a_text(grammar: Cfg, written: set[int]) -> bool:
    """Whether the start derives a sequence of these terminals."""
    productive: set[int] = set(written)
    while True:
        more = {p.lhs for p in grammar.productions if p.lhs not in productive and productive.issuperset(p.rhs)}
        if not more:
            break
        productive |= more
    return grammar.first_nonterminal + grammar.nonterminals.index(grammar.start) in productive
