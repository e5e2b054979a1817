"""What a Lark grammar text defines: rules and terminals, with imports read and names checked, nothing expanded yet.

Lark's own builder does this, with one exception. Lark puts the tree of a terminal in the place of every reference to the
terminal, which is quadratic in a chain of terminals and exponential in terminals that double (`B: A A`, `C: B B`, …). Terminals are
therefore kept out of the builder's sight, and `terminal_patterns` follows references by name.

Cost: about 0.5 us a character; 10 where Lark's parser has to say what is wrong, which is why text is limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from lark.exceptions import LarkError
from lark.grammar import RuleOptions
from lark.load_grammar import _find_used_symbols
from lark.tree import Tree

from psc._core import stop_if_cancelled
from psc.compiler.frontends.lark import wording
from psc.compiler.frontends.lark.building import DefinitionBuilder
from psc.compiler.frontends.lark.imports import may_import
from psc.compiler.frontends.lark.places import Places
from psc.compiler.grammars import importing_file
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit
from psc.support.regular_file import FileOrigin

MAX_TEXT: Final = limit("lark_characters")
"""Characters of a grammar text."""
MAX_NESTING: Final = limit("lark_groups")
"""Groups inside each other. Lark walks trees by recursion."""
MAX_PARAMETERS: Final = limit("lark_parameters")
"""Parameters of a template."""

MAX_PRIORITY: Final = limit("lark_priority")
"""The largest priority of a rule or terminal, and with a minus the smallest."""

_LEVELS_OF_A_GROUP: Final = 3  # of Lark's tree: expansions, expansion, expr


@dataclass(frozen=True)
class RuleDefinition:
    """A rule or a template."""

    name: str
    parameters: tuple[str, ...]
    tree: Tree[Any]
    options: RuleOptions


@dataclass(frozen=True)
class TerminalDefinition:
    """A named terminal."""

    name: str
    tree: Tree[Any]
    priority: int


@dataclass(frozen=True)
class Definitions:
    """Everything that a grammar and the files it imports define, in Lark's order."""

    rules: tuple[RuleDefinition, ...]
    terminals: tuple[TerminalDefinition, ...]
    ignored: tuple[str, ...]
    declared: tuple[str, ...]
    """Terminals without a text of their own (``%declare``)."""
    used_files: dict[Any, str]
    """The imported files, with the digests of their text."""
    known: wording.Definitions
    """The names, for messages."""


def read_definitions(text: str, source_name: str) -> Definitions:
    """Parses grammar text and the files that it imports.

    Args:
        text: the grammar.
        source_name: its `FileOrigin`, or a bundled grammar's name, so that relative imports are found; or a label.

    Raises:
        ResourceLimitError: the text is too long, nested too deep, or a template has too many parameters.
        LarkError, ValueError, AssertionError: Lark refuses the text.
        OSError: the machine cannot read an imported file.
    """
    if len(text) > MAX_TEXT:
        raise ResourceLimitError(f"{source_name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    builder = _Builder(source_name)
    builder.load_grammar(text, FileOrigin(importing_file(source_name)) if may_import(source_name) else source_name)
    known = wording.Definitions(list(builder._definitions), builder.missing, builder.undefined)
    try:
        builder.validate()
    except LarkError as e:
        raise wording.in_words(e, Places(text, source_name), known) from None
    rules, terminals, declared = [], [], []
    for name, definition in builder._definitions.items():
        stop_if_cancelled()
        tree = builder.terminal_trees.get(name, definition.tree)
        if not definition.is_term:
            if tree is None:
                raise GrammarError(f"{source_name}: rule {name!r} is declared without a body; define it")
            rules.append(RuleDefinition(str(name), tuple(definition.params), tree, definition.options))
        elif tree is None:
            declared.append(str(name))
        else:
            terminals.append(TerminalDefinition(str(name), tree, definition.options))
    return Definitions(
        tuple(rules),
        tuple(terminals),
        tuple(builder._ignore_names),
        tuple(declared),
        builder.used_files,
        wording.Definitions(list(builder._definitions), builder.missing),
    )


class _Builder(DefinitionBuilder):
    """Lark's builder, to which every terminal looks as if it were only declared."""

    def __init__(self, source_name: str) -> None:
        super().__init__()
        self.terminal_trees: dict[str, Tree[Any]] = {}
        self._source_name = source_name

    def _define(
        self, name: str, is_term: bool, exp: Tree[Any] | None, params: Any = (), options: Any = None, *, override: bool = False
    ) -> None:
        self._check(name, exp, params)
        priority = options if is_term else options and options.priority
        if abs(priority or 0) > MAX_PRIORITY:
            raise ResourceLimitError(
                f"{self._source_name}: the priority of {str(name)!r} is beyond {MAX_PRIORITY:,}, which is the limit"
            )
        if is_term and exp is not None:
            super()._define(name, is_term, None, params, options, override=override)  # type: ignore[no-untyped-call]
            self.terminal_trees[name] = exp
        else:
            super()._define(name, is_term, exp, params, options, override=override)  # type: ignore[no-untyped-call]

    def _extend(self, name: str, is_term: bool, exp: Tree[Any], params: Any = (), options: Any = None) -> None:
        self._check(name, exp, params)
        if is_term and name in self.terminal_trees:
            self.terminal_trees[name].children.insert(0, exp)
        else:
            super()._extend(name, is_term, exp, params, options)  # type: ignore[no-untyped-call]

    def undefined(self) -> list[tuple[str, str]]:
        """Names that are used and not defined, each with a definition that uses it, sorted."""
        found = set()
        for within, definition in self._definitions.items():
            stop_if_cancelled()
            used = set() if definition.tree is None else _find_used_symbols(definition.tree)  # type: ignore[no-untyped-call]
            found |= {(str(name), str(within)) for name in used.difference(self._definitions, definition.params)}
        return sorted(found)

    def _ignore(self, exp_or_name: Any) -> None:
        before = len(self._ignore_names)
        super()._ignore(exp_or_name)  # type: ignore[no-untyped-call]
        for name in self._ignore_names[before:]:
            if name not in self.terminal_trees and name.startswith("__IGNORE_"):
                self._check(name, self._definitions[name].tree, ())
                self.terminal_trees[name] = self._definitions[name].tree
                self._definitions[name].tree = None

    def _check(self, name: str, tree: Tree[Any] | None, params: Any) -> None:
        if len(params) > MAX_PARAMETERS:
            raise ResourceLimitError(
                f"{self._source_name}: template {str(name)!r} has {len(params):,} parameters; the limit is {MAX_PARAMETERS}"
            )
        stop_if_cancelled()
        level = [] if tree is None else [tree]
        depth = 0
        while level:
            depth += 1
            if depth > MAX_NESTING * _LEVELS_OF_A_GROUP:
                raise ResourceLimitError(
                    f"{self._source_name}: groups are nested deeper than {MAX_NESTING} in {str(name)!r}, which is the limit; "
                    "name inner groups"
                )
            level = [child for node in level for child in node.children if isinstance(child, Tree)]
