"""Rules of ANTLR's lexer to the expressions of terminals, with the rules that they use written out in them.

Cost: linear in the rules with all in them written out, which is limited; for lazy loops that of `lazy.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from psc._core import TextAutomaton, stop_if_cancelled
from psc.compiler.expressions.expression import EMPTY, NOTHING, Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.expressions.fold import fold
from psc.compiler.expressions.text_sets import expression_of, text_set
from psc.compiler.frontends.antlr.escapes import both_cases
from psc.compiler.frontends.antlr.lazy import Lazy
from psc.compiler.frontends.antlr.nodes import (
    Alternative,
    AnyOne,
    Characters,
    Element,
    Group,
    Name,
    Not,
    Repeated,
    Rule,
    Text,
)
from psc.compiler.frontends.ebnf.escapes import all_but, without_surrogates
from psc.errors import ResourceLimitError
from psc.support.readable import shortened
from psc.support.similar import similar

MAX_DEPTH: Final = 3
"""How deep a rule may stand in itself, as nested comments do; where that makes an automaton too large, it is less."""
_MAX_SIZE: Final = 200_000
"""Characters and sets of a rule with all rules in it written out."""


class LexerRules:
    """All rules of a lexer, by name."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules
        self._found: dict[str, tuple[Expression, int]] = {}
        self._recursive = _recursive(rules)
        self._open: list[str] = []
        self._depth = MAX_DEPTH

    def terminal(self, rule: Rule, alternatives: tuple[Alternative, ...]) -> Expression:
        """The texts of some alternatives of a rule, without the empty one.

        Raises:
            GrammarError: a rule is not defined; a ResourceLimitError where it is too large.
        """
        self._open = [rule.name]
        self._depth = MAX_DEPTH
        if not self._has_lazy(rule, alternatives):
            return _without_empty(self._choice(rule, alternatives)[0])
        large = rule.source.limit(rule.offset, f"the rule {shortened(rule.name)} is too large; make *? and +? repeat less")
        depths = range(MAX_DEPTH, 0, -1) if rule.name in self._recursive else [MAX_DEPTH]
        for self._depth in depths:
            lazy = Lazy(large)
            self._open = [rule.name]
            try:
                return lazy.automaton(self._places(lazy, rule, alternatives, lazy.END))
            except ResourceLimitError:
                if self._depth == depths[-1]:
                    raise
        raise AssertionError("no depth was tried")

    # Without lazy loops: expressions, each with its size.

    def _choice(self, rule: Rule, alternatives: tuple[Alternative, ...]) -> tuple[Expression, int]:
        options, size = [], 0
        for alternative in alternatives:
            parts = []
            for element in alternative.parts:
                stop_if_cancelled()
                part, more = self._element(rule, element)
                parts.append(part)
                size += more
            options.append(parts[0] if len(parts) == 1 else Sequence(tuple(parts)) if parts else EMPTY)
        if size > _MAX_SIZE:
            raise rule.source.limit(
                rule.offset,
                f"the rule {shortened(rule.name)} with the rules in it has {size:,} characters and sets; the limit is "
                f"{_MAX_SIZE:,}",
            )
        return (options[0] if len(options) == 1 else Choice(tuple(options))), size

    def _element(self, rule: Rule, element: Element) -> tuple[Expression, int]:
        if isinstance(element, Name):
            return self._named(rule, element)
        if isinstance(element, Repeated):
            body, size = self._element(rule, element.body)
            return Repeat(body, element.least, element.most), size
        if isinstance(element, Group):
            return self._choice(rule, element.alternatives)
        if isinstance(element, Text) and not (rule.ignores_case and element.text.lower() != element.text.upper()):
            return Literal(element.text), len(element.text)
        if isinstance(element, Text):
            return Sequence(tuple(self._one(rule, c) for c in element.text)), len(element.text)
        return self._one(rule, element), 1

    def _one(self, rule: Rule, element: Element | str) -> Expression:
        if isinstance(element, str):
            return Chars(both_cases(((ord(element), ord(element)),)))
        if isinstance(element, AnyOne):
            return Chars(all_but([]))
        if isinstance(element, Not):
            return Chars(all_but(list(self._set(rule, element.body, element.offset))))
        assert isinstance(element, Characters)
        ranges = both_cases(element.ranges) if rule.ignores_case else element.ranges
        found = without_surrogates(list(ranges))
        return Chars(found) if found else NOTHING

    def _set(self, rule: Rule, element: Element, offset: int) -> tuple[tuple[int, int], ...]:
        """The characters behind `~`."""
        if isinstance(element, Group) and all(len(a.parts) == 1 for a in element.alternatives):
            return tuple(r for a in element.alternatives for r in self._set(rule, a.parts[0], offset))
        if isinstance(element, Characters):
            return both_cases(element.ranges) if rule.ignores_case else element.ranges
        if isinstance(element, Text) and len(element.text) == 1:
            one = ((ord(element.text), ord(element.text)),)
            return both_cases(one) if rule.ignores_case else one
        if isinstance(element, Name):
            found = self._named(rule, element)[0]
            options = found.options if isinstance(found, Choice) else (found,)
            if all(isinstance(o, Chars) or (isinstance(o, Literal) and len(o.text) == 1) for o in options):
                return tuple(
                    r
                    for o in options
                    for r in (o.ranges if isinstance(o, Chars) else ((ord(o.text), ord(o.text)),) if isinstance(o, Literal) else ())
                )
        raise rule.source.error(offset, "in the lexer ~ takes one character or a set of characters, as in ~[a-z] or ~('a' | 'b')")

    def _named(self, rule: Rule, element: Name) -> tuple[Expression, int]:
        name = element.name
        if name == "EOF":  # the text ends there, or something else does: the longest lexeme is the same
            return EMPTY, 0
        used = self._defined(rule, element)
        if self._open.count(name) > self._depth:
            return NOTHING, 0
        if name in self._found:
            return self._found[name]
        self._open.append(name)
        found = self._choice(used, used.alternatives)
        self._open.pop()
        if name not in self._recursive:  # else what it is depends on how deep it stands
            self._found[name] = found
        return found

    def _defined(self, rule: Rule, element: Name) -> Rule:
        name = element.name
        used = self._rules.get(name)
        if used is None:
            close = similar(name, self._rules)
            hint = f"did you mean {close[0]!r}?" if close else "define it, or put text into quotes"
            raise rule.source.error(element.offset, f"the lexer has no rule {shortened(name)!r}; {hint}")
        return used

    # With lazy loops: places of an automaton.

    def _has_lazy(self, rule: Rule, alternatives: tuple[Alternative, ...]) -> bool:
        names = {rule.name: None}
        todo = [(rule, alternatives)]
        for owner, some in todo:  # which grows
            for element in elements_of(some):
                if isinstance(element, Repeated) and element.is_lazy:
                    return True
                if isinstance(element, Name) and element.name != "EOF" and element.name not in names:
                    used = self._defined(owner, element)
                    names[element.name] = None
                    todo.append((used, used.alternatives))
        return False

    def _places(self, lazy: Lazy, rule: Rule, alternatives: tuple[Alternative, ...], end: int) -> int:
        starts = []
        for alternative in alternatives:
            stop_if_cancelled()
            at = end
            for element in reversed(alternative.parts):
                at = self._before(lazy, rule, element, at)
            starts.append(at)
        return starts[0] if len(starts) == 1 else lazy.place(*starts)

    def _before(self, lazy: Lazy, rule: Rule, element: Element, end: int) -> int:
        if isinstance(element, Group):
            return self._places(lazy, rule, element.alternatives, end)
        if isinstance(element, Repeated):
            return lazy.repeated(
                lambda to: self._before(lazy, rule, element.body, to), element.least, element.most, element.is_lazy, end
            )
        if isinstance(element, Name) and element.name != "EOF":
            used = self._defined(rule, element)
            if self._open.count(element.name) > self._depth:
                return lazy.place()
            self._open.append(element.name)
            found = self._places(lazy, used, used.alternatives, end)
            self._open.pop()
            return found
        return lazy.before(self._element(rule, element)[0], end)


