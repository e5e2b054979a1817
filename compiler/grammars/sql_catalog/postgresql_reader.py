"""The catalogue of a PostgreSQL database: its own list of columns as CSV, or CREATE TABLE statements such as those of pg_dump.

The list, which `LISTING` prints, is what the database says itself, views included. Of DDL psc reads CREATE TABLE with columns,
and views that list theirs. What gives a table columns in another way is an error that names the list.
"""

from __future__ import annotations

import csv
import io
import re
from typing import NamedTuple

from psc.compiler.grammars.sql_catalog.catalogue import Column, Table
from psc.errors import GrammarError

LISTING = (
    'psql --csv -c "SELECT table_name, column_name FROM information_schema.columns '
    "WHERE table_schema = 'public' ORDER BY 1, ordinal_position\""
)
_LEXEME = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>(?:\b[eE])?'(?:[^']|'')*')|(?P<dollar>\$(\w*)\$.*?\$\4\$)|"(?P<quoted>(?:[^"]|"")+)"
    |(?P<word>[^\W\d][\w$]*)|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_OF_NO_COLUMN = {"constraint", "primary", "unique", "check", "foreign", "exclude"}
_ELSEWHERE = {"like", "inherits", "of", "as"}


class Lexeme(NamedTuple):
    """A word, a name in quotes, or a sign."""

    text: str
    """As it is folded, without quotes."""
    is_quoted: bool
    is_name: bool
    """Whether it may be one."""
    start: int

    @property
    def keyword(self) -> str:
        """The text, where it may be a keyword or a sign."""
        return "" if self.is_quoted else self.text


def tables_of_text(text: str, origin: str) -> list[Table]:
    """The tables of a listing or of DDL.

    Args:
        text: CSV with the columns `table_name` and `column_name`, or statements.
        origin: for messages.

    Raises:
        GrammarError: a statement gives columns in a way that psc does not read; the message has its line.
    """
    header = text.partition("\n")[0].lower()
    return _of_listing(text) if "table_name" in header and "column_name" in header else _of_ddl(text, origin)


def _of_listing(text: str) -> list[Table]:
    found: dict[str, list[Column]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        named = {(key or "").strip().lower(): value or "" for key, value in row.items()}
        found.setdefault(named["table_name"], []).append(Column(named["column_name"]))
    return [Table(name, tuple(columns)) for name, columns in found.items()]


def _of_ddl(text: str, origin: str) -> list[Table]:
    tables = []
    for statement in _statements(text):
        words = [each.keyword for each in statement]
        begins = [word for word in words[:4] if word not in ("global", "local", "temp", "temporary", "unlogged", "or", "replace")]

        def refused(what: str, of: list[Lexeme] = statement) -> GrammarError:
            line = text.count("\n", 0, of[0].start) + 1
            return GrammarError.at(origin, f"{what}; give PostgreSQL's own list of columns: {LISTING}", line=line)

        if begins[:1] == ["alter"] and begins[1:2] == ["table"] and _changes_columns(words):
            raise refused("ALTER TABLE changes columns, which psc does not follow")
        if begins[:1] != ["create"] or not {"table", "view"} & set(begins[1:3]):
            continue
        kind = "table" if "table" in begins[1:3] else "view"
        at = words.index(kind) + 1
        if words[at : at + 3] == ["if", "not", "exists"]:
            at += 3
        while words[at + 1 : at + 2] == ["."]:  # a schema
            at += 2
        if not statement[at : at + 1] or not statement[at].is_name:
            raise refused(f"CREATE {kind.upper()} has no name")
        name = statement[at].text
        items = _items(statement[at + 1 :])
        if not items or not all(items):
            raise refused(f"{kind} {name} does not list its columns")
        columns = []
        for item in items:
            if kind == "table" and _is_constraint(item):
                continue
            if not item[0].is_name or (kind == "table" and item[0].keyword in _ELSEWHERE):
                raise refused(f"table {name} has columns from elsewhere")
            columns.append(Column(item[0].text))
        if kind == "table" and "inherits" in words[at + 1 :]:
            raise refused(f"table {name} has columns from elsewhere")
        tables.append(Table(name, tuple(columns), kind == "table"))
    return tables


def _is_constraint(item: list[Lexeme]) -> bool:
    """Whether it is a constraint of the table. `exclude` is no reserved word."""
    word = item[0].keyword
    return word in _OF_NO_COLUMN and (word != "exclude" or item[1:2] == [] or item[1].keyword in ("using", "("))


def _changes_columns(words: list[str]) -> bool:
    pairs = list(zip(words, [*words[1:], ""], strict=True))
    added = any(a == "add" and b not in _OF_NO_COLUMN for a, b in pairs)
    return (
        added
        or any(a == "drop" and b not in ("constraint", "default", "not", "identity", "expression") for a, b in pairs)
        or ("rename" in words)
    )


def _statements(text: str) -> list[list[Lexeme]]:
    statements: list[list[Lexeme]] = [[]]
    for found in _LEXEME.finditer(text):
        kind = found.lastgroup
        if kind == "blank":
            continue
        if found[0] == ";":
            statements.append([])
        elif found["quoted"] is not None:
            statements[-1].append(Lexeme(found["quoted"].replace('""', '"'), True, True, found.start()))
        else:
            is_word = found["word"] is not None
            statements[-1].append(Lexeme(found[0].lower() if is_word else found[0], False, is_word, found.start()))
    return [statement for statement in statements if statement]


def _items(lexemes: list[Lexeme]) -> list[list[Lexeme]]:
    """What stands between commas in the parentheses that lexemes begin with."""
    if not lexemes or lexemes[0].keyword != "(":
        return []
    items: list[list[Lexeme]] = [[]]
    depth = 0
    for each in lexemes:
        opened = each.keyword in ("(", "[")
        depth += opened - (each.keyword in (")", "]"))
        if not depth:
            break
        if depth == 1 and each.keyword == ",":
            items.append([])
        elif not (opened and depth == 1):
            items[-1].append(each)
    return items
