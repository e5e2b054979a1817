"""Where TypeScript takes a line end between two tokens, and where it does not, in TypeScript and TSX, with bounded layout too.

Each row is a text with marks: a line end at a `↵` alone leaves it accepted, one at a `¦` alone has it refused. The parser of the
package typescript judges each of them where it is installed.
"""

from collections.abc import Iterator
from typing import Literal

import pytest
from bundled_texts import takes

from psc.corpus.references import conversation
from psc.errors import ReferenceMissingError

ASSERTIONS = r"""
let a = ↵<T>x
f(↵<T>x, ↵<U>y)
a = [↵<T>x, ↵<const>[y]]
a = { b: ↵<T>x }
a();↵<T>x
if (a) ↵<T>b; else ↵<T>c
x = () => ↵<T>y
x = !↵<T>y; x = -↵<T>y; x = typeof ↵<T>y
x = a ? ↵<T>b : ↵<U>c
x = a && ↵<T>b
x += ↵<T>y
x = `${↵<T>y}`
x = (↵<T>y).z; (↵<T>z) = 1
new (↵<T>x)()
for (const a of ↵<T>b) {}
for (↵<T>a; ↵<T>b; ↵<T>c) {}
switch (↵<T>a) { case ↵<T>b: }
class A { b = ↵<T>c }
export default ↵<T>a
type A = B;↵<T>c
for (;;) { break;↵<T>a }
function f() { return ↵<T>x }
async function f() { await ↵<T>x }
x = <T>↵y; x = <↵T↵>y
""".strip().split("\n")

# A line end where the statement before is ended by it.
ENDED = r"""
type A = B⏎<T>c
let a: B⏎<T>c
for (;;) { break⏎<T>a }
x = () => {}⏎<T>y
import a from 'b'⏎<T>c
""".strip().split("\n")

LINES = r"""
x = a ¦as ↵B; y = a ¦satisfies ↵B
x = 'a' as ↵const; y = [b] as ↵const
x = a satisfies ↵B as ↵C
f(a as ↵B, b as ↵C | D)
(a as ↵B) = c; (d as ↵E).f = g
x = a ? b as ↵C : d as ↵E
x = a as ↵B && b as ↵C
x = a++ as ↵B; y = -a as ↵B
x = () => a as ↵B
for (const a of b as ↵C[]) {}
x = #a in b as ↵C; y = d && #a in b as ↵C
x = a as ↵B && ↵#b in c
declare global↵{ interface A {} }
declare module 'a'↵{ const b: C }
type A = abstract ↵new ↵() ↵=> ↵B
type A = new <B>(c: D) ↵=> ↵E; type F = new () ↵=> G
type A = (b: C) ↵=> ↵D; type E = F | (() ↵=> G); let h: (() ↵=> I)[]
let a: B<(c: D) ↵=> E>; let f: <G>() ↵=> H
x = (a: B)¦=> c; x = (a: B): C¦=> d; x = a¦=> b
import type ↵A = require('b')
import type ↵A from 'b'; import type ↵{ C } from 'd'; import type ↵* as E from 'f'
import { type ↵A, type ↵B as ↵C } from 'd'
export type ↵{ A, type ↵B as ↵C } from 'd'; export type ↵* from 'e'; export { type ↵F }
export import type ↵a = require('b')
export type ¦A = B
enum ↵A { B }
const ↵enum ↵A { B }
declare enum ↵A { B }
declare const ↵enum ↵A { B }
export enum ↵A { B } export const ↵enum ↵C { D }
function f(a): a ¦is ↵B { return true }
function f(a): asserts a ↵is ↵B {}
class A { b(): this is ↵C { return true } }
type A = (b) => asserts b ↵is ↵C
class A { get b(): C ↵{ return 1 } set b(c) ↵{} get d() ↵{ return 1 } static get e(): F ↵{ return 1 } }
x = { get b(): C ↵{ return 1 }, set b(c) ↵{}, get d() ↵{ return 1 } }
@↵a class B { @↵c d: E; @↵f() g() {} constructor(@↵h i) {} }
await ↵using a = b
for (await ↵using a of b) {}
x = a ↵<< ↵b; x = a ↵< ↵b
class A<↵const ¦B, ↵in ¦C, ↵out ¦D, ↵const in ¦out ¦E> {}
""".strip().split("\n")

# `const` anywhere, `in` before `out`, each once.
MODIFIERS = ["const", "in", "out", "in out", "const in", "in const", "const out", "out const"]
MODIFIERS += ["const in out", "in const out", "in out const"]
WRONG_MODIFIERS = ["in in", "out in", "const out in", "out const in", "in out in"]

Kind = Literal["ts", "tsx"]
GRAMMARS: list[tuple[Kind, str]] = [("ts", "typescript"), ("ts", "typescript?layout=bounded")]
GRAMMARS += [("tsx", "tsx"), ("tsx", "tsx?layout=bounded")]


def variants(row: str) -> Iterator[tuple[str, bool]]:
    """A row's text without line ends and with one at each of its marks, and whether it is accepted."""
    bare = row.replace("↵", "").replace("¦", "")
    yield bare, True
    for at, mark in enumerate(row):
        if mark in "↵¦":
            before, after = (part.replace("↵", "").replace("¦", "") for part in (row[:at], row[at:]))
            yield before + "\n" + after, mark == "↵"


def texts(kind: Kind) -> Iterator[tuple[str, bool]]:
    for row in [*(ASSERTIONS if kind == "ts" else []), *LINES]:
        yield from variants(row)
    yield from ((row.replace("⏎", "\n"), True) for row in (ENDED if kind == "ts" else []))
    yield from ((f"class A<{word} B> {{}}", True) for word in MODIFIERS)
    yield from ((f"class A<{word} B> {{}}", False) for word in WRONG_MODIFIERS)


@pytest.mark.parametrize(("kind", "grammar"), GRAMMARS)
def test_a_line_end_at_each_mark(kind: Kind, grammar: str) -> None:
    assert [text for text, accepted in texts(kind) if takes(grammar, text) != accepted] == []


@pytest.mark.parametrize("kind", ["ts", "tsx"])
def test_the_marks_are_as_the_compiler_says(kind: Kind) -> None:
    try:
        compiler = conversation.typescript(kind)
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    try:
        wrong = [text for text, accepted in texts(kind) if (compiler.judge([text])[0] is None) != accepted]
    finally:
        compiler.close()
    assert wrong == []
