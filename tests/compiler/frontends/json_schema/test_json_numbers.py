"""Sets of numbers, against Python's fractions."""

import re
from fractions import Fraction

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from psc._core import TextAutomaton
from psc.errors import ResourceLimitError

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")

digits = st.text(st.sampled_from("00123459"), max_size=4)
spellings = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["", "-"]), digits, digits.map(lambda d: d and f".{d}")),
    st.from_regex(PLAIN, fullmatch=True, alphabet="-.0123456789"),
    st.text(st.sampled_from("-.0125"), max_size=6),
)
numbers = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 1050).map(str),
    st.sampled_from(["", "", ".0", ".5", ".50", ".25", ".005", ".990"]),
    st.sampled_from(["", "", "e0", "E+1", "e-2", "e3"]),
)


def value(spelling: str) -> Fraction | None:
    return Fraction(spelling) if PLAIN.fullmatch(spelling) else None


def near(number: str) -> list[str]:
    """Spellings of a number and of its neighbours."""
    exact = Fraction(number)
    found = []
    for step in (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 10**6), Fraction(-1, 10**6), Fraction(-10), Fraction(100)):
        scaled = (exact + step) * 10**8
        assert scaled.denominator == 1
        whole, fraction = divmod(abs(int(scaled)), 10**8)
        sign = "-" if scaled < 0 else ""
        found += [f"{sign}{whole}.{fraction:08}", f"{sign}{whole}.{fraction:08}000", f"-{whole}.{fraction:08}", f"{sign}{whole}"]
    return found


@examples(100)
@given(numbers, st.lists(spellings, max_size=20))
def test_bounds(bound: str, others: list[str]) -> None:
    limit = Fraction(bound)
    sets = [TextAutomaton.at_least(bound), TextAutomaton.at_least(bound, exclusive=True), TextAutomaton.at_most(bound)]
    sets += [TextAutomaton.at_most(bound, exclusive=True), TextAutomaton.equal_to(bound)]
    for spelling in others + near(bound):
        x = value(spelling)
        expected = [False] * 5 if x is None else [x >= limit, x > limit, x <= limit, x < limit, x == limit]
        assert [s.matches(spelling) for s in sets] == expected, spelling
    everything = TextAutomaton.numbers()
    assert everything.difference(sets[0]) == sets[3]
    assert everything.difference(sets[1]) == sets[2]
    assert sets[0].intersection(sets[2]) == sets[4]


@examples(100)
@given(numbers, numbers)
def test_bounds_are_ordered_as_their_values(a: str, b: str) -> None:
    x, y = Fraction(a), Fraction(b)
    assert (TextAutomaton.equal_to(a) == TextAutomaton.equal_to(b)) == (x == y)
    between = TextAutomaton.at_least(a).intersection(TextAutomaton.at_most(b))
    assert between.is_empty() == (x > y)


divisors = st.builds(
    "{}{}{}".format, st.integers(1, 40), st.sampled_from(["", "", ".0", ".5", ".25"]), st.sampled_from(["", "e-2", "e3", "E+1"])
)
DIVISORS = ["1", "2", "5", "10", "0.1", "0.01", "0.25", "2.5", "7", "11", "12.5e1", "3e2", "-4", "0.3", "1e5", "0.0625"]


@examples(100)
@given(st.one_of(st.sampled_from(DIVISORS), divisors), st.lists(spellings, max_size=20), st.integers(-5000, 5000))
def test_multiples(divisor: str, others: list[str], factor: int) -> None:
    step = Fraction(divisor)
    multiples = TextAutomaton.multiples_of(divisor)
    product = step * factor * 10**8
    whole, fraction = divmod(abs(int(product)), 10**8)
    for spelling in [
        *others,
        f"{whole}.{fraction:08}",
        f"-{whole}.{fraction:08}00",
        f"{whole}",
        f"{whole}0",
        f"{whole}00.{fraction}",
    ]:
        x = value(spelling)
        assert multiples.matches(spelling) == (x is not None and (x / step).denominator == 1), (divisor, spelling)


@examples(100)
@given(spellings)
def test_numbers_and_integers(spelling: str) -> None:
    x = value(spelling)
    assert TextAutomaton.numbers().matches(spelling) == (x is not None)
    assert TextAutomaton.integers().matches(spelling) == (x is not None and x.denominator == 1)
    assert TextAutomaton.integers_without_fraction().matches(spelling) == (x is not None and "." not in spelling)


def test_large_and_small() -> None:
    beyond = TextAutomaton.at_least("9007199254740993")
    assert beyond.matches("9007199254740993.0")
    assert not beyond.matches("9007199254740992.999999999999999999999")
    assert TextAutomaton.at_least("1e400").matches("1" + "0" * 400)
    assert not TextAutomaton.at_least("1e400").matches("9" * 400)
    assert TextAutomaton.at_most("1e-300").matches("0." + "0" * 299 + "1000")
    assert not TextAutomaton.at_most("1e-300").matches("0." + "0" * 299 + "1001")
    assert TextAutomaton.multiples_of("1e-300").matches("12." + "0" * 299 + "7")
    assert not TextAutomaton.multiples_of("1e-300").matches("0." + "0" * 300 + "7")
    million = TextAutomaton.multiples_of("1e6")
    assert million.matches("-12000000.0") and million.matches("0.00") and not million.matches("12500000")
    assert million.n_states < 30
    assert TextAutomaton.equal_to("0e99999999999") == TextAutomaton.equal_to("-0.00")
    assert TextAutomaton.multiples_of("1") == TextAutomaton.integers()
    # Divisors that are multiples of one another.
    assert TextAutomaton.multiples_of("0.01").difference(TextAutomaton.multiples_of("0.005")).is_empty()
    assert TextAutomaton.multiples_of("4").intersection(TextAutomaton.multiples_of("6")) == TextAutomaton.multiples_of("12")


@pytest.mark.parametrize(
    "number", ["1e400000", "1e-400000", "1e999999999", "-1e-999999999", "1e99999999999999999999", "0.1e-20000"]
)
def test_limits_of_bounds(number: str) -> None:
    with pytest.raises(ResourceLimitError, match=r"more than [0-9]+$"):
        TextAutomaton.at_least(number)
    with pytest.raises(ResourceLimitError, match=r"more than [0-9]+$"):
        TextAutomaton.equal_to(number)


@pytest.mark.parametrize("number", ["1e400000", "123456789", "12345678901234567890123", "1e-400000", "1e999999999", "1.0001001"])
def test_limits_of_multiples(number: str) -> None:
    with pytest.raises(ResourceLimitError, match=r"more than [0-9]+$"):
        TextAutomaton.multiples_of(number)


@pytest.mark.parametrize("text", ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1 ", "NaN", "1.e1", "--1", "1e1.5"])
def test_not_a_number(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        TextAutomaton.at_least(text)


def test_multiples_of_nothing() -> None:
    with pytest.raises(ValueError, match="multiples of 0"):
        TextAutomaton.multiples_of("0.00")
