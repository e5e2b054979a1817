"""The ways to read a grammar's text, each with its oracle and psc's engines, and whole masks of these compared.

A language says how text becomes terminals and which derivations count: `any` is EBNF; the others are Lark files, lexed with the
contextual or the basic lexer, in `keep all` with every LR action kept. An engine is a way to have masks of it: a grammar built just
in time or ahead of time, or an artifact that was written and loaded again, closed or not.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import lark
import numpy as np
from grammar_tables import compile_ahead, compile_with_leads, tables_of
from hypothesis import assume
from not_closed import compile_not_closed
from oracle import (
    CfgOracle,
    ContextualKeepAllOracle,
    ContextualOracle,
    FlushModalOracle,
    FlushOracle,
    KeepAllOracle,
    ModalOracle,
    Oracle,
    Undecided,
)
from vocabularies import tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo

MOST_HISTORIES = 40  # of one length
BUILDS = ("just in time", "ahead of time", "with leads", "partly closed", "not closed", "tokens read")


def some_builds(rng: random.Random) -> tuple[str, str]:
    """Two, where a test is about matchers and says the same of each build."""
    one, other = rng.sample(BUILDS, 2)
    return one, other


class Masks(Protocol):
    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]: ...

    def eos_allowed(self, prefix: bytes) -> bool: ...


@dataclass(frozen=True)
class Language:
    """One way to read grammars: its oracle, and its engines."""

    oracle: Callable[[str], Masks]
    just_in_time: Callable[[str, TokenizerInfo], psc.CompiledGrammar]
    grammar: Callable[[str], Any]

    def builds(self, text: str, tokens: Sequence[bytes], names: Sequence[str] = BUILDS) -> dict[str, psc.CompiledGrammar]:
        """The grammar in all builds, or in those named. A limit ends the example."""
        info = tokenizer(tokens)
        try:
            read = tables_of(self.grammar(text)) if set(names) - {"just in time"} else None
            ways = {
                "just in time": lambda: self.just_in_time(text, info),
                "ahead of time": lambda: compile_ahead(read, info),
                "with leads": lambda: compile_with_leads(read, info),
                "partly closed": lambda: compile_not_closed(read, info, partly=True),
                "not closed": lambda: compile_not_closed(read, info),
                "tokens read": lambda: compile_not_closed(read, info, classes=False),
            }
            builds = {name: ways[name]() for name in names}
        except psc.ResourceLimitError:
            assume(False)
            raise
        if "tokens read" in builds:
            builds["tokens read"]._machine.set_steps_to_classify(0)
        return builds


def ebnf_grammar(text: str) -> Any:
    from psc.compiler.cfg.lowering import lower
    from psc.compiler.frontends.ebnf import load_ebnf

    return lower(load_ebnf(text))


def lark_language(oracle: Callable[[str], Masks], **options: Any) -> Language:
    def grammar(text: str) -> Any:
        from psc.compiler.frontends.lark.loader import load_lark

        return load_lark(text, **options)

    return Language(oracle, lambda text, info: psc.GrammarCompiler(info).compile_lark(text, **options), grammar)


def contextual_keep_all(text: str) -> ContextualKeepAllOracle:
    loaded = lark.Lark(text, parser="earley", lexer="basic")
    return ContextualKeepAllOracle(psc.Grammar.from_lark(text, keep_all_actions=True).to_cfg(), loaded.terminals)


LANGUAGES = {
    "any": Language(CfgOracle.of_ebnf, lambda text, info: psc.GrammarCompiler(info).compile_grammar(text), ebnf_grammar),
    "basic": lark_language(Oracle, lexer="basic"),
    "flush": lark_language(FlushOracle, lexer="flush"),
    "contextual": lark_language(ContextualOracle, lexer="contextual"),
    "modal": lark_language(ModalOracle, lexer="modal"),
    "flush-modal": lark_language(FlushModalOracle, lexer="flush-modal"),
    "keep all": lark_language(KeepAllOracle, lexer="basic", keep_all_actions=True),
    "contextual, keep all": lark_language(contextual_keep_all, lexer="contextual", keep_all_actions=True),
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


def check_mask(matcher: psc.GrammarMatcher, want: list[bool], tokens: Sequence[bytes], *place: object) -> None:
    got = allowed(matcher, len(want))
    names = [*tokens, b"<stop>"]
    wrong = {names[i]: f"allowed: {got[i]}, by the oracle: {want[i]}" for i in range(len(want)) if got[i] != want[i]}
    assert not wrong, (*place, wrong)


def check_history(
    engines: dict[str, psc.CompiledGrammar], oracle: Masks, tokens: Sequence[bytes], history: Sequence[int]
) -> list[int]:
    """Mask and accept_token of every engine after `history` against the oracle; the text tokens allowed."""
    want = oracle_mask(oracle, tokens, history)
    for engine, compiled in engines.items():
        check_mask(replay(compiled, history), want, tokens, engine, [tokens[i] for i in history])
        for token, bit in enumerate(want):
            # A fresh matcher that has computed no mask.
            matcher = replay(compiled, history)
            assert matcher.accept_token(token) == bit, (engine, [tokens[i] for i in history], token)
            assert matcher.is_terminated() == (bit and token == len(tokens))
            if not bit:  # a refusal changes nothing
                check_mask(matcher, want, tokens, engine, "after a refusal", [tokens[i] for i in history])
    return [i for i in range(len(tokens)) if want[i]]


def check_short_histories(
    engines: dict[str, psc.CompiledGrammar], oracle: Masks, tokens: Sequence[bytes], seed: int, longest: int = 4
) -> None:
    """All masks after up to so many tokens, of each length at most 40 histories."""
    rng = random.Random(seed)
    reached: list[tuple[int, ...]] = [()]
    for _ in range(longest + 1):
        reached = [(*h, t) for h in reached for t in check_history(engines, oracle, tokens, h)]
        reached = rng.sample(reached, min(len(reached), MOST_HISTORIES))
