"""The playground's server: one page, and two addresses that the page asks, on the loopback interface. Needs the extra `server`.

What other pages in the same browser could do is refused: a request must be for the address that was printed, so that no name which
somebody points at 127.0.0.1 will do, and must not come from another origin. The page itself loads nothing and runs nothing but its
own script, by a content security policy.

Cost: that of a look, see `looking`; looks wait for each other, and more than a few that wait are refused.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from importlib import resources

from psc._version import __version__
from psc.errors import PscError, needs_extra
from psc.playground.looking import MAX_GRAMMAR_CHARACTERS, Choices
from psc.playground.worker import Answer, Worker, error

with needs_extra("server"):
    from aiohttp import web

HOST = "127.0.0.1"
_MAX_BODY_BYTES = 4 * MAX_GRAMMAR_CHARACTERS + (1 << 18)
_MAX_WAITING = 8
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PlaygroundError(PscError):
    """A playground that cannot be served."""


@dataclass(frozen=True)
class Page:
    """The page, and the policy under which browsers show it."""

    html: str
    policy: str


def page() -> Page:
    """The page as one document, of what lies in the package."""
    style, script = _packaged("page.css"), _packaged("page.js")
    html = _packaged("page.html").replace("/* style */", style).replace("/* script */", script).replace("{version}", __version__)
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(html, policy)


def _packaged(name: str) -> str:
    return resources.files("psc.playground").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def application(choices: Choices, worker: Worker) -> web.Application:
    """The playground as an aiohttp application.

    Args:
        choices: what can be chosen by name.
        worker: answers what the page asks. It is closed with the application.
    """
    shown = page()
    waiting = 0

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=shown.html, content_type="text/html", headers={"Content-Security-Policy": shown.policy})

    async def offered(request: web.Request) -> web.Response:
        return _json(choices.as_json())

    async def look(request: web.Request) -> web.Response:
        nonlocal waiting
        if request.content_type != "application/json":
            return _json(error("malformed request", "send JSON, as application/json"), 415)
        try:
            asked = json.loads(await request.read())
        except (ValueError, RecursionError) as e:
            return _json(error("malformed request", f"the request is not JSON: {e}"), 400)
        if not isinstance(asked, dict):
            return _json(error("malformed request", "the request is not a JSON object"), 400)
        if waiting >= _MAX_WAITING:
            return _json(error("busy", "too many looks are waiting; try again when one has ended"), 503)
        waiting += 1
        try:
            return _json(await asyncio.to_thread(worker.ask, asked))
        finally:
            waiting -= 1

    async def close(app: web.Application) -> None:
        await asyncio.to_thread(worker.close)

    app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[_guarded])
    app.router.add_get("/", index)
    app.router.add_get("/choices", offered)
    app.router.add_post("/look", look)
    app.on_shutdown.append(close)
    return app


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    refused = _refusal(request)
    if refused is not None:
        return _json(error("refused", refused), 403)
    try:
        response = await handler(request)
    except web.HTTPRequestEntityTooLarge:
        response = _json(
            error("too large", f"a request has at most {_MAX_BODY_BYTES:,} bytes; make the grammar or the text smaller"), 413
        )
    except web.HTTPException as e:
        response = _json(error("not found" if e.status == 404 else "refused", e.reason), e.status)
    response.headers.update(_HEADERS)
    return response


def _refusal(request: web.Request) -> str | None:
    """Why a request is none of our page's; None where it is one."""
    at = request.get_extra_info("sockname")
    port = at[1] if at else 0
    hosts = {f"{HOST}:{port}", f"localhost:{port}"}
    host = request.headers.get("Host", "").lower()
    if host not in hosts:
        return "the playground answers at the address that it printed, and under no other name"
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return "the playground answers its own page only"
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return "the playground answers its own page only"
    return None


def _json(answer: Answer, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(answer).encode(), content_type="application/json", status=status, headers=_HEADERS)


@contextlib.asynccontextmanager
async def running(choices: Choices, worker: Worker, port: int = 0) -> AsyncIterator[str]:
    """The playground, listening; gives its address.

    Args:
        choices: what can be chosen by name.
        worker: answers what the page asks; closed at the end.
        port: on 127.0.0.1; 0 is any free one.

    Raises:
        PlaygroundError: it cannot listen.
    """
    runner = web.AppRunner(application(choices, worker), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        try:
            await site.start()
        except OSError as e:
            raise PlaygroundError(f"cannot listen on {HOST}:{port}: {e.strerror or e}; give another --port, or none") from e
        yield f"http://{HOST}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def serve(choices: Choices, worker: Worker, *, port: int, ready: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT.

    Args:
        choices: what can be chosen by name.
        worker: answers what the page asks.
        port: see `running`.
        ready: called with the address once it accepts connections.

    Raises:
        PlaygroundError: it cannot listen.
    """

    async def main() -> None:
        end = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end.set)
        async with running(choices, worker, port) as address:
            ready(address)
            await end.wait()

    asyncio.run(main())
