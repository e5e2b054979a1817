"""``--indenter``: Lark's Indenter on the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import psc

Run = Callable[..., Result]
TREE = r"""
start: tree+
tree: "a" _NL [_INDENT tree+ _DEDENT]
_NL: /(\n[\t ]*)+/
%declare _INDENT _DEDENT
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.lark"
    path.write_text(TREE)
    return path


def test_compiles(run: Run, tokenizer: Path, tree: Path) -> None:
    path = tree.with_suffix(".psc")
    result = run("compile", tree, "-t", tokenizer, "-o", path, "--indenter", "NL_type=_NL tab_len=4 columns=0-4", "--json")
    assert result.exit_code == 0, result.output
    grammar = json.loads(result.stdout)["grammar"]
    assert (grammar["lexer"], grammar["keep_all_actions"]) == ("indented", True)
    matcher = psc.GrammarMatcher(psc.load(path))
    assert matcher.accept_string("a\n  a\n\ta\n") and matcher.is_completed()
    assert not psc.GrammarMatcher(psc.load(path)).accept_string("a\n     a")
    explained = run("explain", tree, "-t", tokenizer, "--indenter", "NL_type=_NL", "--text", "a\n  a\n a")
    assert explained.exit_code == 1 and "_NL@" in explained.stdout
    assert "--indenter" in run("explain", path, "--indenter", "python", "--text", "a").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "tree.lark:5:1: %declare'd terminals .* say so with --indenter"),
        (("--indenter", "python"), "NL_type _NEWLINE is no terminal of the grammar"),
        (("--indenter", "NL=_NL"), "'NL=_NL' is not python, nor name=value"),
        (("--indenter", "tab_len=x"), "tab_len is a number, not 'x'"),
        (("--indenter", "columns=4-"), "columns is numbers and ranges"),
        (("--indenter", "NL_type=_NL", "--lexer", "basic"), "with an indenter the lexer is 'contextual'"),
    ],
)
def test_refuses(run: Run, tokenizer: Path, tree: Path, options: tuple[str, ...], message: str) -> None:
    result = run("compile", tree, "-t", tokenizer, "-o", tree.with_suffix(".psc"), *options)
    assert result.exit_code != 0 and re.search(message, result.stderr), result.stderr


def test_only_for_grammars_of_lark(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path / "a.psc", "--indenter", "python")
    assert result.exit_code == 2 and "--indenter: of Lark grammars; json is bundled" in result.stderr
