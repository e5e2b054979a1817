"""Our own reading of Lark's grammar language gives the trees that Lark's parser gives, and reads nothing that Lark refuses."""

import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import lark
import pytest
from lark import Token, Tree
from lark.exceptions import LarkError
from lark.grammar import Terminal
from lark.load_grammar import GRAMMAR_ERRORS, TERMINALS, GrammarBuilder, _parse_grammar
from lark.load_grammar import GrammarError as LarkGrammarError
from lark_grammars import LARK_NAMES, lark_text
from lark_texts import CASES, random_rules

from psc.compiler.frontends.lark.building import DefinitionBuilder
from psc.compiler.frontends.lark.names import literal_pattern
from psc.compiler.frontends.lark.syntax import MAX_NESTING, WITHOUT_GOING_BACK, NotRead, read_statements
from psc.errors import GrammarError

LIBRARY = sorted((Path(lark.__file__).parent / "grammars").glob("*.lark"))
FORMS = r"""
// every statement and every token
start.2: a | B -> x // end of a line
  | "c"i "d".."e" # another comment
  |
?_inline{p, q}.-3: p~2 q~1..3 \
  "in the same row" [p | (q "?")+]?
!?keep: a* B+ template{a, "x", /y/, template{B}}
?!both.1: /re\/gex/imslux "\"" "\\"
a: b? c
b: "a" ? c
c: (A B)? [C]~3

A.+5: /[a-z]/ "x"~2
B: A | "q"
%import common.WS
%import common (NUMBER, _EXP)
%import .other.file -> renamed
%import .other (a)
%ignore WS
%ignore /[ \t]+/ | "x"
%declare _INDENT _DEDENT rule
%override A: "b"
%extend rule{x}: x
%extend B.2: "c"
"""
TEXTS = [*CASES.values(), FORMS, "", "\n\n", "// comment", "start: a", "start:", "start: a\r\n\r\n  | b\r\n", "a: b?c", "_: a"]


def same(ours: Any, theirs: Any) -> bool:
    """Whether two trees are equal in everything that is looked at, which `==` of Lark's values is not."""
    if isinstance(theirs, Tree):
        return (
            type(ours) is type(theirs)
            and (ours.data, len(ours.children)) == (theirs.data, len(theirs.children))
            and all(map(same, ours.children, theirs.children))
        )
    if isinstance(theirs, Token):
        return isinstance(ours, Token) and (ours.type, str(ours)) == (theirs.type, str(theirs))
    if isinstance(theirs, Terminal) and ours.filter_out != theirs.filter_out:
        return False
    return type(ours) is type(theirs) and str(ours.name) == str(theirs.name)


def read_by_lark(text: str) -> Tree[Any] | None:
    try:
        tree: Tree[Any] = _parse_grammar(text, "<string>")  # type: ignore[no-untyped-call]
    except LarkError:
        return None
    return tree


def read_by_us(text: str) -> Tree[Any] | None:
    try:
        return read_statements(text)
    except NotRead:
        return None


def assert_read_as_by_lark(text: str) -> bool:
    """Returns whether it is a grammar."""
    ours, theirs = read_by_us(text), read_by_lark(text)
    assert (ours is None) == (theirs is None), text
    assert theirs is None or same(ours, theirs), text
    return theirs is not None


@pytest.mark.parametrize("name", LARK_NAMES)
def test_bundled_grammars(name: str) -> None:
    assert assert_read_as_by_lark(lark_text(name))


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: p.stem)
def test_larks_library(path: Path) -> None:
    assert assert_read_as_by_lark(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", TEXTS)
def test_forms(text: str) -> None:
    assert_read_as_by_lark(text)


def test_every_form_is_a_form() -> None:
    assert assert_read_as_by_lark(FORMS)


@pytest.mark.parametrize("text", [text for _, texts in GRAMMAR_ERRORS for text in texts])
def test_errors_are_larks_to_tell(text: str) -> None:
    assert not assert_read_as_by_lark(text)


def altered(random: Random, text: str) -> str:
    """A text with a few pieces of it, or of others, in other places."""
    pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        ":",
        "->",
        "~",
        "..",
        ".",
        ",",
        "?",
        "*",
        "!",
        "\n",
        "\n|",
        " ",
        "\\\n",
        "//",
        "#",
        "/",
    ]
    pieces += ['"', '"x"i', "/x/u", "a", "_b", "A", "_B", "Aa", "1", "-2", "%import", "%ignore", "%extend", "%declare", "é", "\r"]
    for _ in range(random.randint(1, 3)):
        at, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
        kind = random.randrange(4)
        if kind == 0:
            text = text[:at] + random.choice(pieces) + text[at:]
        elif kind == 1:
            text = text[:at] + text[min(end, at + random.randint(1, 5)) :]
        elif kind == 2:
            text = text[:at] + random.choice(pieces) + text[at + 1 :]
        else:
            other = random.randrange(len(text) + 1)
            text = text[:other] + text[at : min(end, at + 20)] + text[other:]
    return text


