"""One compilation that is interrupted, forked over or entered again leaves nobody waiting: single cases of fuzz/accidents.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from vocabularies import byte_tokenizer

import psc
from psc import _core
from psc.adapters.sequences import _distinguishing_columns
from psc.compiler.pipeline.stored_tables import to_arrays
from psc.grammars.cache import GrammarCache
from psc.support import threads
from psc.support.forks import new_lock
from psc.support.pending import Pending, _Ends

INFO = byte_tokenizer()
EBNF = 'root ::= "a" [b-d]*'


def in_thread(call: Callable[[], object]) -> object:
    """What a call gives on another thread, within half a minute."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(30)
    assert results, "it waits for ever"
    return results[0]


def line_of(code: CodeType, text: str) -> tuple[CodeType, int]:
    """The first line of a function that has this text."""
    lines = Path(code.co_filename).read_text().splitlines()
    return code, next(i for i, found in enumerate(lines, 1) if i > code.co_firstlineno and found.strip() == text)


MAKING = GrammarCache.get_or_build.__code__
REGISTERING = GrammarCache._registered.__code__
BUILDING = GrammarCache._built.__code__
IN_THE_FINALLY = line_of(_Ends.__exit__.__code__, "if not self._pending.is_over:")


@pytest.mark.parametrize("again", [False, True], ids=["once", "and in the finally"])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (MAKING, "mine: _Pending = Pending()"),
        (MAKING, "with mine.making:"),
        (MAKING, "entry = self._registered(key, mine)"),
        (REGISTERING, "entry = self._entries[key] = mine"),
        (REGISTERING, "return entry"),
        (MAKING, "if entry is mine:"),
        (MAKING, "return self._built(key, mine, build)"),
        (BUILDING, "with mine.ends(self._drop_entry, key):"),
        (BUILDING, "compiled = build()"),
        (BUILDING, "if self._entries.get(key) is mine:"),
        (BUILDING, "mine.set(compiled)"),
        (BUILDING, "return compiled"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_interrupt_at_a_line(code: CodeType, text: str, again: bool) -> None:
    """With `again` a second one comes in the `finally`, which then does nothing."""
    compiler = psc.GrammarCompiler(INFO, store=False, registry=False)
    where = line_of(code, text)
    fired: list[tuple[CodeType, int]] = []

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        here = frame.f_code, frame.f_lineno
        if event == "line" and (here == where or (fired and again and here == IN_THE_FINALLY)):
            fired.append(here)
            if not again or len(fired) > 1:
                sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    kept = None  # with its frames
    sys.settrace(trace)
    try:
        compiler.compile_grammar(EBNF)
    except KeyboardInterrupt as e:
        kept = e
    finally:
        sys.settrace(None)
    assert fired and kept is not None
    assert isinstance(in_thread(lambda: compiler.compile_grammar(EBNF)), psc.CompiledGrammar)
    assert isinstance(compiler.compile_grammar(EBNF), psc.CompiledGrammar)
    assert not _core.obeys()


@pytest.mark.parametrize(
    "call",
    [
        lambda: to_arrays(psc.Grammar.from_lark('start: "a" X\nX: /[b-d]+/').tables()),
        lambda: _distinguishing_columns(np.array([[1, 2], [1, 3], [2, 2], [2, 2]]), 2, range(2)),
    ],
    ids=["tables", "columns of ids"],
)
def test_an_interrupt_within_numpy(call: Callable[[], object]) -> None:
    """It is raised from each line of NumPy's, whose C code calls Python and may give another error."""
    call()  # what is imported and kept is so now
    seen = raises_at = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal seen
        if event == "line" and "numpy" in frame.f_code.co_filename:
            seen += 1
            if seen == raises_at:
                raise KeyboardInterrupt
        return trace

    def n_lines() -> int:
        nonlocal seen
        seen = 0
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(None)
        return seen

    n = n_lines()
    assert n > 0
    while raises_at < n:
        raises_at += 1
        with pytest.raises(KeyboardInterrupt):
            n_lines()


@pytest.mark.parametrize(
    ("error", "handed_over"),
    [
        (KeyError("x"), True),
        (psc.CompilationCancelledError("x"), False),
        (KeyboardInterrupt(), False),
        (SystemExit(1), False),
        (None, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_block_that_makes_a_result(error: BaseException | None, handed_over: bool) -> None:
    """It is left with an error, or with no result at all: who waits gets the error, or makes the result."""
    mine: Pending[int] = Pending(threading.Thread())
    registered: dict[str, Pending[int]] = {"key": mine}
    unregister: Callable[[str, Pending[int]], object] = lambda key, pending: registered.pop(key) is pending  # noqa: E731
    with nullcontext() if error is None else pytest.raises(type(error)), mine.ends(unregister, "key"):
        if error is not None:
            raise error
    assert not registered and mine.is_over
    with pytest.raises(KeyError) if handed_over else nullcontext():
        assert mine.wait(lambda: None, 10) is None


def test_a_block_that_has_made_a_result() -> None:
    mine: Pending[int] = Pending(threading.Thread())
    registered = {"key": mine}
    with pytest.raises(KeyError), mine.ends(lambda key, pending: registered.pop(key), "key"):
        mine.set(3)
        raise KeyError("afterwards")
    assert registered == {"key": mine} and mine.wait(lambda: None, 10) == 3


def test_a_handler_that_compiles_the_text_which_it_interrupted() -> None:
    compiler = psc.GrammarCompiler(INFO, store=False, registry=False)
    inner: list[psc.CompiledGrammar] = []

    def handle(number: int, frame: FrameType | None) -> None:
        inner.append(compiler.compile_grammar(EBNF))

    def build() -> psc.CompiledGrammar:
        signal.raise_signal(signal.SIGUSR1)
        return made(EBNF)

    made = psc.GrammarCompiler(INFO, store=False, registry=False).compile_grammar
    before = signal.signal(signal.SIGUSR1, handle)
    whole = compiler._build
    compiler._build = lambda job: (setattr(compiler, "_build", whole), build())[1]  # type: ignore[method-assign]
    try:
        assert compiler.compile_grammar(EBNF) is not None
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(inner) == 1


_WAITS_WHILE_GARBAGE_IS_COLLECTED = """
import gc, sys, threading
import psc

def deep(n):
    if n:
        deep(n - 1)
    else:
        entered.set()
        go.wait(30)

def make(job):
    deep(200)
    left.set()
    back.wait(30)
    return whole(job)

def collected(phase, info):
    global collections
    frame = sys._getframe().f_back
    if phase == "start" and frame is not None and frame.f_code.co_filename.endswith("pending.py"):
        collections += 1
        if collections == last:
            go.set()
            left.wait(30)

compiler = psc.GrammarCompiler(psc.TokenizerInfo([b"a", b"</s>"], stop_token_ids=[1]), store=False, registry=False)
whole = compiler._build
compiler._build = make
gc.callbacks.append(collected)
for last in range(1, 8):
    entered, go, left, back = (threading.Event() for _ in range(4))
    collections, text = 0, f'root ::= "a"{{{last}}}'
    maker = threading.Thread(target=compiler.compile_grammar, args=(text,), daemon=True)
    maker.start()
    assert entered.wait(30)
    timers = [threading.Timer(after, event.set) for after, event in ((0.3, go), (0.6, back))]
    for timer in timers:
        timer.start()
    gc.set_threshold(1)
    compiler.compile_grammar(text)
    gc.set_threshold(700)
    maker.join(30)
print("waited")
"""


def test_who_waits_while_garbage_is_collected() -> None:
    """CPython 3.11 collects while it makes the frames of other threads, which go on meanwhile: those that wait look at none."""
    ran = subprocess.run(
        [sys.executable, "-c", _WAITS_WHILE_GARBAGE_IS_COLLECTED], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "waited\n"), ran.stderr[-3000:]


def test_a_flag_that_a_block_never_left_lives_no_longer_than_the_block() -> None:
    block = _core.Obeying(_core.Cancellation())
    block.__enter__()
    assert _core.obeys()
    outer = _core.Obeying(None)
    outer.__enter__()
    del block
    assert not _core.obeys()
    outer.__exit__(None, None, None)
    assert not _core.obeys()


def status_of(child: int) -> int:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child waits for ever")


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads, from Python 3.12 on
forks = pytest.mark.skipif(not hasattr(os, "fork") or "PSC_SANITIZED" in os.environ, reason="no fork, or not for forks")


@forks
@pytest.mark.parametrize("what", ["schema", "lock", "finish", "pending"])
def test_a_fork_beside_a_thread(what: str, tmp_path: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=False)
    entered, go = threading.Event(), threading.Event()

    def resolver(uri: str) -> str:
        entered.set()
        go.wait(30)
        return json.dumps({"type": "integer"})

    lock = new_lock()
    pending: list[Pending[int]] = []

    def hold() -> None:
        with lock:
            entered.set()
            go.wait(30)

    def make() -> None:
        mine: Pending[int] = Pending()
        with mine.making:
            pending.append(mine)
            entered.set()
            go.wait(30)

    schema = {"$ref": "http://x/a"}
    calls: dict[str, Callable[[], object]] = {
        "schema": lambda: compiler.compile_json_schema(schema, resolver=resolver),
        "lock": hold,
        "finish": entered.set,
        "pending": make,
    }
    future = compiler.finish(compiler.compile_grammar(EBNF + ' | [e-z]{1,200} "!" [a-m]{1,300}'))
    thread = threading.Thread(target=calls[what], daemon=True)
    thread.start()
    assert entered.wait(30)
    child = os.fork()
    if child == 0:
        try:
            if what == "schema":
                compiler.compile_json_schema(schema, resolver=lambda uri: '{"type": "integer"}')
            elif what == "lock":
                assert lock.acquire(timeout=10)
            elif what == "finish":
                error = future.exception(10)
                assert error is None or isinstance(error, psc.CompilationCancelledError)
            else:
                assert pending[0].wait(lambda: None, 10) is None
            os._exit(17)
        finally:
            os._exit(2)
    assert status_of(child) == 17
    go.set()
    thread.join(30)
    assert future.result(60).is_file()


@forks
def test_a_resolver_that_forks() -> None:
    """The call that it is in does not hold up its own fork, and goes on in both processes."""
    children = []

    def resolver(uri: str) -> str:
        children.append(os.fork())
        return '{"type": "integer"}'

    try:
        compiled = psc.GrammarCompiler(INFO, store=False, registry=False).compile_json_schema(
            {"$ref": "http://x/a"}, resolver=resolver
        )
        right = psc.GrammarMatcher(compiled).accept_string("12")
    finally:
        if children and children[0] == 0:
            os._exit(17)
    assert right
    assert status_of(children[0]) == 17


@forks
def test_forks_of_the_thread_that_makes() -> None:
    """It goes on in the child, so others wait for it there; but not where another thread of the child forks again."""
    mine: Pending[int] = Pending()

    def is_waited_for() -> bool:
        try:
            return mine.wait(lambda: None, 0.1) is not None
        except TimeoutError:
            return True

    with mine.making:
        child = os.fork()
        if child == 0:
            try:
                waited = in_thread(is_waited_for)
                status = in_thread(lambda: status_of(os.fork() or os._exit(1 if is_waited_for() else 17)))
                os._exit(17 if waited and status == 17 else 1)
            finally:
                os._exit(2)
    assert status_of(child) == 17


@forks
def test_a_child_drops_a_batch_whose_threads_it_has_not() -> None:
    compiler = psc.GrammarCompiler(INFO, store=False, registry=False)
    matchers = [psc.GrammarMatcher(compiler.compile_grammar(f'root ::= "a"* "{i}"')) for i in range(40)]
    batch = psc.BatchGrammarMatcher(max_threads=3)

    def masks() -> bytes:
        bitmask = psc.allocate_token_bitmask(len(matchers), INFO.vocab_size)
        batch.batch_fill_next_token_bitmask(matchers, bitmask)
        return bytes(np.asarray(bitmask).tobytes())

    expected = masks()
    child = os.fork()
    if child == 0:
        try:
            equal = masks() == expected
            del batch
            os._exit(17 if equal else 1)
        finally:
            os._exit(2)
    assert status_of(child) == 17
    assert masks() == expected


def test_the_end_waits_for_threads_that_begin() -> None:
    """CPython frees the state of a thread that was started and has not begun when the interpreter goes."""
    starts = threads._Starts()
    begun, slow = threading.Event(), threading.Thread(target=lambda: None, daemon=True)
    start = slow.start

    def start_late() -> None:
        begun.set()
        time.sleep(0.1)
        start()

    slow.start = start_late  # type: ignore[method-assign]
    starter = threading.Thread(target=starts.start, args=(slow,), daemon=True)
    starter.start()
    assert begun.wait(30)
    starts.end()
    assert slow.ident is not None  # it has begun
    with pytest.raises(RuntimeError, match="the program ends"):
        starts.start(threading.Thread(target=lambda: None, daemon=True))


def test_nothing_is_finished_once_the_program_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = psc.GrammarCompiler(INFO, store=tmp_path, registry=False)
    compiled = compiler.compile_grammar(EBNF)
    monkeypatch.setattr(threads._STARTS, "_ended", True)
    with pytest.raises(psc.CompilationCancelledError, match="the program ends"):
        compiler.finish(compiled).result(30)
    monkeypatch.undo()
    assert compiler.finish(compiled).result(30).is_file()
