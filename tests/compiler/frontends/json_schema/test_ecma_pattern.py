"""Regular expressions of ECMA-262 as sets of texts, against Python's `re` where the two mean the same."""

import itertools
import re
import sys
import unicodedata

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from psc._core import TextAutomaton
from psc.errors import ResourceLimitError

# --- against `re`

TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product("ab_ ", repeat=n)]
ATOMS = ["a", "b", "_", " ", ".", "[ab]", "[^a]", "[^]", r"\w", r"\W", r"\d", r"\s", "^", "$", r"\b", r"\B", "", r"[\s_]", "[a-b_]"]
QUANTIFIERS = ["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{1,3}?", "{0}"]


def repeated(piece: str, quantifier: str) -> str:
    return f"(?:{piece}){quantifier}"


patterns = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda options: f"(?:{'|'.join(options)})"),
        st.builds(repeated, inner, st.sampled_from(QUANTIFIERS)),
        inner.map("({})".format),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
    ),
    max_leaves=8,
)


def as_python(pattern: str) -> str:
    # `$` is the very end, `[^]` any character, and a place without neighbours is no border of a word.
    return pattern.replace("$", r"\Z").replace("[^]", r"[\s\S]").replace(r"\B", r"(?!\b)")


@examples(400)
@given(patterns)
def test_as_python_has_it(pattern: str) -> None:
    automaton = TextAutomaton.pattern(pattern)
    expected = re.compile(as_python(pattern), re.ASCII)
    wrong = [text for text in TEXTS if automaton.matches(text) != bool(expected.search(text))]
    assert not wrong, (pattern, wrong[:5])


@pytest.mark.parametrize(
    "pattern",
    [
        "^(?!.*ab).*$", "^(?=.*a)(?=.*b)[ab_]{2,4}$", "^(?:(?!a_)[a_])*b?$", "a(?=b)", "a(?!b)", "(?!a)", "^(?!^a)b|_$",
        r"^(?!(?:a(?=b)|b\b))\w", "^(?:a|b$|_)*$", "a|^|b$", "(a|ab)(c|bcd|_)", r"\ba\b", r"\B_\B", "(?:)", "()",
        "a{0}", "(?:a{0,2}){2}b", "(^a|b$)", "(?:^)*a", "(?:$)+", r"^\b", r"\b$", r"(?=\b)a", r"a(?!\b)", r"_(?=\Ba)", 
        "(?:(?=a)){0,1}b",
        "[^a-b]", "[]", "[^]", "a|", "|", "x*", "(?:a*)*", "(?:a*b*)*$", "(?:a|^b)+$", "(?!)", "(?=)", r"(?=a(?!_)|b(?=\b))..",
    ],
)  # fmt: skip
def test_examples_as_python_has_them(pattern: str) -> None:
    automaton = TextAutomaton.pattern(pattern)
    expected = re.compile(as_python(pattern).replace("[]", "(?!)"), re.ASCII)
    assert [t for t in TEXTS if automaton.matches(t)] == [t for t in TEXTS if expected.search(t)]


# --- what ECMA-262 says

