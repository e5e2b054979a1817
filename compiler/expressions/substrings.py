"""The texts that are a run of a list's items: `["ab", "c", "d"]` gives "", "ab", "abc", "c", "cd", …

The list written out is one text with borders; a run begins and ends at borders. A state is the set of places where the text read so
far may have ended, so that there are at most twice as many states as characters.

Cost: the sizes of these sets, `MAX_PLACES` at most; linear where items are not alike.
Source: A. Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import Automaton
from psc.errors import ResourceLimitError
from psc.support.limits import limit

MAX_PLACES: Final = limit("substring_positions")
"""Places in all states."""


def substring_automaton(chunks: Iterable[str]) -> Automaton:
    """The automaton of the runs of a list, the empty one included.

    Raises:
        ResourceLimitError: the items are too many or too similar: states have more than `MAX_PLACES` places.
    """
    items = list(chunks)
    text = "".join(items)
    borders = {0, *accumulate(map(len, items))}
    start = tuple(sorted(borders))
    numbers = {start: 0}
    states = [start]
    accepts = []
    arcs = []
    places = 0
    for i, state in enumerate(states):  # grows while it is read
        stop_if_cancelled()
        accepts.append(not borders.isdisjoint(state))
        places += len(state)
        if places > MAX_PLACES:
            raise ResourceLimitError(f"the parts of the text are so much alike that they need more than {MAX_PLACES:,} places")
        after: dict[str, list[int]] = {}
        for p in state:
            if p < len(text):
                after.setdefault(text[p], []).append(p + 1)
        for character in sorted(after):
            to = tuple(after[character])
            if to not in numbers:
                numbers[to] = len(states)
                states.append(to)
            arcs.append((i, ord(character), ord(character), numbers[to]))
    return Automaton(tuple(accepts), tuple(arcs))
