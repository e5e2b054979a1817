"""Masks along a tree of drafts: row by row against a matcher that takes each way itself."""

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import strategies
from bounded import bounded
from few_tokens import (
    AB,
    ABC,
    LANGUAGES,
    LIBRARIES,
    STOP,
    UNTOUCHED,
    A,
    B,
    C,
    X,
    allowed,
    bits,
    check_tree,
    compiled_from,
    matcher_of,
    random_tree,
    torch_mask,
    tree_of,
)
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo


def test_a_draft_tree_row_by_row() -> None:
    matcher = matcher_of('root ::= "a" ("b" "c" | "c" "x") | "x"')
    # root ── a ── b ── c ── stop ── a
    #    │    └─ c          └ (after the end)
    #    ├─ c (refused) ── a
    #    └─ x
    child, sibling, token = (
        [1, 2, 3, 4, 5, -1, -1, 8, -1, -1],
        [-1, 7, 6, -1, -1, -1, -1, 9, -1, -1],
        [99, A, B, C, STOP, A, C, C, A, X],
    )
    mask = np.full((10, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of(child, sibling, token), mask) is True
    rows = [bits(row) for row in mask]
    assert rows[0] == [A, AB, ABC, X]
    assert rows[1] == [B, C]
    assert rows[2] == [C]
    assert rows[3] == [STOP]
    assert rows[4] == []  # a stop token ends the text
    assert mask[5, 0] == UNTOUCHED  # below it
    assert rows[6] == [X]
    assert rows[7] == []  # refused
    assert mask[8, 0] == UNTOUCHED
    assert rows[9] == [STOP]
    assert matcher.n_steps == 0
    assert allowed(matcher) == rows[0]


def test_the_root_of_a_draft_tree_is_where_the_matcher_stands() -> None:
    matcher = matcher_of('root ::= "ab" "c"?')
    assert matcher.accept_token(AB)
    mask = np.full((1, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [-5]), mask)
    assert bits(mask) == [C, STOP]
    assert matcher.accept_token(STOP)
    mask = np.full((2, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, C]), mask)
    assert mask.tolist() == [[0], [UNTOUCHED]]
    assert matcher.is_terminated()


def test_a_draft_tree_goes_on_where_the_text_could_end() -> None:
    """Differs: XGrammar leaves such rows empty and visits nothing below."""
    matcher = matcher_of('root ::= ("a" "b")*', terminate_without_stop_token=True)
    mask = np.full((2, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, AB]), mask)
    assert [bits(row) for row in mask] == [[A, AB], [A, AB]]


@LIBRARIES
def test_draft_trees_in_other_arrays(zeros: Callable[..., Any]) -> None:
    matcher, tree, mask = matcher_of('root ::= "ab"*'), tree_of([1, -1], [-1, -1], [0, AB]), zeros(4, 3)
    if zeros is torch_mask:
        import torch

        arrays: list[Any] = [torch.from_numpy(a) for a in tree]
    else:
        arrays = list(tree)
    assert matcher.traverse_draft_tree(*arrays, mask[::2, 1:2])
    want = np.zeros((4, 3), np.int32)
    want[[0, 2], 1] = 1 << A | 1 << AB | 1 << STOP
    np.testing.assert_array_equal(np.asarray(mask), want)


def test_rows_of_a_draft_tree_where_all_is_allowed() -> None:
    matcher = matcher_of("root ::= [a-b]*", TokenizerInfo.from_tokens([b"a", b"b"]))
    mask = np.zeros((1, 1), np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [0]), mask)
    assert bits(mask) == [0, 1]


