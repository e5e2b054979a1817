"""Stop tokens of a matcher's own: a grammar that stays in a server's cache is sent ever new ones."""

from __future__ import annotations

import itertools

import pytest

import psc

TEXTS = [b"a", b"b", b"ab"]
SPECIAL = range(3, 303)
N_LISTS = 66_000  # a few more than one cache numbers
INFO = psc.TokenizerInfo.from_tokens([*TEXTS, *(b"<%d>" % i for i in SPECIAL)], special_token_ids=SPECIAL, stop_token_ids=[3])
GRAMMARS = {"one": 'root ::= "ab"{1,3}', "linked": 'root ::= r\nr[max_tokens=9] ::= "ab"{1,3}'}


def compiled(name: str, *, ahead_of_time: bool) -> psc.CompiledGrammar:
    if ahead_of_time:
        return psc.compile_ahead_of_time(psc.Grammar.from_ebnf(GRAMMARS[name]), INFO)
    return psc.GrammarCompiler(INFO, store=False, registry=False).compile_grammar(GRAMMARS[name])


@pytest.mark.parametrize(("name", "ahead_of_time"), [("one", False), ("one", True), ("linked", False)])
def test_ever_new_stop_tokens(name: str, ahead_of_time: bool) -> None:
    """None is refused, and those of a matcher that stays are what they were."""
    grammar = compiled(name, ahead_of_time=ahead_of_time)
    stays = psc.GrammarMatcher(grammar, override_stop_tokens=[4, 5])
    assert stays.accept_string("ab") and stays.allowed_tokens().tolist() == [0, 2, 4, 5]
    fork = stays.fork()
    for stops in itertools.islice(itertools.permutations(SPECIAL, 2), N_LISTS):
        matcher = psc.GrammarMatcher(grammar, override_stop_tokens=stops)
        assert matcher.accept_string("ab")
        assert matcher.allowed_tokens().tolist() == [0, 2, *sorted(stops)]
    for matcher in (stays, fork):
        assert matcher.allowed_tokens().tolist() == [0, 2, 4, 5]
        assert matcher.accept_token(2) and matcher.allowed_tokens().tolist() == [0, 2, 4, 5]
        assert not matcher.accept_token(3) and matcher.accept_token(5) and matcher.is_terminated()
