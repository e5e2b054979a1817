"""The native automaton of all terminals, judged by OpenFst's of the same patterns."""

import numpy as np
import pytest
import strategies
from bounded import bounded
from effort import examples
from expression_language import Language, grammar_of, pattern_of
from hypothesis import assume, given
from hypothesis import strategies as st
from lark_grammars import LARK_NAMES, lark_text
from oracle.openfst import Acceptor, terminal_language, union_automaton

from psc._core import build_terminal_automaton
from psc.compiler.cfg import terminals
from psc.compiler.cfg.terminals import TerminalAutomaton, terminal_automaton, terminal_expression
from psc.compiler.expressions.expression import EMPTY, NOTHING, Chars, Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.terminals.programs import TerminalPrograms
from psc.compiler.terminals.regex import UnsupportedRegex, pattern_difference, pattern_expression
from psc.errors import GrammarError

# --- equality with OpenFst's construction


def assert_as_openfst(automaton: TerminalAutomaton) -> None:
    expected_next, expected_matches = union_automaton([terminal_language(t.pattern).fst for t in automaton.grammar.terminals])
    assert automaton.next.tolist() == expected_next.tolist()  # both are numbered breadth-first by bytes
    assert automaton.matches == expected_matches
    ranks = [t.rank for t in automaton.grammar.terminals]
    assert automaton.accept.tolist() == [min(m, key=ranks.__getitem__) if m else -1 for m in expected_matches]


@pytest.mark.parametrize("name", LARK_NAMES)
def test_bundled_grammars(name: str) -> None:
    assert_as_openfst(terminal_automaton(load_lark(lark_text(name), source_name=name)))


# Ends of ranges lie around the borders of ASCII, of each length in UTF-8, and of the surrogates.
BORDERS = [0, 0x61, 0x62, 0x7F, 0x80, 0xBF, 0xC0, 0x7FF, 0x800, 0xFFF, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF]


@st.composite
def character_sets(draw: st.DrawFn) -> Chars:
    """Ranges that are ascending, disjoint and not adjacent, without surrogates."""
    points = st.one_of(st.sampled_from(BORDERS), st.integers(0, 0x10FFFF))
    ranges: list[tuple[int, int]] = []
    for low, high in sorted(draw(st.lists(st.tuples(points, points).map(sorted), max_size=4))):
        pieces = [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)]
        for a, b in ((a, b) for a, b in pieces if a <= b):
            if ranges and a <= ranges[-1][1] + 1:
                ranges[-1] = ranges[-1][0], max(b, ranges[-1][1])
            else:
                ranges.append((a, b))
    return Chars(tuple(ranges))


LEAVES = st.one_of(
    st.sampled_from([Literal("a"), Literal("b"), Literal("ab"), Literal("é"), Literal("a\U0001f600"), EMPTY, NOTHING]),
    st.sampled_from([Chars(((0x61, 0x62),)), Chars(((0, 0x60), (0x62, 0xD7FF), (0xE000, 0x10FFFF))), Chars(((0xE0, 0x3FF),))]),
    character_sets(),
)


def _compound(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(inner, max_size=3).map(tuple)
    counts = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2)))
    return st.one_of(
        st.builds(Sequence, parts),
        st.builds(Choice, parts),
        st.builds(lambda body, c: Repeat(body, c[0], None if c[1] is None else c[0] + c[1]), inner, counts),
    )


EXPRESSIONS = st.recursive(LEAVES, _compound, max_leaves=8)


@examples(150)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=4))
@bounded
def test_random_expressions(expressions: list[Expression]) -> None:
    languages = [terminal_language(pattern_of(e)).fst for e in expressions]
    grammar = grammar_of(*expressions)
    wrong = [i for i, fst in enumerate(languages) if fst.num_states() == 0 or Acceptor(fst).accepts(b"")]
    if wrong:
        with pytest.raises(GrammarError, match=f"terminal T{wrong[0]}: .*matches (no text|the empty)"):
            terminal_automaton(grammar)
        return
    assert_as_openfst(terminal_automaton(grammar))


@given(strategies.grammars(fancy=True))
@bounded
def test_random_lark_grammars(text: str) -> None:
    """With lazy quantifiers, lookaround and flags."""
    grammar = load_lark(text)
    languages = [terminal_language(t.pattern).fst for t in grammar.terminals]
    wrong = [i for i, fst in enumerate(languages) if fst.num_states() == 0 or Acceptor(fst).accepts(b"")]
    if wrong:
        with pytest.raises(GrammarError, match=f"terminal {grammar.terminals[wrong[0]].name}: "):
            terminal_automaton(grammar)
        return
    assert_as_openfst(terminal_automaton(grammar))


