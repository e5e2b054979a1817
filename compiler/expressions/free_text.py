"""Free text: what a model may write until a marker, as one automaton over characters.

*Free text* is a text in which none of some texts is a substring. It continues until a *trigger*, with which something else begins,
or until an *end*, with which what it is inside of is over. The first occurrence counts, by where it ends:

    until a trigger   free text and the trigger, which occurs in no place but there. If what is excluded ends there as well, or
                      before, the text is none of these.
    until an end      the same of ends, but what is excluded must not be in what stands before the end. With ``</t>`` as the end and
                      excluded too, ``a</t</t>`` is such a text. Triggers are excluded so: with the trigger ``<`` and the end
                      ``</a>``, ``x<`` may go on to the end or to something that begins with ``<``.

A marker is spelled by its characters; where the name of a special token is in it, that token will do (see
`psc.compiler.expressions.markers`). Free text has no special tokens, so a marker that is begun by one is forced from there on.

All of it is the automaton of Aho and Corasick over all these texts. One state is one text that was read so far, as far as it
matters, so there is one way to read a text, and a lexer has one terminal to follow. Where what is excluded was seen, and an end
that was begun before may still come, a state says which ends these are; where characters are counted, how many there were.

Cost: linear in the length of the texts, times the number of different characters that they begin with; 2 us a state.
Source: A. Aho, M. Corasick, "Efficient string matching: an aid to bibliographic search" (1975).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable
from collections.abc import Sequence as Many
from itertools import pairwise
from typing import Final

from psc.compiler.expressions.automata import explored
from psc.compiler.expressions.expression import MAX_CODE_POINT, Chars, Expression, Repeat
from psc.compiler.expressions.markers import Marker
from psc.errors import ResourceLimitError
from psc.support.limits import limit

MAX_STATES: Final = limit("free_text_states")
"""Of one automaton; with counted characters it has as many as characters times those without."""
MAX_WORK: Final = limit("free_text_arcs")
_SCALARS: Final = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))
_DONE: Final = "done"
_Pending = frozenset[tuple[int, int]]
"""Markers and how far they were read: (number of the marker, place in it)."""
_Steps = tuple[dict[str, Hashable | None], Hashable | None, dict[int, Hashable]]
"""Where characters lead, where all others lead, and where tokens lead; None is nowhere."""


def free_text(excluded: Collection[str], most: int | None = None) -> Expression:
    """Texts of which none of the excluded ones is a substring.

    Args:
        excluded: not empty each.
        most: characters, or without limit.

    Raises:
        ResourceLimitError: what is counted and what is excluded are too much together.
    """
    search = _Search(excluded)
    if not search.texts:
        return Repeat(Chars(_SCALARS), 0, most)

    def steps(state: Hashable) -> _Steps:
        assert isinstance(state, tuple)
        node, count = state
        if count == most:
            return {}, None, {}
        after = 0 if most is None else count + 1
        following: dict[str, Hashable | None] = {}
        for c, to in search.next[node].items():
            following[c] = None if search.found[to] else (to, after)
        return following, (0, after), {}

    return _automaton((0, 0), steps, lambda _: True)


def text_until_end(excluded: Collection[str], ends: Many[Marker], *, may_stop: bool = False, most: int | None = None) -> Expression:
    """Free text and the first occurrence of an end.

    Args:
        excluded: texts that are not in what stands before the end.
        ends: markers that are not empty.
        may_stop: whether the text may also be over without an end, before the first occurrence of one.
        most: characters before the end, or without limit.

    Raises:
        ResourceLimitError: as of :func:`free_text`.
    """
    search = _Search([*excluded, *(e.text for e in ends)])
    bad = search.bits(excluded)
    places, tokens_at = _places(search, ends)

    def begun(node: int) -> _Pending:
        """The ends of which a beginning was read, but for those that are at an end."""
        found: set[tuple[int, int]] = set()
        while node:
            found.update(places[node])
            node = search.fallback[node]
        return frozenset((i, k) for i, k in found if k < len(ends[i].text))

    def character(to: int, c: str, pending: _Pending | None, count: int) -> Hashable | None:
        if pending is not None:
            pending = frozenset((i, k + 1) for i, k in pending if ends[i].text[k] == c)
        ended = {i for i, k in places[to] if k == len(ends[i].text)} if search.found[to] else set()
        node = search.fallback[to]
        while node and search.found[node]:
            ended |= {i for i, k in places[node] if k == len(ends[i].text)}
            node = search.fallback[node]
        if ended:
            return _DONE if pending is None or any(i in ended and k == len(ends[i].text) for i, k in pending) else None
        if pending is None and (search.found[to] & bad or count == most):
            pending = begun(to)
        if pending is not None and not pending:
            return None
        return to, pending, 0 if most is None or pending is not None else count + 1

    def steps(state: Hashable) -> _Steps:
        if state == _DONE:
            return {}, None, {}
        if isinstance(state, frozenset):
            return _marker_steps(ends, state)
        assert isinstance(state, tuple)
        node, pending, count = state
        following = {c: character(to, c, pending, count) for c, to in search.next[node].items()}
        others = None
        if pending is None:
            others = character(0, "", None, count)
        else:
            for i, k in pending:
                c = ends[i].text[k]
                if c not in following:
                    following[c] = character(0, c, pending, count)
        tokens: dict[int, set[tuple[int, int]]] = {}
        for i, k, token, to in tokens_at[node]:
            if pending is None or (i, k) in pending:
                tokens.setdefault(token, set()).add((i, to))
        return following, others, {token: _marker_state(ends, frozenset(where)) for token, where in tokens.items()}

    def accepts(state: Hashable) -> bool:
        return state == _DONE or (may_stop and isinstance(state, tuple) and state[1] is None)

    return _automaton((0, None, 0), steps, accepts)


def text_until_trigger(excluded: Collection[str], triggers: Many[Marker], which: int) -> Expression:
    """Free text and the first occurrence of a trigger.

    Args:
        excluded: texts of which no occurrence ends before the trigger's does, or with it.
        triggers: all of them, markers that are not empty.
        which: the number of the one that there must be.
    """
    search = _Search([*excluded, *(t.text for t in triggers)])
    bad, wanted = search.bits(excluded), search.bits([triggers[which].text])
    _, tokens_at = _places(search, [triggers[which]])

    def character(to: int) -> Hashable | None:
        found = search.found[to]
        if not found:
            return to
        return _DONE if found & wanted and not found & bad else None

    return _text_into(search, character, [triggers[which]], tokens_at)


def text_into_marker(excluded: Collection[str], marker: Marker, place: int) -> Expression:
    """Free text and a marker in which a token stands over a place; others may stand before and behind it.

    Args:
        excluded: texts that are no substring of the free text, and of the marker up to its first token.
        marker: what is to be spelled.
        place: the token begins before this place, and ends behind it.
    """
    search = _Search([*excluded, marker.text[:place]])
    first = Marker(marker.text[:place], tuple([(a, t, b) for a, t, b in marker.tokens if a < place]))
    _, tokens_at = _places(search, [first])
    return _text_into(search, lambda to: None if search.found[to] else to, [marker], tokens_at, place)


def _text_into(
    search: _Search,
    character: Callable[[int], Hashable | None],
    markers: Many[Marker],
    tokens_at: Many[_Tokens],
    inside: int | None = None,
) -> Expression:
    """Free text that continues where characters lead, and from the tokens of a marker on is the rest of the marker.

    Nothing of the rest ends at the place `inside`.
    """

    def steps(state: Hashable) -> _Steps:
        if state == _DONE:
            return {}, None, {}
        if isinstance(state, frozenset):
            return _marker_steps(markers, frozenset((i, k) for i, k in state if k != inside))
        assert isinstance(state, int)
        tokens: dict[int, set[tuple[int, int]]] = {}
        for i, _, token, to in tokens_at[state]:
            tokens.setdefault(token, set()).add((i, to))
        after = {token: _marker_state(markers, frozenset(where)) for token, where in tokens.items()}
        return {c: character(to) for c, to in search.next[state].items()}, 0, after

    return _automaton(0, steps, lambda state: state == _DONE)


class _Search:
    """The automaton of Aho and Corasick with all its arcs. State 0 has read nothing that matters."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(dict.fromkeys(t for t in texts if t))
        children: list[dict[str, int]] = [{}]
        self.found = [0]
        """Per state the texts that end there, as bits."""
        for number, text in enumerate(self.texts):
            node = 0
            for c in text:
                if c not in children[node]:
                    children[node][c] = len(children)
                    children.append({})
                    self.found.append(0)
                node = children[node][c]
            self.found[node] |= 1 << number
            if len(children) > MAX_STATES:
                raise _too_large()
        self.fallback = [0] * len(children)
        """Per state the one of the longest end of what was read that is the beginning of a text, too."""
        self.next: list[dict[str, int]] = [{} for _ in children]
        """Per state where the characters lead that do not lead to state 0."""
        self.next[0] = children[0]
        self.in_order = [0]
        """The states, those first that have read less."""
        work = 0
        queue = deque(children[0].values())
        while queue:
            node = queue.popleft()
            self.in_order.append(node)
            fallback = self.fallback[node]
            self.found[node] |= self.found[fallback]
            for c, child in children[node].items():
                self.fallback[child] = self.next[fallback].get(c, 0)
                queue.append(child)
            self.next[node] = {**self.next[fallback], **children[node]}
            work += len(self.next[node])
            if work > MAX_WORK:
                raise _too_large()

    def bits(self, texts: Iterable[str]) -> int:
        """Texts as bits of `found`."""
        wanted = set(texts)
        return sum([1 << number for number, text in enumerate(self.texts) if text in wanted])

    def path(self, text: str) -> list[int]:
        """The states that a beginning of a text leads through, the first one among them; it may end before the text."""
        nodes = [0]
        for c in text:
            if c not in self.next[nodes[-1]]:
                break
            nodes.append(self.next[nodes[-1]][c])
        return nodes


