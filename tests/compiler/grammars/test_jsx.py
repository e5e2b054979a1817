"""The bundled grammars `jsx` and `tsx`, as tables of what they accept and what they refuse.

Each row is a text; `⏎` stands for a line end. What JavaScript has is in `test_javascript`, whose rows these grammars take, too. The
parser of the package typescript judges the rows where it is installed. The grammars' rules are written by `elements`, and the files
are compared with what that writes.
"""

import random
from functools import cache
from pathlib import Path
from typing import Literal

import javascript_texts as javascript
import pytest
from click.testing import CliRunner
from masks_along_texts import check_masks_along, check_masks_within
from vocabularies import byte_tokenizer

import psc
from psc.cli import main
from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.writers import elements
from psc.corpus.references import conversation
from psc.errors import ReferenceMissingError

Kind = Literal["jsx", "tsx"]

ACCEPTED = r"""
x = <a/>
x = <a></a>
x = <></>
x = <a b="c" d='e"' f={g} {...h} i j-k l:m="n" />
x = <a.b.c d></a.b.c>
x = <a:b></a:b>
x = <a-b c/>; x = <this.a/>; x = <var/>; x = <class for="if" new={1}/>
x = <a>text &amp; "more" 'it's' // no /* comment {b} {/* c */} {} {...d} <e/> `$ </a>
x = <a>{// comment⏎}</a>
x = <a b=<c/> d=<>e</> f/>
x = <a b=<c>d</c>>e</a>
x = <div>⏎  <span className="a">b</span>⏎  {c.map(d => <e key={d}>{d}</e>)}⏎</div>
<a/>
function f() { return <a/> }
function f() { return (⏎  <a>⏎    b⏎  </a>⏎) }
function f() { if (a) return <b/>⏎c() }
x = a && <b/>
x = a && <b/> || c
x = a ? <b/> : <c>d</c>
x = a ? <b/> : null
x = a ?? <b/>, c
f(<a/>, <b></b>)
[<a/>, <b/>]
x = {a: <b/>, c}
x = () => <a/>
x = <a b={() => { return <c/> }}/>
x = <a // b⏎ c /* d */ e="f⏎g"⏎/>
x = a < b; y = a <= b << c; z = a⏎< b; a <<= b
x = !<a/>; y = <a/> && b || <c/>
export default <a/>
x = <a b="\"/>
x = <a b=""c=''/>
x = < a / >; y = <a></ a >
function A() { return <a/> } <b/>
x = <a>{`${b}`}</a>
x = <a>{b /c/ d}{/e/}</a>
x = <a>{b}{c}</a>
x = (<a/>)
x = [⏎<a/>,⏎<b/>⏎]
x = <a>⏎⏎</a>
x = (a, <b/>)
class A { a = <b/>⏎c() { return <d {...this.e}/> } }
x = <a b={c && <d>{e}</d>}>{f ? <g/> : <></>}</a>
""".strip().split("\n")

TYPED = r"""
const a = <T,>(b: T) => b
const a = <T, U>(b: T): U => b
const a = <⏎  T,⏎  U extends V,⏎>(b: T) => b
const a = <T extends B>(b: T) => <c>{b}</c>
const a = <T extends B = C, U = D>(b: T) => b
const a = <const T,>(b: T) => b
const a = <const T extends U>(b: T) => b
const a = <T = B>(b: T) => b
const a = async <T,>(b: T) => b
const a = async <T extends B>(b: T): Promise<T> => b
x = f(<T,>(a: T) => a, <U/>)
x = <A<B> c={d as E}/>
x = <A<B<C>, D[]>>d</A>
x = <a.b<⏎  C<⏎    D⏎  >⏎>⏎  e/>
function A<T>({ b }: C<T>): JSX.Element { return <d e={b!}/> }
const A: React.FC<B> = ({ c }) => <d>{c}</d>
x = f<A>(b); y = a < b; z = new Map<A, B[]>()
x = <a/> as B
x = a && <b/> as C
class A extends B<C> { d = <T,>(e: T) => e; render() { return <f/> } }
type A = <T>(b: T) => T; interface B { <T>(c: T): T }
const a = useState<B | null>(null), b = useRef<HTMLDivElement>(null!)
x = <a extends="b" const="c" d/>
const a = b satisfies C
""".strip().split("\n")

