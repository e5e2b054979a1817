"""From an automaton over classes of code points to the minimal automaton over UTF-8 bytes.

A transition on a class becomes the byte automaton of that class. ASCII is one arc a character. For the rest, all
transitions of one state are replaced together by a trie over lead and continuation bytes, whose equal subtrees are
shared (a decision diagram). It depends only on which non-ASCII characters lead to the same target, so it is kept
under that description, and `\\w` is expanded once a process, however many states and terminals use it.

Cost: O(ranges) Python steps for a new trie, about 3 ms for `\\w`; then array operations on the arcs written.
Source: the splitting of ranges by encoded length is that of K. Thompson's grep, by way of RE2's compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from psc.compiler.terminals.regex.codepoints import CODE_POINTS, Bounds

from .arrays import Automaton, Ints, from_fst, to_fst

if TYPE_CHECKING:
    import pynini

_ASCII = 0x80

Span = tuple[int, int, int]
"""First code point, last code point, exit: the number of the target."""


@dataclass(frozen=True)
class _Trie:
    """What replaces one state's non-ASCII transitions.

    Arcs leave the state itself, which is node 0, and inner nodes 1, 2, ...; a target -1-e is exit e.
    """

    nodes: int
    source: Ints
    byte: Ints
    target: Ints


class _TrieBuilder:
    """Hash-consed nodes, each the tuple of its arcs (first byte, last byte, target)."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[Span, ...], int] = {}
        self.blocks: dict[tuple[int, tuple[Span, ...]], int] = {}

    def block(self, depth: int, start: int, spans: list[Span]) -> int:
        """The target that reads `depth` continuation bytes of the code points from `start` on, which `spans` label."""
        if depth == 0:
            return -1 - spans[0][2]
        key = depth, tuple((low - start, high - start, label) for low, high, label in spans)
        known = self.blocks.get(key)
        if known is None:
            arcs = self.arcs(depth - 1, start, 0x80, spans)
            known = self.blocks[key] = self.nodes.setdefault(arcs, len(self.nodes) + 1)
        return known

    def arcs(self, depth: int, start: int, byte: int, spans: list[Span]) -> tuple[Span, ...]:
        """The arcs of a node whose byte `byte + i` leads to the i-th block of 64**depth code points from `start` on."""
        width = 64**depth
        arcs: list[Span] = []
        partial: list[Span] = []  # what is known of the block `index`, which no single span fills
        index = -1

        def close() -> None:
            if partial:
                arcs.append((byte + index, byte + index, self.block(depth, start + index * width, partial)))
                partial.clear()

        for low, high, label in spans:
            while low <= high:
                here = (low - start) // width
                if here != index:
                    close()
                    index = here
                base = start + here * width
                if low == base and high >= base + width - 1:
                    full = (high - base + 1) // width
                    whole = self.block(depth, base, [(base, base + width - 1, label)])
                    arcs.append((byte + here, byte + here + full - 1, whole))
                    low = base + full * width
                else:
                    end = min(high, base + width - 1)
                    partial.append((low, end, label))
                    low = end + 1
        close()
        merged: list[Span] = []
        for first, last, target in arcs:
            if merged and merged[-1][1] == first - 1 and merged[-1][2] == target:
                merged[-1] = merged[-1][0], last, target
            else:
                merged.append((first, last, target))
        return tuple(merged)


def _clip(spans: list[Span], low: int, high: int) -> list[Span]:
    return [(max(a, low), min(b, high), label) for a, b, label in spans if a <= high and b >= low]


@lru_cache(maxsize=256)
def _trie(description: bytes) -> _Trie:
    """The trie of the spans in `description`: int32 triples in order, adjacent ones with equal exits merged."""
    flat = np.frombuffer(description, dtype=np.int32).reshape(-1, 3)
    spans = [(low, high, label) for low, high, label in flat.tolist()]
    builder = _TrieBuilder()
    root = (
        builder.arcs(1, 0, 0xC0, _clip(spans, 0x80, 0x7FF))
        + builder.arcs(2, 0, 0xE0, _clip(spans, 0x800, 0xFFFF))
        + builder.arcs(3, 0, 0xF0, _clip(spans, 0x10000, CODE_POINTS - 1))
    )
    rows = [(0, *arc) for arc in root]
    rows += [(number, *arc) for arcs, number in builder.nodes.items() for arc in arcs]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    length = table[:, 2] - table[:, 1] + 1
    step = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    return _Trie(
        len(builder.nodes) + 1,
        np.repeat(table[:, 0], length),
        np.repeat(table[:, 1], length) + step,
        np.repeat(table[:, 3], length),
    )


