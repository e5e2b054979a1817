"""``psc sql-catalog``: a schema to a grammar of SQL in which names are those of the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from psc.artifacts.folder import replace_whole
from psc.cli.arguments import FILE, json_option, quiet_option
from psc.cli.report import write_json
from psc.compiler.grammars.sql_catalog import SqlDialect, grammar_of_tables, read_tables
from psc.compiler.grammars.sql_catalog.catalogue import ALIASES, CTES, CatalogOptions
from psc.errors import GrammarError


@click.command("sql-catalog")
@click.argument("schema", type=FILE)
@click.option("--dialect", type=click.Choice(get_args(SqlDialect)), default="sqlite", show_default=True, help="The kind of SQL.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The grammar; SCHEMA.lark here by default.")
@click.option("--aliases", metavar="REGEX", default=ALIASES, show_default=True, help="Names that a text may give to tables.")
@click.option(
    "--results",
    metavar="REGEX",
    default=CatalogOptions.results,
    help="Names that a text may give to columns of its results; by default words such as total, avg or count, alone or before `_`.",
)
@click.option("--ctes", metavar="REGEX", default=CTES, show_default=True, help="Names that a text may give to common tables.")
@click.option("--queries-only", is_flag=True, help="Leave out INSERT, UPDATE and DELETE.")
@click.option(
    "--results-anywhere",
    is_flag=True,
    help="Let names of results be read without a qualifier wherever a column may be, not in GROUP BY, HAVING and ORDER BY alone.",
)
@click.option("--every-quote", is_flag=True, help="Let names that need no quotes be in each kind of quotes of the dialect.")
@click.option(
    "--double-quoted-strings", is_flag=True, help="Read what is in double quotes and no name as a string, as SQLite does."
)
@json_option
@quiet_option()
def command(schema: str, dialect: SqlDialect, output: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Write a grammar of SQL whose tables and columns are those of SCHEMA.

    SCHEMA is a file with DDL, a SQLite database, or what psql --csv lists of PostgreSQL's information_schema.columns. The
    grammar is a .lark file that psc compile and servers take. docs/sql-catalog.md says which invented names it stops.
    """
    tables = read_tables(Path(schema), dialect)
    path = output or Path(f"{Path(schema).stem}.lark")
    text = grammar_of_tables(tables, dialect, CatalogOptions(**options))
    try:
        replace_whole(path, text.encode())
    except OSError as e:
        raise GrammarError(f"{path}: cannot write the grammar: {e.strerror or e}") from e
    if as_json:
        listed = [{"name": table.name, "columns": [column.name for column in table.columns]} for table in tables]
        write_json({"grammar": str(path), "dialect": dialect, "tables": listed})
    elif not quiet:
        columns = sum(len(table.columns) for table in tables)
        click.echo(f"{path}: {len(tables):,} tables, {columns:,} columns; compile it with psc compile {path} --tokenizer SPEC")
