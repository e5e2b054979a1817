"""Grammars of PostgreSQL's catalogues.

PostgreSQL 15 prepared each query of `catalogs/clinic.postgresql.queries.sql` on that schema, and listed the columns of the
CSV file.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from vocabularies import byte_tokenizer

import psc
from psc import CatalogOptions, GrammarError
from psc.compiler.grammars.sql_catalog import read_tables

FOLDER = Path(__file__).parent / "catalogs"
SCHEMA = FOLDER / "clinic.postgresql.sql"
QUERIES = (FOLDER / "clinic.postgresql.queries.sql").read_text("utf-8").splitlines()
TABLES = {table.name: {column.name for column in table.columns} for table in read_tables(SCHEMA, "postgresql")}
WORD = re.compile(r"""'[^']*'|"[^"]*"|\w+""")
INTRODUCED = re.compile(rf"{CatalogOptions.aliases}|{CatalogOptions.results}|{CatalogOptions.ctes}")
DEFAULTS = CatalogOptions()


@cache
def matcher(options: CatalogOptions) -> psc.GrammarMatcher:
    text = psc.sql_catalog(SCHEMA, dialect="postgresql", options=options)
    return psc.GrammarMatcher(psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(text))


def accepts(text: str, options: CatalogOptions = DEFAULTS) -> bool:
    of_schema = matcher(options)
    of_schema.reset()
    data = text.encode()
    return of_schema.accept_prefix(data) == len(data) and of_schema.is_completed()


def test_ddl_is_read_as_the_database_lists_it() -> None:
    listed = read_tables(FOLDER / "clinic.postgresql.csv", "postgresql")
    assert {table.name: {column.name for column in table.columns} for table in listed} == TABLES


@pytest.mark.parametrize("query", QUERIES)
def test_queries_pass_and_with_an_invented_name_do_not(query: str) -> None:
    assert accepts(query)
    n_wrong = 0
    for found in WORD.finditer(query):
        plain = found[0].strip('"').lower() if found[0][0] != '"' else found[0].strip('"')
        if plain not in TABLES and not any(plain in of_table for of_table in TABLES.values()):
            continue
        for invented in ("zzinvented", f'"{plain}x"', f'"{plain.title()}_"'):
            assert not accepts(query[: found.start()] + invented + query[found.end() :]), invented
            n_wrong += 1
    assert n_wrong >= 3


def test_a_column_of_another_table_is_stopped_behind_a_table() -> None:
    for table, of_table in TABLES.items():
        for column in set().union(*TABLES.values()):
            assert accepts(f'SELECT {table}."{column}" FROM {table}') == (column in of_table)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("SELECT NAME FROM PATIENTS", True),
        ('SELECT "name" FROM "patients"', True),
        ('SELECT "Name" FROM patients', False),
        ('SELECT "home phone" FROM patients', False),
        ("SELECT order FROM patients", False),
        ("SELECT `name` FROM patients", False),
        ("SELECT count(*) AS total FROM patients HAVING total > 1", False),
        ("SELECT count(*) AS total FROM patients GROUP BY city ORDER BY total", True),
        ("SELECT name FROM patients /* a /* nested */ */", False),
        ("SELECT $1x FROM patients", False),
        ("SELECT 1x FROM patients", False),
        ("SELECT \u017fum(id) FROM patients", False),
        ("DELETE FROM patients", False),
    ],
)
def test_spelling_and_scope(text: str, passes: bool) -> None:
    assert accepts(text) == passes


def test_results_anywhere() -> None:
    text = "SELECT avg(num) FROM (SELECT count(*) AS num FROM visits GROUP BY doctor_id) t"
    assert not accepts(text) and accepts(text, CatalogOptions(results_anywhere=True))


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        (
            "CREATE TABLE a (b int);\nCREATE TABLE c (LIKE a);",
            "DDL:2: table c has columns from elsewhere; give Post",
        ),
        ("CREATE TABLE a (b int) INHERITS (c);", "DDL:1: table a has columns from elsewhere"),
        ("CREATE TABLE a AS SELECT 1 AS b;", "DDL:1: table a does not list its columns"),
        ("CREATE TABLE a PARTITION OF b FOR VALUES IN (1);", "DDL:1: table a does not list its columns"),
        ("\n\nCREATE VIEW v AS SELECT 1 AS b;", "DDL:3: view v does not list its columns"),
        ("CREATE TABLE a (b int); ALTER TABLE a ADD COLUMN c int;", "DDL:1: ALTER TABLE changes columns"),
        ("CREATE TABLE a (b int); ALTER TABLE a RENAME b TO c;", "DDL:1: ALTER TABLE changes columns"),
        ("SELECT 1", "the catalogue has no table"),
        ("CREATE TABLE a (b int, B text)", "two columns of a are called b"),
    ],
)
def test_what_is_not_read_is_refused(ddl: str, said: str) -> None:
    with pytest.raises(GrammarError) as error:
        psc.sql_catalog(ddl, dialect="postgresql")
    assert said in str(error.value)


def test_double_quoted_strings_are_of_sqlite() -> None:
    with pytest.raises(GrammarError, match="names alone in double quotes"):
        psc.sql_catalog(SCHEMA, dialect="postgresql", options=CatalogOptions(double_quoted_strings=True))
    with pytest.raises(GrammarError, match="there are sqlite, postgresql"):
        psc.sql_catalog(SCHEMA, dialect="oracle")  # type: ignore[arg-type]


def test_words_in_quotes_are_no_keywords() -> None:
    schema = """CREATE TABLE public."T x" (exclude text, "check" int, "Like" numeric(10, 2)[] DEFAULT '{(,}', PRIMARY KEY (exclude),
        EXCLUDE USING gist (exclude WITH &&), CHECK ("check" > 0));
        CREATE UNLOGGED TABLE IF NOT EXISTS "inherits" ("a""b" int, "add" int); ALTER TABLE "inherits" ADD CHECK ("add" > 0)"""
    found = {table.name: [column.name for column in table.columns] for table in read_tables(schema, "postgresql")}
    assert found == {"T x": ["exclude", "check", "Like"], "inherits": ['a"b', "add"]}
