"""axe-core finds nothing on the site of docs/, in the playground and in the report of a batch, and all fit on a phone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import accessibility
import chromium
import pytest
from batch_reports import compiled, failed, report

from psc.cluster.report.page import html_page
from psc.playground.application import running
from psc.playground.looking import BYTES, Choices
from psc.playground.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(bool(accessibility.why_not()), reason=accessibility.why_not() or "all is there"),
    pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="what is native is tested without the browser"),
    pytest.mark.slow,
]


def found_at(address: str) -> list[str]:
    async def look() -> list[str]:
        async with chromium.tab(address) as tab:
            await tab.until("document.readyState == 'complete' && location.protocol == 'file:'")
            return await accessibility.faults(tab)

    return asyncio.run(look())


def test_faults_are_found(tmp_path: Path) -> None:
    """A page that has some: else the tests below say nothing."""
    page = tmp_path / "page.html"
    page.write_text('<html><body><img src="x.png"><p style="width: 2000px; color: #aaa">wide</p></body></html>')
    found = "\n".join(found_at(page.as_uri()))
    assert all(fault in found for fault in ("image-alt", "html-has-lang", "color-contrast", "390 px: the page is"))


@pytest.mark.skipif(find_spec("mkdocs") is None or find_spec("mkdocstrings") is None, reason="needs the extra docs")
def test_the_site(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stderr
    pages = [page for page in sorted(tmp_path.rglob("*.html")) if page.name != "404.html"]
    assert len(pages) > 50

    async def look() -> list[str]:
        found = []
        async with chromium.tab(pages[0].as_uri()) as tab:
            for page in pages:
                await tab.call("Page.navigate", url=page.as_uri())
                await tab.until(f"document.readyState == 'complete' && location.href.endsWith({page.name!r})")
                found += [f"{page.relative_to(tmp_path)}: {fault}" for fault in await accessibility.faults(tab)]
        return found

    found = asyncio.run(look())
    assert not found, "\n".join(found)


def test_the_playground() -> None:
    async def look() -> list[str]:
        choices = Choices((), (BYTES,))
        worker = Worker(choices, time_limit_s=60, memory_limit_bytes=4 << 30)
        async with running(choices, worker) as address, chromium.tab(address) as tab:
            await tab.until("document.querySelectorAll('.tile').length > 0 && !state.busy")
            found = await accessibility.faults(tab)
            await tab.value("at('grammar').value = 'text:ebnf', at('grammar').dispatchEvent(new Event('change'))")
            for source in ('root ::= "a"+ "b"', 'root ::= "a" |'):  # the second is wrong, and what is shown is older than the text
                await tab.value("at('source').focus(), at('source').select()")
                await tab.type(source)
                await tab.value("at('text').focus(), at('text').select()")
                await tab.type("aac")
                await tab.until("new Promise(r => setTimeout(() => r(!state.busy && !state.wanted), PAUSE_MS + 30))")
                found += await accessibility.faults(tab)
        return found

    assert not asyncio.run(look())


def test_the_report(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(
        html_page(
            report(
                compiled("java/qwen3", 8.0, worker="10.0.0.1 7"),
                compiled("json/qwen3", 1.0, begin=0.5, worker="10.0.0.1 8", peak=700_000_000),
                failed("bad/qwen3", "bad.lark:3:1: no such rule 'x'; define it", begin=1.5, worker="10.0.0.1 8"),
                wall=10.0,
            )
        ),
        encoding="utf-8",
    )
    assert not found_at(page.as_uri())
