"""Which row goes on from which: beams, requests, going back, new generations, with no engine at all."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from small_grammars import compiled
from vocabularies import byte_tokenizer

import psc
from psc.adapters.constraints import Constraint, Hypothesis, Requests
from psc.adapters.sequences import Growth, Sequences
from psc.decoding import DeferredGrammar
from psc.errors import BitmaskError, MatcherError
from psc.runtime.compiled import GrammarMatcher

JSON = compiled("json")
INFO = JSON.tokenizer_info
STOP = INFO.stop_token_ids[0]
N_WORDS = -(-INFO.vocab_size // 32)


class Ids:
    """Rows of token ids, and how much of them was looked at."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self.array = np.array(rows, np.int64)
        self.n_read = 0

    def step(self, sequences: Sequences) -> list[Hypothesis]:
        return sequences.step(*self.array.shape, self.read)

    def read(self, columns: Any) -> Any:
        chosen = self.array[:, columns]
        self.n_read = max(self.n_read, chosen.shape[1])
        return chosen


def follow(sequences: Sequences, *rows: Sequence[int]) -> list[Hypothesis]:
    return Ids(rows).step(sequences)


def mask(constraint: Any, text: Sequence[int]) -> np.ndarray | None:
    """What is allowed after a text, found from its beginning; None for no mask."""
    if constraint is None:
        return None
    matcher = constraint.matcher() if isinstance(constraint, DeferredGrammar) else GrammarMatcher(constraint)
    for token in text:
        if matcher.is_terminated():
            break
        assert matcher.accept_token(token)
    out = np.zeros(N_WORDS, np.int32)
    if matcher.is_terminated():
        out[STOP // 32] = np.uint32(1 << STOP % 32).astype(np.int32)
    elif isinstance(matcher, GrammarMatcher) or matcher.matcher is not None:
        matcher.fill_next_token_bitmask(out)
    else:
        return None
    return out


def allowed(row: np.ndarray | None) -> list[int]:
    if row is None:
        return list(range(256))
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: INFO.vocab_size]).tolist()


