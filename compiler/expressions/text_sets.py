"""Expressions without references as sets of texts, for what expressions cannot say: complements, intersections, first matches.

The native core has the algebra (`TextAutomaton`); a set goes back into a rule as an `Automaton`.

Cost: that of the automata: each operation is linear in its result, which may have 20,000 states. A choice of strings is one trie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import (
    EMPTY,
    NOTHING,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from psc.compiler.expressions.fold import fold


def text_set(expression: Expression) -> TextAutomaton:
    """The texts that an expression matches.

    Args:
        expression: without references and automata.

    Raises:
        ResourceLimitError: the automaton would be too large.
    """
    return fold(expression, _combined)


def expression_of(texts: TextAutomaton) -> Expression:
    """The expression of a set of texts."""
    if texts.is_empty():
        return NOTHING
    arcs = tuple(texts.arcs)
    return Automaton(tuple(texts.accepts), arcs) if arcs else EMPTY


def begun_by(texts: TextAutomaton, *, properly: bool = False) -> TextAutomaton:
    """The texts that begin with one of a set.

    Args:
        texts: the set.
        properly: whether something must follow.
    """
    more = TextAutomaton.everything()
    if properly:
        more = more.difference(TextAutomaton.texts([""]))
    return texts.shortest_matches().concatenation(more)


def without(texts: Iterable[str]) -> TextAutomaton:
    """The texts that have none of these inside, each of which is not empty."""
    everything = TextAutomaton.everything()
    return everything.concatenation(TextAutomaton.texts(list(texts))).concatenation(everything).complement()


def until_first(end: str, ends: Iterable[str], excluded: Iterable[str]) -> TextAutomaton:
    """Free text and the first occurrence of a text that ends it, by where occurrences end.

    Args:
        end: the text; others may end at the same place.
        ends: all texts that end free text, this one among them.
        excluded: texts of which no occurrence ends there or before.
    """
    everything = TextAutomaton.everything()
    excluded = list(excluded)
    more = everything.difference(TextAutomaton.texts([""]))
    found = everything.concatenation(TextAutomaton.texts([end]))
    earlier = everything.concatenation(TextAutomaton.texts([*ends, *excluded])).concatenation(more)
    found = found.difference(earlier)
    return found.difference(everything.concatenation(TextAutomaton.texts(excluded))) if excluded else found


def _combined(node: Expression, parts: list[TextAutomaton]) -> TextAutomaton:
    if isinstance(node, Literal):
        return TextAutomaton.texts([node.text])
    if isinstance(node, Chars):
        return TextAutomaton.characters(list(node.ranges))
    if isinstance(node, Automaton):
        return TextAutomaton.of(list(node.accepts), list(node.arcs))
    if isinstance(node, Repeat):
        return parts[0].repeated(node.least, -1 if node.most is None else node.most)
    if isinstance(node, Choice):
        texts = [option.text for option in node.options if isinstance(option, Literal)]
        others = [p for option, p in zip(node.options, parts, strict=True) if not isinstance(option, Literal)]
        return _in_halves([TextAutomaton.texts(texts), *others], TextAutomaton.union)
    if isinstance(node, Sequence):
        return _in_halves(parts, TextAutomaton.concatenation) if parts else TextAutomaton.texts([""])
    assert isinstance(node, Reference)
    raise TypeError(f"the rule {node.name!r} is no set of texts")


def _in_halves(sets: list[TextAutomaton], combine: Callable[[TextAutomaton, TextAutomaton], TextAutomaton]) -> TextAutomaton:
    """The sets combined pairwise, then the results, so that none is copied more often than the logarithm of their number."""
    while len(sets) > 2:
        sets = [combine(*sets[i : i + 2]) if i + 1 < len(sets) else sets[i] for i in range(0, len(sets), 2)]
    return reduce(combine, sets)
