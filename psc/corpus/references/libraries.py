"""Parsers that are called in this process: those of Python, and those that packages bring."""

from __future__ import annotations

import ast
import json
import logging
import platform
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module, metadata
from typing import Any

from psc.corpus.references.reference import Refusal
from psc.errors import ReferenceMissingError

Judge = Callable[[str], Refusal | None]


class Library:
    """A parser that is a function of one text."""

    def __init__(self, version: str, judge: Judge) -> None:
        self._version, self._judge = version, judge

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._judge(text) for text in texts]

    def close(self) -> None:
        pass


def module_of(name: str, package: str) -> Any:
    """A module of an optional package, needed for this reference only.

    Raises:
        ReferenceMissingError: it is not.
    """
    try:
        return import_module(name)
    except ImportError as e:
        raise ReferenceMissingError(f"pip install {package}") from e


def python_ast() -> Library:
    """The parser of this Python. It accepts texts that the compiler refuses after parsing (`return` outside a function)."""

    def judge(text: str) -> Refusal | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except SyntaxError as e:
            return Refusal(e.msg, e.lineno or 0, e.offset or 0)
        except (ValueError, RecursionError, MemoryError) as e:
            return Refusal(str(e) or type(e).__name__)
        return None

    return Library(f"ast of Python {platform.python_version()}", judge)


def python_json() -> Library:
    """Python's `json`, without the constants and lone surrogates that RFC 8259 does not have."""

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is no JSON")

    def judge(text: str) -> Refusal | None:
        try:
            json.loads(text, parse_constant=refuse)
        except json.JSONDecodeError as e:
            return Refusal(e.msg, e.lineno, e.colno)
        except (ValueError, RecursionError) as e:
            return Refusal(str(e))
        return None

    return Library(f"json of Python {platform.python_version()}", judge)


def postgresql() -> Library:
    """PostgreSQL's parser, in the package pglast."""
    parser = module_of("pglast.parser", "pglast")

    def judge(text: str) -> Refusal | None:
        try:
            parser.parse_sql(text)
        except parser.ParseError as e:
            return Refusal(str(e.args[0]))
        return None

    version = ".".join(map(str, parser.get_postgresql_version()))
    return Library(f"PostgreSQL {version} in pglast {metadata.version('pglast')}", judge)


def sqlglot() -> Library:
    """sqlglot's reader of MySQL. It is looser than MySQL; a statement that it only passes on is refused."""
    library = module_of("sqlglot", "sqlglot")

    def judge(text: str) -> Refusal | None:
        try:
            statements = library.parse(text, dialect="mysql")
        except library.errors.ParseError as e:
            first = e.errors[0] if e.errors else {}
            return Refusal(first.get("description") or str(e), first.get("line") or 0, first.get("col") or 0)
        except (library.errors.SqlglotError, RecursionError) as e:
            return Refusal(str(e) or type(e).__name__)
        if any(isinstance(statement, library.exp.Command) for statement in statements):
            return Refusal("sqlglot reads the first word of a statement only")
        return None

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return Library(f"sqlglot {library.__version__}", judge)


_SYNTAX = ("syntax error", "incomplete input", "unrecognized token")


_NEVER_GOES_ON = "\n)))"
_EXPLAINS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)


def sqlite() -> Library:
    """SQLite's parser in this Python. Statements are prepared and never run; a missing table is no error of syntax.

    SQLite stops at the first error of any kind. Where that is not of syntax and comes before the statement's end, such as an
    unknown database in CREATE TABLE, the text is not judged.
    """
    forbids = sqlite3.connect(":memory:")
    forbids.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
    explains = sqlite3.connect(":memory:")
    acts = sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_ATTACH  # while they are prepared
    explains.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in acts else sqlite3.SQLITE_OK)

    def complaint(connection: sqlite3.Connection, statement: str) -> str | None:
        try:
            connection.execute(statement)
        except (sqlite3.Error, sqlite3.Warning) as e:
            return str(e)
        return None

    def judge(text: str) -> Refusal | None:
        for statement in _statements(text):
            error = complaint(forbids, statement)
            if error is None:  # nothing but comments
                continue
            if not any(words in error for words in _SYNTAX):  # it may have been forbidden before all of it was read
                explained = statement if _EXPLAINS.match(statement) else f"EXPLAIN {statement}"
                error = complaint(explains, explained)
            if error is not None and any(words in error for words in _SYNTAX):
                return Refusal(error)
            if error is not None:  # the rest is not judged, unless all of it was read
                further = complaint(explains, explained.rstrip().removesuffix(";") + _NEVER_GOES_ON)
                if further is not None and not any(words in further for words in _SYNTAX):
                    return Refusal(error, judged=False)
        return None

    return Library(f"SQLite {sqlite3.sqlite_version}", judge)


def _statements(text: str) -> Iterator[str]:
    """The statements of a script, each to its semicolon; the last as it is."""
    statement = ""
    for piece in text.replace(";", ";\0").split("\0"):
        statement += piece
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
