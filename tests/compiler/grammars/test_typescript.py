"""The bundled TypeScript grammar, as tables of what it accepts and what it refuses.

Each row is a text; `⏎` stands for a line end. What JavaScript has is in `test_javascript`, whose rows this grammar takes, too. The
parser of the package typescript judges the rows where it is installed. The grammar's rules are written by `typescript`, and the
file is compared with what that writes.
"""

import random
from functools import cache

import javascript_texts as javascript
import pytest
from masks_along_texts import check_masks_within
from vocabularies import byte_tokenizer

import psc
from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.writers import typescript
from psc.corpus.references import conversation
from psc.errors import ReferenceMissingError

ACCEPTED = r"""
let a: string = 'b', c: number | null, d!: Date; const e: [f: A, g?: B, ...h: C[]] = i
var a: A.B<C, D[]>[] = [], b: typeof c.d, e: typeof f<G>, h: keyof typeof i
type A = B | C & D
type A =⏎  | 'a'⏎  | -1 | true | null | void | undefined | `b-${C}` | this
type A<B extends C = D, in out F> = { [G in keyof B as `get${H<G>}`]?: B[G] }
type A = { readonly [B in C]-?: D }; type E = { -readonly [F in G]+?: H; }
type A = B extends (infer C extends string)[] ? C : B extends D ? never : E
type A = (b: C, d?: E, ...f: G[]) => void; type H = new () => I; type J = abstract new <K>(l: K) => L
type A = (B | C)[] | (() => void)[] | [] | [A, B?, ...C[]] | readonly string[]; declare const d: unique symbol
type A = { b: C, d?(): E; readonly f: G⏎ h?: I⏎ (j: K): L⏎ [m: string]: N⏎ new (o: P): Q; get r(): S; set r(t) }
type A = B['c'][number] | import('d').E<F> | typeof import("g")
type A = { <B>(c: B): D⏎ <E>(f: E): G }
type A = asserts; type B = is
interface A {}
interface A<B = C> extends D, E.F<G> { h: I; [Symbol.iterator](): J; 'k': L; 1?: M }
declare const a: B; declare let c: D; declare var e: F; declare function g(h: I): J; declare class K { l: M; n(o): P }
declare module 'a' { export default b; import c from 'd'; export function e(): void }
declare module "a"⏎declare global { interface Window { b: C } }
declare namespace A.B.C { const d: E; namespace F {} }
namespace A { export const b = 1; export namespace C {} }
module A {}
enum A { B, C = 1, 'd' = 1 << 2, E = A.B | A.C, } const enum F {} declare enum G { H }
export enum A { B } export const enum C { D } export interface E {} export type F = G; export namespace H {}
export declare const i: J
function f<A, B extends A>(this: A, b?: B, c: number = 1, ...d: string[]): asserts b is C {}
function f(a: string): void⏎function f(a: number): void;⏎function f(a: any) {}
function f(a): a is string { return b as unknown as c }
function f(this: A): asserts this; function f<const T>(a: T) {}
async function* f<T>(): AsyncGenerator<T> { yield* a<T>() }
x = <T,>(a: T): T => a; y = <T>(a) => a; z = async <T extends U>(a: T): Promise<T> => await a
x = (a: A, { c, d: e }: C, [f]: D = [], b?: B, ...g: E[]): H => ({} as I)
x = (a): a is B => true; y = async (a?: B) => {}; z = (a?) => a
x = a ? (b) : c; y = a ? (b: B): C => d : e; z = a ? b => c : d
x = a < b; y = a < b && c > d; z = f(a < b, c > d); w = a<b>(c); v = a < b, u = c
x = f<A>(b); y = f<A, B[]>(); z = new Map<string, () => void>(); w = f<{ a: B }>`c`; v = a.b<C<D<E>>>(f); u = g<A>; t = a?.<B>(c)
x = a >> b >>> c; y = a >= b; x >>= 1; z = a > b
x = a as B; y = [a] as const; z = a as B | C && d; w = a satisfies B; v = (a as B).c; (u as T) = 1
t = <A>b; s = <A<B>>(c); (<A>b) = c; r = <const>['b']
let a: A<B>= c, d: E<F<G>>= h, i = (j): K<L>=> m; n >= o; p >>= q >>> r; s >>>= t; u => v
x = a! + b!.c![0]!(d)!; a!.b = c; a! = b; x = a!⏎(b)
for (const a of b as C[]) {} for (const d in e!) {} for (let i: number = 0;;) {}
try {} catch (e: unknown) {}
class A<B> extends C.d<F> implements G, H<I> { }
class A extends b<C>(d) {}
abstract class E { abstract f(): G; abstract h: I; abstract get j(): K; protected abstract readonly l?: M }
class A { private b: C = 1; protected static readonly d?: E; public f!: G; declare h: I; override j() {} accessor k = 1; #l?: M }
class A { constructor(private b: C, readonly d = 1, public override e?: F) { super() } }
class A { b(): void; b(c?: D): E {} get f(): G { return 1 } set f(h: I) {} async *j<K>(): L {} static { } [m: string]: N; o?(): P }
class A { declare; public; readonly; abstract = 1; static; type: B; get: C⏎ set?: D⏎ ['e']: F⏎ private⏎ g }
@a @b.c @d(e) class F { @g h: I; @j() k() {} @l @m() static n = 1; constructor(@o private p: Q, @r() s) {} @(t) u }
@a export class B {} export default abstract class C {}
export @a class B {}
import type A from 'a'; import type { B, C as D } from 'b'; import { type E, type F as G, H } from 'c'; import type * as I from 'd'
import a = require('b'); import c = D.E; export import f = g.h; import type i = require('j')
export type { A, B as C } from 'd'; export type * from 'e'; export type * as F from 'g'; export { type H, type I as J }
export = a
export as namespace A; export {}
export default interface A {} export default function f(a: B): C; export default function f() {}
export abstract class A {} export declare class B {} export declare function c(): D
using a = b(); await using c = d
var type, of, as, is, infer, declare, abstract, namespace, module, readonly, keyof, asserts, global, unique
var satisfies, out, override
type = 1; declare⏎a; namespace⏎b; abstract⏎c; as = as as as
let a: (b: C) => D | E, f: new () => G; let h: { (): I }
let a = { b<C>(d: C): E { return d }, get f(): G { return 1 }, async h(this: I) {} }
let a: A⏎let b: B⏎(c)
let a: A<<B>(c: B) => void>; a = b << c; a <<= 1
type A<⏎  in B,⏎  in out C> = D
""".strip().split("\n")

