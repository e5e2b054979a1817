"""Rule sets made of rule sets: union, concatenation, substitution; and rule sets as EBNF text.

Rules of equal names are kept apart by renaming those that come later. The text of a combination is what :func:`to_ebnf` prints, so
that every rule set can be shown, stored and read again. Cost: linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace

from psc.compiler.expressions.empty_rules import empty_rules, living_states
from psc.compiler.expressions.expression import (
    EMPTY,
    MAX_CODE_POINT,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleMark,
    RuleSet,
    Sequence,
)
from psc.compiler.expressions.fold import fold, rebuilt
from psc.compiler.expressions.joined_rules import marks_of, renamed_marks
from psc.compiler.expressions.tokens import MAX_TOKENS, tokens_of
from psc.errors import GrammarError

_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LISTED_TOKENS = 16  # more are written as ranges
_DEEPEST = 100  # groups within groups, before a group becomes a rule: the parser has a limit


def union(rule_sets: Many[RuleSet]) -> RuleSet:
    """The texts of any of the rule sets. Raises :class:`GrammarError` if there are none."""
    return _combined(rule_sets, "union", lambda roots: Choice(roots))


def concat(rule_sets: Many[RuleSet]) -> RuleSet:
    """A text of each of the rule sets, one after the other. Raises :class:`GrammarError` if there are none."""
    return _combined(rule_sets, "concat", lambda roots: Sequence(roots))


def with_names_apart(rule_set: RuleSet, taken: Iterable[str]) -> RuleSet:
    """The rule set with its rules renamed where their names are taken, to name_1, name_2, …; its text stays as it was."""
    used = set(taken)
    names = {}
    for name in rule_set.rules:
        names[name] = _free(name, used | (rule_set.rules.keys() - {name} if name in used else set()))
        used.add(names[name])
    rules = {names[name]: _renamed(e, names) for name, e in rule_set.rules.items()}
    lines = {names[name]: line for name, line in rule_set.lines.items() if name in names}
    marks = renamed_marks(marks_of(rule_set), lambda name: names.get(name, name))
    return replace(rule_set, rules=rules, root=names.get(rule_set.root, rule_set.root), lines=lines, marks=marks)


def _combined(rule_sets: Many[RuleSet], what: str, combine: Callable[[tuple[Expression, ...]], Expression]) -> RuleSet:
    if not rule_sets:
        raise GrammarError(f"{what} needs at least one grammar")
    rules: dict[str, Expression] = {"root": EMPTY}
    roots = []
    marks: dict[str, RuleMark] = {}
    for rule_set in rule_sets:
        apart = with_names_apart(rule_set, rules)
        rules |= apart.rules
        marks |= apart.marks
        roots.append(Reference(apart.root))
    rules["root"] = combine(tuple(roots))
    reads_names = any(r.reads_names for r in rule_sets)
    return _printed(RuleSet(rules, "root", "", f"<{what}>", {}, reads_names=reads_names, marks=marks))


def _printed(rule_set: RuleSet) -> RuleSet:
    """The rule set with its own EBNF text as its source, where each rule has a line."""
    text = to_ebnf(rule_set)
    lines = {line.partition(" ::= ")[0].partition("[")[0]: number for number, line in enumerate(text.splitlines(), 1)}
    return replace(rule_set, source=text, lines={name: lines[name] for name in rule_set.rules if name in lines})


def _free(name: str, taken: set[str]) -> str:
    number = 0
    free = name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    def combine(e: Expression, parts: list[Expression]) -> Expression:
        if isinstance(e, Reference):
            return Reference(names.get(e.name, e.name))
        return rebuilt(e, parts)

    return fold(expression, combine)


def to_ebnf(rule_set: RuleSet) -> str:
    """EBNF text that :func:`psc.compiler.frontends.ebnf.load_ebnf` reads as the same language, a rule to a line, the root first.

    Rules whose names the language cannot write are renamed. What matches no text is left out; where nothing else is left,
    it becomes a rule that never ends.
    """
    return _Printer(rule_set).text()


_WHOLE, _CHOICE, _SEQUENCE, _REPEAT = range(4)
_Written = tuple[str, int, int]
"""Text, how loosely it binds, and how deep its groups are nested."""
_EMPTY_TEXT: _Written = ('""', _WHOLE, 0)


class _Printer:
    def __init__(self, rule_set: RuleSet) -> None:
        self._rule_set = rule_set
        self._marks = marks_of(rule_set)
        self._empty = empty_rules(rule_set)
        self._taken = {name for name in rule_set.rules if _NAME.fullmatch(name)}
        self._names = {}
        for name in rule_set.rules:
            self._names[name] = name if name in self._taken else self._new_name(re.sub(r"[^A-Za-z0-9_-]+", "_", name) or "rule")
        self._lines: list[str] = []
        self._more: list[str] = []
        self._nothing: str | None = None

    def text(self) -> str:
        root = self._rule_set.root
        needed = {root}.union(*[_named_by(mark) for mark in self._marks.values()])
        for name in sorted(self._rule_set.rules, key=lambda n: n != root):  # stable: the root comes first
            if name in self._empty and name not in needed:
                continue
            self._rule = self._names[name]
            written = (fold(self._rule_set.rules[name], self._combine) or self._never())[0]
            options = _options(self._marks[name], self._names) if name in self._marks else ""
            self._lines.append(f"{self._names[name]}{options} ::= {written}")
        return "".join(f"{line}\n" for line in [*self._lines, *self._more])

    def _new_name(self, name: str) -> str:
        free = _free(name, self._taken)
        self._taken.add(free)
        return free

    def _combine(self, e: Expression, results: list[_Written | None]) -> _Written | None:
        """What an expression is written as; None: it matches no text."""
        if isinstance(e, Literal):
            return _quoted(e.text), _WHOLE, 0
        if isinstance(e, Reference):
            return None if e.name in self._empty else (self._names.get(e.name, e.name), _WHOLE, 0)
        if isinstance(e, Chars):
            return (_class(e.ranges), _WHOLE, 0) if e.ranges else None
        if isinstance(e, Automaton):
            return (self._states(e), _WHOLE, 0) if 0 in living_states(e) else None
        parts = [part for part in results if part is not None]
        if isinstance(e, Choice):
            return self._joined(" | ", parts, _CHOICE) if len(parts) > 1 else parts[0] if parts else None
        if len(parts) < len(results):
            return _EMPTY_TEXT if isinstance(e, Repeat) and e.least == 0 else None
        if isinstance(e, Sequence):
            return self._joined(" ", parts, _SEQUENCE) if len(parts) > 1 else parts[0] if parts else _EMPTY_TEXT
        body, depth = self._operand(parts[0], _WHOLE)
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((e.least, e.most))
        bounds = f"{e.least},{'' if e.most is None else e.most}" if e.least != e.most else f"{e.least}"
        return body + (short or f"{{{bounds}}}"), _REPEAT, depth

    def _states(self, automaton: Automaton) -> str:
        """A rule for each state, the first for the whole."""
        arcs = automaton.between()
        living = living_states(automaton)
        names = {state: self._new_name(f"{self._rule}_1") for state in range(len(automaton.accepts)) if state in living}
        options: dict[int, list[str]] = {state: ['""'] if automaton.accepts[state] else [] for state in names}
        for (source, target), ranges in arcs.items():
            if source in living and target in living:
                options[source].append(f"{_class(ranges)} {names[target]}")
        self._more += [f"{names[state]} ::= {' | '.join(some)}" for state, some in options.items()]
        return names[0]

    def _joined(self, between: str, parts: list[_Written], binding: int) -> _Written:
        operands = [self._operand(p, _REPEAT if binding == _SEQUENCE else _SEQUENCE) for p in parts]
        return between.join([text for text, _ in operands]), binding, max([depth for _, depth in operands])

    def _operand(self, part: _Written, loosest: int) -> tuple[str, int]:
        """The part in a group unless it binds closely enough: as a repetition's body, a part of a sequence, an option."""
        text, binding, depth = part
        closely = {_WHOLE: (_WHOLE,), _REPEAT: (_WHOLE, _REPEAT), _SEQUENCE: (_WHOLE, _REPEAT, _SEQUENCE)}[loosest]
        if binding in closely:
            return text, depth
        if depth >= _DEEPEST:
            name = self._new_name(f"{self._rule}_1")
            self._more.append(f"{name} ::= {text}")
            return name, 0
        return f"({text})", depth + 1

    def _never(self) -> _Written:
        if self._nothing is None:
            self._nothing = self._new_name("nothing")
            self._more.append(f"{self._nothing} ::= {self._nothing}")
        return self._nothing, _WHOLE, 0


