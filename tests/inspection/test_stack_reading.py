"""How the classifier reads stacks: what it tells on the way is the mask, and the sequences that it names are viable."""

import random

import pytest
from small_grammars import COMPILERS, GRAMMARS, compiled
from vocabularies import tokenizer

import psc
from psc._core import MatcherView
from psc.inspection.configurations import configurations
from psc.inspection.stack_reading import StackReader

EVERY = pytest.mark.parametrize(("name", "how"), [(name, how) for name in GRAMMARS for how in COMPILERS])

LARK = """
start: NAME "=" value ";"
value: "none" | NAME | "(" value ")"
NAME: /[a-z]+/
"""


@EVERY
def test_what_is_allowed_in_the_end_is_the_mask(name: str, how: str) -> None:
    """On random texts, whose masks were found before or are found after."""
    grammar = compiled(name, how)
    reader = StackReader(grammar)
    rng = random.Random(name)
    for _ in range(8):
        matcher = psc.GrammarMatcher(grammar)
        for _ in range(12):
            allowed = [t for t in matcher.allowed_tokens().tolist() if t not in matcher.stop_token_ids]
            if not allowed or not matcher.accept_token(rng.choice(allowed)):
                break
            readings = [reader.read(matcher, i) for i in range(len(configurations(matcher)))]
            for reading in readings:
                counts = [reading.always, *(read.allowed for read in reading.reads)]
                assert counts == sorted(counts)
                depths = [read.depth for read in reading.reads]
                assert depths == sorted(set(depths)) and all(d <= len(reading.stack) for d in depths)
                assert all(r.symbol == ([*reading.stack, ""])[r.depth] for r in reading.reads)
            if len(readings) == 1:
                assert counts[-1] == len(matcher.allowed_tokens())
            else:  # the mask is a union
                assert max(r.reads[-1].allowed if r.reads else r.always for r in readings) <= len(matcher.allowed_tokens())


def test_what_each_symbol_decides() -> None:
    """Behind `(none`, the parenthesis on top decides that `)` may come; what is below it, what may come in the same token."""
    info = tokenizer([*"a=();none", ")", "))", "));", ");"])
    grammar = psc.GrammarCompiler(info).compile_lark(LARK)
    matcher = psc.GrammarMatcher(grammar)
    assert matcher.accept_string("a=((none")
    reading = StackReader(grammar).read(matcher)
    assert reading.stack == ('"("', '"("', '"="', "NAME")
    told = [(read.depth, read.symbol, [s for s in read.sequences if s.endswith(('")"', '";"'))]) for read in reading.reads]
    assert told == [(0, '"("', ['"none" ")"']), (1, '"("', ['"none" ")" ")"']), (2, '"="', ['"none" ")" ")" ";"'])]


@pytest.mark.parametrize("name", ["basic", "contextual", "ambiguous", "json"])
def test_sequences_that_are_told_can_be_read(name: str) -> None:
    grammar = compiled(name, "just in time")
    end = len(grammar.terminal_names) - 1
    matcher = psc.GrammarMatcher(grammar)
    n_told = 0
    for _ in range(10):
        view = MatcherView(matcher)
        for i in range(len(configurations(matcher))):
            for _, _, _, sequences, _ in view.classifier_walk(i)[1]:
                n_told += len(sequences)
                assert all(end in sequence or view.stacks_after(i, sequence) for sequence in sequences)
        allowed = [t for t in matcher.allowed_tokens().tolist() if t not in matcher.stop_token_ids]
        if not allowed or not matcher.accept_token(allowed[len(allowed) // 2]):
            break
    assert n_told


def test_an_artifact_counts_without_sequences() -> None:
    grammar = compiled("contextual", "ahead of time")
    matcher = psc.GrammarMatcher(grammar)
    reading = StackReader(grammar).read(matcher)
    assert reading.reads and not any(read.sequences for read in reading.reads)


def test_a_configuration_that_is_not_there() -> None:
    grammar = compiled("basic", "just in time")
    with pytest.raises(psc.MatcherError, match="no configuration 1"):
        StackReader(grammar).read(psc.GrammarMatcher(grammar), 1)