def test_unreachable_nodes_are_left_alone() -> None:
    matcher, mask = matcher_of('root ::= "ab"*'), np.full((4, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree_of([-1, -1, 3, 2], [-1, -1, -1, -1], [0, A, A, A]), mask)
    assert mask[1:, 0].tolist() == [UNTOUCHED] * 3


def test_a_deep_draft_tree() -> None:
    n = 20_000
    matcher = matcher_of('root ::= "[" root "]" | "a" root "b" | "x"')
    tree = tree_of([*range(1, n), -1], [-1] * n, [A] * n)
    mask = np.zeros((n, 1), np.int32)
    assert matcher.traverse_draft_tree(*tree, mask)
    assert (mask == mask[0]).all()
    assert matcher.n_steps == 0


def test_a_draft_tree_out_of_time() -> None:
    n = 50_000
    matcher = matcher_of('root ::= "a"*')
    tree = tree_of([*range(1, n), -1], [-1] * n, [A] * n)
    mask = np.full((n, 1), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree, mask, 1e-6) is False
    assert bits(mask[0]) == [A, STOP]
    assert mask[-1, 0] == UNTOUCHED
    assert (matcher.n_steps, allowed(matcher)) == (0, [A, STOP])
    for threshold in (0, -1.0, 100.0):
        assert matcher.traverse_draft_tree(*tree_of([-1], [-1], [0]), mask[:1], threshold) is True
    assert (
        matcher.traverse_draft_tree(*tree_of([1, -1], [-1, -1], [0, C]), mask[:2], time_threshold=100.0) is True
    )  # refused is in time


def test_temperatures_of_a_draft_tree() -> None:
    tree, mask = tree_of([1, -1], [-1, -1], [0, A]), np.zeros((2, 1), np.int32)
    out = np.zeros(2, np.float32)
    assert matcher_of('root ::= "ab"').traverse_draft_tree(*tree, mask, temperatures=out)
    assert out.tolist() == [-1, -1]
    assert matcher_of('root ::= "ab"', default_temperature=0.25).traverse_draft_tree(*tree, mask, temperatures=out)
    assert out[0] == 0.25
    with pytest.raises((RuntimeError, TypeError)):
        matcher_of('root ::= "ab"').traverse_draft_tree(*tree, mask, temperatures=np.zeros(3, np.float32))


GOOD = ([1, -1], [-1, -1], [0, A])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (([1, -1], [1, -1], [0, A]), "has a sibling"),
        (([7, -1], [-1, -1], [0, A]), r"retrieve_next_token\[0\] is 7; it must be -1 or a node below 2"),
        (([-2, -1], [-1, -1], [0, A]), r"retrieve_next_token\[0\] is -2"),
        (([1, -1], [-1, 5], [0, A]), r"retrieve_next_sibling\[1\] is 5"),
        (([1, 0], [-1, -1], [0, A]), "no tree"),
        (([1, 1], [-1, -1], [0, A]), "no tree"),
        (([1, -1, -1], [-1, 2, 2], [0, A, A]), "no tree"),
        (([1], [-1, -1], [0, A]), "one length"),
        (([1, -1], [-1, -1], [0]), "one length"),
        (([], [], []), "no node"),
    ],
)
def test_what_is_no_draft_tree(tree: tuple[list[int], list[int], list[int]], message: str) -> None:
    matcher = matcher_of('root ::= "ab"')
    with pytest.raises(psc.MatcherError, match=message):
        matcher.traverse_draft_tree(*tree_of(*tree), np.zeros((len(tree[2]), 1), np.int32))
    assert matcher.accept_token(AB)


def test_wrong_arrays_for_a_draft_tree() -> None:
    matcher, tree = matcher_of('root ::= "ab"'), tree_of(*GOOD)
    for mask in (
        np.zeros((1, 1), np.int32),
        np.zeros((3, 1), np.int32),
        np.zeros((2, 2), np.int32),
        np.zeros(1, np.int32),
        np.zeros((2, 1), np.int64),
    ):
        with pytest.raises(psc.BitmaskError):
            matcher.traverse_draft_tree(*tree, mask)
    mask = np.zeros((2, 1), np.int32)
    for wrong in (tree[0].astype(np.float64), tree[0].reshape(1, 2), GOOD[0], None):
        for at, name in enumerate(("retrieve_next_token", "retrieve_next_sibling", "draft_tokens")):
            arrays: list[Any] = [wrong if i == at else a for i, a in enumerate(tree)]
            with pytest.raises(TypeError, match=f"{name} must be an int64 array"):
                matcher.traverse_draft_tree(*arrays, mask)
    assert not mask.any()
    spread = np.full(4, 7, np.int64)
    spread[::2] = GOOD[0]
    # Differs: XGrammar does not look at strides, and refuses other integers.
    assert matcher.traverse_draft_tree(spread[::2], tree[1].astype(np.int32), tree[2], mask)
    assert [bits(row) for row in mask] == [[A, AB], [B]]


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), tokens=strategies.vocabularies(max_size=6), seed=st.integers(0, 2**16))
@bounded
def test_draft_trees_by_hand(language: str, data: st.DataObject, tokens: list[bytes], seed: int) -> None:
    matcher, rng = psc.GrammarMatcher(compiled_from(language, data, tokenizer(tokens))), random.Random(seed)
    for _ in range(5):
        check_tree(matcher, random_tree(rng, len(tokens) + 1), len(tokens) + 1)
        choices = [t for t in allowed(matcher) if t != len(tokens)]
        if choices:
            assert matcher.accept_token(rng.choice(choices))


if sys.platform == "linux":

    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