_Tokens = tuple[tuple[int, int, int, int], ...]


def _places(search: _Search, markers: Many[Marker]) -> tuple[list[list[tuple[int, int]]], list[_Tokens]]:
    """Where markers are being read.

    Returns:
        Per state of the search, (marker, place) of those of whose text it has read the beginning up to a place, and nothing before;
        and per state what tokens of markers may follow, (marker, place before, token, place behind), whatever was read before.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in search.found]
    own: dict[int, list[tuple[int, int, int, int]]] = {}
    for i, marker in enumerate(markers):
        nodes = search.path(marker.text)
        for k, node in enumerate(nodes):
            if k:
                places[node].append((i, k))
        for k, token, to in marker.tokens:
            if k < len(nodes):
                own.setdefault(nodes[k], []).append((i, k, token, to))
    tokens: list[_Tokens] = [()] * len(search.found)
    for node in search.in_order:
        tokens[node] = (*own.get(node, ()), *(tokens[search.fallback[node]] if node else ()))
    return places, tokens


def _marker_state(markers: Many[Marker], where: _Pending) -> Hashable:
    return _DONE if any(k == markers[i].length for i, k in where) else where


def _marker_steps(markers: Many[Marker], where: _Pending) -> _Steps:
    characters: dict[str, set[tuple[int, int]]] = {}
    tokens: dict[int, set[tuple[int, int]]] = {}
    for i, k in where:
        marker = markers[i]
        if k < len(marker.text):
            characters.setdefault(marker.text[k], set()).add((i, k + 1))
        for at, token, to in marker.tokens:
            if at == k:
                tokens.setdefault(token, set()).add((i, to))
    return (
        {c: _marker_state(markers, frozenset(to)) for c, to in characters.items()},
        None,
        {token: _marker_state(markers, frozenset(to)) for token, to in tokens.items()},
    )


def _automaton(start: Hashable, steps: Callable[..., _Steps], accepts: Callable[..., bool]) -> Expression:
    """The automaton of what can be reached and leads to acceptance."""
    work = 0
    other_ranges: dict[tuple[str, ...], list[tuple[int, int]]] = {}  # states that only count differ in nothing else

    def leaving(state: Hashable) -> list[tuple[int, int, Hashable]]:
        nonlocal work
        characters, others, tokens = steps(state)
        work += len(characters) + 1
        if work > MAX_WORK:
            raise _too_large()
        arcs = [(ord(c), ord(c), to) for c, to in characters.items() if to is not None]
        if others is not None:
            known = tuple(characters)
            if known not in other_ranges:
                other_ranges[known] = list(_ranges_without(known))
            arcs += [(first, last, others) for first, last in other_ranges[known]]
        if tokens:
            arcs += [(MAX_CODE_POINT + 1 + token, MAX_CODE_POINT + 1 + token, to) for token, to in tokens.items()]
        return arcs

    return explored(start, leaving, accepts, MAX_STATES, _too_large)


def _too_large() -> ResourceLimitError:
    return ResourceLimitError(
        f"free text with these triggers, ends and excluded texts needs more than {MAX_STATES:,} states or {MAX_WORK:,} arcs of "
        "characters, which is the limit; count fewer characters, or exclude fewer texts"
    )


def _ranges_without(characters: Many[str]) -> Iterable[tuple[int, int]]:
    """The ranges of all other characters, ascending."""
    codes = sorted(map(ord, characters))
    for low, high in _SCALARS:
        for before, after in pairwise((low - 1, *(code for code in codes if low <= code <= high), high + 1)):
            if before + 1 < after:
                yield before + 1, after - 1
