"""The bundled JavaScript grammar, as tables of what it accepts and what it refuses.

Each row is a text; `⏎` stands for a line end. Node.js judges the rows too, where it is installed: V8's parser, as a script or as
a module. The grammar's rules are written by `ecmascript`, and the file is compared with what that writes.
"""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from javascript_texts import ACCEPTED, INSERTED, PROGRAM, lines
from masks_along_texts import check_masks_within
from vocabularies import byte_tokenizer

import psc
from psc.cli import main
from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.writers import ecmascript
from psc.corpus.references.conversation import Conversation, node
from psc.errors import ReferenceMissingError

REFUSED = r"""
a b
a 1
{ a b }
a = 
a + 
a + * b
a ? b
a..b
1 = a
a + b = c
a++ = b
++a++
(a, b) = c
({a}) = b
([a]) = b
a?.b = c
new a?.b()
a?.`b`
if (a) b else c
if (a) else b
if (a)
for (a; b) ;
for (a of b, c) ;
for (let a, b of c) ;
for (let a = 1 of b) ;
for (async of b) ;
for (const a;;) ;
for a of b {}
while () {}
do a while (b)
try {}
try { a } catch
catch (a) {}
switch (a) { b }
switch (a) { case 1: b case 2: c }
return⏎else
throw⏎a
throw
var 1
var a b
var a = 
const a
let [a]
var {a}
let let = 1
if (a) let b
if (a) class B {}
if (a) const b = 1
function (a) {}
function f(a, ...b, c) {}
function f(...a = b) {}
function f(a {}
function f() { return 1
x = a⏎=> b
=> a
x = () + 1
x = (a, ...b)
x = (a, ) + 1
x = ({a = 1})
x = [{a = 1}]
x = ({a = 1}, b)
x = {a = 1}
x = (a.b) => c
x = (1) => a
x = (a, b.c) => d
x = ({a: 1}) => b
x = ([a + b]) => c
x = async (a.b) => c
x = async ({a = 1})
x = a => {} ()
x = a => {} + 1
x = a => b ? c => d
{a: 1, b: 2}
x = {a b}
x = {a: }
x = {if}
x = {get a}
x = {get a(b) {}}
x = {set a() {}}
x = {async⏎a() {}}
x = {async get a() {}}
x = [...]
[...a, b] = c
[...a,] = b
({...a, b} = c)
({...{a}} = b)
({a() {}} = b)
({a: b + 1} = c)
class { }
class A { a b }
class A { a: 1 }
class A { a, b }
class A { a() b() {} }
class A extends {}
class A extends b + c {}
class A { get a() }
class A { static static static a }
import a b from 'c'
import {a b} from 'c'
import {if} from 'c'
import {a} 'c'
import a, b from 'c'
import * from 'a'
{ import a from 'b' }
{ export {} }
function f() { export default 1 }
export a
export {a b}
export default var a
export default const a = 1
export default
import.a
a.
a.1
a?.
a[]
f(a b)
f(, a)
f(...)
(a
(a))
a)
[a
[a b]
{
}
x = 'a
x = 'a⏎b'
x = "\x1"
x = "\u{110000}"
x = `a
x = `a${b`
x = `a${}`
x = `a`b`
x = /a
x = /(/
x = /a)/
x = /*/
x = /a**/
x = /[a/
x = /(?a)/
/* a
0x
0b2
1__0
1_
1_.5
08n
1.5n
'a' 'b'
var if
if = 1
class = 2
a.#b.
#a
#a + b
class A { #a; b(c) { return c && #a } }
class A { #a; b(c) { return c && #a + c } }
class A { #a; b(c) { return c + #a in c } }
class A { #a; b(c) { return c < #a in c } }
class A { #a; b(c) { return c in #a in c } }
class A { #a; b(c) { return c instanceof #a in c } }
class A { #a; b(c) { return c && c << #a in c } }
class A { #a; b(c) { return !#a in c } }
class A { #a; b(c) { return (#a) in c } }
class A { #a; b(c) { for (c && #a in c;;) ; } }
new new
new new a?.b()
enum A {}
super
new
typeof
import
case 1:
a: 
a:: b
else
break a b
var a, 
a ,
a;; else
yield* = 1
async function () {}
function f( { }
@a class B {}
let x: number = 1
a as b
<a></a>
""".strip().split("\n")

# As the grammar's header says.
LOOSER = r"""
-a ** b
a ?? b || c
return
break
x = () => await a
x = ([a.b]) => c
while (a) function f() {}
throw⏎(a)
class A { a *b() {} }
x = /[b-a]/
let a, a
""".strip().split("\n")
STRICTER = r"""
var let_ = let
var yield_ = yield.a
f() = a
f()++
<!-- a
for (var a = b in c) ;
""".strip().split("\n")


@cache
def compiled() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file("javascript")


def accepts(row: str) -> bool:
    matcher = psc.GrammarMatcher(compiled())
    data = lines(row).encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


@pytest.fixture(scope="module")
def v8() -> Iterator[Conversation]:
    try:
        reference = node()
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    yield reference
    reference.close()


def test_accepted() -> None:
    assert [row for row in [*ACCEPTED, *INSERTED, *LOOSER, PROGRAM] if not accepts(row)] == []


def test_refused() -> None:
    assert [row for row in [*REFUSED, *STRICTER] if accepts(row)] == []


def test_the_rows_are_as_v8_says(v8: Conversation) -> None:
    taken = [*ACCEPTED, *INSERTED, *STRICTER, PROGRAM]
    refused = [*REFUSED, *LOOSER]
    assert [row for row, verdict in zip(taken, v8.judge(list(map(lines, taken))), strict=True) if verdict is not None] == []
    assert [row for row, verdict in zip(refused, v8.judge(list(map(lines, refused))), strict=True) if verdict is None] == []


def test_masks_say_what_can_be_accepted() -> None:
    """Along texts, for every token of the vocabulary."""
    rng = random.Random(3)
    texts = map(lines, [*rng.sample(ACCEPTED, 8), *rng.sample(INSERTED, 4)])
    check_masks_within(compiled(), byte_tokenizer(), texts, rng)


def test_the_file_is_what_is_written() -> None:
    assert bundled_text("javascript") == ecmascript.grammar()


def test_the_corpus_runner_reads_it_by_its_own_lexer(tmp_path: Path, v8: Conversation) -> None:
    """What no other lexer can read: it judges by the grammar's own."""
    (tmp_path / "a.js").write_text("a = /b/.c(`${d}`)\n[e] = f\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "corpus", "javascript", str(tmp_path)])
    assert result.exit_code == 0 and "| files | 1 | 0 |" in result.output, result.output
