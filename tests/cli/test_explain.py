"""``psc explain``: what it prints for people and for machines, from an artifact and from a grammar."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


def token_id(tokenizer: Path, text: str) -> int:
    vocab: dict[str, int] = json.loads(tokenizer.read_text())["model"]["vocab"]
    return vocab[text]


@pytest.fixture(params=["artifact", "just in time"])
def grammar(request: pytest.FixtureRequest, assignments: Path, tokenizer: Path) -> tuple[object, ...]:
    return (assignments,) if request.param == "artifact" else (assignments.with_suffix(".lark"), "-t", tokenizer)


def test_a_text(run: Run, grammar: tuple[object, ...]) -> None:
    result = run("explain", *grammar, "--text", "a = 1;\nb = (no")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for line in (
        "text    b = (no▮   (2:8, 14 bytes)",
        'rules   value : "(" · value ")"',
        '        assignment : NAME "=" · value ";"',
        'next    ")"',
        "end     the text cannot end here; it can after ');'",
    ):
        assert line in lines
    assert any(line.startswith('lexeme  unfinished: NAME or "none"; it may end here (lexer state ') for line in lines)
    assert any(line.startswith("stack   ") and line.endswith('NAME "=" "("') for line in lines)
    assert any(line.startswith("tokens  ") and line.endswith(" are allowed") for line in lines)


def test_tokens(run: Run, grammar: tuple[object, ...], tokenizer: Path) -> None:
    allowed, refused = token_id(tokenizer, "();"), token_id(tokenizer, "=")
    result = run("explain", *grammar, "--text", "a = (b", "--token", token_id(tokenizer, ")"))
    assert result.exit_code == 0
    assert result.stdout.startswith(f"token {token_id(tokenizer, ')')} ')': allowed\n\ntext    a = (b")
    assert run("explain", *grammar, "--text", "a = (b", "--token-text", ")").stdout == result.stdout
    result = run("explain", *grammar, "--text", "a = ", "--token", allowed, "--token", refused)
    assert result.exit_code == 1
    first, second, _ = result.stdout.split("\n\n")
    lines = first.splitlines()
    assert lines[0] == f"token {allowed} '();': not allowed from its byte 1 on (counted from 0)"
    assert lines[1] == "  because no terminal that the parser can take here begins with ')'"
    assert lines[2] == 'next    NAME, NUMBER, "none", "(" (before that byte)'
    assert 'rules   value : "(" · value ")"' in lines
    assert second.splitlines()[0] == f"token {refused} '=': not allowed"


def test_a_text_that_does_not_pass(run: Run, grammar: tuple[object, ...]) -> None:
    result = run("explain", *grammar, "--text", "a = 1;\nb c;", "--token", 1)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "the text does not pass: it stops at 2:3, byte 9: found 'c', expected \"=\""
    assert lines[1].startswith("  because no terminal that the parser can take")
    assert "What may come there instead:" in lines
    assert "text    b ▮   (2:3, 9 bytes)" in lines
    assert not any(line.startswith("token 1") for line in lines)


def test_json(run: Run, grammar: tuple[object, ...]) -> None:
    result = run("explain", *grammar, "--text", "a = n", "--token", 61, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["lexer"], report["bytes"], report["stop"], report["may_end"]) == ("contextual", 5, None, False)
    (place,) = report["places"]
    assert place["can_become"] == ["NAME", '"none"']
    assert place["rules"][0] == 'assignment : NAME "=" · value ";"'
    assert report["expected"] == ['";"']
    assert report["shortest_end"] == "';'"
    assert {tuple(group["terminals"]) for group in report["groups"]} >= {('";"',), ("NAME", '"none"'), ()}
    (verdict,) = report["tokens"]
    assert (verdict["token"], verdict["text"], verdict["allowed"], verdict["fails_at"]) == (61, "'='", False, 0)


def test_every_kind_of_text(run: Run, grammar: tuple[object, ...], tmp_path: Path) -> None:
    assert run("explain", *grammar).stdout.startswith("text    ▮   (nothing is read yet)\nlexeme  none is begun\nstack   empty\n")
    assert "lexeme  ignored text, which may end here" in run("explain", *grammar, "--text", " ").stdout
    assert "end     the text may end here\n" in run("explain", *grammar, "--text", "a=1;").stdout
    (tmp_path / "text").write_bytes(b"a=\xff")
    result = run("explain", *grammar, "--text-file", tmp_path / "text")
    assert result.exit_code == 1
    assert "1:3, byte 2" in result.stdout
    assert run("explain", *grammar, "--text-file", "-", stdin=b"a=((1").stdout.startswith("text    a=((1▮")


def test_an_ambiguous_ebnf_grammar(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "g.ebnf").write_text('root ::= list | "[" [a-z]+ "]!"\nlist ::= "[" (item ",")* item "]"\nitem ::= list | [a-z]+\n')
    result = run("explain", tmp_path / "g.ebnf", "-t", tokenizer, "--text", "[ab")
    assert result.exit_code == 0
    assert "reading 1 of 2" in result.stdout
    assert "reading 2 of 2" in result.stdout
    result = run("explain", tmp_path / "g.ebnf", "-t", tokenizer, "--text", "[a]")
    assert "end     the text may end here\n" in result.stdout
    result = run("explain", tmp_path / "g.ebnf", "-t", tokenizer, "--text", "[a,b]!")
    assert result.exit_code == 1


def test_forced_text(run: Run, tokenizer: Path) -> None:
    result = run("explain", "json", "-t", tokenizer, "--text", "[fal")
    assert "forced  'se' is all that can come next\n" in result.stdout


def test_without_the_tokenizer(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.json"
    moved.write_bytes(tokenizer.read_bytes())
    assert run("compile", "json", "-t", moved, "-o", tmp_path / "json.psc").exit_code == 0
    moved.unlink()
    result = run("explain", tmp_path / "json.psc", "--text", "[")
    assert result.exit_code == 0
    assert "psc: note: the tokenizer was not found" in result.stderr
    assert "are allowed" in result.stdout


def test_usage(run: Run, assignments: Path, tmp_path: Path) -> None:
    result = run("explain", assignments, "--text", "a", "--text-file", "-")
    assert result.exit_code == 2
    result = run("explain", "json")
    assert result.exit_code == 2
    assert "--tokenizer" in result.stderr
    result = run("explain", assignments, "--text-file", tmp_path / "nothing")
    assert result.exit_code == 1
    assert result.stderr == f"psc: error: {tmp_path / 'nothing'}: cannot read the file: No such file or directory\n"


def test_tokens_by_their_text(run: Run, grammar: tuple[object, ...], tokenizer: Path) -> None:
    ids = [token_id(tokenizer, text) for text in ("();", "=")]
    by_id = run("explain", *grammar, "--text", "a = ", "--token", ids[0], "--token", ids[1])
    by_text = run("explain", *grammar, "--text", "a = ", "--token-text", "();", "--token-text", "=")
    assert by_id.exit_code == by_text.exit_code == 1 and by_id.stdout == by_text.stdout
    stop = run("explain", *grammar, "--text", "a = 1;", "--token-text", "<|endoftext|>")
    assert stop.exit_code == 0 and "<|endoftext|>: allowed" in stop.stdout
    absent = run("explain", *grammar, "--token-text", "();nothing")
    assert absent.exit_code == 1
    assert "no token of the vocabulary is '();nothing'; the longest that it begins with is '();'" in absent.stderr
