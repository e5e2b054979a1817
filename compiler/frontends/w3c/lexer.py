"""Text in W3C's notation to tokens. Cost: one pass, about 0.3 us a token."""

from __future__ import annotations

import re
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.frontends.ebnf.lexer import Source, Token

_TOKEN: Final = re.compile(
    r"""
    (?P<explicit>/\*[ \t]*ws:[ \t]*explicit[ \t]*\*/)
    | (?P<space>[ \t\r\n\ufeff\xa0]+ | /\*.*?\*/ | \[[ \t]*(?i:wfc|vc|nsc)[ \t]*:[ \t][^\]]*\])
    | (?P<name>[^\W\d]\w*(?:[.-]\w+)*)
    | (?P<literal>"[^"\r\n]*"|'[^'\r\n]*')
    | (?P<class>\[[^\]\r\n]*\])
    | (?P<char>\#x[0-9A-Fa-f]+)
    | (?P<assign>::=)
    | (?P<directive>%[A-Za-z0-9]+)
    | (?P<punctuation>[()|*+?-])
    | (?P<unknown>.)
    """,
    re.X | re.S,
)
"""Kinds that :data:`psc.compiler.frontends.ebnf.lexer.Token` does not have: explicit, which says that a rule is a terminal; char, a
character by its number; and directive."""

_NUMBER: Final = re.compile(r"(?:^|(?<=[\r\n]))([ \t\xa0\ufeff]*)\[[0-9]+[A-Za-z]*\](?=[ \t\xa0]+[^\W\d][\w.-]*\s*::=)")
_REFUSED: Final = {
    '"': 'this literal has no closing " on its line; a line break is #xA',
    "'": "this literal has no closing ' on its line; a line break is #xA",
    "[": "this character class has no closing ] on its line; a line break in a class is #xA",
    "]": "there is no character class to close here; a bracket in a class is #x5D",
    "{": "W3C's notation has no {…}; write x x for {2}, and x* for a repetition",
    "}": "W3C's notation has no {…}; a brace as text is '}'",
    "<": "names of rules are written without < and >; a < as text is '<'",
    ".": "any character is [#x0-#x10FFFF] in W3C's notation; a period as text is '.'",
    "#": "a character is written #x and its number in hexadecimal digits, as in #x20; comments are /* … */",
    "/": "a comment begins with /* and ends with */; a slash as text is '/'",
    ":": "a rule is written name ::= …",
    "=": "a rule is written name ::= …",
    ";": "rules end where the next one begins, without a semicolon",
    ",": "parts stand behind each other without commas; a comma as text is ','",
    "%": "a directive is %ignore NAME or %w3c; a percent sign as text is '%'",
}


def without_numbers(text: str) -> str:
    """The text with blanks where the numbers of productions are."""
    return _NUMBER.sub(lambda match: " " * len(match.group()), text)


def tokens_of(source: Source) -> list[Token]:
    """The tokens, without space, comments and notes. Raises GrammarError at the first character that is none."""
    text = source.text
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        stop_if_cancelled()
        kind, token, offset = str(match.lastgroup), match.group(), match.start()
        if kind == "space":
            continue
        if kind == "unknown":
            if text.startswith("/*", offset):
                raise source.error(offset, "this comment has no closing */")
            raise source.error(offset, _REFUSED.get(token) or f"{token!r} means nothing here; put text into quotes")
        tokens.append((token if kind == "punctuation" else kind, token, offset))
    return tokens
