"""Bitmasks that a matcher fills: every shape and library, what is wrong with some, and the text that is forced."""

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import strategies
from bounded import bounded
from few_tokens import LANGUAGES, LIBRARIES, TOKENS, A, allowed, bits, compiled_from, matcher_of
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo


@LIBRARIES
def test_bitmasks_of_every_shape(zeros: Callable[..., Any]) -> None:
    info = tokenizer([*TOKENS, *(f"{i:03}" for i in range(60))])
    matcher = matcher_of('root ::= "a" | "059"', info)
    want = [A, 15 + 59]
    for mask, index, row in (
        (zeros(3), 0, ...),
        (zeros(4, 3), 0, 0),
        (zeros(4, 3), 3, 3),
        (zeros(4, 9)[:, 3:6], 2, 2),  # differs: XGrammar does not look at strides
        (zeros(8, 3)[::2], 1, 1),
    ):
        assert matcher.fill_next_token_bitmask(mask, index) is True
        assert bits(np.asarray(mask[row])) == want
        assert np.count_nonzero(np.asarray(mask)) == 2
    whole = zeros(4, 9)
    assert matcher.fill_next_token_bitmask(whole[1::2, 6:], 1)
    assert bits(np.asarray(whole[3, 6:])) == want
    assert np.count_nonzero(np.asarray(whole)) == 2


@LIBRARIES
def test_a_row_is_overwritten(zeros: Callable[..., Any]) -> None:
    mask = zeros(2, 1)
    mask[:] = -1
    assert matcher_of('root ::= "a"').fill_next_token_bitmask(mask, 1)
    assert int(mask[0, 0]) == -1
    assert int(mask[1, 0]) == 1 << A


def test_false_says_that_every_token_is_allowed() -> None:
    info = TokenizerInfo.from_tokens([b"a", b"b", b"aa"])
    matcher, row = matcher_of("root ::= [a-b]*", info), np.zeros((1, 1), np.int32)
    assert matcher.fill_next_token_bitmask(row) is False
    assert bits(row) == [0, 1, 2]  # written all the same, and nothing beyond the vocabulary
    matcher = matcher_of("root ::= [a-b]* [c]", info)
    assert matcher.fill_next_token_bitmask(row) is False
    assert matcher_of("root ::= [a-b]*").fill_next_token_bitmask(row) is True  # special tokens never are
    with_stop = TokenizerInfo.from_tokens([b"a", b"<stop>"], stop_token_ids=[1])
    assert matcher_of("root ::= [a]*", with_stop).fill_next_token_bitmask(row) is False
    assert matcher_of("root ::= [a]+", with_stop).fill_next_token_bitmask(row) is True


@pytest.mark.parametrize(
    ("mask", "index", "message"),
    [
        (np.zeros((1, 1), np.int64), 0, "must be an int32 array"),
        (np.zeros((1, 1), np.uint32), 0, "must be an int32 array"),
        (np.zeros((1, 1), np.float32), 0, "must be an int32 array"),
        (np.zeros((1, 2), np.int32), 0, "has 2 words a row; this vocabulary needs 1"),
        (np.zeros((1, 0), np.int32), 0, "has 0 words a row; this vocabulary needs 1"),
        (np.zeros((1, 1, 1), np.int32), 0, "one or two dimensions, not 3"),
        (np.zeros((), np.int32), 0, "one or two dimensions, not 0"),
        (np.zeros((2, 1), np.int32), 2, "row 2 of a bitmask of 2 rows"),
        (np.zeros((2, 1), np.int32), -1, "row -1 of a bitmask of 2 rows"),
        (np.zeros((2, 1), np.int32), 2**40, "row 1099511627776 of a bitmask of 2 rows"),
        (np.zeros(1, np.int32), 1, "row 1 of a bitmask of 1 rows"),
    ],
)
def test_wrong_bitmasks(mask: np.ndarray, index: int, message: str) -> None:
    matcher = matcher_of('root ::= "a"')
    with pytest.raises(psc.BitmaskError, match=message):
        matcher.fill_next_token_bitmask(mask, index)
    with pytest.raises(psc.BitmaskError, match=message):
        psc.BatchGrammarMatcher(2).batch_fill_next_token_bitmask([matcher], mask, [index])
    assert not mask.any()
    assert matcher.accept_token(A)


