"""Work that nobody waits for yet: a thread builds what the first requests will ask for.

A process has one such thread at most, while there is something to build and a second longer. It works in pieces, on one grammar
after the other in turn. A piece is some rows of an artifact, or one mask of a grammar that is built just in time. It takes the
machine's lock for each row, or each walk over the vocabulary, anew, and rows pause while any thread waits for a lock. So nobody
stands behind more than one row or one walk.

A fork waits for the native call of a piece. The child begins without a thread, and without the work. When the program ends, the
thread ends with its piece. When a grammar is dropped, so is its work. An error ends a grammar's work and is logged for debugging: a
later request for the same gets the error then.

Cost: `_thread.start_new_thread` where none runs, some 50 us; else waking it, a tenth of that.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator

from psc._core import GrammarMatcher, Machine, MatcherView, WarmRows, has_room_in_advance
from psc.support.forks import in_child

PIECE_S = 0.001
"""Processor time after which a piece of rows ends."""
IDLE_S = 1.0
"""How long the thread waits for more work before it ends."""
MAX_S = 1.0
"""Processor time after which nothing more is begun for a grammar."""
MAX_BYTES = 64 << 20
"""What a machine may have built when no more is built in advance; or half of its limit, where that is less."""

_log = logging.getLogger("psc.warming")


class Warming:
    """The work for one grammar."""

    def __init__(self, of: object, pieces: Iterator[None], name: str) -> None:
        self._of = weakref.ref(of)
        self._pieces = pieces
        self._name = name
        self.is_over = False

    def step(self) -> bool:
        """Does a piece. Returns whether there may be more."""
        if self._of() is None:
            return False
        try:
            next(self._pieces)
        except StopIteration:
            return False
        except Exception:
            _log.debug("%s: psc cannot build masks in advance", self._name, exc_info=True)
            return False
        return True

    def wait(self, timeout_s: float | None) -> bool:
        """Waits until the work is over. Returns whether it is."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.is_over and (end is None or time.monotonic() < end):
            time.sleep(PIECE_S)
        return self.is_over


class Warmer:
    """The thread, and what it has to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)  # there is work, or the end has come
        # A fork finds each work in at least one of the two, whatever statement the thread was in: `in_child` says that it is over.
        self._todo: deque[Warming] = deque()
        self._now: Warming | None = None  # what a piece is done of
        self._runs = False
        self._ended = False

    def add(self, of: object, pieces: Iterator[None], name: str) -> Warming:
        """Has pieces done on the thread.

        Args:
            of: the work ends when this is dropped, so the pieces must not hold it.
            pieces: does a piece of the work at each step.
            name: for the log.
        """
        work = Warming(of, pieces, name)
        with self._lock:
            self._todo.append(work)
            if self._runs:
                self._more.notify()
            elif not self._ended:
                try:
                    _thread.start_new_thread(self._run, ())
                    self._runs = True
                except RuntimeError as e:  # too many threads, or the interpreter is going
                    _log.debug("%s: no thread builds in advance: %s", name, e)
            if not self._runs:
                self._drop()
        return work

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._todo and not self._ended:
                    self._more.wait(IDLE_S)
                if self._ended:
                    self._drop()
                if not self._todo:
                    self._runs = False
                    return
                work = self._now = self._todo[0]
                self._todo.popleft()
            more = work.step()
            with self._lock:
                if more:
                    self._todo.append(work)
                else:
                    work.is_over = True
                self._now = None
            del work

    def _drop(self) -> None:
        for work in self._todo:
            work.is_over = True
        self._todo.clear()

    def end(self) -> None:
        """No piece is begun any more. Returns when the thread has ended, or after a second."""
        with self._lock:
            self._ended = True
            self._more.notify()
        last = time.monotonic() + 1
        while self._runs and time.monotonic() < last:
            time.sleep(PIECE_S / 10)

    def in_child(self) -> None:
        """After a fork: the thread is not there, and what it had to do is not done."""
        self._lock, self._runs = threading.Lock(), False
        self._more = threading.Condition(self._lock)
        if self._now is not None:
            self._now.is_over = True
            self._now = None
        self._drop()
        while _set_back:
            machine, most_read = _set_back.popitem()[1]
            machine.most_read = most_read


_set_back: dict[int, tuple[Machine, int]] = {}
"""Machines that have another ``most_read`` while a mask is built ahead, by their ids."""
WARMER = Warmer()
atexit.register(WARMER.end)
in_child(WARMER.in_child)


class _Alone:
    """What a matcher asks of a compiled grammar, without keeping the grammar."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine


def masks_ahead(machine: Machine, most: int) -> Iterator[None]:
    """Builds the masks of a machine that is built just in time: that of the empty text, those after one byte, after two, and so on.

    Bytes that no terminal tells apart are one. A place is visited once, by its lexer states and the LR states on top: a mask costs
    a walk over the vocabulary, and a walk is of such a pair.

    Args:
        machine: the one that is built as matchers visit it.
        most: how many masks.
    """
    end = time.thread_time() + MAX_S
    most_read = machine.most_read

    def build(matcher: GrammarMatcher) -> None:
        _set_back[id(machine)] = machine, most_read
        machine.most_read = 0  # for other threads, too, meanwhile
        try:
            matcher.mask_row()
        finally:
            machine.most_read = most_read
            _set_back.pop(id(machine), None)

    # A machine's very first mask is found by reading tokens, of which it keeps nothing. What others find is there after the second.
    for _ in range(2):
        first = GrammarMatcher(_Alone(machine))  # type: ignore[arg-type]  # which has all that a matcher looks at
        build(first)
        yield
    classes = machine.byte_class.tolist()
    read = [bytes([byte]) for byte in range(128) if classes.index(classes[byte]) == byte]
    seen = {_place(first)}
    todo = deque([first])
    while todo:
        matcher = todo.popleft()
        for byte in read:
            if len(seen) >= most or time.thread_time() >= end or not has_room_in_advance(machine, MAX_BYTES):
                return
            ahead = matcher.fork()
            if not ahead.accept_string(byte) or (place := _place(ahead)) in seen:
                continue
            seen.add(place)
            build(ahead)
            todo.append(ahead)
            yield


def _place(matcher: GrammarMatcher) -> tuple[tuple[int, int], ...]:
    return tuple((lexer_state, stack[0]) for lexer_state, stack in MatcherView(matcher).configurations())


def composed_rows(machine: Machine) -> Iterator[None]:
    """Composes the rows that an artifact names, in pieces."""
    rows = WarmRows(machine)
    for _ in range(round(MAX_S / PIECE_S)):
        if not rows.compose(PIECE_S, MAX_BYTES):
            return
        yield
