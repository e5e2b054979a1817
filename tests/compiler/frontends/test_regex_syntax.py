"""The regex front end, judged by Python's own `re` where the two must agree, and by tables of dialects and refusals."""

from __future__ import annotations

import re
import time
import unicodedata
from functools import partial
from itertools import product
from typing import cast

import pytest
from effort import examples
from expression_language import Language
from hypothesis import assume, example, given
from hypothesis import strategies as st

from psc.compiler.expressions.expression import Chars, Expression, Literal
from psc.compiler.frontends.regex import MAX_NESTING, Dialect, regex_expression, regex_rule_set
from psc.errors import GrammarError

KELVIN, LONG_S = "\u212a", "\u017f"

# (pattern, texts that match, texts that do not), in both dialects
BOTH = [
    ("", [""], ["a"]),
    ("abc", ["abc"], ["", "ab", "abcd"]),
    ("a|bc|", ["a", "bc", ""], ["abc", "b"]),
    (r"a\.b\*\/\-\_\"\é", ['a.b*/-_"é'], ["a.b*"]),
    (r"\n\r\t\f\v\a\0", ["\n\r\t\f\v\a\0"], [""]),
    ("\0+", ["\0\0"], [""]),
    (r"\x41\u00e9\u{1F600}\U0001F600\cA\cz", ["Aé😀😀\x01\x1a"], []),
    (r"\uD83D\uDE00", ["😀"], []),
    (r"[\uD83D\uDE00-\u{1F602}]", ["😀", "😁"], ["😃"]),
    (r"\N{GREEK SMALL LETTER ALPHA}", ["\u03b1"], []),
    (r"[a-c\-x\]^]+", ["abc-x]^"], ["d"]),
    ("[^a]", ["b", "\n", "😀", "\0"], ["a", "", "bb"]),
    ("[-a][a-]", ["--", "aa"], ["b-"]),
    (r"[\b]", ["\b"], ["b"]),
    (r"[\d\-x][^\d]", ["1a", "-x"], ["11"]),
    (r"[a[]", ["a", "["], ["]"]),
    (r"\D\W\S", ["a-b"], ["1ab", "aab", "a- "]),
    (r"[\s\S]", ["\n", "a"], [""]),
    ("(a)(?:b)(?<n>c)(?P<m>d)", ["abcd"], ["abc"]),
    ("(?<é_1>a)", ["a"], []),
    ("(a|b)*c", ["c", "abc"], ["ab"]),
    ("()a(|b)", ["a", "ab"], [""]),
    ("a?b*c+", ["c", "abbcc"], ["ab"]),
    ("a{2}b{1,}c{1,2}d{0,2}e{0}", ["aabc", "aabbccdd"], ["abc", "aabccc", "aabcddd", "aabce"]),
    ("a{0,3}", ["", "aaa"], ["aaaa"]),
    ("a??b*?c+?d{1,2}?e{2,}?", ["cdee", "abbccddeee"], ["cd"]),
    ("(?:a|b?){2}", ["", "ab", "aa"], ["aab"]),
    ("x{}{a}{1,b}]}", ["x{}{a}{1,b}]}"], []),  # no quantifiers, so characters
    (r"\{\}", ["{}"], []),
    ("a(?#comment (not a group)*b", ["b", "aab"], []),
    # flags
    ("(?i)sk", ["sk", "SK", LONG_S + KELVIN], ["ss"]),
    ("a(?i:b(?-i:c))d", ["aBcd", "abcd"], ["aBCd", "ABcd"]),
    ("(?i:[a-c]é)", ["Aé", "bÉ"], ["dé"]),
    ("(?i:[^a-c])", ["d"], ["A", "c"]),
    (r"(?i:[\w])-(?i:\p{Lu})", ["a-a", "A-A"], ["a--"]),
    ("(?s).(?-s:.)", ["\na"], ["a\n"]),
    ("(?x) a b # comment [\n c\\  [ ] *", ["abc ", "abc  "], ["abc"]),
    ("(?x: a ) b", ["a b"], ["ab"]),
    ("(?is:a.)", ["A\n"], []),
    ("(?i)(?s)a.", ["A\n"], []),
    # anchors
    ("^a$", ["a"], ["a\n", "\na"]),
    ("^a|b$|^c$", ["a", "b", "c"], []),
    (r"\Aa\Z", ["a"], []),
    ("(^a|b)c", ["ac", "bc"], ["aac"]),
    ("(?:^a|^b)(?:c|$)", ["bc", "b", "a"], ["abc"]),
    ("a*(b$|c)", ["aab", "c"], ["a"]),
    ("^^(?:^)a", ["a"], []),
    ("(?:^a)?b", ["ab", "b"], []),
    ("a|b^c", ["a"], ["bc"]),
    ("(?m)^a$", ["a"], ["a\n"]),
    ("^", [""], ["a"]),
    # properties
    (r"\p{L}\p{Letter}\p{lowercase letter}\P{L}", ["aé\u03b11"], ["aaaa", "aaA1"]),
    (r"\p{L&}\p{LC}\p{gc=Nd}\p{General_Category=Decimal_Number}", ["aA1\u0663"], ["1A11"]),
    (r"[\p{Nd}_\P{ASCII}]+", ["1_é"], ["a"]),
    (r"[^\p{L}]", ["1", "\n"], ["é"]),
    (r"\p{Any}\p{ASCII}\p{White_Space}\p{Uppercase}\p{XIDS}\p{Hex}", ["😀a\u3000ⒶaF"], ["😀é\u3000ⒶaF"]),
]

