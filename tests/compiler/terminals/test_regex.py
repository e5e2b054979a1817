"""Terminals' regexes as byte automata, judged by Python's own `re`.

The definition under test: without lazy quantifiers the language is what `fullmatch` accepts, with them what `match`
matches from end to end.
"""

from __future__ import annotations

import re
from itertools import product

import pynini
import pytest
from bounded import bounded
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle.openfst import Acceptor, first_match_language, from_fst, terminal_language

from psc.compiler.frontends.lark.first_match import first_match_differs
from psc.compiler.terminals.regex import UnsupportedRegex, looks_past_end

LONG_S, KELVIN, DOTTED_I = "\u017f", "\u212a", "\u0130"

ESCAPED_STRING = r'".*?(?<!\\)(\\\\)*?"'
PYTHON_STRING = r"""([ubf]?r?|r[ubf])("(?!"").*?(?<!\\)(\\\\)*?"|'(?!'').*?(?<!\\)(\\\\)*?')"""
PYTHON_LONG_STRING = r'''([ubf]?r?|r[ubf])(""".*?(?<!\\)(\\\\)*?"""|\'\'\'.*?(?<!\\)(\\\\)*?\'\'\')'''
NOT_KEYWORD = r"(?!(?:select|from|where)\b)[a-z_]\w*"


def reference(pattern: str, flags: int, text: str, lazy: bool) -> bool:
    if not lazy:
        return re.fullmatch(pattern, text, flags) is not None
    match = re.match(pattern, text, flags)
    return match is not None and match.end() == len(text)


