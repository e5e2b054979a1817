"""Texts of JavaScript; in the rows `⏎` stands for a line end."""

ACCEPTED = r"""
// nothing
#!/usr/bin/env node⏎f()
;;
a + b * c ** -d - (e, f) / g % h
a = b += c ??= d ||= e &&= f >>>= 1
a ? b : c ? d : e
!a && ~b || typeof c, void 0, delete d.e
a in b instanceof c
new A; new A(); new A.B(c).d; new (f())(); new new A()()
new new A; new new A(); new new new A.B; new⏎new⏎A; x = new new A(b) + c; class D extends new new E {}
x = function () { return new.target }
a?.b?.[c]?.(d).e
a?.5:b
x = a?.5*b:c
a++, --b, c.d--, ++e[f]
this.a.if.class = super_
(a) = (b.c) = ((d)) = 1
x = [a, , b, ...c, , ]; [a, , ] = [,]
x = {a, b: c, 'd': e, 1: f, [g]: h, ...i, if: j, get: k, async: l,}
x = {a() {}, get b() { return 1 }, set b(c) {}, async d() {}, *e() {}, async *f() {}, get [g]() {}}
x = {get() {}, set() {}, async() {}}
[a, [b.c, d = 1] = [], ...[e]] = f
({a, b: c.d, e = 1, f: {g = 2} = {}, ...h} = i)
[{a = 1}] = b
x = [{a = 1} = b]
x = a => b => c
x = (a) => {}, () => 1, async b => b, async () => ({}), async (c, ...d) => {}
x = (a, {b = 1, c: [d]}, [e,, f] = [], ...[g]) => a
x = ({a = 1}) => a
x = async ({a = 1}, [b]) => a
x = (a, b,) => a
x = async(a, ...b, c), async (d.e)
async(a)(b)
x = (a, b.c), ([d]), ({e})
x = a ? (b) : c => d
x = a ? (b, c) => d : e
x = 0xFf + 0b11 + 0o17 + 1_000n + 0x1n + 1.5e-3 + .5 + 1. + 0n + 017 + 089.5
1..toString()
x = 'a\'\n\x41\u0041\u{1F600}' + "b\⏎c" + '  '
x = ``+`a${b}c${`d${e}`}$f\`\${` + f`g`.h
x = `${⏎a⏎}`
x = `$${a}$`
x = f`\u{zz` + `\u{61}`[0]
x = a / b / c
x = a ++ / b
x = /=/g.exec(a) / /[/\]]+(?:b|c)*?$/gi.b
if (/a{2,3}?|(?<n>.)\k<n>|(?<!b)|[^]]|{/.test(b)) /c/.d
x = a⏎/b/c
var a, b = 1, {c, d: e = 2, ...f} = g, [h,, i] = j
let a; const b = 1, [c] = d
if (a) b; else if (c) d; else {}
if (a) {} ⏎ else {}
for (;;) ;
for (var i = 0, n = ('a' in b); i < n; i++) {}
for (let i = 0; ; ) break
for (a of b) ; for (a.b in c, d) ; for ([a] of b) ; for ({a = 1} of b) ;
for (const [a, b] of c) continue
for (let in_ in a) ;
for (var of of of) ;
for (async of => {}; ;) break
for (a⏎of b) {}
x = async () => { for await (const a of b) ; }
while (a) do b(); while (c)
do a(); while (b) c()
do {} while (a); b
with (a) b
switch (a) { case 1: case b + c: d(); break; default: e()⏎ case 2: {} }
a: for (;;) { continue a } 
a: b: c
try { a() } catch { b() } finally {}
try {} catch ({message = ''}) {}
throw a, b
debugger
function f(a, {b}, [c] = [], d = 1, ...e) { return }
function *g() { yield; yield a; yield* b; x = yield⏎}
async function h() { await a; await (b); for await (x of y); }
x = async function* () { yield await a }
if (a) function f() {}
class A {}
class A extends B.c(d) { constructor() { super(...a); super.b = super[c] } }
class A { a; b = 1; static c; static d = 2; 'e' = 3; [f] = 4; 5; #g; static #h = 6; get; set; static; async }
class A { a() {} static b() {} get c() { return 1 } set c(d) {} static async *e() {} #f() {} *[g]() {} async() {} get() {}; }
class A { static { this.a = 1 } #b; c(d) { return #b in d && d.#b } }
class A { #a; #b; c(d) { return d && #a in d || !(#b in d) && #a in d ? #a in d : d ?? #b in d } }
class A { #a; #b; c(d) { return d | #a in d ^ #b in d & #a in d == #b in d != #a in d === #b in d !== #a in d } }
class A { #a; #b; c(d) { if (d⏎&&⏎#a⏎in⏎d || e in d && #b in d, #a in d && e) return #a in d === true } }
x = class extends (a, b) {}; x = class B {}
x = class {}⏎(a)
import 'a'
import a, {b, c as d, default as e, 'f' as g,} from 'h'; import * as i from 'j'; import k, * as l from 'm'; import {} from 'n'
import from from 'from'; import {as as as, from as of} from 'as'
import a from './b.json' with {type: 'json', 'c': "d"}
import('a').then(b); x = import.meta.url
export {}; var a, b; export {a, b as 'c', a as default}; export * from 'd'; export * as e from 'f'
export {if as g, default as i} from 'h'
export var a = 1; export let b; export const c = 2; export function d() {} export class e {} export async function f() {}
export default a + b
export default {a: 1}.b
export default function () {} a
export default class {} a
export default async () => {}
await a; for await (const b of c) ;
var async, of, get, set, from, as, target, meta; async = of + get
var static_, \u0061b, été, $, _
a⏎/* b */ /* c⏎ */ // d⏎.e
a // b
a <!b
x = a --⏎> b
""".strip().split("\n")