ECMA = [
    (r"\d", ["1"], ["\u0663", "a"]),
    (r"\w+", ["aZ_9"], ["é", "-"]),
    (r"\W", ["é"], ["a"]),
    (r"\s+", [" \t\n\v\f\r\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff"], ["\u0085", "\u200b", "\x1c"]),
    (r".", ["a", "\u0085", "😀"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("[^]", ["a", "\n"], [""]),
    ("a|[]b", ["a"], ["b"]),
    ("a|b$c", ["a"], ["bc"]),
]

PYTHON = [
    (r"\d", ["1", "\u0663"], ["a"]),
    (r"\w+", ["aé_9"], ["-"]),
    (r"(?a:\w)\w", ["aé"], ["éa"]),
    (r"(?a)(?i:k)(?u:\w)", ["Ké"], [KELVIN + "a"]),
    (r"\s+", [" \u00a0\u0085\x1c\u2028"], ["\ufeff"]),
    (r".", ["a", "\r", "\u2028"], ["\n"]),
    ("[]a]+[^]a]", ["]ab"], ["]]"]),
]


@pytest.mark.parametrize(
    ("pattern", "matching", "others", "dialect"),
    [(*case, "ecma") for case in BOTH + ECMA] + [(*case, "python") for case in BOTH + PYTHON],
)
def test_language(pattern: str, matching: list[str], others: list[str], dialect: str) -> None:
    language = Language(regex_expression(pattern, dialect=cast(Dialect, dialect)))
    for text in matching:
        assert text in language, text
    for text in others:
        assert text not in language, text


# What Python has too means the same there. (Quantifiers {,n} and character escapes are read by re as well.)
@pytest.mark.parametrize(("pattern", "matching", "others"), BOTH + PYTHON)
def test_table_agrees_with_re(pattern: str, matching: list[str], others: list[str]) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        assert re.search(r"\\[pPucU/é_]|\\x|\(\?<|\\N|b\^c", pattern), "re refuses it for another reason than a construct it lacks"
        return
    if "\\uD83D" in pattern:  # two half characters there
        return
    for text in matching:
        assert compiled.fullmatch(text), text
    for text in others:
        assert not compiled.fullmatch(text), text


REFUSED = {
    # pattern: (line:column, words)
    "a(?=b)": ("1:2", ["Lookahead assertion (?=", "write out"]),
    "(?!a)b": ("1:1", ["Negative lookahead assertion"]),
    "(?<=a)b": ("1:1", ["Lookbehind assertion (?<="]),
    "(?<!a)b": ("1:1", ["Negative lookbehind assertion"]),
    "(?>a)": ("1:1", ["atomic group", "(?:...)"]),
    "(a)?(?(1)b|c)": ("1:5", ["conditional group"]),
    "(?P<n>a)(?P=n)": ("1:9", ["Backreference"]),
    r"(a)\1": ("1:4", ["Backreference"]),
    r"(?<n>a)\k<n>": ("1:8", ["Backreference"]),
    "(?R)": ("1:1", ["recursive"]),
    "(?|a)": ("1:1", ["branch reset"]),
    r"a\b": ("1:2", ["Word boundary assertion"]),
    r"\Ba": ("1:1", ["Word boundary assertion"]),
    "a*+": ("1:2", ["possessive"]),
    "a{2}+": ("1:2", ["possessive"]),
    r"\07": ("1:1", ["octal"]),
    r"[\7]": ("1:2", ["Backreference", r"\xHH"]),
    r"\q": ("1:1", [r"no escape \q"]),
    r"[\q]": ("1:2", [r"no escape \q"]),
    "\\": ("1:1", ["ends in a backslash"]),
    r"\x4": ("1:1", ["two hexadecimal digits", r"\u{"]),
    r"\u12g4": ("1:1", ["four hexadecimal digits"]),
    r"\u{}": ("1:1", ["closing brace"]),
    r"\u{110000}": ("1:1", ["beyond the Unicode range"]),
    r"\uD83Da": ("1:1", ["half of a surrogate pair"]),
    r"[\uDE00]": ("1:2", ["half of a surrogate pair"]),
    "\udc80": ("1:1", ["half of a surrogate pair"]),
    r"\c1": ("1:1", ["needs a letter"]),
    r"\N{nothing}": ("1:1", ["no character named 'nothing'"]),
    r"\p{Script=Greek}": ("1:1", ["Script", "ranges"]),
    r"a\p{Alphabetic}": ("1:2", ["Alphabetic", "XID_Start"]),
    r"\p{gc=X}": ("1:1", ["no general category 'X'"]),
    r"\pL": ("1:1", [r"\p{L}"]),
    r"[\p{L]": ("1:2", ["not closed"]),
    "[[:alpha:]]": ("1:2", ["POSIX"]),
    "[b-a]": ("1:2", ["b-a", "empty"]),
    r"[a-\d]": ("1:2", [r"a-\d", r"\-"]),
    "a[b": ("1:2", ["not closed"]),
    "(a": ("1:1", ["not closed"]),
    "a)": ("1:2", ["Unmatched ')'", "closes no group"]),
    "a\n(b": ("2:1", ["not closed"]),
    "(?#a": ("1:1", ["comment"]),
    "*a": ("1:1", ["nothing before", r"\*"]),
    "a|{2}": ("1:3", ["nothing before"]),
    "(+)": ("1:2", ["nothing before"]),
    "a**": ("1:3", ["Two consecutive repetition modifiers", "follows a quantifier"]),
    "a{2}{3}": ("1:5", ["follows a quantifier"]),
    "^*": ("1:2", ["anchor"]),
    "a{3,2}": ("1:2", ["at least 3 and at most 2"]),
    "a{1000001}": ("1:2", ["1,000,000"]),
    "a{0,99999999999999999999999999}": ("1:2", ["1,000,000"]),
    "a(?i)b": ("1:2", ["at the start only", "(?i:...)"]),
    "(?-i)a": ("1:1", ["at the start only"]),
    "(?q:a)": ("1:1", ["unknown flag 'q'"]),
    "(?'n'a)": ("1:1", ["unknown group", "(?<name>...)"]),
    "(?<1>a)": ("1:1", ["name"]),
    "(?<=": ("1:1", ["Lookbehind assertion"]),
    "(?<": ("1:1", ["name"]),
    "(?": ("1:1", ["unknown group"]),
    "a*^b": ("1:3", ["^ is neither always nor never at the start"]),
    "(?:a|b$)*": ("1:7", ["$ is neither always nor never at the end"]),
    "a(?m:$)\n": ("1:6", ["$ is neither"]),
    # matches nothing
    r"[^\s\S]": ("1:1", ["no text at all"]),
    "[]": ("1:1", ["Empty character class", "no text at all"]),
    "a$b": ("1:1", ["no text at all"]),
    "(?:a^)+b": ("1:1", ["no text at all"]),
    r"\P{Any}": ("1:1", ["no text at all"]),
    r"\p{Cs}": ("1:1", ["no text at all"]),
}


@pytest.mark.parametrize("pattern", REFUSED, ids=ascii)
def test_refusals(pattern: str) -> None:
    place, words = REFUSED[pattern]
    with pytest.raises(GrammarError) as e:
        regex_expression(pattern, source_name="here")
    assert str(e.value).startswith(f"here:{place}: "), str(e.value)
    for word in words:
        assert word in str(e.value)


PYTHON_REFUSED = {
    "a$\n": ["$ is neither"],  # there it holds before a last line end, too
    "(?au:a)": ["exclude each other"],
    "(?-a:a)": ["cannot be turned off"],
    "[]": ["not closed", "comes first"],
}


@pytest.mark.parametrize("pattern", PYTHON_REFUSED)
def test_refusals_in_python(pattern: str) -> None:
    with pytest.raises(GrammarError) as e:
        regex_expression(pattern, dialect="python")
    for word in PYTHON_REFUSED[pattern]:
        assert word in str(e.value)


# --- against re: random patterns over few characters

ATOMS = [
    *["a", "b", "ab", "é", "k", "K", KELVIN, " ", r"\n", "[ab]", "[^a]", "[^b\u00e8-\u00ea]", "[a-k]", "(?:)", ".", "(?#c)a"],
    *[r"\w", r"\W", r"\d", r"\s", r"[^\W\d]", r"(?a:\w)", r"[\W\d]", r"\x61", r"\u00e9", "[]a]"],
    *["^", "$", r"\A", r"\Z", "{", "{a}"],
]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,2}", "*?", "+?", "??", "{1,2}?"]
GROUPS = ["(?i:", "(?s:", "(?m:", "(?-i:", "(", "(?P<n>", "(?x: ", "(?a:", "(?ai:"]


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds("(?:{}){}".format, inner, st.sampled_from(QUANTIFIERS)),
        st.builds("{}{})".format, st.sampled_from(GROUPS), inner),
    )


