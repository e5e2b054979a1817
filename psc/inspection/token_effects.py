"""What tokens do to the lexer, as numbers: two tokens have the same number where they lead it to the same state over the same
terminals.

The vocabulary is a trie, level by level as arrays, and is walked breadth first from one lexer state, a level at a time. Where
the lexer can go several ways (a lexeme that may end here or go on, a start whose context depends on the parser), all are
followed at once, as in a subset construction: the walk is in a set of lexer states.

Cost: building the trie takes about 0.1 s for 150,000 tokens; then some 40 ms for each lexer state asked for, once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psc.ids import ByteClass, LexerState
from psc.inspection.lexemes import RESTART, START, Lexemes, Symbols
from psc.runtime.compiled import CompiledGrammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

_Ints = NDArray[np.int64]
_Hashes = NDArray[np.uint64]
"""Of what was read and where the lexer is; a collision makes two effects one, no more."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_STOP = np.uint64(1 << 63)
_DEAD = -1


class TokenEffects:
    """The effects of one vocabulary's tokens on one grammar's lexer.

    Args:
        compiled: the grammar; its vocabulary must be found.
    """

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._lexemes = Lexemes(compiled)
        self._classes = np.array(self._lexemes.byte_class, np.int64)
        self._n_classes = int(self._classes.max()) + 1
        self._levels, self._node_of_token = _trie(compiled.tokenizer_info)
        self._numbers: dict[frozenset[LexerState], int] = {}
        self._sets: list[frozenset[LexerState]] = []
        """The sets of lexer states met so far, by number."""
        self._rows: list[tuple[_Ints, _Hashes] | None] = []
        self._labels: dict[tuple[object, ...], int] = {(): 0}
        self._known: dict[frozenset[LexerState], _Ints] = {}

    def of(self, lexer_states: frozenset[LexerState], tokens: _Ints) -> _Ints:
        """The numbers of these tokens' effects, from 0 on: int64, of the tokens' shape. All stop tokens have one of their own.

        Args:
            lexer_states: where the lexer is.
            tokens: ids of allowed tokens.
        """
        known = self._known.get(lexer_states)
        if known is None:
            known = self._known[lexer_states] = self._find(lexer_states)
        return known[self._node_of_token[tokens]]

    def _find(self, lexer_states: frozenset[LexerState]) -> _Ints:
        sets = [np.array([self._number(lexer_states)], np.int64)]
        read = [np.zeros(1, np.uint64)]
        for parent, byte in self._levels:
            before, seen = sets[-1][parent], read[-1][parent]
            live = np.flatnonzero(before != _DEAD)
            here, which = _distinct(before[live], len(self._sets))
            rows = [self._row(int(number)) for number in here]
            after, seen = np.full(len(parent), _DEAD, np.int64), seen.copy()
            if rows:
                symbol = self._classes[byte[live]]
                after[live] = np.stack([r[0] for r in rows])[which, symbol]
                label = np.stack([r[1] for r in rows])[which, symbol]
                seen[live] = np.where(label != 0, seen[live] * _MULTIPLIER + label, seen[live])
            sets.append(after)
            read.append(seen)
        effects = np.concatenate(read[1:]) * _MULTIPLIER + np.concatenate(sets[1:]).astype(np.uint64)
        return np.unique(np.append(effects, _STOP), return_inverse=True)[1].astype(np.int64, copy=False)

    def _number(self, states: frozenset[LexerState]) -> int:
        number = self._numbers.get(states)
        if number is None:
            number = self._numbers[states] = len(self._sets)
            self._sets.append(states)
            self._rows.append(None)
        return number

    def _row(self, number: int) -> tuple[_Ints, _Hashes]:
        """Of a set of lexer states: per byte class the set after it, and what was read, both as numbers; 0 for nothing read."""
        known = self._rows[number]
        if known is not None:
            return known
        ways: dict[ByteClass, set[tuple[Symbols, LexerState]]] = {}
        for state in self._sets[number]:
            for byte_class, symbols, to in self._lexemes.steps(state):
                ways.setdefault(byte_class, set()).add((symbols, to))
        again = {
            c: [(s, to) for cls, s, to in self._lexemes.steps(START) if cls == c]
            for c, w in ways.items()
            if any(t == RESTART for _, t in w)
        }
        after, labels = np.full(self._n_classes, _DEAD, np.int64), np.zeros(self._n_classes, np.uint64)
        for byte_class, found in ways.items():
            followed = {(symbols, to) for symbols, to in found if to != RESTART}
            for symbols, to in found:
                if to == RESTART:
                    followed.update(((*symbols, *more), beyond) for more, beyond in again[byte_class])
            if not followed:
                continue
            after[byte_class] = self._number(frozenset(to for _, to in followed))
            label = tuple(sorted(followed)) if any(symbols for symbols, _ in followed) else ()
            labels[byte_class] = self._labels.setdefault(label, len(self._labels))
        made = self._rows[number] = (after, labels)
        return made


def _distinct(numbers: _Ints, below: int) -> tuple[_Ints, _Ints]:
    """The distinct numbers, ascending, and where each number is among them. As `np.unique`, but nothing is sorted."""
    there = np.zeros(below, bool)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def _trie(tokenizer: TokenizerInfo) -> tuple[list[tuple[_Ints, NDArray[np.uint8]]], _Ints]:
    """A vocabulary as a trie.

    Returns:
        Per level, from the first bytes on, each node's parent on the level above (level 0 is the root) and its byte; and per token
        its node, counted through the levels from 0. Tokens that are not text have a number of their own, after the last node.
    """
    data, offsets = tokenizer.data, tokenizer.offsets.astype(np.int64)
    tokens = tokenizer.text_token_ids.astype(np.int64)
    begin, length = offsets[tokens], offsets[tokens + 1] - offsets[tokens]
    node_of_token = np.full(tokenizer.vocab_size, -1, np.int64)
    levels: list[tuple[_Ints, NDArray[np.uint8]]] = []
    node, n_nodes, depth = np.zeros(len(tokens), np.int64), 0, 0
    tokens, begin, length, node = (a[length > 0] for a in (tokens, begin, length, node))
    while len(tokens):
        byte = data[begin + depth]
        unique, node = np.unique(node * 256 + byte, return_inverse=True)
        levels.append((unique >> 8, (unique & 255).astype(np.uint8)))
        depth += 1
        done = length == depth
        node_of_token[tokens[done]] = n_nodes + node[done]
        n_nodes += len(unique)
        tokens, begin, length, node = (a[~done] for a in (tokens, begin, length, node))
    node_of_token[node_of_token < 0] = n_nodes
    return levels, node_of_token
