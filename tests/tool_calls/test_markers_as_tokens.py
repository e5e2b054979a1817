"""Transcripts token by token, with the models' markers as special tokens of the vocabulary, which no text can be."""

import re

import pytest
from tool_calls.transcripts import MARKERS, TOOLS, TRANSCRIPTS

import psc

STOPS = {"harmony": ("<|call|>", "<|return|>")}
END = 256


def vocabulary(model):
    texts = [*[bytes([b]) for b in range(256)], b"<end of text>", *[m.encode() for m in MARKERS[model]]]
    stops = [END, *[END + 1 + MARKERS[model].index(m) for m in STOPS.get(model, ())]]
    return psc.TokenizerInfo(texts, stop_token_ids=stops, special_token_ids=range(END, len(texts)))


def tokens(model, text):
    """The ids, markers as single tokens."""
    for part in re.split("(" + "|".join(map(re.escape, MARKERS[model])) + ")", text):
        yield from [END + 1 + MARKERS[model].index(part)] if part in MARKERS[model] else part.encode()


def is_taken(compiled, ids, stops):
    """Whether the tokens are, each of them allowed by the mask, and the text may end."""
    matcher = psc.GrammarMatcher(compiled)
    for token in ids:
        if matcher.is_terminated():
            return False
        allowed = token in matcher.allowed_tokens()
        assert matcher.accept_token(token) == allowed
        if not allowed:
            return False
    return matcher.is_terminated() if ids[-1] in stops else matcher.accept_token(END)


@pytest.mark.parametrize("model", MARKERS)
def test_markers_as_tokens(model):
    info = vocabulary(model)
    transcript = TRANSCRIPTS[model]
    tag = psc.get_model_structural_tag(model, TOOLS, "required", parallel_tool_calls=False)
    compiled = psc.GrammarCompiler(info, store=False).compile_structural_tag(tag)
    ids = list(tokens(model, transcript.thinking + transcript.one))
    assert is_taken(compiled, ids, info.stop_token_ids)
    spelled = list((transcript.thinking + transcript.one).encode())
    assert is_taken(compiled, spelled, info.stop_token_ids)
    marked = [i for i, token in enumerate(ids) if token > END]
    assert marked
    for i in marked:
        assert not is_taken(compiled, ids[:i] + ids[i + 1 :], info.stop_token_ids), i
        assert not is_taken(compiled, [*ids[: i + 1], *ids[i:]], info.stop_token_ids), i


@pytest.mark.parametrize("model", MARKERS)
def test_a_marker_is_no_text(model):
    """A string of the arguments has no special token but the one that ends it."""
    info = vocabulary(model)
    tag = psc.get_model_structural_tag(model, TOOLS)
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(info, store=False).compile_structural_tag(tag))
    before = (TRANSCRIPTS[model].thinking + TRANSCRIPTS[model].one).partition("Paris")[0]
    for token in tokens(model, before):
        assert matcher.accept_token(token)
    for token in b"Paris":
        assert len([t for t in matcher.allowed_tokens() if t >= END]) <= 1
        assert matcher.accept_token(token)