def _named_by(mark: RuleMark) -> set[str]:
    """The rules that a mark names."""
    names = {mark.spent} if mark.spent is not None else set()
    return names | ({mark.ending.body, mark.ending.marker} if mark.ending is not None else set())


def _options(mark: RuleMark, names: Mapping[str, str]) -> str:
    written = []
    if mark.max_tokens is not None:
        written.append(f"max_tokens={mark.max_tokens}")
    if mark.spent is not None:
        written.append(f"spent={names[mark.spent]}")
    if mark.capture is not None:
        written.append(f"capture={_quoted(mark.capture)}")
    if mark.ending is not None:
        ending = mark.ending
        written.append(f"{'stop' if ending.is_hidden else 'suffix'}=({names[ending.body]}, {names[ending.marker]})")
        if ending.captured_as is not None:
            written.append(f"stop_capture={_quoted(ending.captured_as)}")
    if mark.temperature is not None:
        written.append(f"temperature={mark.temperature}")
    return f"[{', '.join(written)}]"


def _quoted(text: str) -> str:
    return f'"{"".join([_character(c, _IN_LITERAL) for c in text])}"'


_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_IN_LITERAL = _CONTROL | {'"': '\\"', "\\": "\\\\"}
_IN_CLASS = _CONTROL | {c: "\\" + c for c in "\\]-^"} | {"[": "\\["}