def test_bitmasks_that_cannot_be_written() -> None:
    matcher = matcher_of('root ::= "a"', tokenizer([*TOKENS, *("x" * i for i in range(2, 60))]))
    read_only = np.zeros((1, 3), np.int32)
    read_only.flags.writeable = False
    with pytest.raises(psc.BitmaskError, match="read-only"):
        matcher.fill_next_token_bitmask(read_only)
    with pytest.raises(psc.BitmaskError, match="contiguous"):
        matcher.fill_next_token_bitmask(np.zeros((1, 6), np.int32)[:, ::2])
    for wrong in ([[0, 0, 0]], None, "mask", 5):
        with pytest.raises(TypeError, match="must be an int32 array"):
            matcher.fill_next_token_bitmask(wrong)
    assert matcher.accept_token(A)


def test_meta_tensors_are_on_no_device_that_can_be_written() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises((psc.BitmaskError, TypeError, RuntimeError, BufferError)):
        matcher_of('root ::= "a"').fill_next_token_bitmask(torch.zeros(1, 1, dtype=torch.int32, device="meta"))


@pytest.mark.parametrize(
    ("grammar", "read", "want"),
    [
        ('root ::= "abcabc" [x-z]', "", "abcabc"),
        ('root ::= "ab" | "ac"', "", "a"),
        ('root ::= "ab" "c"?', "", "ab"),  # no further than where the text may end
        ('root ::= "ab" "c"?', "ab", ""),
        ("root ::= [a]{5}", "", "aaaaa"),
        ("root ::= [ab]", "", ""),
        ('root ::= "a"*', "", ""),
        ('root ::= "é" "x" | "è" "x"', "", ""),  # differs: XGrammar raises UnicodeDecodeError
        ('root ::= "aé" | "aè"', "", "a"),
        ('root ::= "é漢é"', "", "é漢é"),
        ('root ::= "é漢"', b"\xc3", ""),  # differs: inside a character
        ('root ::= "é漢"', b"\xc3\xa9\xe6", ""),
        ('root ::= "é漢"', b"\xc3\xa9", "漢"),
        ('root ::= "\\x00a" | "\\x00b"', "", "\0"),  # differs: XGrammar gives a newline
        ('root ::= "[" root "]" | "x"', "[[x", "]]"),
        ('root ::= r1 "y" | r2 "z"\nr1 ::= "ab"\nr2 ::= "ab"', "", "ab"),  # however it is parsed
    ],
)
def test_forced_text(grammar: str, read: str | bytes, want: str) -> None:
    matcher = matcher_of(grammar)
    assert matcher.accept_string(read)
    before = allowed(matcher)
    assert matcher.find_jump_forward_string() == want
    assert allowed(matcher) == before
    assert matcher.n_steps == 1
    assert matcher.accept_string(want)


def test_forced_text_is_bounded() -> None:
    """A text that never ends is cut, and goes on from there."""
    matcher = matcher_of('root ::= "ab" root2\nroot2 ::= "ab"{100000} "c"')
    jump = matcher.find_jump_forward_string()
    assert 1000 < len(jump) <= 200_003
    assert set(jump.replace("ab", "")) <= {"a"}
    assert matcher.accept_string(jump)
    assert matcher.find_jump_forward_string().startswith("b" if jump.endswith("a") else "a")


def forced_by_definition(matcher: psc.GrammarMatcher) -> bytes:
    """Byte by byte: the only one that can come next, until the text may end."""
    matcher, out = matcher.fork(), b""
    while not matcher.is_completed() and len(out) < 60:
        can = [b for b in range(256) if matcher.fork().accept_string(bytes([b]))]
        if len(can) != 1:
            break
        out += bytes(can)
        assert matcher.accept_string(bytes(can))
    return out


def whole_characters(data: bytes) -> str:
    for end in range(len(data), max(len(data) - 4, -1), -1):
        try:
            return data[:end].decode()
        except UnicodeDecodeError:
            continue
    return ""


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=8), seed=st.integers(0, 2**16))
@bounded
def test_forced_text_against_its_definition(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    matcher, rng = psc.GrammarMatcher(compiled_from(language, data, tokenizer(tokens))), random.Random(seed)
    for _ in range(4):
        forced = forced_by_definition(matcher)
        assert matcher.find_jump_forward_string()[: len(whole_characters(forced))] == whole_characters(forced)
        if len(forced) < 60:
            assert matcher.find_jump_forward_string() == whole_characters(forced)
        choices = [t for t in allowed(matcher) if t != len(tokens)]
        if not choices:
            break
        assert matcher.accept_token(rng.choice(choices))


if sys.platform == "linux":

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
