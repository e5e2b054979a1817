"""A grammar of SQL in which the names that are read are those of a catalogue: its tables, and the columns of each.

    catalogue.py            tables, columns, options
    sqlite_reader.py        a database or DDL to tables, by SQLite
    postgresql_reader.py    a database's list of columns, or DDL, to tables
    names.py                names to terminals that share no text
    rules.py                rules by name, and those that say what is a name of what
    sqlite_grammar.py       the bundled grammar's rules, with names in their places
    postgresql_grammar.py   the common core's

Begin with `names.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal as OneOf
from typing import get_args

from psc.compiler.grammars.sql_catalog.catalogue import DEFAULTS, CatalogOptions, Table
from psc.errors import GrammarError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.regular_file import open_regular, read_regular_text

SqlDialect = OneOf["sqlite", "postgresql"]
"""Dialects that have such a grammar."""

_MAX_BYTES = limit("json_bytes")


def sql_catalog(schema: str | Path, *, dialect: SqlDialect = "sqlite", options: CatalogOptions = DEFAULTS) -> str:
    """The text of a grammar in Lark's language whose sentences are statements on the tables of a catalogue.

    Give it to ``GrammarCompiler.compile_lark``, or write it to a ``.lark`` file. docs/sql-catalog.md says what it refuses.

    Args:
        schema: DDL, or PostgreSQL's list of columns as CSV; or the path of a file with either, or of a SQLite database.
        dialect: what the statements, and DDL, are in.
        options: which names a text may introduce, which statements it may have, and how it may quote.

    Raises:
        GrammarError: the file or the DDL cannot be read, there is no table, or there is no such dialect.
    """
    return grammar_of_tables(read_tables(schema, dialect), dialect, options)


def read_tables(schema: str | Path, dialect: SqlDialect) -> list[Table]:
    """The tables of DDL, or of a file. Raises GrammarError as :func:`sql_catalog`."""
    _check(dialect)
    from psc.compiler.grammars.sql_catalog import postgresql_reader, sqlite_reader

    read = sqlite_reader.tables_of_ddl if dialect == "sqlite" else postgresql_reader.tables_of_text
    if isinstance(schema, str):
        return read(schema, "DDL")
    try:
        with open_regular(schema) as file:
            if dialect == "sqlite" and sqlite_reader.is_database(file.read(32)):
                return sqlite_reader.tables_of_database(schema)
        return read(read_regular_text(schema, _MAX_BYTES), str(schema))
    except OSError as e:
        raise GrammarError(f"{schema}: cannot read the schema: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        kinds = "neither a SQLite database nor" if dialect == "sqlite" else "no"
        raise GrammarError(f"{schema}: {kinds} UTF-8 text (byte {e.start})") from e


def grammar_of_tables(tables: Sequence[Table], dialect: SqlDialect, options: CatalogOptions) -> str:
    """The grammar of tables that were read. Raises GrammarError as :func:`sql_catalog`."""
    _check(dialect)
    from psc.compiler.grammars.sql_catalog.postgresql_grammar import postgresql_grammar
    from psc.compiler.grammars.sql_catalog.sqlite_grammar import sqlite_grammar

    return (sqlite_grammar if dialect == "sqlite" else postgresql_grammar)(tables, options)


def _check(dialect: object) -> None:
    if dialect not in get_args(SqlDialect):
        raise GrammarError(f"dialect={shortened(repr(dialect), 60)}: there are {', '.join(get_args(SqlDialect))}")
