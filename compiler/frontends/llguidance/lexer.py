"""Text of the dialect to tokens.

One regular expression with an alternative for each kind; the last alternatives are what no grammar has, so that the first of them
found is the error. The value behind `%json`, `%regex` and the options is JSON, which is read as such: a brace inside one of its
strings is none of ours. Cost: one pass, about 0.5 us a token.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from psc._core import stop_if_cancelled
from psc.compiler.frontends.llguidance.source import Source


class Token(NamedTuple):
    """Its kind, its text, and its offset in the grammar text."""

    kind: str
    text: str
    at: int


JSON_DIRECTIVES: Final = ("%json", "%regex", "%llguidance", "%grammar_options")
"""Directives with a JSON value, which is a token of its own behind them (kind ``value``)."""

TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\f\ufeff]+ | (?:\#|//)[^\n]*)
    | (?P<newline>\n)
    | (?P<string>"(?:\\[^\n]|[^"\\\n])*"i?)
    | (?P<regex>/(?:\\.|[^/\\])+/[A-Za-z]*)
    | (?P<rule>!?[_?]?[a-z](?:[_a-z0-9]|-(?!>))*)
    | (?P<terminal>_?[A-Z](?:[_A-Z0-9]|-(?!>))*)
    | (?P<number>[+-]?[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    | (?P<special><[^<>\s]+>)
    | (?P<grammar>@[A-Za-z0-9_-]+)
    | (?P<directive>%[a-z_]+)
    | (?P<punctuation>->|::|\.\.|[:=,.|&~(){}\[\]*+?])
    | (?P<unknown>.)
    """,
    re.X | re.S,
)

_REFUSED: Final = {
    '"': 'unterminated string literal; a string ends on its line, write a line break in it as "\\n"',
    "/": "unterminated regular expression; write a slash in it as \\/",
    "@": "empty grammar reference; write @name",
    "'": 'unexpected character "\'"; strings are written in double quotes',
    "-": "unexpected '-' character; an alias is written ->",
    "!": "unexpected '!' character; it may stand before the name of a rule only",
}


def tokens_of(source: Source) -> list[Token]:
    """The tokens, without space and comments; ends with one of kind ``end``.

    Raises:
        GrammarError: something is no token; the message has the place.
    """
    text = source.text
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        stop_if_cancelled()
        match = TOKEN.match(text, at)
        assert match is not None
        kind, found = str(match.lastgroup), match.group()
        if kind == "unknown":
            raise source.error(at, _refusal(text, at))
        if kind != "space":
            tokens.append(Token(found if kind in ("punctuation", "directive") else kind, found, at))
        at = match.end()
        if found in JSON_DIRECTIVES:
            begin, at = _json_value(source, found, at)
            tokens.append(Token("value", text[begin:at], begin))
    tokens.append(Token("end", "", len(text)))
    return tokens


def _refusal(text: str, at: int) -> str:
    c = text[at]
    if c == "_" and text.endswith("::", 0, at):
        return "parametric grammar is not supported (name::value); write the rules out"
    if c == "<":
        line = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
        if ">" in line:
            return "invalid special token; a token's name has no white space and no angle brackets inside, as in <|tool|>"
        return "unterminated special token; write <name> or <[id]>"
    return _REFUSED.get(c) or f"unexpected character {c!r}; put text into double quotes"


def _json_value(source: Source, directive: str, at: int) -> tuple[int, int]:
    """Where the JSON value behind a directive begins and ends."""
    text = source.text
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    try:
        _, end = json.JSONDecoder().raw_decode(text, at)
    except json.JSONDecodeError as e:
        raise source.error(min(e.pos, len(text)), f"failed to parse JSON value after {directive}: {e.msg}") from None
    except (RecursionError, ValueError):
        raise source.limit(at, f"the JSON value after {directive} is nested too deep, or has too long a number") from None
    return at, end