def _character(c: str, escapes: Mapping[str, str]) -> str:
    if (escaped := escapes.get(c)) is not None:
        return escaped
    if c.isprintable():
        return c
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    """A class of characters, a set of tokens, or both in a group."""
    characters = tuple([(low, min(high, MAX_CODE_POINT)) for low, high in ranges if low <= MAX_CODE_POINT])
    tokens = tokens_of(Chars(ranges))
    if not tokens:
        return _characters(characters)
    return f"({_characters(characters)} | {_tokens(tokens)})" if characters else _tokens(tokens)


def _tokens(ranges: tuple[tuple[int, int], ...]) -> str:
    if ranges[-1][1] == MAX_TOKENS - 1:  # read without a vocabulary: all but some
        ids = [i for low, high in _gaps(ranges) for i in range(low, high + 1)]
        return f"ExcludeToken({', '.join(map(str, ids))})"
    if sum([high - low + 1 for low, high in ranges]) <= _LISTED_TOKENS:
        return f"Token({', '.join([str(i) for low, high in ranges for i in range(low, high + 1)])})"
    return f"<[{','.join([f'{low}-{high}' if low < high else str(low) for low, high in ranges])}]>"


def _characters(ranges: tuple[tuple[int, int], ...]) -> str:
    if ranges[-1][1] != MAX_CODE_POINT:
        return f"[{_ranges(ranges)}]"
    return f"[^{_ranges([gap for gap in _gaps(ranges) if gap != (0xD800, 0xDFFF)])}]"


def _gaps(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is between the ranges, and before the first one."""
    gaps = []
    at = 0
    for low, high in ranges:
        if at < low:
            gaps.append((at, low - 1))
        at = high + 1
    return gaps


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    written = []
    for low, high in ranges:
        first, last = (_character(chr(c), _IN_CLASS) for c in (max(low, 0), high))
        written.append(first if low == high else f"{first}-{last}")
    return "".join(written)
