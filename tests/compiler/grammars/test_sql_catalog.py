"""Grammars of catalogues: what SQLite accepts on a schema passes, and a name that is not there is stopped.

`catalogs/NAME.schema.sql` is a schema, `catalogs/NAME.queries.sql` are statements on it, one a line. SQLite is the judge: it
prepares each statement on a database made of the schema.
"""

import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from vocabularies import byte_tokenizer

import psc
from psc import CatalogOptions
from psc.compiler.grammars.sql_catalog import read_tables
from psc.inspection.sampling import Sampler

DEFAULTS = CatalogOptions()
FOLDER = Path(__file__).parent / "catalogs"
SCHEMAS = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.schema.sql"))
QUERIES = [(name, query) for name in SCHEMAS for query in (FOLDER / f"{name}.queries.sql").read_text("utf-8").splitlines()]
WORD = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|[?:@$]\w+|[0-9.]+|[^\W\d]\w*""", re.S)
INVENTED = "zzinvented"
INTRODUCED = re.compile(rf"(?:{DEFAULTS.aliases}|{DEFAULTS.results}|{DEFAULTS.ctes})(?![a-z0-9_])", re.I)


@cache
def matcher(name: str, options: CatalogOptions = DEFAULTS) -> psc.GrammarMatcher:
    text = psc.sql_catalog(FOLDER / f"{name}.schema.sql", options=options)
    return psc.GrammarMatcher(psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(text))


def accepts(name: str, text: str, options: CatalogOptions = DEFAULTS) -> bool:
    of_schema = matcher(name, options)
    of_schema.reset()
    data = text.encode()
    return of_schema.accept_prefix(data) == len(data) and of_schema.is_completed()


@cache
def database(name: str) -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.executescript((FOLDER / f"{name}.schema.sql").read_text("utf-8"))
    return made


def why_refused(name: str, text: str) -> str:
    """What SQLite says against a statement; empty where it takes it."""
    try:
        database(name).execute(f"EXPLAIN {text}", dict.fromkeys(map(str, range(9))) if "?" in text else ())
    except sqlite3.Error as e:
        return str(e)
    return ""


@cache
def columns(name: str) -> dict[str, frozenset[str]]:
    """The columns of each table, in lower case."""
    tables = read_tables(FOLDER / f"{name}.schema.sql", "sqlite")
    return {table.name.lower(): frozenset(column.name.lower() for column in table.columns) for table in tables}


def names_in(schema: str, text: str) -> Iterator[re.Match[str]]:
    """Where a statement has a name of the schema, or a function's, or one that it introduces, but for what a column is called."""
    known = set(columns(schema)).union(*columns(schema).values())
    for found in WORD.finditer(text):
        word = found[0]
        plain = word.strip('"`[]').lower()
        is_word = word[0] in '"`[' or word[0].isalpha()
        is_introduced = re.fullmatch("(?:t[0-9]|[a-z]|cte.*|total.*|num.*|avg_.*|diff.*|rank_.*)", plain)
        is_alias = re.fullmatch("(?:t[0-9]|[a-z]|cte.*)", plain)
        if re.search(r"\bas $", text[: found.start()], re.IGNORECASE) and not is_alias:
            continue  # any name may be a heading
        if is_word and (plain in known or is_introduced or (text[found.end() : found.end() + 1] == "(" and plain not in KEYWORDS)):
            yield found


KEYWORDS = {"in", "and", "values", "using", "over", "exists", "filter", "as", "select", "into"}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_there_are_many_queries(schema: str) -> None:
    assert sum(name == schema for name, _ in QUERIES) >= 15


@pytest.mark.parametrize("schema", SCHEMAS)
def test_queries_pass(schema: str) -> None:
    for query in (query for name, query in QUERIES if name == schema):
        assert why_refused(schema, query) == "", query
        assert accepts(schema, query), query


@pytest.mark.parametrize(("schema", "query"), QUERIES)
def test_an_invented_name_is_stopped_wherever_it_stands(schema: str, query: str) -> None:
    found = list(names_in(schema, query))
    assert found
    for name in found:
        for invented in (INVENTED, f"`{INVENTED}`", name[0].strip('"`[]').replace(" ", "_") + "x_"):
            wrong = query[: name.start()] + invented + query[name.end() :]
            if invented.startswith(("total", "num", "avg_", "diff", "rank", "cte", "count", "max", "n_", "sum")):
                continue  # names that a text may introduce
            assert not accepts(schema, wrong), wrong


def test_a_column_of_a_result_may_have_any_name_that_nothing_reads() -> None:
    for heading in (INVENTED, "Singer", "length", "c", "cte1", f'"{INVENTED}"'):
        query = f"SELECT name AS {heading} FROM singer"
        assert accepts("concerts", query) == (why_refused("concerts", query) == ""), heading
    assert not accepts("concerts", "SELECT name AS select FROM singer")
    for read in (f"ORDER BY {INVENTED}", f"WHERE {INVENTED} = 1", f"GROUP BY {INVENTED}"):
        assert not accepts("concerts", f"SELECT name AS {INVENTED} FROM singer {read}")
    assert not accepts("concerts", f"SELECT t.{INVENTED} FROM (SELECT name AS {INVENTED} FROM singer) AS t")


QUALIFIED = re.compile(r"""(?<![\w"`\].])("[^"]+"|`[^`]+`|\[[^\]]+\]|\w+) ?\. ?("[^"]+"|`[^`]+`|\[[^\]]+\]|\w+)""")


