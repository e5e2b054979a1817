"""Calls that have to build let go of the interpreter's lock, and only those; what several threads do to one grammar stays right.

The idea: with a switch interval of minutes the interpreter's lock changes hands only where its holder lets go. So what another
thread does between two statements was done while a call let go.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import psc

_JSON = """
root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (pair ("," pair)*)? "}"
pair ::= string ":" value
array ::= "[" (value ("," value)*)? "]"
string ::= "\\"" [a-zA-Z0-9 ]* "\\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
"""


@pytest.fixture(scope="module")
def tokenizer() -> psc.TokenizerInfo:
    rng = random.Random(5)
    tokens = {bytes([b]) for b in range(32, 127)}
    while len(tokens) < 4000:
        tokens.add("".join(rng.choice('abcdeXYZ0189 "{}[],:-.truefalsn') for _ in range(rng.randint(2, 6))).encode())
    return psc.TokenizerInfo([*sorted(tokens), b"</s>"], stop_token_ids=[len(tokens)])


def lazy(tokenizer: psc.TokenizerInfo) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(tokenizer, store=False, registry=False).compile_grammar(_JSON)


@pytest.fixture
def only_when_let_go() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    yield
    sys.setswitchinterval(before)


def others_ran_in(call: Callable[[], object]) -> bool:
    """Whether a thread that waits for nothing but the interpreter's lock ran while `call` did."""
    ran: list[None] = []
    started, go = threading.Event(), threading.Lock()
    go.acquire()

    def wait() -> None:
        started.set()
        with go:
            ran.append(None)

    other = threading.Thread(target=wait)
    other.start()
    started.wait()
    time.sleep(0.001)  # until it waits
    go.release()
    call()
    during = bool(ran)
    other.join()
    return during


def until(found: Callable[[], bool]) -> bool:
    """Again and again: whether the system gives the other thread a processor in time is up to the system."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found():
            return True
    return False


@pytest.mark.usefixtures("only_when_let_go")
def test_a_call_that_builds_lets_others_run(tokenizer: psc.TokenizerInfo) -> None:
    def first_mask() -> bool:
        return others_ran_in(psc.GrammarMatcher(lazy(tokenizer)).mask_row)

    def first_draft() -> bool:
        matcher = psc.GrammarMatcher(lazy(tokenizer))
        none = np.full(1, -1)
        bitmask = np.zeros((1, (tokenizer.vocab_size + 31) // 32), np.int32)
        return others_ran_in(lambda: matcher.traverse_draft_tree(none, none, np.zeros(1, np.int64), bitmask))

    assert until(first_mask)
    assert until(first_draft)


@pytest.mark.usefixtures("only_when_let_go")
def test_a_call_that_finds_everything_does_not(tokenizer: psc.TokenizerInfo) -> None:
    compiled = lazy(tokenizer)
    text = b'{"a": [1, 2.5, true'.replace(b" ", b"")
    matcher = psc.GrammarMatcher(compiled)

    def once() -> None:
        matcher.reset()
        for byte in text:
            matcher.mask_row()
            assert matcher.accept_string(bytes([byte]))

    once()
    assert not any(others_ran_in(once) for _ in range(20))


def mask_rows(compiled: psc.CompiledGrammar, text: bytes) -> list[bytes]:
    matcher = psc.GrammarMatcher(compiled)
    masks = []
    for byte in text:
        masks.append(matcher.mask().tobytes())
        assert matcher.accept_string(bytes([byte]))
    return [*masks, matcher.mask().tobytes()]


def random_texts(n: int) -> list[bytes]:
    rng = random.Random(11)

    def value(depth: int) -> str:
        kind = rng.randrange(5 if depth else 3)
        if kind == 3:
            return "{" + ",".join(f'"{rng.randrange(99)}":{value(depth - 1)}' for _ in range(rng.randint(0, 3))) + "}"
        if kind == 4:
            return "[" + ",".join(value(depth - 1) for _ in range(rng.randint(0, 3))) + "]"
        return rng.choice(["true", "null", "-12", "3.25", '"abc 1"', '""'])

    return [value(4).encode() for _ in range(n)]


@pytest.mark.parametrize("limit", [-1, 60_000], ids=["kept", "dropped now and then"])
def test_threads_that_build_one_grammar_get_the_masks_of_one_thread(tokenizer: psc.TokenizerInfo, limit: int) -> None:
    texts = random_texts(12)
    alone = lazy(tokenizer)
    expected = [mask_rows(alone, text) for text in texts]
    shared = psc.GrammarCompiler(tokenizer, store=False, registry=False, cache_limit_bytes=limit).compile_grammar(_JSON)
    failures: list[object] = []

    def follow(seed: int) -> None:
        try:
            for i in random.Random(seed).sample(range(len(texts)), len(texts)):
                if mask_rows(shared, texts[i]) != expected[i]:
                    failures.append(texts[i])
                _ = shared.memory_size_bytes
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=follow, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_calls_of_several_threads_on_one_matcher_take_turns(tokenizer: psc.TokenizerInfo) -> None:
    failures: list[object] = []
    for _ in range(5):
        matcher = psc.GrammarMatcher(lazy(tokenizer))
        matcher.accept_string("[")
        bitmask = np.zeros((2, (tokenizer.vocab_size + 31) // 32), np.int32)

        def use(own: psc.GrammarMatcher = matcher, out: np.ndarray = bitmask) -> None:
            batch = psc.BatchGrammarMatcher(2)
            try:
                for i in range(40):
                    kind = i % 5
                    if kind == 0:
                        own.accept_string("[")
                    elif kind == 1:
                        own.mask_row()
                    elif kind == 2:
                        own.fork().accept_string(bytearray(b"[true"))
                    elif kind == 3:
                        batch.batch_fill_next_token_bitmask([own, own], out)
                    else:
                        psc.BatchGrammarMatcher.batch_rollback([own], 1)
            except BaseException as e:
                failures.append(e)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert matcher.n_steps == 1  # each thread took back what it, or another, had read


_FORKS = """
import os, sys, threading, time
import psc
tokens = [bytes([b]) for b in range(32, 127)] + [f"{i:x}".encode() for i in range(256, 6000)]
tokenizer = psc.TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
compiler = psc.GrammarCompiler(tokenizer, store=False, registry=False)
for i in range(8):
    compiled = compiler.compile_grammar('root ::= "%d" [0-9a-f]* ([g-z] | root) [a-p]* "x"' % i)
    matcher = psc.GrammarMatcher(compiled)
    thread = threading.Thread(target=matcher.mask_row)
    thread.start()
    child = os.fork()
    if child == 0:
        psc.GrammarMatcher(compiled).mask_row()
        matcher.mask_row()
        os._exit(17)
    thread.join()
    end = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            os.kill(child, 9)
            sys.exit("the child waits for ever")
        time.sleep(0.001)
    assert os.waitstatus_to_exitcode(status) == 17, status
print("ok")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer's allocator is not made for forks")
def test_a_process_may_fork_while_a_thread_builds() -> None:
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKS], capture_output=True, text=True, timeout=300)
    assert ran.stdout == "ok\n", ran.stderr
