"""Expressions as the programs that the native core reads: flat words, characters as numbers of shared sets.

The words are explained in native/terminals/positions.hpp. Sets are numbered by what they contain, over all programs, so that the
letters of Unicode are split into classes once however many terminals use them.

Cost: about 1 us a node, without recursion, so nesting costs no stack.

Tried and dropped: one writer for both languages, native/rules/terminal_programs.cpp, over the words of `expressions.words`.
Those write an automaton's arcs over ranges of characters, where a pattern's automaton has arcs over shared sets:
`(?:\\w|-){1,40}?\\b\\d` has 238 arcs here and would have 60,181 there.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from psc.compiler.expressions.expression import Automaton, Chars, Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.compiler.terminals.regex import Texts, character_expression

Words = npt.NDArray[np.int32]

_CHARACTERS: Final = 0
_CHOICE: Final = 1
_NEXT: Final = 2
_END: Final = 3
_REPEAT: Final = 4
_AUTOMATON: Final = 5
_EXCEPT: Final = 6
_MAX_COUNT: Final = 2**31 - 1


class TerminalPrograms:
    """The programs of terminals, in the order in which they were finished."""

    def __init__(self) -> None:
        self._words: list[int] = []
        self._offsets = [0]
        self._set_of_character: dict[int, int] = {}
        self._set_of_ranges: dict[tuple[tuple[int, int], ...], int] = {}
        self._set_under_flags: dict[int, dict[str, int]] = {}
        self._ranges: list[int] = []
        self._range_offsets = [0]

    def finish(self) -> None:
        """What was written since the last call is one terminal's program."""
        self._offsets.append(len(self._words))

    def arrays(self) -> tuple[Words, Words, Words, Words]:
        """Words, offsets of the programs, ranges (first, last, first, last, ...), offsets of the sets."""
        parts = (self._words, self._offsets, self._ranges, self._range_offsets)
        return tuple(np.array(p, np.int32) for p in parts)  # type: ignore[return-value]

    def write(self, expression: Expression) -> None:
        """Appends an expression, which must have no references."""
        words = self._words
        todo: list[Expression | int] = [expression]
        while todo:
            item = todo.pop()
            if isinstance(item, int):
                words.append(item)
            elif isinstance(item, Literal):
                words += (_CHARACTERS, len(item.text))
                words += [self._character(ord(c)) for c in item.text]
            elif isinstance(item, Chars):
                words += (_CHARACTERS, 1, self.set_number(item.ranges))
            elif isinstance(item, Sequence):
                todo.extend(reversed(item.parts))
            elif isinstance(item, Choice):
                words += (_CHOICE, len(item.options))
                if item.options:
                    todo.append(_END)
                    todo.extend(chain.from_iterable((option, _NEXT) for option in reversed(item.options[1:])))
                    todo.append(item.options[0])
            elif isinstance(item, Repeat):
                words += (_REPEAT, min(item.least, _MAX_COUNT), -1 if item.most is None else min(item.most, _MAX_COUNT))
                todo += (_END, item.body)
            elif isinstance(item, Automaton):
                self._write_arcs(item)
            else:
                assert isinstance(item, Reference)
                raise ValueError(f"a terminal's expression refers to the rule {item.name}")

    def write_texts(self, texts: Iterable[Texts]) -> None:
        """Appends the choice of some texts."""
        words: list[int] = []
        n_texts = 0
        for text, flags in texts:
            sets = self._set_under_flags.setdefault(flags, {})
            try:
                numbers = [sets[c] for c in text]
            except KeyError:
                for c in set(text).difference(sets):
                    sets[c] = self.set_number(character_expression(ord(c), flags).ranges)
                numbers = [sets[c] for c in text]
            words += (_NEXT, _CHARACTERS, len(text), *numbers)
            n_texts += 1
        if n_texts == 1:
            self._words += words[1:]
        else:
            words[0] = n_texts
            self._words += (_CHOICE, *words, _END)

    def _write_arcs(self, automaton: Automaton) -> None:
        """Arcs of one state to one state are one arc, over the set of their ranges, in the order of the native core."""
        arcs = [(source, self.set_number(ranges), target) for (source, target), ranges in sorted(automaton.between().items())]
        self.write_automaton(automaton.accepts, arcs)

    def write_automaton(self, final: Iterable[bool], arcs: Iterable[tuple[int, int, int]]) -> None:
        """Appends a deterministic automaton that starts in state 0: which states are final, and arcs (source, set, target)."""
        flags = [int(f) for f in final]
        flat = list(chain.from_iterable(arcs))
        self._words += (_AUTOMATON, len(flags), len(flat) // 3)
        self._words += flags
        self._words += flat

    def write_except(self) -> None:
        """The texts of what is written from here on are taken out of the language written so far."""
        self._words.append(_EXCEPT)

    def set_number(self, ranges: tuple[tuple[int, int], ...]) -> int:
        """The number of a set of characters, given by inclusive ranges in ascending order."""
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self._character(ranges[0][0])
        known = self._set_of_ranges.get(ranges)
        if known is None:
            known = self._set_of_ranges[ranges] = self._new_set(chain.from_iterable(ranges))
        return known

    def _character(self, character: int) -> int:
        known = self._set_of_character.get(character)
        if known is None:
            known = self._set_of_character[character] = self._new_set((character, character))
        return known

    def _new_set(self, ends: Iterable[int]) -> int:
        self._ranges += ends
        self._range_offsets.append(len(self._ranges))
        return len(self._range_offsets) - 2
