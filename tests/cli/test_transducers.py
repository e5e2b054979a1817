"""``psc inspect --fst`` and ``psc compile --verify``, which need pynini; and what they say without it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from click.testing import Result

from psc.compiler.paper import realized
from psc.compiler.pipeline import build as pipeline

Run = Callable[..., Result]

GRAMMARS = {
    "contextual": ("g.lark", 'start: "a" start? "b" | NAME "=" "if"\nNAME: /[a-z]+/\n%ignore " "\n', ()),
    "basic": ("g.lark", 'start: "a" start? "b"\n', ("--lexer", "basic")),
    "all actions": ("g.lark", 'start: start "a" start | "b"\n', ("--keep-all-actions",)),
    "EBNF": ("g.ebnf", 'root ::= "a" root "b" | [0-9]{1,3}\n', ()),
}


@pytest.fixture(params=GRAMMARS)
def grammar(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    name, text, options = GRAMMARS[request.param]
    (tmp_path / name).write_text(text)
    return tmp_path / name, options


def test_transducers(run: Run, tokenizer: Path, tmp_path: Path, grammar: tuple[Path, tuple[str, ...]]) -> None:
    path, options = grammar
    assert run("compile", path, "-t", tokenizer, *options, "-o", tmp_path / "g.psc").exit_code == 0
    result = run("inspect", tmp_path / "g.psc", "--fst", tmp_path / "fst", "--json")
    assert result.exit_code == 0, result.output
    files = {Path(p).name for p in json.loads(result.stdout)["transducers"]}
    assert {"stacks.syms", "tokens.syms", "index.txt"} <= files
    assert any(name.startswith("step_") for name in files) and any(name.startswith("classifier_q") for name in files)
    assert (tmp_path / "fst" / "index.txt").is_file()


def test_transducers_need_neither_the_grammar_nor_the_tokenizer(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    """Everything is in the artifact."""
    (tmp_path / "g.lark").write_text('start: "a" start? "b"\n')
    copy = tmp_path / "copy.json"
    copy.write_bytes(tokenizer.read_bytes())
    assert run("compile", tmp_path / "g.lark", "-t", copy, "-o", tmp_path / "g.psc").exit_code == 0
    copy.unlink()
    (tmp_path / "g.lark").unlink()
    assert run("inspect", tmp_path / "g.psc", "--fst", tmp_path / "fst").exit_code == 0


def test_transducers_of_a_grammar_too_large(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("compile", "sql", "-t", tokenizer, "-o", tmp_path / "sql.psc", "--quiet").exit_code == 0
    # Nothing is done before it is refused.
    monkeypatch.setattr(sys.modules["psc.compiler.paper.export"], "realized_sequences", None)
    result = run("inspect", tmp_path / "sql.psc", "--fst", tmp_path / "fst")
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("psc: error: ") and "sql.psc: " in last and "at most 200 LR states" in last
    assert not (tmp_path / "fst").exists()


def test_verify(run: Run, tokenizer: Path, tmp_path: Path, grammar: tuple[Path, tuple[str, ...]]) -> None:
    path, options = grammar
    result = run("compile", path, "-t", tokenizer, *options, "-o", tmp_path / "g.psc", "--verify")
    assert result.exit_code == 0, result.output
    assert "verified: the classifier equals the paper's construction" in result.stdout
    result = run("compile", path, "-t", tokenizer, *options, "-o", tmp_path / "h.psc", "--verify", "--json")
    assert json.loads(result.stdout)["verification"]["comparisons"] > 1
    assert (tmp_path / "h.psc").read_bytes() == (tmp_path / "g.psc").read_bytes()
    result = run("compile", path, "-t", tokenizer, *options, "-o", tmp_path / "h.psc", "--json")
    assert json.loads(result.stdout)["verification"] is None


def test_a_wrong_classifier_is_not_written(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "g.lark").write_text(GRAMMARS["contextual"][1])
    put_together = pipeline.put_together

    def damaged(*arguments: object, **options: object) -> pipeline.Build:
        result = put_together(*arguments, **options)  # type: ignore[arg-type]
        emissions = result.arrays["arc_emission"].copy()
        emissions[np.flatnonzero(emissions)[0]] = 0
        result.arrays["arc_emission"] = emissions
        return result

    monkeypatch.setattr(pipeline, "put_together", damaged)
    result = run("compile", tmp_path / "g.lark", "-t", tokenizer, "-o", tmp_path / "g.psc", "--verify")
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert "is allowed by the paper's construction and not by the classifier" in last and "on the stack" in last
    assert not (tmp_path / "g.psc").exists()


def test_what_is_too_large_to_be_verified_is_refused_before_the_tokenizer_is_read(run: Run, tmp_path: Path) -> None:
    result = run("compile", "sql", "-t", tmp_path / "no such file", "-o", tmp_path / "sql.psc", "--verify")
    assert result.exit_code == 1
    assert "sql: it cannot be verified" in result.stderr and "at most 200 LR states" in result.stderr
    assert "no such file" not in result.stderr


def test_too_many_sequences(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realized, "MAX_SEQUENCES", 3)
    (tmp_path / "g.lark").write_text(GRAMMARS["contextual"][1])
    result = run("compile", tmp_path / "g.lark", "-t", tokenizer, "-o", tmp_path / "g.psc", "--verify")
    assert result.exit_code == 1
    assert "at most 3 terminal sequences" in result.stderr
    assert not (tmp_path / "g.psc").exists()


@pytest.mark.parametrize("command", ["compile", "inspect"])
def test_without_pynini(
    command: str, run: Run, python: Callable[..., "CompletedProcess[str]"], tokenizer: Path, assignments: Path, tmp_path: Path
) -> None:
    arguments = {
        "compile": ["compile", assignments.with_suffix(".lark"), "-t", tokenizer, "-o", tmp_path / "g.psc", "--verify"],
        "inspect": ["inspect", assignments, "--fst", tmp_path / "fst"],
    }[command]
    script = "import sys; sys.modules['pynini'] = None; from psc.cli import main; main()"
    result = python("-c", script, *arguments)
    assert result.returncode == 1
    assert "psc[openfst]" in result.stderr
    assert not (tmp_path / "g.psc").exists()
