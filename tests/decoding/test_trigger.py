"""Triggers: texts spelled across tokens, token ids, and what a token has after the text that it completes."""

import random

import pytest
from vocabularies import byte_tokenizer

from psc.decoding.trigger import Completed, Trigger
from psc.errors import MatcherError
from psc.vocabulary.tokenizer_info import TokenizerInfo

INFO = byte_tokenizer("</", "think", ">", '>{"', "</think>", "ink>x", "aa", "aab")
STOP = INFO.stop_token_ids[0]


def token(spelling: str | bytes) -> int:
    """The last token with this spelling: the pieces at the end of the vocabulary, not single bytes."""
    spelling = spelling.encode() if isinstance(spelling, str) else spelling
    return max(i for i in range(INFO.vocab_size) if INFO.token_bytes(i) == spelling)


def run(trigger: Trigger, tokens: list[int]) -> tuple[int, bytes] | None:
    """How many tokens until it is found, and what is left of the last."""
    state = trigger.start
    for n, each in enumerate(tokens, 1):
        after = trigger.step(state, each)
        if isinstance(after, Completed):
            return n, after.rest
        state = after
    return None


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["a", "</think>", "b"], (2, b"")),
        (["</", "think", ">"], (3, b"")),
        (["</", "think", '>{"'], (3, b'{"')),
        (["<", "/", "t", "h", "ink>x"], (5, b"x")),
        (["</", "</", "think", ">"], (4, b"")),
        (["</", "think", "</", "think", ">"], (5, b"")),
        (["</", "think"], None),
    ],
)
def test_text_across_tokens(pieces: list[str], found: tuple[int, bytes] | None) -> None:
    assert run(Trigger("</think>", INFO), [token(p) for p in pieces]) == found


def test_text_in_the_middle_of_a_token() -> None:
    assert run(Trigger("in", INFO), [token("ink>x")]) == (1, b"k>x")


def test_overlapping_beginnings() -> None:
    assert run(Trigger("aab", INFO), [token("aa"), token("aab")]) == (2, b"")
    assert run(Trigger("aab", INFO), [token("a"), token("aa"), token("b")]) == (3, b"")


def test_agrees_with_search_in_the_text() -> None:
    rng = random.Random(1)
    pieces = [token(p) for p in ("a", "b", "aa", "aab")]
    for pattern in ("aab", "abaab", "aaa", "b"):
        trigger = Trigger(pattern, INFO)
        for _ in range(200):
            tokens = [rng.choice(pieces) for _ in range(8)]
            text, expected = b"", None
            for n, each in enumerate(tokens, 1):
                text += INFO.token_bytes(each)
                where = text.find(pattern.encode())
                if where >= 0:
                    expected = n, text[where + len(pattern) :]
                    break
            assert run(trigger, tokens) == expected


def test_several_texts_the_first_to_end() -> None:
    trigger = Trigger(["think>", "</"], INFO)
    assert run(trigger, [token("a"), token("</think>")]) == (2, b"think>")


def test_ids() -> None:
    a, b = token("a"), token("b")
    assert run(Trigger([a, a, b], INFO), [a, a, a, b]) == (4, b"")
    assert run(Trigger(a, INFO), [b, a]) == (2, b"")
    assert run(Trigger([[a, b], [b, b]], INFO), [b, b, a]) == (2, b"")
    assert run(Trigger([a, b], INFO), [token("aab")]) is None


def test_special_tokens_are_not_text_but_may_be_called_like_one() -> None:
    named = TokenizerInfo.from_tokens([b"<", b"/t>", b"</t>", b"<stop>"], special_token_ids=[2, 3], stop_token_ids=[3])
    trigger = Trigger("</t>", named)
    assert run(trigger, [0, 1]) == (2, b"")
    assert run(trigger, [2]) == (1, b"")
    assert run(trigger, [0, 3, 1]) is None


@pytest.mark.parametrize(
    ("triggers", "message"),
    [
        ([], "no trigger"),
        ("", "empty"),
        ([[]], "empty"),
        (10**6, "no token 1000000"),
        ([-1], "no token -1"),
        ([None], "not None"),
        ([1.5], "not 1.5"),
    ],
)
def test_bad_triggers(triggers: object, message: str) -> None:
    with pytest.raises(MatcherError, match=message):
        Trigger(triggers, INFO)  # type: ignore[arg-type]