CASES = [
    # plain constructs
    (r"select", 0, ["select"], ["", "selec", "selects", "SELECT"]),
    (r"", 0, [""], ["a", "\n"]),
    (r"(?!)", 0, [], ["", "a"]),
    (r"a|b|", 0, ["a", "b", ""], ["ab"]),
    (r"[+\-]?[0-9]+(\.[0-9]+)?", 0, ["1", "-1", "+12.50"], ["", "+", "1.", ".5"]),
    (r"[^a-c\n]", 0, ["d", "é", "\U0001f600", "\x00"], ["a", "b", "\n", "", "dd"]),
    (r".", 0, ["a", "\r", "\u2028", "\U0010ffff"], ["\n", ""]),
    (r".", re.S, ["a", "\n"], [""]),
    (r"(?s:.).", 0, ["\na"], ["a\n"]),
    (r" a  b # comment", re.X, ["ab"], [" a  b", "a b"]),
    (r"[a-z]{0,1000}", 0, ["", "a" * 1000], ["a" * 1001, "A"]),
    (r"(?:ab){2,3}", 0, ["abab", "ababab"], ["ab", "abababab"]),
    (r"(?:a*)*(?:|b)+", 0, ["", "aab", "bb"], ["ba"]),
    (r"é+", 0, ["é", "éé"], ["e", "e\u0301"]),
    # Unicode and ASCII classes
    (r"\w+", 0, ["aé_9", "\u4e2d\u6587", "\U0001d4d0"], ["", "a-b", "\U0001f600"]),
    (r"\w+", re.A, ["a_9"], ["é"]),
    (r"(?a:\w)\w", 0, ["aé"], ["éa"]),
    (r"\d", 0, ["7", "\u0667"], ["a", "\u00b2"]),
    (r"\s+", 0, [" \t\n\u00a0\u2003"], ["a", "\u200b"]),
    (r"[^\W\d_]\w*", 0, ["x1", "é"], ["1x", "_x"]),
    (r"\S\D", 0, ["ab"], [" b", "a1"]),
    # ignoring case, Python's way
    (r"(?i:sk)", 0, ["sk", "SK", LONG_S + KELVIN, "s" + KELVIN], ["ss"]),
    (r"(?ai:sk)", 0, ["Sk"], [LONG_S + "k", "s" + KELVIN]),
    (r"[a-z]+", re.I, ["aZ", LONG_S, KELVIN, DOTTED_I, "\u0131"], ["é"]),
    (r"[^k]", re.I, ["a"], ["k", "K", KELVIN]),
    (r"\u0390", re.I, ["\u0390", "\u1fd3"], ["\u03b9"]),
    (r"(?i:a(?-i:b))", 0, ["ab", "Ab"], ["AB"]),
    # anchors
    (r"^a$", 0, ["a"], ["a\n", "\na"]),
    (r"a$\n?", 0, ["a", "a\n"], ["a\n\n"]),
    (r"(?m:^a$)\n(?m:^b$)", 0, ["a\nb"], ["a\n", "ab"]),
    (r"(?:\Aa|b)+\Z", 0, ["abb", "bb"], ["aa", "ba"]),
    (r"\w+\b-?\B", 0, ["a-"], ["a", ""]),
    (r"a\b.b", 0, ["a-b", "a b"], ["aab", "a\nb", "aéb"]),
    (r"a(?a:\b).b", 0, ["a-b", "aéb"], ["aab"]),
    # lookahead and lookbehind
    (NOT_KEYWORD, re.I, ["selected", "x", "_from", "fro", "SELECT_"], ["select", "SELECT", "From", "1a", ""]),
    (r"(?=.*b)[abc]{2}", 0, ["ab", "bc"], ["ac", "b"]),
    (r"(?!ab|ac$)\w+", 0, ["a", "aa", "b"], ["ab", "abc", "ac"]),
    (r"a(?=b)", 0, [], ["a", "ab"]),
    (r"[ab]*(?<=ab)", 0, ["ab", "bab"], ["", "b", "bb", "aba"]),
    (r"[ab]*(?<!ab)b?", 0, ["", "a", "aab", "bb", "ab"], ["c"]),
    (r"(?:(?<!a)b|a(?!a))*", 0, ["bab"[:2], "a", "bb"], ["aa", "ab"]),
    (r"(?=a(?!b(?=c)))\w+", 0, ["abd", "ab", "a"], ["abc", "abcd", "b"]),
    (r"\w*(?<=(?<!x)y)", 0, ["y", "ay"], ["xy", "x"]),
    (r"\w*(?<=a(?=b))\w*", 0, ["ab", "cab"], ["a", "ba"]),
    # lazy quantifiers: Python's priorities decide
    (r"/\*.*?\*/", re.S, ["/**/", "/* a\n*/", "/***/"], ["/*/", "/* */ */", "/**/*/"]),
    (r'".*?"i?', 0, ['"abc"', '"abc"i', '""'], ['"a"b"', '"abc', '""ii']),
    (r"a*?", 0, [""], ["a"]),
    (r"a{2,4}?b??", 0, ["aa"], ["aaa", "aab", "a"]),
    (r"(?:a|ab)(?:c|bcd)(?:d*?)", 0, ["ac", "abc", "abcd"], ["acd", "abcdd"]),
    (r"a|ab|c*?c", 0, ["a", "c"], ["ab", "cc"]),
    (ESCAPED_STRING, 0, ['""', r'"a"', r'"\\"', r'"a\"b"', '"é"'], ['"', r'"\"', '"a"b"', '"\n"', r'"\\"a"']),
    (PYTHON_STRING, re.I, ['""', "rb''"[1:], 'Rb"x"', r"u'\''"], ['"""', '"""a"""', r'"\"', "'a'b'"]),
    (PYTHON_LONG_STRING, re.I | re.S, ['""""""', "'''a'b\n'''", r'F"""\""""'], ['"""', '""', r'"""\"""', '"""""""']),
    # atomic groups and possessive quantifiers
    (r"a*+a?b", 0, ["b", "aab"], ["a"]),
    (r"a?+a", 0, ["aa"], ["a"]),
    (r"(?>a|ab)c", 0, ["ac"], ["abc"]),
    (r"(?>ab|a)b?", 0, ["a", "ab", "abb"], ["b"]),
    (r"(?:a|ab){2}+", 0, ["aa"], ["aab", "aba", "abab"]),
    (r"(?:ab|a){2}+", 0, ["aa", "aab", "aba", "abab"], ["ab", "a"]),
    (r"(?:(?>a(?=b)|ab)b?)*", 0, ["ab", "abab", ""], ["a", "abb"]),
]


@pytest.mark.parametrize(("pattern", "flags", "accepted", "rejected"), CASES)
def test_cases(pattern: str, flags: int, accepted: list[str], rejected: list[str]) -> None:
    language = terminal_language(pattern, flags)
    acceptor = Acceptor(language.fst)
    for text in accepted + rejected:
        expected = text in accepted
        assert reference(pattern, flags, text, language.lazy) == expected, f"the table is wrong about {text!r}"
        assert acceptor.accepts(text.encode()) == expected, text


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [(pattern, flags) for pattern, flags, _, _ in CASES] + [(r"\w{3}|(?i:[^\W\d]k)", 0), (r"[\s\S]*", 0)],
)
def test_automaton_is_canonical(pattern: str, flags: int) -> None:
    fst = terminal_language(pattern, flags).fst
    assert fst.properties(pynini.ACCEPTOR | pynini.I_DETERMINISTIC | pynini.UNWEIGHTED | pynini.NO_EPSILONS, True)
    automaton = from_fst(fst)
    assert not len(automaton.label) or {0, 257}.isdisjoint(automaton.label.tolist())
    minimal = fst.copy().connect().minimize()
    assert minimal.num_states() == fst.num_states()


