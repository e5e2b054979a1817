"""Rules of expressions to terminals and productions, and on to the tables that know no vocabulary: the native core does all of it.

A rule set goes over as flat words (`expression_words`), and what comes back is one native object. Its tables go on into the machine
as they are; terminals and productions become Python's records when somebody asks for them: an artifact's metadata, a message, a
tool. native/rules/lowering.hpp says what is done.

Cost: 2 us a node to write the words, then for JSON a tenth of a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.cfg.normal_form import dead_error, productions_from
from psc.compiler.expressions.expression import Literal, RuleSet
from psc.compiler.expressions.joined_rules import UnreadPart, joined_rules
from psc.compiler.expressions.words import native_rules, read_expression
from psc.compiler.terminals.python_pattern import python_pattern
from psc.errors import GrammarError, ResourceLimitError
from psc.support.cached_property import cached_property
from psc.support.similar import similar

_LONGEST_NAME = 40


@dataclass(frozen=True)
class TerminalLimits:
    """How large a terminal may be; what is larger is made of several, and counts are left to the parser."""

    size: int = 400
    """Characters and classes in its expression, with counted repetitions written out."""
    named_size: int = 128
    """The same for a rule that refers to others, so that large rules stay made of the terminals that others use too."""
    around_free_text: int = 2
    """How much a rule may add to a rule of free text that it refers to, and still be one terminal."""
    literals: int = 20_000
    """Characters, of literals side by side."""
    counted: int = 64
    """The size of one counted repetition, written out."""


DEFAULT_LIMITS = TerminalLimits()


def lower(rule_set: RuleSet, limits: TerminalLimits = DEFAULT_LIMITS) -> Cfg:
    """The grammar of a rule set: its lexer is ``any``, all LR actions are kept, and it is in normal form.

    Args:
        rule_set: the rules; those that the root does not need are left out.
        limits: how large terminals may become.

    Raises:
        GrammarError: the root matches nothing, a rule is not defined, or a limit is passed; the message names it. Or productions
            cannot express the rules: members in any order are tracked just in time.
    """
    require_productions(rule_set)
    return LoweredRules(rule_set, limits).cfg


def require_productions(rule_set: RuleSet) -> None:
    """Raises GrammarError if productions cannot express the rules: orders of members and long counts are tracked just in time."""
    native = native_rules(rule_set.rules, rule_set.root)
    if native.has_counted:
        try:
            native.written_out()
        except ResourceLimitError as e:
            raise ResourceLimitError(
                f"{rule_set.source_name}: minLength or maxLength beside a pattern or format: {e}; longer texts are for grammars "
                "that GrammarCompiler builds just in time, not for artifacts: choose a smaller length"
            ) from None
    if native.has_free_order:
        raise GrammarError(
            f"{rule_set.source_name}: members in any order, more than eight in one object, conditions on members that take more "
            "than 50,000 states, and more than ten items that must differ, are for grammars that GrammarCompiler builds just in "
            "time, not for artifacts: have fewer, or leave any_order or uniqueItems out"
        )


class LoweredRules:
    """A rule set as terminals and productions in the native core. Raises as :func:`lower`."""

    def __init__(self, rule_set: RuleSet, limits: TerminalLimits = DEFAULT_LIMITS) -> None:
        self.rule_set = rule_set
        try:
            self.native = native_rules(rule_set.rules, rule_set.root).lower(**vars(limits))
        except ResourceLimitError as e:
            raise (e if e.path is not None else e.reworded(f"{rule_set.source_name}: {e}")) from None
        if self.native.undefined:
            raise GrammarError(_undefined(rule_set, self.native.undefined))
        if self.native.way:
            if_empty = _if_empty(rule_set, self.native.way, limits)
            if if_empty is not None:
                raise if_empty()
            raise dead_error(self.native.way, self.native.circle, rule_set.source_name, rule_set.lines, rule_set.source)
        _require_texts_of_parts(rule_set, limits)

    @property
    def source_name(self) -> str:
        """A file name or a label, for messages."""
        return self.rule_set.source_name

    @cached_property
    def cfg(self) -> Cfg:
        """Terminals and productions as records."""
        rule_set, native = self.rule_set, self.native
        nonterminals, rules = native.nonterminals, native.rules
        terminals = self._terminals(rules)
        return Cfg(
            source=rule_set.source,
            source_name=rule_set.source_name,
            imports=rule_set.imports,
            start=nonterminals[0],
            terminals=terminals,
            nonterminals=tuple(nonterminals),
            productions=productions_from(native.productions, len(terminals)),
            lexer="any",
            keep_all_actions=True,
            language=rule_set.language,
            settings=rule_set.settings,
            asked_for=rule_set.root,
            reads_names=rule_set.reads_names,
            left_out=tuple([name for r in native.left_out if (name := rules[r]) in rule_set.lines]),
        )

    def _terminals(self, rules: list[str]) -> tuple[Terminal, ...]:
        names: set[str] = set()
        used = []
        for i, (named, written_in, number) in enumerate(self.native.terminals):
            expression = read_expression(self.native.expression(i))
            pattern = python_pattern(expression)
            text = expression.text if isinstance(expression, Literal) else None
            name = _unique(rules[named] if named >= 0 else _written(text, pattern), names)
            if number < 0:
                continue
            terminal = Terminal(
                name=name,
                pattern=pattern,
                text=text,
                flags=frozenset(),
                priority=0,
                lark_order=number,
                rank=number,
                ignored=False,
                line=self.rule_set.lines.get(rules[written_in]),
                expression=expression,
            )
            used.append(terminal)
        return tuple(used)


def _if_empty(rule_set: RuleSet, way: list[str], limits: TerminalLimits) -> Callable[[], GrammarError] | None:
    """What makes the error about rules that match no text: of the part on the way to the rule that has none, or that has none."""
    whole = joined_rules(rule_set)
    if whole is not None:
        for name, part in whole.read_parts.items():
            if any(rule.startswith(f"{name}.") for rule in way):
                return part.if_empty
        if (empty := _empty_part(whole.read_parts.values(), limits)) is not None:
            return empty.if_empty
    return rule_set.if_empty


def _require_texts_of_parts(rule_set: RuleSet, limits: TerminalLimits) -> None:
    """Raises the error of a part that matches no text, as linking does: the rest would do without the part."""
    whole = joined_rules(rule_set)
    if whole is not None:
        unread = [whole.read_parts[name] for name, part in whole.parts.items() if isinstance(part, UnreadPart)]
        if (empty := _empty_part(unread, limits)) is not None and empty.if_empty is not None:
            raise empty.if_empty()


def _empty_part(parts: Iterable[RuleSet], limits: TerminalLimits) -> RuleSet | None:
    """The first part that matches no text, of those that have an error for that."""
    for part in parts:
        with suppress(ResourceLimitError):  # the rules of the whole are within the limits
            if part.if_empty is not None and native_rules(part.rules, part.root).lower(**vars(limits)).way:
                return part
    return None


def _undefined(rule_set: RuleSet, name: str) -> str:
    close = similar(name, rule_set.rules)
    hint = f"did you mean {close[0]!r}?" if close else "define it"
    return f"{rule_set.source_name}: rule {name!r} is not defined; {hint}"


def _written(text: str | None, pattern: str) -> str:
    """What a terminal is called that no rule names: as it is written, shortened."""
    written = f'"{pattern}"' if text is not None else f"/{pattern}/"
    if text is not None and text.isprintable() and '"' not in text and "\\" not in text:
        written = f'"{text}"'
    return written if len(written) <= _LONGEST_NAME else f"{written[: _LONGEST_NAME - 1]}…"


def _unique(name: str, names: set[str]) -> str:
    """The name, or the name with a number behind it, and puts it among the names."""
    number = 1
    unique = name
    while unique in names:
        number += 1
        unique = f"{name}#{number}"
    names.add(unique)
    return unique
