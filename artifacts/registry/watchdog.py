"""Connections that end when they should: cut when too little arrives, and broken when the answer's head is malformed.

A read timeout alone does not end a conversation with a server that sends a byte now and then: each byte begins the wait anew, and
every part of an answer can be slow (the TLS handshake, the status line, headers, sizes of chunks, the body). So a thread watches
the whole exchange and shuts the socket down when the bytes that count do not come in time; the blocked read then ends.

Cost: a thread a request, some 0.1 ms.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
from types import TracebackType
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from psc.support import threads

_CURRENT = threading.local()


class Watchdog:
    """A context in which this thread's connections (made by `watched`) are cut when there is no `progress` for too long.

    Args:
        seconds: without `least_bytes` of progress.
        least_bytes: so that dripping is not progress.
    """

    def __init__(self, seconds: float, least_bytes: int) -> None:
        self.has_bitten = False
        self.seconds = seconds
        self._least_bytes = least_bytes
        self._bytes = 0
        self._deadline = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        # The lock itself is held, as entering the condition is several steps, between which a handler of a signal may raise.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_finished = False
        self._thread = threading.Thread(target=self._run, name="psc-registry-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        _CURRENT.watchdog = self
        threads.start(self._thread)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _CURRENT.watchdog = None
        with self._lock:
            self._is_finished = True
            self._changed.notify()
        self._thread.join()
        if self._socket is not None:
            self._socket.close()

    def watch(self, descriptor: int) -> None:
        """Watches this connection, by a descriptor of its own: other owners may close theirs at any time."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = socket.socket(fileno=os.dup(descriptor))

    def progress(self, n_bytes: int) -> None:
        """Counts bytes that came or went."""
        self._bytes += n_bytes
        if self._bytes >= self._least_bytes:
            self._bytes = 0
            self.wait(self.seconds)

    def wait(self, seconds: float) -> None:
        """From now on, progress is expected within this number of seconds."""
        with self._lock:
            self._deadline = time.monotonic() + seconds
            self._changed.notify()

    def _run(self) -> None:
        with self._lock:
            while not self._is_finished:
                left = self._deadline - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                self.has_bitten = True
                if self._socket is not None:
                    with contextlib.suppress(OSError):
                        self._socket.shutdown(socket.SHUT_RDWR)
                self._changed.wait(1.0)  # a connection that is made only now is cut too


def watched(manager: urllib3.PoolManager) -> None:
    """Registers the manager's connections with the watchdog of the thread that uses them."""
    manager.pool_classes_by_scheme = {"http": _WatchedHTTPPool, "https": _WatchedHTTPSPool}


def _watch(sock: socket.socket | None) -> None:
    watchdog: Watchdog | None = getattr(_CURRENT, "watchdog", None)
    if watchdog is not None and sock is not None and sock.fileno() >= 0:
        watchdog.watch(sock.fileno())


def _send_slowly(sock: socket.socket | None) -> None:
    """Sending may take as long as the watchdog lets it; the library would apply the time limit for connecting."""
    watchdog: Watchdog | None = getattr(_CURRENT, "watchdog", None)
    if watchdog is not None and sock is not None:
        sock.settimeout(watchdog.seconds)


class _Lines:
    """A file whose lines are being read; remembers whether it ended meanwhile."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.ended = False

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.file.readline(limit)
        self.ended = self.ended or not line
        return line

    def close(self) -> None:
        self.file.close()


class _WholeHead(http.client.HTTPResponse):
    """The library takes the end of the connection for the end of the headers, and half a Content-Length for a whole one."""

    def begin(self) -> None:
        lines = _Lines(self.fp)
        self.fp = lines  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            still: Any = self.fp  # none, when there is no body
            if still is lines:
                self.fp = lines.file
        if lines.ended:
            raise http.client.HTTPException("it ended within the head of the answer")


class _WatchedHTTP(HTTPConnection):
    response_class = _WholeHead

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        _watch(sock)
        return sock

    def connect(self) -> None:
        super().connect()
        _send_slowly(self.sock)

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        _watch(self.sock)
        _send_slowly(self.sock)
        super().putrequest(*args, **kwargs)


class _WatchedHTTPS(_WatchedHTTP, HTTPSConnection):
    """The same over TLS: what the class before calls of its base is HTTPSConnection's here."""


class _WatchedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class _WatchedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS
