"""Free text as rules: a rule of its own for each, so that what stands beside does not become one terminal with it.

Equal free text is one rule. Where triggers are few, each is an automaton of its own (`psc.compiler.expressions.free_text`), which
artifacts store so; where these would be many states together, all are one (`psc.compiler.expressions.text_search`).

Cost: as of these.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass
from functools import partial
from typing import Final

from psc.compiler.expressions.expression import EMPTY, NOTHING, Choice, Expression, Reference, Sequence
from psc.compiler.expressions.free_text import free_text, text_into_marker, text_until_end, text_until_trigger
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.text_search import TriggerSearch
from psc.compiler.expressions.tokens import token_set

MAX_COPIED_STATES: Final = 20_000
"""Of the free text until each of some triggers; what needs more is one automaton for all triggers."""
_Option = tuple[Marker, Reference]
"""A marker that begins with a trigger, and the rule of what follows it."""


@dataclass(frozen=True)
class Tail:
    """The ends of the tag that a format closes."""

    ends: tuple[Marker, ...]
    may_stop: bool

    def expression(self) -> Expression:
        """Any of them."""
        options = [end.expression() for end in self.ends]
        return Choice((*options, EMPTY)) if self.may_stop else options[0] if len(options) == 1 else Choice(tuple(options))


@dataclass(frozen=True)
class Triggers:
    """What ends free text so that something else begins."""

    markers: tuple[Marker, ...]
    excluded: tuple[str, ...]
    """Texts that no free text has, the ends of the tag around among them."""
    search: TriggerSearch | None
    """Where there are many."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Of the triggers."""
        return tuple([marker.text for marker in self.markers])


class FreeTexts:
    """The free texts of one document, which adds their rules to the document's."""

    def __init__(self, rules: dict[str, Expression]) -> None:
        self._rules = rules
        self._texts: dict[object, Reference] = {}
        self._searches: dict[object, TriggerSearch] = {}

    def without(self, excluded: tuple[str, ...], most: int | None) -> Expression:
        """Text that has none of others; of some characters at most."""
        excluded = tuple(sorted(set(excluded)))
        return self._text("text", (excluded, most), lambda: free_text(excluded, most))

    def until_end(self, excluded: tuple[str, ...], tail: Tail, most: int | None) -> Expression:
        """The same with an end behind it."""
        name, key = f"text until {tail.ends[0].text!r}", (excluded, tail, most)
        return self._text(name, key, lambda: text_until_end(excluded, tail.ends, may_stop=tail.may_stop, most=most))

    def triggers(self, markers: tuple[Marker, ...], excluded: tuple[str, ...], n_used: int) -> Triggers:
        """Triggers, of which some have something behind them. Raises ResourceLimitError: they are too many characters together."""
        n_characters = sum([len(marker.text) for marker in markers]) + sum(map(len, excluded))
        if n_used * n_characters <= MAX_COPIED_STATES:
            return Triggers(markers, excluded, None)
        key = markers, excluded
        if key not in self._searches:
            self._searches[key] = TriggerSearch(markers, excluded)
        return Triggers(markers, excluded, self._searches[key])

    def beside(self, triggers: Triggers) -> Expression:
        """Free text behind which no trigger comes."""
        search = triggers.search
        if search is None:
            return self.without((*triggers.excluded, *triggers.texts), None)
        return Choice((self._text("text", search, search.some_text), EMPTY))

    def segments(self, triggers: Triggers, options: Many[Many[_Option]]) -> Expression:
        """Free text until a trigger, the rest of a marker that begins with it, and what follows; `options`: of each trigger."""
        if triggers.search is not None and triggers.search.firsts:
            return self._separate_segments(triggers, triggers.search, options)
        segments: list[Expression] = []
        for number, (text, some) in enumerate(zip(triggers.texts, options, strict=True)):
            if not some:
                continue
            size = len(text)
            rest = Choice(tuple([Sequence((begin.after(size).expression(), body)) for begin, body in some]))
            segments.append(Sequence((self._until_trigger(triggers, number), rest)))
            for begin, body in some:
                if any(a < size < b for a, _, b in begin.tokens):
                    segments.append(Sequence((self._into_marker(triggers, begin, size), body)))
        return Choice(tuple(segments))

    def _separate_segments(self, triggers: Triggers, search: TriggerSearch, options: Many[Many[_Option]]) -> Expression:
        """The same of triggers that do not overlap: free text until the first character of a marker, and its rest."""
        rests: dict[str, list[Expression]] = {c: [] for c in search.firsts}
        begun: list[Expression] = []
        for text, some in zip(triggers.texts, options, strict=True):
            for begin, body in some:
                rests[begin.text[0]].append(Sequence((begin.after(1).expression(), body)))
                begun += [
                    Sequence((token_set([token]), begin.after(b).expression(), body))
                    for a, token, b in begin.tokens
                    if a == 0 and b > len(text)
                ]
        segments: list[Expression] = []
        for number, (c, rest) in enumerate(rests.items()):
            if rest:
                until = self._text(f"text until {c!r}", (search, c), partial(search.until_first, number))
                segments.append(Sequence((until, Choice(tuple(rest)))))
        if begun:
            segments.append(Sequence((self.beside(triggers), Choice(tuple(begun)))))
        return Choice(tuple(segments))

    def _until_trigger(self, triggers: Triggers, number: int) -> Expression:
        markers, excluded, search = triggers.markers, triggers.excluded, triggers.search
        name = f"text until {markers[number].text!r}"
        if search is not None:
            return self._text(name, (search, number), lambda: search.until(number))
        return self._text(name, (excluded, markers, number), lambda: text_until_trigger(excluded, markers, number))

    def _into_marker(self, triggers: Triggers, marker: Marker, size: int) -> Expression:
        excluded = (*triggers.excluded, *triggers.texts)
        name, key = f"text until {marker.text!r}", (excluded, marker, size)
        return self._text(name, key, lambda: text_into_marker(excluded, marker, size))

    def _text(self, name: str, key: object, made: Callable[[], Expression]) -> Expression:
        written = self._texts.get((name, key))
        if written is None:
            expression = made()
            if expression == NOTHING:
                return NOTHING
            free = name
            number = 1
            while free in self._rules:
                number += 1
                free = f"{name} ({number})"
            self._rules[free] = expression
            written = self._texts[name, key] = Reference(free)
        return written
