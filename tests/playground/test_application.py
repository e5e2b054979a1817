"""The playground's server: what the page asks is answered, and what others ask is not."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from psc.playground.application import page, running
from psc.playground.looking import BYTES, Choices, Looker
from psc.playground.worker import Answer, Worker

REQUEST = {"grammar": {"language": "regex", "text": "a+"}, "tokenizer": BYTES, "text": "a"}


class Here(Worker):
    """Looks in this process."""

    closed = False

    def __init__(self) -> None:
        super().__init__(Choices(), time_limit_s=60, memory_limit_bytes=1 << 40)
        self._looker = Looker(Choices())

    def ask(self, request: Answer) -> Answer:
        return self._looker.look(request)

    def close(self) -> None:
        self.closed = True


def with_playground(use: Callable[[aiohttp.ClientSession, str], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        worker = Here()
        async with running(Choices(), worker) as address, aiohttp.ClientSession() as session:
            result = await use(session, address)
        assert worker.closed
        return result

    return asyncio.run(main())


def test_what_the_page_asks() -> None:
    async def use(session: aiohttp.ClientSession, address: str) -> None:
        async with session.get(address + "choices") as answer:
            choices = await answer.json()
        assert "json" in choices["grammars"] and "ebnf" in [c["language"] for c in choices["languages"]]
        assert choices["tokenizers"][-1]["name"] == BYTES
        async with session.post(address + "look", json=REQUEST) as answer:
            assert (await answer.json())["n_read"] == 1

    with_playground(use)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "LocalHost:{port}", "Origin": "http://localhost:{port}"}, 200),
        ({"Host": "evil.example"}, 403),  # a name that somebody points at 127.0.0.1
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),  # another port
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),  # of another origin than the address
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Content-Type": "text/plain"}, 415),  # which a form of another page could send
    ],
)
def test_only_its_own_page_is_answered(headers: dict[str, str], status: int) -> None:
    async def use(session: aiohttp.ClientSession, address: str) -> None:
        port = re.findall(r":(\d+)/", address)[0]
        sent = {"Content-Type": "application/json"} | {k: v.format(port=port) for k, v in headers.items()}
        async with session.post(address + "look", data=json.dumps(REQUEST), headers=sent) as answer:
            assert answer.status == status
            assert "Access-Control-Allow-Origin" not in answer.headers
            assert ("error" in await answer.json()) == (status != 200)

    with_playground(use)


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"{", 400), (b"[" * 100_000, 400), (b"[]", 400), (b"\xff", 400), (b'"' + b"a" * 5_000_000 + b'"', 413)],
)
def test_bodies_that_are_no_request(body: bytes, status: int) -> None:
    async def use(session: aiohttp.ClientSession, address: str) -> None:
        async with session.post(address + "look", data=io.BytesIO(body), headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == status
            assert (await answer.json())["error"]["message"]

    with_playground(use)


def test_other_addresses() -> None:
    async def use(session: aiohttp.ClientSession, address: str) -> None:
        for method, path, status in (
            ("GET", "look", 405),
            ("GET", "page.js", 404),
            ("GET", "../pyproject.toml", 404),
            ("POST", "", 405),
        ):
            async with session.request(method, address + path) as answer:
                assert answer.status == status

    with_playground(use)


def test_too_many_looks_at_once() -> None:
    async def use(session: aiohttp.ClientSession, address: str) -> None:
        async def status() -> int:
            async with session.post(address + "look", json={**REQUEST, "text": "a" * 1000}) as answer:
                return answer.status

        statuses = await asyncio.gather(*(status() for _ in range(40)))
        assert set(statuses) == {200, 503}
        assert await status() == 200

    with_playground(use)


def test_the_page_needs_nothing_else() -> None:
    shown = page()
    assert not re.search(r"(src|href)=\"(?!data:,)|@import|url\(|https?://", shown.html)
    assert "innerHTML" not in shown.html and "eval(" not in shown.html

    async def use(session: aiohttp.ClientSession, address: str) -> None:
        async with session.get(address) as answer:
            assert await answer.text() == shown.html
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy

    with_playground(use)