def _describe(classes: list[Bounds], exits: list[int]) -> bytes:
    """The spans of `classes`, class i leading to exits[i], as the key of a trie."""
    low = np.concatenate([bounds[0::2] for bounds in classes])
    high = np.concatenate([bounds[1::2] for bounds in classes]) - 1
    label = np.repeat(np.array(exits, dtype=np.int32), [len(bounds) // 2 for bounds in classes])
    order = np.argsort(low)
    low, high, label = low[order], high[order], label[order]
    begins = np.ones(len(low), dtype=bool)
    begins[1:] = (low[1:] != high[:-1] + 1) | (label[1:] != label[:-1])
    ends = np.append(begins[1:], True)
    return np.stack([low[begins], high[ends], label[begins]], axis=1).astype(np.int32).tobytes()


def byte_automaton(automaton: Automaton, classes: tuple[Bounds, ...], minimal: bool = False) -> pynini.Fst:
    """The minimal acceptor over byte + 1 of the UTF-8 texts of what `automaton` accepts over `classes`.

    Args:
        automaton: deterministic and trim; label c + 1 stands for `classes[c]`.
        classes: free of surrogates; those on the arcs of any one state must be disjoint.
        minimal: promises that the result comes out minimal, as for a plain chain of classes.
    """
    cuts = [int(np.searchsorted(bounds, _ASCII)) for bounds in classes]
    ascii_bytes: list[Ints] = []
    beyond: list[Bounds] = []
    for bounds, cut in zip(classes, cuts, strict=True):
        edges = [*bounds[:cut].tolist(), _ASCII]
        runs = [np.arange(a, b, dtype=np.int64) for a, b in zip(edges[0 : cut + 1 : 2], edges[1::2], strict=False)]
        ascii_bytes.append(np.concatenate([np.zeros(0, dtype=np.int64), *runs]))
        rest = bounds[cut:]
        beyond.append(np.concatenate([np.array([_ASCII], dtype=np.int32), rest]) if cut & 1 else rest)

    label = automaton.label - 1
    size = np.array([len(b) for b in ascii_bytes] or [0], dtype=np.int64)
    first = np.cumsum(size) - size
    count = size[label]
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    alphabet = np.concatenate([np.zeros(0, dtype=np.int64), *ascii_bytes])
    sources = [np.repeat(automaton.source, count)]
    labels = [alphabet[np.repeat(first[label], count) + step]]
    targets = [np.repeat(automaton.target, count)]

    wide = np.array([len(b) > 0 for b in beyond] or [False], dtype=bool)[label]
    leaving: dict[int, list[tuple[int, int]]] = {}
    for source, name, target in zip(
        automaton.source[wide].tolist(), label[wide].tolist(), automaton.target[wide].tolist(), strict=True
    ):
        leaving.setdefault(source, []).append((name, target))
    states = len(automaton.final)
    tries: dict[tuple[tuple[int, int], ...], _Trie] = {}
    placed: dict[tuple[int, tuple[int, ...]], int] = {}
    for source, arcs in leaving.items():
        exits: dict[int, int] = {}
        arcs.sort()
        use = tuple((name, exits.setdefault(target, len(exits))) for name, target in arcs)
        trie = tries.get(use)
        if trie is None:
            trie = tries[use] = _trie(_describe([beyond[name] for name, _ in use], [e for _, e in use]))
        # States that leave through equal tries to equal targets share the inner nodes; node 0 is each state's own.
        where = id(trie), tuple(exits)
        base = placed.get(where)
        new = base is None
        if base is None:
            base = placed[where] = states - 1
            states += trie.nodes - 1
        kept = slice(None) if new else slice(0, int(np.searchsorted(trie.source, 1)))
        inner, goal = trie.source[kept], trie.target[kept]
        ways_out = np.array(list(exits), dtype=np.int64)
        sources.append(np.where(inner == 0, source, inner + base))
        labels.append(trie.byte[kept])
        targets.append(np.where(goal < 0, ways_out[np.maximum(-1 - goal, 0)], goal + base))

    final = np.zeros(states, dtype=bool)
    final[: len(automaton.final)] = automaton.final
    result = to_fst(Automaton(final, np.concatenate(sources), np.concatenate(labels) + 1, np.concatenate(targets)))
    return result if minimal else minimize(result)


def minimize(fst: pynini.Fst) -> pynini.Fst:
    """The minimal trim automaton of a deterministic one, numbered from its start state, arcs sorted."""
    fst.connect()
    fst.minimize()
    if fst.num_states() == 0:
        return fst
    return to_fst(from_fst(fst))
