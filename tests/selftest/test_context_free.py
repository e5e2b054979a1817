"""The context-free oracles against enumeration of all short sentences, and the EBNF reader against what it should read."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

import pytest
import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from oracle import CfgOracle, Unsupported
from oracle.ebnf import Chars, Choice, Expression, Literal, Reference, Repeat, read_ebnf
from oracle.ebnf import Sequence as Seq
from oracle.enumeration import Enumeration

UNIVERSE = strategies.ALPHABET + "èÿ漢\n"  # others with the first byte of é, and of another length


def a(*parts: Expression) -> Seq:
    return Seq(parts)


READINGS: list[tuple[str, Mapping[str, Expression]]] = [
    ('root ::= "a"', {"root": Literal("a")}),
    ('root ::= ""\nother::=root', {"root": Literal(""), "other": Reference("root")}),
    ("root ::= ", {"root": a()}),
    (r'root ::= "\n\t\r\\\"\x41\u00e9\U0001F600 é|#"', {"root": Literal('\n\t\r\\"A\u00e9\U0001f600 é|#')}),
    ("root ::= [a-cx-zé]", {"root": Chars(False, (("a", "c"), ("x", "z"), ("é", "é")))}),
    (r"root ::= [^\]\[\-^\\]", {"root": Chars(True, tuple((c, c) for c in "][-^\\"))}),
    (r"root ::= [\u00e0-\xff-]", {"root": Chars(False, (("à", "ÿ"), ("-", "-")))}),
    (r"root ::= [a\-z]", {"root": Chars(False, (("a", "a"), ("-", "-"), ("z", "z")))}),
    ("# one\n\nroot ::= a | b c #two\n", {"root": Choice((Reference("a"), a(Reference("b"), Reference("c"))))}),
    ("root ::= (a|) b", {"root": a(Choice((Reference("a"), a())), Reference("b"))}),
    ("root ::= a? b*c+", {"root": a(*(Repeat(Reference(n), i, m) for n, i, m in (("a", 0, 1), ("b", 0, None), ("c", 1, None))))}),
    ("root ::= a{2}{3,}", {"root": Repeat(Repeat(Reference("a"), 2, 2), 3, None)}),
    ("root ::= (a b){0,3}", {"root": Repeat(a(Reference("a"), Reference("b")), 0, 3)}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rules"), READINGS)
def test_readings(text: str, rules: Mapping[str, Expression]) -> None:
    assert read_ebnf(text) == rules


NOT_EBNF = ["root = x", "root ::= (a", "root ::= a)", "root ::= * a", 'root ::= "a', "root ::= [a", "a::=b\na::=c", "root::=a(=b)"]


@pytest.mark.parametrize("text", NOT_EBNF)
def test_refused_texts(text: str) -> None:
    with pytest.raises(Unsupported):
        read_ebnf(text)


@pytest.mark.parametrize("text", ['root ::= "a" | other', 'start ::= "a"', 'root ::= "a"{3,2}'])
def test_refused_grammars(text: str) -> None:
    with pytest.raises(Unsupported):
        CfgOracle.of_ebnf(text)


def beginnings(longest: int) -> Iterator[bytes]:
    """All texts over the alphabet up to a length in bytes, cut in every place."""
    characters = [c.encode() for c in strategies.ALPHABET]
    todo = [b""]
    for text in todo:
        yield text
        for c in characters:
            if len(text + c) <= longest:
                todo.append(text + c)
            if len(c) > 1 and len(text) < longest:
                yield text + c[:1]


# ---------------------------------------------------------------------------------------------------------------------
# EBNF


def matches(regex: str) -> Callable[[str], bool]:
    return lambda word: re.fullmatch(regex, word) is not None


def no_more_c_than_a(word: str) -> bool:
    ends = re.fullmatch("(a*)b(c*)", word)
    return ends is not None and len(ends[1]) >= len(ends[2])


LANGUAGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "hidden left recursion": ('root ::= opt root "a" | "b"\nopt ::= "c" | ""', lambda w: no_more_c_than_a(w[::-1])),
    "hidden right recursion": ('root ::= "a" root opt | "b"\nopt ::= "c" | ""', no_more_c_than_a),
    "a cycle": ('root ::= root | "x"', matches("x")),
    "a cycle through an empty rule": ('root ::= opt root opt | "x"\nopt ::= root? ""', matches("x+")),
    "everything at once": ('root ::= root root | "x" | ""', matches("x*")),
    "palindromes": ('root ::= "a" root "a" | "b" root "b" | "a" | "b" | ""', lambda w: w == w[::-1] and set(w) <= set("ab")),
    "as many b as a": (
        'root ::= "a" root "b" root | "b" root "a" root | ""',
        lambda w: w.count("a") * 2 == w.count("b") * 2 == len(w),
    ),
    "nothing but empty rules": ("root ::= a b\na ::= b b\nb ::= root?", matches("")),
    "no sentence": ('root ::= "a" root', matches("(?!)")),
    "an option without sentences": ('root ::= "a" | "b" dead\ndead ::= dead "c"', matches("a")),
    "a terminal that matches nothing": (r'root ::= "a" | "b" [^\u0000-\U0010ffff]', matches("a")),
    "a repeated empty option": ('root ::= ("" | "a"){2,3}', matches("a{0,3}")),
    "a counted repetition": ('root ::= [ab]{2,4} "c"', matches("[ab]{2,4}c")),
    "a keyword that is also a name": ('root ::= "ab" "c" | name "x"\nname ::= [ab]+', matches("abc|[ab]+x")),
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages_known_by_other_means(name: str) -> None:
    text, is_sentence = LANGUAGES[name]
    oracle = CfgOracle.of_ebnf(text)
    words = {"".join(letters) for length in range(8) for letters in itertools.product("abcx", repeat=length)}
    sentences = {word for word in words if is_sentence(word)}
    begun = {word[:i] for word in sentences for i in range(len(word) + 1)}
    for word in words:
        assert oracle.accepts(word.encode()) == (word in sentences), word
        if len(word) <= 3:  # each beginning in these languages needs at most twice its length for a sentence, and one more
            assert oracle.allowed(b"", [word.encode()]) == [word in begun], word


@given(strategies.cfg_texts())
@bounded
def test_random_grammars_against_enumeration(text: str) -> None:
    oracle, enumeration = CfgOracle.of_ebnf(text), Enumeration(read_ebnf(text), UNIVERSE, 4)
    for prefix in beginnings(4):
        assert oracle.accepts(prefix) == (prefix in enumeration.sentences), prefix
        assert oracle.allowed(prefix, [b""]) == [prefix in enumeration.beginnings], prefix


# ---------------------------------------------------------------------------------------------------------------------
# Productions over regexes


@st.composite
def productions(draw: st.DrawFn) -> tuple[list[tuple[str, list[str]]], dict[str, str]]:
    """Productions of S and A over the terminals t0, t1, …, and the terminals' regexes."""
    patterns = {f"t{i}": draw(strategies.regexes()) for i in range(draw(st.integers(1, 3)))}
    symbols = st.sampled_from(["S", "A", *patterns, *patterns])
    drawn = draw(st.lists(st.tuples(st.sampled_from("SA"), st.lists(symbols, max_size=3)), max_size=5))
    return [("S", [draw(st.sampled_from(list(patterns)))]), *drawn], patterns


