"""The thread that builds what nobody has asked for yet: in turn, to the end, and never in the way."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.grammars.warming import IDLE_S, Warmer, masks_ahead


class Owner:
    """What work is for."""


def pieces(done: list[str], name: str, n: int) -> Iterator[None]:
    for _ in range(n):
        done.append(name)
        yield


def test_in_turn_and_to_the_end() -> None:
    warmer, owner, done, go = Warmer(), Owner(), list[str](), threading.Event()

    def first() -> Iterator[None]:
        go.wait(30)
        yield

    started = warmer.add(owner, first(), "first")
    both = [warmer.add(owner, pieces(done, name, 3), name) for name in "ab"]
    assert not both[1].wait(0) and not started.is_over
    go.set()
    assert all(work.wait(30) for work in both)
    assert "".join(done) == "ababab"
    again = warmer.add(owner, pieces(done, "c", 1), "c")  # by another thread, where the first has ended
    assert again.wait(30) and done[-1] == "c"


def test_one_thread_does_what_comes_within_a_second() -> None:
    warmer, owner, threads = Warmer(), Owner(), list[int]()

    def named() -> Iterator[None]:
        threads.append(threading.get_native_id())
        yield

    for _ in range(3):
        assert warmer.add(owner, named(), "named").wait(30)
    assert len(threads) == 3 and len(set(threads)) == 1
    began = time.monotonic()
    warmer.end()
    assert time.monotonic() - began < IDLE_S / 2  # it is woken, and not waited for


def test_the_work_ends_with_what_it_is_for() -> None:
    warmer, owner, go = Warmer(), Owner(), threading.Event()

    def endless() -> Iterator[None]:
        go.set()
        while True:
            yield

    work = warmer.add(owner, endless(), "endless")
    assert go.wait(30) and not work.is_over
    del owner
    gc.collect()
    assert work.wait(30)


def test_an_error_is_told_to_who_looks_for_faults(caplog: pytest.LogCaptureFixture) -> None:
    warmer, owner = Warmer(), Owner()

    def fails() -> Iterator[None]:
        yield
        raise MemoryError("no room")

    with caplog.at_level(logging.DEBUG, "psc.warming"):
        assert warmer.add(owner, fails(), "some grammar").wait(30)
        assert warmer.add(owner, pieces([], "b", 1), "b").wait(30)
    assert [(r.levelname, r.getMessage().partition(":")[0]) for r in caplog.records] == [("DEBUG", "some grammar")]


def test_nothing_is_begun_at_the_end() -> None:
    warmer, owner, began = Warmer(), Owner(), threading.Event()

    def endless() -> Iterator[None]:
        while True:
            began.set()
            yield

    work = warmer.add(owner, endless(), "endless")
    assert began.wait(30)
    warmer.end()
    assert work.wait(30)
    assert warmer.add(owner, endless(), "later").wait(30)


GRAMMARS = {"json": '{"a": [1, null]}', "calls": "f(x, g(y))"}
CALLS = """
root ::= name "(" (root ", ")* name (", " root)* ")" | name
name ::= [a-z]+
"""


def compiled(name: str, **options: int) -> psc.CompiledGrammar:
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False, registry=False, **options)
    return compiler.compile_builtin_json_grammar() if name == "json" else compiler.compile_grammar(CALLS)


@pytest.mark.parametrize("name", GRAMMARS)
def test_first_masks_are_built_ahead(name: str) -> None:
    """As many as are asked for, the first of them first; a matcher finds it, and all masks are what they are without."""
    one, few, none = compiled(name, masks_ahead=1), compiled(name, masks_ahead=4), compiled(name)
    assert one.wait_until_warm(60) and few.wait_until_warm(60) and none.wait_until_warm(0)
    counts = [c._machine.counts()["visited_lexer_states"] for c in (none, one, few)]
    assert counts[:2] == [0, 1] and 1 < counts[2] <= 4
    built = one._machine.counts()
    matchers = [psc.GrammarMatcher(c) for c in (one, few, none)]
    assert matchers[0].mask().tobytes() == matchers[2].mask().tobytes()
    assert one._machine.counts() == built
    for byte in GRAMMARS[name].encode():
        masks = {m.mask().tobytes() for m in matchers}
        assert len(masks) == 1
        assert all(m.accept_token(byte) for m in matchers)


def test_what_is_built_ahead_does_not_keep_its_grammar() -> None:
    grammar = compiled("json")
    pieces, gone = masks_ahead(grammar._machine, 100), weakref.ref(grammar)
    next(pieces)
    del grammar
    gc.collect()
    assert gone() is None
    next(pieces)


def test_no_more_is_built_ahead_than_half_of_a_limit() -> None:
    limit = compiled("json", masks_ahead=1)
    assert limit.wait_until_warm(60)
    bounded = compiled("json", masks_ahead=100, cache_limit_bytes=limit._machine.cache_bytes * 2)
    assert bounded.wait_until_warm(60)
    assert bounded._machine.counts()["visited_lexer_states"] <= 2
    everything = compiled("json", masks_ahead=100)
    assert everything.wait_until_warm(60)
    assert everything._machine.counts()["visited_lexer_states"] > 4


def test_numbers_of_masks_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"masks_ahead=-1; it must be 0"):
        compiled("json", masks_ahead=-1)


_FORKS = """
import os, sys, threading
import psc
from vocabularies import byte_tokenizer
from psc.grammars.warming import WARMER

def run(child, name):
    pid = os.fork()
    if pid == 0:
        os._exit(17 if child() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17, name

# Between two pieces: the child has no thread, knows that the work is over, and can have work of its own.
class Owner: pass
owner, began = Owner(), threading.Event()
def endless():
    while True:
        began.set()
        yield
work = WARMER.add(owner, endless(), "endless")
assert began.wait(30)
interval = sys.getswitchinterval()
sys.setswitchinterval(1e-6)  # the forks come between any two statements of the thread
for i in range(300):
    run(lambda: work.is_over, i)
sys.setswitchinterval(interval)
run(lambda: work.is_over and WARMER.add(owner, iter([None]), "own").wait(30), "endless")
assert not work.is_over
del owner
assert work.wait(30)

# While masks are built: nobody has a lock of the core in the child.
for i in range(8):
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False, registry=False, masks_ahead=1000)
    compiled = compiler.compile_grammar('root ::= "%d" [0-9a-f]* ([g-z] | root) [a-p]* "x"' % i)
    run(lambda: psc.GrammarMatcher(compiled).mask_row() >= 0 and compiled.wait_until_warm(0), i)
    assert compiled.wait_until_warm(60)
print("ok")
"""

_ENDS = """
from psc.grammars.warming import WARMER
class Owner: pass
def endless():
    while True:
        sum(range(1000))
        yield
owner = Owner()
WARMER.add(owner, endless(), "endless")
print("ok")
"""


# A thread that begins or ends meanwhile may hold a lock of GCC's sanitizer, whose allocator does not look after forks.
_NO_FORKS = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer's allocator is not made for forks")


@pytest.mark.parametrize("program", [pytest.param(_FORKS, id="forks", marks=_NO_FORKS), pytest.param(_ENDS, id="ends")])
def test_a_program_that_does_so_meanwhile(program: str) -> None:
    path = os.pathsep.join([*(p for p in sys.path if p), str(Path(__file__).parents[1] / "support")])
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=300)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ok\n", "")
