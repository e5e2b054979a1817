r"""Lexemes of PostgreSQL: signs behind operators, strings over lines, comments in comments, quotes of dollars.

The verdicts of the tables are PostgreSQL 18.6's (pglast), which judges mixtures where it is installed.
"""

import random
import re

import pytest
from bundled_texts import takes

from psc.corpus.references.libraries import postgresql
from psc.errors import ReferenceMissingError

BEFORE_MINUS = ("=", "<", ">", "<=", ">=", "<>", "!=", "*", "/", "%", "^", "+", "->", "->>", "||", "@")
BEFORE_PLUS = ("=", "<>", "*", "-", "->", "#>>", "~")
BEFORE_COMMENT = ("=", "<", "*", "/", "->", "@", "!=", "||-")
BEFORE_LINE_COMMENT = ("=", "<=", "*", "/", "->", "@", "||", "<+")
TAKEN = [
    *(f"select a{operator}-1" for operator in BEFORE_MINUS),
    *(f"select a{operator}+b" for operator in BEFORE_PLUS),
    *(f"select a{operator}/* b */c" for operator in BEFORE_COMMENT),
    *(f"select a{operator}-- b\n1" for operator in BEFORE_LINE_COMMENT),
    "select a=-+-+-+-1, f(a=>-1), -+b, a<@-@b, a <-> -b, a @-@ b, a*-b/-c, |/25, a + ||/ 27, @-1, a <+-> b",
    "select 'a'\n'b', 'c' \t\r\n\n  'd''e' -- f\n 'g'",
    "select 'a' -- b'\n  -- c\n'd'",
    "select e'a\\''\n'b\\'', E'c'\n\n'\\'', U&'d'\n'e', x'1'\n'f', n'g'\n'h', date '2020-'\n'01-01'",
    "select 'a'\n, 'b' -- c\n, 'd'-1, 'e'->>'f', 'g'/2, 'h' -- i",
    "select /* a /* b /* c */ **/ d //* e */ */ 1",
    "select /*/**/*/ 1 /***/ /* a ***/",
    *(f"select ${tag}$ $ ${tag}x$ ' ${tag}$" for tag in ("", "trigger", "code", "js", "emp_stamp", "REGEX", "DROPALL", "tag")),
    "do $migration$ begin perform 'a'; end $migration$",
]  # fmt: skip
REFUSED = [
    "select a=-",
    "select a--1\n+",
    "select a=+",
    "select a||--1",
    "select 'a' 'b'",
    "select 'a' /* b */\n'c'",
    "select 'a'\n/* b */ 'c'",
    "select 'a'\ne'b'",
    "select $$a$$\n'b'",
    "select 'a'\n$$b$$",
    "select e'a'\n'\\'",
    "select 'a'\n'b",
    "select /* a /* b */ 1",
    "select /*/ 1",
    "select /* a /*/ b */ 1",
    "select $trigger$ a $TRIGGER$",
    "select $code$ a $$",
]
BOUNDED_TAKEN = [
    "select a=-1",
    "select 'a'" + " " * 30 + "\n" * 30 + "'b'",
    "select 'a'" + "\n" * 60 + ", e'b'\n'\\''",
    "select $tag$ a $tag$",
]
BOUNDED_REFUSED = [
    "select 'a'" + " " * 31 + "\n" * 30 + "'b'",
    "select 'a'" + " " * 61,
    "select 'a' -- b",
    "select 'a' --\n'b'",
    "select a=--\n1",
]
PIECES = [*"''--++**//=<>@|~!%^aa  \n\n", " 1 ", "'b'", "'c'", "--", "/*", "*/", "||", "->", "<>", "\t", "\r\n", "e'\\''", "'\\'"]
_LEFT_OUT = re.compile(r"[-+*/<>=~!@%^|]/(?!\*)")


def test_takes() -> None:
    assert [text for text in TAKEN if not takes("postgresql", text)] == []


def test_refuses() -> None:
    assert [text for text in REFUSED if takes("postgresql", text)] == []


def test_with_bounded_layout() -> None:
    assert [t for t in BOUNDED_TAKEN if not takes("postgresql?layout=bounded", t)] == []
    assert [t for t in BOUNDED_REFUSED if takes("postgresql?layout=bounded", t)] == []
    assert [t for t in BOUNDED_TAKEN + BOUNDED_REFUSED if not takes("postgresql", t)] == []


def test_postgresql_judges_alike() -> None:
    """Tables and mixtures, less what is left out on purpose: operators that end in a slash, and comments four deep."""
    try:
        reference = postgresql()
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    rng, mixed = random.Random(1), list[str]()
    while len(mixed) < 4000:
        text = "select a" + "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 7)))
        if not _LEFT_OUT.search(text) and text.count("/*") <= 3:
            mixed.append(text)
    for texts in (TAKEN, REFUSED, mixed):
        assert [t for t, r in zip(texts, reference.judge(texts), strict=True) if (r is None) != takes("postgresql", t)] == []
