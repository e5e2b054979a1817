"""EBNF in ISO's notation: what is taken, what it means, what each refusal says, and which texts are in it."""

import random
from itertools import product
from pathlib import Path

import pytest
from masks_along_texts import check_masks_along
from oracle.w3c import sentences
from vocabularies import byte_tokenizer

import psc
from psc import Grammar
from psc.compiler.frontends.ebnf import MAX_NESTING
from psc.compiler.frontends.iso.recognition import is_iso
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import GrammarError, ResourceLimitError

INFO = byte_tokenizer()
COMPILER = psc.GrammarCompiler(INFO, store=False)


def takes(compiled: psc.CompiledGrammar, text: str) -> bool:
    """Whether a text is one of a grammar's."""
    matcher = psc.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


MEANING = [  # body of the first rule, texts of it, texts that are not
    ("'a'", ["a"], ["", "aa"]),
    ("\"'\", '\"'", ["'\""], ["''"]),
    ("'\\'", ["\\"], ["\\\\"]),
    ("", [""], ["a"]),
    ("'a' |", ["a", ""], ["b"]),
    ("'a', , 'b'", ["ab"], ["a"]),
    ("'a', 'b' | 'c' / 'd' ! 'e'", ["ab", "c", "d", "e"], ["ac"]),
    ("'a', ['b'], {'c'}, (/ 'd' /), (: 'e' :)", ["a", "abcc", "ade", "aee"], ["b", "aca"]),
    ("3 * 'a'", ["aaa"], ["aa", "aaaa"]),
    ("0 * 'a', 2 * ['b']", ["", "b", "bb"], ["a", "bbb"]),
    ("2 * other - 'xy'", ["xx", "yx"], ["xy", "x"]),
    ("{'a'}-", ["a", "aa"], [""]),
    ("{other} - 'x' - 'xy'", ["", "y", "xx"], ["x", "xy"]),
    ("? #x41 ?, ? U+1F600 ?", ["A\U0001f600"], ["a"]),
    ("? #x61-#x63 ? - 'b', ? U+0030..U+0031 ?", ["a0", "c1"], ["b0", "a2"]),
    ("? any character ?", ["a", "\n", "\U0001f600"], ["", "aa"]),
    ("a long  name, (* note (* inside *) 'x' *) 'z'", ["!z"], ["z"]),
]


@pytest.mark.parametrize(("body", "right", "wrong"), MEANING, ids=[body for body, _, _ in MEANING])
def test_meaning(body: str, right: list[str], wrong: list[str]) -> None:
    compiled = COMPILER.compile_grammar(f"first = {body} ; other = 'x' | 'y' . a long\nname = '!';")
    assert all(takes(compiled, text) for text in right)
    assert not any(takes(compiled, text) for text in wrong)


def drawn(rng: random.Random, depth: int) -> tuple[str, str, int]:
    """An expression in ISO's notation and in W3C's, and how tightly it binds: 0 choice, 1 row, 2 difference, 3 one."""

    def at_least(binding: int, **more: int) -> tuple[str, str]:
        iso, w3c, own = drawn(rng, more.get("depth", depth - 1))
        return (iso, w3c) if own >= binding else (f"({iso})", f"({w3c})")

    kind = rng.randrange(10) if depth else rng.randrange(4)
    if kind < 4:
        text = rng.choice(["'a'", "'b'", '"ab"', "? #x61 ?", "? #x61-#x62 ?", "A", "B", "few"])
        return text, {"? #x61 ?": "#x61", "? #x61-#x62 ?": "[a-b]"}.get(text, text), 3
    if kind == 4:
        (iso, w3c), (more, also) = at_least(1), at_least(1)
        return f"{iso} {rng.choice('|/!')} {more}", f"{w3c} | {also}", 0
    if kind == 5:
        (iso, w3c), (more, also) = at_least(2), at_least(2)
        return f"{iso}, {more}", f"{w3c} {also}", 1
    if kind == 6:
        iso, w3c = at_least(0)
        (begin, end), mark = rng.choice([(("[", "]"), "?"), (("(/", "/)"), "?"), (("{", "}"), "*"), (("(:", ":)"), "*")])
        return f"{begin} {iso} {end}", f"({w3c}){mark}", 3
    if kind == 7:
        n = rng.randrange(1, 4)
        iso, w3c = at_least(3)
        return f"{n} * {iso}", f"({' '.join([w3c] * n)})", 2
    (iso, w3c), (more, also) = at_least(3), at_least(3)
    return f"{iso} - {more}", f"({w3c}) - ({also})", 2


