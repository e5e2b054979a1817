r"""EBNF text in the plain part of the dialect, one rule to a line, as expressions and as context-free productions.

    root ::= "a" [b-d]+ (name | "") {2,3}     # comment

Literals know the escapes \n \t \r \\ \" \xHH \uHHHH \UHHHHHHHH, classes also \] \[ \- \^. An expression is a symbol, and
`productions_of` says in productions what it means; literals and classes are the terminals. Everything else that front
ends may take (macros, rule options, rules over several lines) is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .automaton import Unsupported


@dataclass(frozen=True)
class Literal:
    text: str


@dataclass(frozen=True)
class Chars:
    """One character in the ranges, or, if negated, one that is in none of them."""

    negated: bool
    ranges: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sequence:
    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Choice:
    options: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Repeat:
    body: "Expression"
    least: int
    most: int | None


@dataclass(frozen=True)
class Reference:
    rule: str


Expression = Literal | Chars | Sequence | Choice | Repeat | Reference

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<literal>"(?:\\.|[^"\\])*")
    | (?P<chars>\[(?:\\.|[^\]\\])*\])
    | (?P<name>[A-Za-z_][\w-]*)
    | \{(?P<least>\d+)(?P<range>,(?P<most>\d*))?\}
    | (?P<mark>[|()?*+])
    | (?P<end>$|\#.*)
    )""",
    re.X,
)
_CHARACTER = re.compile(r"\\(?:x(..)|u(.{4})|U(.{8})|(.))|([^\\])", re.S)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}
_MARKS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def read_ebnf(text: str) -> dict[str, Expression]:
    """The rules by name."""
    rules = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            name, defined, right = line.partition("::=")
            if not defined or name.strip() in rules:
                raise Unsupported(line)
            rules[name.strip()] = _Line(right).whole()
    return rules


class _Line:
    """Recursive descent over the right side of one rule."""

    def __init__(self, text: str) -> None:
        self._tokens: list[re.Match[str]] = []
        at = 0
        while not self._tokens or self._tokens[-1]["end"] is None:
            match = _TOKEN.match(text, at)
            if match is None:
                raise Unsupported(text[at:])
            self._tokens.append(match)
            at = match.end()
        self._at = 0

    def whole(self) -> Expression:
        expression = self._choice()
        if self._tokens[self._at]["end"] is None:
            raise Unsupported(self._tokens[self._at].string)
        return expression

    def _choice(self) -> Expression:
        options = [self._sequence()]
        while self._tokens[self._at]["mark"] == "|":
            self._at += 1
            options.append(self._sequence())
        return Choice(tuple(options)) if len(options) > 1 else options[0]

    def _sequence(self) -> Expression:
        parts = []
        while self._tokens[self._at]["end"] is None and self._tokens[self._at]["mark"] not in ("|", ")"):
            parts.append(self._repeat())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeat(self) -> Expression:
        expression = self._primary()
        while True:
            token = self._tokens[self._at]
            if token["least"]:
                least = int(token["least"])
                most = least if not token["range"] else int(token["most"]) if token["most"] else None
            elif token["mark"] in _MARKS:
                least, most = _MARKS[token["mark"]]
            else:
                return expression
            self._at += 1
            expression = Repeat(expression, least, most)

    def _primary(self) -> Expression:
        token = self._tokens[self._at]
        self._at += 1
        if token["literal"]:
            return Literal("".join(_characters(token["literal"][1:-1])[0]))
        if token["chars"]:
            return _chars(token["chars"][1:-1])
        if token["name"]:
            return Reference(token["name"])
        if token["mark"] == "(":
            inside = self._choice()
            if self._tokens[self._at]["mark"] == ")":
                self._at += 1
                return inside
        raise Unsupported(token.string)


def _characters(text: str) -> tuple[list[str], list[bool]]:
    """The characters that the text stands for, and for each whether it is escaped."""
    matches = list(_CHARACTER.finditer(text))
    if sum(len(m[0]) for m in matches) != len(text):
        raise Unsupported(text)
    code_points = [m[1] or m[2] or m[3] for m in matches]
    meant = [chr(int(c, 16)) if c else m[5] or _NAMED.get(m[4], m[4]) for c, m in zip(code_points, matches, strict=True)]
    return meant, [m[5] is None for m in matches]


def _chars(text: str) -> Chars:
    negated = text.startswith("^")
    characters, escaped = _characters(text[negated:])
    ranges, i = [], 0
    while i < len(characters):
        is_range = i + 2 < len(characters) and characters[i + 1] == "-" and not escaped[i + 1]
        ranges.append((characters[i], characters[i + 2] if is_range else characters[i]))
        i += 3 if is_range else 1
    return Chars(negated, tuple(ranges))


def productions_of(expression: Expression, rules: Mapping[str, Expression]) -> list[tuple[Expression, ...]]:
    """What the expression derives in one step; it must not be a terminal."""
    match expression:
        case Reference(rule):
            if rule not in rules:
                raise Unsupported(f"there is no rule {rule}")
            means = rules[rule]
            return [(means,)] if isinstance(means, Literal | Chars | Reference) else productions_of(means, rules)
        case Sequence(parts):
            return [parts]
        case Choice(options):
            return [option.parts if isinstance(option, Sequence) else (option,) for option in options]
        case Repeat(body, 0, None):
            return [(), (expression, body)]
        case Repeat(_, 0, 0):
            return [()]
        case Repeat(body, 0, int(most)):
            return [(), (body, Repeat(body, 0, most - 1))]
        case Repeat(body, int(least), most):
            if most is not None and most < least:
                raise Unsupported(f"{{{least},{most}}}")
            return [(body, Repeat(body, least - 1, None if most is None else most - 1))]
        case _:
            raise TypeError(expression)


def regex_of(terminal: Literal | Chars) -> str:
    """A literal or a class in the syntax of `re`."""
    if isinstance(terminal, Literal):
        return re.escape(terminal.text)
    inside = "".join(f"\\U{ord(low):08x}-\\U{ord(high):08x}" for low, high in terminal.ranges)
    return f"[{'^' if terminal.negated else ''}{inside}]"
