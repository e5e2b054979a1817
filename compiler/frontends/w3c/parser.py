"""Tokens in W3C's notation to rules of expressions: `name ::= body`, one rule after the other, and `%ignore NAME`.

A difference binds tighter than a sequence, and less tight than a repetition: `A B* - C D` is `A (B* - C) D`. A body is read with
an explicit stack of open groups, so nesting costs no Python stack.

Cost: about 2 us a token.
"""

from __future__ import annotations

import re
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import (
    EMPTY,
    MAX_CODE_POINT,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleSet,
)
from psc.compiler.expressions.expression import Sequence as InRow
from psc.compiler.frontends.ebnf.escapes import all_but, without_surrogates
from psc.compiler.frontends.ebnf.lexer import Source, Token
from psc.compiler.frontends.ebnf.parser import MAX_NESTING, MAX_REPEATS, MAX_TEXT, check_heads, defined_once
from psc.compiler.frontends.front_end import no_start
from psc.compiler.frontends.w3c.lexer import tokens_of, without_numbers
from psc.compiler.frontends.w3c.rules import Rules
from psc.errors import GrammarError, ResourceLimitError
from psc.support.similar import similar

DEFAULT_START: Final = "root"
_REPEATS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_UNIT: Final = re.compile(r"#x([0-9A-Fa-f]+)|(.)", re.S)
_ESCAPE: Final = re.compile(r"\\[nrt]|\\\\")
_CLASS_ESCAPE: Final = re.compile(r"\\[nrtdwsxu\\]")
_LINK: Final = re.compile(r"\[https?:", re.I)


