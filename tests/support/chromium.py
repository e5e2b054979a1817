"""A page in headless Chromium, driven by its DevTools protocol: https://chromedevtools.github.io/devtools-protocol/."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE_S = 30.0
"""For what takes a second on a machine that does nothing else."""


def program() -> str | None:
    """Where Chromium is; None where it is not installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Tab:
    """A page that is open."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        """What the browser has told besides: exceptions, messages on the console, requests."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=PATIENCE_S)
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    async def value(self, expression: str) -> Any:
        """What an expression is in the page, as JSON has it; promises are waited for."""
        done = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    async def until(self, expression: str) -> None:
        """Waits until an expression is true in the page."""
        deadline = time.monotonic() + PATIENCE_S
        while not await self.value(f"Promise.resolve(({expression})).then(Boolean)"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression} did not become true; the page says {await self.value('document.body.innerText')}")
            await asyncio.sleep(0.02)

    async def type(self, text: str) -> None:
        """As from the keyboard, into what has the focus."""
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, code: int) -> None:
        """A key, by its name and its number in Windows."""
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    async def screenshot(self, path: Path, *, dark: bool, width: int, height: int) -> None:
        """The page as a picture."""
        await self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        )
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        shot = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.asynccontextmanager
async def tab(address: str) -> AsyncIterator[Tab]:
    """Opens a page in a browser of its own."""
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as folder:
        options = ["--headless=new", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium has none for root
        quiet = subprocess.DEVNULL
        browser = subprocess.Popen([found, *options, f"--user-data-dir={folder}", "about:blank"], stdout=quiet, stderr=quiet)
        try:
            where = f"http://127.0.0.1:{await _port(Path(folder, 'DevToolsActivePort'), browser)}"
            async with aiohttp.ClientSession() as session:
                async with session.get(f"{where}/json/list") as answer:
                    opened = next(t for t in await answer.json() if t["type"] == "page")
                async with session.ws_connect(opened["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Tab(socket)
                    for domain in ("Page", "Runtime", "Log", "Network"):
                        await page.call(f"{domain}.enable")
                    await page.call("Page.navigate", url=address)
                    yield page
        finally:
            browser.kill()
            browser.wait()


async def _port(file: Path, browser: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if browser.poll() is not None:
            raise RuntimeError(f"Chromium ended with {browser.returncode}")
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int(file.read_text().splitlines()[0])
        await asyncio.sleep(0.05)
    raise TimeoutError("Chromium does not say where it listens")