@pytest.mark.parametrize(
    ("pattern", "flags", "trailing_context", "lazy"),
    [
        (r"a+b?", 0, False, False),
        (NOT_KEYWORD, re.I, True, False),
        (r"(?!select)\w+", 0, True, False),  # "selec" is a lexeme, unless a t follows
        (r"(?!a)\w+", 0, False, False),
        (r"(?<!\\)a", 0, False, False),
        (r"\bfoo", 0, False, False),
        (r"foo\b", 0, True, False),
        (r"foo$", 0, True, False),
        (r"foo(?=;)", 0, True, False),
        (r"foo(?=;);", 0, False, False),
        (r"(?:foo\b|foo)", 0, False, False),
        (ESCAPED_STRING, 0, False, True),
        (PYTHON_STRING, re.I, True, True),  # "" is a string, unless a third quote follows
        (PYTHON_LONG_STRING, re.I | re.S, False, True),
        (r"a{2}?", 0, False, True),
    ],
)
def test_properties(pattern: str, flags: int, trailing_context: bool, lazy: bool) -> None:
    language = terminal_language(pattern, flags)
    assert (language.trailing_context, language.lazy) == (trailing_context, lazy)
    assert looks_past_end(pattern, flags) == trailing_context


@pytest.mark.parametrize(
    ("pattern", "construct", "position"),
    [
        (r"(a)\1", "backreference", 3),
        (r"[\1]\\1(?P<x>a)(?P=x)", "backreference", 15),
        (r"[(?(1)](a)?(?(1)b|c)", "conditional group", 11),
        (r"a(?<=a|bb)c", "lookbehind of variable width", 1),
        (r"a(b", "not a regular expression", 1),
        (r"(" * 5000 + r"a" + r")" * 5000, "nesting too deep", None),
        (r"a{99999999999}", "repetition count too large", None),
        (r"(?:a{999}){999}", "counted repetition", None),
        (r"(?:a|b)*a(?:a|b){25}", "states", None),
        (r"(?=.*a.{20}$)(?=.*b.{19}$).*", "states", None),
    ],
)
def test_refusals(pattern: str, construct: str, position: int | None) -> None:
    with pytest.raises(UnsupportedRegex) as caught:
        terminal_language(pattern)
    assert construct in caught.value.construct
    assert caught.value.position == position
    assert position is None or str(position) in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "differs"),
    [(r"a|ab", True), (r"ab|a", False), (r"a*", False), (r"a*?", False), (r"ab", False), (r"(?:a|ab)c", False)],
)
def test_first_match(pattern: str, differs: bool) -> None:
    assert first_match_differs(pattern) == differs


@given(st.deferred(lambda: PATTERNS))
@bounded
def test_first_matches_as_openfst_compares_them(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:  # a lookbehind of variable width
        assume(False)
    language = terminal_language(pattern)
    assert looks_past_end(pattern) == language.trailing_context
    expected = not language.lazy and not pynini.equivalent(language.fst, first_match_language(pattern))
    assert first_match_differs(pattern) == expected


def test_first_matches_that_are_too_many_to_tell() -> None:
    with pytest.raises(UnsupportedRegex):
        first_match_differs(r"(?:a|b)*a(?:a|b){25}|a")


def test_results_are_independent() -> None:
    first = terminal_language("shared?").fst
    first.concat(first)
    assert Acceptor(terminal_language("shared?").fst).accepts(b"shared")


def single_characters(fst: pynini.Fst) -> set[str]:
    """The language of an automaton whose texts are single characters."""
    automaton = from_fst(fst)
    arcs: dict[int, list[tuple[int, int]]] = {}
    for source, label, target in zip(automaton.source.tolist(), automaton.label.tolist(), automaton.target.tolist(),
                                     strict=True):  # fmt: skip
        arcs.setdefault(source, []).append((label - 1, target))
    found: set[str] = set()
    stack = [(0, b"")]
    while stack:
        state, text = stack.pop()
        if automaton.final[state]:
            found.add(text.decode())
        stack.extend((target, text + bytes([byte])) for byte, target in arcs.get(state, ()))
    return found


EVERY_CHARACTER = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))


