"""The bundled Go grammar: what it accepts, what it rejects, and that its tables stay as its opening comment says.

The tables below are run through Lark itself (LALR(1), basic lexer); `⏎` stands for a line end.  Statements stand in a
function body, declarations follow a package clause, files are whole texts.  Lark's lexer takes the first alternative
that matches and psc's the longest lexeme; the last test holds the two together.
"""

import re
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedCharacters
from lark_verdicts import lark_accepts, lark_warnings

GRAMMAR = Path(__file__).parents[3] / "compiler" / "grammars" / "go.lark"

ACCEPTED_STATEMENTS = r"""
x
x;
;;
x; y
x = 1
x, y = y, x
x, y := f()
a[i], *p = b.c, d
x += 1; x &^= 2; x <<= 3
x++; y--
ch <- x
<-ch
x = <-<-ch
x = -+^!*&y
x = a + b*c - d&^e | f ^ g << 2 && h || i == j
x = a +⏎b
x = a. // why⏎b()
x = a /* no line end */ + b
x = a /* line⏎end */ ⏎ y = b
f(⏎a,⏎b,⏎)
f(a, b...)
f(xs...,⏎)
f()()[1](x).y.z
x.(T)
x.(*T).y = v.(interface{ M() })
v, ok := m[k].(map[string][]int)
a[1]; a[:]; a[1:]; a[:2]; a[1:2]; a[:2:3]; a[1:2:3]
x = T{}
x = T{1, 2}
x = T{a: 1, b: {2}, "c": T{}, [2]int{}: nil,⏎}
x = &p.T{⏎a: 1,⏎}
x = []int{1, 2}
x = [...]string{2: "a", "b"}
x = [N]int{}; x = [2][3]int{{1}, {2, 3}}
x = map[K]V{k: v}
x = map[string]func() T{"a": f}
x = struct{ a, b int }{1, 2}
x = struct{}{}
x = List[int]{}; x = Pair[int, []string]{1, nil}; x = p.List[int]{}
x = F[int](1)
x = G[[]int, map[string]*T](a)
x = []byte("a"); x = (*T)(p); x = (<-chan int)(c); x = chan int(c); x = interface{}(x); x = (func())(f)
x = new(func(int) int); x = make(chan<- int, 1); x = make(<-chan int); x = new(*[]int); x = make([]chan (<-chan T), 1)
x = func() {}
x = func(a, b int, c ...string) (n int, err error) { return 1, nil }
x = func() []int { return nil }()
x = (T).M; x = (*T).M; x = T.M
x = 1 + 0x1F + 0b11 + 0o17 + 017 + 1_000 + 0x_f + 0x1p-2 + 0X1.8P+1 + 0x.8p1
x = 1. + .5 + 1.5e3 + 1e-9 + 08.5 + 1i + 0128i + 1.5i + 0x1i + 1_0.2_5
x = 'a' + '\n' + '\'' + '\x41' + '\377' + 'é' + '\u00e9' + '\U0001F600' + '"'
x = "a\"b\\" + `raw \⏎"quoted"` + "" + "é\t'"
var x int
var x, y = 1, 2
var x [3]int = y
var (⏎x int⏎y, z = 1, 2⏎)
const c = iota
const (⏎a T = 1 << iota⏎b⏎c; d⏎)
type T struct{}
type (⏎A = B⏎C []D⏎)
go f()
defer func() {}()
return
return 1, x
{ x }
{}
{⏎⏎x⏎⏎;⏎}
break
L: for { break L }
L:⏎for { continue L }
L: ; goto L
{ L: }
goto⏎L
if x {}
if x := f(); x > 0 {} else if y {} else {}
if x := f()⏎x > 0 {}
if ; x {}
if x == (T{}) {}
if f(T{}, func() { g() }) {}
if x == [2]int{1, 2} {}
if a[T{}.x] {}
if v, ok := m[k]; !ok {}
if err := f(func() error { return nil }); err != nil {}
if x {⏎} else {⏎}
if⏎x {}
for {}
for x {}
for i := 0; i < n; i++ {}
for ;; {}
for ; x; {}
for i := 0; ; {}
for ;; i++ {}
for i := 0⏎i < n⏎i++ {}
for i, x = range xs {}
for range ch {}
for k := range map[string]int{"a": 1} {}
for _, c := range []struct{ a int }{{1}, {2}} {}
for x != nil { x = x.next }
switch {}
switch x {⏎case 1, 2: f(); g()⏎case 3:⏎default:⏎h()⏎}
switch x := f(); x {⏎case T{}:⏎fallthrough⏎default:⏎}
switch x := f(); {⏎case x > 1:⏎}
switch ; x {}
switch x.(type) {⏎case nil, int, []T, *p.T, func(int) string, map[K]V, chan int, <-chan int, struct{}:⏎}
switch v := f().x[1].(type) {⏎case interface{ M() }: return v⏎}
switch a := 1; v := x.(type) {}
switch (x).(type) {}
switch f := func() bool { return true }; f() {}
select {}
select {⏎case x := <-c:⏎case x, ok = <-c:⏎case c <- v:⏎case <-c:⏎f()⏎default:⏎}
x = func() int(f); x = func(a int) []T(f)(b)
x = struct{ T }.M; interface{ M() }.M(x)
for range func() int(f) {}
for i, j, k = 0, 1, 2; i < j; i, j = j, i {}
for i, j, k := 0, 1, 2; ; i++ {}
for a[i], b.c = range x {}
switch x { case 1: f(); case 2: ; case 3: ;; default: g() }
switch x { case 1: L: ; case 2: {⏎}⏎default: L: }
L:⏎f()
L:⏎;⏎f()
x = "" + ``
x = y // comment
x /* a */ = /* b **/ y /***/
_ = αβγ世界
"""