REFUSED = r"""
let a: = 1
let a: string string
let a b: C
let a?: B
type = A B
type A B
type A = 
type A = | 
type A = B C
type A = B &
type A = B[
type A = B<
type A = B<C
type A = { b: C d: E }
type A = { b: C
type A = { [B in C }
type A = B extends C ? D
type A = (b: C => D
type A = typeof
type A = `a${B`
interface {}
interface A extends {}
interface A { b: C d }
interface A { b() {} }
enum { A }
enum A { B C }
enum A { B: 1 }
namespace { }
namespace A { 
function f(a: ) {}
function f(a: B C) {}
function f<>(a: B {}
function f(a: B): {}: C {}
function f() a {}
x = (a: B) 
x = (a?: B)
x = <A>
x = f<A>(
x = a as
x = a satisfies
x = (a: B): => c
class A { b: }
class A { b: C d: E }
class A { public }  }
class A implements { 
class A { constructor(private) } }
@ class A {}
import type from
import { type } 'a'
import a = 
export type
export = 
export as namespace
declare module { a }
a!b
a as B c
for (const a: of b) {}
var a: B = 
""".strip().split("\n")

PROGRAM = """\
import { EventEmitter, type Listener } from 'node:events'
import type * as types from './types.js';
import fs = require("fs");

export type Id<T extends string = string> = T & { readonly __brand: unique symbol }

export interface Store<K extends PropertyKey, V> extends Iterable<[K, V]> {
  readonly size: number
  get(key: K): V | undefined;
  get<D>(key: K, otherwise: D): V | D;
  on?: (event: 'change' | `${string}:${number}`, listener: Listener<V>) => void,
  [Symbol.iterator](): Iterator<[K, V]>
  new (entries?: readonly (readonly [K, V])[]): Store<K, V>
}

type DeepPartial<T> = T extends (infer U)[]
  ? DeepPartial<U>[]
  : T extends object
    ? { [P in keyof T]?: DeepPartial<T[P]> }
    : T

declare global {
  interface Array<T> { last(this: T[]): T | undefined }
}

const enum Level { Debug, Info = 1 << 1, All = Debug | Info }

@Injectable({ providedIn: 'root' })
export abstract class Cache<V, K extends string = string>
  extends EventEmitter
  implements Disposable
{
  static readonly #empty = new Map<string, never>()
  private readonly entries = new Map<K, { value: V; expires?: number }>()
  protected abstract load(key: K): Promise<V>
  declare kind: 'cache'
  limit!: number

  constructor(@Inject(CONFIG) private readonly config: DeepPartial<types.Config>, public name?: string) {
    super()
    this.limit = (config as any).limit ?? <number>config['limit']!
  }

  async fetch<const T extends K>(key: T, level: Level = Level.Info): Promise<V> {
    const found = this.entries.get(key)
    if (found && (found.expires ?? 0) < Date.now() && level > Level.Debug) return found.value
    return await this.load(key).then((value): V => (this.entries.set(key, { value }), value))
  }

  isFull(): this is this & { limit: 0 } { return this.entries.size >= this.limit }
  [Symbol.dispose](): void {}
}

function assertIsString(value: unknown, ...rest: unknown[]): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(`not ${value satisfies unknown}`)
}

export const identity = <T,>(value: T): T => value
export default function main(args: string[], env?: NodeJS.ProcessEnv): void
export default function main(args: readonly string[] = process.argv) {
  for (const [i, arg] of Object.entries(args) as [string, string][]) {
    const id = (arg ? arg : i) as Id<'main'>
    console.log(id!.length >> 1, /<[a-z]+>/.test(id) ? identity<string>(id) : null)
  }
}
"""


