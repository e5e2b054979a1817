"""Rule sets as named rules of another one, whatever front ends they come from.

A structural tag has a JSON schema for each of its tools, and grammars can name other grammars: each is read by its own front end,
and is a rule of the whole. The rules of a part keep apart from all others. The native core copies their words as they are, so that
what the front end of JSON schemas wrote never becomes Python's objects.

Cost: half a microsecond a rule of a part, and 2 ns a word of it; 400 tools of 34 rules take 7 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from psc import _core
from psc.compiler.expressions.expression import Expression, RuleMark, RuleSet
from psc.compiler.expressions.words import NativeRules, native_rules
from psc.errors import GrammarError
from psc.support.cached_property import cached_property

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import Cfg


@dataclass(frozen=True)
class UnreadPart:
    """Rules that are read when a caller needs them: `linking` may have the part's machine in its cache.

    None of them has a mark (`RuleSet.marks`).
    """

    key: Hashable
    """Equal for parts with equal rules, and for no others."""
    read: Callable[[], RuleSet] = field(compare=False)
    """Raises GrammarError."""
    most_tokens: int | None = None
    """How many tokens may have bytes in a text of the part. At least 1; None is any number. Only machines that are linked count."""


@dataclass(frozen=True)
class LexedPart:
    """A grammar with a lexer of its own, which only machines that are linked can have beside other rules."""

    cfg: Cfg


Part = RuleSet | UnreadPart | LexedPart


_Whole = tuple[Mapping[str, Expression], Mapping[str, Part], str]


class JoinedRules(NativeRules):
    """The rules of a whole, which are put together when somebody reads them."""

    def __init__(self, outer: Mapping[str, Expression], parts: Mapping[str, Part], root: str) -> None:
        """See :func:`joined`."""
        whole = outer, parts, root
        self._read: Callable[[], _Whole] = lambda: whole

    @classmethod
    def unread(cls, read: Callable[[], JoinedRules]) -> JoinedRules:
        """Rules that are read when somebody needs them. Nothing can be wrong with them."""
        rules = cls.__new__(cls)
        rules._read = lambda: read()._whole
        return rules

    @cached_property
    def _whole(self) -> _Whole:
        return self._read()

    @property
    def outer(self) -> Mapping[str, Expression]:
        """The rules that are no part's."""
        return self._whole[0]

    @property
    def parts(self) -> Mapping[str, Part]:
        """By the names by which these refer to them."""
        return self._whole[1]

    @property
    def root(self) -> str:
        """The rule, or the part, that a whole text must match."""
        return self._whole[2]

    @property
    def has_lexers(self) -> bool:
        """Whether a part, or a part of one, has a lexer of its own."""
        return any(isinstance(part, LexedPart) or has_lexers(part) for part in self.parts.values())

    @property
    def counts_tokens(self) -> bool:
        """Whether a part has a limit of tokens."""
        return any(map(most_tokens_of, self.parts.values()))

    @cached_property
    def read_parts(self) -> Mapping[str, RuleSet]:
        """The parts as rules, none of which has a lexer. Raises GrammarError: one cannot be read."""
        return {name: rule_set(part) for name, part in self.parts.items()}

    @cached_property
    def native(self) -> _core.RulePrograms:
        """The joined rules. Raises GrammarError: a part cannot be read."""
        counted = next((name for name, part in self.parts.items() if most_tokens_of(part)), None)
        if counted is not None:
            raise GrammarError(
                f"{counted}: tokens are counted by grammars that GrammarCompiler builds just in time, not by artifacts and printed "
                "grammars"
            )
        if self.has_lexers:
            raise GrammarError(
                "a combination with a grammar that has a lexer of its own (Lark's) is built just in time by a GrammarCompiler, "
                "it is no single grammar; for an artifact write all of it in one language"
            )
        outer = native_rules(self.outer, self.root)
        sets = self.read_parts
        return _core.join_rules(outer, list(sets), [native_rules(part.rules, part.root) for part in sets.values()])


