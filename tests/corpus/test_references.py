"""Reference parsers: what each takes and refuses, and where; those that are not installed are skipped."""

from collections.abc import Callable

import pytest

from psc.compiler.grammars import bundled_path
from psc.corpus.references.registry import find_reference, language_of, open_reference
from psc.errors import ReferenceMissingError

CASES = {
    "ast": (["x = 1\n", ""], ["x = \n", "def f(:\n"]),
    "json": (['{"a": [1, null]}', "1"], ["", "[1,]", "NaN"]),
    "tomllib": (["a = 1", ""], ["a", "a = 1\na = 2"]),
    "expat": (["<a/>", "<?xml version='1.0' encoding='latin-1'?><a>é</a>"], ["<a></b>", "<a>&b;</a>"]),
    "csv": (['a,"b ""c"" "', ""], ['a"b', '"a" b', '"a']),
    "markdown-it": (["```json\n1\n```", "a", "~~~\nb\n~~~~"], ["```json\nb\n```", "```\n1", "> ```\n> b"]),
    "graphql-core": (["{a}", "type A {b: C}"], ["", "{}", "{a"]),
    "sqlite3": (
        ["SELECT a FROM nowhere; DELETE FROM t;", "-- nothing", ";", "/* a */ EXPLAIN SELECT 1", "CREATE TABLE t (a int) STRICT"],
        ["SELECT FROM t", "SELECT 1; SELEC 2;", "SELECT (1", "CREATE TABLE t (a int) nothing like it", "CREATE TABLE t (a,, b)"],
    ),
    "pglast": (["SELECT a FROM nowhere; DELETE FROM t;"], ["SELECT 1 FROM", "SELEC 2"]),
    "zetasql": (["select a.select from t-1.d.e; begin end", "-- nothing"], ["select from t", "select 1; selec 2", "select a b c"]),
    "sqlglot": (
        ["SELECT `a` FROM t LIMIT 1, 2; DELETE FROM t"],
        ["SELECT 1 FROM", "SELEC 2", "OPTIMIZE TABLE t"],
    ),
    "node": (["var x = 1", "import a from 'a'; await a"], ["var x = ;", "import"]),
    "typescript": (["let a: B[]", "export const c: D<E>"], ["let a: = 1", "class A { static static b }"]),
    "typescript-jsx": (["x = <a b='c'>d</a>"], ["x = <a>", "x = <a></b>", "let a: B[]"]),
    "typescript-tsx": (["let a: B[] = <c<D>>{e!}</c>"], ["x = <a>b", "x = <a></b>", "x = <T>(a) => a"]),
    "javac": (["class A { int é; }", ""], ["class A { int }", "class A {} import b.c;", "class A { int a = 1_; }"]),
    "gcc": (["int f(void) { return nothing; }", '# 1 "a.h"\n\nint a;', ""], ["int a", "a b;", "f() { }", "int f(void) { 1 2; }"]),
    "gofmt": (["package p\n\nfunc f() {}\n"], ["", "package p\nfunc f( {}\n", "package p\n//line x.go:1\nfunc f( {}\n"]),
}


def installed(name: str) -> Callable[..., list[bool]]:
    try:
        reference = open_reference(name, bundled_path("java"))
    except ReferenceMissingError as e:
        pytest.skip(str(e))

    def judge(texts: list[str]) -> list[bool]:
        try:
            return [refusal is None for refusal in reference.judge(texts)]
        finally:
            reference.close()

    return judge


@pytest.mark.parametrize("name", CASES)
def test_takes_and_refuses(name: str) -> None:
    valid, invalid = CASES[name]
    assert installed(name)([*valid, *invalid]) == [True] * len(valid) + [False] * len(invalid)


def test_a_refusal_has_its_place() -> None:
    for name, text in (
        ("json", "[\n 1 2]"),
        ("ast", "\n1 2"),
        ("tomllib", "\n1 2"),
        ("expat", "<a>\n <"),
        ("csv", 'a\n"b" c'),
        ("lark", "class A {\n 1 2}"),
    ):
        reference = open_reference(name, bundled_path("java"))
        (refusal,) = reference.judge([text])
        assert refusal is not None and refusal.line == 2 and refusal.message
        assert reference.version


def test_statements_are_never_run(tmp_path: object) -> None:
    assert installed("sqlite3")([f"ATTACH '{tmp_path}/made.db' AS other; CREATE TABLE other.t (a);"]) == [True]
    assert not list(tmp_path.iterdir())


def test_lark_is_asked_where_nothing_else_knows_the_language() -> None:
    assert language_of("unknown").references == ("lark",)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ReferenceMissingError, match="java: javac: no Java compiler in JAVA_HOME or on the PATH"):
        find_reference(("javac",), bundled_path("java"))
    assert find_reference(("gofmt", "json"), bundled_path("json")) == ("json", ["gofmt: no gofmt on the PATH"])