def test_a_column_of_another_table_is_stopped_behind_a_table() -> None:
    n_wrong = 0
    for schema, query in QUERIES:
        for found in QUALIFIED.finditer(query):
            table = found[1].strip('"`[]').lower()
            for others in columns(schema).values() if table in columns(schema) else ():
                for column in others - columns(schema)[table]:
                    wrong = f'{query[: found.start()]}{found[1]}."{column}"{query[found.end() :]}'
                    assert not accepts(schema, wrong), wrong
                    assert why_refused(schema, wrong) != "", wrong
                    n_wrong += 1
    assert n_wrong > 500


def test_names_are_spelled_as_the_engine_spells_them() -> None:
    options = CatalogOptions(every_quote=True)
    for text in ('SELECT "NAME" FROM singer', "SELECT `Name` FROM [SINGER]", "SELECT singer.[name] FROM singer"):
        assert why_refused("concerts", text) == ""
        assert accepts("concerts", text, options)
    for text in ('SELECT "né", "NÄHE" FROM enrolled', "SELECT né FROM enrolled"):
        assert why_refused("school", text) == ""
    assert accepts("school", 'SELECT "né", "nÄHE" FROM enrolled')
    # SQLite folds ASCII alone; neither a long s nor another case of ä is the letter. In double quotes it would be a string.
    for text in ("SELECT [nähe] FROM enrolled", "SELECT singer.[\u017fong_name] FROM singer"):
        assert not accepts("school", text, options) and not accepts("concerts", text, options)
    for text in ("\u017felect name from singer", "w\u0130th cte as (select 1) select * from cte", "select 1max"):
        assert why_refused("concerts", text) != ""
        assert not accepts("concerts", text)


def test_what_the_options_allow() -> None:
    anywhere = "SELECT avg(num) FROM (SELECT count(*) AS num FROM concert GROUP BY year)"
    string = 'SELECT name FROM singer WHERE country = "France"'
    change = "DELETE FROM concert"
    named = "SELECT the_singer.name FROM singer AS the_singer"
    for text, options in (
        (anywhere, CatalogOptions(results_anywhere=True)),
        (string, CatalogOptions(double_quoted_strings=True)),
        (named, CatalogOptions(aliases="the_[a-z]+")),
    ):
        assert why_refused("concerts", text) == ""
        assert not accepts("concerts", text)
        assert accepts("concerts", text, options)
    assert accepts("concerts", change) and not accepts("concerts", change, CatalogOptions(queries_only=True))


def test_a_mask_has_the_columns_and_no_other_name() -> None:
    of_schema = matcher("concerts")
    bitmask = psc.allocate_token_bitmask(1, byte_tokenizer().vocab_size)
    for text, expected in (
        ("SELECT concert.", "concert_id concert_name theme stadium_id year rowid oid _rowid_"),
        ("UPDATE concert SET ", "concert_id concert_name theme stadium_id year rowid oid _rowid_"),
        ("SELECT * FROM ", "stadium singer concert singer_in_concert cte"),
    ):
        first = {name[0] for name in expected.split()}
        first |= {letter.upper() for letter in first}
        of_schema.reset()
        assert of_schema.accept_string(text)
        of_schema.fill_next_token_bitmask(bitmask)
        allowed = {chr(b) for b in range(256) if bitmask[0, b // 32] >> (b % 32) & 1}
        assert {letter for letter in allowed if letter.isalpha() or letter == "_"} == first


def test_drawn_sentences_name_no_table_and_no_function_that_is_not_there() -> None:
    rng = random.Random(5)
    for schema in SCHEMAS:
        compiled = psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(
            psc.sql_catalog(FOLDER / f"{schema}.schema.sql", options=CatalogOptions(queries_only=True))
        )
        sampler = Sampler(compiled)
        for _ in range(25):
            text = sampler.sample(rng, max_tokens=40).text.decode("utf-8", "replace")
            said = why_refused(schema, text)
            assert not re.match(r"near |unrecognized|no such function", said), (text, said)
            # The text introduces what is before a dot, or should have.
            missed = re.fullmatch(r"no such (?:table|column): (.*)", said)
            assert missed is None or INTRODUCED.match(missed[1]) or is_a_column(schema, missed[1]), (text, said)


def is_a_column(schema: str, name: str) -> bool:
    return any(name.lower() in of_table for of_table in columns(schema).values())


def test_statements_end_where_sqlite_says() -> None:
    schema = """CREATE TABLE a (x, y); -- ; x
        CREATE TABLE "b;" (z, [q;r], 'w' DEFAULT ';') /* ; */;
        CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;
        CREATE VIEW v AS SELECT ';' AS k FROM a"""
    assert [table.name for table in read_tables(schema, "sqlite")] == ["a", "b;", "v"]
    columns = {column.name for table in read_tables(schema, "sqlite") for column in table.columns}
    assert columns - {"rowid", "oid", "_rowid_"} == {"x", "y", "z", "q;r", "w", "k"}
    assert [table.name for table in read_tables("CREATE TABLE a (x); '" + ";" * 300_000, "sqlite")] == ["a"]


def test_every_process_writes_the_same_text() -> None:
    """An artifact is found by the text, whatever Python's hashes of strings are."""
    program = "import sys, pathlib, psc; print(psc.sql_catalog(pathlib.Path(sys.argv[1])))"
    command = [sys.executable, "-c", program, str(FOLDER / "shop.schema.sql")]
    texts = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2", "3")
    ]
    assert texts[0] == texts[1] == texts[2] == psc.sql_catalog(FOLDER / "shop.schema.sql") + "\n"


def test_a_statement_without_end_is_refused() -> None:
    schema = "\nCREATE TABLE a AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    with pytest.raises(psc.GrammarError, match="DDL:2: SQLite refuses this statement"):
        read_tables(schema, "sqlite")
