"""Comparisons: a grammar that is wrong on purpose is found out, by construct."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tokenizer_files import write_tokenizer

from psc.cli import main

# JSON without `null`, and with a comma after the last element.
WRONG = """\
start: value
?value: object | array | STRING | NUMBER | "true" | "false"
object: "{" "}" | "{" pair ("," pair)* "}"
pair: STRING ":" value
array: "[" "]" | "[" value ("," value)* ","? "]"
STRING: /"([^"\\\\\\x00-\\x1f]|\\\\.)*"/
NUMBER: /-?(0|[1-9][0-9]*)/
%ignore /[ \\n]+/
"""
FILES = {"good.json": '{"a": [1, 2], "b": [{}, [true, 3]]}', "nothing.json": "[null]", "last.json": "[1, 2,]", "bad.json": "[1 2]"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin1.json").write_bytes(b'"\xe9"')
    (tmp_path / "wrong.lark").write_text(WRONG)
    return tmp_path


def bench(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["bench", "corpus", *map(str, arguments)], catch_exceptions=False)


def test_a_wrong_grammar_is_found_out(corpus: Path) -> None:
    result = bench(corpus / "wrong.lark", corpus, "--suffix", ".json", "--reference", "json", "--jobs", 1, "--json")
    report = json.loads(result.stdout)
    assert report["files"] == {"accepted": 2, "of_these_refused": 1, "refused": 2, "of_these_accepted": 1}
    assert report["not UTF-8"] == 1
    found = {(Path(d["text"]).name, d["refused_by"], d["construct"]) for d in report["differences"]}
    # Python's parser gives its reason in words that differ between versions.
    assert {(name, by) for name, by, _ in found} == {("nothing.json", "psc"), ("last.json", "reference")}
    assert ("nothing.json", "psc", "[ before NAME") in found


def test_what_two_parsers_judge_alike_is_counted_for_itself(corpus: Path) -> None:
    # Lark over the wrong grammar agrees with Python's parser on what the grammar has right.
    options = (corpus / "wrong.lark", corpus, "--suffix", ".json", "--reference", "json", "--second", "lark", "--jobs", 1)
    report = json.loads(bench(*options, "--json").stdout)
    assert report["files"] == {"accepted": 2, "of_these_refused": 1, "refused": 2, "of_these_accepted": 1}
    assert report["files on which both agree"] == {"accepted": 1, "of_these_refused": 0, "refused": 1, "of_these_accepted": 0}
    assert not any(d["agreed"] for d in report["differences"])
    assert f"| files on which {report['second']} agrees | 1 | 0 | 0.00 % | 1 | 0 | 0.00 % |" in bench(*options).stdout
    alike = json.loads(bench(*options[:-3], "json", "--jobs", 1, "--json").stdout)
    assert alike["second"] is None  # the same parser twice is one


@pytest.mark.parametrize("jobs", [1, 2])
def test_mutants_are_judged_and_repeatable(corpus: Path, jobs: int) -> None:
    options = (corpus / "wrong.lark", corpus, "--suffix", ".json", "--reference", "json", "--mutants", 100, "--seed", 5)
    shares = [json.loads(bench(*options, "--jobs", n, "--json").stdout)["mutants"] for n in (1, jobs)]
    assert shares[0] == shares[1]
    assert shares[0]["of_these_accepted"] > 0  # a comma doubled or moved behind the last element
    assert shares[0]["accepted"] + shares[0]["refused"] == 100  # those of the one file that both accept


def test_the_bundled_json_has_no_difference(corpus: Path) -> None:
    result = bench("json", corpus, "--mutants", 200, "--jobs", 1)
    assert result.exit_code == 0
    assert "only" not in result.stdout and "| files | 2 | 0 | 0.00 % | 2 | 0 | 0.00 % |" in result.stdout


def test_token_by_token(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    tokenizer = write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "small.json", [bytes([b]) for b in range(256)])
    result = bench("json", corpus, "--tokenizer", tokenizer, "--mutants", 20, "--jobs", 1)
    assert result.exit_code == 0 and "mask" not in result.stdout


@pytest.mark.parametrize(("options", "accepted"), [((), 1), (("--lexer", "basic"), 0)])
def test_a_lexer_is_psc_s_and_lark_s(tmp_path: Path, options: tuple[str, ...], accepted: int) -> None:
    """A keyword is a name where the parser cannot take it, with the contextual lexer alone."""
    (tmp_path / "words.lark").write_text('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "\n')
    (tmp_path / "a.words").write_text("if if")
    report = json.loads(bench(tmp_path / "words.lark", tmp_path, "--jobs", 1, "--json", *options).stdout)
    assert report["files"] == {"accepted": accepted, "of_these_refused": 0, "refused": 1 - accepted, "of_these_accepted": 0}


def test_texts_are_cut_and_sampled(tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text("[1]\n{}\n\n[x]\n[3]")
    report = json.loads(bench("json", tmp_path, "--split", r"\n", "--jobs", 1, "--json").stdout)
    assert report["files"] == {"accepted": 3, "of_these_refused": 0, "refused": 1, "of_these_accepted": 0}


def test_a_grammar_that_is_refused_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "bad.lark").write_text("start: missing")
    for i in range(2):
        (tmp_path / f"{i}.bad").write_text("")
    for jobs in ("1", "2"):
        result = CliRunner().invoke(
            main, ["bench", "corpus", str(tmp_path / "bad.lark"), str(tmp_path), "--reference", "json", "-j", jobs]
        )
        assert result.exit_code == 1 and "psc: error:" in result.stderr and "missing" in result.stderr


def test_no_files_is_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["bench", "corpus", "json", str(tmp_path)])
    assert result.exit_code == 2 and "no files that end in .json" in result.stderr


def test_a_name_with_an_option_has_its_grammars_lexer(tmp_path: Path) -> None:
    """Python's lexer knows what a line end within brackets is."""
    (tmp_path / "a.py").write_text("def f():\n    return {\n        1: 2,\n    }\n")
    result = bench("python?layout=bounded", tmp_path, "--jobs", 1, "--json")
    assert json.loads(result.stdout)["files"] == {"accepted": 1, "of_these_refused": 0, "refused": 0, "of_these_accepted": 0}
