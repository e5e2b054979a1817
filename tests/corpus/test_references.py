"""Reference parsers: what each takes and refuses, and where; those that are not installed are skipped."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from psc.compiler.grammars import bundled_path
from psc.corpus.references.conversation import Conversation
from psc.corpus.references.gcc import Gcc
from psc.corpus.references.registry import OTHER_PYTHON, find_reference, language_of, open_reference
from psc.errors import ReferenceMissingError, ReferenceParserError

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
    "mysqld": (
        [
            "SELECT a FROM nowhere; DELETE FROM t;",
            "-- nothing",
            "create procedure p() begin select 1; select x; end",
            "lock tables t read",
            "create table t (a int) engine = nothing_known",
        ],
        ["SELECT 1 FROM", "SELECT 1; SELEC 2", "create procedure p() begin select 1; select 2 end", "begin not atomic end"],
    ),
    "mariadbd": (
        [
            "SELECT a FROM nowhere; DELETE FROM t;",
            "begin not atomic select 1; end",
            "create trigger a before insert on b for each row set new.c = 1",
        ],
        ["SELECT 1 FROM", "SELECT 1; SELEC 2", "create procedure p() begin select 1; select 2 end", "lock instance for backup"],
    ),
    "mysqld-or-mariadbd": (["SELECT 1"], ["SELEC 1"]),
    "lightningcss": (["a { b: c; d:hover { e: f } }", ""], ["a { b c }", "a > { b: c }", "a { b: c", "a { b: 'c }"]),
    "css-tree": (["a { color: red; top: var(--b) }"], ["a { color: red red }", "a { color red }"]),
    "nu-html": (
        ["<p>a<p>b", "<!doctype html><title>a</title><style>a { b: c }</style>", '<script type="application/json">[1]</script>'],
        ["<b><i></b></i>", "<html></html>", "<style>a { b c }</style>", '<script type="importmap">{a: 1}</script>'],
    ),
    "node": (["var x = 1", "import a from 'a'; await a"], ["var x = ;", "import"]),
    "typescript": (
        ["let a: B[]", "export const c: D<E>", "class A { public private b }"],
        ["let a: = 1", "class A { static static b }"],
    ),
    "typescript-checked": (["let a: B[]"], ["let a: = 1", "class A { public private b }"]),
    "typescript-jsx": (["x = <a b='c'>d</a>"], ["x = <a>", "x = <a></b>", "let a: B[]"]),
    "typescript-tsx": (["let a: B[] = <c<D>>{e!}</c>"], ["x = <a>b", "x = <a></b>", "x = <T>(a) => a"]),
    "javac": (["class A { int é; }", ""], ["class A { int }", "class A {} import b.c;", "class A { int a = 1_; }"]),
    "kotlinc": (
        ["class A { val é: Unknown }", "fun f() { a.b = c; while (d); { e -> f }; fun() { } }", "", "val a = 1\r\n"],
        ["class A { val }", "val a = (b = c)", "val a = fun b() { }", "fun f() { a.1 }", "fun f() { a + b = c }", "fun () { }"],
    ),
    "gcc": (["int f(void) { return nothing; }", '# 1 "a.h"\n\nint a;', ""], ["int a", "a b;", "f() { }", "int f(void) { 1 2; }"]),
    "g++": (
        ["template <class T> T f(T a) { return a < 1 ? a : T(); }", '# 1 "a.h"\n\nint a;', ""],
        ["int a", "a b;", "f() { }", "int f() { 1 2; }", "int f() { return nothing; }"],
    ),
    "rustc": (
        ["mod nowhere; fn f() -> Unknown { m!(a => 'b) }", "fn f() { if let A = b && c {} }", ""],
        ["fn f( {}", "fn f() { let a = 1 let b; }", 'fn f() { print!(f"a") }', 'r#"'],
    ),
    "roslyn": (
        ["class A { Unknown b() => c(); }", "var a = 1;", "", "a?.b(); typeof(A<,>).c();"],
        ["class A { int }", "1 + 2;", "a?.b;", "a(); namespace B;", "new A<>();", "a.b;\u00e9"],
    ),
    "bash": (["echo $UNKNOWN; a() { b; }", "", "cat <<A\nA"], ["if true", "then", "echo 'a", "cat <<A\na", "\nfor; do"]),
    f"{OTHER_PYTHON}{sys.executable}": (["x = 1\n", "", "# \U0001f600\n"], ["x = \n", "def f(:\n", "\0"]),
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


def test_names_that_c_does_not_declare_are_no_errors() -> None:
    """Nor does one hide an error of syntax that follows it."""
    taken = [
        "int f(void) { return a->b + c[d] * e(g); }",
        "int f(void) { return (size_t) x + sizeof(uint8_t); }",
        "void f(void) { goto nowhere; x.y = z; break; }",
        "int f(void) { return (first) ((second) x); }",
    ]
    refused = [
        "void f(void) { x = ; }",
        "void f(void) { x = 1; y(; }",
        "void f(void) { (size_t) x; y = ; }",
        "int f(void) { return a; }\n}",
        "nothing_known x;",
    ]
    assert installed("gcc")([*taken, *refused]) == [True] * len(taken) + [False] * len(refused)


def test_another_python_is_not_there() -> None:
    with pytest.raises(ReferenceMissingError, match="there is no Python at /nowhere/python"):
        open_reference(f"{OTHER_PYTHON}/nowhere/python", bundled_path("python"))


# Answers "late" three seconds later, and all else at once.
SLOW = """
import sys, time
while size := sys.stdin.buffer.read(4):
    if sys.stdin.buffer.read(int.from_bytes(size, "big")) == b"late":
        time.sleep(3)
    print(flush=True)
