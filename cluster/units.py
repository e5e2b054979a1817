"""Amounts of memory and time as people write them in jobs files and specs of clusters; `psc.support.readable` is the way back."""

from __future__ import annotations

import re

_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_TIME = re.compile(r"\s*(?:[0-9]+(?:\.[0-9]+)?\s*[smhd]\s*)+")
_TIME_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd])")


def parse_bytes(text: str | int) -> int:
    """A number of bytes: ``"2GiB"``, ``"500 MB"``, ``"1.5GiB"``, or a whole number. Raises ValueError."""
    if isinstance(text, int):
        amount = float(text)
    else:
        match = _AMOUNT.fullmatch(text)
        if match is None or match[2].lower() not in _BYTES:
            raise ValueError(f'{text!r} is not an amount of memory; write it as in "2GiB" or "500MB"')
        amount = float(match[1]) * _BYTES[match[2].lower()]
    if not 1 <= amount <= 1 << 60:
        raise ValueError(f'{text!r} is not an amount of memory that a machine can have; write it as in "2GiB" or "500MB"')
    return int(amount)


def parse_seconds(text: str | int | float) -> float:
    """A time in seconds: ``"90s"``, ``"10m"``, ``"1h30m"``, or a number. Raises ValueError."""
    if isinstance(text, str):
        if not _TIME.fullmatch(text):
            raise ValueError(f'{text!r} is not a time; write it as in "90s", "10m" or "1h30m"')
        seconds = sum(float(n) * _SECONDS[unit] for n, unit in _TIME_PART.findall(text))
    else:
        seconds = float(text)
    if not 0 < seconds < 1e9:
        raise ValueError(f'{text!r} is not a time that a task can take; write it as in "90s", "10m" or "1h30m"')
    return seconds
