"""``psc sample``: every sentence is one for Lark too, the same seed gives the same ones, and all of them end."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from lark import Lark
from lark_grammars import lark_text
from oracle import CfgOracle

from psc.cli.grammars import open_compiled
from psc.inspection.sampling import Sampler

Run = Callable[..., Result]

# A line comment may begin wherever blanks may, but its line end is a terminal, which does not follow there.
LINES = """\
start: (NAME "=" NAME _NL)+
NAME: /[a-z]+/
_NL: /\\n/
COMMENT: /#[^\\n]*/
%ignore COMMENT
%ignore " "
"""


@pytest.mark.parametrize("name", ["json", "assignments"])
@pytest.mark.parametrize("max_tokens", [0, 1, 7, 80])
@pytest.mark.parametrize("how", [(), ("--uniform",)])
def test_sentences_parse(
    run: Run, assignments: Path, tokenizer: Path, tmp_path: Path, name: str, max_tokens: int, how: tuple[str, ...]
) -> None:
    if name == "json":
        assert run("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc").exit_code == 0
        artifact, grammar = tmp_path / "json.psc", lark_text("json")
    else:
        artifact, grammar = assignments, assignments.with_suffix(".lark").read_text()
    lark = Lark(grammar, parser="lalr", lexer="basic" if name == "json" else "contextual")
    result = run("sample", artifact, "-n", 30, "--seed", 1, "--max-tokens", max_tokens, "--json", *how)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert len(report["sentences"]) == 30
    for sentence in report["sentences"]:
        lark.parse(sentence["text"])
        assert sentence["drawn_tokens"] <= min(max_tokens, len(sentence["tokens"]))
        assert (sentence["drawn_tokens"] < len(sentence["tokens"])) or max_tokens > 0


@pytest.mark.parametrize("how", [(), ("--uniform",)])
def test_text_and_seed(run: Run, assignments: Path, how: tuple[str, ...]) -> None:
    first, second, other = (run("sample", assignments, "-n", 3, "--seed", seed, *how) for seed in (5, 5, 6))
    assert first.exit_code == 0
    assert first.stdout == second.stdout != other.stdout
    assert "3 of 3, seed 5" in first.stderr
    assert "seed" in run("sample", assignments).stderr


def test_dead_ends_are_left(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.lark").write_text(LINES)
    assert run("compile", tmp_path / "lines.lark", "-t", tokenizer, "-o", tmp_path / "lines.psc").exit_code == 0
    sampler = Sampler(open_compiled(str(tmp_path / "lines.psc"), None))
    lark = Lark(LINES, parser="lalr", lexer="contextual")
    rng = random.Random(2)
    for _ in range(60):
        lark.parse(sampler.sample(rng, max_tokens=25).text.decode())


def test_every_allowed_token_can_be_drawn(assignments: Path) -> None:
    sampler = Sampler(open_compiled(str(assignments), None))
    rng = random.Random(3)
    vocabulary = sampler.compiled.tokenizer_info.decoded_vocab
    first = {vocabulary[sampler.sample(rng, max_tokens=1).tokens[0]][:1] for _ in range(1500)}
    assert first == {*(bytes([b]) for b in b"abcdefghijklmnopqrstuvwxyz \n"), b"\xc3"}


# Ambiguous, so that the matcher follows several stacks; and lexemes may end wherever they match.
SUMS = """\
root ::= sum
sum ::= sum "+" sum | "-" sum | "(" sum ")" | name | [0-9]+
name ::= [a-z]+ | "id " [a-z] "."
"""


@pytest.mark.parametrize("options", [(), ("--keep-all-actions",), ("--lexer", "basic")])
def test_lark_grammars_just_in_time(run: Run, assignments: Path, tokenizer: Path, options: tuple[str, ...]) -> None:
    grammar = assignments.with_suffix(".lark")
    lark = Lark(grammar.read_text(), parser="lalr", lexer="basic" if "basic" in options else "contextual")
    result = run("sample", grammar, "-t", tokenizer, "-n", 30, "--seed", 4, "--max-tokens", 20, "--uniform", "--json", *options)
    assert result.exit_code == 0, result.output
    texts = [s["text"] for s in json.loads(result.stdout)["sentences"]]
    for text in texts:
        lark.parse(text)
    assert all(any(character in text for text in texts) for character in "(1z")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("max_tokens", [0, 2, 30])
def test_ebnf(run: Run, tokenizer: Path, tmp_path: Path, compiled: bool, max_tokens: int) -> None:
    grammar = tmp_path / "sums.ebnf"
    grammar.write_text(SUMS)
    arguments: tuple[object, ...] = (grammar, "-t", tokenizer)
    if compiled:
        assert run("compile", *arguments, "-o", tmp_path / "sums.psc").exit_code == 0
        arguments = (tmp_path / "sums.psc",)
    result = run("sample", *arguments, "-n", 40, "--seed", 1, "--max-tokens", max_tokens, "--uniform", "--json")
    assert result.exit_code == 0, result.output
    oracle = CfgOracle.of_ebnf(SUMS)
    texts = [s["text"] for s in json.loads(result.stdout)["sentences"]]
    for text in texts:
        assert oracle.accepts(text.encode())
    if max_tokens == 30:
        assert all(any(character in text for text in texts) for character in "+-(1z")


def test_tokenizer_is_needed(run: Run, assignments: Path, other_tokenizer: Path) -> None:
    result = run("sample", assignments, "-t", other_tokenizer)
    assert result.exit_code == 1
    assert "fingerprint" in result.stderr