"""


def test_a_text_that_takes_too_long_is_not_judged() -> None:
    """And those after it are, by a parser that is started again."""
    conversation = Conversation([sys.executable, "-c", SLOW], "slow", seconds=0.3)
    try:
        first, late, last = conversation.judge(["first", "late", "last"])
        assert first is None and last is None
        assert late is not None and not late.judged and late.message == "no answer in 0.3 s"
    finally:
        conversation.close()


def test_a_text_that_takes_gcc_too_long_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "gcc"
    program.write_text('#!/bin/sh\ncase "$*" in *-dumpfullversion*) echo 12;; *) exec sleep 5;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (refusal,) = Gcc(seconds=0.2).judge(["int a;"])
    assert refusal is not None and not refusal.judged


def test_a_text_that_takes_rustc_too_long_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rustc"
    program.write_text('#!/bin/sh\ncase "$*" in *--version*) echo rustc 1.95;; *) [ -z "$(cat)" ] || exec sleep 5;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    rustc = open_reference("rustc", bundled_path("rust"), seconds=0.2)
    (refusal,) = rustc.judge(["fn f() {}"])
    assert refusal is not None and not refusal.judged


def test_statements_are_never_run(tmp_path: object) -> None:
    assert installed("sqlite3")([f"ATTACH '{tmp_path}/made.db' AS other; CREATE TABLE t (a);"]) == [True]
    assert not list(tmp_path.iterdir())


def test_what_sqlite_does_not_read_to_the_end_is_not_judged() -> None:
    unknown = ["CREATE TABLE other.t (a, , b)", "CREATE TRIGGER x AFTER INSERT ON nowhere BEGIN SELECT 1; END;"]
    read = ["SELECT a FROM other.t;", "DROP TABLE other.t", "PRAGMA a = b;", "ATTACH 'a' AS b;", "ALTER TABLE t RENAME TO u;"]
    verdicts = open_reference("sqlite3", bundled_path("sqlite")).judge([*unknown, *read])
    assert [v is None or v.judged for v in verdicts] == [False] * len(unknown) + [True] * len(read)
    assert verdicts[len(unknown) :] == [None] * len(read)


@pytest.mark.parametrize("name", ["mysqld", "mariadbd"])
def test_what_a_server_does_not_read_to_the_end_is_not_judged(name: str) -> None:
    try:
        reference = open_reference(name, bundled_path("mysql"))
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    try:
        unknown, whole, broken = reference.judge(["set nothing_known = 1 1", "select nothing_known", "select 1;\n select 1 1"])
        assert unknown is not None and not unknown.judged and "nothing_known" in unknown.message
        assert whole is None
        assert broken is not None and broken.judged and (broken.line, broken.column) == (2, 11)
    finally:
        reference.close()


def test_a_server_of_another_maker_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, maker in (("mysqld", "MariaDB"), ("mariadbd", "MySQL")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho mysqld  Ver 9.0.1-{maker} for Linux\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("mysqld", "mariadbd", "mysqld-or-mariadbd"):
        with pytest.raises(ReferenceMissingError, match="install m"):
            open_reference(name, bundled_path("mysql"))


def test_a_server_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mariadbd"
    program.write_text('#!/bin/sh\ncase "$*" in *--version*) echo "Ver 10.1.2-MariaDB";; *) echo no room left >&2; exit 1;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    reference = open_reference("mariadbd", bundled_path("mysql"))
    assert reference.version == "MariaDB 10.1.2"
    with pytest.raises(ReferenceParserError, match="no room left"):
        reference.judge(["select 1"])


def test_lark_is_asked_where_nothing_else_knows_the_language() -> None:
    assert language_of("unknown").references == ("lark",)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ReferenceMissingError, match="java: javac: no Java compiler in JAVA_HOME or on the PATH"):
        find_reference(("javac",), bundled_path("java"))
    assert find_reference(("gofmt", "json"), bundled_path("json")) == ("json", ["gofmt: no gofmt on the PATH"])