def joined_rules(rule_set: RuleSet) -> JoinedRules | None:
    """The rules of a rule set that is made of parts; None where it is not."""
    return rule_set.rules if isinstance(rule_set.rules, JoinedRules) else None


def has_lexers(part: Part) -> bool:
    """Whether rules have a part with a lexer of its own."""
    joined = joined_rules(part) if isinstance(part, RuleSet) else None
    return joined is not None and joined.has_lexers


def has_unique(part: Part) -> bool:
    """Whether rules say that items of an array differ, which only matchers of linked machines know; as far as they were read."""
    if not isinstance(part, RuleSet):
        return False
    joined = joined_rules(part)
    if joined is not None:
        return any(map(has_unique, joined.parts.values()))
    return isinstance(part.rules, NativeRules) and part.rules.native.has_unique


def rule_set(part: Part) -> RuleSet:
    """The rules of a part that has no lexer, read now if need be. Raises GrammarError."""
    assert not isinstance(part, LexedPart)
    return part.read() if isinstance(part, UnreadPart) else part


def key_of(part: Part) -> Hashable:
    """Equal for parts that were read from one text in one way, and for no others."""
    if isinstance(part, UnreadPart):
        return part.key
    if isinstance(part, LexedPart):
        cfg = part.cfg
        return cfg.language, cfg.source, cfg.settings, cfg.imports, cfg.asked_for or cfg.start, cfg.lexer, cfg.keep_all_actions
    return part.language, part.source, part.settings, part.root


def most_tokens_of(part: Part) -> int | None:
    """How many tokens may have bytes in a text of a part; None is any number."""
    return part.most_tokens if isinstance(part, UnreadPart) else None


def marks_of(whole: RuleSet) -> dict[str, RuleMark]:
    """The marks of a rule set's rules, and of those that are its parts'."""
    marks = dict(whole.marks)
    joined = joined_rules(whole)
    if joined is not None:
        for name, part in joined.parts.items():
            if isinstance(part, RuleSet):
                marks |= renamed_marks(marks_of(part), lambda rule, part=name: f"{part}.{rule}")  # type: ignore[misc]
    return marks


def renamed_marks(marks: Mapping[str, RuleMark], new_name: Callable[[str], str]) -> dict[str, RuleMark]:
    """The marks under other names of their rules."""

    def renamed(mark: RuleMark) -> RuleMark:
        ending, spent = mark.ending, mark.spent
        if ending is not None:
            ending = replace(ending, body=new_name(ending.body), marker=new_name(ending.marker))
        return replace(mark, ending=ending, spent=None if spent is None else new_name(spent))

    return {new_name(name): renamed(mark) for name, mark in marks.items()}


def joined(
    rules: Mapping[str, Expression],
    parts: Mapping[str, Part],
    root: str,
    *,
    source: str,
    source_name: str,
    lines: Mapping[str, int] | None = None,
    marks: Mapping[str, RuleMark] | None = None,
    language: str = "ebnf",
    settings: str = "",
) -> RuleSet:
    """Rules of which some are other rule sets.

    The rules of a part called ``f`` are called ``f.`` and their own name. A part that refers to a rule which it does not define is
    reported when the whole is lowered, under such a name.

    Args:
        rules: the outer rules, which refer to a part by its name.
        parts: by names that none of the rules has.
        root: the rule that a whole text must match; a part's name will do.
        source: see ``RuleSet``, as for the next ones.
        source_name: for messages.
        lines: of the outer rules.
        marks: of the outer rules.
        language: of the source.
        settings: of the source.

    Raises:
        ValueError: a rule and a part have one name.
    """
    both = [name for name in parts if name in rules]
    if both:
        raise ValueError(f"{both[0]!r} is a rule and a part as well")
    whole = JoinedRules(rules, dict(parts), root)
    is_open = root not in parts and any(not isinstance(part, RuleSet) or has_lexers(part) for part in parts.values())
    root = root if is_open else whole.native.root_name
    return RuleSet(whole, root, source, source_name, lines or {}, language=language, settings=settings, marks=marks or {})
