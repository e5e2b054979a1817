"""The oracle that keeps every derivation, against Lark's LALR tables where nothing conflicts, and against enumeration."""

import itertools
from collections.abc import Iterator

import lark
import strategies
from bounded import bounded
from hypothesis import assume, given
from hypothesis import strategies as st
from lark_verdicts import lark_warnings
from oracle import KeepAllOracle, LexError, Oracle, Undecided


def words(alphabet: str, longest: int) -> Iterator[str]:
    """All words up to a length, shortest first."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


def is_plain(text: str) -> bool:
    """Whether Lark's tables have no conflict to resolve, and no rule asks for an ignored terminal.

    Lark says when it resolves a shift/reduce conflict, and refuses the others, for rules have no priorities here.
    """
    with lark_warnings() as said:
        loaded = lark.Lark(text, parser="lalr", lexer="basic", debug=True)
    asked = {symbol.name for rule in loaded.rules for symbol in rule.expansion}
    return not any("conflict" in message.lower() for message in said) and asked.isdisjoint(loaded.ignore_tokens)


def test_conflicts_are_seen() -> None:
    assert not is_plain('start: "i" start | "i" start "e" start | "x"')
    assert is_plain('start: "i" start "e" start | "x"')


@given(strategies.grammars().filter(is_plain), strategies.vocabularies(20), st.randoms())
@bounded
def test_without_conflicts_it_is_the_basic_oracle(text: str, vocabulary: list[bytes], random: object) -> None:
    kept, resolved = KeepAllOracle(text), Oracle(text)
    prefix = b""
    try:
        for _ in range(6):
            mask = kept.allowed(prefix, vocabulary)
            assert mask == resolved.allowed(prefix, vocabulary), prefix
            assert kept.eos_allowed(prefix) == resolved.eos_allowed(prefix), prefix
            choices = [token for token, allowed in zip(vocabulary, mask, strict=True) if allowed]
            if not choices:
                return
            prefix += random.choice(choices)  # type: ignore[attr-defined]
    except Undecided:
        assume(False)


@given(strategies.grammars())
@bounded
def test_it_accepts_what_the_resolved_tables_accept(text: str) -> None:
    kept, resolved = KeepAllOracle(text), Oracle(text)
    for word in words("abcd. ", 4):
        assert kept.accepts(word.encode()) or not resolved.accepts(word.encode())


def generated(oracle: KeepAllOracle, longest: int) -> set[tuple[str, ...]]:
    """The sequences of terminals that the rules generate, up to a length."""
    derived: dict[str, set[tuple[str, ...]]] = {t.name: {(t.name,)} for t in oracle.lark.terminals}
    derived |= {name: set() for name in oracle.parser.ignored} | {rule.origin.name: set() for rule in oracle.lark.rules}
    while True:
        before = sum(map(len, derived.values()))
        for rule in oracle.lark.rules:
            sequences: set[tuple[str, ...]] = {()}
            for symbol in rule.expansion:
                sequences = {a + b for a in sequences for b in derived[symbol.name] if len(a + b) <= longest}
            derived[rule.origin.name] |= sequences
        if before == sum(map(len, derived.values())):
            return derived["start"]


@given(strategies.ambiguous_grammars())
@bounded
def test_accepts_what_the_rules_generate(text: str) -> None:
    oracle = KeepAllOracle(text)
    sentences = generated(oracle, 4)
    for word in words("abcd. é", 4):
        try:
            terminals = tuple(oracle.terminals(word.encode()))
        except LexError:
            assert not oracle.accepts(word.encode())
            continue
        assert oracle.accepts(word.encode()) == (terminals in sentences), word
        if oracle.accepts(word.encode()):
            begun = [word.encode()[:i] for i in range(len(word.encode()) + 1)]
            assert all(oracle.allowed(b"", begun))
