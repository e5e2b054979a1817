"""The configurations of a matcher, with ids of their types: each a lexer state and a parser stack that its text may have led to.

A matcher whose grammar is deterministic has one. A configuration has a number, as in `MatcherView`.

Cost: linear in the stacks.
"""

from __future__ import annotations

from typing import NamedTuple

from psc._core import GrammarMatcher, MatcherView
from psc.ids import LexerState, LexSymbol, LrState

Stack = tuple[LrState, ...]
"""LR states, top first."""


class Configuration(NamedTuple):
    """One way in which a text has been read."""

    lexer_state: LexerState
    stack: Stack
    seen: tuple[int, ...] = ()
    """The stack's state of members that come in any order: equal for equal sets of members read."""
    missing: int = 0
    """The least number of members still needed before the open objects can end."""


def configurations(matcher: GrammarMatcher) -> tuple[Configuration, ...]:
    """All of a matcher's."""
    view = MatcherView(matcher)
    return tuple(
        Configuration(LexerState(state), tuple(map(LrState, stack)), tuple(seen), missing)
        for (state, stack), (seen, missing) in zip(view.configurations(), view.members_seen(), strict=True)
    )


def stacks_after(matcher: GrammarMatcher, configuration: int, symbols: tuple[LexSymbol, ...]) -> list[Stack]:
    """The stacks of a configuration after these symbols; none where the parser does not take them.

    Args:
        matcher: at the text's end.
        configuration: its index.
        symbols: terminals and conditions.
    """
    stacks = MatcherView(matcher).stacks_after(configuration, list(symbols))
    return [tuple(map(LrState, stack)) for stack in stacks]
