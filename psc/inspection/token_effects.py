"""The effects of tokens on the lexer, as numbers: two tokens have the same one where they lead it to the same state over the same
terminals.

The vocabulary is a trie, level by level as arrays, and is walked breadth first from one lexer state, a level at a time. Where
the lexer can go several ways (a lexeme that may end here or go on, a start whose context depends on the parser), all are
followed at once, as in a subset construction: the walk is in a set of lexer states.

A position is a set of lexer states and the symbols read on the way to it. Positions are numbered, and the step of a byte class from
a position is computed once, so the walk looks up one number a node.

Cost: building the trie takes about 0.1 s for 150,000 tokens; then some 15 ms for each lexer state, on its first use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psc.ids import ByteClass, LexerState
from psc.inspection.lexemes import RESTART, START, Lexemes, Symbols
from psc.runtime.compiled import LoadedGrammar
from psc.vocabulary.tokenizer_info import TokenizerInfo

_Ints = NDArray[np.int64]
_Label = tuple[tuple[Symbols, LexerState], ...]
_Position = tuple[int, frozenset[LexerState]]
_Numbers = NDArray[np.int32]
_DEAD, _STOP, _UNKNOWN = 0, 1, -1


class TokenEffects:
    """The effects of one vocabulary's tokens on one grammar's lexer.

    Args:
        compiled: the grammar; its vocabulary must be available.
    """

    def __init__(self, compiled: LoadedGrammar) -> None:
        self._lexemes = Lexemes(compiled)
        classes = np.array(self._lexemes.byte_class, np.int32)
        self._n_classes = int(classes.max()) + 1
        levels, self._node_of_token = _trie(compiled.tokenizer_info)
        self._levels = [(parent, classes[byte]) for parent, byte in levels]
        """Per level of the trie each node's parent on the level above, and the class of its byte."""
        self._begins: dict[ByteClass, list[tuple[Symbols, LexerState]]] = {}
        """Per byte class the steps of a lexeme's first byte."""
        for byte_class, symbols, to in self._lexemes.steps(START):
            self._begins.setdefault(byte_class, []).append((symbols, to))
        self._steps: dict[frozenset[LexerState], dict[ByteClass, tuple[_Label, frozenset[LexerState]]]] = {}
        self._effects: dict[frozenset[LexerState], _Ints] = {}

    def of(self, lexer_states: frozenset[LexerState], tokens: _Ints) -> _Ints:
        """The numbers of these tokens' effects, from 0 on: int64, of the tokens' shape. All stop tokens have one of their own.

        Args:
            lexer_states: where the lexer is.
            tokens: ids of allowed tokens.
        """
        effects = self._effects.get(lexer_states)
        if effects is None:
            effects = self._effects[lexer_states] = self._find(lexer_states)
        return effects[self._node_of_token[tokens]]

    def _find(self, lexer_states: frozenset[LexerState]) -> _Ints:
        reads: dict[tuple[int, _Label], int] = {}  # by the symbols read before and those read now; 0 is none
        start = (0, lexer_states)
        numbers: dict[_Position, int] = {start: 2}
        positions: list[_Position] = [(-1, frozenset()), (-1, frozenset()), start]  # the first two stand for `_DEAD` and `_STOP`
        after = np.full((1024, self._n_classes), _UNKNOWN, np.int32)  # per position and byte class the next position
        after[_DEAD] = _DEAD
        at, reached = np.array([2], np.int32), []
        for parent, byte_class in self._levels:
            step = at[parent] * np.int32(self._n_classes) + byte_class
            at = after.ravel()[step]
            if len(unknown := np.unique(step[at == _UNKNOWN])):
                for position, symbol in zip(*(a.tolist() for a in divmod(unknown, self._n_classes)), strict=True):
                    read, states = positions[position]
                    label, to = self._step(states, symbol)
                    if to:
                        read = reads.setdefault((read, label), len(reads) + 1) if label else read
                        number = numbers.setdefault((read, to), len(positions))
                        if number == len(positions):
                            positions.append((read, to))
                    after[position, symbol] = number if to else _DEAD
                while len(after) < len(positions):
                    after = np.concatenate([after, np.full_like(after, _UNKNOWN)])
                at = after.ravel()[step]
            reached.append(at)
        return _distinct(np.append(np.concatenate(reached), np.int32(_STOP)), len(positions))

    def _step(self, states: frozenset[LexerState], byte_class: ByteClass) -> tuple[_Label, frozenset[LexerState]]:
        steps = self._steps.get(states)
        if steps is None:
            steps = self._steps[states] = self._steps_of(states)
        return steps.get(byte_class, ((), frozenset()))

    def _steps_of(self, states: frozenset[LexerState]) -> dict[ByteClass, tuple[_Label, frozenset[LexerState]]]:
        """The steps of a set of lexer states: per byte class the symbols read, if any, and the set after it."""
        ways: dict[ByteClass, set[tuple[Symbols, LexerState]]] = {}
        for state in states:
            for byte_class, symbols, to in self._lexemes.steps(state):
                ways.setdefault(byte_class, set()).add((symbols, to))
        steps: dict[ByteClass, tuple[_Label, frozenset[LexerState]]] = {}
        for byte_class, targets in ways.items():
            followed = {(symbols, to) for symbols, to in targets if to != RESTART}
            for symbols, to in targets:
                if to == RESTART:
                    followed.update(((*symbols, *more), beyond) for more, beyond in self._begins.get(byte_class, ()))
            if followed:
                label = tuple(sorted(followed)) if any(symbols for symbols, _ in followed) else ()
                steps[byte_class] = label, frozenset(to for _, to in followed)
        return steps


def _distinct(numbers: _Numbers, below: int) -> _Ints:
    """The rank of each number among the distinct ones: `np.unique` without sorting."""
    there = np.zeros(below, bool)
    there[numbers] = True
    return (np.cumsum(there) - 1)[numbers]


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
