"""Lark's rules to productions, exactly as Lark expands them, with their number known before they are written.

Lark has no groups in its productions: `("a" | "b") ["c"] x~1..3` becomes every choice, written out, and `x*` becomes a rule of its
own. LALR tables depend on this form, and so does which conflicts there are, so it is kept. Choices multiply: 40 optional items in a
row are 2^40 productions. The steps of Lark's `EBNF_to_BNF` and `SimplifyRule_Visitor` are therefore done here on nodes that know
how many alternatives and symbols they stand for (products and sums of their parts' numbers, no text). A rule past the limit is
refused before anything is expanded.

With `keep_all_actions` any form of the same language does. There a rule past the limit is made compact: groups become rules.

Equal parts are one node, so equality costs nothing, however deep the parts are. Cost: linear in the productions that come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeVar

from lark.grammar import NonTerminal, Symbol
from lark.grammar import Terminal as LarkTerminal
from lark.load_grammar import REPEAT_BREAK_THRESHOLD, SMALL_FACTOR_THRESHOLD
from lark.tree import Tree
from lark.utils import small_factors

from psc._core import stop_if_cancelled
from psc.compiler.frontends.lark.names import Parts
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_EXPANDED: Final = limit("lark_symbols")
"""Symbols in all productions, with every choice written out."""
MAX_REPEAT: Final = limit("lark_count")
"""The largest bound of a repetition."""

_CAP: Final = 1 << 62
_SYMBOL, _ROW, _CHOICE, _ALIAS = range(4)
_EMPTY_NAME: Final = "__empty__"

_T = TypeVar("_T")


@dataclass(frozen=True)
class ExpandedRule:
    """A production before terminals have numbers."""

    origin: str
    symbols: tuple[tuple[bool, str], ...]
    """Per symbol: whether it is a terminal, and its name."""
    priority: int


@dataclass(slots=True, eq=False)
class _Node:
    """A part of a rule, never changed. Parts that Lark takes for equal have the same number."""

    number: int
    kind: int
    value: Any
    """Of a symbol, whether it is a terminal, and its name; of an alias, its name."""
    parts: tuple[_Node, ...]
    placeholders: int
    """Children that this part gives to a tree of Lark's. A missing `[part]` leaves as many placeholders, which keep alternatives
    apart that are otherwise the same."""
    n_alternatives: int
    n_symbols: int
    """In all alternatives, plus one for each."""


Rows = Sequence[tuple[tuple[bool, str], ...]]
"""Alternatives of symbols, as of an `ExpandedRule`."""
Alternative = tuple[tuple[tuple[bool, str], ...], str | None]
"""Symbols and alias."""


class RuleExpander:
    """Expands rules one after the other; repetitions of equal parts share a rule, across rules, as in Lark.

    Raises :class:`GrammarError` for what Lark refuses, and :class:`ResourceLimitError`, with the rule's place and size.
    """

    def __init__(self, place: Callable[[str], str], *, compact: bool) -> None:
        """
        Args:
            place: where a rule of a name is defined, for messages.
            compact: whether groups may become rules where there are too many choices. The language stays; LALR conflicts may not.
        """
        self._place = place
        self._compact = compact
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._symbols: dict[tuple[bool, str, int], _Node] = {}
        self._repeated: dict[Any, _Node] = {}
        self._new_rules: list[tuple[str, _Node, str]] = []
        self._n_new = 0
        self._rule = ""
        self._keep_all_tokens = False
        self._rules: list[tuple[str, _Node | Rows, int]] = []
        self._empty = self._node(_SYMBOL, (None, _EMPTY_NAME), (), placeholders=0)

    def add(self, name: str, parts: Parts, priority: int, *, keep_all_tokens: bool) -> None:
        """Reads a rule, whose parts are in the order in which Lark names new rules, the whole of it last."""
        self._rule = name
        self._keep_all_tokens = keep_all_tokens
        of: dict[int, Any] = {}
        for subtree in parts:
            stop_if_cancelled()
            of[id(subtree)] = [self._converted(c, of) for c in subtree.children]
        self._rules.append((name, self._converted(parts[-1], of), priority))

    def add_rows(self, name: str, rows: Rows, priority: int) -> None:
        """Adds a rule whose alternatives are symbols alone."""
        self._rules.append((name, rows, priority))

    def expanded(self) -> list[ExpandedRule]:
        """The productions of all rules, those that repetitions need last."""
        rules: list[tuple[str, _Node | Rows, int]] = [*self._rules, *[(name, node, 0) for name, node, _ in self._new_rules]]
        made_for = {name: rule for name, _, rule in self._new_rules}
        total = 0
        result: list[ExpandedRule] = []
        todo = list(rules)
        for name, node, priority in todo:  # grows when groups become rules
            owner = made_for.get(name, name)
            if not isinstance(node, _Node):
                total += sum([1 + len(row) for row in node])
                if total > MAX_EXPANDED:
                    raise self._too_large(owner, total)
                result += [ExpandedRule(name, row, priority) for row in dict.fromkeys(node)]
                stop_if_cancelled()
                continue
            if total + node.n_symbols > MAX_EXPANDED and self._compact:
                node, groups = self._with_groups_as_rules(owner, node)
                made_for.update(dict.fromkeys([g for g, _ in groups], owner))
                todo += [(g, body, 0) for g, body in groups]
            total += node.n_symbols
            if total > MAX_EXPANDED:
                raise self._too_large(owner, total)
            result += self._productions(name, node, priority)
        return result

    def _too_large(self, rule: str, total: int) -> ResourceLimitError:
        size = f"{total:,}" if total < 10**15 else "more than 10^15"
        way_out = (
            "make the grammar smaller"
            if self._compact
            else "give optional items and groups in a row rules of their own, or use keep_all_actions"
        )
        return ResourceLimitError(
            f"{self._place(rule)}: with rule {rule}, the grammar has {size} symbols when every choice is written out, as Lark "
            f"does; the limit is {MAX_EXPANDED:,}; {way_out}"
        )

    # Nodes

    def _node(self, kind: int, value: Any, parts: tuple[_Node, ...], placeholders: int) -> _Node:
        key = (kind, value, *[p.number for p in parts])
        number = self._numbers.setdefault(key, len(self._numbers))
        if kind == _SYMBOL:
            return _Node(number, kind, value, parts, placeholders, 1, 2)
        if kind == _ALIAS:
            return _Node(number, kind, value, parts, placeholders, parts[0].n_alternatives, parts[0].n_symbols)
        if kind == _CHOICE:
            n = sum([p.n_alternatives for p in parts])
            return _Node(number, kind, value, parts, placeholders, min(n, _CAP), min(sum([p.n_symbols for p in parts]), _CAP))
        n, written = 1, 0  # alternatives so far, and their symbols
        for p in parts:
            n, written = (
                min(n * p.n_alternatives, _CAP),
                min(written * p.n_alternatives + n * (p.n_symbols - p.n_alternatives), _CAP),
            )
        return _Node(number, kind, value, parts, placeholders, n, min(n + written, _CAP))

    def _symbol(self, symbol: Symbol) -> _Node:
        if isinstance(symbol, LarkTerminal):
            return self._named(True, str(symbol.name), int(self._keep_all_tokens or not symbol.filter_out))
        assert isinstance(symbol, NonTerminal)
        return self._rule_symbol(str(symbol.name))

    def _rule_symbol(self, name: str) -> _Node:
        return self._named(False, name, int(not name.startswith("_")))

    def _named(self, is_terminal: bool, name: str, placeholders: int) -> _Node:
        key = is_terminal, name, placeholders
        known = self._symbols.get(key)
        if known is None:
            known = self._symbols[key] = self._node(_SYMBOL, (is_terminal, name), (), placeholders)
        return known

    def _row(self, parts: Iterable[_Node]) -> _Node:
        parts = tuple(parts)
        return self._node(_ROW, None, parts, sum([p.placeholders for p in parts]))

    def _choice(self, parts: Iterable[_Node]) -> _Node:
        parts = tuple(parts)
        return self._node(_CHOICE, None, parts, max([p.placeholders for p in parts]))

    def _converted(self, item: Any, of: dict[int, Any]) -> Any:
        """A child as a node; tokens (operators and counts) as they are."""
        if isinstance(item, Symbol):
            return self._symbol(item)
        if not isinstance(item, Tree):
            return item
        children = of[id(item)]
        if item.data == "expansion":
            return self._row(children)
        if item.data == "expansions":
            return self._choice(children)
        if item.data == "maybe":
            (body,) = children
            return self._choice((body, self._row([self._empty] * body.placeholders)))
        if item.data == "expr":
            return self._operator(*children)
        if item.data == "alias":
            body, alias = children
            return self._node(_ALIAS, alias.value[1], (body,), body.placeholders)
        raise GrammarError(f"{self._place(self._rule)}: rule {self._rule} has a {item.data} where none can be")

    def _operator(self, body: _Node, operator: str, *counts: str) -> _Node:
        if operator == "?":
            return self._choice((body, self._row(())))
        if operator == "+":
            return self._recursion("plus", body)
        if operator == "*":
            return self._choice((self._recursion("star", body), self._row(())))
        assert operator == "~"
        if max(len(c.lstrip("+-0")) for c in counts) > len(str(MAX_REPEAT)) or max(map(int, counts)) > MAX_REPEAT:
            raise ResourceLimitError(
                f"{self._place(self._rule)}: rule {self._rule} repeats more than {MAX_REPEAT:,} times, which is the limit"
            )
        least, most = int(counts[0]), int(counts[-1])
        if len(counts) == 2 and (most < least or least < 0):
            raise GrammarError(f"{self._place(self._rule)}: rule {self._rule} has the range {least}..{most}, which is none")
        return self._counted(body, least, most)

    # New rules, named as Lark names them

    def _new_rule(self, what: str, key: Any, body: Callable[[_Node], _Node]) -> _Node:
        known = self._repeated.get(key)
        if known is None:
            name = f"__{self._rule}_{what}_{self._n_new}"
            self._n_new += 1
            known = self._repeated[key] = self._rule_symbol(name)
            self._new_rules.append((name, body(known), self._rule))
        return known

    def _recursion(self, what: str, body: _Node) -> _Node:
        """One or more: `t: body | t body`."""
        return self._new_rule(what, body.number, lambda t: self._choice((self._row((body,)), self._row((t, body)))))

    def _counted(self, body: _Node, least: int, most: int) -> _Node:
        if most < REPEAT_BREAK_THRESHOLD:
            return self._choice([self._row([body] * n) for n in range(least, most + 1)])
        exactly = body
        for a, b in small_factors(least, SMALL_FACTOR_THRESHOLD):
            exactly = self._times(a, b, exactly, body)
        if most == least:
            return exactly
        # `fewer` is less often than `target`: Lark's form has no conflicts.
        target, fewer = body, self._row(())
        *factors, (a, b) = small_factors(most - least + 1, SMALL_FACTOR_THRESHOLD)
        for c, d in factors:
            fewer = self._fewer(c, d, target, fewer, body)
            target = self._times(c, d, target, body)
        return self._choice([self._row((exactly, self._fewer(a, b, target, fewer, body)))])

    def _times(self, a: int, b: int, target: _Node, body: _Node) -> _Node:
        key = (a, b, target.number, body.number)
        return self._new_rule(f"repeat_a{a}_b{b}", key, lambda _: self._choice([self._row([target] * a + [body] * b)]))

    def _fewer(self, a: int, b: int, target: _Node, fewer: _Node, body: _Node) -> _Node:
        rows = [[target] * i + [fewer] for i in range(a)] + [[target] * a + [body] * i for i in range(b)]
        key = (a, b, target.number, body.number, "opt")
        return self._new_rule(f"repeat_a{a}_b{b}_opt", key, lambda _: self._choice([self._row(r) for r in rows]))

    # Alternatives

    def _productions(self, name: str, node: _Node, priority: int) -> list[ExpandedRule]:
        found: dict[tuple[tuple[bool, str], ...], bool] = {}
        for symbols, alias in self._alternatives(node):
            if alias is not None and name.startswith("_"):
                raise GrammarError(
                    f"{self._place(name)}: rule {name} is inlined, because its name begins with an underscore, so it cannot have "
                    f"aliases ({alias})"
                )
            plain = tuple([s for s in symbols if s[1] != _EMPTY_NAME])
            if plain in found and plain:
                written = " ".join(s for _, s in plain)
                raise GrammarError(
                    f"{self._place(name)}: Rules defined twice: {name} : {written} (optional items or groups may expand alike)"
                )
            found[plain] = True
            stop_if_cancelled()
        return [ExpandedRule(name, symbols, priority) for symbols in found]

    def _alternatives(self, root: _Node) -> Sequence[Alternative]:
        """Every choice of a rule, without repeats, the first group varying slowest."""
        return _folded(root, self._combined)

    def _combined(self, node: _Node, parts: list[Sequence[Alternative]]) -> Sequence[Alternative]:
        if node.kind == _SYMBOL:
            return (((node.value,), None),)
        if node.kind == _ALIAS:
            if any(alias is not None for _, alias in parts[0]):
                raise self._inner_alias()
            return [(symbols, node.value) for symbols, _ in parts[0]]
        if node.kind == _CHOICE:
            return parts[0] if len(parts) == 1 else list(dict.fromkeys([a for part in parts for a in part]))
        if any(alias is not None for part in parts for _, alias in part):
            raise self._inner_alias()
        if len(parts) == 1:
            return parts[0]
        rows = product(*[[symbols for symbols, _ in part] for part in parts])
        return list(dict.fromkeys([(tuple([s for part in row for s in part]), None) for row in rows]))

    def _inner_alias(self) -> GrammarError:
        return GrammarError("an alias (->) can only stand at the end of an alternative of a rule, not inside a group")

    # Compact form

    def _with_groups_as_rules(self, rule: str, node: _Node) -> tuple[_Node, list[tuple[str, _Node]]]:
        """The node with a rule in place of each group that has a choice, and these rules. Aliases mean nothing and are dropped."""
        groups: list[tuple[str, _Node]] = []
        self._rule = rule

        def combined(at: _Node, parts: list[_Node]) -> _Node:
            if at.kind == _SYMBOL:
                return at
            if at.kind == _ALIAS:
                return parts[0]
            if at.kind == _CHOICE:
                return self._choice(parts)
            return self._row([grouped(p) for p in parts if p.number != self._empty.number])

        def grouped(part: _Node) -> _Node:
            if part.n_alternatives == 1:
                return part
            name = f"__{rule}_group_{self._n_new}"
            self._n_new += 1
            groups.append((name, part))
            return self._rule_symbol(name)

        return _folded(node, combined), groups


def _folded(root: _Node, combine: Callable[[_Node, list[_T]], _T]) -> _T:
    """What `combine` makes of a node and of what it made of the node's parts; each part once, however deep they nest."""
    of: dict[int, _T] = {}
    stack = [root]
    while stack:
        stop_if_cancelled()
        node = stack[-1]
        missing = [p for p in node.parts if p.number not in of]
        if missing:
            stack += missing
            continue
        stack.pop()
        if node.number not in of:
            of[node.number] = combine(node, [of[p.number] for p in node.parts])
    return of[root.number]