CASES = [
    ("^abc$", ["abc"], ["abc\n", "xabc", "ABC"]),
    ("a+", ["xxaayy"], ["xx"]),
    (r"^\t\n\v\f\r$", ["\t\n\v\f\r"], ["tnvfr"]),
    (r"^\cC\ca$", ["\x03\x01"], [r"\cC\ca"]),
    (r"^\0$", ["\0"], ["0"]),
    (r"^\d$", ["0", "9"], ["\u07c0", "a"]),
    (r"^\D$", ["\u07c0", "a"], ["0"]),
    (r"^\w$", ["a", "_", "7"], ["\u00e9", "-"]),
    (r"^\W$", ["\u00e9", "-"], ["a"]),
    (r"^\s$", list(" \t\v\f\u00a0\ufeff\n\r\u2028\u2029\u2003\u1680\u202f\u205f\u3000"), ["\x01", "\u2013", "\u180e", "\x85"]),
    (r"^\S$", ["\x01", "\u2013"], [" ", "\ufeff", "\u2029"]),
    ("^.$", ["\U0001f600", "\x85"], ["\n", "\r", "\u2028", "\u2029", "ab", ""]),
    (r"^\x41\u0042\u{43}\u{1F600}$", ["ABC\U0001f600"], []),
    (r"^\uD83D\uDE00$", ["\U0001f600"], ["\ufffd"]),
    (r"^[\uD83D\uDE00-\uD83D\uDE02]$", ["\U0001f600", "\U0001f601"], ["\U0001f603"]),
    (r"^[\ud800-\udfff]?x$", ["x"], ["\ud800x"]),  # no text has lone surrogates
    (r"^[\b\-\].]$", ["\b", "-", "]", "."], ["b", "\\"]),
    (r"^[\w-.]$", ["a", "-", "."], ["/", "\\"]),
    (r"^[a-\d]$", ["a", "-", "5"], ["b"]),
    ("^[-a]$", ["-", "a"], ["b"]),
    ("^[a-]$", ["-", "a"], ["b"]),
    ("^[^-a]$", ["b"], ["-", "a"]),
    ("^[[]$", ["["], ["]"]),
    (r"^\/\-\_\:\ \@$", ["/-_: @"], []),
    ("^{a}]}$", ["{a}]}"], []),
    ("^a{,2}$", ["a{,2}"], ["a", "aa"]),
    ("^x{1$", ["x{1"], ["x"]),
    ("^a{2}{$", ["aa{"], []),
    ("^(?<year>a)(b)(?:c)$", ["abc"], []),
    ("^(?=a)*b", ["b"], ["a"]),  # a lookahead may be repeated (annex B)
    ("^(?=.{3,5}$)[a-z]+(?:-[a-z]+)*$", ["abc", "a-b-c"], ["ab", "abcdef", "a--b"]),
    (r"\p{Letter}cole", ["l'\u00e9cole", "ecole"], ["\u00c9COLE", "1cole"]),
    (r"^\p{digit}+$", ["42", "\u09ea\u09e8"], ["-"]),
    (r"^\P{L}$", ["1"], ["a", "\u03c0"]),
    (r"^[\p{Lu}\p{Nd}]$", ["A", "\u0416", "7"], ["a"]),
    (r"^\p{General_Category=Sc}\p{gc=Lowercase_Letter}\p{ASCII}\p{Any}$", ["\u20acaa\u4e00"], ["\u20acA\u00e9x"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "found", "not_found"), CASES)
def test_syntax(pattern: str, found: list[str], not_found: list[str]) -> None:
    automaton = TextAutomaton.pattern(pattern)
    assert [t for t in found if not automaton.matches(t)] == []
    assert [t for t in not_found if automaton.matches(t)] == []


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        ("a)", 1, "no group"),
        ("x(a", 1, "not closed"),
        ("(a|(?=b)", 0, "not closed"),
        ("a[b", 1, "not closed"),
        ("[a", 0, "not closed"),
        ("[b-a]", 1, "out of order"),
        ("a{3,2}", 1, "out of order"),
        ("*a", 0, "nothing before"),
        ("a|+", 2, "nothing before"),
        ("a**", 2, "nothing before"),
        ("{2}", 0, "nothing before"),
        ("^*", 1, "assertion"),
        (r"\b+", 2, "assertion"),
        ("a\\", 1, "backslash"),
        (r"\Z", 0, "write [$] for the end"),
        (r"x\A", 1, "for the start"),
        (r"\a", 0, "means nothing"),
        (r"[\B]", 1, "means nothing"),
        (r"\x4", 0, "two hexadecimal"),
        (r"\u00", 0, "four hexadecimal"),
        (r"\u{110000}", 0, "no code point"),
        (r"\u{}", 0, "no code point"),
        (r"\u{41", 0, "no code point"),
        (r"\c1", 0, "a letter"),
        (r"(a)\1", 3, "backreference"),
        (r"(?<n>a)\k<n>", 7, "backreference"),
        (r"\07", 0, "octal"),
        ("(?<=a)b", 0, "lookbehind"),
        ("a(?<!a)b", 1, "lookbehind"),
        ("(?P<n>a)", 0, "other dialects"),
        ("(?i)a", 0, "other dialects"),
        ("(?#c)a", 0, "other dialects"),
        ("(?<a", 0, "name"),
        (r"\p{Greek}", 0, "Greek is not supported"),
        (r"\pL", 0, "in braces"),
        (r"\p{L", 0, "in braces"),
    ],
)
def test_malformed_and_unsupported(pattern: str, position: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"at character {position}: .*{message}"):
        TextAutomaton.pattern(pattern)


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="the table is of Unicode 14.0")
@pytest.mark.parametrize("name", ["Lu", "Mn", "Nd", "Zs", "Cn", "P"])
def test_general_categories(name: str) -> None:
    automaton = TextAutomaton.pattern(rf"^\p{{{name}}}$")
    scalars = [c for c in map(chr, range(0, sys.maxunicode + 1, 7)) if not "\ud800" <= c <= "\udfff"]
    assert [c for c in scalars if automaton.matches(c)] == [c for c in scalars if unicodedata.category(c).startswith(name)]


# --- limits

HOSTILE = [
    "(a|b|ab){1000}", "((((a{1,100}){1,100}){1,100}){1,100})", "(?:a|b)*a(?:a|b){20}", "^(([a-z]{1,63}\\.)*[a-z]{1,63}){1,60}$",
    "(((((a?){20}){20}){20}){20}){20}", "(a{0,1000}){0,100}", "[^a]{1,100}[^b]{1,100}[^c]{1,100}", "a{1000000000}", "^.{0,999999}$",
    "".join(f"(?=.*{chr(c)})" for c in range(97, 117)), "".join(f"[a{chr(0x4E00 + 2 * i)}]" for i in range(4000)),
]  # fmt: skip


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_end_in_a_limit(pattern: str) -> None:
    with pytest.raises(ResourceLimitError, match=r"pattern.*: more than [0-9]+$"):
        TextAutomaton.pattern(pattern, max_states=5000)


@pytest.mark.parametrize("opening", ["(", "(?:", "(?=", "(?!"])
def test_nesting_costs_no_stack(opening: str) -> None:
    n = 2000
    automaton = TextAutomaton.pattern(opening * n + "a" + ")" * n)
    assert automaton == TextAutomaton.pattern("a")  # of negations there is an even number
    assert TextAutomaton.pattern("(" * 20_000 + "a" + ")?" * 20_000).n_states == 1