@pytest.mark.parametrize("share", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_beams_of_several_requests(share: int, seed: int) -> None:
    """Rows that take any row of their request as their past: each must have the mask of its own text, and little is read."""
    rng = random.Random(seed)
    constraints: list[Constraint] = [JSON, None, DeferredGrammar(JSON, "ab"), compiled("ebnf")]
    sequences = Sequences(Requests(constraints))
    alphabet = [ord(c) for c in "ab"]
    prompts = [[rng.randrange(256) for _ in range(7)] for _ in constraints]
    texts: list[list[int]] = [[] for _ in range(share * len(constraints))]
    bitmask = np.zeros((len(texts), N_WORDS), np.int32)
    n_masked = 0
    for step in range(70):
        ids = Ids([prompts[i // share] + text for i, text in enumerate(texts)])
        hypotheses = ids.step(sequences)
        assert step < 2 or ids.n_read <= 17 + 2 * len(texts) + 16
        masked = sequences.requests.fill(hypotheses, bitmask)
        choices = []
        for i, text in enumerate(texts):
            expected = mask(constraints[i // share], text)
            assert (i in masked) == (expected is not None)
            if expected is not None:
                n_masked += 1
                np.testing.assert_array_equal(bitmask[i], expected)
            tokens = allowed(expected)
            choices.append([t for t in tokens if t in alphabet or expected is not None] or alphabet)
        pairs = [rng.choice([i // share * share + k for k in range(share)]) if share > 1 else i for i in range(len(texts))]
        texts = [[*texts[p], rng.choice(choices[p])] for p in pairs]
    assert n_masked > 50 * share


def test_rows_share_a_matcher_until_they_part() -> None:
    sequences = Sequences(Requests(JSON))
    same = follow(sequences, [1, 2], [1, 2], [1, 2])
    assert len({id(h) for h in same}) == 1
    parted = follow(sequences, [1, 2, ord("[")], [1, 2, ord("{")], [1, 2, ord("[")])
    assert parted[0] is parted[2] is not parted[1]
    assert [h.matcher.n_steps for h in parted if h.matcher] == [1, 1, 1]
    crossed = follow(sequences, [1, 2, ord("{"), ord("}")], [1, 2, ord("["), ord("]")], [1, 2, ord("["), ord("]")])
    assert all(h.matcher is not None and h.matcher.is_completed() for h in crossed)


def test_prompts_that_differ_only_far_back() -> None:
    """Rows of one request may have any prompts; a swap of two with the same last columns is seen."""
    sequences = Sequences(Requests(JSON))
    long = list(range(40, 80))
    rows = [[1, *long], [2, *long]]
    follow(sequences, *rows)
    rows = [[*rows[0], ord("[")], [*rows[1], ord("{")]]
    follow(sequences, *rows)
    swapped = follow(sequences, [*rows[1], ord("}")], [*rows[0], ord("]")])
    assert all(h.matcher is not None and h.matcher.is_completed() for h in swapped)


def test_new_prompts() -> None:
    sequences = Sequences(Requests(JSON))
    start = follow(sequences, [1, 2, 3])[0]
    assert follow(sequences, [1, 2, 3, ord("[")])[0] is start
    for prompt in ([4, 5], [1, 2, 4, ord("["), 7], [1, 2, 3], [1, 2, 3, ord("["), 8, 9, 10], list(range(100))):
        hypothesis = follow(sequences, prompt)[0]
        assert hypothesis.matcher is not None and hypothesis.matcher.n_steps == 0, prompt


def test_prompt_of_one_more_token_than_the_last_ids() -> None:
    sequences = Sequences(Requests(JSON))
    follow(sequences, [1, *range(20, 50)])
    other = follow(sequences, [2, *range(20, 50), ord("[")])[0]
    assert other.matcher is not None and other.matcher.n_steps == 0


def test_prompts_of_no_tokens() -> None:
    """Engines that are given embeddings show no ids at first."""
    sequences = Sequences(Requests(JSON))
    start = follow(sequences, [], [])
    assert start[0] is start[1]
    follow(sequences, [ord("[")], [ord("{")])
    ended = follow(sequences, [ord("["), ord("]")], [ord("{"), ord("}")])
    assert all(h.matcher is not None and h.matcher.is_completed() for h in ended)


def test_going_back() -> None:
    rng = random.Random(2)
    sequences = Sequences(Requests(JSON), growth=Growth.BACK_AND_FORTH)
    prompt = [7, 8, 9]
    text: list[int] = []
    bitmask = np.zeros((1, N_WORDS), np.int32)
    for _ in range(150):
        hypotheses = follow(sequences, [*prompt, *text])
        assert sequences.requests.fill(hypotheses, bitmask) == [0]
        np.testing.assert_array_equal(bitmask[0], mask(JSON, text))
        text.append(rng.choice(allowed(bitmask[0])))
        if rng.random() < 0.3:  # some tokens are dropped, and others tried
            del text[rng.randrange(len(text)) :]
    assert follow(sequences, [7, 8])[0].matcher.n_steps == 0  # type: ignore[union-attr]


def test_going_back_with_the_beginning_in_the_prompt() -> None:
    sequences = Sequences(Requests(JSON), growth=Growth.BACK_AND_FORTH, prompt_length=2)
    text = [ord(c) for c in '["ab"']
    for ids in ([5, 6, *text[:2]], [5, 6, *text[:3]], [5, 6, *text], [5, 6, *text[:3]], [5, 6, *text]):
        hypothesis = follow(sequences, ids)[0]
        assert hypothesis.matcher is not None and hypothesis.matcher.n_steps == len(ids) - 2


def test_after_the_end() -> None:
    sequences = Sequences(Requests(JSON))
    ids = [1]
    for token in (ord("["), ord("]"), STOP, 0, 0):
        follow(sequences, ids)
        ids = [*ids, token]
    [hypothesis] = follow(sequences, ids)
    assert hypothesis.has_ended
    bitmask = np.zeros((1, N_WORDS), np.int32)
    assert sequences.requests.fill([hypothesis], bitmask) == [0]
    assert allowed(bitmask[0]) == [STOP]


@pytest.mark.parametrize(
    ("leaves_alone", "token", "accepted"),
    [
        (None, ord("x"), False),
        (None, STOP, False),
        (lambda token: token == STOP, ord("x"), False),
        (lambda token: token == STOP, STOP, True),
        (lambda token: True, ord("x"), True),
    ],
)
def test_tokens_that_are_refused(leaves_alone: Any, token: int, accepted: bool) -> None:
    sequences = Sequences(Requests(JSON), leaves_alone=leaves_alone)
    follow(sequences, [1], [1])
    if accepted:
        hypotheses = follow(sequences, [1, ord("[")], [1, token])
        assert [h.given_up for h in hypotheses] == [False, True]
        follow(sequences, [1, ord("["), ord("]")], [1, token, 5])
    else:
        with pytest.raises(MatcherError, match="row 1: token"):
            follow(sequences, [1, ord("[")], [1, token])
        follow(sequences, [1, ord("[")], [1, token])  # a new prompt: the error has ended the generation


def test_what_is_not_clear_is_an_error() -> None:
    sequences = Sequences(Requests(JSON))
    steps = [[1, 2], [1, 2, ord("[")], [1, 2, ord("["), ord("[")]]

    def begin() -> None:
        sequences.reset()
        for ids in steps:
            follow(sequences, ids)

    begin()
    with pytest.raises(MatcherError, match="assisted=True"):
        follow(sequences, steps[1])
    begin()
    with pytest.raises(MatcherError, match="2 rows, and had 1"):
        follow(sequences, [*steps[2], ord("]")], [*steps[2], ord("]")])
    begin()
    follow(sequences, [9, 9, 9, 9, 9, 9])
    with pytest.raises(MatcherError, match="two generations at once"):
        follow(sequences, [*steps[2], ord("]")])
    begin()
    sequences.reset()
    assert follow(sequences, steps[1])[0].matcher.n_steps == 0  # type: ignore[union-attr]
    strict = Sequences(Requests(JSON), growth=Growth.ONLY_BY_ONE)
    follow(strict, [1, 2])
    with pytest.raises(MatcherError, match="grew by 2"):
        follow(strict, [1, 2, ord("["), ord("]")])
    follow(strict, [1, 2])
    follow(strict, [3, 4, 5, 6, 7])  # not longer, but other


def test_batches_and_options_that_do_not_fit() -> None:
    sequences = Sequences(Requests([JSON, None]))
    for rows in ([[1]], [[1], [1], [1]]):
        with pytest.raises(MatcherError, match=f"{len(rows)} rows for 2 grammars"):
            follow(sequences, *rows)
    with pytest.raises(MatcherError, match="follows one sequence"):
        follow(Sequences(Requests(JSON), growth=Growth.BACK_AND_FORTH), [1], [2])
    with pytest.raises(MatcherError, match="cannot be negative"):
        Sequences(Requests(JSON), prompt_length=-1)


def test_vocabularies() -> None:
    other = psc.GrammarCompiler(byte_tokenizer()).compile_builtin_json_grammar()
    with pytest.raises(MatcherError, match="different vocabularies"):
        Requests([JSON, None, DeferredGrammar(other, "x")])
    for nothing in ([], [None], None):
        with pytest.raises(MatcherError, match="no grammar"):
            Requests(nothing)
    with pytest.raises(MatcherError, match="not GrammarMatcher"):
        Requests([GrammarMatcher(JSON)])  # type: ignore[list-item]
    requests = Requests(JSON)
    with pytest.raises(MatcherError, match="another vocabulary"):
        requests.check(other.tokenizer_info)
    requests.check(INFO)
    requests.check_width(INFO.vocab_size)
    with pytest.raises(BitmaskError, match="10 wide"):
        requests.check_width(10)


def test_stop_tokens_in_place_of_the_vocabulary_s() -> None:
    end = ord("~")
    for constraint in (JSON, DeferredGrammar(JSON, "=")):
        requests = Requests(constraint, stop_token_ids=end)
        sequences = Sequences(requests)
        bitmask = np.zeros((1, N_WORDS), np.int32)
        ids = [1]
        for token in (*([] if constraint is JSON else [ord("=")]), ord("["), ord("]")):
            follow(sequences, ids)
            ids.append(token)
        requests.fill(follow(sequences, ids), bitmask)
        assert end in allowed(bitmask[0]) and STOP not in allowed(bitmask[0])
        [hypothesis] = follow(sequences, [*ids, end])
        assert hypothesis.has_ended
        requests.fill([hypothesis], bitmask)
        assert allowed(bitmask[0]) == [end]
    assert Requests(JSON).stop_token_ids == INFO.stop_token_ids
    with pytest.raises(MatcherError, match="override_stop_tokens"):
        Requests(JSON, stop_token_ids=[])
    with pytest.raises(MatcherError):
        Requests(JSON, stop_token_ids=INFO.vocab_size)