PATTERNS = st.recursive(st.sampled_from(ATOMS), _compound, max_leaves=8)
ALPHABETS = st.sampled_from(["ab", "ab\n", "aK" + KELVIN, "a é", "ab_", "a\nb", "é1_", "{a}"])


def agrees_with_re(pattern: str, alphabet: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:  # a name given twice
        assume(False)
    texts = ["".join(t) for n in range(6 if len(alphabet) < 3 else 5) for t in product(alphabet, repeat=n)]
    try:
        language = Language(regex_expression(pattern, dialect="python"))
    except GrammarError as e:
        if "no text at all" in str(e):
            assert not any(map(compiled.fullmatch, texts))
            return
        assert "is neither always nor never" in str(e)
        assume(False)
    for text in texts:
        assert (text in language) == (compiled.fullmatch(text) is not None), text


@examples(200)
@given(PATTERNS, ALPHABETS)
@example("(?i:[^k])", "aK" + KELVIN)
@example("(?:^a|b)(?:$|c)", "ab")
@example("(?:(?:^)a?)b", "ab")
def test_random_patterns(pattern: str, alphabet: str) -> None:
    agrees_with_re(pattern, alphabet)


@examples(100)
@given(st.text("ab^$|()", min_size=1, max_size=9), st.sampled_from(["ab", "a\n"]))
def test_random_anchors(pattern: str, alphabet: str) -> None:
    agrees_with_re(pattern, alphabet)


@examples(150)
@given(st.text("ab\\[](){}?*+|^$.-,:<>=!iPpLxu1\n é#", max_size=12), st.sampled_from(["ecma", "python"]))
def test_random_text_is_read_or_refused(pattern: str, dialect: Dialect) -> None:
    try:
        Language(regex_expression(pattern, dialect=dialect))
    except GrammarError as e:
        assert re.match(r"<regex>:\d+:\d+: \S", str(e))


@examples(100)
@example(pattern=".{,}", alphabet="ab")
@given(st.text("ab\\[](){}?*+|.-,é", max_size=8), st.sampled_from(["ab", "a[", "{,"]))
def test_random_text_means_what_re_says(pattern: str, alphabet: str) -> None:
    """Where both read it; what only one of them reads is in the tables."""
    try:
        re.compile(pattern)
        regex_expression(pattern, dialect="python")
    except (re.error, GrammarError, FutureWarning):  # [[ may become a set operation there
        assume(False)
    agrees_with_re(pattern, alphabet)


# --- Unicode


def assert_members(expression: Expression, expected: set[str]) -> None:
    """The expression is one class, and has these characters."""
    assert isinstance(expression, Chars)
    assert {chr(c) for a, b in expression.ranges for c in range(a, b + 1)} == expected


EVERY_CHARACTER = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


@pytest.mark.parametrize(
    "pattern",
    [
        *[r"\w", r"\s", r"\D", ".", r"(?i:[\u00c0-\u1fff])", r"(?i:[^k-s])", r"(?i:[\u01c4\ufb05\u1e9e\u0345])"],
        r"(?i:[\U00010400-\U00010410])",
    ],
)
def test_every_character_as_in_re(pattern: str) -> None:
    assert_members(regex_expression(pattern, dialect="python"), set(re.findall(pattern, "".join(EVERY_CHARACTER))))


def is_of(category: str, c: str) -> bool:
    return unicodedata.category(c).startswith(category)


PROPERTIES = {
    **{name: partial(is_of, name) for name in ["L", "Lu", "Mn", "Nd", "P", "Sc", "Z", "Co", "Cn"]},
    "Other": lambda c: unicodedata.category(c)[0] == "C",
    "LC": lambda c: unicodedata.category(c) in ("Lu", "Ll", "Lt"),
    "Assigned": lambda c: unicodedata.category(c) != "Cn",
    "Uppercase": str.isupper,
    "Lowercase": str.islower,
    "XID_Start": lambda c: c.isidentifier() and c != "_",
    "XID_Continue": lambda c: f"a{c}".isidentifier(),
    "White_Space": lambda c: c.isspace() and not "\x1c" <= c <= "\x1f",
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_character_as_in_unicodedata(name: str) -> None:
    assert_members(regex_expression(f"\\p{{{name}}}"), set(filter(PROPERTIES[name], EVERY_CHARACTER)))


# --- form and size


def test_rule_set() -> None:
    rules = regex_rule_set("a[bc]", source_name="pattern of x")
    assert (rules.root, rules.source, rules.source_name, rules.lines) == ("root", "a[bc]", "pattern of x", {"root": 1})
    assert "ac" in Language(rules.rules["root"])


def test_neighbouring_characters_are_one_literal() -> None:
    assert regex_expression("^a(?:b)(c)d$") == Literal("abcd")
    assert regex_expression("(((((x)))))") == Literal("x")
    assert regex_expression("[a-c]") == Chars(((97, 99),))


def test_nesting() -> None:
    deep = "(" * MAX_NESTING + "a" + ")*" * MAX_NESTING
    assert "aaa" in Language(regex_expression(deep))
    for pattern in ("(" * 10_000 + "a" + ")" * 10_000, "(?:" * 50_000):
        with pytest.raises(GrammarError, match=f"more than {MAX_NESTING} groups"):
            regex_expression(pattern)


def test_long_patterns_take_linear_time() -> None:
    began = time.perf_counter()
    regex_expression("|".join(["[a-z]+x?(bc)*"] * 10_000))
    assert time.perf_counter() - began < 60  # minutes, were it quadratic