@pytest.mark.parametrize("seed", range(150))
def test_as_w3c_notation_has_it(seed: int) -> None:
    """Texts of up to five characters are those of the same grammar in the other notation, by an oracle that enumerates them."""
    rng = random.Random(seed)
    rules = [(name, *drawn(rng, depth)[:2]) for name, depth in (("start", 3), ("A", 1), ("few", 0), ("B", 0))]
    # Rules refer to those behind them alone, as a difference must not need itself.
    for i, (name, iso, w3c) in enumerate(rules):
        for earlier, _, _ in rules[: i + 1]:
            iso, w3c = (text.replace(earlier, "'b'") if earlier != "A" or i else text for text in (iso, w3c))
        rules[i] = (name, iso, w3c)
    ignored = rng.random() < 0.3
    iso_text = ("%ignore WS\n" if ignored else "") + "".join(f"{name} = {iso} ;\n" for name, iso, _ in rules) + "WS = '-';\n"
    w3c_text = ("%ignore WS\n" if ignored else "") + "".join(f"{name} ::= {w3c}\n" for name, _, w3c in rules) + "WS ::= '-'\n"
    try:
        compiled = COMPILER.compile_grammar(iso_text)
    except GrammarError:  # a grammar of no texts, or a difference inside which text is ignored
        with pytest.raises(GrammarError):
            COMPILER.compile_grammar(f"%w3c\n{w3c_text}")
        return
    expected = sentences(w3c_text, "start", "ab-", 4)
    for length in range(5):
        for text in map("".join, product("ab-", repeat=length)):
            assert takes(compiled, text) == (text in expected), (iso_text, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = b;", r"1:5: rule 'b' is not defined"),
        ("ab = 'x'; c = abc;", r"did you mean 'ab'\?"),
        ("a = b c;\nb='x'; c='y';", r"1:5: rule 'b c' is not defined.*A comma stands between two rules"),
        ("a = 'x'", r"1:8: the end of the text cannot stand here; in ISO's notation, whose rules are written name = … ;"),
        ("a = 'x' 'y';", r"1:9: 'y' cannot stand here; in ISO's notation"),
        ("a = ('x' 'y');", r"1:10: 'y' cannot stand here; .* \( ends with \)"),
        ("a = ['x';", r"1:9: ; cannot stand here; .* \[ ends with \]"),
        ("a = {'x'", r"1:5: this \{ has no closing \}"),
        ("a = 'x')", r"1:8: \) cannot stand here"),
        ("a = 'x", r"1:5: this literal has no closing ' on its line"),
        ("a = '';", r"1:5: '' has no text"),
        ("a = 'x'+;", r"1:8: one or more times is written"),
        ("a = 3 'x';", r"1:7: 'x' cannot stand here; \* and what comes 3 times follow a number"),
        ("a = 3 * 2 * 'x';", r"1:9: 2 cannot stand here; a count comes once"),
        ("a = ? white space ?;", r"1:5: psc does not know what \? white space \? means; write characters by their numbers"),
        ("a = ? #x110000 ?;", r"1:5: \? #x110000 \? has no characters"),
        ("a = ? #x62-#x61 ?;", r"has no characters"),
        ("a = ? #xD800 ?;", r"has no characters"),
        ("a = 'x'; (* note", r"1:10: this comment has no closing \*\)"),
        ("a = 'x'; a = 'y';", r"1:10: rule 'a' is defined twice"),
        ("a = 'x'; b", r"1:11: = stands behind b|1:11: the end of the text cannot stand here"),
        ("a = {a} - 'x';", r"1:9: psc takes a difference of regular texts only"),
        ("a = 'x'; %foo\n", r"1:10: %foo must begin on a line of its own"),
        ("a = 'x';\n%foo\n", r"2:1: there is no directive %foo"),
        ("%ignore B\na = 'x';", r"1:9: rule 'B' is not defined"),
        (
            "%ignore A\na = 'x'; A = b; b = ' ';",
            r"refers to 'b', inside which text is ignored; give that rule a name without lower-case",
        ),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar.from_ebnf(text)


def test_limits() -> None:
    with pytest.raises(ResourceLimitError, match="groups are nested deeper"):
        Grammar.from_ebnf("a = " + "(" * (MAX_NESTING + 1) + "'x'" + ")" * (MAX_NESTING + 1) + ";")
    with pytest.raises(ResourceLimitError, match="is the limit"):
        Grammar.from_ebnf("a = 99999999999 * 'x';")


@pytest.mark.parametrize("text", ["a = 'x';", "%iso\n a b = 'x'.", " (* a ::= (* b *) *)\n%ignore X\na='x';", "a\n= 'x';"])
def test_texts_in_the_notation(text: str) -> None:
    assert is_iso(text)


@pytest.mark.parametrize(
    "text", ["a ::= 'x'", '# a = "x"\nroot ::= "a"', "[1] a ::= 'x'", "%ignore A\na ::= A", "", "(* a = 'x';", "a == b"]
)
def test_texts_in_others(text: str) -> None:
    assert not is_iso(text)


@pytest.mark.parametrize("prefix", ["a " * 40_000, "(* *)" * 40_000, " \n" * 40_000, "(*" * 40_000, "%iso\n" * 20_000])
def test_long_texts_are_told_in_time(prefix: str) -> None:
    assert not is_iso(prefix + "::=")


def test_files_and_starts(tmp_path: Path) -> None:
    path = tmp_path / "two.ebnf"
    path.write_text("first = second, 'a' ; second = 'b' ;", encoding="utf-8")
    assert takes(COMPILER.compile_file(path), "ba")
    assert takes(COMPILER.compile_file(path, start="second"), "b")
    assert find_grammar(path).request().language == "iso_ebnf"
    with pytest.raises(GrammarError, match="there is no rule 'third'"):
        COMPILER.compile_file(path, start="third")


def test_masks() -> None:
    compiled = COMPILER.compile_grammar("%ignore S\ne = t, {('+' | '-'), t}; t = N | '(', e, ')'; N = {? #x30-#x39 ?}-; S = ' ';")
    for text in ("1 + (22-3)", "((7))", " 1 "):
        check_masks_along(compiled, INFO, text.encode())