@cache
def compiled() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file("typescript")


def accepts(row: str) -> bool:
    matcher = psc.GrammarMatcher(compiled())
    data = javascript.lines(row).encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


def test_accepted() -> None:
    assert [row for row in [*ACCEPTED, PROGRAM, javascript.PROGRAM] if not accepts(row)] == []


def test_refused() -> None:
    assert [row for row in REFUSED if accepts(row)] == []


def test_javascript_is_typescript() -> None:
    rows = [*javascript.ACCEPTED, *javascript.INSERTED]
    assert [row for row in rows if not accepts(row)] == []


def test_the_rows_are_as_the_compiler_says() -> None:
    try:
        compiler = conversation.typescript()
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    try:
        taken = dict(zip(ACCEPTED, compiler.judge(list(map(javascript.lines, ACCEPTED))), strict=True))
        refused = dict(zip(REFUSED, compiler.judge(list(map(javascript.lines, REFUSED))), strict=True))
        assert compiler.judge([PROGRAM]) == [None]
    finally:
        compiler.close()
    assert {row: verdict for row, verdict in taken.items() if verdict is not None} == {}
    assert [row for row, verdict in refused.items() if verdict is None] == []


def test_masks_say_what_can_be_accepted() -> None:
    """Along texts, for every token of the vocabulary; several ways are open at some of the places."""
    rng = random.Random(3)
    check_masks_within(compiled(), byte_tokenizer(), map(javascript.lines, rng.sample(ACCEPTED, 12)), rng)


def test_the_file_is_what_is_written() -> None:
    assert bundled_text("typescript") == typescript.grammar()
