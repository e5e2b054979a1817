"""How a grammar's terminals use tokens: which tokens they distinguish, and the stored tables of that in an artifact.

A token is a character beyond Unicode (`psc.compiler.expressions.tokens`), so tokens have classes as characters do: two of one
class do the same everywhere. The tokens of a class share one symbol, that of the first of them.

A grammar that speaks of tokens is not closed ahead of time: classes of tokens are classes of texts, and a token with a symbol has
two spellings.

Cost: linear in the terminals' expressions, in Python; then in the ids of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from psc import _core
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.expressions.expression import MAX_CODE_POINT, Automaton, Chars, Expression
from psc.compiler.expressions.fold import parts_of

Words = npt.NDArray[np.int32]
NO_SYMBOLS: Words = np.zeros(0, np.int32)
"""Of a grammar that speaks of no token."""
Ranges = tuple[tuple[int, int], ...]


def token_sets(grammar: Cfg) -> list[Ranges]:
    """The sets of characters in a grammar's terminals that have tokens in them, each once."""
    # A terminal that is given by its pattern or its text alone is about text.
    expressions = (t.expression for t in grammar.terminals if t.expression is not None)
    return list(dict.fromkeys(r for e in expressions for r in _sets(e) if r and r[-1][1] > MAX_CODE_POINT))


def token_symbols(grammar: Cfg, n_tokens: int) -> Words:
    """Which tokens a grammar tells apart.

    Args:
        grammar: from a front end, for a vocabulary.
        n_tokens: ids of the vocabulary.

    Returns:
        Per token the number of its symbol, or -1 where the grammar does not speak of it, int32; empty where it speaks of none.
    """
    sets = token_sets(grammar)
    if not sets:
        return NO_SYMBOLS
    ranges = [np.array(list(chain.from_iterable(one)), np.int32) for one in sets]
    offsets = np.cumsum([0, *map(len, ranges)], dtype=np.int32)
    return _core.token_symbols(np.concatenate(ranges), offsets, n_tokens)


def symbol_tables(symbols: Words) -> dict[str, Words]:
    """The stored tables, by name, of what :func:`token_symbols` gave; none where that is empty."""
    if not len(symbols):
        return {}
    tokens = np.flatnonzero(symbols >= 0).astype(np.int32)
    return {"symbol_tokens": tokens, "symbol_numbers": symbols[tokens]}


def _sets(expression: Expression) -> Iterator[Ranges]:
    todo = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, Chars):
            yield node.ranges
        elif isinstance(node, Automaton):
            yield from node.between().values()
        else:
            todo.extend(parts_of(node))
