"""What axe-core finds on a page, and what does not fit on a phone: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import chromium

PHONE, DESK = 390, 1280
_TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
_RUN = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(v => v.id + ': ' +
    v.nodes.slice(0, 3).map(n => `${n.html.slice(0, 160)} (${(n.failureSummary || '').slice(0, 200)})`).join('; ')))"""


def why_not() -> str:
    """What is missing here to look at pages; the empty text, nothing."""
    return "needs Chromium" if chromium.program() is None else "needs axe-core-python" if _axe() is None else ""


def _axe() -> Path | None:
    """The script, which the package axe-core-python has."""
    found = find_spec("axe_core_python")
    return None if found is None or found.origin is None else Path(found.origin).parent / "axe.min.js"


async def faults(tab: chromium.Tab) -> list[str]:
    """The faults of an open page, light on a desk and dark on a phone; it must not scroll sideways."""
    axe = _axe()
    assert axe is not None
    found: list[str] = []
    await tab.value(axe.read_text(encoding="utf-8") + "; 0")
    for width, scheme in ((DESK, "light"), (PHONE, "dark")):
        await tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width == PHONE)
        await tab.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}],
        )
        await tab.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        violations: list[Any] = await tab.value(_RUN)
        found += [f"{width} px, {scheme}: {violation}" for violation in violations]
        if (more := await tab.value(_TOO_WIDE)) > 0:
            found.append(f"{width} px: the page is {more} px too wide")
    return found
