"""The registry server's application and its process: sockets, TLS, the access log, and an orderly end.

An end (SIGTERM, SIGINT) stops accepting, lets what is being sent or received finish within a grace period, and writes the index.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from psc.artifacts.folder import remove_leftovers
from psc.artifacts.registry.connections import BACKLOG, Connections, most_connections
from psc.artifacts.registry.pushing import Pushes
from psc.artifacts.registry.serving import Sent, Served, read, refusal
from psc.errors import RegistryError, needs_extra

with needs_extra("server"):
    from aiohttp import web

_SERVED = web.AppKey("served", Served)
_INDEX_SOON_S = 0.5
_LEFTOVER_S = 3600.0
Log = Callable[[dict[str, object]], None]


@dataclass(frozen=True)
class Listening:
    """The address of a server, and its way to end."""

    host: str = "127.0.0.1"
    port: int = 8750
    certificate: Path | None = None
    """PEM; with the private key, TLS is spoken."""
    private_key: Path | None = None
    grace_s: float = 30.0
    """The time in which transfers under way may finish after a signal."""
    max_connections: int = 2_000
    """Open at once; the limit of descriptors may allow fewer."""


def application(served: Served, log: Log | None = None, connections: Connections | None = None) -> web.Application:
    """The server as an aiohttp application.

    Args:
        served: the folder.
        log: called with each request once it is answered.
        connections: called with those that are at work.
    """
    pushes = Pushes(served)

    async def answer(request: web.Request) -> web.StreamResponse:
        began = time.monotonic()
        metrics = served.metrics
        metrics.in_flight += 1
        status, sent = 499, Sent()  # as others log a client that went away
        try:
            with contextlib.nullcontext() if connections is None else connections.at_work(request.protocol):
                response = await handled(request, sent)
            status = response.status
            if not sent.began and isinstance(response, web.Response) and request.method != "HEAD":
                sent.n_bytes = len(response.body) if isinstance(response.body, bytes) else 0
            return response
        except BaseException:
            if sent.began and request.transport is not None:
                request.transport.abort()  # the bytes sent begin another answer
            raise
        finally:
            metrics.in_flight -= 1
            metrics.requests[request.method if request.method in ("GET", "HEAD", "PUT") else "other", status] += 1
            metrics.sent_bytes += sent.n_bytes
            if log is not None:
                log(_entry(request, status, sent, time.monotonic() - began))

    async def handled(request: web.Request, sent: Sent) -> web.StreamResponse:
        try:
            if request.method in ("GET", "HEAD"):
                return await read(served, request, sent)
            if request.method == "PUT":
                return await pushes.write(request)
            return refusal(405, "a registry takes GET, HEAD and PUT", Allow="GET, HEAD, PUT")
        except (ConnectionError, TimeoutError, web.HTTPException):
            raise
        except Exception as e:
            _report(f"psc: error: {request.method} {request.raw_path}: {type(e).__name__}: {e}")
            if sent.began:
                raise ConnectionResetError("failed while sending") from e
            return refusal(500, "the registry failed; its log says why")

    app = web.Application()
    app[_SERVED] = served
    app.router.add_route("*", "/{path:.*}", answer, expect_handler=_expected)
    app.cleanup_ctx.append(_index_upkeep)
    return app


def _entry(request: web.Request, status: int, sent: Sent, seconds: float) -> dict[str, object]:
    """One entry of the log."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "remote": request.remote,
        "method": request.method,
        "path": request.raw_path.partition("?")[0],
        "status": status,
        "sent_bytes": sent.n_bytes,
        "seconds": round(seconds, 4),
    }


async def _expected(request: web.Request) -> web.StreamResponse | None:
    """Lets a client send a body that it holds back. Any other expectation is refused, and not echoed: it may be no text."""
    expected = request.headers.get("Expect", "")
    if expected.lower() != "100-continue":
        return refusal(417, "a registry meets no expectation but 100-continue")
    if request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return None


