"""The patterns of Lark's terminals: each definition to one string or one regex, as Lark writes them.

Lark's own callbacks make the patterns. A terminal that others refer to is made once and its text is copied, so the work is the
number of characters of all patterns. These characters may double with each definition (`B: A A`, `C: B B`, …), so they are counted
before they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from lark.grammar import NonTerminal
from lark.grammar import Terminal as LarkTerminal
from lark.lexer import Pattern, PatternRE, TerminalDef, Token
from lark.load_grammar import PrepareLiterals, TerminalTreeToPattern
from lark.tree import Tree

from psc._core import stop_if_cancelled
from psc.compiler.frontends.lark.definitions import Definitions, TerminalDefinition
from psc.compiler.frontends.lark.names import literal_pattern
from psc.compiler.frontends.lark.places import Places
from psc.compiler.frontends.lark.wording import TEXT_ERRORS, malformed, undefined
from psc.compiler.terminals.regex import listed_texts
from psc.compiler.terminals.regex.codepoints import watched_parse
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_PATTERN_TEXT: Final = limit("lark_pattern_characters")
"""Characters of the patterns of all terminals, and of what they are made of."""

_AROUND_A_PATTERN: Final = 16  # what a group, its flags and a count add
_MAX_NAMES: Final = 6
_LONG_PATTERN: Final = 1_000  # of which Python's parser takes a millisecond


def terminal_patterns(definitions: Definitions, places: Places) -> list[TerminalDef]:
    """The terminals with their patterns, in the order of their definitions.

    Args:
        definitions: of the text.
        places: of the text, for messages.

    Raises:
        GrammarError: a terminal is empty, refers to itself, to a rule or to what there is not, or has a malformed literal.
        ResourceLimitError: the patterns have too many characters, or one is nested too deep for Python's `re`.
    """
    patterns = _Patterns(places)
    terminals, place = definitions.terminals, places.of
    needed = {d.name: _references(d, place) for d in terminals}
    for name, references in needed.items():
        for other in references:
            if other in definitions.declared:
                raise GrammarError(f"{place(name)}: terminal {name} refers to {other}, which is only declared")
            if other not in needed:
                raise undefined(other, name, places, definitions.known)
    try:
        order = tuple(TopologicalSorter(needed).static_order())
    except CycleError as e:
        circle = e.args[1]
        way = " -> ".join([*circle[:_MAX_NAMES], *(["…"] if len(circle) > _MAX_NAMES else [])])
        raise GrammarError(f"{place(circle[0])}: terminal {circle[0]} refers to itself ({way}); only rules can") from None
    by_name = {d.name: d for d in terminals}
    for name in order:
        patterns.add(by_name[name])
    return [TerminalDef(d.name, patterns.of[d.name], d.priority) for d in terminals]


def check_widths(terminal: TerminalDef, places: Places) -> None:
    """Has Lark parse a terminal's pattern, whose widths decide between terminals. Raises :class:`GrammarError` if that fails."""
    with _named_failures(terminal.name, places, terminal.pattern.raw):
        pattern = terminal.pattern
        if isinstance(pattern, PatternRE):
            texts = listed_texts(pattern.to_regexp())
            if texts is not None:
                lengths = [len(text) for text, _ in texts]
                pattern._width = [min(lengths), max(lengths)]
            elif len(pattern.value) > _LONG_PATTERN and r"\p" not in pattern.value:
                pattern._width = list(map(int, watched_parse(pattern.to_regexp()).getwidth()))  # as Lark does
        _ = pattern.max_width


@contextmanager
def _named_failures(name: str, places: Places, raw: str | None = None) -> Iterator[None]:
    """Says of which terminal something is wrong, and where in it; `raw` is how it is written where it has no name."""
    try:
        yield
    except GrammarError:
        raise
    except (RecursionError, OverflowError) as e:
        cause = "nested groups" if isinstance(e, RecursionError) else "a count"
        raise ResourceLimitError(
            f"{places.of(name)}: terminal {name} has {cause} beyond the limit of Python's regular expressions; name its parts as "
            "terminals, or leave counts open"
        ) from None
    except TEXT_ERRORS as e:
        raise malformed(name, raw, e, places) from e


