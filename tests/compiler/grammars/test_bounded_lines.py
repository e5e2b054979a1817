"""Bounded layout of JavaScript, TypeScript, JSX and TSX: the whole grammar's texts, less those whose layout a scanner refuses.

The scanner knows strings, templates, regular expressions and comments, and nothing of the grammars. What is between tags has
bounded blanks, too.
"""

import random
import re
from collections.abc import Iterator

import pytest
from bundled_texts import takes
from javascript_texts import ACCEPTED, INSERTED, PROGRAM, lines

from psc.compiler.frontends.layout import BOUNDED

TYPED = """\
interface A<T extends B = C> { readonly a?: string; [b: string]: number | undefined }
type D = { [K in keyof A<E>]: A<E>[K] } & F
enum G { H = 1, I }
export abstract class J<T> extends K<T> implements L {
  private readonly m: Map<string, N[]> = new Map()
  constructor(public o: number, p?: string) { super(o as any) }
  abstract q(): void
}
function r<T>(s: T, ...t: u.v[]): s is T { return !!s }
let w = x! satisfies Y, z = `a${b}c`
"""
ELEMENTS = """\
export function A({ b, c }) {
  const d = c / 2
  return (
    <div className="e" key={d} {...f}>
      <h1>Some text, and more of it</h1>
      {b.map((g) => <li key={g} on={() => h(g)}>{g.name}: {g / 2}</li>)}
      <></>
      <input disabled type='text' />
      {d ? <B x={1} /> : null}
    </div>
  )
}
"""
ARROWS = "const k = <T,>(l: T) => <m<T> n={l} />, o = <T extends P>(q: T) => q\n"
TEXTS = {
    "javascript": [PROGRAM, *map(lines, [*ACCEPTED, *INSERTED])],
    "typescript": [TYPED, PROGRAM],
    "jsx": [ELEMENTS],
    "tsx": [ELEMENTS, ELEMENTS + ARROWS, TYPED],
}
PIECES = [" ", "\n", "\t", "\r\n", "  \n\n  ", "// c\n", "/* c */", "/* c\n */", "\f", "\u00a0", "\u2028"]
PIECES += [end * n for end in " \n" for n in (BOUNDED - 1, BOUNDED, BOUNDED + 1)]
PIECES += [" " * n + "\n" * m for n in (BOUNDED, BOUNDED + 1) for m in (1, BOUNDED, BOUNDED + 1)]

_LEXEME = re.compile(
    r"""(?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/)|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<word>[\w$#.\\]+)|(?P<blanks>[\s\ufeff]+)|(?P<other>[+][+]|--|.)""",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/>])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(`|\$\{)", re.DOTALL)
_BETWEEN_TAGS = re.compile(r"(?:(?<!=)>|})([^<>{}()]*)(?=[<{])")
_BEFORE_REGEX = {"return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "yield", "await", "instanceof"}


def lexemes(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and texts. A slash behind a name, a number, a string, `)`, `]` or `<`, or before `>`, begins no regular expression."""
    at, last, braces = 0, "", [""]
    while at < len(text):
        kind, found = "", None
        if text[at] == "`" or (text[at] == "}" and braces[-1] == "template"):
            kind, found = "template", _TEMPLATE.match(text, at + 1)
            if text[at] == "}":
                braces.pop()
            if found and found[1] == "${":
                braces.append("template")
        elif text[at] == "/" and (last in _BEFORE_REGEX or not re.search(r"[\w$'\"`)\]#<]$|[+][+]$|--$", last)):
            kind, found = "regex", _REGEX.match(text, at)
        if found is None:
            found = _LEXEME.match(text, at)
            assert found
            kind = str(found.lastgroup)
        if found[0] == "{":
            braces.append("")
        elif found[0] == "}" and kind == "other":
            braces.pop()
        yield kind, text[at : found.end()]
        if kind not in ("blanks", "comment"):
            last = text[at : found.end()]
        at = found.end()


def is_long(run: str) -> bool:
    line = re.split(r"[\n\r]", run)[0]
    return len(line) > BOUNDED or len(run) - len(line) > BOUNDED


def is_bounded(text: str) -> bool:
    """Whether a text begins with a word, and has no comments, no other blanks than spaces and tabs, and no long runs."""
    if text.startswith("#!") or text[:1].isspace() or text.startswith("\ufeff"):
        return False
    before = ["", ""]
    for kind, run in lexemes(text):
        if kind == "comment" or (kind == "blanks" and (not set(run) <= set(" \t\n\r") or is_long(run[takes_a_blank(before) :]))):
            return False
        before.append(run)
    return True


def takes_a_blank(lexemes: list[str]) -> bool:
    """Whether the last one is a terminal with the blank behind it: an operator that begins a line, `extends` in `= <T extends`."""
    *before, last = lexemes
    at_line = before[-1].isspace() and not set(before[-1]) <= set(" \t")
    return (last in ("in", "instanceof") and at_line) or (
        last == "extends" and [x for x in before if x.strip()][-3:-1] == ["=", "<"]
    )


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_left_of_texts(name: str) -> None:
    for text in TEXTS[name]:
        assert takes(name, text)
        assert takes(f"{name}?layout=bounded", text) == is_bounded(text), text
    assert sum(map(is_bounded, TEXTS[name])) >= len(TEXTS[name]) / 2


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_of_mutants(name: str, seed: int) -> None:
    """Layout put in at one or two places, of which some are within literals, or where the whole language has none."""
    rng, counts = random.Random(seed), {(whole, bounded): 0 for whole in (False, True) for bounded in (False, True)}
    for _ in range(300):
        text = rng.choice(TEXTS[name])
        for _ in range(rng.choice([1, 1, 2])):
            at, piece = rng.randint(0, len(text)), rng.choice(PIECES)
            if any(found.start(1) <= at <= found.end() for found in _BETWEEN_TAGS.finditer(text)):
                piece = rng.choice([" ", "\n", " " * BOUNDED, "\n" * (BOUNDED + 1)])
            text = text[:at] + piece + text[at:]
        whole, bounded = takes(name, text), takes(f"{name}?layout=bounded", text)
        assert bounded == (whole and is_bounded(text)), text
        counts[whole, bounded] += 1
    assert min(counts[False, False], counts[True, False], counts[True, True]) > 20