# --- Lark's terminals as expressions

# Which patterns are expressions, which are one expression less others, and which are neither.
KINDS = {
    "select": "expression",
    "(?i:sélect|K)": "expression",
    r"[^\W\d_]\w*": "expression",
    r"(?s:.)(?-s:.)": "expression",
    r"(?x: a  b # c" "\n)": "expression",
    r"(?a:\w)\w": "expression",
    r"(?:ab){2,3}(?:c|)": "expression",
    r"(?!if)[a-z]+": "difference",
    r"(?!(?:if|else)\b)[a-z]+": "difference",
    r"(?i:(?!(?:select|from)(?![a-z_]))[a-z_][a-z0-9_]*)": "difference",
    r"(?!a\Z)(?!b+)[abc]+": "difference",
    r"(?!.*--)[a-z\-]+": "difference",
    r"(?!(?:é|x\.)\b)[a-zé.]+": "neither",  # the edge is on either side of the character
    "a*?b": "neither",
    r"a\b.": "neither",
    "(?=a)[ab]": "neither",
    "(?<!a)b": "neither",
    "a*+b": "neither",
    "(?>a|ab)c": "neither",
    "^a$": "neither",
}  # fmt: skip


@pytest.mark.parametrize("pattern", KINDS)
def test_kinds_of_patterns(pattern: str) -> None:
    kind = "expression" if pattern_expression(pattern) else "difference" if pattern_difference(pattern) else "neither"
    assert kind == KINDS[pattern]
    text = f"start: A\nA: /{pattern}/\n".replace("\n)", "\\n)")
    grammar = load_lark(text)
    assert (terminal_expression(grammar.terminals[0]) is None) == (kind != "expression")
    assert_as_openfst(terminal_automaton(grammar))


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?P<x>a)(?(x)b|c)", "(" * 5000 + ")" * 5000])
def test_what_is_no_expression_at_all(pattern: str) -> None:
    assert pattern_expression(pattern) is None
    assert pattern_difference(pattern) is None


def test_strings_ignore_case_as_re_does() -> None:
    grammar = load_lark('start: A B\nA: "Sk.i"i\nB: "a\\nb"\n')
    assert {t.name: terminal_expression(t) is not None for t in grammar.terminals} == {"A": True, "B": True}
    assert_as_openfst(terminal_automaton(grammar))


# --- the form of the result


@given(st.lists(EXPRESSIONS, min_size=1, max_size=3))
@bounded
def test_form(expressions: list[Expression]) -> None:
    try:
        automaton = terminal_automaton(grammar_of(*expressions))
    except GrammarError:
        assume(False)
    n = len(automaton.next)
    assert automaton.next.dtype == np.int32
    assert (automaton.next != 0).all(), "an arc leads into the start"
    met = list(dict.fromkeys(t for row in automaton.next.tolist() for t in row if t >= 0))
    assert met == list(range(1, n)), "not numbered breadth-first"
    alive = {s for s in range(n) if automaton.matches[s]}
    while more := {s for s in range(n) if s not in alive and alive & set(automaton.next[s].tolist())}:
        alive |= more
    assert len(alive) == n, "a state from which nothing matches"


def test_match_sets_have_every_terminal() -> None:
    automaton = terminal_automaton(grammar_of(Literal("ab"), Repeat(Chars(((97, 122),)), 1, None), Literal("a")))
    state = int(automaton.next[0, ord("a")])
    assert automaton.matches[state] == {1, 2}
    assert automaton.matches[int(automaton.next[state, ord("b")])] == {0, 1}
    assert automaton.accept[state] == 1


def test_a_half_of_a_surrogate_pair_matches_nothing() -> None:
    with pytest.raises(GrammarError, match=r"T1: .*no text"):
        terminal_automaton(grammar_of(Literal("a"), Literal("\ud800")))


def test_repetition_of_what_is_empty() -> None:
    body = Repeat(Repeat(Choice((EMPTY, Literal("a"))), 0, None), 2, None)
    language = Language(Sequence((body, Literal("b"))))
    assert "b" in language and "aaab" in language and "ba" not in language


# --- size


def test_nesting_is_no_matter() -> None:
    expression: Expression = Literal("a")
    for i in range(10_000):
        expression = Repeat(expression, 0, 1) if i % 2 else Choice((Sequence((expression, Literal("b"))), Literal("c")))
    language = Language(expression)
    assert "a" + "b" * 5000 in language
    assert "a" + "b" * 5001 not in language
    assert "c" + "b" * 17 in language


