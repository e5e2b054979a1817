"""Templates of Lark: a rule for each use of a template with other arguments, made when the use is read.

As Lark's `ApplyTemplates`, with three differences: templates are found by name at once, trees are copied without recursion, and the
rules made are counted. A template that uses others twice doubles them, and one that uses itself with a larger argument
(`f{x}: f{g{x}}`) never ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lark.grammar import NonTerminal
from lark.load_grammar import _ReplaceSymbols, nr_deepcopy_tree

from psc.compiler.frontends.lark.definitions import RuleDefinition
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_TEMPLATE_RULES: Final = limit("lark_template_rules")
"""Rules made from templates."""
MAX_TEMPLATE_PARTS: Final = limit("lark_template_parts")
"""Parts of the rules made from templates, and characters of their names."""


class Templates:
    """Makes rules for uses of templates, and adds these rules to a list that is still being read."""

    def __init__(self, definitions: list[RuleDefinition], place: Callable[[str], str]) -> None:
        self._definitions = definitions
        self._templates = {d.name: d for d in definitions if d.parameters}
        self._place = place
        self._replace = _ReplaceSymbols()  # type: ignore[no-untyped-call]
        self._made: set[str] = set()
        self._n_parts = 0

    def use(self, children: list[Any]) -> NonTerminal:
        """The rule for a use; `children` are the template and its arguments."""
        name, *arguments = [str(c.name) for c in children]
        made = f"{name}{{{','.join(arguments)}}}"
        if made not in self._made:
            self._made.add(made)
            self._add(name, made, children[1:])
        return NonTerminal(made)

    def _add(self, name: str, made: str, arguments: list[Any]) -> None:
        template = self._templates.get(name)
        if template is None or len(template.parameters) != len(arguments):
            raise GrammarError(f"{self._place(name)}: there is no template {name} of {len(arguments)} parameters")
        self._n_parts += len(made) + sum([1 + len(t.children) for t in template.tree.iter_subtrees()])
        if len(self._made) > MAX_TEMPLATE_RULES or self._n_parts > MAX_TEMPLATE_PARTS:
            raise ResourceLimitError(
                f"{self._place(name)}: the templates make more than {MAX_TEMPLATE_RULES:,} rules, or rules of more than "
                f"{MAX_TEMPLATE_PARTS:,} parts, which is the limit; template {name} uses others, or itself, with ever new arguments"
            )
        tree = nr_deepcopy_tree(template.tree)  # type: ignore[no-untyped-call]
        self._replace.names = dict(zip(template.parameters, arguments, strict=True))
        self._replace.transform(tree)
        self._definitions.append(RuleDefinition(made, (), tree, template.options))