REJECTED_STATEMENTS = r"""
x +
x y
x y = 1
x = = 1
x := ⏎
x ⏎ .y()
f(a⏎)
f(,)
f(...)
f(a b)
f(a..., b)
a[]
a[1::2]
a[::]
a[1:2:]
x = []int
x = *
x = T{1 2}
x = T{⏎1⏎}
x = interface{}{}
x = (T{)
x = [...]int(y)
x = y++
++x
x++ + 1
x ? y : z
x = y.(type)
x.(type)
while x {}
if x
if {}
if x; {}
if x == T{} {}
if x == T{1} { f() }
if (x := 1) {}
if x {⏎}⏎else {}
if x⏎{}
if x { y
if x } {
for i := 0; i < n {}
for i := 0; i < n; i++⏎{}
for x := range y; z {}
for range {}
switch x { y }
switch x { case: }
switch x { case 1 }
switch x := y.(type); z {}
switch { default }
select { case: }
select x {}
case x:
break x y
goto
fallthrough x
var x
var x int y
const c int
type T
func f() {}
x = 08
x = 1__0
x = 0x
x = 1e
x = 0b2
x = 'ab'
x = ''
x = '\"'
x = "\'"
x = "\q"
x = "\400"
x = "a⏎b"
x = `a
x = "a
x = #
x = @y
x = a $ b
return } {
import "a"
chan = 1
x = if
x = func() int
switch x { case 1: f() case 2: g() }
switch x { case 1: {} default: }
switch x { case 1: L: case 2: }
switch x {⏎case 1:⏎L:⏎case 2:⏎}
select { case <-c: f() case c <- d: }
select { case <-c: f() default: }
for i := 0; i < n; i := 1 {}
for i, j, k := range x {}
for i, j, k = range x {}
switch x, y := z.(type) {}
x = func(a int, T) {}
x = a﻿b
"""