REFUSED = r"""
x = <a>
x = <a
x = <
x = </a>
x = <a></>
x = <></a>
x = <a></a
x = <a b></c
x = <a/><b/>
x = <a/> < b
x = a && <b/><c/>
x = <a/>.b
x = <a/>(b)
x = <a>}</a>
x = <a>></a>
x = <a b=c/>
x = <a b={}/>
x = <a b={/* c */}/>
x = <a {b}/>
x = <a {...}/>
x = <a b==c/>
x = <a b="c/>
x = <a b="c' d/>
x = <a>{b</a>
x = <a>{b c}</a>
x = <a>{...}</a>
x = <a>{b; c}</a>
x = <a>{b, c}</a>
x = <a b={c, d}/>
x = <a b- -c=1/>
x = <a b.c="d"/>
x = <1/>
x = <a.b:c/>
x = <a.b-c/>
x = <a.1/>
x = <a,/>
x = <a b;/>
x = <a/ b>
x = <a></a b>
x = <a><b></a>
function f() { return <a> <b></a> }
""".strip().split("\n")

REFUSED_TYPED = r"""
const a = <T>(b: T) => b
const a = <T, >(b: T) =>
const a = <const T>(b: T) => b
const a = async <T>(b: T) => b
x = <A>b
x = <A>b; y
x = (<A>b).c
x = <A<B c={d}/>
x = <A<> b/>
""".strip().split("\n")

# As the grammars' headers say.
LOOSER = r"""
x = <a/>⏎<b/>
""".strip().split("\n")
OF_NAMES = r"""
x = <a></b>
x = <a.b></a>
x = <a><b></c></a>
x = <a:b></a>
""".strip().split("\n")
STRICTER = r"""
x = a < <b/>
""".strip().split("\n")

PROGRAM = """\
import React, { useState } from 'react'
import styles from './list.module.css'

const Empty = () => <p className={styles.empty}>Nothing here &mdash; yet. It's quiet…</p>

/** A list. */
export default function List({ items, onSelect, ...rest }) {
  const [open, setOpen] = useState(false)
  const shown = items.filter((item) => item.rank < 10 && !/^<hidden>/.test(item.name))
  if (!shown.length) return <Empty />

  return (
    <section {...rest} aria-label="items" data-open={open ? '' : undefined}>
      {/* The head. */}
      <h2 onClick={() => setOpen((was) => !was)}>
        {shown.length} of {items.length} items{open && <span> (open)</span>}
      </h2>
      <ul style={{ color: 'red', margin: 0 }}>
        {shown.map(({ id, name, icon: Icon = null }, i) => (
          <li key={id} title={`${i}: ${name}`} onClick={() => onSelect?.(id)}>
            {Icon ? <Icon.Small size="1em" /> : <>•</>} {name}
          </li>
        ))}
      </ul>
      <svg xlink:href="#a" viewBox="0 0
        10 10"><path d="M0 0" /></svg>
    </section>
  )
}

List.Item = class extends React.Component {
  state = { a: 1 }
  render() { return <div>{this.props.children}</div> }
}
"""

TYPED_PROGRAM = """\
import * as React from "react"
import { type Column, DataGrid } from "./grid"

interface Props<T extends { id: string }> extends React.HTMLAttributes<HTMLDivElement> {
  rows: readonly T[]
  render?: (row: T, index: number) => React.ReactNode
}

const Context = React.createContext<{ theme: "light" | "dark" } | null>(null)
const identity = <T,>(value: T): T => value
const first = <T extends object, K extends keyof T = keyof T>(rows: T[], key: K): T[K] | undefined => rows[0]?.[key]

export function Table<T extends { id: string }>({ rows, render = identity as any, ...rest }: Props<T>): JSX.Element {
  const ref = React.useRef<HTMLDivElement>(null!)
  const [selected, select] = React.useState<Record<string, boolean>>({})
  const columns = React.useMemo<Column<T>[]>(() => [{ id: "a", cell: (row) => <b>{row.id}</b> }], [])
  return (
    <Context.Provider value={{ theme: "dark" as const }}>
      <div ref={ref} {...rest}>
        <DataGrid<T, Column<T>> columns={columns} onRow={(row: T) => select({ ...selected, [row.id]: true })} />
        {rows.map((row, i) => <Row<T> key={row.id} row={row}>{render(row, i)!}</Row>)}
        {rows.length < 1 ? <i>none</i> : null}
      </div>
    </Context.Provider>
  )
}

export const Row = React.memo(function Row<T>(props: { row: T; children?: React.ReactNode }) { return <p>{props.children}</p> })
"""