async def _index_upkeep(app: web.Application) -> AsyncIterator[None]:
    """Writes the index at the start, soon after changes, and at the end; a request for the index writes it at once."""
    listing = app[_SERVED].listing

    async def keep() -> None:
        while True:
            await asyncio.sleep(_INDEX_SOON_S)
            if not listing.is_current:
                try:
                    await asyncio.to_thread(listing.write_index)
                except RegistryError as e:
                    _report(f"psc: warning: {e}")

    await asyncio.to_thread(remove_leftovers, app[_SERVED].root, _LEFTOVER_S)
    try:
        await asyncio.to_thread(listing.write_index)
    except RegistryError as e:
        if not (app[_SERVED].root / "index.json").is_file():
            raise
        _report(f"psc: warning: {e}; the index may be out of date")
    task = asyncio.create_task(keep())
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    if not listing.is_current:
        with contextlib.suppress(RegistryError):
            await asyncio.to_thread(listing.write_index)


@contextlib.asynccontextmanager
async def running(served: Served, listening: Listening, log: Log | None = None) -> AsyncIterator[str]:
    """The server, listening; gives its URL. Raises RegistryError when it cannot listen."""
    context = _tls(listening)
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # the access log says it, in one line
    connections = Connections(most_connections(listening.max_connections), _report)
    app = application(served, log, connections)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=listening.grace_s, keepalive_timeout=75.0, auto_decompress=False)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(connections.reports.of_loop)
    await runner.setup()
    assert runner.server is not None
    listeners: list[socket.socket] = []
    accepting: list[asyncio.Task[None]] = []
    try:
        try:
            listeners += await _listeners(listening)
        except OSError as e:
            raise RegistryError(f"cannot listen on {listening.host}:{listening.port}: {e.strerror or e}") from e
        accepting += [loop.create_task(connections.accept(listener, runner.server, context)) for listener in listeners]
        port = listeners[0].getsockname()[1]
        host = f"[{listening.host}]" if ":" in listening.host else listening.host
        yield f"{'http' if context is None else 'https'}://{host}:{port}"
    finally:
        for task in accepting:
            task.cancel()
        await asyncio.gather(*accepting, return_exceptions=True)
        for listener in listeners:
            listener.close()
        await connections.close()
        await runner.cleanup()


async def _listeners(listening: Listening) -> list[socket.socket]:
    """A socket for each address of the host, bound as asyncio binds them. Raises OSError."""
    bound = await asyncio.get_running_loop().create_server(asyncio.Protocol, listening.host, listening.port, start_serving=False)
    try:
        listeners = [socket.socket(fileno=os.dup(each.fileno())) for each in bound.sockets]
        for listener in listeners:
            listener.setblocking(False)
            listener.listen(BACKLOG)
        return listeners
    finally:
        bound.close()


def serve(served: Served, listening: Listening, *, ready: Callable[[str], None], log: Log | None = None) -> None:
    """Serves until SIGTERM or SIGINT; a second signal ends it at once.

    Args:
        served: the folder.
        listening: the address.
        ready: called with the URL once the server accepts connections.
        log: called with each request.

    Raises:
        RegistryError: it cannot listen, or the folder cannot be written.
    """

    async def main() -> None:
        end = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            if end.is_set():
                task.cancel()
            end.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        async with running(served, listening, log) as url:
            ready(url)
            await end.wait()

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(main())


def log_to_stderr(entry: dict[str, object]) -> None:
    """One line of JSON a request."""
    _report(json.dumps(entry, separators=(",", ":")))


def _report(line: str) -> None:
    """A line on stderr. Where it cannot be written (closed, a broken pipe, a full disk) it is lost, and requests are answered."""
    if sys.stderr is not None:  # None: closed before Python began
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _tls(listening: Listening) -> ssl.SSLContext | None:
    if listening.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(listening.certificate, listening.private_key)
    except (OSError, ssl.SSLError) as e:
        raise RegistryError(f"{listening.certificate}: cannot use the certificate and its key: {e}") from e
    return context
