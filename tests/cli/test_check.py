"""``psc check``: files pass, or stop where the parser stops; everything else that can go wrong is said."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from vocabularies import byte_tokenizer

import psc
from psc import Grammar
from psc.cli.check import checker_for
from psc.cli.grammars import open_compiled
from psc.compiler.pipeline.build import describe
from psc.inspection import checking
from psc.inspection.checking import Checker, line_and_column
from psc.inspection.expected import Names

Run = Callable[..., Result]

STOPS = [
    ("a = = 1;", 4, 1, 5, "'='", ["NAME", "NUMBER", '"none"', '"("']),
    ("a = b", 5, 1, 6, "end of file", ['";"']),
    ("a = 1;\nb c;", 9, 2, 3, "'c'", ['"="']),
    ("a = 1;\n\nbé = é é;", 17, 3, 8, "'é'", ['";"']),  # columns count characters
    ("a = ((1;", 7, 1, 8, "';'", ['")"']),
    ("", 0, 1, 1, "end of file", ["NAME"]),
    ("a = 1; # c", 7, 1, 8, "'#'", ["NAME", "end of file"]),
    ("a = (b\n", 7, 2, 1, "end of file", ['")"']),
    ("a = bB;", 5, 1, 6, "'B' in 'bB'", ['";"']),
    ("a = è;", 5, 1, 5, "'è'", ["NAME"]),  # the second byte is wrong; the column is the character's
    (b"a = \xff;", 4, 1, 5, None, ["NAME", "NUMBER", '"none"', '"("']),
]


@pytest.fixture(scope="module")
def checker(assignments: Path) -> Checker:
    checker, remark = checker_for(open_compiled(str(assignments), None))
    assert remark is None
    return checker


@pytest.mark.parametrize(("text", "offset", "line", "column", "found", "expected"), STOPS)
@pytest.mark.parametrize("by_tokens", [True, False])
def test_stops(
    checker: Checker,
    text: str | bytes,
    offset: int,
    line: int,
    column: int,
    found: str | None,
    expected: list[str],
    by_tokens: bool,
) -> None:
    used = Checker(checker.compiled, checker.segmenter if by_tokens else None)
    result = used.check(text if isinstance(text, bytes) else text.encode())
    assert result.disagreement is None
    stop = result.stop
    assert stop is not None
    assert (stop.offset, stop.line, stop.column) == (offset, line, column)
    assert found is None or stop.found == found
    assert list(stop.expected) == expected


@pytest.mark.parametrize("text", ["a=1;", " a = none;\nb = ((nonen));\n", "é = a;", "none = none;"])
def test_passes(checker: Checker, text: str) -> None:
    result = checker.check(text.encode())
    assert result.passed
    assert result.bytes == len(text.encode())
    assert result.tokens <= result.bytes


@pytest.mark.parametrize(
    ("grammar", "names"),
    [
        (
            Grammar.from_ebnf(r'root ::= "1" root "\n" | "\t" root ")" | "a\\b" root "é" | [0-9]'),
            {'"1"', r'"\n"', r'"\t"', r'"a\b"', '")"', '"é"', "/[0-9]/"},
        ),
        (
            Grammar.from_lark('start: "(?i:x)" | "select"i | "\\n" | WORD\nWORD: /[a-z]\\d/\n'),
            {'"(?i:x)"', '"select"i', r'"\n"', "WORD"},
        ),
    ],
)
def test_strings_are_called_by_their_text(grammar: Grammar, names: set[str]) -> None:
    metadata = describe(grammar.to_cfg(), byte_tokenizer())
    assert set(Names(metadata).of) == names | {"end of file"}


@pytest.mark.parametrize(
    ("data", "offset", "place"),
    [(b"", 0, (1, 1)), (b"ab\ncd", 2, (1, 3)), (b"ab\ncd", 3, (2, 1)), (b"ab\n", 3, (2, 1)), ("é€x".encode(), 5, (1, 3))],
)
def test_line_and_column(data: bytes, offset: int, place: tuple[int, int]) -> None:
    assert line_and_column(data, offset) == place


def test_files(run: Run, assignments: Path, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("a = 1;")
    (tmp_path / "bad").write_text("a = 1;\nb := 2;")
    result = run("check", assignments, tmp_path / "good", tmp_path / "missing", tmp_path, tmp_path / "bad")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{tmp_path / 'good'}: ok",
        f"{tmp_path / 'missing'}: cannot read the file: No such file or directory",
        f"{tmp_path}: cannot read the file: Is a directory",
        f"{tmp_path / 'bad'}:2:3: found ':=', expected \"=\"",
    ]
    assert "1 of 4 files passed" in result.stderr
    assert run("check", assignments, tmp_path / "good").exit_code == 0


def test_annotations_for_a_workflow(run: Run, assignments: Path, tmp_path: Path) -> None:
    bad, odd = tmp_path / "bad", tmp_path / "a,b: 100%"
    bad.write_text("a = 1;\nb %% 2;")
    odd.write_text("a = ;")
    (tmp_path / "good").write_text("a = 1;")
    result = run("check", assignments, tmp_path / "good", bad, odd, tmp_path / "missing", "--format", "github")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"::error file={bad},line=2,col=3,title=psc check::found '%25%25', expected \"=\"",
        f'::error file={tmp_path}/a%2Cb%3A 100%25,line=1,col=5,title=psc check::found \';\', expected NAME, NUMBER, "none", "("',
        f"::error file={tmp_path / 'missing'},title=psc check::cannot read the file: No such file or directory",
    ]
    assert run("check", assignments, tmp_path / "good", "--format", "github").stdout == ""


def test_sarif(run: Run, assignments: Path, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("a = 1;")
    (tmp_path / "b ad").write_text("a = 1;\nbé é;")
    result = run("check", assignments, tmp_path / "good", tmp_path / "b ad", tmp_path / "missing", "--format", "sarif")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    [ran] = document["runs"]
    assert document["version"] == "2.1.0" and ran["columnKind"] == "unicodeCodePoints"
    assert {r["ruleId"] for r in ran["results"]} < {rule["id"] for rule in ran["tool"]["driver"]["rules"]}
    refused, unread = ran["results"]
    assert refused["ruleId"] == "refused" and refused["message"]["text"] == "found 'é', expected \"=\""
    [place] = refused["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": f"{tmp_path}/b%20ad"},
        "region": {"startLine": 2, "startColumn": 4, "byteOffset": 11},
    }
    assert unread["ruleId"] == "unreadable" and "region" not in unread["locations"][0]["physicalLocation"]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A language that no lexer cuts: "the" may be a word, or the beginning of one. Nested, so that it is not one terminal."""
    (tmp_path / "words.ebnf").write_text('root ::= word (", " word)*\nword ::= [a-z]+ | "the " [a-z]+ | "(" root ")"\n')
    return tmp_path / "words.ebnf"


