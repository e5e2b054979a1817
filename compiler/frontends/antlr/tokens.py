"""Text in ANTLR 4's language to tokens. An action in braces is one token, whatever language it is in.

Cost: one pass, about 0.5 us a token.
"""

from __future__ import annotations

import re
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.frontends.ebnf.lexer import Source, Token

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\f\ufeff\xa0]+ | //[^\r\n]* | /\*.*?\*/)
    | (?P<literal>'(?:[^'\\\r\n]|\\[^\r\n])*')
    | (?P<string>"(?:[^"\\\r\n]|\\[^\r\n])*")
    | (?P<class>\[(?:[^\]\\]|\\.)*\])
    | (?P<name>[^\W\d]\w*)
    | (?P<number>[0-9]+)
    | (?P<punctuation>->|=>|\.\.|\+=|::|[:;|()~*+?.,=<>\#@}])
    | (?P<brace>\{)
    | (?P<unknown>.)
    """,
    re.X | re.S,
)
"""The kind of punctuation is its text; action is the kind of a whole `{…}`."""

_IN_ACTION: Final = re.compile(r"""[{}]|//[^\r\n]*|/\*.*?\*/|"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'""", re.S)
_STRUCTURED: Final = ("options", "tokens", "channels")
"""The words behind which braces hold no action."""
_REFUSED: Final = {
    "'": "this literal has no closing ' on its line; a line break in a literal is \\n",
    '"': "this text has no closing \" on its line; a literal is written '…'",
    "[": "this [ has no closing ]; a bracket as text is '['",
    "]": "there is no set to close here; a bracket as text is ']'",
    "/": "a comment is written // … or /* … */; a slash as text is '/'",
}


def tokens_of(source: Source) -> list[Token]:
    """The tokens, without space and comments. Raises GrammarError at the first character that is none."""
    text = source.text
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        stop_if_cancelled()
        match = _TOKEN.match(text, at)
        assert match is not None
        kind, token, at = str(match.lastgroup), match.group(), match.end()
        offset = match.start()
        if kind == "space":
            continue
        if kind == "unknown":
            if text.startswith("/*", offset):
                raise source.error(offset, "this comment has no closing */")
            raise source.error(offset, _REFUSED.get(token) or f"{token!r} means nothing here; put text into quotes: '…'")
        if kind == "brace":
            if tokens and tokens[-1][1] in _STRUCTURED:
                tokens.append(("{", "{", offset))
                continue
            at = _end_of_action(source, offset)
            tokens.append(("action", text[offset:at], offset))
            continue
        tokens.append((token if kind == "punctuation" else kind, token, offset))
    return tokens


def _end_of_action(source: Source, offset: int) -> int:
    depth = 0
    for match in _IN_ACTION.finditer(source.text, offset):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if not depth:
            return match.end()
    raise source.error(offset, "this action has no closing }; a brace as text is '{'")
