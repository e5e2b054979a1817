"""``psc inspect``: sizes, counts, provenance, the record of the build, transducers."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import psc
from psc.artifacts.format import encode, read_file

Run = Callable[..., Result]


def test_report(run: Run, assignments: Path, tokenizer: Path) -> None:
    result = run("inspect", assignments, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    grammar = assignments.with_suffix(".lark")
    assert report["sha256"] == hashlib.sha256(assignments.read_bytes()).hexdigest()
    assert report["size_bytes"] == assignments.stat().st_size
    assert report["grammar"]["name"] == grammar.name
    assert report["grammar"]["sha256"] == hashlib.sha256(grammar.read_bytes()).hexdigest()
    assert report["tokenizer"]["name"] == tokenizer.name
    assert report["tokenizer"]["fingerprint"] == psc.load_tokenizer(tokenizer).fingerprint
    assert report["counts"]["productions"] == 8
    assert report["sections"]["arc_symbol"]["elements"] == report["counts"]["classifier_transitions"]
    assert report["build"]["artifact"] == report["sha256"]
    assert set(report["build"]["seconds"]) >= {"lexer", "stack classifier"}
    assert "terminals" not in report


def test_text(run: Run, assignments: Path) -> None:
    result = run("inspect", assignments, "--terminals", "--rules")
    assert result.exit_code == 0, result.output
    for line in ("built in", "stop tokens", "  NAME ", "(ignored)", "  assignment : NAME EQUAL value SEMICOLON", "  arc_symbol "):
        assert line in result.stdout


def test_record_of_another_build(run: Run, assignments: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.psc"
    copy.write_bytes(assignments.read_bytes())
    assert json.loads(run("inspect", copy, "--json").stdout)["build"] is None
    record = tmp_path / "copy.psc.build.json"
    for text in ('{"artifact": "00"}', "not JSON", "[" * 100000):
        record.write_text(text)
        result = run("inspect", copy)
        assert result.exit_code == 0
        assert str(record) in result.stdout


def test_malformed_metadata(run: Run, assignments: Path, tmp_path: Path) -> None:
    artifact = read_file(assignments)
    for metadata in ({}, {**artifact.metadata, "grammar": 3}, {**artifact.metadata, "counts": {"x": "y"}}):
        (tmp_path / "odd.psc").write_bytes(encode(artifact.arrays, metadata))
        result = run("inspect", tmp_path / "odd.psc")
        assert result.exit_code == 1
        assert "metadata" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "options", "lines"),
    [
        ("g.lark", 'start: "a"\n', (), ["language Lark", "lexer contextual: ", "conflicts resolved as Lark does"]),
        ("g.lark", 'start: "a"\n', ("--lexer", "basic"), ["lexer basic: "]),
        ("g.lark", 'start: "a"\n', ("--keep-all-actions",), ["conflicts every way is followed"]),
        ("g.ebnf", 'root ::= "a"\n', (), ["language EBNF", "lexer any: ", "conflicts every way is followed"]),
    ],
)
def test_kinds_of_grammar(
    run: Run, tokenizer: Path, tmp_path: Path, name: str, text: str, options: tuple[str, ...], lines: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert run("compile", tmp_path / name, "-t", tokenizer, *options, "-o", tmp_path / "g.psc").exit_code == 0
    shown = run("inspect", tmp_path / "g.psc").stdout
    for line in lines:
        field, value = line.split(maxsplit=1)
        assert re.search(rf"^  {field} +{re.escape(value)}", shown, re.M), shown