def test_altered_texts() -> None:
    random = Random(0)
    read = 0
    for i in range(600):
        text = random.choice(TEXTS) if i % 2 else random_rules(random)
        read += assert_read_as_by_lark(altered(random, text))
    assert 100 < read < 500  # both are tried


def test_what_is_taken_for_valid_is_valid() -> None:
    random = Random(1)
    valid = 0
    for i in range(500):
        text = random.choice(list(CASES.values())) if i % 2 else random_rules(random)
        builder = DefinitionBuilder()
        try:
            builder.load_grammar(altered(random, text))
        except (LarkError, OSError, AssertionError, ValueError):
            continue
        if builder._certainly_valid():
            valid += 1
            GrammarBuilder.validate(builder)
    assert valid > 15


@pytest.mark.parametrize(
    "text",
    [
        "start: a\n",
        "start: A\n",
        'start: ("a" -> x)\n',
        'start: "a"\nt{start}: start\n',
        "start: t{start}\n",
        "%ignore A\nstart:\n",
        "start: t{start}\nt{p, q}: p q\n",
        "start: t{start}\nt{p}: p{q}\n",
        "start: t{start} p\nt{p}: p\n",
        "start: t{start}\nt{p, p}: p\n",
        "start: t{start}\nt{start}: start\n",
        "A: b\n",
    ],
)
def test_what_is_not_valid_is_larks_to_tell(text: str) -> None:
    builder = DefinitionBuilder()
    try:
        builder.load_grammar(text)
    except LarkGrammarError:
        return
    assert not builder._certainly_valid()


def test_deep_nesting_is_larks_to_read() -> None:
    deep = "start: " + "(" * MAX_NESTING + '"a"' + ")" * MAX_NESTING
    assert read_by_us(deep) is None
    assert assert_read_as_by_lark(deep.replace("(", "", 1).replace(")", "", 1))


def test_literals_are_larks() -> None:
    from lark.load_grammar import _literal_to_pattern

    texts = [
        '"a"',
        '"a\'"',
        "\"'''\"",
        '"a"i',
        '"\\n"',
        '"\\""',
        '"\\\\"',
        '"é☃"',
        '"\\u00e9"',
        '"\t"',
        '"a/b"',
        '"%s"',
        '"i"',
        '"{x}"',
    ]
    for text in texts:
        token = Token("STRING", text)
        ours, theirs = literal_pattern(token), _literal_to_pattern(token)  # type: ignore[no-untyped-call]
        assert ours == theirs and ours.raw == theirs.raw and ours.flags == theirs.flags
    for empty in ('""', '""i'):
        with pytest.raises(LarkGrammarError, match="Empty"):
            literal_pattern(Token("STRING", empty))


def test_regexes_that_do_not_go_back_match_as_larks_do() -> None:
    assert set(WITHOUT_GOING_BACK) <= set(TERMINALS.values())
    alphabets = ['"\\a\ni', "/\\\0\nu", " /\n\r#a", "\n\r |a"]
    for (theirs, ours), alphabet in zip(WITHOUT_GOING_BACK.items(), alphabets, strict=True):
        lark, mine = re.compile(theirs), re.compile(ours)
        for n in range(8):
            for letters in product(alphabet, repeat=n):
                text = "".join(letters)
                a, b = lark.match(text), mine.match(text)
                assert (a and a.end()) == (b and b.end()), text


def test_text_that_costs_lark_much_has_an_error_of_ours() -> None:
    slashes = "\\" * 200
    for text, place in {
        f'start: "{slashes}': (1, 8),
        f"a: b\n  start: /x{slashes}a": (2, 10),
        f'start: "\\" // {slashes}\n)': (2, 1),
        'start: "a" )' + "\n" * 100_000: (1, 12),
        'start: "a"\n\n A' + "\n" * 100_000 + ")": (3, 3),
    }.items():
        with pytest.raises(GrammarError, match="^here:{}:{}: ".format(*place)):
            DefinitionBuilder().load_grammar(text, "here")
    DefinitionBuilder().load_grammar('start: "\\" // ' + slashes + "\n" * 100_000)