INSERTED = r"""
a⏎b
a⏎⏎ // c⏎b
a /*⏎*/ b
{ a⏎b }
{ a }
a⏎++b
a⏎++⏎b
a++⏎(b)
a++⏎[b].c()
a++⏎`b`
a = b => {}⏎(c)
a = b => {}⏎[c, d] = e
a = b => {}⏎/c/.test(d)
a = b => {}⏎+c
let a⏎[b] = c
let a⏎(b)
let a = 1⏎const b = 2⏎class C {}⏎export {}
var a⏎+b
var a = 1⏎, b = 2⏎;[c].d()
if (a) b⏎else c
if (a) b++⏎(c)
if (a)⏎b⏎else⏎c
do a⏎while (b) c
do a; while (b)⏎(c)
x = () => { return⏎a }
x = () => { return⏎(a) }
x = () => { return }
a: for (;;) { break⏎a }
a: for (;;) { continue⏎(a) }
throw a⏎b
a⏎(b)
a⏎[b]
a⏎.b⏎?.c
a⏎? b⏎: c
a⏎in b
a⏎instanceof b
async⏎function f() {}
var x = async⏎y
function* f() { yield⏎a }
debugger⏎a
class A { a⏎b = 1⏎c }
class A { a = 1⏎['b'] }
class A { a⏎['b']⏎['c']() {} }
class A { get⏎a() { return 1 } static⏎b⏎async⏎c() {} }
class A { get = 1⏎set⏎}
import a from 'b'⏎import c⏎from 'd'⏎export * from 'e'⏎export default 1⏎a
a⏎
switch (a) { case 1: b⏎case 2: c }
;[a].b()
x = {a⏎, b⏎}⏎(c)
a⏎/* b⏎c */⏎(d)⏎// e⏎.f
""".strip().split("\n")

PROGRAM = """\
#!/usr/bin/env node
import fs, { readFile as read } from 'node:fs'
import * as path from "node:path";

/**
 * Counts words.
 */
export class Counter extends Map {
  static #instances = 0
  #limit = 10
  static { Counter.#instances = 0 }

  constructor({ limit = 10, ...rest } = {}, ...files) {
    super()
    this.#limit = limit; // at most
    Counter.#instances++
    ;[this.first, , this.last = null] = files
  }

  get limit() { return this.#limit }
  set limit(value) { if (value > 0 && value < 1e6) this.#limit = value }

  async *lines(name) {
    for await (const chunk of fs.createReadStream(path.join(__dirname, `${name}.txt`)))
      yield* chunk.toString().split(/\\r?\\n|\\u2028/g)
  }

  add(word) {
    const n = this.get(word) ?? 0
    return this.set(word, n + 1).size / 2 > this.#limit
      ? this
      : null
  }
}

const format = ({ key, value: [a, b] = [] }, i) => `${i + 1}: ${key.padEnd(10)}${
  b ? ` (${a}/${b})` : ''
}\\n`

export default async function main(argv) {
  const counter = new Counter({ limit: argv?.[2] | 0 })
  let i = 0, total = 0n
  outer:
  for (const word in counter) {
    switch (typeof word) {
      case 'string':
      case 'number': {
        total += 1n
        break
      }
      default:
        continue outer
    }
  }
  do { i++ } while (i < 10)
  try {
    await read('a', 'utf8', (e, text) => { if (e) throw e; else console.log(text.replace(/[/\\\\]+$/, '')) })
  } catch {
    return
  } finally {
    console.error('done')
  }
}

(function () {
  'use strict'; var self = this, _ = void 0
  module.exports = { format, 'a-b': _, [self]: 1, get x() { return 1 } }
})()
"""


def lines(row: str) -> str:
    return row.replace("⏎", "\n")
