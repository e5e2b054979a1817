"""What a JSON schema means on the command line: one set of options for all commands, refused for other languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import psc
from psc.artifacts.store import Store

from .conftest import Run

SCHEMA = """\
{
  "type": "object",
  "properties": {"b": {"type": "integer"}, "a": {"type": "string", "format": "date"}},
  "required": ["b"]
}
"""
LENIENT = '{"type": "array", "uniqueItems": true, "items": {"type": "array"}}'


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(SCHEMA)
    return path


@pytest.mark.parametrize(
    ("text", "options", "without"),
    [
        ('{"b": 1, "c": 2}', ["--no-strict"], "c"),
        ('{"a": "2026-11-22", "b": 1}', ["--any-order"], "a"),
        ('{"b": 1, "a": "soon"}', ["--no-formats"], "soon"),
        ('{\n  "b": 1,\n  "a": "2026-11-22"\n}', ["--indent", "2"], None),
        ('{ "b": 1}', ["--max-whitespace", "1"], None),
    ],
)
def test_each_option_says_what_compile_json_schema_says(
    run: Run, tokenizer: Path, schema: Path, text: str, options: list[str], without: str | None
) -> None:
    def passes(*given: str) -> bool:
        return run("check", schema, "-", "-t", tokenizer, *given, stdin=text.encode()).exit_code == 0

    assert passes(*options)
    assert passes() == (without is None)


def test_options_of_white_space_allow_no_other(run: Run, tokenizer: Path, schema: Path) -> None:
    for options in (["--indent", "2"], ["--max-whitespace", "1"]):
        assert run("check", schema, "-", "-t", tokenizer, *options, stdin=b'{   "b": 1}').exit_code == 1
    done = run("check", schema, "-", "-t", tokenizer, "--indent", "2", "--max-whitespace", "1", stdin=b"")
    assert done.exit_code == 2 and "--indent fixes the white space" in done.stderr


def test_what_is_compiled_is_what_the_library_compiles(run: Run, tokenizer: Path, schema: Path, tmp_path: Path) -> None:
    artifact = tmp_path / "out.psc"
    options = ["--no-strict", "--any-order", "--lenient", "--no-formats", "--max-whitespace", "3"]
    assert run("compile", schema, "-t", tokenizer, "-o", artifact, "--quiet", *options).exit_code == 0
    asked = psc.Grammar.from_json_schema(
        schema.read_text(), strict_mode=False, any_order=True, lenient=True, assert_format=False, max_whitespace_cnt=3
    )
    assert psc.load(artifact).grammar.key.options == asked.key.options
    assert run("check", artifact, "-", "-t", tokenizer, stdin=b'{"z": 0, "a": "", "b": 1}').exit_code == 0
    done = run("check", artifact, "-", "-t", tokenizer, "--no-strict", stdin=b"")
    assert done.exit_code == 2 and "is an artifact: --no-strict was decided when it was compiled" in done.stderr


def test_what_a_lenient_schema_leaves_out_is_a_warning(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    path = tmp_path / "unique.json"
    path.write_text(LENIENT)
    done = run("sample", path, "-t", tokenizer, "--seed", 1)
    assert done.exit_code == 1 and "#, uniqueItems" in done.stderr
    assert "; --lenient leaves it out" in done.stderr
    done = run("sample", path, "-t", tokenizer, "--seed", 1, "--lenient")
    assert done.exit_code == 0 and isinstance(json.loads(done.stdout), list)
    assert done.stderr.count("psc: warning: ") == 1 and "uniqueItems: left out" in done.stderr


@pytest.mark.parametrize("command", ["check", "sample", "explain", "compile"])
def test_other_languages_have_none_of_them(run: Run, tokenizer: Path, command: str) -> None:
    files = ["-"] if command == "check" else []
    done = run(command, "json", *files, "-t", tokenizer, "--any-order", "--indent", "2", stdin=b"")
    assert done.exit_code == 2
    assert "--any-order, --indent: of JSON schemas; json is an EBNF grammar" in done.stderr


def test_explain_takes_them(run: Run, tokenizer: Path, schema: Path) -> None:
    assert run("explain", schema, "-t", tokenizer, "--text", '{"b": 1, "c').exit_code == 1
    assert run("explain", schema, "-t", tokenizer, "--text", '{"b": 1, "c', "--no-strict").exit_code == 0


def test_a_batch_over_a_folder_takes_them_for_all_schemas(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(SCHEMA.replace('"b"', f'"{name}"'))
    (tmp_path / "tiny.ebnf").write_text('root ::= "a"\n')
    jobs = tmp_path / "jobs.toml"
    jobs.write_text(f'[[jobs]]\ngrammars = ["schemas/*.json", "tiny.ebnf"]\ntokenizers = ["{tokenizer}"]\n')
    store = Store(tmp_path / "store")
    done = run("batch", jobs, "--store", store.root, "--quiet", "--no-strict")
    assert done.exit_code == 0, done.stderr
    assert len(store.references()) == 3
    compiler = psc.GrammarCompiler(psc.load_tokenizer(tokenizer), store=store.root)
    schema = json.loads((folder / "one.json").read_text())  # who asks has it as a dictionary
    assert not compiler.compile_json_schema(schema, strict_mode=False).is_lazy
    assert compiler.compile_json_schema(schema).is_lazy
    jobs.write_text(f'[[jobs]]\ngrammars = ["tiny.ebnf"]\ntokenizers = ["{tokenizer}"]\n')
    done = run("batch", jobs, "--store", store.root, "--no-strict")
    assert done.exit_code == 2 and "--no-strict: of JSON schemas" in done.stderr