def test_a_grammar_instead_of_an_artifact(run: Run, assignments: Path, words: Path, tokenizer: Path, tmp_path: Path) -> None:
    """Built just in time, for any kind of grammar; what an artifact has decided can be decided here."""
    (tmp_path / "text").write_text("none = 1;")
    lark = assignments.with_suffix(".lark")
    assert run("check", lark, "-t", tokenizer, tmp_path / "text").stdout == f"{tmp_path / 'text'}: ok\n"
    # With all terminals the lexeme is the string; more letters would make it a name.
    result = run("check", lark, "-t", tokenizer, "--lexer", "basic", tmp_path / "text")
    assert result.stdout == f"{tmp_path / 'text'}:1:5: found ' ', expected NAME\n"
    assert run("check", lark, "-t", tokenizer, "--start", "value", "-", stdin=b"((1))").exit_code == 0
    assert run("check", "json", "-t", tokenizer, "-", stdin=b"[1, {}]").exit_code == 0
    assert run("check", "json", "-t", tokenizer, "-", stdin=b"[1, {}]\n").exit_code == 0  # the end of a file's last line
    result = run("check", "json", "-t", tokenizer, "-", stdin=b"[1, {}]\n\n")
    assert result.stdout == "<stdin>:1:8: found '\\n', expected end of file\n"
    assert run("check", words, "-t", tokenizer, "-", stdin=b"a, (the b, the)").exit_code == 0
    result = run("check", words, "-t", tokenizer, "-", stdin=b"a, the b,c")
    assert result.stdout == "<stdin>:1:10: found 'c', expected \", \"\n"