TAKEN: dict[Kind, list[str]] = {"jsx": [*ACCEPTED, PROGRAM], "tsx": [*ACCEPTED, *TYPED, PROGRAM, TYPED_PROGRAM]}
NOT_TAKEN: dict[Kind, list[str]] = {"jsx": [*REFUSED, *TYPED[:3], "x = <a/> as B"], "tsx": [*REFUSED, *REFUSED_TYPED]}


@cache
def compiled(kind: Kind) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file(kind)


def accepts(kind: Kind, row: str) -> bool:
    matcher = psc.GrammarMatcher(compiled(kind))
    data = javascript.lines(row).encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


@pytest.mark.parametrize("kind", TAKEN)
def test_accepted(kind: Kind) -> None:
    assert [row for row in [*TAKEN[kind], *LOOSER, *OF_NAMES] if not accepts(kind, row)] == []


@pytest.mark.parametrize("kind", NOT_TAKEN)
def test_refused(kind: Kind) -> None:
    assert [row for row in [*NOT_TAKEN[kind], *STRICTER] if accepts(kind, row)] == []


@pytest.mark.parametrize("kind", ["jsx", "tsx"])
def test_javascript_is_in_both(kind: Kind) -> None:
    rows = [*javascript.ACCEPTED, *javascript.INSERTED, javascript.PROGRAM]
    assert [row for row in rows if not accepts(kind, row)] == []


@pytest.mark.parametrize("kind", ["jsx", "tsx"])
def test_the_rows_are_as_the_compiler_says(kind: Kind) -> None:
    try:
        compiler = conversation.typescript(kind)
    except ReferenceMissingError as e:
        pytest.skip(str(e))

    def verdicts(rows: list[str]) -> list[tuple[str, str | None]]:
        judged = compiler.judge(list(map(javascript.lines, rows)))
        return [(row, None if v is None else v.message) for row, v in zip(rows, judged, strict=True)]

    try:
        assert [verdict for verdict in verdicts([*TAKEN[kind], *STRICTER]) if verdict[1] is not None] == []
        assert [row for row, message in verdicts([*NOT_TAKEN[kind], *LOOSER]) if message is None] == []
        assert all(v is not None and v.of_names for v in compiler.judge(OF_NAMES))
        assert not any(v is not None and v.of_names for v in compiler.judge(REFUSED[2:5]))
    finally:
        compiler.close()


@pytest.mark.parametrize("kind", ["jsx", "tsx"])
def test_masks_say_what_can_be_accepted(kind: Kind) -> None:
    """Along texts, for every token of the vocabulary."""
    rng = random.Random(3)
    check_masks_within(compiled(kind), byte_tokenizer(), map(javascript.lines, rng.sample(TAKEN[kind], 12)), rng)


def test_masks_along_an_element() -> None:
    """Where tags, text and expressions meet, and where an arrow function's parameters may be a tag."""
    check_masks_along(compiled("jsx"), byte_tokenizer(), b"a = <b c='d' e-f={g}>h {i} <j/></b>\n")
    check_masks_along(compiled("tsx"), byte_tokenizer(), b"a = <T extends B,>(c) => <D<E> f/>")


@pytest.mark.parametrize("kind", ["jsx", "tsx"])
def test_the_file_is_what_is_written(kind: Kind) -> None:
    assert bundled_text(kind) == {"jsx": elements.jsx, "tsx": elements.tsx}[kind]()


def test_the_corpus_runner_counts_names_apart(tmp_path: Path) -> None:
    try:
        conversation.typescript("jsx").close()
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    (tmp_path / "a.jsx").write_text("x = <a>b</a>\n", encoding="utf-8")
    (tmp_path / "b.jsx").write_text("x = <a>b</c>\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "corpus", "jsx", str(tmp_path)])
    assert result.exit_code == 0 and "| files | 1 | 0 |" in result.output, result.output
    assert "no context-free grammar compares: 1" in result.output
