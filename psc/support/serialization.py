"""JSON text with a version and a kind: the form in which grammars, vocabularies and compiled grammars travel as strings.

A document is one JSON object. ``__VERSION__`` is the version of psc's formats, and ``kind`` says what the object describes, so that
a grammar handed over where a vocabulary was meant is refused by name. The version is looked at before anything else, because what
the rest means depends on it.

Cost: that of ``json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from psc.errors import DeserializeFormatError, DeserializeVersionError, InvalidJSONError
from psc.support.limits import limit

SERIALIZATION_VERSION: Final = "psc-1"
_VERSION_KEY: Final = "__VERSION__"


def bounded_json(data: bytes, most_values: int = limit("json_values")) -> Any:
    """Parses JSON that came from anywhere: a byte of it can become sixty in memory, so the number of values is bounded first.

    Args:
        data: the JSON.
        most_values: that it may have. Commas and brackets in strings count as well.

    Raises:
        ValueError: it is not JSON, or has more values.
        RecursionError: it is nested too deep.
    """
    n_values = sum(map(data.count, (b",", b"[", b"{")))
    if n_values > most_values:
        raise ValueError(f"JSON of {n_values:,} values; at most {most_values:,} are read")
    return json.loads(data)


def get_serialization_version() -> str:
    """The version that ``serialize_json`` writes and ``deserialize_json`` reads."""
    return SERIALIZATION_VERSION


def write_document(kind: str, content: Mapping[str, Any]) -> str:
    """One line of JSON; the same content gives the same text."""
    return json.dumps({_VERSION_KEY: SERIALIZATION_VERSION, "kind": kind, **content}, separators=(",", ":"), ensure_ascii=False)


def read_object(text: str, what: str) -> dict[str, Any]:
    """Parses a JSON object.

    Args:
        text: the JSON text.
        what: what it should describe, for messages.

    Raises:
        InvalidJSONError: it is not JSON.
        DeserializeFormatError: it is JSON of another kind than an object.
        TypeError: it is not a ``str``.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what}: expected a str of JSON, not {type(text).__name__}")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InvalidJSONError(f"{what}: not JSON: {str(e) or type(e).__name__}") from e
    if not isinstance(parsed, dict):
        raise DeserializeFormatError(f"{what}: expected a JSON object, not {type(parsed).__name__}")
    return parsed


def read_document(text: str, kind: str) -> dict[str, Any]:
    """Parses what :func:`write_document` wrote, without its version and kind.

    Raises:
        InvalidJSONError: it is not JSON.
        DeserializeVersionError: it has no version, or another one.
        DeserializeFormatError: it is not an object, or describes something else.
    """
    document = read_object(text, f"serialized {kind}")
    version = document.pop(_VERSION_KEY, None)
    if version != SERIALIZATION_VERSION:
        found = "no __VERSION__" if version is None else f"version {version!r}"
        raise DeserializeVersionError(
            f"serialized {kind}: {found}, where this release of psc reads {SERIALIZATION_VERSION!r}; serialize it again"
        )
    found_kind = document.pop("kind", None)
    if found_kind != kind:
        raise DeserializeFormatError(f"serialized {kind}: this is a serialized {found_kind or 'object without a kind'}")
    return document


def field(document: Mapping[str, Any], key: str, expected: type | tuple[type, ...], what: str) -> Any:
    """One entry of a document.

    Raises:
        DeserializeFormatError: it is missing or of another type; a bool is not an int here.
    """
    if key not in document:
        raise DeserializeFormatError(f"{what}: {key!r} is missing")
    value = document[key]
    types = expected if isinstance(expected, tuple) else (expected,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise DeserializeFormatError(
            f"{what}: {key!r} is {type(value).__name__}, where {' or '.join(t.__name__ for t in types)} was expected"
        )
    return value


def int_list(document: Mapping[str, Any], key: str, what: str) -> list[int]:
    """An entry that is a list of integers. Raises DeserializeFormatError."""
    value: list[Any] = field(document, key, list, what)
    if not set(map(type, value)) <= {int}:
        raise DeserializeFormatError(f"{what}: {key!r} must hold integers only")
    return value
