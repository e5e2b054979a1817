"""The cache of a compiler alone, with stand-ins for grammars: one build for all threads, eviction by bytes, dropping, twins."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from vocabularies import byte_tokenizer

from psc.errors import CompilationCancelledError, GrammarError
from psc.grammars.cache import GrammarCache, Shared
from psc.support.cancellation import Cancellation

INFO = byte_tokenizer()


@dataclass(eq=False)
class Machine:
    bytes: int = 10
    table_bytes: int = 4
    is_broken: bool = False
    limits: list[int] = field(default_factory=list)

    def set_limit(self, limit: int) -> None:
        self.limits.append(limit)


@dataclass(eq=False)
class Compiled:
    _machine: Machine = field(default_factory=Machine)
    place: str = "grammar"


def cache_of(limit_bytes: int = -1) -> Any:
    """Untyped: the cache looks at no more of a grammar and its key than the stand-ins have."""
    return GrammarCache(limit_bytes, Shared(INFO, 0))


class Build:
    """Builds in a thread when it is let, and counts."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.n_calls = 0

    def __call__(self) -> Compiled:
        self.n_calls += 1
        self.begun.set()
        assert self.go.wait(60)
        return Compiled()


class Thread(threading.Thread):
    """A call in a thread, and how it ended."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._outcome: object = None
        self.start()

    def run(self) -> None:
        try:
            self._outcome = self._call()
        except BaseException as e:
            self._outcome = e

    @property
    def outcome(self) -> object:
        self.join(60)
        assert not self.is_alive()
        return self._outcome


def raising(error: BaseException) -> Callable[[], Compiled]:
    def build() -> Compiled:
        raise error

    return build


def waits(thread: Thread) -> None:
    """Until a thread waits for another one's future."""
    until = time.monotonic() + 60
    gc.disable()  # CPython 3.11 takes frames of threads that go on while it collects
    try:
        while time.monotonic() < until:
            frame = sys._current_frames().get(thread.ident or 0)
            while frame is not None:
                if frame.f_code.co_name == "result_unless_cancelled":
                    return
                frame = frame.f_back
            time.sleep(0.001)
    finally:
        gc.enable()
    raise AssertionError


def test_threads_that_want_the_same_share_one_build() -> None:
    cache, build = cache_of(), Build()
    threads = [Thread(lambda: cache.get_or_build("a", build)) for _ in range(6)]
    assert build.begun.wait(60)
    build.go.set()
    assert len({id(thread.outcome) for thread in threads}) == 1
    assert build.n_calls == 1
    assert cache.get_or_build("a", build) is threads[0].outcome


def test_an_error_is_that_of_all_who_wait_and_is_not_cached() -> None:
    cache, gate = cache_of(), Build()
    refused = GrammarError("no")
    first = Thread(lambda: cache.get_or_build("a", lambda: raising(refused)() if gate() else Compiled()))
    assert gate.begun.wait(60)
    second = Thread(lambda: cache.get_or_build("a", Compiled))
    waits(second)
    gate.go.set()
    assert first.outcome is refused
    assert second.outcome is refused
    assert len(cache) == 0
    assert isinstance(cache.get_or_build("a", Compiled), Compiled)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(1), CompilationCancelledError("off"), GeneratorExit()])
def test_an_end_that_is_one_threads_alone_lets_another_build(end: BaseException) -> None:
    cache, gate = cache_of(), Build()
    first = Thread(lambda: cache.get_or_build("a", lambda: raising(end)() if gate() else Compiled()))
    assert gate.begun.wait(60)
    others = [Thread(lambda: cache.get_or_build("a", Compiled)) for _ in range(3)]
    for other in others:
        waits(other)
    gate.go.set()
    assert first.outcome is end
    assert len({id(other.outcome) for other in others}) == 1
    assert isinstance(others[0].outcome, Compiled)
    assert cache.get_or_build("a", Compiled) is others[0].outcome


