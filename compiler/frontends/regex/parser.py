"""Regular expressions, as Python's `re` and ECMA-262 have them in common, to expressions.

A regex describes a whole text, as with `re.fullmatch`. Read are: characters and their escapes, `.`, classes, shorthands and
`\\p{...}`, groups of all kinds (they capture nothing), `|`, quantifiers with their lazy forms (which text matches as a whole does
not depend on greed), `^ $ \\A \\Z` where they are exact (see `pieces`), comments, and the flags `i s x m a u`, at the start or for
a group.
Refused by name is what needs more than an automaton, or has no meaning for whole texts: lookaround, word boundaries,
backreferences, conditional, atomic and recursive groups, possessive quantifiers.

Case is ignored as in `re`, in both dialects: k, K and the Kelvin sign are one letter. What else differs between the dialects is in
`classes`.

Cost: a few microseconds a character, without recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import Expression, RuleSet
from psc.compiler.frontends.regex.classes import Dialect, any_character, bracketed, escaped_character, ignoring_case, shorthand
from psc.compiler.frontends.regex.pieces import (
    EMPTY_TEXT,
    Piece,
    characters,
    choice,
    end_anchor,
    literal,
    plain,
    repeat,
    sequence,
    start_anchor,
)
from psc.compiler.frontends.regex.source import Source
from psc.compiler.terminals.regex.codepoints import Bounds, from_ranges
from psc.compiler.terminals.regex.expression import chars
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_TEXT: Final = limit("regex_characters")
"""Characters of a regex."""
MAX_NESTING: Final = limit("regex_groups")
"""Groups inside each other; what reads the expression may do so recursively."""
MAX_COUNT: Final = limit("regex_count")
"""The largest count of a repetition."""

_LONGEST_SHOWN: Final = 60

_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII, "u": re.UNICODE}
_FLAG_GROUP: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_NAMED_GROUP: Final = re.compile(r"\(\?P?<(?![=!])")
_COUNTS: Final = re.compile(r"\{(\d*)(?:(,)(\d*))?\}", re.ASCII)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_SPACE: Final = " \t\n\r\f\v"
_CONSECUTIVE: Final = "Two consecutive repetition modifiers are not allowed. "
_REFUSED_GROUPS: Final = (
    ("(?=", "Lookahead assertion", "write out what may follow"),
    (
        "(?!",
        "Negative lookahead assertion",
        "write the texts that are meant, such as a class without the first characters excluded",
    ),
    ("(?<=", "Lookbehind assertion", "write out what must come before"),
    ("(?<!", "Negative lookbehind assertion", "write out what may come before"),
    ("(?>", "an atomic group", "write (?:...)"),
    ("(?(", "a conditional group", "write both cases as alternatives"),
    ("(?P=", "Backreference", "write what the group matches once more"),
    ("(?P>", "a recursive group", "use a grammar"),
    ("(?&", "a recursive group", "use a grammar"),
    ("(?R", "a recursive group", "use a grammar"),
    ("(?|", "a branch reset group", "write (?:...)"),
)


def regex_expression(pattern: str, *, source_name: str = "<regex>", dialect: Dialect = "ecma") -> Expression:
    """Reads a regex.

    Args:
        pattern: the regex, without delimiters.
        source_name: a label for messages.
        dialect: what shorthands and `.` stand for, see :mod:`~psc.compiler.frontends.regex.classes`.

    Returns:
        An expression without references for the texts that the whole regex matches.

    Raises:
        GrammarError: the pattern is malformed, has something that is refused, is nested too deep, or matches no text at all; the
            message has line and column.
    """
    if len(pattern) > MAX_TEXT:
        raise ResourceLimitError(f"{source_name}: the regex has {len(pattern):,} characters; the limit is {MAX_TEXT:,}")
    return _Parser(Source(pattern, source_name), dialect).parse()


def regex_rule_set(pattern: str, *, source_name: str = "<regex>", dialect: Dialect = "ecma") -> RuleSet:
    """The same as a grammar of one rule, ``root``."""
    expression = regex_expression(pattern, source_name=source_name, dialect=dialect)
    return RuleSet({"root": expression}, "root", pattern, source_name, {"root": 1}, "regex")


@dataclass
class _Group:
    """A group that is being read: finished alternatives, and the items of the current one."""

    opened: int
    flags: int
    options: list[Piece] = field(default_factory=list)
    items: list[Piece] = field(default_factory=list)
    repeatable: bool = False
    """Whether the last item may take a quantifier."""

    def add(self, piece: Piece, *, repeatable: bool = True) -> None:
        self.items.append(piece)
        self.repeatable = repeatable

    def end_option(self) -> None:
        self.options.append(sequence(self.items) if self.items else plain(EMPTY_TEXT))
        self.items = []
        self.repeatable = False


class _Parser:
    def __init__(self, source: Source, dialect: Dialect) -> None:
        self.source = source
        self.dialect: Dialect = dialect
        self.groups = [_Group(-1, 0)]
        self._empty_class: int | None = None
        """Where the first class without characters is."""
        self._flags_end = 0  # of the flags that the pattern starts with

    def parse(self) -> Expression:
        source = self.source
        while not source.at_end:
            stop_if_cancelled()
            self._item()
        if len(self.groups) > 1:
            raise source.error(self.groups[-1].opened, "The parenthesis is not closed; write \\( for the character itself")
        self.groups[0].end_option()
        whole = choice(self.groups[0].options)
        found = whole.variants[3]
        if found is None:
            raise self._unclear_anchor(whole.anchor or 0)
        if not (found.empty or found.nonempty):
            if self._empty_class is not None:
                problem = "Empty character class is not allowed in regex: with it, the regex matches no text at all"
                raise source.error(self._empty_class, problem)
            raise source.error(0, "the regex matches no text at all")
        return found.expression

    def _unclear_anchor(self, at: int) -> GrammarError:
        text = self.source.text
        anchor = text[at : at + (2 if text[at] == "\\" else 1)]
        edge = "start" if anchor in ("^", "\\A") else "end"
        return self.source.error(
            at,
            f"{anchor} is neither always nor never at the {edge} of the text here; a regex describes the whole text, so leave it "
            "out, or split the regex into alternatives",
        )

    def _item(self) -> None:
        source, group = self.source, self.groups[-1]
        at = source.at
        c = source.next()
        if group.flags & re.VERBOSE and c in _SPACE:
            return
        if c == "#" and group.flags & re.VERBOSE:
            end = source.text.find("\n", at)
            source.at = len(source.text) if end < 0 else end + 1
        elif c == "|":
            group.end_option()
        elif c == "(":
            self._open(at)
        elif c == ")":
            if len(self.groups) == 1:
                raise source.error(at, "Unmatched ')', which closes no group; write \\) for the character itself")
            group.end_option()
            self.groups.pop()
            self.groups[-1].add(choice(group.options))
        elif c == "[":
            members = bracketed(source, self.dialect, group.flags)
            if not members.size and self._empty_class is None:
                self._empty_class = at
            group.add(self._set(members))
        elif c == ".":
            group.add(self._set(any_character(self.dialect, group.flags)))
        elif c == "^":
            group.add(start_anchor(at, multiline=bool(group.flags & re.MULTILINE)), repeatable=False)
        elif c == "$":
            before_newline = self.dialect == "python" or bool(group.flags & re.MULTILINE)
            group.add(end_anchor(at, before_newline=before_newline), repeatable=False)
        elif c in "*+?" or (c == "{" and _counts(source.text, at, self.dialect)):
            self._quantify(at)
        elif c == "\\":
            self._escape(at)
        else:
            self._character(ord(c))

    def _character(self, point: int) -> None:
        group = self.groups[-1]
        if 0xD800 <= point < 0xE000:
            raise self.source.error(self.source.at - 1, f"U+{point:04X} is half of a surrogate pair, which is no character")
        if group.flags & re.IGNORECASE:
            group.add(self._set(ignoring_case(from_ranges([(point, point)]), group.flags, self.dialect)))
        else:
            group.add(literal(chr(point)))

    def _set(self, bounds: Bounds) -> Piece:
        return characters(chars(bounds))

    def _escape(self, at: int) -> None:
        source, group = self.source, self.groups[-1]
        found = shorthand(source, self.dialect, group.flags)
        if found is not None:
            group.add(self._set(found))
        elif source.take("A"):
            group.add(start_anchor(at, multiline=False), repeatable=False)
        elif source.take("Z") or source.take("z"):
            group.add(end_anchor(at, before_newline=False), repeatable=False)
        elif self.dialect == "rust" and source.peek() in ("<", ">"):
            raise source.error(
                at, f"Word boundary assertion \\{source.peek()} is not supported; write {source.peek()} for the character"
            )
        elif source.peek() in ("b", "B"):
            raise source.error(
                at,
                f"Word boundary assertion \\{source.peek()} is not supported; write out what may stand beside it"
                f"{self._elsewhere('(?=')}",
            )
        elif source.peek() == "k":
            raise source.error(at, "Backreference \\k is not supported; write what the group matches once more")
        else:
            self._character(escaped_character(source, self.dialect))

    def _elsewhere(self, start: str) -> str:
        """Where psc reads a group that is refused here."""
        if self.dialect != "ecma" or not start.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            return ""
        schema = "" if "<" in start else ", or in a JSON schema's pattern"
        return f", or use it in a terminal of a Lark grammar, such as start: /…/{schema}"

    def _quantify(self, at: int) -> None:
        source, group = self.source, self.groups[-1]
        least, most = self._read_counts(at)
        if not group.repeatable:
            quantifier, itself = source.text[at : source.at], f"or write \\{source.text[at]} for the character itself"
            if not group.items:
                raise source.error(at, f"{quantifier} has nothing before it to repeat, {itself}")
            raise source.error(
                at,
                f"{_CONSECUTIVE if source.text[at - 1] in '*+?}' else ''}{quantifier} follows a quantifier or an anchor; "
                f"put that into a group, {itself}",
            )
        if source.peek() == "+":
            problem = f"a possessive quantifier ({source.text[at : source.at]}+) is not supported; drop the last +"
            raise source.error(at, _CONSECUTIVE + problem)
        source.take("?")
        group.items[-1] = repeat(group.items[-1], least, most)
        group.repeatable = False

    def _read_counts(self, at: int) -> tuple[int, int | None]:
        source = self.source
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(source.text[at])
        if simple is not None:
            return simple
        match = _counts(source.text, at, self.dialect)
        assert match is not None
        source.at = match.end()
        low, comma, high = match.groups()
        for digits in (low, high or ""):
            if len(digits.lstrip("0")) > 7 or int(digits or 0) > MAX_COUNT:
                raise source.limit(
                    at, f"{_shortened(match.group())} has a count above {MAX_COUNT:,}, which is the limit; leave the end open"
                )
        if not low and high and self.dialect == "ecma":
            both = f"{match.group()} means {{0,{high}}} to Python, and its own characters to ECMA-262 and a schema's pattern"
            raise source.error(at, f"{both}; write {{0,{high}}}, or \\{match.group()} for the characters")
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise source.error(at, f"{match.group()} asks for at least {least} and at most {most}; swap the counts")
        return least, most

    def _open(self, at: int) -> None:
        source, flags = self.source, self.groups[-1].flags
        if source.take("?#"):
            end = source.text.find(")", at)
            if end < 0:
                raise source.error(at, "the comment (?# is not closed")
            source.at = end + 1
            return
        if (named := _NAMED_GROUP.match(source.text, at)) is not None:
            source.at = named.end()
            name = _NAME.match(source.text, source.at)
            if name is None or source.text[name.end() : name.end() + 1] != ">":
                raise source.error(at, "a group's name is a word in angle brackets, as in (?<year>...)")
            source.at = name.end() + 1
        elif source.peek() == "?":
            new_flags = self._flags(at, flags)
            if new_flags is None:
                return
            flags = new_flags
        if len(self.groups) > MAX_NESTING:
            raise source.limit(at, f"more than {MAX_NESTING} groups inside each other, which is the limit")
        self.groups.append(_Group(at, flags))

    def _flags(self, at: int, flags: int) -> int | None:
        """Reads `(?flags:` and returns the flags inside, or `(?flags)`, which must come first, and changes those of the whole."""
        source = self.source
        for start, name, way_out in _REFUSED_GROUPS:
            if source.text.startswith(start, at):
                raise source.error(at, f"{name} {start}...) is not supported; {way_out}{self._elsewhere(start)}")
        match = _FLAG_GROUP.match(source.text, at)
        if match is None:
            raise source.error(at, f"unknown group {source.text[at : at + 4]}; write (...), (?:...) or (?<name>...)")
        on, off, end = match.groups()
        known = {"python": "".join(_FLAGS), "ecma": "imsx", "rust": "imsxu"}[self.dialect]
        for letter in on + (off or ""):
            if letter not in known:
                raise source.error(at, f"unknown flag {letter!r} in {match.group()}; there are {', '.join(known)}")
        if "a" in on and "u" in on:
            raise source.error(at, f"the flags a and u in {match.group()} exclude each other")
        source.at = match.end()
        if set(on) & set("au"):
            flags &= ~(re.ASCII | re.UNICODE)
        for letter in on:
            flags |= _FLAGS[letter]
        for letter in off or "":
            if letter in "au":
                raise source.error(at, f"the flag {letter!r} cannot be turned off, as in {match.group()}")
            flags &= ~_FLAGS[letter]
        if end == ":":
            return flags
        if at != self._flags_end or off is not None or not on:
            group = f"{match.group()[:-1]}:...)"
            raise source.error(at, f"{match.group()} is possible at the start only; write {group} around what it is for")
        self.groups[-1].flags = flags
        self._flags_end = source.at
        return None


def _shortened(written: str) -> str:
    return written if len(written) <= _LONGEST_SHOWN else f"{written[:_LONGEST_SHOWN]}…"


def _counts(text: str, at: int, dialect: Dialect) -> re.Match[str] | None:
    """`{m}`, `{m,}`, `{,n}` or `{m,n}`, and `{,}` in Python's regexes; any other brace is a character."""
    match = _COUNTS.match(text, at)
    if match is None or match.group(1) or match.group(3) or (dialect == "python" and match.group(2)):
        return match
    return None
