"""`psc bench`: each measurement over small grammars without peers, and what it says where something is not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tokenizer_files import write_tokenizer

from psc.bench import maskbench
from psc.cli import main

pytest.importorskip("tokenizers")
pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="other processes are not instrumented")
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In a folder with a tokenizer, a grammar, texts and schemas."""
    monkeypatch.chdir(tmp_path)
    write_tokenizer(tmp_path / "tokenizer.json", [*(bytes([b]) for b in range(256)), b"ab", b"true", b'{"'])
    (tmp_path / "words.ebnf").write_text('root ::= [a-z]+ (" " [a-z]+)*')
    (tmp_path / "a.words").write_text("ab cab " * 40 + "x")
    schemas = [
        {"name": "whole", "schema": {"type": "integer"}, "tests": [{"data": 1, "valid": True}, {"data": "a", "valid": False}]},
        {"name": "none", "schema": {"type": "integer", "enum": ["a"]}, "tests": [{"data": 1, "valid": False}]},
        {"name": "wrong label", "schema": {"type": "boolean"}, "tests": [{"data": True, "valid": False}]},
    ]
    (tmp_path / "schemas.jsonl").write_text("".join(json.dumps(each) + "\n" for each in schemas))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["bench", *arguments], catch_exceptions=False)

    return invoke


_ALWAYS = ("-t", "tokenizer.json", "--no-peers", "--quick", "--quiet")


def test_masks(run: Run, tmp_path: Path) -> None:
    done = run("masks", "words.ebnf", "--corpus", "words=a.words", *_ALWAYS, "--json", "--write", "out")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    engines = found["results"]["words"]["engines"]
    assert set(engines) == {"psc row", "psc fill", "psc jit fill"}
    for engine in engines.values():
        assert engine["accepted"] == engine["offered"] == found["results"]["words"]["tokens"] > 0
        assert engine["later"]["mask_us"]["calls"] == min(150, engine["offered"])
    assert (tmp_path / "out/masks.md").read_text().startswith("# What does a step cost?")
    assert json.loads((tmp_path / "out/masks.json").read_text()) == found


def test_first_masks_and_compile(run: Run) -> None:
    done = run("first-masks", "words.ebnf", *_ALWAYS, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["results"]["words"]
    assert found["warm"]["total"] >= sum(found["warm"]["stages"].values()) > 0
    assert found["warm"]["stages"]["lowering"] > 0
    done = run("compile", "words.ebnf", *_ALWAYS)
    assert done.exit_code == 0 and "| words " in done.stdout, done.output


def test_serve(run: Run) -> None:
    done = run("serve", *_ALWAYS, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["results"]
    assert found["taken"] == found["requests"] == len(found["admission_ms"]["psc"])
    assert {len(by_engine["psc"]["masks"]) for by_round in found["steps_us"].values() for by_engine in by_round.values()} == {60}


def test_maskbench_tells_wrong_verdicts(run: Run) -> None:
    done = run("maskbench", "schemas.jsonl", *_ALWAYS, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["results"]["psc"]
    assert found["compiled"] == 2 and list(found["refusals"]) == ["none (1)"]
    assert found["invalid_accepted"] == ["wrong label (2)"] and not found["valid_refused"]


def test_maskbench_without_schemas_says_what_it_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maskbench, "SUITE", "nothing")
    done = run("maskbench", *_ALWAYS)
    assert done.exit_code == 1 and "a wheel does not" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("masks", "nothing.lark"), "nothing.lark"),
        (("masks", "words.ebnf"), "--corpus words=PATH"),
        (("masks", "words.ebnf", "--corpus", "words"), "write GRAMMAR=PATH"),
        (("masks", "words.ebnf", "--corpus", "words=nowhere"), "there is no nowhere"),
        (("maskbench", "words.ebnf"), "no lines of schemas with tests"),
        (("mask",), "did you mean 'masks'?"),
    ],
)
def test_errors(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments, *(_ALWAYS if arguments != ("mask",) else ()))
    assert done.exit_code in (1, 2) and said in done.stderr


def test_all_goes_on_after_one_that_fails(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(maskbench, "SUITE", "nothing")
    done = run("all", "--only", "maskbench", "--only", "serve", *_ALWAYS, "--write", "docs")
    assert done.exit_code == 1 and "maskbench: there are no schemas" in done.stderr
    assert "What do a server's requests cost?" in (tmp_path / "docs/benchmarks.md").read_text()
