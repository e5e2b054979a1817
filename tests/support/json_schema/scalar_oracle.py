"""Items that are numbers, words and strings of ASCII, read slowly and independently of psc, for `unique_oracle.Array`.

What an item can still become is found by trying ends: all of two signs or fewer, and some long ones that no text of the tests has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

Value = tuple[str, Any]
_PLAIN = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_ANY = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SIGNS = "0123456789.eE+-"
_LONG = ("", "77777", ".77777", "e77777", "0.77777", "00000e77777")
_NUMBER_ENDS = [
    "".join(signs) + tail for n in range(3) for signs in product(_SIGNS, repeat=n) for tail in (_LONG if n < 2 else ("",))
]
_NUMBER_ENDS += [f"0.{digit}{more}" for digit in range(10) for more in ("", "5")]
_STRING_ENDS = ['"', 'zzzzz"', *[f'{c}"' for c in "abcdefgh\\/n"], *[f'{c}{d}"' for c in "01234567abcdef\\u" for d in "01\\/nu"]]
_STRING_ENDS += [f'{a}{b}{c}"' for a in ("", "0", "00", "u0") for b in "0467" for c in "014"]


@dataclass(frozen=True, eq=False)
class Scalars:
    """Numbers, words and strings that a schema is true of."""

    schema: dict[str, Any]
    holds: Callable[[Value], bool]
    count: int | None
    """How many values there are; None for more than any array has."""
    has_powers: bool = False
    """Whether numbers may have a power of ten."""
    max_digits: int | None = None

    def end(self, text: bytes, at: int) -> int | None:
        """Where an item that begins here ends; None where it goes on to the end of the text, or may."""
        if text[at : at + 1] == b'"':
            string = re.compile(rb'"(?:[^"\\]|\\.)*"').match(text, at)
            return string.end() if string else None
        end = at
        while end < len(text) and text[end : end + 1] not in (b" ", b"\t", b"\n", b"\r", b",", b"]", b"}", b":", b"[", b"{", b'"'):
            end += 1
        return end if end < len(text) else None

    def value(self, text: bytes) -> Value | None:
        """Of a whole item; None where it is none."""
        value: Value
        if text in (b"true", b"false", b"null"):
            value = "word", text
        elif text.startswith(b'"'):
            try:
                string = json.loads(text)
                string.encode()
            except (ValueError, UnicodeEncodeError):
                return None
            value = "string", string
        elif (_ANY if self.has_powers else _PLAIN).fullmatch(text):
            digits = [len(run) for run in re.findall(rb"[0-9]+", text)]
            if self.max_digits is not None and max(digits) > self.max_digits:
                return None
            value = "number", _reduced(text)
        else:
            return None
        return value if self.holds(value) else None

    def can_become_another(self, begun: bytes, came: set[Value]) -> bool:
        """Whether a value that is none of those that came begins so."""
        return not _values(self, begun) <= came


@cache
def _values(scalars: Scalars, begun: bytes) -> frozenset[Value]:
    """Those that begin so, of the texts that are tried."""
    return frozenset(value for text in _texts(begun) if (value := scalars.value(text)) is not None)


def _texts(begun: bytes) -> Iterator[bytes]:
    if begun.startswith(b'"'):
        ends = _STRING_ENDS
    elif begun[:1].isalpha():
        ends = [word[len(begun) :] for word in ("true", "false", "null") if word.startswith(begun.decode())]
    else:
        ends = _NUMBER_ENDS
    for end in ends:
        yield begun + end.encode()


def _reduced(text: bytes) -> tuple[int, int]:
    """A number as its digits, of which the last is no 0, and a power of ten, without computing a large one."""
    number, _, power = text.lower().partition(b"e")
    whole, _, fraction = number.partition(b".")
    digits = whole + fraction
    if int(digits) == 0:
        return 0, 0
    significant = digits.rstrip(b"0")
    return int(significant), int(power or b"0") - len(fraction) + len(digits) - len(significant)
