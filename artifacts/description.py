"""The types of the entries in an artifact's metadata, checked once when the artifact is loaded.

A file whose checksums are right may still hold anything. Later code relies on this check: a missing name, or a list instead of a
text, is an :class:`~psc.errors.ArtifactError` when loading, and no foreign error in the middle of an explanation.

Cost: linear in the number of terminals and productions, some microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psc.errors import ArtifactError

Shape = type | tuple["Shape", ...] | list["Shape"] | dict[str, "Shape"]
"""A type; a tuple of shapes, one of which holds; a list of one, that of all elements; or entries that a mapping has at least."""

_TERMINAL: Shape = {"name": str, "pattern": str, "text": (str, type(None)), "flags": str, "ignored": bool}
_METADATA: Shape = {
    "grammar": {
        "name": str,
        "text": str,
        "language": str,
        "start": str,
        "lexer": str,
        "keep_all_actions": bool,
        "terminals": [_TERMINAL],
        "nonterminals": [str],
        "productions": [str],
    },
    "tokenizer": {"name": str, "fingerprint": str, "vocab_size": int, "stop_token_ids": [int]},
}


def check_description(metadata: Mapping[str, Any], origin: str) -> None:
    """Raises ArtifactError, with the first entry that is wrong, unless the metadata describe a grammar and a tokenizer."""
    wrong = _first_wrong(metadata, _METADATA, "")
    if wrong is None and not isinstance(metadata["tokenizer"].get("text_fingerprint", ""), str):  # not every artifact has one
        wrong = "tokenizer.text_fingerprint is no str"
    if wrong is not None:
        raise ArtifactError(f"{origin}: the metadata is malformed: {wrong}; compile the grammar again")


def _first_wrong(value: object, shape: Shape, name: str) -> str | None:
    if isinstance(shape, dict):
        if not isinstance(value, Mapping):
            return f"{name or 'all of it'} is no object"
        for key, of in shape.items():
            entry = f"{name}.{key}" if name else key
            if key not in value:
                return f"{entry} is missing"
            if wrong := _first_wrong(value[key], of, entry):
                return wrong
        return None
    if isinstance(shape, list):
        if not isinstance(value, (list, tuple)):
            return f"{name} is no list"
        return next((wrong for i, v in enumerate(value) if (wrong := _first_wrong(v, shape[0], f"{name}[{i}]"))), None)
    if isinstance(shape, tuple):
        return None if any(_first_wrong(value, one, name) is None for one in shape) else f"{name} is of another type"
    if type(value) is not shape:
        return f"{name} is no {shape.__name__}"
    return f"{name} has half of a surrogate pair" if isinstance(value, str) and not _is_text(value) else None


def _is_text(value: str) -> bool:
    """Whether it can be written: JSON can have half of a surrogate pair, and no encoding has."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
