"""What every command owes its users: one style of errors, suggestions, help without holes, completion, quiet where asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

import psc
from psc.cli import main
from psc.compiler.grammars import bundled_specs

from .conftest import Run


def every_command() -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    context = click.Context(main, info_name="psc")
    for name in main.list_commands(context):
        out.append((name,))
        command = main.get_command(context, name)
        if isinstance(command, click.Group):
            out.extend((name, inner) for inner in command.list_commands(click.Context(command)))
    return out


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_help_has_no_holes(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    paragraphs = result.stdout.partition("Options:")[0]
    assert not re.search(r"\S {2,}\S", paragraphs), paragraphs
    assert not re.search(r"^ {3,}\S", paragraphs, re.MULTILINE), paragraphs
    assert "..." not in re.sub(r"(FILES|FILE_OR_FOLDER|\[ARGS\]|\[GRAMMAR\])\.\.\.", "", result.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["comple"], "did you mean 'compile'?"),
        (["registry", "serv"], "did you mean 'serve'?"),
        (["xyzzy"], "there are compile, batch"),
        (["check"], "Missing argument 'GRAMMAR'"),
        (["--nope"], "--nope"),
        (["compile", "java"], "--tokenizer"),
        (["sample", "jsn", "-t", "qwen3"], "Did you mean 'json'?"),
    ],
)
def test_errors_have_one_style(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    [error] = [line for line in result.stderr.splitlines() if line.startswith("psc: error: ")]
    assert said in error
    assert "Error: " not in result.stderr


def test_a_file_beside_is_suggested(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "small.lark").write_text('start: "a"')
    result = run("compile", tmp_path / "smal.lark", "-t", tokenizer)
    assert f"Did you mean '{tmp_path / 'small.lark'}'?" in result.stderr


def test_names_in_a_registry_are_suggested(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "letters.ebnf").write_text("root ::= [a-z]+")
    artifact, registry = tmp_path / "letters.psc", tmp_path / "registry"
    assert run("compile", tmp_path / "letters.ebnf", "-t", tokenizer, "-o", artifact).exit_code == 0
    pushed = run("registry", "push", artifact, "--registry", registry, "--as", "letters/qwen3", "--store", tmp_path / "store")
    assert pushed.exit_code == 0, pushed.stderr
    result = run("registry", "pull", "leters", "qwen3", "--registry", registry, "--store", tmp_path / "store")
    assert result.exit_code == 1
    assert "did you mean letters qwen3?" in result.stderr


def test_quiet(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    grammar = tmp_path / "letters.ebnf"
    grammar.write_text("root ::= [a-z]+")
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("abc")
    bad.write_text("ab1")
    result = run("check", grammar, "-t", tokenizer, good, bad, "--quiet")
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.startswith(f"{bad}:1:3: ") and str(good) not in result.stdout
    assert run("sample", grammar, "-t", tokenizer, "--quiet", "-n", "3", "--seed", "1").stderr == ""
    assert run("explain", grammar, "-t", tokenizer, "--quiet").stderr == ""
    assert run("compile", grammar, "-t", tokenizer, "-o", tmp_path / "x.psc", "--quiet").output == ""


@pytest.mark.parametrize(
    ("words", "incomplete", "value", "kind"),
    [
        (["compile"], "ja", "java", "plain"),
        (["sample"], "js", "json", "plain"),
        (["check", "json"], "sr", "sr", "file"),
        (["explain"], "my", "my", "file"),
        (["compile", "json", "--tokenizer"], "qw", "qwen3", "plain"),
        (["compile", "json", "-t"], "mod", "mod", "file"),
        (["batch"], "jo", "jo", "file"),
        (["inspect"], "ja", "ja", "file"),
        (["registry"], "pu", "push", "plain"),
    ],
)
def test_completion(words: list[str], incomplete: str, value: str, kind: str) -> None:
    items = BashComplete(main, {}, "psc", "_PSC_COMPLETE").get_completions(words, incomplete)
    assert (value, kind) in [(i.value, i.type) for i in items]


def test_tokenizers_are_listed(run: Run) -> None:
    listed = {t["name"]: t for t in json.loads(run("tokenizers", "--json").stdout)}
    assert listed["qwen3"]["description"]
    assert all(t["available"] or "pip install" in t["install"] for t in listed.values())
    assert "qwen3 " in run("tokenizers").stdout


def test_grammars_are_listed(run: Run) -> None:
    listed = {g["name"]: g for g in json.loads(run("grammars", "--json").stdout)}
    assert list(listed) == bundled_specs()
    assert listed["json"] == {
        "name": "json",
        "description": "JSON (RFC 8259), strictly, with any white space between its tokens",
        "terminals": 12,
        "productions": 45,
        "lr_states": 78,
    }
    assert all(g["description"] and not g["description"].endswith(".") for g in listed.values())
    assert "12 terminals, 45 productions, 78 LR states" in run("grammars").stdout


def test_names_of_the_package_are_listed() -> None:
    assert set(psc.__all__) == set(dir(psc))
    assert {"GrammarCompiler", "TokenizerInfo", "load"} <= set(dir(psc))
