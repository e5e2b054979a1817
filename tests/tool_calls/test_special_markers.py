"""Models' tool calls where markers are special tokens: taken token by token, by linked machines and by one of all."""

from functools import cache

import pytest
from tool_calls.transcripts import TOOLS, TRANSCRIPTS

import psc
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.grammars.grammar import Grammar

# fmt: off
MARKERS = (
    "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|call|>", "<|return|>", "<|end|>", "<tool_call>", "</tool_call>",
    "<think>", "</think>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
    "<|tool_call_end|>", "<|tool_call_argument_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "<|open|>", "<|close|>", "<|sep|>",
    "<minimax:tool_call>", "</minimax:tool_call>",
)
PIECES = (
    '{"', '"}', '": ', '": "', '", "', '"}}', '"}\n', '}\n</', "}</", ">{", '>{"', ": {", ' {"', "\n\n", "</", "<", "arg",
    "city", "tool", "function", "name", '"name"', "parameters", " ", "\n", "The", "json", '">', "=", "Os", "lo", "1", "12", "}",
    "}}", '"',
)
# fmt: on


def tokenizer(special: bool) -> psc.TokenizerInfo:
    tokens = [bytes([b]) for b in range(256)] + [p.encode() for p in PIECES] + [m.encode() for m in MARKERS] + [b"</s>"]
    first = len(tokens) - 1 - len(MARKERS)
    stop = [len(tokens) - 1, first + MARKERS.index("<|call|>"), first + MARKERS.index("<|return|>")]
    names = range(first, len(tokens))
    return psc.TokenizerInfo.from_tokens(tokens, special_token_ids=names if special else stop, stop_token_ids=stop)


@cache
def compiler(special: bool) -> psc.GrammarCompiler:
    return psc.GrammarCompiler(tokenizer(special), store=False)


def tokens_of(text: str, info: psc.TokenizerInfo) -> list[int]:
    """Greedy, the names of special tokens as these."""
    by_text = {t: i for i, t in reversed(list(enumerate(info.decoded_vocab))) if t}
    data, ids = text.encode(), []
    longest = max(map(len, by_text))
    while data:
        n = next(n for n in range(longest, 0, -1) if data[:n] in by_text)
        ids.append(by_text[data[:n]])
        data = data[n:]
    return ids


@pytest.mark.parametrize("special", [True, False], ids=["special", "text"])
@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_transcripts_token_by_token(model: str, special: bool) -> None:
    t = TRANSCRIPTS[model]
    tag = psc.get_model_structural_tag(model, TOOLS, "auto", "enabled")
    info = compiler(special).tokenizer_info
    linked = psc.GrammarMatcher(compiler(special).compile_structural_tag(tag))
    inlined = psc.GrammarMatcher(compile_just_in_time(Grammar.from_structural_tag(tag), info))
    text = t.thinking + t.one
    ids = tokens_of(text, info)
    for at, token in enumerate(ids):
        where = (model, at, info.decoded_vocab[token])
        expected = linked.allowed_tokens().tolist()
        assert inlined.allowed_tokens().tolist() == expected, where
        assert token in expected, where
        assert linked.accept_token(token) and inlined.accept_token(token)
        if linked.is_terminated():
            assert inlined.is_terminated() and at == len(ids) - 1, where
    if not linked.is_terminated():
        assert linked.allowed_tokens().tolist() == inlined.allowed_tokens().tolist()
        assert linked.is_completed()
