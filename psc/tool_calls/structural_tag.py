"""Structural tags as Python objects: a class for each format, with XGrammar's names, fields and defaults.

The objects say nothing that the JSON document does not say; `psc.GrammarCompiler.compile_structural_tag` takes either. They can be
changed after they are made, and two are equal if their fields are. Which text each format matches: docs/structural-tags.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

from psc.errors import InvalidJSONError, InvalidStructuralTagError
from psc.tool_calls.checked_record import CheckedRecord, Within

Count = Annotated[int, Within(0, 2_147_483_647)]
Style = Literal[
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "deepseek_v4_1_xml",
]


@dataclass(init=False, kw_only=True)
class Format(CheckedRecord):
    """What a part of a text must look like; the class is one of those below, and ``type`` says which."""

    by_type: ClassVar[dict[str, type[Format]]] = {}
    """The classes by their ``type``."""
    type: str

    def __init_subclass__(cls) -> None:
        Format.by_type[cls.__dict__["type"]] = cls

    @classmethod
    def _read(cls, given: object, path: str) -> Self:
        if cls is Format and isinstance(given, Mapping):
            named = given.get("type")
            if "type" not in given:
                raise InvalidStructuralTagError(f"{path}.type: is missing; it says which format this is")
            found = Format.by_type.get(named) if isinstance(named, str) else None
            if found is None:
                raise InvalidStructuralTagError(f"{path}.type: must be one of {', '.join(Format.by_type)}, not {named!r}")
            return found._read(given, path)  # type: ignore[return-value]
        return super()._read(given, path)


@dataclass(init=False, kw_only=True)
class ConstStringFormat(Format):
    """This text."""

    type: Literal["const_string"] = "const_string"
    value: str


@dataclass(init=False, kw_only=True)
class JSONSchemaFormat(Format):
    """A value that fits a JSON schema, as JSON or as a list of parameters in one of the models' styles."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, Any]
    style: Style = "json"
    any_order: bool = False
    """Whether members may come in any order."""
    max_whitespace_cnt: int | None = None
    """How much white space there may be at one place; None is no limit."""
    excludes: list[str] = field(default_factory=list)
    """Texts that no string without pattern or format, and no member's name, may contain as it is spelled."""


@dataclass(init=False, kw_only=True)
class AnyTextFormat(Format):
    """Any text without the excluded ones, and inside a tag without the tag's end."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = field(default_factory=list)
    max_tokens: Count | None = None
    max_chars: Count | None = None
    """Code points."""


@dataclass(init=False, kw_only=True)
class TokenFormat(Format):
    """One token, by its id or its text in the vocabulary."""

    type: Literal["token"] = "token"
    token: int | str


@dataclass(init=False, kw_only=True)
class ExcludeTokenFormat(Format):
    """One token that is not listed."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[int | str] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class AnyTokensFormat(Format):
    """Any number of tokens that are not listed."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[int | str] = field(default_factory=list)
    max_tokens: Count | None = None


@dataclass(init=False, kw_only=True)
class GrammarFormat(Format):
    """A text of an EBNF grammar, or of a bundled one, by its name."""

    type: Literal["grammar"] = "grammar"
    grammar: str


@dataclass(init=False, kw_only=True)
class RegexFormat(Format):
    """A text that a regular expression matches as a whole."""

    type: Literal["regex"] = "regex"
    pattern: str


@dataclass(init=False, kw_only=True)
class SequenceFormat(Format):
    """The elements, one after the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]


@dataclass(init=False, kw_only=True)
class OrFormat(Format):
    """One of the elements."""

    type: Literal["or"] = "or"
    elements: list[Format]


@dataclass(init=False, kw_only=True)
class TagFormat(Format):
    """A begin, the content, and an end; of several ends any one."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


@dataclass(init=False, kw_only=True)
class TriggeredTagsFormat(Format):
    """Free text in which a trigger begins a tag."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    """Whether the text must start with a tag."""
    stop_after_first: bool = False
    """Whether the first tag ends the text."""
    excludes: list[str] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class TokenTriggeredTagsFormat(Format):
    """Free tokens among which a token begins a tag."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[int | str]
    tags: list[TagFormat]
    exclude_tokens: list[int | str] = field(default_factory=list)
    at_least_one: bool = False
    stop_after_first: bool = False


@dataclass(init=False, kw_only=True)
class TagsWithSeparatorFormat(Format):
    """Tags with the separator between two of them, and nothing else."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


@dataclass(init=False, kw_only=True)
class OptionalFormat(Format):
    """The content once or not at all."""

    type: Literal["optional"] = "optional"
    content: Format


@dataclass(init=False, kw_only=True)
class PlusFormat(Format):
    """The content once or more often."""

    type: Literal["plus"] = "plus"
    content: Format


@dataclass(init=False, kw_only=True)
class StarFormat(Format):
    """The content any number of times."""

    type: Literal["star"] = "star"
    content: Format


@dataclass(init=False, kw_only=True)
class RepeatFormat(Format):
    """The content ``min`` to ``max`` times; a maximum of -1 is no limit."""

    type: Literal["repeat"] = "repeat"
    min: int
    max: int
    content: Format


@dataclass(init=False, kw_only=True)
class DispatchFormat(Format):
    """Free text in which, behind the text of a rule, the rule's format follows."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    """Whether free text goes on after a rule; else the first rule ends the text."""
    excludes: list[str] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class TokenDispatchFormat(Format):
    """Free tokens among which, behind the token of a rule, the rule's format follows."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[int | str, Format]]
    loop: bool = True
    exclude_tokens: list[int | str] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class QwenXMLParameterFormat(Format):
    """The older spelling of a ``JSONSchemaFormat`` with the style ``"qwen_xml"``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]


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
        items = [StructuralTagItem._read(tag, f"tags[{i}]") for i, tag in enumerate(tags)]
        formats = [
            TagFormat(begin=item.begin, content=JSONSchemaFormat(json_schema=item.schema_value()), end=item.end) for item in items
        ]
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=formats))

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


__all__ = [*sorted({c.__name__ for c in Format.by_type.values()}), "Format", "StructuralTag", "StructuralTagItem"]
