"""Sizes, times and names as everything that psc prints has them: three digits, decimal units.

Names and errors come from job files, grammars and other machines: whatever would steer a terminal is made visible here.
"""

from __future__ import annotations

import unicodedata

from psc.errors import MAX_REPEATED

NOTHING = "-"
"""Printed where there is no figure."""


def size(n_bytes: float) -> str:
    """Bytes with three digits and a decimal unit, ``1.50 GB``; the dash for none."""
    if n_bytes <= 0:
        return NOTHING
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale * 0.9995:
            return f"{_digits(n_bytes / scale)} {unit}"
    return f"{n_bytes:.0f} B"


def duration(seconds: float) -> str:
    """A time as people say it: ms below a second, then s, min and h."""
    if seconds <= 0:
        return NOTHING
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 99.95:
        return f"{_digits(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        whole = round(seconds)
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def count(n: int) -> str:
    """A number with its thousands apart; the dash for none."""
    return f"{n:,}" if n else NOTHING


def share(part: float) -> str:
    """A part of one, in per cent."""
    return f"{part * 100:.0f} %"


def printable(text: str) -> str:
    """The text with control characters, but for line ends and tabs, written as escapes: they could rewrite a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else ascii(c)[1:-1] for c in text)


def shortened(text: str, most: int = MAX_REPEATED) -> str:
    """The text as a message repeats it: what is longer than `most` characters has an ellipsis for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def shortened_pointer(pointer: str, most: int = MAX_REPEATED) -> str:
    """The same of a pointer or a name, without its middle: its end says most."""
    half = most // 2
    return pointer if len(pointer) <= most else f"{pointer[:half]}…{pointer[-half:]}"