def load_w3c(text: str, *, source_name: str = "<string>", start: str = DEFAULT_START) -> RuleSet:
    """Reads grammar text in the notation of W3C's specifications.

    Args:
        text: the grammar.
        source_name: its file or a label, for messages.
        start: the rule that a whole text must match; the first rule, where this is "root" and no rule is called so.

    Raises:
        GrammarError: the text is not a grammar, or has a difference that is not regular; the message has the place.
    """
    if len(text) > MAX_TEXT:
        raise ResourceLimitError(f"{source_name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    source = Source(without_numbers(text), source_name)
    ignored: list[Token] = []
    tokens = _without_directives(tokens_of(source), source, ignored)
    heads = [i - 1 for i, token in enumerate(tokens) if token[0] == "assign"]
    check_heads(tokens, heads, source)
    offsets = defined_once([tokens[i] for i in heads], source)
    rules = Rules(source, offsets, "end that rule with /* ws: explicit */")
    for _, name, offset in ignored:
        _check_defined(name, offset, offsets, source)
        rules.ignore(name)
    for i, end in zip(heads, [*heads[1:], len(tokens)], strict=False):
        stop_if_cancelled()
        name, first = tokens[i][1], i + 2
        if end > first and tokens[end - 1][0] == "explicit":
            rules.explicit.add(name)
            end -= 1
        rules.bodies[name] = _Body(source, offsets, rules, name).parse(tokens[first:end])
    if start == DEFAULT_START and start not in offsets and offsets:
        start = next(iter(offsets))
    if start not in offsets:
        raise GrammarError(f"{source_name}: {no_start(start, list(offsets))}").with_position(path=source_name)
    made, root = rules.finished(start)
    lines = source.lines(offsets)
    return RuleSet(made, root, text, source_name, lines, language="w3c_ebnf")


def _without_directives(tokens: list[Token], source: Source, ignored: list[Token]) -> list[Token]:
    """The other tokens; what `%ignore` names is put into `ignored`."""
    others = []
    rest = iter(tokens)
    for token in rest:
        kind, text, offset = token
        if kind != "directive":
            others.append(token)
            continue
        if not source.begins_line(offset):
            raise source.error(offset, f"{text} must begin on a line of its own; a percent sign as text is '%'")
        if text == "%ignore":
            named = next(rest, None)
            if named is None or named[0] != "name" or source.line(named[2]) != source.line(offset):
                raise source.error(offset, "%ignore takes the name of a rule: write %ignore WS, and WS ::= … as a rule")
            ignored.append(named)
        elif text != "%w3c":
            raise source.error(offset, f"there is no directive {text}; there are %ignore NAME and %w3c")
    return others


def _check_defined(name: str, offset: int, rules: dict[str, int], source: Source) -> None:
    if name in rules:
        return
    close = similar(name, rules)
    hint = f"did you mean {close[0]!r}?" if close else "define it, or put text into quotes"
    if "-" in name:
        hint += " (A - that takes texts away needs spaces around it.)"
    raise source.error(offset, f"rule {name!r} is not defined; {hint}")


class _Body:
    """Parses the body of a rule."""

    def __init__(self, source: Source, offsets: dict[str, int], rules: Rules, name: str) -> None:
        self._source = source
        self._offsets = offsets
        self._rules = rules
        self._name = name

    def parse(self, tokens: list[Token]) -> Expression:
        """The expression of a body's tokens."""
        source = self._source
        options: list[Expression] = []
        parts: list[Expression | int] = []  # an int is the offset of a -
        open_groups: list[tuple[list[Expression], list[Expression | int], int]] = []
        repeats = 0
        for kind, text, offset in tokens:
            stop_if_cancelled()
            if kind in _REPEATS:
                if not parts or isinstance(parts[-1], int):
                    raise source.error(offset, f"there is nothing before {text} to repeat; a {text} as text is '{text}'")
                repeats += 1
                if repeats > MAX_REPEATS:
                    raise source.limit(offset, f"more than {MAX_REPEATS} repetitions of each other, which is the limit; write one")
                parts[-1] = Repeat(parts[-1], *_REPEATS[kind])
                continue
            repeats = 0
            if kind == "|":
                options.append(self._row(parts))
                parts = []
            elif kind == "(":
                if len(open_groups) >= MAX_NESTING:
                    raise source.limit(
                        offset, f"groups are nested deeper than {MAX_NESTING}, which is the limit; name inner groups as rules"
                    )
                open_groups.append((options, parts, offset))
                options, parts = [], []
            elif kind == ")":
                if not open_groups:
                    raise source.error(offset, "this ) closes nothing; a parenthesis as text is ')'")
                group = _choice([*options, self._row(parts)])
                options, parts, _ = open_groups.pop()
                parts.append(group)
            elif kind == "-":
                if not parts or isinstance(parts[-1], int):
                    raise source.error(offset, "there is nothing before - to take texts from; a hyphen as text is '-'")
                parts.append(offset)
            else:
                parts.append(self._item(kind, text, offset))
        if open_groups:
            raise source.error(open_groups[-1][2], "this group has no closing )")
        return _choice([*options, self._row(parts)])

    def _row(self, parts: list[Expression | int]) -> Expression:
        """Parts behind each other, with the differences among them."""
        row: list[Expression] = []
        minus: int | None = None
        for part in parts:
            if isinstance(part, int):
                minus = part
            elif minus is None:
                row.append(part)
            else:
                row.append(self._rules.difference(row.pop(), part, minus))
                minus = None
        if minus is not None:
            raise self._source.error(minus, "there is nothing behind - to take away; a hyphen as text is '-'")
        if not row:
            return EMPTY
        return row[0] if len(row) == 1 else InRow(tuple(row))

    def _item(self, kind: str, text: str, offset: int) -> Expression:
        if kind == "name":
            _check_defined(text, offset, self._offsets, self._source)
            self._rules.use(self._name, text, offset)
            return Reference(text)
        if kind == "literal":
            return self._literal(text, offset)
        if kind == "char":
            return Literal(self._plain(text, offset, self._code_point(text[2:], offset)))
        if kind == "class":
            return self._class(text, offset)
        assert kind == "explicit"
        raise self._source.error(offset, "/* ws: explicit */ stands at the end of a rule")

    def _literal(self, text: str, offset: int) -> Expression:
        if escape := _ESCAPE.search(text):
            raise self._source.error(
                offset + escape.start(),
                f"there are no escapes in W3C's notation: a line break is #xA, a tab #x9; {escape[0]} as text is "
                f"'\\' '{escape[0][1]}'",
            )
        return Literal(text[1:-1])

    def _class(self, text: str, offset: int) -> Expression:
        source = self._source
        if _LINK.match(text):
            raise source.error(offset, "this is a link to another specification, which psc does not read; write that rule here")
        if escape := _CLASS_ESCAPE.search(text):
            raise source.error(
                offset + escape.start(),
                f"there are no escapes in W3C's notation: a line break is #xA; a backslash before {escape[0][1]} is #x5C",
            )
        negated = text.startswith("[^")
        first = 2 if negated else 1
        units = list(_UNIT.finditer(text, first, len(text) - 1))
        if not units:
            raise source.error(offset, "this class is empty; any character is [#x0-#x10FFFF], and no text ()")
        ranges = []
        i = 0
        while i < len(units):
            low = high = self._unit(units[i], offset)
            # A dash between two characters makes a range; elsewhere it is itself.
            if i + 2 < len(units) and units[i + 1].group() == "-":
                high = self._unit(units[i + 2], offset)
                if high < low:
                    written = text[units[i].start() : units[i + 2].end()]
                    at = offset + units[i].start()
                    raise source.error(at, f"the range {written} runs backwards; write the lower character first")
                i += 2
            ranges.append((low, high))
            i += 1
        found = all_but(ranges) if negated else without_surrogates(ranges)
        if not found:
            raise source.error(offset, "no character is in this class; surrogates (#xD800 to #xDFFF) are none")
        return Chars(found)

    def _unit(self, unit: re.Match[str], offset: int) -> int:
        return ord(unit[2]) if unit[2] is not None else self._code_point(unit[1], offset + unit.start())

    def _code_point(self, digits: str, offset: int) -> int:
        code = int(digits, 16) if len(digits.lstrip("0")) <= 6 else MAX_CODE_POINT + 1
        if code > MAX_CODE_POINT:
            raise self._source.error(offset, f"there is no character #x{digits[:20]}; the last one is #x10FFFF")
        return code

    def _plain(self, text: str, offset: int, code: int) -> str:
        if 0xD800 <= code <= 0xDFFF:
            raise self._source.error(offset, f"{text} is half of a surrogate pair, which is no character; write the character")
        return chr(code)


def _choice(options: list[Expression]) -> Expression:
    return options[0] if len(options) == 1 else Choice(tuple(options))
