"""Text in ISO's notation to tokens. Cost: one pass, about 0.3 us a token."""

from __future__ import annotations

import re
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.frontends.ebnf.lexer import Source, Token

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\ufeff\xa0]+)
    | (?P<comment>\(\*)
    | (?P<name>[^\W\d]\w*(?:[ \t\r\n]+\w+)*)
    | (?P<literal>"[^"\r\n]*"|'[^'\r\n]*')
    | (?P<special>\?[^?\r\n]*\?)
    | (?P<number>[0-9]+)
    | (?P<directive>%[^\r\n]*)
    | (?P<punctuation>\(/|/\)|\(:|:\)|[()\[\]{}|/!,;.=*-])
    | (?P<unknown>.)
    """,
    re.X | re.S,
)
"""Kinds that :data:`psc.compiler.frontends.ebnf.lexer.Token` does not have: special, number and directive, which is its line."""
_COMMENT: Final = re.compile(r"\(\*|\*\)")
_SAME: Final = {"(/": "[", "/)": "]", "(:": "{", ":)": "}", "/": "|", "!": "|", ".": ";"}
"""Other spellings of what is written so."""
_REFUSED: Final = {
    '"': 'this literal has no closing " on its line; a line break is ? #xA ?',
    "'": "this literal has no closing ' on its line; a line break is ? #xA ?",
    "?": "a special sequence is written ? … ? on one line; for what may be left out write [ … ]",
    "+": "one or more times is written x, { x }, or { x }-; a plus sign as text is '+'",
    ":": "a rule is written name = …; in this notation there is no : or ::=",
    "<": "names of rules are written without < and >; a < as text is '<'",
}


def tokens_of(source: Source) -> list[Token]:
    """The tokens, without space and comments. Raises GrammarError at the first character that is none."""
    text = source.text
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        stop_if_cancelled()
        match = _TOKEN.match(text, at)
        assert match is not None  # as any character is one
        kind, token, offset = str(match.lastgroup), match.group(), at
        at = match.end()
        if kind == "comment":
            end = end_of_comment(text, offset)
            if end is None:
                raise source.error(offset, "this comment has no closing *)")
            at = end
        elif kind == "unknown":
            raise source.error(offset, _REFUSED.get(token) or f"{token!r} means nothing here; put text into quotes")
        elif kind == "name":
            tokens.append((kind, " ".join(token.split()), offset))
        elif kind != "space":
            tokens.append((_SAME.get(token, token) if kind == "punctuation" else kind, token, offset))
    return tokens


def end_of_comment(text: str, offset: int) -> int | None:
    """Behind a comment, in which others may stand; None where it does not end."""
    depth = 0
    for match in _COMMENT.finditer(text, offset):
        depth += 1 if match.group() == "(*" else -1
        if depth == 0:
            return match.end()
    return None
