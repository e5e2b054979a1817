"""The dialect against llguidance itself, where it is installed: what it accepts is accepted here.

The converse does not hold, since llguidance's lexemes are greedy; docs/llguidance.md has the differences.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from dialect_oracle import random_rules, text_of
from dialect_texts import CASES, INFO, SPECIAL, matches, tokens_of

import psc

llguidance: Any = pytest.importorskip("llguidance")

XGRAMMARS = {name for name in CASES if name.startswith("max_chars")} | {
    "none",
    "nested",
    "nested twice",
    "nested ignores by itself",
    "tokens in a nested grammar",
    "a group over lines",
}
"""Cases with what llguidance has not."""
OTHERWISE = {
    "an alias without a space": "llguidance reads the hyphen as part of the name",
    "a bar on the next line": "no comment may stand before the bar",
    "imports": "no line may end inside the brackets",
    "ignored": "nothing is ignored at the end",
    "ignored once": "older ones do not know skip_repetition",
    "planned form of substring": "planned",
}


class Bytes:
    """A vocabulary of bytes and the special tokens, as llguidance takes it."""

    eos_token_id = 256
    bos_token_id = None
    tokens = tuple([bytes([i]) for i in range(256)] + [name.encode() for name in SPECIAL])
    special_token_ids = (256, 257, 258, 259)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


VOCABULARY = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))


def theirs(grammar: str) -> Any:
    return llguidance.LLMatcher(VOCABULARY, llguidance.LLMatcher.grammar_from_lark(grammar), log_level=0)


def they_match(matcher: Any, text: str | list[int]) -> bool:
    tokens = tokens_of(text)
    copy = matcher.deep_copy()
    return bool(copy.try_consume_tokens(tokens) == len(tokens) and copy.is_accepting())


@pytest.mark.parametrize("name", [name for name in CASES if name not in XGRAMMARS | OTHERWISE.keys()])
def test_cases(name: str) -> None:
    case = CASES[name]
    matcher = theirs(case.grammar)
    assert not matcher.is_error(), matcher.get_error()
    assert [t for t in case.accepted if not they_match(matcher, t)] == []
    assert [t for t in case.rejected if they_match(matcher, t)] == []


def test_random_grammars() -> None:
    compiler = psc.GrammarCompiler(INFO, store=False)
    n_accepted = 0
    for seed in range(40):
        source = random.Random(seed)
        text = text_of(random_rules(source))
        matcher = theirs(text)
        try:
            compiled = compiler.compile_lark(text)
        except psc.GrammarError:
            continue
        for _ in range(40):
            some = "".join(source.choices("abc;", k=source.randint(0, 7)))
            if they_match(matcher, some):
                assert matches(compiled, some), (text, some)
                n_accepted += 1
    assert n_accepted > 30