@pytest.mark.parametrize("step", ["_sound", "_evict", "_forget_twins"])
def test_an_interrupt_anywhere_leaves_no_future_unresolved(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = cache_of()
    whole = getattr(cache, step)

    def interrupted(*args: object) -> object:
        monkeypatch.setattr(cache, step, whole)
        whole(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, step, interrupted)

    def build() -> Compiled:
        if step == "_forget_twins":
            cache.drop_key("a")
        return Compiled()

    with pytest.raises(KeyboardInterrupt):
        cache.get_or_build("a", build)
    assert isinstance(Thread(lambda: cache.get_or_build("a", Compiled)).outcome, Compiled)


def test_waiting_can_be_called_off() -> None:
    cache, build, cancellation = cache_of(), Build(), Cancellation()
    first = Thread(lambda: cache.get_or_build("a", build))
    assert build.begun.wait(60)
    second = Thread(lambda: cache.get_or_build("a", Compiled, cancellation))
    waits(second)
    cancellation.cancel()
    assert isinstance(second.outcome, CompilationCancelledError)
    build.go.set()
    assert cache.get_or_build("a", Compiled) is first.outcome


def test_what_is_dropped_while_it_is_built_is_not_cached() -> None:
    cache, build = cache_of(), Build()
    first = Thread(lambda: cache.get_or_build("a", build))
    assert build.begun.wait(60)
    waiting = Thread(lambda: cache.get_or_build("a", Compiled))
    waits(waiting)
    cache.drop_key("a")
    newer = cache.get_or_build("a", Compiled)  # does not wait for what was dropped
    build.go.set()
    assert first.outcome is waiting.outcome is not newer
    assert cache.get_or_build("a", Compiled) is newer


def test_a_build_that_fails_after_it_was_dropped_leaves_the_newer_one() -> None:
    cache, gate = cache_of(), Build()
    first = Thread(lambda: cache.get_or_build("a", lambda: raising(GrammarError("no"))() if gate() else Compiled()))
    assert gate.begun.wait(60)
    cache.clear()
    newer = cache.get_or_build("a", Compiled)
    gate.go.set()
    assert isinstance(first.outcome, GrammarError)
    assert cache.get_or_build("a", Compiled) is newer


@pytest.mark.parametrize("dropped", ["key", "grammar", "nothing"])
def test_what_is_dropped_has_no_twins(dropped: str) -> None:
    cache = cache_of()
    one = cache.get_or_build("a", Compiled)
    twin, other = Compiled(one._machine), Compiled()
    for text, compiled in {"one": one, "twin": twin, "other": other}.items():
        cache.add_twin(text, compiled)
    if dropped == "key":
        cache.drop_key("a")
    elif dropped == "grammar":
        cache.drop(one)
    else:
        cache.drop(Compiled(one._machine))
        cache.drop_key("b")
    assert (cache.twin("one"), cache.twin("twin")) == ((one, twin) if dropped == "nothing" else (None, None))
    assert cache.twin("other") is other
    assert len(cache) == (dropped == "nothing")


def test_twins_live_as_long_as_one_is_used() -> None:
    cache = cache_of()
    one = Compiled()
    cache.add_twin("a", one)
    cache.clear()
    assert cache.twin("a") is one
    del one
    gc.collect()
    assert cache.twin("a") is None


def test_a_grammar_that_ran_out_of_memory_is_built_again_without_the_parts() -> None:
    cache = cache_of()
    parts = cache._shared.parts()
    broken = cache.get_or_build("a", Compiled)
    cache.add_twin("a", broken)
    assert cache._shared.parts() is parts
    broken._machine.is_broken = True
    assert cache.get_or_build("a", Compiled) is not broken
    assert cache.twin("a") is None
    assert cache._shared.parts() is not parts


def test_the_least_recently_used_go_first() -> None:
    cache = cache_of(35)
    names = "abc"
    built = {name: cache.get_or_build(name, Compiled) for name in names}
    assert cache.size_bytes == 30
    cache.get_or_build("a", Compiled)
    cache.get_or_build("d", Compiled)
    assert [name for name, _ in cache._compiled()] == ["c", "a", "d"]
    assert built["a"]._machine.limits[-1] == (35 - 3 * 4) // 3
    cache.trim(20)
    assert [name for name, _ in cache._compiled()] == ["a", "d"]
    cache.trim(0)
    assert [name for name, _ in cache._compiled()] == ["d"]  # one stays


def test_a_machine_is_freed_with_the_last_that_has_it() -> None:
    cache, machine = cache_of(), Machine()
    for name in "ab":
        cache.get_or_build(name, lambda: Compiled(machine))
    cache.get_or_build("c", Compiled)
    cache.get_or_build("d", Compiled)
    assert cache.size_bytes == 30
    cache.trim(29)
    assert [name for name, _ in cache._compiled()] == ["c", "d"]


def test_the_newest_is_evicted_last_and_a_limit_of_nothing_keeps_none() -> None:
    cache = cache_of(5)
    cache.get_or_build("a", Compiled)
    cache.get_or_build("b", Compiled)
    assert [name for name, _ in cache._compiled()] == ["b"]
    none = cache_of(0)
    assert none.get_or_build("a", Compiled)._machine.limits == [1]
    assert len(none) == 0


def test_what_is_being_built_is_not_evicted() -> None:
    cache, build = cache_of(5), Build()
    first = Thread(lambda: cache.get_or_build("a", build))
    assert build.begun.wait(60)
    cache.get_or_build("b", Compiled)
    assert len(cache) == 2
    build.go.set()
    assert isinstance(first.outcome, Compiled)
    assert [name for name, _ in cache._compiled()] == ["a"]


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_build_drop_trim_and_clear_at_once(frequent_switches: None) -> None:
    cache, until = cache_of(2000), time.monotonic() + 1.5
    held: list[Compiled] = []

    def build() -> Compiled:
        compiled = Compiled()
        held.append(compiled)
        cache.add_twin(str(len(held)), compiled)
        return compiled

    def use(number: int) -> None:
        for turn in itertools.takewhile(lambda _: time.monotonic() < until, itertools.count()):
            key = turn * 7 % 300
            if number < 2:
                assert isinstance(cache.get_or_build(key, build), Compiled)
            elif number == 2:
                cache.drop(cache.get_or_build(key, build))
            elif turn % 3 == 0:
                cache.drop_key(key)
            elif turn % 200 == 1:
                cache.clear()
            else:
                cache.trim(1000)
                cache.twin(str(turn))

    threads = [Thread(lambda number=number: use(number)) for number in range(4)]
    assert [thread.outcome for thread in threads] == [None] * 4
    assert len(cache) == len(cache._compiled())
