"""Bytes as messages show them, and sets of them as ranges."""

from __future__ import annotations

from collections.abc import Iterable


def shown(data: bytes) -> str:
    """Bytes in quotes; those that are not printable, or not UTF-8, escaped."""
    out = []
    for character in data.decode("utf-8", "surrogateescape"):
        if 0xDC80 <= ord(character) <= 0xDCFF:
            out.append(f"\\x{ord(character) - 0xDC00:02x}")
        elif character in "'\\":
            out.append("\\" + character)
        else:
            out.append(character if character.isprintable() else character.encode("unicode_escape").decode())
    return f"'{''.join(out)}'"


def one_of(bytes_shown: str) -> str:
    """What `ranges` gives, in a list of what is expected."""
    return bytes_shown if len(bytes_shown) < 4 else f"one of {bytes_shown}"


def ranges(allowed: Iterable[int]) -> str:
    """Bytes as ranges: ``' ' '0'-'9' 'a'-'z' ≥0x80``."""
    runs: list[list[int]] = []
    for byte in allowed:
        if byte >= 0x80:
            runs.append([byte])
            break
        if runs and runs[-1][-1] == byte - 1:
            runs[-1].append(byte)
        else:
            runs.append([byte])
    out = []
    for run in runs:
        ends = [shown(bytes([b])) for b in run]
        out.append("≥0x80" if run[0] >= 0x80 else " ".join(ends) if len(run) < 4 else f"{ends[0]}-{ends[-1]}")
    return " ".join(out)