def test_long_counted_repetition() -> None:
    automaton = terminal_automaton(grammar_of(Repeat(Chars(((97, 122),)), 1, 20_000), Literal("!")))
    assert len(automaton.next) == 20_002


LIMITS = {
    # 2 ** 21 subsets
    "states": (
        [Sequence((Repeat(Chars(((97, 98),)), 0, None), Literal("a"), Repeat(Chars(((97, 98),)), 20, 20)))],
        ["terminal T0 needs", "50,000 states"],
    ),
    "together": (
        [Sequence((Repeat(Chars(((97, 98),)), 0, None), Literal(c), Repeat(Chars(((97, 98),)), 16, 16))) for c in "ab"],
        ["terminals T0, T1 together need", "50,000 states"],
    ),
    "positions": (
        [Literal("a"), Repeat(Repeat(Literal("ab"), 1000, 1000), 1000, None)],
        ["terminal T1 needs", "1,000,000 characters"],
    ),
    "huge counts": ([Repeat(Repeat(Literal("a"), 0, 10**9), 10**12, 10**12)], ["terminal T0 needs", "1,000,000 characters"]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_named(name: str) -> None:
    expressions, words = LIMITS[name]
    with pytest.raises(GrammarError) as e:
        terminal_automaton(grammar_of(*expressions))
    for word in words:
        assert word in str(e.value)


def test_limit_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "MAX_STEPS", 1000)
    with pytest.raises(GrammarError, match=r"T0 needs more than 1,000 steps"):
        terminal_automaton(grammar_of(Repeat(Chars(((97, 122),)), 1, 5000)))


def test_states_inside_characters_count() -> None:
    letters = pattern_expression(r"\w{1,200}")
    assert letters is not None
    with pytest.raises(GrammarError, match="10,000 states"):
        terminal_automaton(grammar_of(letters), max_states=10_000)


# --- programs


def test_a_reference_is_no_terminal() -> None:
    with pytest.raises(ValueError, match="refers to the rule x"):
        TerminalPrograms().write(Sequence((Literal("a"), Reference("x"))))


BROKEN = [
    [0, 2, 0],  # characters: one is missing
    [0, 1, 9],  # no such set
    [1, 2, 0, 1, 0, 3],  # a choice of two with one option
    [1, 1, 0, 1, 0],  # not closed
    [2],
    [3],
    [4, 2, 1, 0, 1, 0, 3],  # at most fewer than at least
    [4, -1, 1, 3],
    [5, 1, 1, 0, 0, 0, 7],  # an arc to no state
    [5, 100, 100],
    [4, 0, 1, 6, 3],  # an exception inside
    [7],
    [-1],
]


@pytest.mark.parametrize("words", BROKEN, ids=str)
def test_words_that_are_no_program(words: list[int]) -> None:
    arrays = [np.array(a, np.int32) for a in (words, [0, len(words)], [97, 97], [0, 2])]
    with pytest.raises(ValueError, match="not a program"):
        build_terminal_automaton(*arrays, max_states=10, max_positions=100, max_steps=1000)


@given(st.lists(st.integers(-1, 7), max_size=12))
def test_random_words(words: list[int]) -> None:
    arrays = [np.array(a, np.int32) for a in (words, [0, len(words)], [97, 97, 98, 0x10FFFF], [0, 2, 4])]
    try:
        found = build_terminal_automaton(*arrays, max_states=1000, max_positions=10_000, max_steps=10_000)
    except ValueError:
        return
    if not found.exceeded:
        assert len(found.next) == 256 * (len(found.match_offsets) - 1)


def test_exception() -> None:
    programs = TerminalPrograms()
    programs.write(Repeat(Chars(((97, 99),)), 1, None))
    programs.write_except()
    programs.write(Choice((Literal("ab"), Literal("c"))))
    programs.finish()
    found = build_terminal_automaton(*programs.arrays(), max_states=100, max_positions=100, max_steps=10_000)
    table, final = found.next.reshape(-1, 256), np.diff(found.match_offsets)

    def accepts(text: bytes) -> bool:
        state = 0
        for byte in text:
            state = int(table[state, byte])
        return bool(final[state])

    assert [accepts(t) for t in (b"a", b"ab", b"c", b"abc", b"cc", b"b")] == [True, False, False, True, True, True]


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?:(?=.*a.{20}$)(?=.*b.{19}$)).*"])
def test_what_no_automaton_can_do(pattern: str) -> None:
    with pytest.raises(UnsupportedRegex):
        terminal_language(pattern)
    with pytest.raises(GrammarError, match=r"<string>:2:1: terminal A: .*cannot be an automaton"):
        terminal_automaton(load_lark(f"start: A\nA: /{pattern}/\n"))
