"""EBNF text to tokens.

One regular expression with an alternative for each kind; the last alternatives are what no grammar has, so that the first of them
found is the error. Cost: one pass, about 0.3 us a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from psc._core import stop_if_cancelled
from psc.errors import GrammarError, ResourceLimitError

Token = tuple[str, str, int]
"""Its kind, its text, and its offset in the grammar text. Kinds: name, options (of a rule), assign, literal, token, class, repeat,
``(=`` and one for each of the characters ``( ) | * + ? .``, which is its own kind; and unknown for what only arguments of macros
have."""

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\ufeff]+ | \#[^\r\n]*)
    | (?P<name>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)
    | (?P<literal>"(?:[^"\\\r\n]|\\[^\r\n])*")
    | (?P<token>!?<(?:\[[^\]\r\n]*\]|[^\s<>\[][^<>\r\n]*)>)
    | (?P<options>(?<=[A-Za-z0-9_-])\[(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|[^\]"\r\n])*\](?=[ \t]*::=))
    | (?P<class>\[(?:[^\]\\\r\n]|\\[^\r\n])*\])
    | (?P<assign>::=)
    | (?P<lookahead>\(=)
    | (?P<repeat>\{\s*[0-9]+\s*(?:,\s*(?:[0-9]+|-1)?\s*)?\})
    | (?P<punctuation>[()|*+?.])
    | (?P<unknown>.)
    """,
    re.X | re.S,
)

_REFUSED = {
    '"': 'this literal has no closing " on its line; write a line break in a literal as \\n',
    "[": "this character class has no closing ] on its line; write a line break in a class as \\n",
    "'": 'literals are written in double quotes: "…"',
    "{": "a repetition is written {3}, {3,} or {3,5}; for at most 5 write {0,5}",
    "}": "there is no repetition to close here; a repetition is written {3}, {3,} or {3,5}",
    "]": 'there is no character class to close here; a bracket as text is "]"',
    "<": "a token of the vocabulary is written <[id]> or <name>, with a > at its end",
    "!": "! stands before a token, as in !<[id]> or !<name>; for any other character write a class, such as [^a]",
    ":": "a rule is written name ::= …",
    "=": "a rule is written name ::= …",
    ";": "rules end with their line, without a semicolon",
    "/": 'comments begin with #; a slash as text is "/"',
}

_MACROS_OF_TOKENS: Final = frozenset(("Token", "ExcludeToken", "TokenTagDispatch"))
_LARK_RULE: Final = re.compile(r"[ \t]*[?!]*\w+(?:\.\d+)?[ \t]*:(?!:?=)")
_IN_MACROS = ",="  # refused by the parser, which knows whether it is the macro that is to be refused


def refusal_of(token: str) -> str:
    """Why a character that begins no token is refused, and what to write."""
    return _REFUSED.get(token) or f"{token!r} means nothing here; put text into double quotes"


class Source:
    """The text and its name; says where an offset is, for messages: ``name:line:column``, both counted from 1 in characters."""

    def __init__(self, text: str, source_name: str) -> None:
        self.text = text
        self.source_name = source_name

    def line(self, offset: int) -> int:
        """The line of an offset; lines end with LF, CR or both."""
        return len(re.findall(r"\r\n?|\n", self.text[:offset])) + 1

    def lines(self, offsets: Mapping[str, int]) -> dict[str, int]:
        """The lines of offsets that ascend, by name."""
        line, at, lines = 1, 0, {}
        for name, offset in offsets.items():
            line += self.text.count("\n", at, offset)
            lines[name], at = line, offset
        return lines

    def begins_line(self, offset: int) -> bool:
        """Whether only blanks stand before ``offset`` on its line."""
        start = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1
        return not self.text[start:offset].strip(" \t\xa0\ufeff")

    def error(self, offset: int, message: str) -> GrammarError:
        """The error to raise about what stands at ``offset``."""
        return GrammarError.at(self.source_name, message, line=self.line(offset), column=self._column(offset))

    def limit(self, offset: int, message: str) -> ResourceLimitError:
        """The error to raise where what stands at ``offset`` passes a limit."""
        return ResourceLimitError.at(self.source_name, message, line=self.line(offset), column=self._column(offset))

    def _column(self, offset: int) -> int:
        return offset - max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset))


def names_tokens(text: str) -> bool:
    """Whether a text, malformed or not, has ``<…>`` outside of literals and classes, or a macro that is about tokens."""
    before = ""
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "token" or (before in _MACROS_OF_TOKENS and token[0] == "("):
            return True
        if kind != "space":
            before = token
    return False


def first_refused(text: str) -> int:
    """The offset of the first character that begins no token; the text's length, where each does."""
    return next((m.start() for m in _TOKEN.finditer(text) if m.lastgroup == "unknown" and m.group() not in _IN_MACROS), len(text))


def _other_language(text: str, at: int) -> str | None:
    """What a text is that is no EBNF from its beginning on; None where it may be some."""
    if not text[:at].strip(" \t\r\n\ufeff") and text[at] in "{[":
        return "the text looks like JSON, not EBNF: compile_json_schema and .json files take a schema"
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    if text[at] == ":" and "::=" not in text and _LARK_RULE.match(line):
        return "a rule is written name ::= … here; name: … is Lark's language, which compile_lark and .lark files take"
    return None


def tokens_of(text: str, source: Source) -> list[Token]:
    """The tokens, without space and comments. Raises :class:`GrammarError` at the first character that is none."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        stop_if_cancelled()
        kind = match.lastgroup
        if kind == "space":
            continue
        token = match.group()
        if kind == "unknown" and token not in _IN_MACROS:
            raise source.error(match.start(), _other_language(text, match.start()) or refusal_of(token))
        if kind == "options" and (not tokens or tokens[-1][0] != "name"):
            kind = "class"
        tokens.append((token if kind in ("punctuation", "lookahead") else str(kind), token, match.start()))
    return tokens
