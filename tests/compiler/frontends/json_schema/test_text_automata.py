"""The algebra of sets of texts, against Python's sets of all short texts."""

import itertools

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from psc._core import TextAutomaton
from psc.errors import ResourceLimitError

ALPHABET = "ab\U0001f600"
LONGEST = 4
SHORT_TEXTS = ["".join(letters) for n in range(LONGEST + 1) for letters in itertools.product(ALPHABET, repeat=n)]

texts = st.text(st.sampled_from("abc\ud7ff\ue000\U0010ffff"), max_size=5)
finite_sets = st.lists(st.text(ALPHABET, max_size=3), max_size=6)
PATTERNS = ["^a*$", "ab", "^(a|b)*a$", "b\U0001f600?$", "^(..)*$", "^[^a]", "^$", "a{2,3}", "^(ab?)+$"]


def members(automaton: TextAutomaton) -> set[str]:
    return {text for text in SHORT_TEXTS if automaton.matches(text)}


@st.composite
def sets(draw: st.DrawFn) -> TextAutomaton:
    if draw(st.booleans()):
        return TextAutomaton.texts(draw(finite_sets))
    return TextAutomaton.pattern(draw(st.sampled_from(PATTERNS)))


@examples(200)
@given(sets(), sets())
def test_combinations(a: TextAutomaton, b: TextAutomaton) -> None:
    assert members(a.intersection(b)) == members(a) & members(b)
    assert members(a.union(b)) == members(a) | members(b)
    assert members(a.difference(b)) == members(a) - members(b)
    assert members(a.complement()) == set(SHORT_TEXTS) - members(a)
    joined = {x + y for x in members(a) for y in members(b) if len(x + y) <= LONGEST}
    assert members(a.concatenation(b)) == joined


@examples(200)
@given(sets(), sets(), sets())
def test_equal_sets_are_equal_automata(a: TextAutomaton, b: TextAutomaton, c: TextAutomaton) -> None:
    assert a.union(b).intersection(c) == a.intersection(c).union(b.intersection(c))
    assert a.difference(b) == a.intersection(b.complement())
    assert a.complement().complement() == a
    assert a.concatenation(b).concatenation(c) == a.concatenation(b.concatenation(c))
    assert (members(a) != members(b)) <= (a != b)


@examples(200)
@given(sets(), st.integers(0, 5), st.integers(-1, 5))
def test_lengths(a: TextAutomaton, least: int, most: int) -> None:
    bounded = a.with_length(least, most)
    assert members(bounded) == {t for t in members(a) if least <= len(t) and (most < 0 or len(t) <= most)}
    letters = TextAutomaton.pattern(f"^[^]{{{least},{max(least, most)}}}$")
    if most >= least:
        assert bounded == a.intersection(letters)


@examples(200)
@given(st.lists(texts, max_size=30))
def test_finite_sets_are_their_texts(listed: list[str]) -> None:
    automaton = TextAutomaton.texts(listed)
    assert all(automaton.matches(t) for t in listed)
    for t in listed:
        for wrong in (t[:-1], t + "a", t[1:], t.replace("a", "b")):
            assert automaton.matches(wrong) == (wrong in listed)
    one_by_one = TextAutomaton.empty()
    for t in listed:
        one_by_one = one_by_one.union(TextAutomaton.texts([t]))
    assert automaton == one_by_one


@examples(200)
@given(sets(), sets())
def test_a_shortest_text_is_the_first_of_the_shortest(a: TextAutomaton, b: TextAutomaton) -> None:
    letters = TextAutomaton.pattern(f"^[{ALPHABET}]*$")
    found = a.intersection(b).intersection(letters).shortest()
    expected = min(sorted(members(a) & members(b)), key=len, default=None)
    assert found == expected if expected is not None else found is None or len(found) > LONGEST


def test_states_are_as_few_as_can_be() -> None:
    assert TextAutomaton.empty().n_states == 1
    assert TextAutomaton.everything().n_states == 1
    assert TextAutomaton.texts([]) == TextAutomaton.empty()
    assert TextAutomaton.texts(["tap", "taps", "top", "tops"]).n_states == 5
    assert TextAutomaton.pattern("^(a|b)*a(a|b){3}$").n_states == 16
    # Neighbours that lead to the same are one arc; there is no arc over the surrogates.
    assert TextAutomaton.texts(["a", "b", "c", "x"]).n_arcs == 2
    assert TextAutomaton.texts(["\ud7ff", "\ue000"]).n_arcs == 2


