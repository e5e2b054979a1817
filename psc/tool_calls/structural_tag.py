"""Structural tags as Python objects: the classes of the formats, and of a whole document.

The objects say nothing that the JSON document does not say; `psc.GrammarCompiler.compile_structural_tag` takes either. They can be
changed after they are made, and two are equal if their fields are. Which text each format matches: docs/structural-tags.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from psc.compiler.frontends.structural_tag import formats
from psc.compiler.frontends.structural_tag.formats import *  # noqa: F403 (the classes of the formats)
from psc.compiler.frontends.structural_tag.formats import Format, JSONSchemaFormat, TagFormat, TriggeredTagsFormat
from psc.compiler.frontends.structural_tag.formats import Style as Style
from psc.errors import InvalidJSONError, InvalidStructuralTagError
from psc.support.checked_record import CheckedRecord, Reading

__all__ = ["StructuralTag", "StructuralTagItem"]
__all__ += formats.__all__


@dataclass(init=False, kw_only=True)
class StructuralTagItem(CheckedRecord):
    """A tag of the older form: a begin, a JSON schema (text, dictionary, or a pydantic class) and an end."""

    given_as = {"schema_": "schema"}  # noqa: RUF012 (a constant of the class)
    begin: str
    schema_: str | bool | dict[str, Any] | type
    """Given as ``schema``."""
    end: str

    def schema_value(self) -> bool | dict[str, Any]:
        """The schema as the value that its JSON text is.

        Raises:
            InvalidJSONError: it is a text, and not JSON.
            InvalidStructuralTagError: it is a class without ``model_json_schema``, or no object.
        """
        given: object = self.schema_
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except ValueError as e:
                raise InvalidJSONError(f"StructuralTagItem: schema: the text is not JSON: {e}") from None
        elif isinstance(given, type):
            if not hasattr(given, "model_json_schema"):
                raise InvalidStructuralTagError(f"StructuralTagItem: schema: the class {given.__name__} has no model_json_schema()")
            given = given.model_json_schema()
        if not isinstance(given, (bool, dict)):
            raise InvalidStructuralTagError(f"StructuralTagItem: schema: must be an object, true or false, not {given!r}"[:200])
        return given


@dataclass(init=False, kw_only=True)
class StructuralTag(CheckedRecord):
    """A whole document: what an API's ``response_format`` of the type ``structural_tag`` says."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Format

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """The document of tags and triggers: free text in which a trigger begins a tag with a JSON value.

        Raises:
            InvalidStructuralTagError: a value has another type; InvalidJSONError: a schema is a text that is not JSON.
        """
        reading = Reading()
        items = [reading.read(StructuralTagItem, tag, f"tags[{i}]") for i, tag in enumerate(tags)]
        read = [
            TagFormat(begin=item.begin, content=JSONSchemaFormat(json_schema=item.schema_value()), end=item.end) for item in items
        ]
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=read))

    @staticmethod
    def from_json(json_str: str | Mapping[str, Any]) -> StructuralTag:
        """The document of JSON text or of a dictionary.

        Raises:
            InvalidJSONError: a ValueError; the text is not JSON.
            InvalidStructuralTagError: a ValueError; the document has another shape, or the argument another type. The message has
                the path, such as ``format.elements[1].tags[0].begin``.
        """
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        if isinstance(json_str, Mapping):
            return StructuralTag.model_validate(json_str)
        raise InvalidStructuralTagError(f"a structural tag must be JSON text or a dictionary, not {type(json_str).__name__}")
