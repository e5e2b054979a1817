"""The page in a browser: typing, going back and forth, errors, and grammars that would like to be markup."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import chromium
import pytest

from psc.playground.application import running
from psc.playground.looking import BYTES, Choices
from psc.playground.worker import Worker

pytestmark = [
    pytest.mark.skipif(chromium.program() is None, reason="needs Chromium"),
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="what is native is tested without the browser"),
]
CHIPS = "[...document.querySelectorAll('.token')]"


def with_page(use: Callable[[chromium.Tab], Awaitable[None]], *grammars: Path) -> None:
    async def main() -> None:
        choices = Choices(tuple(map(str, grammars)), (BYTES,))
        worker = Worker(choices, time_limit_s=60, memory_limit_bytes=4 << 30)
        async with running(choices, worker) as address, chromium.tab(address) as tab:
            await tab.until("document.querySelectorAll('.tile').length > 0 && !state.busy")
            await use(tab)
            complaints = [e for e in tab.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
            assert not complaints
            asked = {e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"}
            assert {u for u in asked if not u.startswith(address)} <= {"about:blank", "data:,"}

    asyncio.run(main())


async def shown(tab: chromium.Tab, selector: str) -> str:
    return str(await tab.value(f"document.querySelector({selector!r}).innerText"))


async def enter(tab: chromium.Tab, field: str, text: str) -> None:
    """As if selected and typed over."""
    await tab.value(f"at({field!r}).focus(), at({field!r}).select()")
    await tab.type(text)


async def settled(tab: chromium.Tab) -> None:
    await tab.until("new Promise(r => setTimeout(() => r(!state.busy && !state.wanted), PAUSE_MS + 30))")


def test_typing_and_going_back(tmp_path: Path) -> None:
    grammar = tmp_path / "percent.ebnf"
    grammar.write_text('root ::= "yes" | "no" | [0-9]{1,3} "%"\n')

    async def use(tab: chromium.Tab) -> None:
        assert await tab.value("document.activeElement.id") == "text"  # one can type at once
        await tab.type("12")
        await tab.until(f"{CHIPS}.length == 3")
        assert (await shown(tab, ".tile")).splitlines()[:2] == ["Mask", "11"]
        # To the token before, and on, by keys.
        await tab.value(f"{CHIPS}[2].focus()")
        await tab.press("ArrowLeft", 37)
        await tab.until(f"{CHIPS}[1].getAttribute('aria-selected') == 'true' && !state.busy")
        await tab.press("Home", 36)
        await tab.until(f"{CHIPS}[0].getAttribute('aria-selected') == 'true' && !state.busy")
        assert (await shown(tab, ".tile")).splitlines()[1] == "12"
        assert await tab.value("document.activeElement.className") == "token later"
        await tab.press("End", 35)
        await tab.until("state.at === null && !state.busy")
        # A click takes what the table or the button offers.
        assert await shown(tab, "#finish") == "end it with '%'"
        await tab.value("at('finish').click()")
        await tab.until("at('text').value == '12%'")
        await settled(tab)
        assert "yes" in await shown(tab, "#now")
        # Refused, and why.
        await enter(tab, "text", "1x")
        await tab.until("document.querySelector('.token.refused')")
        assert "found 'x'" in await shown(tab, "#now")
        await enter(tab, "text", "1")
        await enter(tab, "find", "y")
        await tab.until("document.querySelector('.verdict .no')")
        assert "because" in await shown(tab, "#why")

    with_page(use, grammar)


def test_own_text_with_an_error() -> None:
    async def use(tab: chromium.Tab) -> None:
        await tab.value("at('grammar').value = 'text:ebnf', at('grammar').dispatchEvent(new Event('change'))")
        await settled(tab)
        await enter(tab, "source", 'root ::= "a" |\n  missing')
        await tab.until("!at('error').hidden")
        assert "rule 'missing' is not defined; define it" in await shown(tab, "#error")
        await tab.value("at('error-place').click()")
        assert await tab.value("[document.activeElement.id, at('source').selectionStart]") == ["source", 17]
        await enter(tab, "source", 'root ::= "a" |\n  "b"')
        await tab.until("at('error').hidden")
        # The other languages have examples that are fine.
        for language in ("lark", "regex", "json_schema", "llguidance", "structural_tag"):
            await tab.value(f"at('grammar').value = 'text:{language}', at('grammar').dispatchEvent(new Event('change'))")
            await settled(tab)
            assert await tab.value("at('error').hidden") and await tab.value("at('source').value.length > 3")
            assert not await tab.value("document.querySelector('.token.refused')")

    with_page(use)


def test_what_strangers_wrote_is_text(tmp_path: Path) -> None:
    markup = "<img src=x onerror=window.broken=1></script><script>window.broken=1</script>"
    grammar = tmp_path / "<img src=x onerror=window.broken=1>.lark"
    grammar.write_text(f'start: A B\nA: "{markup.replace("/", chr(92) + "/")}"\nB: "<b onclick=window.broken=1>"\n')

    async def use(tab: chromium.Tab) -> None:
        await enter(tab, "text", markup)
        await enter(tab, "find", "<")
        await settled(tab)
        assert markup[:20] in await shown(tab, "main")
        assert await tab.value("window.broken") is None
        assert await tab.value("document.querySelectorAll('img, b:not(.token b, .meter b), script').length") == 1
        await enter(tab, "text", "<p onclick=window.broken=1>")
        await settled(tab)
        assert await tab.value("window.broken") is None

    with_page(use, grammar)
