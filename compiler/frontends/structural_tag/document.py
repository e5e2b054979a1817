"""The text of a structural tag as JSON values, in which schemas stay text.

A document can hold a hundred schemas, which another front end reads, and which mean what they say to the last digit: so they are
kept as they are written, and only skipped here. All else is read without recursion, so that nesting is no matter.

Most documents are not deep, and have no number in a schema that Python would write otherwise. These are read by Python's scanner at
once, and their schemas written again.

Cost: 10 ns a byte, and 20 where schemas are written again; where that does not do, a microsecond a value.
"""

from __future__ import annotations

import json
import json.decoder
import re
from dataclasses import dataclass
from typing import Any, Final

from psc.errors import InvalidJSONError, InvalidStructuralTagError

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SCHEMAS: Final = frozenset({"json_schema", "schema"})
"""Keys whose values are kept as text."""
_scan: Final[Any] = json.JSONDecoder(parse_constant=lambda name: _no_json(f"{name} is no value of JSON")).__dict__["scan_once"]
_scan_string: Final[Any] = json.decoder.__dict__["scanstring"]


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it is written."""

    text: str


def read_document(text: str) -> Any:
    """The value that JSON text stands for, with a `SchemaText` for each schema.

    Raises:
        InvalidJSONError: it is not JSON.
        InvalidStructuralTagError: a schema is nested too deep to be skipped.
    """
    try:
        return _with_schema_texts(_PLAIN.decode(text))
    except (_NotPlain, RecursionError, ValueError):
        pass  # what is wrong, if anything is, is told below
    try:
        return _Reader(text).read()
    except RecursionError:
        raise InvalidStructuralTagError("a schema in the structural tag is nested too deep") from None
    except StopIteration as e:
        raise InvalidJSONError(f"Failed to parse JSON: a value is expected at character {e.value}") from None
    except json.JSONDecodeError as e:
        raise InvalidJSONError(f"Failed to parse JSON: {e}") from None


class _NotPlain(Exception):
    """A document is not one that can be read at once."""


def _not_plain(_: str) -> Any:
    raise _NotPlain


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _NotPlain
    return read


_PLAIN: Final = json.JSONDecoder(parse_float=_not_plain, parse_constant=_not_plain, object_pairs_hook=_without_duplicates)


def _with_schema_texts(value: Any) -> Any:
    """The value with a `SchemaText` for each schema. Raises RecursionError where it is deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _SCHEMAS:
                _with_schema_texts(inner)
            elif inner is not None and not isinstance(inner, str):
                value[key] = SchemaText(json.dumps(inner, ensure_ascii=False, separators=(",", ":")))
    elif isinstance(value, list):
        for inner in value:
            _with_schema_texts(inner)
    return value


def _no_json(problem: str) -> Any:
    raise InvalidJSONError(f"Failed to parse JSON: {problem}")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Any:
        """The value of the whole text."""
        text = self._text
        open_values: list[tuple[Any, str]] = []
        """Those that are being read, each with the key or "" at which the next one goes into it."""
        while True:
            self._skip_space()
            value: Any
            key = open_values[-1][1] if open_values else ""
            char = text[self._at : self._at + 1]
            if char in ("{", "[") and key not in _SCHEMAS:
                self._at += 1
                value = {} if char == "{" else []
                if not self._closes("}" if char == "{" else "]"):
                    open_values.append((value, self._key() if char == "{" else ""))
                    continue
            else:
                begin = self._at
                value, self._at = _scan(text, begin)
                if key in _SCHEMAS and not isinstance(value, str):
                    value = None if value is None else SchemaText(text[begin : self._at])
            while open_values:
                outer, key = open_values.pop()
                if isinstance(outer, dict):
                    outer[key] = value
                else:
                    outer.append(value)
                is_object = isinstance(outer, dict)
                if not self._closes("}" if is_object else "]"):
                    self._take(",")
                    open_values.append((outer, self._key() if is_object else ""))
                    break
                value = outer
            else:
                self._skip_space()
                if self._at < len(text):
                    _no_json(f"something follows the value, at character {self._at}")
                return value

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _closes(self, mark: str) -> bool:
        self._skip_space()
        if self._text[self._at : self._at + 1] != mark:
            return False
        self._at += 1
        return True

    def _take(self, mark: str) -> None:
        self._skip_space()
        if self._text[self._at : self._at + 1] != mark:
            _no_json(f"{mark!r} is expected at character {self._at}")
        self._at += 1

    def _key(self) -> str:
        self._take('"')
        key, self._at = _scan_string(self._text, self._at, True)
        self._take(":")
        return str(key)
