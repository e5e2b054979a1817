"""Every way to lex and parse, built just in time and ahead of time, against its oracle: random grammars.

For each language (how text becomes terminals, which derivations count) and both builds of a grammar: the whole mask after
every short history equals the oracle's, `accept_token` agrees with it on every token, both builds agree along random
walks, and rolling back or forking changes nothing. Cases written by hand are in tests/exactness/cases/.
"""

import random
from collections.abc import Iterator, Sequence

import pytest
import strategies
from bounded import bounded
from hypothesis import given
from hypothesis import strategies as st
from languages import LANGUAGES, allowed, check_mask, check_short_histories, ebnf_grammar, oracle_mask, replay, some_builds
from oracle import CfgOracle
from random_grammars import FANCY_TEXTS, TEXTS

import psc

LONGEST_WALK = 12  # bytes, then a walk takes no more tokens; what ambiguity costs is a power of the length


def length(tokens: Sequence[bytes], history: Sequence[int]) -> int:
    """Of the text, in bytes."""
    return sum(len(tokens[i]) for i in history)


@pytest.mark.parametrize("language", TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=6), seed=st.integers(0, 2**16))
@bounded
def test_every_short_history(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    text = data.draw(TEXTS[language], "grammar")
    check_short_histories(LANGUAGES[language].builds(text, tokens), LANGUAGES[language].oracle(text), tokens, seed)


@pytest.mark.parametrize("language", TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_random_walks(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    text = data.draw(FANCY_TEXTS[language], "grammar")
    try:
        builds = LANGUAGES[language].builds(text, tokens)
    except psc.GrammarError as error:
        assert "matches no text at all" in str(error) or "matches the empty string" in str(error)
        return
    oracle, rng = LANGUAGES[language].oracle(text), random.Random(seed)
    for _ in range(2):
        history: list[int] = []
        matchers = {build: psc.GrammarMatcher(compiled) for build, compiled in builds.items()}
        for _ in range(7):
            want = oracle_mask(oracle, tokens, history)
            for build, matcher in matchers.items():
                check_mask(matcher, want, tokens, build, [tokens[i] for i in history])
            if not any(want[:-1]) or length(tokens, history) >= LONGEST_WALK:
                break
            history.append(rng.choice([i for i in range(len(tokens)) if want[i]]))
            assert all(matcher.accept_token(history[-1]) for matcher in matchers.values())


MOST_PREFIXES = 120  # the short ones
CHARACTERS = [c.encode() for c in strategies.ALPHABET + "è漢"] + [b"\xc3", b"\xe6"]


@given(text=strategies.cfg_texts())
@bounded
def test_lowering_keeps_the_language(text: str) -> None:
    """The grammar that the EBNF front end ends in, read as plain productions, against the text itself."""
    oracle, lowered = CfgOracle.of_ebnf(text), CfgOracle.of_grammar(ebnf_grammar(text))
    prefixes = [b""]
    for prefix in prefixes:  # grows while we walk it
        mask = oracle.allowed(prefix, CHARACTERS)
        assert lowered.allowed(prefix, CHARACTERS) == mask, prefix
        assert lowered.accepts(prefix) == oracle.accepts(prefix), prefix
        if len(prefix) < 3 and len(prefixes) < MOST_PREFIXES:
            prefixes += [prefix + c for c, bit in zip(CHARACTERS, mask, strict=True) if bit]


# ---------------------------------------------------------------------------------------------------------------------
# What does not need the oracle


def walk(
    matcher: psc.GrammarMatcher, tokens: Sequence[bytes], history: list[int], rng: random.Random, steps: int
) -> Iterator[list[bool]]:
    """Up to so many random tokens: the mask before each, which is then accepted and is the last of `history`."""
    for _ in range(steps):
        mask = allowed(matcher, len(tokens) + 1)
        if not any(mask[:-1]) or length(tokens, history) >= LONGEST_WALK:
            return
        history.append(rng.choice([i for i in range(len(tokens)) if mask[i]]))
        assert matcher.accept_token(history[-1])
        yield mask


@pytest.mark.parametrize("language", TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_builds_agree_on_longer_walks(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    """Also with a grammar built anew, which has met other states before or none at all."""
    text = data.draw(TEXTS[language], "grammar")
    builds, rng = LANGUAGES[language].builds(text, tokens, ["just in time", "ahead of time"]), random.Random(seed)
    walks: list[tuple[list[list[bool]], list[int]]] = []
    for _ in range(3):
        history: list[int] = []
        walks.append((list(walk(psc.GrammarMatcher(builds["just in time"]), tokens, history, rng, steps=12)), history))
    anew = LANGUAGES[language].builds(text, tokens, ["just in time"])
    for compiled in (builds["ahead of time"], anew["just in time"]):
        for masks, history in reversed(walks):
            matcher = psc.GrammarMatcher(compiled)
            for mask, token in zip(masks, history, strict=True):
                assert allowed(matcher, len(mask)) == mask
                assert matcher.accept_token(token)


@pytest.mark.parametrize("language", TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_rolling_back_restores_the_mask(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    names, rng = some_builds(random.Random(seed)), random.Random(seed)
    builds = LANGUAGES[language].builds(data.draw(TEXTS[language], "grammar"), tokens, names)
    stop = len(tokens)
    for compiled in builds.values():
        matcher = psc.GrammarMatcher(compiled)
        history: list[int] = []
        masks: list[list[bool]] = []  # before each token of the history
        for _ in range(6):
            masks += walk(matcher, tokens, history, rng, steps=rng.randrange(5))
            here = allowed(matcher, stop + 1)
            if here[stop]:
                assert matcher.accept_token(stop)
                assert matcher.is_terminated()
                matcher.rollback(1)
                assert not matcher.is_terminated()
                assert allowed(matcher, stop + 1) == here
            back = rng.randrange(len(history) + 1)
            matcher.rollback(back)
            kept = len(history) - back
            assert allowed(matcher, stop + 1) == [*masks, here][kept]
            del history[kept:], masks[kept:]


@pytest.mark.parametrize("language", TEXTS)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_a_fork_is_independent(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    names, rng = some_builds(random.Random(seed)), random.Random(seed)
    builds = LANGUAGES[language].builds(data.draw(TEXTS[language], "grammar"), tokens, names)
    for compiled in builds.values():
        matchers: list[tuple[psc.GrammarMatcher, list[int]]] = [(psc.GrammarMatcher(compiled), [])]
        for _ in range(12):
            matcher, history = rng.choice(matchers)
            if rng.random() < 0.4:
                matchers.append((matcher.fork(), history[:]))
            elif rng.random() < 0.4 and history:
                kept = rng.randrange(len(history))
                matcher.rollback(len(history) - kept)
                del history[kept:]
            else:
                for _ in walk(matcher, tokens, history, rng, steps=2):
                    pass
            for other, read in matchers:
                assert allowed(other, len(tokens) + 1) == allowed(replay(compiled, read), len(tokens) + 1)
