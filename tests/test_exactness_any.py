"""Every way to lex and parse, built just in time and ahead of time, against its oracle: random grammars and hard cases.

For each language (how text becomes terminals, which derivations count) and both builds of a grammar: the whole mask after
every short history equals the oracle's, `accept_token` agrees with it on every token, both builds agree along random
walks, and rolling back or forking changes nothing.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pytest
import strategies
from bounded import bounded
from hard_cases import CASES, Token
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import CfgOracle, ContextualOracle, KeepAllOracle, Oracle, Undecided
from vocabularies import tokenizer

import psc
from psc.compiled_grammar import compile_ahead_of_time
from psc.vocabulary.tokenizer_info import TokenizerInfo

MOST_HISTORIES = 40  # of one length
LONGEST_WALK = 12  # bytes, then a walk takes no more tokens; what ambiguity costs is a power of the length


class Masks(Protocol):
    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]: ...

    def eos_allowed(self, prefix: bytes) -> bool: ...


@dataclass(frozen=True)
class Language:
    """One way to read grammars: its oracle, both builds, and random grammars for it."""

    oracle: Callable[[str], Masks]
    just_in_time: Callable[[str, TokenizerInfo], psc.CompiledGrammar]
    grammar: Callable[[str], Any]
    texts: st.SearchStrategy[str]
    fancy_texts: st.SearchStrategy[str]

    def builds(self, text: str, tokens: Sequence[bytes]) -> dict[str, psc.CompiledGrammar]:
        info = tokenizer(tokens)
        try:
            return {
                "just in time": self.just_in_time(text, info),
                "ahead of time": compile_ahead_of_time(self.grammar(text), info),
            }
        except psc.ResourceLimitError:
            assume(False)
            raise


def ebnf_grammar(text: str) -> Any:
    from psc.compiler.frontends.ebnf import load_ebnf
    from psc.compiler.lowering import lower

    return lower(load_ebnf(text))


def lark_language(
    oracle: Callable[[str], Masks],
    grammars: Callable[[bool], st.SearchStrategy[str]],
    **options: Any,
) -> Language:
    def grammar(text: str) -> Any:
        from psc.compiler.frontends.lark.loader import load_lark

        return load_lark(text, **options)

    return Language(
        oracle,
        lambda text, info: psc.GrammarCompiler(info).compile_lark(text, **options),
        grammar,
        grammars(False),
        grammars(True),
    )


LANGUAGES = {
    "any": Language(
        CfgOracle.of_ebnf,
        lambda text, info: psc.GrammarCompiler(info).compile_grammar(text),
        ebnf_grammar,
        strategies.cfg_texts(),
        strategies.cfg_texts(),
    ),
    "basic": lark_language(Oracle, strategies.grammars, lexer="basic"),
    "contextual": lark_language(ContextualOracle, strategies.contextual_grammars, lexer="contextual"),
    "keep all": lark_language(
        KeepAllOracle,
        lambda fancy: strategies.ambiguous_grammars(fancy).filter(lambda text: KeepAllOracle(text).has_sentences),
        lexer="basic",
        keep_all_actions=True,
    ),
}


def allowed(matcher: psc.GrammarMatcher, n: int) -> list[bool]:
    return np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[:n].astype(bool).tolist()


def replay(compiled: psc.CompiledGrammar, history: Sequence[int]) -> psc.GrammarMatcher:
    matcher = psc.GrammarMatcher(compiled)
    for token in history:
        assert matcher.accept_token(token), (history, token)
    return matcher


def oracle_mask(oracle: Masks, tokens: Sequence[bytes], history: Sequence[int]) -> list[bool]:
    """The mask over the tokens and the stop token. An undecided fall-back ends the example."""
    prefix = b"".join(tokens[i] for i in history)
    try:
        return [*oracle.allowed(prefix, tokens), oracle.eos_allowed(prefix)]
    except Undecided:
        assume(False)
        raise


def length(tokens: Sequence[bytes], history: Sequence[int]) -> int:
    """Of the text, in bytes."""
    return sum(len(tokens[i]) for i in history)


def check_mask(matcher: psc.GrammarMatcher, want: list[bool], tokens: Sequence[bytes], *place: object) -> None:
    got = allowed(matcher, len(want))
    names = [*tokens, b"<stop>"]
    wrong = {names[i]: f"allowed: {got[i]}, by the oracle: {want[i]}" for i in range(len(want)) if got[i] != want[i]}
    assert not wrong, (*place, wrong)


def check_history(
    builds: dict[str, psc.CompiledGrammar], oracle: Masks, tokens: Sequence[bytes], history: Sequence[int]
) -> list[int]:
    """Mask and accept_token of both builds after `history` against the oracle; the text tokens allowed."""
    want = oracle_mask(oracle, tokens, history)
    for build, compiled in builds.items():
        check_mask(replay(compiled, history), want, tokens, build, [tokens[i] for i in history])
        for token, bit in enumerate(want):
            # A fresh matcher that has computed no mask.
            matcher = replay(compiled, history)
            assert matcher.accept_token(token) == bit, (build, [tokens[i] for i in history], token)
            assert matcher.is_terminated() == (bit and token == len(tokens))
            if not bit:  # a refusal changes nothing
                check_mask(matcher, want, tokens, build, "after a refusal", [tokens[i] for i in history])
    return [i for i in range(len(tokens)) if want[i]]


def check_short_histories(language: Language, text: str, tokens: Sequence[bytes], seed: int, longest: int = 4) -> None:
    builds, oracle, rng = language.builds(text, tokens), language.oracle(text), random.Random(seed)
    reached: list[tuple[int, ...]] = [()]
    for _ in range(longest + 1):
        reached = [(*h, t) for h in reached for t in check_history(builds, oracle, tokens, h)]
        reached = rng.sample(reached, min(len(reached), MOST_HISTORIES))


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=6), seed=st.integers(0, 2**16))
@bounded
def test_every_short_history(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    check_short_histories(LANGUAGES[language], data.draw(LANGUAGES[language].texts, "grammar"), tokens, seed)


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_random_walks(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    text = data.draw(LANGUAGES[language].fancy_texts, "grammar")
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
        if len(prefix) < 3:
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


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_builds_agree_on_longer_walks(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    """Also with a grammar built anew, which has met other states before or none at all."""
    text = data.draw(LANGUAGES[language].texts, "grammar")
    builds, rng = LANGUAGES[language].builds(text, tokens), random.Random(seed)
    walks: list[tuple[list[list[bool]], list[int]]] = []
    for _ in range(3):
        history: list[int] = []
        walks.append((list(walk(psc.GrammarMatcher(builds["just in time"]), tokens, history, rng, steps=12)), history))
    anew = LANGUAGES[language].builds(text, tokens)
    for compiled in (builds["ahead of time"], anew["just in time"]):
        for masks, history in reversed(walks):
            matcher = psc.GrammarMatcher(compiled)
            for mask, token in zip(masks, history, strict=True):
                assert allowed(matcher, len(mask)) == mask
                assert matcher.accept_token(token)


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_rolling_back_restores_the_mask(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    builds, rng = LANGUAGES[language].builds(data.draw(LANGUAGES[language].texts, "grammar"), tokens), random.Random(seed)
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


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(), seed=st.integers(0, 2**16))
@bounded
def test_a_fork_is_independent(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    builds, rng = LANGUAGES[language].builds(data.draw(LANGUAGES[language].texts, "grammar"), tokens), random.Random(seed)
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


# ---------------------------------------------------------------------------------------------------------------------
# Hard cases


@pytest.mark.parametrize(("language", "text", "tokens"), [case[1:] for case in CASES], ids=[f"{c[1]}: {c[0]}" for c in CASES])
def test_hard_cases(language: str, text: str, tokens: list[Token]) -> None:
    encoded = [t.encode() if isinstance(t, str) else t for t in tokens]
    check_short_histories(LANGUAGES[language], text, encoded, seed=1)


def test_deep_nesting() -> None:
    """A long text, where stacks and counts grow, along one path."""
    text, tokens = 'root ::= "(" root ")" root | "a"{0,200}', [b"(", b")", b"a", b"((((", b"))", b"a" * 50, b"aaa)"]
    builds, oracle = LANGUAGES["any"].builds(text, tokens), CfgOracle.of_ebnf(text)
    history = [3] * 5 + [0] + [5] * 4 + [1] + [2] * 3 + [4] * 5 + [6, 4, 0, 5] + [4] * 4
    assert oracle.accepts(b"".join(tokens[i] for i in history))
    for compiled in builds.values():
        matcher = psc.GrammarMatcher(compiled)
        for i, token in enumerate(history):
            check_mask(matcher, oracle_mask(oracle, tokens, history[:i]), tokens, i)
            assert matcher.accept_token(token)
        assert allowed(matcher, len(tokens) + 1)[len(tokens)]
