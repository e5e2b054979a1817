"""The catalogue of a SQLite database, or of DDL, as SQLite itself reads it.

Of a text only CREATE, ALTER and DROP are run, in a database in memory that can neither attach files nor load extensions. A
statement that takes more than some seconds is an error: CREATE TABLE AS may have a query without end.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import quote

from psc.compiler.grammars.sql_catalog.catalogue import Column, Table
from psc.errors import GrammarError

_END = re.compile(
    r"""(?:[^;'"`\[/-]++|'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)|--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|[/-])*+(?:;|\Z)"""
)
"""Up to a semicolon that is in no quotes and no comment."""
_STEPS, _TIMES = 1_000_000, 100
"""Of SQLite's machine for a text: a second or two."""
_BLANK = re.compile(r"(?:\s+|--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|;)*")
_RUN = re.compile(r"(?i:create|alter|drop)\b")
_ROW_IDS = ("rowid", "oid", "_rowid_")
_HEADER = b"SQLite format 3\0"


def is_database(data: bytes) -> bool:
    """Whether a file's bytes are a SQLite database."""
    return data.startswith(_HEADER)


def tables_of_ddl(text: str, origin: str) -> list[Table]:
    """The tables and views that a text defines.

    Args:
        text: statements; those that define nothing are left out.
        origin: for messages.

    Raises:
        GrammarError: SQLite refuses a statement; the message has its line.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.set_authorizer(_without_files)
        times = count()
        database.set_progress_handler(lambda: next(times) >= _TIMES, _STEPS)
        for start, statement in _statements(text):
            if _RUN.match(statement):
                try:
                    database.execute(statement)
                except sqlite3.Error as e:
                    line = text.count("\n", 0, start) + 1
                    raise GrammarError.at(origin, f"SQLite refuses this statement: {e}", line=line) from e
        return _tables(database)


def tables_of_database(path: Path) -> list[Table]:
    """The tables and views of a database file, which is opened for reading. Raises GrammarError where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as database:
            return _tables(database)
    except sqlite3.Error as e:
        raise GrammarError(f"{path}: SQLite cannot read the database: {e}") from e


def _without_files(action: int, *_: object) -> int:
    refused = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)
    return sqlite3.SQLITE_DENY if action in refused else sqlite3.SQLITE_OK


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Statements with their beginnings; the last one may lack its semicolon."""
    start = end = _end_of_blanks(text, 0)
    while start < len(text):
        found = _END.match(text, end)
        assert found is not None
        end = found.end()
        statement = text[start:end]
        if end == len(text) or sqlite3.complete_statement(statement):
            yield start, statement
            start = end = _end_of_blanks(text, end)


def _end_of_blanks(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    assert found is not None
    return found.end()


def _tables(database: sqlite3.Connection) -> list[Table]:
    database.set_authorizer(None)
    tables = []
    kinds = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    for name, kind in database.execute(f"{kinds} ORDER BY rowid").fetchall():
        quoted = '"' + name.replace('"', '""') + '"'
        columns = [Column(row[1], row[6] == 0) for row in database.execute(f"PRAGMA table_xinfo({quoted})")]
        named = {column.name.lower() for column in columns}
        row_ids = [row_id for row_id in _ROW_IDS if row_id not in named]
        if row_ids and _is_column(database, quoted, row_ids[0]):  # SQLite takes any of them for the others
            columns += map(Column, row_ids)
        tables.append(Table(name, tuple(columns), kind == "table"))
    return tables


def _is_column(database: sqlite3.Connection, table: str, column: str) -> bool:
    try:
        database.execute(f"EXPLAIN SELECT {column} FROM {table}")
    except sqlite3.Error:
        return False
    return True
