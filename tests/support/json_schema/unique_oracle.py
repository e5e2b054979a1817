"""What texts of schemas with `uniqueItems` may go on with, found slowly and independently of psc.

A text is read byte by byte along a form: an array of strings that differ, an object of such, an array of such, a choice. The values
that an item can still become are tried one by one. Where strings are endless, some that no text of the tests has stand for others.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.support.json_schema.scalar_oracle import Scalars

_SHORT = {'"': b'\\"', "\\": b"\\\\", "/": b"\\/", "\b": b"\\b", "\f": b"\\f", "\n": b"\\n", "\r": b"\\r", "\t": b"\\t"}
_SPACE = b" \t\n\r"


@dataclass(frozen=True)
class Strings:
    """Strings that a schema is true of."""

    schema: dict[str, Any]
    holds: Callable[[str], bool]
    letters: str
    """Of its values; others are like them."""
    longest: int
    """Ends of that many letters are tried."""
    count: int | None
    """How many there are; None for more than any array has."""
    tails: tuple[str, ...] = ("",)
    """What ends may end with besides."""

    def spells(self, letter: str, piece: bytes) -> bool:
        """Whether a spelling of a letter is one here: where a pattern says which strings there are, ASCII stands for itself."""
        return "pattern" not in self.schema or piece[1:2] != b"u" or not " " <= letter <= "~"

    def completions(self, begun: str) -> Iterator[str]:
        """Values that begin so."""
        for n in range(self.longest + 1):
            for letters in product(self.letters, repeat=n):
                for tail in self.tails:
                    value = begun + "".join(letters) + tail
                    if self.holds(value):
                        yield value


@dataclass(frozen=True)
class Array:
    """An array whose items differ."""

    strings: Strings | Scalars
    least: int = 0
    most: int | None = None

    @property
    def schema(self) -> dict[str, Any]:
        bounds = {"minItems": self.least} if self.least else {}
        bounds |= {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.strings.schema, "uniqueItems": True, **bounds}


@dataclass(frozen=True)
class Members:
    """An object with members in this order, all of them there."""

    members: tuple[tuple[str, Form], ...]

    @property
    def schema(self) -> dict[str, Any]:
        properties = {name: form.schema for name, form in self.members}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@dataclass(frozen=True)
class Many:
    """An array of anything else, at most two."""

    item: Form

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema, "maxItems": 2}


@dataclass(frozen=True)
class Either:
    """One of several."""

    forms: tuple[Form, ...]

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [form.schema for form in self.forms]}


Form = Array | Members | Many | Either


def viable(form: Form, text: bytes) -> bool:
    """Whether a text goes on to one of the form."""
    ends, alive = _read(form, text, 0)
    return alive or len(text) in ends


def complete(form: Form, text: bytes) -> bool:
    return len(text) in _read(form, text, 0)[0]


def _read(form: Form, text: bytes, at: int) -> tuple[set[int], bool]:
    """Where a text of the form that begins here may have ended, and whether the whole rest is the beginning of one."""
    if isinstance(form, Either):
        read = [_read(one, text, at) for one in form.forms]
        return set().union(*[ends for ends, _ in read]), any(alive for _, alive in read)
    if at == len(text):
        return set(), True
    if isinstance(form, Array):
        return _read_array(form, text, at)
    places: list[Form | bytes] = [b"{" if isinstance(form, Members) else b"["]
    if isinstance(form, Members):
        for i, (name, inner) in enumerate(form.members):
            places += [b"," if i else b"", f'"{name}"'.encode(), b":", inner]
        return _read_places([*places, b"}"], text, {at})
    ends, alive = _read_places([b"[", b"]"], text, {at})
    for n in (1, 2):
        more, alive_too = _read_places([b"[", form.item, *([b",", form.item] if n == 2 else []), b"]"], text, {at})
        ends, alive = ends | more, alive or alive_too
    return ends, alive


def _read_places(places: list[Form | bytes], text: bytes, ends: set[int]) -> tuple[set[int], bool]:
    alive = False
    for place in places:
        after: set[int] = set()
        for at in ends:
            if isinstance(place, bytes):
                # White space stands around marks, and before the first one there is none.
                spaced = at
                while place[:1] in b",:}]" and spaced < len(text) and text[spaced] in _SPACE:
                    spaced += 1
                rest = text[spaced:]
                if place.startswith(rest):
                    alive |= len(rest) < len(place) or not rest
                if rest.startswith(place):
                    end = spaced + len(place)
                    if place[:1] in b",:{[":
                        while end < len(text) and text[end] in _SPACE:
                            end += 1
                    after.add(end)
            else:
                more, alive_too = _read(place, text, at)
                after |= more
                alive |= alive_too
        ends = after
    return ends, alive


def _read_array(form: Array, text: bytes, at: int) -> tuple[set[int], bool]:
    strings, came = form.strings, set[Any]()

    def can_have(more: int) -> bool:
        """Whether so many items can come, and then as many as must."""
        n = len(came) + more
        wanted = max(form.least, n)
        most = wanted if form.most is None else form.most
        return wanted <= most and (strings.count is None or wanted <= strings.count)

    if text[at] != ord("["):
        return set(), False
    at += 1
    after_item = False
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if at == len(text):
            return set(), can_have(0) if after_item or not came else can_have(1)
        if text[at] == ord("]") and (after_item or not came):
            if len(came) >= form.least:
                return {at + 1}, False
            return set(), False
        if after_item:
            if text[at] != ord(",") or not can_have(1):
                return set(), False
            after_item = False
            at += 1
            while at < len(text) and text[at] in _SPACE:
                at += 1
            if at == len(text):
                return set(), can_have(1)
        if isinstance(strings, Scalars):
            end = strings.end(text, at)
            if end is None:
                return set(), can_have(1) and strings.can_become_another(text[at:], came)
            scalar = strings.value(text[at:end])
            if scalar is None or scalar in came or not can_have(1):
                return set(), False
            came.add(scalar)
            after_item = True
            at = end
            continue
        if text[at] != ord('"') or not can_have(1):
            return set(), False
        value, rest, end = _decoded(strings, text, at + 1)
        if value is None:
            return set(), False
        if end is None:
            return set(), _can_end(strings, value, rest, came)
        if value in came or not strings.holds(value):
            return set(), False
        came.add(value)
        after_item = True
        at = end


def _can_end(strings: Strings, begun: str, rest: bytes, came: set[str]) -> bool:
    """Whether a value that is none of those that came begins so."""
    if not rest:
        return any(value not in came for value in strings.completions(begun))
    return any(value not in came for letter in _characters_with(rest, strings) for value in strings.completions(begun + letter))


def _characters_with(rest: bytes, strings: Strings) -> Iterator[str]:
    """Characters of which a spelling begins so: those of the values, and some others."""
    for letter in {*strings.letters, *"".join(strings.tails), *_SHORT}:
        units = letter.encode("utf-16-be").hex()
        spelled = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)).encode()
        literal = letter.encode() if letter not in '"\\' and letter >= " " else b""
        short = _SHORT.get(letter, b"")
        if not strings.spells(letter, spelled):
            spelled = literal
        if literal.startswith(rest) or short.startswith(rest) or spelled.startswith(rest[:1] + rest[1:].lower()):
            yield letter
    for digit in b"017a":
        first = rest[:6].ljust(6, bytes([digit])) if len(rest) > 1 else b"\\u%c%c%c%c" % ((digit,) * 4)
        whole = rest + (first + b"\\udc%c%c" % (digit, digit))[len(rest) :]
        size = 12 if re.match(rb"\\u[dD][89abAB]", whole) else 6
        if rest[:1] == b"\\" and _is_escape(whole[:size]) and rest[1:2] in (b"u", b""):
            letter = _escaped(whole[:size])
            if strings.spells(letter, whole):
                yield letter
    if rest[0] >= 0x80:
        size = 2 if rest[0] < 0xE0 else 3 if rest[0] < 0xF0 else 4
        for ends in product((0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF), repeat=size - len(rest)):
            with contextlib.suppress(UnicodeDecodeError):
                yield (rest + bytes(ends)).decode()


def _decoded(strings: Strings, text: bytes, at: int) -> tuple[str | None, bytes, int | None]:
    """The characters of a string from here, the bytes of one that is not whole, and where it ends; None where it is no string."""
    value = ""
    while at < len(text):
        byte = text[at : at + 1]
        if byte == b'"':
            return value, b"", at + 1
        if byte == b"\\":
            size = 2
            if text[at + 1 : at + 2] == b"u":
                size = 6
                if re.match(rb"\\u[dD][89abAB]", text[at:]):
                    size = 12
            piece = text[at : at + size]
            if not _is_escape(piece):
                return None, b"", None
            if len(piece) < size:
                return value, piece, None
            if not strings.spells(_escaped(piece), piece):
                return None, b"", None
            value += _escaped(piece)
        elif byte < b" ":
            return None, b"", None
        else:
            size = 1 if byte < b"\x80" else 2 if byte < b"\xe0" else 3 if byte < b"\xf0" else 4
            piece = text[at : at + size]
            if len(piece) < size:
                return value, piece, None
            try:
                value += piece.decode()
            except UnicodeDecodeError:
                return None, b"", None
        at += size
    return value, b"", None


def _is_escape(piece: bytes) -> bool:
    hexadecimal = rb"[0-9a-fA-F]"
    if len(piece) < 2:
        return True
    if b"?" in piece:  # which stands for what is missing
        return False
    if piece[1:2] != b"u":
        return piece[1:2] in b'"\\/bfnrt'
    whole = piece.ljust(12, b"?") if re.match(rb"\\u[dD][89abAB]", piece) else piece.ljust(6, b"?")
    any_digit = rb"(?:" + hexadecimal + rb"|\?)"
    low = rb"(?:\\|\?)(?:u|\?)(?:[dD]|\?)(?:[c-fC-F]|\?)" + any_digit * 2
    if len(whole) == 12:
        return re.fullmatch(rb"\\u[dD][89abAB]" + any_digit * 2 + low, whole, re.DOTALL) is not None
    return re.fullmatch(rb"\\u(?:[0-9abcefABCEF?]" + any_digit + rb"|[dD](?:[0-7]|\?))" + any_digit * 2, whole) is not None


def _escaped(piece: bytes) -> str:
    if piece[1:2] != b"u":
        return {v: k for k, v in _SHORT.items()}[piece]
    units = bytes.fromhex(piece.replace(b"\\u", b"").decode())
    return units.decode("utf-16-be")