def test_lone_surrogates_are_in_no_set() -> None:
    assert not TextAutomaton.everything().matches("a\ud800")
    assert TextAutomaton.texts(["\udfff", "x"]) == TextAutomaton.texts(["x"])
    assert TextAutomaton.everything().matches("\U0010ffff")


def test_lengths_cost_states_only_where_they_matter() -> None:
    ten = TextAutomaton.pattern("^[0-9]{10}$")
    assert ten.with_length(5, 1_000_000) == ten
    assert ten.with_length(11, -1).is_empty()
    assert ten.with_length(0, 9).is_empty()
    assert TextAutomaton.everything().with_length(0, 19_000).n_states == 19_001
    assert TextAutomaton.everything().with_length(0, -1) == TextAutomaton.everything()
    assert TextAutomaton.texts(["", "ab", "abab"]).with_length(3, 10**18) == TextAutomaton.texts(["abab"])


def test_limits_name_their_number() -> None:
    with pytest.raises(ResourceLimitError, match="states of an automaton over texts: more than 40000"):
        TextAutomaton.everything().with_length(0, 40_000)
    with pytest.raises(ResourceLimitError, match="40000"):
        TextAutomaton.everything().with_length(10**15, -1)
    a, b = (TextAutomaton.pattern(f"^([a-z]{{{n}}})*$") for n in (211, 223))
    with pytest.raises(ResourceLimitError, match="40000"):
        a.intersection(b)


def test_many_texts() -> None:
    listed = [f"item-{i * 7919 % 1_000_003}" for i in range(100_000)]
    automaton = TextAutomaton.texts(listed)
    assert all(automaton.matches(t) for t in listed[::997])
    assert not automaton.matches("item-")
    assert not automaton.matches("item-1000003")
    assert automaton.shortest() == "item-0"


def test_repeated() -> None:
    a = TextAutomaton.texts(["ab", "c"])
    for least, most in ((0, 0), (0, 1), (0, -1), (1, -1), (2, 5), (3, 3), (2, -1), (3, 2)):
        found = a.repeated(least, most)
        counts = range(least, (9 if most < 0 else most) + 1)
        texts = {"".join(parts) for n in counts if n < 6 for parts in itertools.product(["ab", "c"], repeat=n)}
        for n in range(6):
            for text in map("".join, itertools.product("abc", repeat=n)):
                assert found.matches(text) == (text in texts), (least, most, text)
    assert TextAutomaton.empty().repeated(0, 4) == TextAutomaton.texts([""]) and TextAutomaton.empty().repeated(1, 4).is_empty()
    with pytest.raises(ResourceLimitError):
        a.repeated(0, 1 << 40)


def test_shortest_matches() -> None:
    found = TextAutomaton.pattern("^a+b?$").union(TextAutomaton.texts(["ca", "cab"])).shortest_matches()
    assert found == TextAutomaton.texts(["a", "ca"])
    assert TextAutomaton.everything().shortest_matches() == TextAutomaton.texts([""])


def test_characters_and_arcs() -> None:
    found = TextAutomaton.characters([(0x61, 0x63), (0xD000, 0xE001), (0x62, 0x70), (0x10FFFF, 0x110005)])
    assert found.matches("p") and found.matches("\ue000") and found.matches("\U0010ffff") and not found.matches("q")
    assert [arc[1:3] for arc in found.arcs] == [(0x61, 0x70), (0xD000, 0xD7FF), (0xE000, 0xE001), (0x10FFFF, 0x10FFFF)]
    assert TextAutomaton.characters([(0xD800, 0xDFFF)]).is_empty()
    pattern = TextAutomaton.pattern("^(ab|[c-e]*f)$")
    assert TextAutomaton.of(pattern.accepts, pattern.arcs) == pattern
    no_automata: list[tuple[list[bool], list[tuple[int, int, int, int]]]] = [
        ([], []),
        ([True], [(0, 2, 1, 0)]),
        ([True], [(0, 1, 2, 1)]),
        ([True], [(0, 1, 2, 0), (0, 2, 3, 0)]),
        ([True], [(1, 1, 2, 0)]),
        ([True, True], [(1, 1, 2, 0), (0, 1, 2, 0)]),
        ([True], [(0, 1, 0x110000, 0)]),
    ]
    for accepts, arcs in no_automata:
        with pytest.raises(ValueError, match="arcs are ascending"):
            TextAutomaton.of(accepts, arcs)
