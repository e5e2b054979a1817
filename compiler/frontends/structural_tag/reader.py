"""The value of a document to its format: a record of `formats`, each field checked; a message has the path of what is wrong.

A document differs from an object of a program in four ways. A format may leave out its ``type``, which is seen from its fields. A
schema is text that stays text, and says more of its layout than XGrammar's fields do. What a `Note` says must hold. And messages
add what XGrammar says of a field.

Cost: some microseconds a format.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeVar

from psc.compiler.frontends.structural_tag.document import SchemaText
from psc.compiler.frontends.structural_tag.formats import Format, JSONSchemaFormat, Note, TagFormat, TokenFormat
from psc.compiler.frontends.structural_tag.refusals import (
    DOCUMENT,
    DOCUMENT_FORMAT,
    DOCUMENT_TYPE,
    FORMAT,
    FORMAT_TYPE,
    refuse,
    required,
    shortened,
    shown,
)
from psc.errors import InvalidStructuralTagError
from psc.support.checked_record import MAX_NESTING, CheckedRecord, Reading

_Record = TypeVar("_Record", bound=CheckedRecord)


@dataclass(init=False, kw_only=True)
class SchemaInDocument(JSONSchemaFormat):
    """A schema as a document has it."""

    json_schema: Annotated[SchemaText, Note.SCHEMA]  # type: ignore[assignment]
    any_order: bool | None = None  # type: ignore[assignment]
    any_whitespace: bool | None = None
    separators: list[str] | None = None
    strict_mode: bool | None = None
    plain_integers: bool | None = None
    max_digits: int | None = None
    layout: ClassVar = frozenset(
        {"any_order", "max_whitespace_cnt", "any_whitespace", "separators", "strict_mode", "plain_integers", "max_digits"}
    )
    """Fields that are as if absent where they are null: then the settings of the request say how the value is written."""


@dataclass(init=False, kw_only=True)
class TagInDocument(TagFormat):
    """A tag of a list as a document has it."""

    spelled: Any
    """The tag itself; tags with equal begins are in the order of these."""


_BY_TYPE: Final = {**Format.by_type, "json_schema": SchemaInDocument, "qwen_xml_parameter": SchemaInDocument}
_BY_FIELDS: Final = (
    ("tag", {"begin", "content", "end"}),
    ("const_string", {"value"}),
    ("json_schema", {"json_schema"}),
    ("any_text", {"excludes"}),
    ("sequence", {"elements"}),
    ("triggered_tags", {"triggers", "tags"}),
    ("tags_with_separator", {"tags", "separator"}),
    ("optional", {"content"}),
)
"""Types with the fields that say so, in XGrammar's order."""


def read_format(document: Any) -> Format:
    """The format of a document; of one in the older form, the format that it stands for.

    Raises InvalidStructuralTagError with the path of what is wrong.
    """
    if not isinstance(document, dict):
        refuse("the document", DOCUMENT)
    if document.get("type", "structural_tag") != "structural_tag":
        refuse("type", f"must be 'structural_tag', not {repr(document['type'])[:100]}; {DOCUMENT_TYPE}")
    if "format" not in document and "structures" not in document and "triggers" not in document:
        refuse("format", f"is missing; {DOCUMENT_FORMAT}")
    given = document["format"] if "format" in document else _of_older_form(document)
    return _Reading().read(Format, given, "format")


def _of_older_form(document: dict[str, Any]) -> dict[str, Any]:
    structures = document.get("structures")
    if not isinstance(structures, list) or not structures:
        refuse("structures", "must be a list of objects with begin, schema and end, one at least")
    tags = []
    for i, item in enumerate(structures):
        if not isinstance(item, dict):
            refuse(f"structures[{i}]", "must be an object with begin, schema and end")
        schema = item.get("schema")
        if isinstance(schema, str):  # as text
            schema = SchemaText(schema.strip() or " ")
        content = {"type": "json_schema", "json_schema": SchemaText("{}") if schema is None else schema}
        tags.append({"type": "tag", "begin": item.get("begin"), "content": content, "end": item.get("end")})
    rest: dict[str, Any] = {key: document[key] for key in ("at_least_one", "stop_after_first", "excludes") if key in document}
    return {"type": "triggered_tags", "triggers": document.get("triggers"), "tags": tags, **rest}


class _Reading(Reading):
    too_deep = f"formats are nested deeper than {MAX_NESTING:,}, which is the limit"

    def choose(self, cls: type[_Record], given: Mapping[str, Any], path: str) -> tuple[type[_Record], Mapping[str, Any]]:
        if cls is TagFormat:
            return TagInDocument, {**given, "spelled": given}  # type: ignore[return-value]
        if cls is TokenFormat and "type" not in given:
            raise self.wrong(path, "must be a text or a token", given)
        if cls is not Format:
            return cls, given
        kind = given["type"] if "type" in given else _kind_by_fields(given, path)
        if not isinstance(kind, str):
            refuse(f"{path}.type", f"must be text, not {shown(kind)}; {FORMAT_TYPE}")
        if kind not in _BY_TYPE:
            close = difflib.get_close_matches(kind[:60], _BY_TYPE, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(_BY_TYPE))}"
            refuse(f"{path}.type", f"there is no format {shown(kind)}; {hint}. Format type not recognized: {shortened(kind)}")
        chosen = _BY_TYPE[kind]
        if chosen is SchemaInDocument:
            given = {key: value for key, value in given.items() if value is not None or key not in SchemaInDocument.layout}
            if kind == "qwen_xml_parameter":
                given |= {"type": "json_schema", "style": "qwen_xml"}
        return chosen, given

    def noted(self, note: object, value: Any, path: str) -> tuple[Any, str]:
        if note is Note.FILLED and value in ("", []):
            raise self.refusal(path, "must not be empty")
        if note is Note.SCHEMA and not (isinstance(value, SchemaText) and value.text[0] in "{tf"):
            raise self.refusal(path, "a schema must be an object, true or false")
        while note is Note.TOKEN and isinstance(value, dict) and value.get("type") == "token":
            value, path = value.get("token"), f"{path}.token"
        return value, path

    def no_record(self, cls: type[CheckedRecord], given: object, path: str) -> InvalidStructuralTagError:
        return InvalidStructuralTagError(f"{shortened(path)}: {FORMAT}, not {shown(given)}")

    def refusal(self, path: str, problem: str) -> InvalidStructuralTagError:
        words = required(getattr(self.record, "type", None), self.key, self.given.get(self.key))
        return InvalidStructuralTagError(f"{shortened(path)}: {problem}" + (f"; {words}" if words else ""))

    def shown(self, value: object) -> str:
        return shown(value)


def _kind_by_fields(given: Mapping[str, Any], path: str) -> str:
    for kind, needed in _BY_FIELDS:
        if needed <= given.keys() and not (kind == "any_text" and given.keys() & {"triggers", "rules"}):
            return kind
    if isinstance(rules := given.get("rules"), list):
        is_text = all(isinstance(rule, list) and rule and isinstance(rule[0], str) for rule in rules)
        return "dispatch" if is_text else "token_dispatch"
    refuse(f"{path}.type", "is missing, and no format has these fields. Invalid format")
