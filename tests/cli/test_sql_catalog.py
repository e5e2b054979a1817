"""``psc sql-catalog``: a schema's file to a grammar that `psc compile` takes."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
DDL = "CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT);\nCREATE TABLE owners (id INTEGER PRIMARY KEY, pet_id INT);\n"


def test_ddl_to_an_artifact(run: Run, tmp_path: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zoo.sql").write_text(DDL)
    assert run("sql-catalog", "zoo.sql", "--queries-only").stdout.startswith("zoo.lark: 2 tables, 10 columns; compile it")
    compiled = run("compile", "zoo.lark", "-t", tokenizer)
    assert (compiled.exit_code, compiled.stderr) == (0, "")
    Path("good.sql").write_text("SELECT p.name FROM pets p JOIN owners ON owners.pet_id = p.id")
    Path("bad.sql").write_text("SELECT pets.pet_id FROM pets")
    assert run("check", "zoo.psc", "good.sql").exit_code == 0
    checked = run("check", "zoo.psc", "bad.sql")
    assert (checked.exit_code, checked.stdout.partition(" ")[0]) == (1, "bad.sql:1:13:")


def test_a_database_is_read_as_its_ddl(run: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "zoo.db")) as database:
        database.executescript(DDL)
    (tmp_path / "zoo.sql").write_text(DDL)
    for source in ("zoo.db", "zoo.sql"):
        done = run("sql-catalog", tmp_path / source, "-o", tmp_path / f"{source}.lark", "--json")
        listed = json.loads(done.stdout)
        assert [(table["name"], table["columns"][:2]) for table in listed["tables"]] == [
            ("pets", ["id", "name"]),
            ("owners", ["id", "pet_id"]),
        ]
    assert (tmp_path / "zoo.db.lark").read_text() == (tmp_path / "zoo.sql.lark").read_text()


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (
            b"CREATE TABLE a (b INT);\n\nCREATE TABLE a (c INT);",
            (),
            "x.sql:3: SQLite refuses this statement: table a",
        ),
        (b"SELECT 1", (), "the catalogue has no table"),
        (b"\xff", (), "neither a SQLite database nor UTF-8 text (byte 0)"),
        (b"SQLite format 3\0 and then nothing", (), "SQLite cannot read the database"),
        (b"CREATE TABLE a (b INT)", ("--aliases", "t["), "aliases: t[ is no regular expression"),
        (b"CREATE TABLE a (b INT)", ("--ctes", "c*"), "ctes: c* matches the empty text"),
        (b'CREATE TABLE a ("b\nc" INT)', (), "a column of a is called"),
        (b"ATTACH 'y.db' AS y; CREATE TABLE y.a (b INT)", (), "x.sql:1: SQLite refuses this statement: unknown database y"),
    ],
)
def test_what_is_wrong_has_a_place_and_a_cause(
    run: Run, tmp_path: Path, content: bytes, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "x.sql").write_bytes(content)
    done = run("sql-catalog", tmp_path / "x.sql", "-o", tmp_path / "x.lark", *options)
    assert done.exit_code == 1
    assert said in done.stderr.replace("'", "")
    assert not (tmp_path / "x.lark").exists() and not (tmp_path / "y.db").exists()