ACCEPTED_DECLARATIONS = r"""
import "a"
import a "b"; import . "c"; import _ "d"
import (⏎"a"⏎b "c"⏎)⏎import ()⏎var x int
var x, y int
var x = func() int { return 1 }
var f func(int, ...string) (int, error)
var f func() func() <-chan int
var c chan<- <-chan int; var d <-chan (<-chan int); var e chan chan T; var g chan <-chan T
var m map[string]map[p.K][2][]*T
var a [N*2 + len("x")]int
var p *(T)
var l List[int]; var q p.Pair[K, *V]
var s = []func(){}; var t = []func() int{}
const a, b = 1, 2
type T int
type A = p.B
type A [N]int; type B [N * 2]int; type C [p.N]int; type D [len("x") + 1]int; type E [f(1)]int; type F []int
type S[T any] struct{}
type S[T, U any] []T
type S[K comparable, V int | ~string | p.Q[T]] map[K]V
type S[P *T,] int; type Q[P *T, R any] int
type S[P []E, E any] int
type S[T interface{ ~int }, P interface{ *T }] struct{ x T }
type S[⏎T any,⏎] int
type S struct {⏎a, b int `tag`⏎*T⏎p.T "tag"⏎*p.T⏎List[int]⏎p.List[int]⏎x [N]int; y []int⏎}
type S struct {⏎f func() (int, error) "t"⏎_ int; T⏎}
type S struct {⏎a [2]T // first⏎⏎// a comment⏎b <-chan T⏎}
type I interface {}
type I interface {⏎M(int) (string, error)⏎N()⏎fmt.Stringer⏎J⏎}
type I interface { ~int | ~string; []byte | map[K]V; List[int]; *T; M() }
type F func(a int, b ...string) error
func f()
func f() {}
func f(a int, b string) (c T, err error) { return }
func f(a, b int, _ ...interface{}) []int { return nil }
func f(x []int, y [N]int, z List[int], w *T, v p.T, u [2][3]T, t map[K]V, s (T)) {}
func f([]int, [N]int, List[int], *T, p.T, ...T) {}
func f(⏎a int,⏎b int,⏎) {}
func f() (int, error) { return 1, nil }
func f() (T) {}
func f() func(int) func() { return nil }
func f() <-chan int { return nil }
func f() struct{ x int } { return x }
func f() interface{ M() } {}
func F[T any](x T) T { return x }
func F[S ~[]E, E any](s S) {}
func F[P *T, Q (T), R [2]int]() {}
func F[K comparable, V int | float64](m map[K]V) V { return 0 }
func (T) M() {}
func (t *T) M(x int) {}
func (l *List[T]) Push(x T) {}
func (p Pair[K, _]) M() {}
func _() {}; var x int; type T int
var (⏎)⏎type ()⏎const ()
func⏎f() {}
func (t T) M[P any, Q ~int | string](p P) Q {}
func (T[K],) M[P any]()
type A[P any] = map[string]P; type (B[K comparable, V any] = C[V, K])
func f(a, b *T, c, d U, e ...V) (g, h int, i error)
func f(T, *U, p.V, []W, [N]X, List[Y], func(Z), ...A)
func f(a, p.V,)
func f(a, b,) (c, d T,)
func f(a [N]int, b List[T], c (D), d ...E)
type T interface { M(a, b int, c ...T); N(A, ...B) }
import ("a"; b `c`; . "d")
"""

REJECTED_DECLARATIONS = r"""
x = 1
f()
var x int import "a"
var x int⏎import "a"
import a
import "a",
func f()⏎{}
func f() int, error {}
func f(a int b int) {}
func f[T]() {}
func f[]() {}
func () f {}
func () M()
func (a T, b U) M()
func (t T) M[]() {}
type A[P any] = 
func f(a T, b)
func f(a T, *U)
func f(*T, a b)
func f(a, *T, b c)
func f(a T, b, p.C)
func f(a ...T, b U)
func f(...T, U)
func f(a, b ...T)
import ""
import x ``
var x [...]int
var x []
var x map[string]
var x chan
var x 1
type T struct { a b c }
type T struct { a, b }
type T struct { a int, b int }
type T interface { M() int string }
type T interface { x int }
type S[T] []
type S[T any,,] int
const
type = int
package q
{}
}
;
"""