@given(productions())
@bounded
def test_random_productions_over_regexes(drawn: tuple[list[tuple[str, list[str]]], dict[str, str]]) -> None:
    written, patterns = drawn
    oracle = CfgOracle(written, patterns, "S")
    texts = [text.decode() for text in beginnings(4) if not text.endswith(b"\xc3")]
    derived: dict[str, set[str]] = {"S": set(), "A": set()}
    derived |= {symbol: {t for t in texts if re.fullmatch(regex, t)} for symbol, regex in patterns.items()}
    while True:
        before = {symbol: len(derived[symbol]) for symbol in "SA"}
        for left, right in written:
            words = {""}
            for symbol in right:
                words = {a + b for a in words for b in derived[symbol] if len((a + b).encode()) <= 4}
            derived[left] |= words
        if before == {symbol: len(derived[symbol]) for symbol in "SA"}:
            break
    for text in texts:
        assert oracle.accepts(text.encode()) == (text in derived["S"]), text
    for text in derived["S"]:
        assert all(oracle.allowed(b"", [text.encode()[:i] for i in range(len(text.encode()) + 1)]))


@given(productions())
@bounded
def test_what_is_allowed_can_be_finished(drawn: tuple[list[tuple[str, list[str]]], dict[str, str]]) -> None:
    """From every beginning that is allowed some sentence is found, breadth first, by bytes that are allowed."""
    written, patterns = drawn
    recognizer = CfgOracle(written, patterns, "S")._recognizer
    more = sorted(set((strategies.ALPHABET + "è").encode()))
    for text in beginnings(2):
        column = recognizer.read(recognizer.first, text)
        todo = [] if column is None else [column]
        for column in todo:  # grows while we walk it
            if recognizer.accepts(column):
                break
            assert len(todo) < 10_000, text
            todo += {after for byte in more if (after := recognizer.step(column, byte)) is not None} - set(todo)
        else:
            assert not todo, f"{text!r} is allowed but begins no sentence"