def _references(definition: TerminalDefinition, place: Callable[[str], str]) -> list[str]:
    if _only_literal(definition.tree) is not None:
        return []
    found: dict[str, None] = {}
    for value in definition.tree.find_data("value"):
        item: Any = value.children[0]
        if isinstance(item, LarkTerminal):
            found[item.name] = None
        elif isinstance(item, NonTerminal) or item.data == "template_usage":
            name = item.name if isinstance(item, NonTerminal) else item.children[0].name
            raise GrammarError(f"{place(definition.name)}: terminal {definition.name} refers to the rule {name}; only rules can")
    return list(found)


def _only_literal(tree: Tree[Any]) -> Token | None:
    """The literal that is all of a terminal, as it is of most."""
    node: Any = tree
    for kind in ("expansions", "expansion", "value", "literal"):
        if not isinstance(node, Tree) or node.data != kind or len(node.children) != 1:
            return None
        node = node.children[0]
    return node  # type: ignore[no-any-return]


class _Patterns:
    """Patterns by name, those that others refer to first."""

    def __init__(self, places: Places) -> None:
        self.of: dict[str, Pattern] = {}
        self._places = places
        self._from_tree = TerminalTreeToPattern()
        self._literals = PrepareLiterals()
        self._n_characters = 0

    def add(self, definition: TerminalDefinition) -> None:
        """Makes a terminal's pattern."""
        name, tree = definition.name, definition.tree
        literal = _only_literal(tree)
        if literal is not None:
            with _named_failures(name, self._places):
                pattern = self.of[name] = literal_pattern(literal)
            self._count(name, 2 * (len(pattern.value) + _AROUND_A_PATTERN))  # as an alternative, and as one of one
            return
        expansions = list(tree.find_data("expansion"))
        if len(expansions) == 1 and not expansions[0].children:
            ignored = self._places.directive("%ignore") if name.startswith("__IGNORE") else None
            if ignored is not None:
                raise self._places.at(ignored, "%ignore names nothing; give it a terminal or a regular expression")
            raise GrammarError(f"{self._places.of(name)}: terminal {name} is empty; a terminal must match at least one character")
        with _named_failures(name, self._places):
            self.of[name] = self._pattern(name, tree)

    def _pattern(self, name: str, tree: Tree[Any]) -> Pattern:
        """The tree's pattern, parts first."""
        stack: list[tuple[Tree[Any], list[Any]]] = [(tree, [])]
        while True:
            stop_if_cancelled()
            node, done = stack[-1]
            if node.data in ("literal", "range") or len(done) == len(node.children):
                stack.pop()
                pattern = self._combined(name, node, done)
                if not stack:
                    return pattern
                stack[-1][1].append(pattern)
                continue
            child = node.children[len(done)]
            if isinstance(child, Tree):
                stack.append((child, []))
            else:
                done.append(self.of[child.name] if isinstance(child, LarkTerminal) else child)

    def _combined(self, name: str, node: Tree[Any], parts: list[Any]) -> Pattern:
        pattern: Pattern
        if node.data in ("literal", "range"):
            (pattern,) = getattr(self._literals, node.data)(*node.children).children
        elif node.data == "value":
            (pattern,) = parts
        else:
            self._count(name, sum([len(p.value) + _AROUND_A_PATTERN for p in parts if isinstance(p, Pattern)]))
            pattern = getattr(self._from_tree, node.data)(parts)
        return pattern

    def _count(self, name: str, size: int) -> None:
        self._n_characters += size
        if self._n_characters > MAX_PATTERN_TEXT:
            raise ResourceLimitError(
                f"{self._places.of(name)}: with terminal {name}, the patterns of all terminals have more than "
                f"{MAX_PATTERN_TEXT:,} characters, which is the limit; a terminal counts each time that others refer to it"
            )