ACCEPTED_FILES = [
    "package p",
    "package p\n",
    "package p;",
    "package p; // end",
    '// leading\n\n/* block */ package p /* a\n b */ import "a"',
    "\n\n//go:build x\n\npackage p\n// trailing, with no line end",
    'package p\r\n\r\nimport "a"\r\n\r\nfunc f() {\r\n\tx := 1\r\n}\r\n',
    "package p\nvar x = 1 /**/ /* ** / \n * **/ var y = 2",
    "package p\n/**/\n/***/\n/*\n*/\n//",
    "package p; func f() { return }",
    "\ufeffpackage p",
    "\ufeff\n\npackage p\n",
]
REJECTED_FILES = [
    "",
    "\n",
    'import "a"',
    "package",
    "package p q",
    "package p var x int",
    "package 1",
    "package p\n;\n",
    "package p\nfunc f() {",
    "package p\nfunc f() {}}",
    "package p /* a */ var x int",
    'package p\nvar s = "abc',
    "package\ufeff p",
]


def lines(table: str) -> list[str]:
    return [line.replace("⏎", "\n") for line in table.strip().split("\n")]


def in_function(statements: str) -> str:
    return "package p\nfunc _() {\n" + statements + "\n}\n"


def in_file(declarations: str) -> str:
    return "package p\n" + declarations + "\n"


ACCEPTED = [
    *map(in_function, lines(ACCEPTED_STATEMENTS)),
    *map(in_file, lines(ACCEPTED_DECLARATIONS)),
    *ACCEPTED_FILES,
]
REJECTED = [
    *map(in_function, lines(REJECTED_STATEMENTS)),
    *map(in_file, lines(REJECTED_DECLARATIONS)),
    *REJECTED_FILES,
]


@pytest.fixture(scope="module")
def parser() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")


def test_accepts(parser: Lark) -> None:
    assert [text for text in ACCEPTED if not lark_accepts(parser, text)] == []


def test_rejects(parser: Lark) -> None:
    assert [text for text in REJECTED if lark_accepts(parser, text)] == []


def test_conflicts_are_the_three_that_the_grammar_explains() -> None:
    with lark_warnings() as messages:
        Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start", debug=True)
    found = {
        tuple(re.findall(r"terminal (\w+)|<(\w+) ", message))
        for message in messages
        if "conflict" in message.lower() or "<" in message
    }
    terminals = {t for pairs in found for t, _rule in pairs if t}
    rules = {rule for pairs in found for _t, rule in pairs if rule}
    assert (terminals, rules) == ({"LPAR", "LSQB", "_NL"}, {"signature", "_nameable", "_nl"})


LEXEMES = [
    *"0189xXboepi_.+-*/\n \t\r<>=&^|!~:;,()[]{}'\"`\\%auf",
    *["//", "/*", "*/", "é", "go", "goto", "if", "interface", "1e", "0x", "\\n", "\n//"],
]


@given(st.lists(st.sampled_from(LEXEMES), max_size=8).map("".join))
@examples(100)
def test_first_match_is_longest_match(parser: Lark, text: str) -> None:
    """At each lexeme, no terminal matches more than what Lark's first match took."""
    patterns = {t.name: re.compile(t.pattern.to_regexp()) for t in parser.terminals}
    try:
        for token in parser.lex(text, dont_ignore=True):
            at = token.start_pos
            assert at is not None
            lengths = range(len(text) - at, 0, -1)
            longest = max(next((n for n in lengths if pattern.fullmatch(text, at, at + n)), 0) for pattern in patterns.values())
            assert len(token) == longest
    except UnexpectedCharacters as error:
        rest = text[error.pos_in_stream :]
        assert not any(p.fullmatch(rest, 0, n) for p in patterns.values() for n in range(1, len(rest) + 1))
