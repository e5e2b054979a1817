"""Every table of mask rows keeps what `psc.runtime.mask_table` promises: NumPy's, CuPy's on an emulated device, and JAX's."""

import importlib
import random
from typing import Any

import numpy as np
import pytest
from emulated_cuda import EmulatedDevice
from vocabularies import byte_tokenizer

import psc
from psc.decoding.overlap import OverlappedMasks
from psc.errors import BitmaskError, MatcherError
from psc.runtime.mask_table import MaskStep, MaskTable

INFO = byte_tokenizer()
COMPILER = psc.GrammarCompiler(INFO, store=False)
GRAMMARS = [
    COMPILER.compile_grammar('root ::= "{" ([a-z]+ ":" [0-9]{1,3} ","?)* root? "}"'),
    COMPILER.compile_grammar('root ::= ("x" | "y" root "z")+'),
]
ROW_BYTES = 4 * -(-INFO.vocab_size // 32)
N_SLOTS = 24


class Library:
    """A library's tables, and its arrays as NumPy sees them."""

    def __init__(self, name: str, devices: dict[int, EmulatedDevice]) -> None:
        self._module = importlib.import_module(f"psc.runtime.{name}_masks")
        self._devices = devices

    def table(self) -> MaskTable:
        table: MaskTable = self._module.MaskTable(INFO, max_bytes=N_SLOTS * ROW_BYTES, max_batch=4)
        return table

    def host(self, array: Any) -> Any:
        for device in self._devices.values():
            device.current.synchronize()
        return np.array(array)

    def mask(self, table: MaskTable, step: MaskStep, i: int) -> list[int]:
        step.wait()
        mask: list[int] = self.host(table.rows)[self.host(step.ids)[i]].tolist()
        return mask


@pytest.fixture(params=["numpy", "cupy", "jax"])
def library(request: pytest.FixtureRequest, emulated: dict[int, EmulatedDevice]) -> Library:
    if request.param == "jax":
        pytest.importorskip("jax")
    return Library(request.param, emulated)


def a_token(matcher: psc.GrammarMatcher, rng: random.Random) -> int:
    going_on = [int(t) for t in matcher.allowed_tokens() if t not in INFO.stop_token_ids]
    return rng.choice(going_on) if going_on else -1


def test_a_step_finds_each_matchers_mask(library: Library) -> None:
    table, rng = library.table(), random.Random(7)
    first, second = (psc.GrammarMatcher(g) for g in GRAMMARS)
    step = table.step([first, None, second])
    for n in range(1, 60):
        assert step.number == n and list(step.refused) == []
        assert library.host(step.ids)[1] == -1
        assert library.mask(table, step, 0) == first.mask().tolist()
        assert library.mask(table, step, 2) == second.mask().tolist()
        step = table.step([first, None, second], [a_token(first, rng), -1, a_token(second, rng)])
    assert 0 < table.n_used <= table.n_slots == N_SLOTS
    assert table.nbytes >= N_SLOTS * ROW_BYTES


def test_a_refused_token_changes_nothing(library: Library) -> None:
    table, matchers = library.table(), [psc.GrammarMatcher(g) for g in GRAMMARS]
    before = matchers[1].mask().tolist()
    step = table.step(matchers, [ord("{"), ord("{")])
    assert list(step.refused) == [1]
    assert library.mask(table, step, 1) == before == matchers[1].mask().tolist()
    assert library.mask(table, step, 0) == matchers[0].mask().tolist()


def test_one_table_follows_another(library: Library) -> None:
    leading, following = library.table(), library.table()
    matchers, rng = [psc.GrammarMatcher(g) for g in GRAMMARS], random.Random(3)
    step = leading.step(matchers)
    for _ in range(20):
        update = step.update()
        followed = following.apply_update(update)
        for i, matcher in enumerate(matchers):
            assert library.mask(following, followed, i) == matcher.mask().tolist()
        step = leading.step(matchers, [a_token(m, rng) for m in matchers])
    with pytest.raises(BitmaskError, match="in order"):
        following.apply_update(update)
    with pytest.raises(BitmaskError, match="follows another"):
        following.step(matchers)


def test_masks_along_drafts(library: Library) -> None:
    """Against forks that accept the drafts one by one; some drafts are wrong, some matchers are missing."""
    leading, following, rng = library.table(), library.table(), random.Random(11)
    for _ in range(30):
        matchers: list[psc.GrammarMatcher | None] = [
            psc.GrammarMatcher(rng.choice(GRAMMARS)) if rng.random() < 0.8 else None for _ in range(2)
        ]
        drafts: list[list[int]] = []
        expected: list[list[int] | None] = []
        refused: list[int] = []
        for matcher in matchers:
            if matcher is None:
                drafts.append([ord("x")])
                expected += [None, None]
                continue
            for _ in range(rng.randint(0, 6)):
                matcher.accept_token(a_token(matcher, rng))
            fork, tokens = matcher.fork(), []
            expected.append(None if fork.is_terminated() else fork.mask().tolist())
            for _ in range(rng.randint(0, 1)):
                going_on = a_token(fork, rng)
                tokens.append(rng.choice([going_on, ord("?"), int(rng.choice(fork.allowed_tokens()))]))
                if fork.accept_token(tokens[-1]):
                    expected.append(None if fork.is_terminated() else fork.mask().tolist())
                else:
                    refused.append(len(expected) - 1)
                    expected.append(expected[-1])
            drafts.append(tokens)
        before = [m and m.n_steps for m in matchers]
        step = leading.step_along(matchers, drafts)
        assert list(step.refused) == refused
        assert before == [m and m.n_steps for m in matchers]
        followed = following.apply_update(step.update())
        for table, made in ((leading, step), (following, followed)):
            made.wait()
            ids = library.host(made.ids)
            assert [None if i < 0 else library.host(table.rows)[i].tolist() for i in ids] == expected


def test_many_drafts(library: Library) -> None:
    """A draft that is refused in the middle: what follows it repeats the mask before it."""
    table, matcher = library.table(), psc.GrammarMatcher(GRAMMARS[1])
    step = table.step_along([matcher], [[ord("x"), ord("?"), ord("x")]])
    assert list(step.refused) == [1]
    first, second, *rest = library.host(step.ids).tolist()
    assert first != second and rest == [second, second]
    with pytest.raises(MatcherError, match="lists of drafts"):
        table.step_along([matcher], [])
    with pytest.raises(BitmaskError, match="max_batch"):
        table.step_along([matcher], [[ord("x")] * 4])


def test_what_it_refuses(library: Library) -> None:
    table, matchers = library.table(), [psc.GrammarMatcher(g) for g in GRAMMARS]
    with pytest.raises(MatcherError, match="tokens"):
        table.step(matchers, [1])
    with pytest.raises(BitmaskError, match="max_batch"):
        table.step([None] * 5)
    other = psc.GrammarCompiler(psc.TokenizerInfo(["a", "b", "</s>"]), store=False).compile_grammar('root ::= "a"')
    with pytest.raises(BitmaskError, match="vocabulary"):
        table.step([psc.GrammarMatcher(other)])
    with pytest.raises(BitmaskError, match="into="):
        table.step(matchers, into=[0, 0])
    assert table.step(matchers).number == 1


def test_overlapped_masks_take_it(library: Library) -> None:
    table, rng = library.table(), random.Random(5)
    alone = [psc.GrammarMatcher(g) for g in GRAMMARS]
    with OverlappedMasks(table, [m.fork() for m in alone]) as masks:
        tokens = None
        for _ in range(20):
            masks.advance(tokens)
            ready = masks.ready()
            rows, ids = library.host(table.rows), library.host(ready.ids)
            for i, matcher in enumerate(alone):
                assert rows[ids[i]].tolist() == matcher.mask().tolist()
            tokens = [a_token(m, rng) for m in alone]
            for matcher, token in zip(alone, tokens, strict=True):
                assert token == -1 or matcher.accept_token(token)
