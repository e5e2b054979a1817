"""The routes of the server.

Compiling and generating run in threads. A client that goes away, and a compilation that takes too long, call the work off.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import psc
from openai_api.endpoints import CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, Api, Stream
from openai_api.errors import ApiError, ClientGone, no_such_model
from openai_api.fields import MOST_BYTES, parsed
from openai_api.tasks import Engine, Task
from psc.support.readable import shortened

COMPILE_THREADS = 8
"""Grammars that are compiled at a time; the others wait."""
TEXT_THREADS = 32
"""Answers that are made at a time, streams apart."""
COMPILE_SECONDS = 10.0
"""Until a grammar is refused."""
CLIENT_GONE = 499
LOOPBACK = ("127.0.0.1", "[::1]")

_FAILED = ApiError("the server failed; its log has more", status=500)

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Answer = Callable[[Request], Awaitable[Response]]


class _Work:
    """What is done for a request, and may be called off."""

    def __init__(self) -> None:
        self.cancellation = psc.Cancellation()
        self.is_late = False

    def call_off_as_late(self) -> None:
        self.is_late = True
        self.cancellation.cancel()


class Server:
    """What answers requests.

    Args:
        engine: writes the answers.
        hosts: the names under which the server may be called; None is any.
    """

    def __init__(self, engine: Engine, hosts: frozenset[str] | None = None) -> None:
        self._hosts = hosts
        self._engine = engine
        self._metrics = engine.metrics
        self._compiling = ThreadPoolExecutor(COMPILE_THREADS, "compile")
        self._writing = ThreadPoolExecutor(TEXT_THREADS, "write")
        self._card: dict[str, Any] = {"id": engine.model.name, "object": "model", "created": 0, "owned_by": "psc"}

    async def completions(self, request: Request) -> Response:
        """`/v1/completions`."""
        return await self._respond(request, COMPLETIONS)

    async def chat_completions(self, request: Request) -> Response:
        """`/v1/chat/completions`."""
        return await self._respond(request, CHAT_COMPLETIONS)

    async def responses(self, request: Request) -> Response:
        """`/v1/responses`."""
        return await self._respond(request, RESPONSES)

    async def models(self, request: Request) -> Response:
        """`/v1/models`."""
        return JSONResponse({"object": "list", "data": [self._card]})

    async def model(self, request: Request) -> Response:
        """`/v1/models/NAME`."""
        name = request.path_params["name"]
        if name != self._card["id"]:
            raise no_such_model(name, self._card["id"])
        return JSONResponse(self._card)

    async def metrics(self, request: Request) -> Response:
        """`/metrics`."""
        return PlainTextResponse(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def health(self, request: Request) -> Response:
        """`/health`."""
        return PlainTextResponse("")

    async def refuse(self, request: Request, error: Exception) -> Response:
        """What a client is told of an error."""
        if isinstance(error, HTTPException):
            error = ApiError(f"{request.method} {shortened(request.url.path)}: {error.detail}", status=error.status_code)
        if not isinstance(error, ApiError):
            _log.error("a request failed", exc_info=error)
            error = _FAILED
        self._answered(request, error.status)
        return JSONResponse(error.content, status_code=error.status)

    def checked(self, answer: _Answer) -> _Answer:
        """What answers a request, but none that a page of another site makes a browser send.

        Errors are answers here: Starlette raises what it has answered with 500 again, and uvicorn closes the connection then, on
        which a client may have sent its next request.
        """

        async def checked(request: Request) -> Response:
            try:
                self._check_origin(request)
                return await answer(request)
            except Exception as error:
                return await self.refuse(request, error)

        return checked

    async def _respond(self, request: Request, api: Api) -> Response:
        _check_content_type(request)
        work = _Work()
        try:
            body = parsed(await _body(request))
            async with _called_off_when_gone(request, work):
                task = await self._read(body, api, work)
                if not task.stream:
                    with self._running():
                        whole = await _in_thread(self._writing, partial(api.answer, self._engine, task, work.cancellation))
                    self._answered(request, 200)
                    return JSONResponse(whole)
        except (ClientGone, ClientDisconnect):
            self._answered(request, CLIENT_GONE)
            return Response(status_code=CLIENT_GONE)
        return StreamingResponse(self._events(request, api.stream(self._engine, task), work), media_type="text/event-stream")

    def _check_origin(self, request: Request) -> None:
        """Raises ApiError for what a page of another site makes a browser send: it cannot set these headers as programs do."""
        host = request.headers.get("host", "")
        name = re.sub(r":[0-9]+$", "", host).lower()
        # Names without a dot are of one's own network; one that somebody points at 127.0.0.1 has dots.
        if self._hosts is not None and name not in self._hosts and not re.fullmatch(r"[a-z0-9_-]+", name):
            raise ApiError(
                f"the server is not called {host[:100]!r}; start it with --allow-host and that name", status=403, code="host"
            )
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if (origin is not None and origin.partition("://")[2].lower() != host.lower()) or site not in ("none", "same-origin"):
            raise ApiError("pages of other sites may not use this server", status=403, code="origin")

    async def _read(self, body: dict[str, Any], api: Api, work: _Work) -> Task:
        """The task of a request, within the time that a grammar may take."""
        timer = asyncio.get_running_loop().call_later(COMPILE_SECONDS, work.call_off_as_late)
        try:
            return await _in_thread(self._compiling, partial(api.read, self._engine, body, work.cancellation))
        except psc.CompilationCancelledError as error:
            if not work.is_late:
                raise ClientGone from error
            message = f"the grammar is not ready after {COMPILE_SECONDS:g} s; ask for a smaller one"
            raise ApiError(message, code="grammar_timeout") from error
        finally:
            timer.cancel()

    async def _events(self, request: Request, stream: Stream, work: _Work) -> AsyncIterator[str]:
        """A stream. Its status was sent with its first event, so that an error is an event."""
        status = CLIENT_GONE
        try:
            async with _called_off_when_gone(request, work):
                with self._running():
                    async for each in iterate_in_threadpool(stream.events(work.cancellation)):
                        yield each
            status = 200
        except ClientGone:
            pass
        except Exception as error:
            if not isinstance(error, ApiError):
                _log.exception("a stream failed")
                error = _FAILED
            status = error.status
            for each in stream.failed(error):
                yield each
        finally:
            work.cancellation.cancel()
            self._answered(request, status)

    @contextmanager
    def _running(self) -> Iterator[None]:
        self._metrics.add("running")
        try:
            yield
        finally:
            self._metrics.add("running", -1)

    def _answered(self, request: Request, status: int) -> None:
        known = isinstance(request.scope.get("route"), Route)
        self._metrics.add("requests_total", path=request.scope["route"].path if known else "other", status=str(status))


def application(engine: Engine, hosts: Iterable[str] = ()) -> Starlette:
    """The server of a model.

    Args:
        engine: writes the answers.
        hosts: names with dots under which the server may be called, beside 127.0.0.1; ``*`` is any.
    """
    server = Server(engine, None if "*" in hosts else frozenset([*LOOPBACK, *(host.lower() for host in hosts)]))
    return Starlette(
        routes=[
            Route("/v1/models", server.checked(server.models)),
            Route("/v1/models/{name:path}", server.checked(server.model)),
            Route("/v1/completions", server.checked(server.completions), methods=["POST"]),
            Route("/v1/responses", server.checked(server.responses), methods=["POST"]),
            Route("/v1/chat/completions", server.checked(server.chat_completions), methods=["POST"]),
            Route("/metrics", server.checked(server.metrics)),
            Route("/health", server.checked(server.health)),
        ],
        exception_handlers={HTTPException: server.refuse},  # of the routes, which checked methods do not see
    )


def _check_content_type(request: Request) -> None:
    """Raises ApiError for what a form of any page may send."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in ("", "application/json"):
        raise ApiError(f"the content type must be application/json, not {content_type[:100]!r}", status=415, code="content_type")


async def _body(request: Request) -> bytes:
    """The body, within its limit. What is beyond it is read and dropped, as clients read no answer while they send."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MOST_BYTES:
            chunks.append(chunk)
        elif size > 16 * MOST_BYTES:
            break
    if size > MOST_BYTES:
        raise ApiError(f"the body has more than {MOST_BYTES} bytes", status=413, code="request_too_large")
    return b"".join(chunks)


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


@asynccontextmanager
async def _called_off_when_gone(request: Request, work: _Work) -> AsyncIterator[None]:
    """Calls the work off when the client goes away meanwhile."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        work.cancellation.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        yield
    except BaseException:  # the server shuts down, among others: no thread works on
        work.cancellation.cancel()
        raise
    finally:
        watching.cancel()