def _without_empty(found: Expression) -> Expression:
    """The texts of an expression but for the empty one, which is no lexeme."""
    if not fold(found, _matches_empty):
        return found
    return NOTHING if found == EMPTY else expression_of(text_set(found).difference(TextAutomaton.texts([""])))


def _matches_empty(node: Expression, parts: list[bool]) -> bool:
    if isinstance(node, Literal):
        return not node.text
    if isinstance(node, Repeat):
        return node.least == 0 or parts[0]
    if isinstance(node, Sequence):
        return all(parts)
    return isinstance(node, Choice) and any(parts)


def elements_of(alternatives: tuple[Alternative, ...]) -> Iterator[Element]:
    """All elements of alternatives, those inside others too, in the order of the text."""
    todo: list[Element] = [part for a in reversed(alternatives) for part in reversed(a.parts)]
    while todo:
        element = todo.pop()
        yield element
        if isinstance(element, (Not, Repeated)):
            todo.append(element.body)
        elif isinstance(element, Group):
            todo += [part for a in reversed(element.alternatives) for part in reversed(a.parts)]


def _recursive(rules: Mapping[str, Rule]) -> set[str]:
    """The rules that need themselves, or one that does."""
    needed = {
        name: {e.name for e in elements_of(rule.alternatives) if isinstance(e, Name) and e.name in rules}
        for name, rule in rules.items()
    }
    users: dict[str, list[str]] = {}
    for name, names in needed.items():
        for other in names:
            users.setdefault(other, []).append(name)
    todo = [name for name, names in needed.items() if not names]
    for name in todo:  # which grows
        stop_if_cancelled()
        for user in users.get(name, ()):
            needed[user].discard(name)
            if not needed[user]:
                todo.append(user)
    return needed.keys() - set(todo)