@pytest.mark.parametrize("flags", [0, re.A, re.I])
@pytest.mark.parametrize(
    "pattern",
    [r"\w", r"\d", r"\s", r"[k-s]", r"[\u00c0-\u1fff]", r"[^\W\u0370-\u03ff]", r"[\u01c4\ufb05\u1e9e\u0345]"],
)
def test_every_code_point(pattern: str, flags: int) -> None:
    expected = set(re.findall(pattern, EVERY_CHARACTER, flags))
    assert single_characters(terminal_language(pattern, flags).fst) == expected


@given(st.one_of(st.binary(max_size=6), st.text(max_size=4).map(str.encode)), st.sampled_from(range(256)), st.data())
def test_everything_is_all_of_utf8_and_no_more(text: bytes, byte: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    for candidate in (text, text[:at] + bytes([byte]) + text[at + 1 :]):
        try:
            candidate.decode()
            valid = True
        except UnicodeDecodeError:
            valid = False
        for pattern in (r"[\s\S]*", r"(?s:.*)", r"[^\ud800]*", r"(?!\ud800)(?s:.*?)\Z"):
            assert Acceptor(terminal_language(pattern).fst).accepts(candidate) == valid


# Random patterns. Few characters, chosen so that flags, classes and word edges tell them apart.

ATOMS = [
    *["a", "b", "ab", "ba", "_", " ", r"\n", "é", "k", "K", KELVIN, "[ab]", "[^a]", "[^b\u00e8-\u00ea]", "(?:)"],
    *[r"\w", r"\W", r"\d", ".", r"[^\W\d]", r"(?a:\w)", "^", "$", r"\A", r"\Z", r"\b", r"\B", r"(?a:\b)"],
]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"]
GREED = ["", "", "?", "+"]
GROUPS = ["(?i:", "(?s:", "(?m:", "(?-i:", "(", "(?=", "(?!", "(?<=", "(?<!", "(?>"]


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds("(?:{}){}{}".format, inner, st.sampled_from(QUANTIFIERS), st.sampled_from(GREED)),
        st.builds("{}{})".format, st.sampled_from(GROUPS), inner),
    )


PATTERNS = st.recursive(st.sampled_from(ATOMS), _compound, max_leaves=8)
FLAGS = st.sampled_from([0, 0, re.I, re.S, re.M, re.A, re.I | re.S])
ALPHABETS = st.sampled_from(["ab", "ab\n", "aK" + KELVIN, "a é", "ab_", " ab", "a\nb", "é1_", "ab \n"])


@examples(150)
@given(PATTERNS, FLAGS, ALPHABETS)
@bounded
def test_random_patterns(pattern: str, flags: int, alphabet: str) -> None:
    try:
        re.compile(pattern, flags)
    except re.error:  # a lookbehind of variable width
        assume(False)
    language = terminal_language(pattern, flags)
    acceptor = Acceptor(language.fst)
    for length in range(6 if len(alphabet) < 4 else 5):
        for letters in product(alphabet, repeat=length):
            text = "".join(letters)
            assert acceptor.accepts(text.encode()) == reference(pattern, flags, text, language.lazy), text


@given(PATTERNS, FLAGS, ALPHABETS)
def test_without_trailing_context_what_follows_does_not_matter(pattern: str, flags: int, alphabet: str) -> None:
    assume("(?>" not in pattern and not re.search(r"[*+?}][?+]", pattern))  # these prefer, rather than look
    try:
        re.compile(pattern, flags)
    except re.error:
        assume(False)
    language = terminal_language(pattern, flags)
    assume(not language.trailing_context)
    acceptor = Acceptor(language.fst)
    for length in range(4):
        ending_there = re.compile(rf"(?:{pattern})(?<=\A[\s\S]{{{length}}})", flags)
        for letters in product(alphabet, repeat=length):
            text = "".join(letters)
            for following in alphabet:
                assert acceptor.accepts(text.encode()) == bool(ending_there.match(text + following)), (text, following)


@given(PATTERNS, FLAGS, st.text("abK é\n", max_size=3), st.binary(min_size=1, max_size=2), st.data())
def test_random_patterns_reject_invalid_utf8(pattern: str, flags: int, text: str, junk: bytes, data: st.DataObject) -> None:
    whole = text.encode()
    at = data.draw(st.integers(0, len(whole)))
    broken = whole[:at] + junk + whole[at:]
    try:
        broken.decode()
    except UnicodeDecodeError:
        try:
            language = terminal_language(pattern, flags)
        except UnsupportedRegex:  # a lookbehind of variable width
            return
        assert not Acceptor(language.fst).accepts(broken)
