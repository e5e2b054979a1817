"""Grammars that are made of parts, as machines that are linked: a part's machine serves every grammar that has the part.

The rules of a structural tag are a frame around the schemas of tools (`joined_rules`). To be served just in time they need not be
one grammar: where a rule of the frame refers to a part, the frame calls the part's machine (native/linked/machine.hpp). So a
request with cached tools costs its frame.

First the rules are cut (`plan_links`): which parts have machines of their own, which are put into the frame, and which rules count
tokens and so are parts of this grammar alone. The plan is data; `link` makes the machines.

    start: "<" schema ">" name[max_tokens=3]    plan   calls 0: schema, 1: name; frame "<" call(0) ">" call(1)

Cost: for a cached part, a lookup; for the frame, as for any grammar.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace
from typing import Final

from psc._core import Machine, RulePrograms
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.cfg.normal_form import dead_error
from psc.compiler.expressions.expression import EMPTY, Choice, Expression, Reference, RuleSet, Sequence
from psc.compiler.expressions.fold import referred_to
from psc.compiler.expressions.joined_rules import Part, has_unique, joined, joined_rules, most_tokens_of, rule_set
from psc.compiler.expressions.token_budgets import CountedRule, CutRules, cut_at_budgets, needed
from psc.compiler.expressions.words import NativeRules, native_rules
from psc.compiler.frontends.tables import GrammarTables, RulesTables
from psc.compiler.pipeline.part_cache import PartCache, PartMachine
from psc.compiler.pipeline.part_ends import END, MAX_PARTS, SPENT, call, rules_with_end, without_boundaries
from psc.compiler.terminals.python_pattern import python_pattern
from psc.errors import GrammarError, ResourceLimitError
from psc.support.cached_property import cached_property

_ROOT: Final = "linked root"
_WHOLE: Final = "whole"
_TEXT: Final = 0
_ARRAY: Final = 1
_ITEM: Final = 2
"""Roles of parts, see Machine.linked."""


@dataclass(frozen=True)
class LinkPlan:
    """What is linked, before any of it is made."""

    source_name: str
    root: str
    outer: Mapping[str, Expression]
    """The rules of the frame, and of those that count tokens."""
    inner: Mapping[str, RuleSet]
    """The parts that are put into them, by the names by which they refer to these."""
    parts: Mapping[str, Part]
    """The parts that have machines of their own, in the same way. They are called by the first numbers."""
    counted: Mapping[str, CountedRule]
    """The rules that count tokens, in the same way. They are called by the numbers after these."""

    @property
    def n_calls(self) -> int:
        """How many parts can be called."""
        return len(self.parts) + len(self.counted)

    @cached_property
    def max_tokens(self) -> list[int]:
        """How many tokens may have bytes in a text of each part, -1 for any number."""
        return [most_tokens_of(part) or -1 for part in self.parts.values()] + [rule.most_tokens for rule in self.counted.values()]

    @property
    def spent_ends(self) -> list[bool]:
        """Whether each part has a second end, which it may take once its tokens are exhausted."""
        return [False] * len(self.parts) + [rule.spent is not None for rule in self.counted.values()]

    @cached_property
    def calls(self) -> dict[str, Expression]:
        """What a reference to each part stands for."""
        calls: dict[str, Expression] = {}
        for number, name in enumerate((*self.parts, *self.counted)):
            # A part that counts tokens is free text, which may be empty, and a part is not called for the empty text. Where a rule
            # counts tokens and may be empty, the rules that refer to it say so.
            is_free_text = name in self.parts and self.max_tokens[number] != -1
            calls[name] = Choice((call(number), EMPTY)) if is_free_text else call(number)
        return calls

    @cached_property
    def has_unique(self) -> bool:
        """Whether the items of some arrays must differ: these arrays, and the items, are parts too."""
        return any(map(has_unique, self.inner.values()))

    def rules(self, start: str, spent: str | None = None) -> tuple[RuleSet, bool]:
        """The rules of the frame or of a counted rule with its end, and whether they call parts.

        Args:
            start: the rule that has their texts.
            spent: the rule that has the texts before their second end, if they have one.
        """
        whole: Expression = Sequence((Reference(start), END))
        if spent is not None:
            whole = Choice((whole, Sequence((Reference(spent), SPENT))))
        if not self.counted:
            own, used = {**self.outer, **self.calls, _ROOT: whole}, {*self.inner, *self.calls}
        else:
            own = {**needed(whole, self.outer), **self.calls, _ROOT: whole}
            used = set().union(*[referred_to(e) for e in own.values()])
        inner = {name: part for name, part in self.inner.items() if name in used}
        return joined(own, inner, _ROOT, source="", source_name=self.source_name), not used.isdisjoint(self.calls)


def plan_links(rules: RuleSet, *, worth: Callable[[Part], bool] | None = None) -> LinkPlan | None:
    """How rules with parts or budgets are linked; None where they are better one grammar.

    Args:
        rules: of the frame, with its parts.
        worth: tells whether a part gets a machine of its own; by default one that was not read does.

    Raises:
        GrammarError: a rule with a budget may begin with itself, the whole matches no text, or a part that gets no machine is
            malformed. ResourceLimitError: there are too many.
    """
    if joined_rules(rules) is None and has_unique(rules):
        rules = joined({}, {_WHOLE: rules}, _WHOLE, source=rules.source, source_name=rules.source_name)
    cut = cut_at_budgets(rules)
    if cut.dead_end is not None:
        raise dead_error(*cut.dead_end, rules.source_name, rules.lines, rules.source)
    reached = _reached(cut) if cut.calls else set()
    parts = {name: part for name, part in cut.parts.items() if (worth or _is_worth_linking)(part)}
    inner = {name: rule_set(part) for name, part in cut.parts.items() if name not in parts}
    counted = {name: rule for name, rule in cut.calls.items() if name in reached}
    plan = LinkPlan(rules.source_name, cut.root, cut.outer, inner, parts, counted)
    if not plan.has_unique and ((not plan.n_calls and not cut.n_left_out) or (plan.n_calls > MAX_PARTS and not counted)):
        return None
    if plan.n_calls > MAX_PARTS:
        raise ResourceLimitError(
            f"{rules.source_name}: {plan.n_calls:,} rules with max_tokens and schemas; the limit is {MAX_PARTS:,}"
        )
    return plan


@dataclass(frozen=True)
class Linked:
    """A machine of several, and what they are of."""

    machine: Machine
    frame: RulesTables
    parts: tuple[PartMachine, ...]

    def terminal_names(self) -> tuple[str, ...]:
        """The names of all terminals as the machine numbers them; a boundary has none, but the end of the frame."""
        return _names_of_terminals((self.frame, *(part.tables for part in self.parts)))


def link(plan: LinkPlan, cache: PartCache, cache_limit: int) -> Linked:
    """The machines of a plan, linked.

    Args:
        plan: of `plan_links`.
        cache: of parts.
        cache_limit: of what the machine builds, in bytes; 0 is no limit.

    Raises:
        GrammarError: a rule is malformed, matches no text, or exceeds a limit.
    """
    whole, _ = plan.rules(plan.root)
    counted = [plan.rules(rule.body, rule.spent) for rule in plan.counted.values()]
    cuts = [_cut_unique(whole, plan.n_calls)]
    for rules, _ in counted:
        cuts.append(_cut_unique(rules, plan.n_calls + sum(cut.n_calls for cut in cuts)))
    n_calls = plan.n_calls + sum(cut.n_calls for cut in cuts)
    if n_calls > MAX_PARTS:
        raise ResourceLimitError(
            f"{plan.source_name}: {n_calls:,} schemas, rules with max_tokens, arrays with uniqueItems and their items; the limit "
            f"is {MAX_PARTS:,}"
        )
    parts = cache.find(plan.parts.values())
    frame = RulesTables(LoweredRules(cuts[0].frame))
    machine = cache.frame(frame, n_calls)
    for cut, (_, has_calls) in zip(cuts[1:], counted, strict=True):
        parts.append(cache.part(RulesTables(LoweredRules(cut.frame)), n_calls if has_calls or cut.n_calls else 0))
    roles = [_TEXT] * len(parts)
    runs_out_at = [-1] * len(parts)
    for cut in cuts:
        parts += [cache.part(RulesTables(LoweredRules(rules_with_end(array))), n_calls) for array in cut.arrays]
        parts += cache.find(cut.items)
        roles += [_ARRAY] * len(cut.arrays) + [_ITEM] * len(cut.items)
        runs_out_at += cut.runs_out_at
    native = [part.native for part in parts]
    n_more = n_calls - plan.n_calls
    most_tokens, spent_ends = plan.max_tokens + [-1] * n_more, plan.spent_ends + [False] * n_more
    linked = Machine.linked(machine, native, most_tokens, cache.index, cache_limit, spent_ends, roles, runs_out_at)
    return Linked(linked, frame, tuple(parts))


@dataclass(frozen=True)
class _Cut:
    """Rules whose arrays of items that must differ are parts, see native/rules/unique_rules.hpp."""

    frame: RuleSet
    arrays: Many[RuleSet] = ()
    items: Many[RuleSet] = ()
    runs_out_at: list[int] = field(default_factory=list)
    """Of how many characters a beginning of an item of each array, then of each item, may be to have few ends; -1: none has."""

    @property
    def n_calls(self) -> int:
        return len(self.arrays) + len(self.items)


def _cut_unique(rules: RuleSet, first_call: int) -> _Cut:
    native = native_rules(rules.rules, rules.root)
    if not native.has_unique:
        return _Cut(rules)
    frame, arrays, items, runs_out_at = native.cut_unique(first_call)

    def part(programs: RulePrograms) -> RuleSet:
        digest = hashlib.sha256(programs.words.tobytes() + programs.offsets.tobytes()).hexdigest()
        return RuleSet(NativeRules(programs), programs.root_name, digest, rules.source_name, {}, language="part of a schema")

    whole = replace(rules, rules=NativeRules(frame), if_empty=lambda: _error_of(rules))
    return _Cut(whole, [part(p) for p in arrays], [part(p) for p in items], runs_out_at)


def _error_of(rules: RuleSet) -> GrammarError:
    """Why uncut rules match no text."""
    try:
        LoweredRules(rules)
    except GrammarError as e:
        return e
    raise AssertionError("cut rules match no text, and the uncut ones do")


def _reached(cut: CutRules) -> set[str]:
    """The names that the root needs."""
    found: set[str] = set()
    todo = [cut.root]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        rule = cut.calls.get(name)
        if rule is not None:
            todo += [rule.body] if rule.spent is None else [rule.body, rule.spent]
        elif name in cut.outer:
            todo += referred_to(cut.outer[name])
    return found


def _names_of_terminals(tables: Iterable[GrammarTables]) -> tuple[str, ...]:
    names: list[str] = []
    for number, one in enumerate(tables):
        for terminal in one.cfg.terminals:
            if terminal.expression is None:
                names.append(terminal.name)
                continue
            shown = without_boundaries(terminal.expression)
            if terminal.expression == END:
                names.append("" if number else "$END")
            elif shown == EMPTY:
                names.append("")
            else:
                names.append(terminal.name if shown == terminal.expression else f"/{python_pattern(shown)}/")
        names.append("$END")
    return tuple(names)


def _is_worth_linking(part: Part) -> bool:
    return not isinstance(part, RuleSet)
