"""The façade that makes masks while the model runs: the same masks, joins and leaves, and what goes wrong."""

import random
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from small_grammars import compiled
from vocabularies import byte_tokenizer

from psc.decoding import DeferredGrammar, OverlappedMasks
from psc.errors import BitmaskError, MatcherError
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.runtime.compiled import GrammarMatcher
from psc.runtime.numpy_masks import MaskTable

JSON = compiled("json")
INFO = JSON.tokenizer_info
STOP = INFO.stop_token_ids[0]


def table() -> MaskTable:
    return MaskTable(INFO, max_bytes=1 << 20, max_batch=16)


def byte(character: str) -> int:
    return ord(character)


class HeldTable:
    """A table whose steps wait until they are let go: a step that is under way for as long as a test wants."""

    def __init__(self, table: MaskTable) -> None:
        self._table = table
        self.began = threading.Event()
        self.go = threading.Event()

    def step(self, matchers: Sequence[Any], tokens: Sequence[int] | None = None, *, stream: Any = None, into: Any = None) -> Any:
        self.began.set()
        assert self.go.wait(60)
        return self._table.step(matchers, tokens, stream=stream, into=into)


def test_same_masks_as_one_matcher_at_a_time() -> None:
    rng = random.Random(5)
    masks_table = table()
    names = ["json", "regex", "ebnf"]
    deferred = DeferredGrammar(compiled("json"), "=>")
    matchers = [GrammarMatcher(compiled(n)) for n in names]
    alone = [GrammarMatcher(compiled(n)) for n in names]
    free, free_alone = deferred.matcher(), deferred.matcher()
    n_constrained = 0
    with OverlappedMasks(masks_table, [*matchers, None, free]) as masks:
        masks.advance()
        for step in range(60):
            ready = masks.ready()
            assert ready.refused == []
            assert ready.ids[3] == -1
            tokens = []
            for place, matcher in [*enumerate(alone), (4, free_alone.matcher)]:
                if matcher is None or matcher.is_terminated():
                    assert ready.ids[place] == -1
                    tokens.append(-1 if matcher is not None else byte("=>"[step % 2]))
                    continue
                n_constrained += place == 4
                row = masks_table.rows[ready.ids[place]]
                np.testing.assert_array_equal(row, matcher.mask())
                tokens.append(int(rng.choice(matcher.allowed_tokens())))
            tokens.insert(3, 0)
            masks.advance(np.array(tokens))
            for place, reference in [*enumerate(alone), (4, free_alone)]:
                assert tokens[place] == -1 or reference.accept_token(tokens[place])
    assert n_constrained > 5


def test_refused_tokens_are_named_and_change_nothing() -> None:
    free = DeferredGrammar(JSON, "=>").matcher()
    assert free.accept_token(STOP)
    with OverlappedMasks(table(), [GrammarMatcher(JSON), GrammarMatcher(JSON), free]) as masks:
        masks.advance([byte("["), byte("]"), byte("a")])
        step = masks.ready()
        assert step.refused == [1, 2]
        assert [m.n_steps for m in masks.matchers if m is not None] == [1, 0, 1]
        masks.advance([byte("]"), byte("["), -1])
        assert masks.ready().refused == []


def test_sequences_join_and_leave() -> None:
    with OverlappedMasks(table()) as masks:
        masks.advance([])
        assert list(masks.ready().ids) == []
        assert masks.add(GrammarMatcher(JSON)) == 0
        assert masks.add(None) == 1
        masks.advance([-1, 5])
        assert (masks.ready().ids >= 0).tolist() == [True, False]
        old = masks.matchers[0]
        new = GrammarMatcher(JSON)
        assert masks.replace(0, new) is old
        assert masks.replace(0, new) is new
        assert masks.remove(1) is None
        assert len(masks) == 1
        masks.advance([byte("[")])
        assert masks.ready().refused == []
        assert new.n_steps == 1
        with pytest.raises(MatcherError, match="cannot follow two"):
            masks.add(new)
        with pytest.raises(MatcherError, match="not str"):
            masks.add("json")  # type: ignore[arg-type]
        for slot in (1, -1):
            with pytest.raises(MatcherError, match="no slot"):
                masks.remove(slot)


def test_while_a_step_is_under_way() -> None:
    held = HeldTable(table())
    matcher = GrammarMatcher(JSON)
    with OverlappedMasks(held, [matcher]) as masks:
        masks.advance([byte("[")])
        assert held.began.wait(60)
        assert not masks.is_ready
        attempts = (
            lambda: masks.advance([0]),
            lambda: masks.matchers,
            lambda: masks.add(None),
            lambda: masks.remove(0),
            lambda: masks.replace(0, None),
        )
        for attempt in attempts:
            with pytest.raises(MatcherError, match=r"under way.*ready\(\)"):
                attempt()
        held.go.set()
        masks.ready()
        assert masks.matchers == (matcher,)
        assert matcher.n_steps == 1


def test_a_matcher_that_was_used_meanwhile_is_noticed() -> None:
    matcher = GrammarMatcher(JSON)
    with OverlappedMasks(table(), [None, matcher]) as masks:
        masks.advance([-1, byte("[")])
        while not masks.is_ready:
            pass
        assert matcher.accept_token(byte("1"))
        with pytest.raises(MatcherError, match="matcher 1 was used between"):
            masks.ready()
        masks.advance([-1, byte("]")])
        assert masks.ready().refused == []


def test_errors_of_the_thread_come_out_of_ready() -> None:
    other = compile_just_in_time(Grammar.builtin_json_grammar(), byte_tokenizer())
    with OverlappedMasks(table(), [GrammarMatcher(JSON)]) as masks:
        place = masks.add(GrammarMatcher(other))
        masks.advance([byte("["), byte("[")])
        with pytest.raises(BitmaskError, match="another vocabulary"):
            masks.ready()
        masks.remove(place)
        masks.advance([byte("[")])  # nothing was accepted above
        assert masks.ready().refused == []


def test_wrong_calls() -> None:
    masks = OverlappedMasks(table(), [GrammarMatcher(JSON)])
    with pytest.raises(MatcherError, match=r"ready\(\) without advance\(\)"):
        masks.ready()
    with pytest.raises(MatcherError, match="2 tokens for a batch of 1"):
        masks.advance([1, 2])
    masks.close()
    masks.close()
    with pytest.raises(MatcherError, match="closed"):
        masks.advance()


def test_close_waits_for_the_step_and_ends_the_thread() -> None:
    held = HeldTable(table())
    matcher = GrammarMatcher(JSON)
    masks = OverlappedMasks(held, [matcher])
    masks.advance([byte("[")])
    assert held.began.wait(60)
    held.go.set()
    masks.close()
    assert matcher.n_steps == 1
    assert not [t for t in threading.enumerate() if t.name.startswith("psc-masks") and t.is_alive()]
    with pytest.raises(MatcherError, match="without"):
        masks.ready()


def test_tokens_are_copied() -> None:
    held = HeldTable(table())
    tokens = [byte("[")]
    with OverlappedMasks(held, [GrammarMatcher(JSON)]) as masks:
        masks.advance(tokens)
        tokens[0] = byte("]")
        held.go.set()
        assert masks.ready().refused == []
