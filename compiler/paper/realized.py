"""R_q once more: the terminal sequences that each token class realizes from each lexer state, by running the stored lexer.

Every class's bytes are lexed from every lexer state, following all branches. Past the end of a lexeme a contextual lexer has a
start that depends on the stack. There the sequence gets a *condition*: a set of LR states, one of which must be on top. This shares
no code with the way in which the compiler finds the sequences, neither its trie nor its pruning by the LR table.

Sequences in which two neighbours can never follow each other are left out. After terminal `a`, the state on top is one that `a`
leads into, and the next symbol must be possible there. No stack realizes the other sequences, and `any` lexing has very many.

Cost: lexer states x bytes of all classes (as a trie) x ways to lex, in Python; a second for a small grammar and a real vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from psc._core import LrTables
from psc.errors import GrammarError
from psc.ids import ByteClass, LexerState, LrState, Terminal, TokenClass
from psc.support.limits import limit

Condition = frozenset[LrState]
"""LR states, one of which has to be on top of the stack."""
Sequence = tuple[Terminal | Condition, ...]
"""Terminals, and conditions on the stack top between them."""
Sequences = dict[Sequence, set[TokenClass]]
"""R_q: the token classes that realize each sequence. The class after those of text is that of the stop tokens."""

MAX_SEQUENCES = limit("verified_sequences")
MAX_STEPS = limit("verified_steps")
MAX_WAYS = limit("verified_ways")

_Way = tuple[Sequence, LexerState]
"""What was emitted, and the lexer state reached."""


def realized_sequences(arrays: Mapping[str, Any], lr: LrTables) -> dict[LexerState, Sequences]:
    """R_q of every lexer state of an artifact in which a text can end; it is empty where no token is possible.

    Args:
        arrays: its sections and scalars.
        lr: its LR table.

    Raises:
        GrammarError: more than `MAX_SEQUENCES` different sequences in all, or more than `MAX_STEPS` steps to find them.
    """
    lexer = _StoredLexer(arrays, lr)
    classes = class_bytes_of(arrays)
    order = sorted(range(len(classes)), key=classes.__getitem__)
    different: set[Sequence] = set()
    found: dict[LexerState, Sequences] = {}
    for q in map(LexerState, lexer.states):
        sequences: Sequences = {}
        nothing: _Way = ((), q)
        before, path = b"", [frozenset([nothing])]
        for c in order:
            text = classes[c]
            depth = next((i for i, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), min(len(before), len(text)))
            del path[depth + 1 :]
            for byte in text[depth:]:
                path.append(lexer.read(path[-1], byte))
            before = text
            for emitted, state in path[-1]:
                for future in lexer.futures(state):
                    if (sequence := lexer.joined(emitted, future)) is not None:
                        sequences.setdefault(sequence, set()).add(TokenClass(c))
        for end in lexer.ends(q):
            if (sequence := lexer.joined(end, (Terminal(lr.n_terminals - 1),))) is not None:
                sequences.setdefault(sequence, set()).add(TokenClass(len(classes)))
        different |= sequences.keys()
        check_sequences(len(different))
        found[q] = sequences
    return found


def check_sequences(count: int) -> None:
    """Raises :class:`GrammarError` (a ValueError) for more sequences than this construction is meant for."""
    if count > MAX_SEQUENCES:
        raise GrammarError(
            f"the paper's construction is done for at most {MAX_SEQUENCES} terminal sequences, and there are at least {count}; "
            "take a smaller vocabulary or a smaller grammar"
        )


def class_bytes_of(arrays: Mapping[str, Any]) -> list[bytes]:
    """Per token class of an artifact, the bytes of one of its tokens."""
    data, offsets = arrays["class_bytes"].tobytes(), arrays["class_offsets"].tolist()
    return [data[a:b] for a, b in pairwise(offsets)]


class _StoredLexer:
    """The lexer of an artifact, followed in every way that it can go."""

    def __init__(self, arrays: Mapping[str, Any], lr: LrTables) -> None:
        self.n_states = int(arrays["n_lexer_states"])
        self._n_terminals = int(lr.n_terminals)
        self._classes = int(arrays["n_byte_classes"])
        self._class_of: list[ByteClass] = arrays["byte_class"].tolist()
        self._next, self._emit = arrays["lexer_next"].tolist(), arrays["lexer_emit"].tolist()
        self._branches = list(zip(arrays["branch_emit"].tolist(), arrays["branch_next"].tolist(), strict=True))
        self._branch_offsets = arrays["branch_offsets"].tolist()
        conditions: list[Condition] = [
            frozenset(map(LrState, states)) for states in _lists(arrays, "condition_offsets", "condition_states")
        ]

        def stored(symbols: Iterable[int]) -> Sequence:
            return tuple(Terminal(s) if s < self._n_terminals else conditions[s - self._n_terminals] for s in symbols)

        self._emissions = [stored(symbols) for symbols in _lists(arrays, "emission_offsets", "emission_symbols")]
        self._ends = _lists(arrays, "end_offsets", "ends")
        self._futures = arrays["futures"].tolist()
        # A set comes after the sets that its sequences continue with.
        self._future_sets: list[list[Sequence]] = [[], [()]]
        firsts, rests = (_lists(arrays, "future_offsets", name) for name in ("future_symbols", "future_sets"))
        for symbols, sets in zip(firsts[2:], rests[2:], strict=True):
            check_sequences(sum(len(self._future_sets[after]) for after in sets))
            self._future_sets.append(
                [stored([s]) + rest for s, after in zip(symbols, sets, strict=True) for rest in self._future_sets[after]]
            )
        self._starts = _starts(arrays)
        # State 0 of a contextual lexer is the start whose context is not known: no text ends in it.
        self.states = range(1 if self._starts else 0, self.n_states)
        self._possible = _PossibleTops(lr)
        self._steps = 0
        self._read = lru_cache(maxsize=None)(self._read_class)

    def read(self, ways: frozenset[_Way], byte: int) -> frozenset[_Way]:
        """All ways after another byte."""
        return self._read(ways, self._class_of[byte]) if ways else ways

    def futures(self, state: LexerState) -> list[Sequence]:
        """What may come before the next step of the parser, at the latest; the empty sequence if nothing need."""
        return self._future_sets[self._futures[state]]

    def ends(self, state: LexerState) -> list[Sequence]:
        """What is emitted if the text ends."""
        return [self._emissions[e] for e in self._ends[state]]

    def joined(self, one: Sequence, other: Sequence) -> Sequence | None:
        """One after the other; None where no stack can take it."""
        joined = one
        for symbol in other:
            if isinstance(symbol, frozenset):
                if joined and isinstance(joined[-1], frozenset):  # of the same stack
                    symbol = joined[-1] & symbol
                    joined = joined[:-1]
                if not symbol or (joined and not self._possible(joined[-1]) & symbol):
                    return None
            elif joined and not self._can_follow(joined, symbol):
                return None
            joined = (*joined, symbol)
        return joined

    def _can_follow(self, sequence: Sequence, terminal: Terminal) -> bool:
        takers = self._possible.takers[terminal]
        last = sequence[-1]
        tops = last if isinstance(last, frozenset) else self._possible(last)
        if isinstance(last, frozenset) and len(sequence) > 1:
            tops = tops & self._possible(sequence[-2])
        return bool(tops & takers)

    def _read_class(self, ways: frozenset[_Way], byte_class: ByteClass) -> frozenset[_Way]:
        found: set[_Way] = set()
        for emitted, state in ways:
            for more, to in self._arcs(state, byte_class):
                if (sequence := self.joined(emitted, more)) is not None:
                    found.add((sequence, to))
        self._steps += len(ways) + len(found)
        if self._steps > MAX_STEPS or len(found) > MAX_WAYS:
            raise GrammarError(
                f"the paper's construction lexes every token from every lexer state in at most {MAX_STEPS:,} steps, and a token "
                f"in at most {MAX_WAYS:,} ways, which is exceeded; take a smaller vocabulary or a smaller grammar"
            )
        return frozenset(found)

    def _arcs(self, state: LexerState, byte_class: ByteClass) -> Iterator[_Way]:
        cell = state * self._classes + byte_class
        to, emission = self._next[cell], self._emissions[self._emit[cell]]
        if to < 0:
            return
        if to < self.n_states:
            yield emission, to
        elif to == self.n_states:  # the byte is read again, from the start that the stack top has
            for start, tops in self._starts:
                known = self.joined(emission, (tops,))
                if known is None:
                    continue
                for more, after in self._arcs(start, byte_class):
                    if (sequence := self.joined(known, more)) is not None:
                        yield sequence, after
        else:
            branch = to - self.n_states - 1
            for emitted, after in self._branches[self._branch_offsets[branch] : self._branch_offsets[branch + 1]]:
                yield emission + self._emissions[emitted], after


class _PossibleTops:
    """Which LR states can be on top after a terminal: those that it leads into."""

    def __init__(self, lr: LrTables) -> None:
        accessing = lr.accessing
        self._after: list[Condition] = [
            frozenset(map(LrState, np.flatnonzero(accessing == t).tolist())) for t in range(lr.n_terminals)
        ]
        filled = np.diff(lr.action_offsets).reshape(lr.n_lr_states, lr.n_terminals) > 0
        self.takers: list[Condition] = [
            frozenset(map(LrState, np.flatnonzero(filled[:, t]).tolist())) for t in range(lr.n_terminals)
        ]

    def __call__(self, symbol: Terminal | Condition) -> Condition:
        return symbol if isinstance(symbol, frozenset) else self._after[symbol]


def _starts(arrays: Mapping[str, Any]) -> list[tuple[LexerState, Condition]]:
    """Of a contextual lexer: its starts, each with the LR states that have it. State 0 stands for a start that is not known."""
    starts: dict[LexerState, set[LrState]] = {}
    for top, start in enumerate(arrays["start_of_top"].tolist()):
        if start > 0:
            starts.setdefault(start, set()).add(LrState(top))
    return [(start, frozenset(tops)) for start, tops in sorted(starts.items())]


def _lists(arrays: Mapping[str, Any], offsets: str, values: str) -> list[list[int]]:
    ends, flat = arrays[offsets].tolist(), arrays[values].tolist()
    return [flat[a:b] for a, b in pairwise(ends)]
