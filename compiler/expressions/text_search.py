"""Free text until one of many triggers, each a rule, as one native automaton that says which trigger it was.

Each automaton of `free_text.text_until_trigger`, one for each trigger, is a copy of all triggers, so their size is the square of
the triggers' characters. Here the rules are labels of one automaton (native/rules/text_search.hpp). A rule's own words are only
a picture of it: the trigger without text before it. The native core never reads them, and refuses to print them as a grammar.

Where no trigger overlaps another, and no excluded text one, fewer rules will do: text until the first character of triggers, and
then the rest of one. That matters to a parser, in whose tables each rule that begins with free text may follow each trigger's tag.

Cost: linear in the triggers' characters, 0.2 us each.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Final

from psc import _core
from psc.compiler.expressions.expression import MAX_CODE_POINT, NOTHING, Automaton, Expression
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.tokens import FIRST_TOKEN
from psc.support.limits import limit

MAX_STATES: Final = limit("free_text_states")
MAX_ARCS: Final = limit("terminal_positions") // 2
"""What has more would pass that limit as a terminal, later."""
FREE_TEXT: Final = -1
"""The number of the rule of free text."""
_ANY: Final = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))


@dataclass(frozen=True, slots=True)
class SearchedText(Automaton):
    """A rule of a search. It is the whole expression of a rule, never a part of one."""

    search: _core.TextSearch
    which: int
    """The number of the trigger with which the text ends; behind these, those of triggers' first characters; or `FREE_TEXT`."""


class TriggerSearch:
    """Free text and triggers.

    Args:
        triggers: markers that are not empty.
        excluded: texts of which no occurrence ends before a trigger's does, or with it; free text has none.

    Raises:
        ResourceLimitError: they are too many characters together.
    """

    def __init__(self, triggers: Many[Marker], excluded: Collection[str]) -> None:
        self._triggers = triggers
        tokens = [(i, a, b, FIRST_TOKEN + t) for i, marker in enumerate(triggers) for a, t, b in marker.tokens]
        others = [text for text in dict.fromkeys(excluded) if text]
        texts = [marker.text for marker in triggers]
        self._native = _core.TextSearch(texts, others, tokens, MAX_STATES, MAX_ARCS)
        self._reached = frozenset(self._native.reached)
        self.firsts: Final[Many[str]] = [chr(c) for c in self._native.firsts] if self._native.separable else ()
        """The first characters of triggers, if a trigger can be read as text until one of them and then its rest; else none."""

    def until(self, number: int) -> Expression:
        """Free text and the first occurrence of a trigger."""
        if number not in self._reached:
            return NOTHING
        text = self._triggers[number].text
        arcs = tuple([(i, ord(c), ord(c), i + 1) for i, c in enumerate(text)])
        return SearchedText((*[False] * len(text), True), arcs, self._native, number)

    def until_first(self, number: int) -> Expression:
        """Free text that ends with a trigger's first character."""
        c = ord(self.firsts[number])
        return SearchedText((False, True), ((0, c, c, 1),), self._native, len(self._triggers) + number)

    def some_text(self) -> Expression:
        """Free text that is not empty."""
        arcs = tuple([(state, first, last, 1) for state in (0, 1) for first, last in _ANY])
        return SearchedText((False, True), arcs, self._native, FREE_TEXT)
