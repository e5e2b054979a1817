"""The text of a structural tag as JSON values, in which schemas stay text.

A document can hold a hundred schemas, which another front end reads, and which mean what they say to the last digit: so they stay
as they are written, without white space. The native core reads a text once, for the values and for the text of its key.

The validation of a request, its key and its compilation each ask for the document, one soon after the other: the last few are
cached. They are not to be changed.

Cost: some 10 ns a byte; nesting costs no stack.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from psc import _core
from psc.compiler.frontends.front_end import check_text
from psc.compiler.frontends.structural_tag.refusals import refuse
from psc.errors import GrammarError, InvalidJSONError, InvalidStructuralTagError, ResourceLimitError

_SCHEMAS = ["json_schema", "schema"]
"""Keys whose values stay text."""
_MAX_CACHED = 8


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it is written, or other text of JSON."""

    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read."""

    value: Any
    """What it stands for, with a `SchemaText` for each schema; whole numbers are integers, however they are spelled."""
    canonical: str
    """The text without white space, as `psc.compiler.frontends.json_schema.front_end.canonical` has it."""

    def parts(self) -> list[Any]:
        """All values in the document but those of its schemas."""
        parts = [self.value]
        for value in parts:
            if isinstance(value, dict):
                parts += value.values()
            elif isinstance(value, list):
                parts += value
        return parts

    def grammars(self) -> list[str]:
        """The texts of its formats that are grammars, or names of bundled ones."""
        return [part["grammar"] for part in self.parts() if _is_grammar(part)]

    def renamed(self, named: Callable[[str], str]) -> str:
        """The text without white space, with other texts of these formats."""
        pieces, todo = [], [self.value]
        while todo:  # nested deeper than Python's stack, a document is read all the same
            value = todo.pop()
            if isinstance(value, SchemaText):
                pieces.append(value.text)
            elif isinstance(value, dict):
                members = value | {"grammar": named(value["grammar"])} if _is_grammar(value) else value
                pairs = [(SchemaText(f"{json.dumps(key)}:"), member) for key, member in members.items()]
                todo += reversed(_joined("{", pairs, "}"))
            elif isinstance(value, list):
                todo += reversed(_joined("[", [(item,) for item in value], "]"))
            else:
                pieces.append(json.dumps(value))
        return "".join(pieces)


def _is_grammar(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "grammar" and isinstance(part.get("grammar"), str)


def _joined(begin: str, members: list[tuple[Any, ...]], end: str) -> list[Any]:
    between = [(SchemaText("," if i else ""), *member) for i, member in enumerate(members)]
    return [SchemaText(begin), *(value for member in between for value in member), SchemaText(end)]


@lru_cache(maxsize=_MAX_CACHED)
def read_document(text: str) -> Document:
    """The document that JSON text is.

    Raises:
        InvalidJSONError: it is not JSON.
        InvalidStructuralTagError: values are nested too deep, or a text has half of a surrogate pair.
        GrammarError: the JSON text itself has half of one.
    """
    text = check_text(text, "the structural tag")
    try:
        return Document(*_core.json_value(text, _SCHEMAS, SchemaText))
    except ResourceLimitError as e:
        raise InvalidStructuralTagError(str(e)) from None
    except GrammarError as e:
        _refuse_half_pairs(text)
        raise InvalidJSONError(f"Failed to parse JSON: {e}") from None


def _refuse_half_pairs(text: str) -> None:
    """Says which text of a document has half of a surrogate pair: this is JSON for Python, and for the core it is not."""
    try:
        values = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    for path, value in values:
        if isinstance(value, dict):
            values += [(f"{path}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list):
            values += [(f"{path}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            refuse(path[1:], "has half of a surrogate pair, which is no character; write both halves")