def test_usage(run: Run, assignments: Path, words: Path, tokenizer: Path) -> None:
    result = run("check", assignments, "-", "--json", "--format", "sarif", stdin=b"1")
    assert result.exit_code == 2 and "exclude each other" in result.stderr
    result = run("check", "json", "-", stdin=b"1")
    assert result.exit_code == 2
    assert "--tokenizer" in result.stderr
    result = run("check", assignments, "-", "--lexer", "basic", stdin=b"1")
    assert result.exit_code == 2
    assert "when it was compiled" in result.stderr
    result = run("check", words, "-", "-t", tokenizer, "--lexer", "basic", stdin=b"1")
    assert result.exit_code == 1
    assert "no lexer to choose" in result.stderr
    result = run("check", "jsn", "-", "-t", tokenizer, stdin=b"1")
    assert result.exit_code == 1
    assert "Did you mean 'json'?" in result.stderr


def test_standard_input_and_json(run: Run, assignments: Path) -> None:
    result = run("check", assignments, "-", "--json", stdin=b"a = ;")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["notes"] == []
    (file,) = report["files"]
    assert (file["file"], file["passed"], file["bytes"]) == ("<stdin>", False, 5)
    assert file["stop"] == {
        "offset": 4,
        "line": 1,
        "column": 5,
        "found": "';'",
        "expected": ["NAME", "NUMBER", '"none"', '"("'],
    }


def test_another_tokenizer(run: Run, assignments: Path, tokenizer: Path, other_tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("a = 1;")
    assert run("check", assignments, tmp_path / "good", "--tokenizer", tokenizer).exit_code == 0
    result = run("check", assignments, tmp_path / "good", "--tokenizer", other_tokenizer)
    assert result.exit_code == 1
    assert psc.load(assignments).fingerprint in result.stderr
    assert psc.load_tokenizer(other_tokenizer).fingerprint in result.stderr


def test_without_the_tokenizer(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.json"
    moved.write_bytes(tokenizer.read_bytes())
    assert run("compile", "json", "-t", moved, "-o", tmp_path / "json.psc").exit_code == 0
    moved.unlink()
    (tmp_path / "bad").write_text("[1, 2")
    result = run("check", tmp_path / "json.psc", tmp_path / "bad", "--json")
    assert result.exit_code == 1
    assert "read byte by byte" in result.stderr
    report = json.loads(result.stdout)
    assert "read byte by byte" in report["notes"][0]
    assert report["files"][0]["stop"]["expected"] == ["ws", '","', '"]"']
    assert run("check", tmp_path / "json.psc", tmp_path / "bad", "-t", tokenizer, "--json").stderr == ""


def test_disagreement_is_psc_s_fault(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar(checking.GrammarMatcher):
        def accept_token(self, token_id: int) -> bool:
            return super().accept_token(token_id) and token_id != ord("=")

    monkeypatch.setattr(checking, "GrammarMatcher", Liar)
    result = checker.check(b"a=1;")
    assert not result.passed
    assert result.disagreement == "token 61 b'=' at byte 1: mask True, accept_token False, parser True"


def test_damaged_artifact(run: Run, assignments: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.psc").write_bytes(assignments.read_bytes()[:-9])
    result = run("check", tmp_path / "cut.psc", "-", stdin=b"")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"psc: error: {tmp_path / 'cut.psc'}: ")
    assert run("check", assignments).exit_code == 2
