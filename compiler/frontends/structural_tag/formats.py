"""The formats of structural tags: a class for each, with XGrammar's names, fields and defaults, and the bounds of each field.

This is the only declaration of them. From it follow the objects that programs make (`psc.tool_calls.structural_tag`), the checked
reading of a document (`reader`), and what `rules` may rely on. Which text each format matches: docs/structural-tags.md.

A field of these is as wide as XGrammar's class has it. What a document still may not say, because no text could be meant by
it, is a note beside the type, see :class:`Note`: an object may have it for a time, while it is put together.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from psc.errors import InvalidStructuralTagError
from psc.support.checked_record import CheckedRecord, Within

__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
    "OptionalFormat",
    "OrFormat",
    "PlusFormat",
    "QwenXMLParameterFormat",
    "RegexFormat",
    "RepeatFormat",
    "SequenceFormat",
    "StarFormat",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "TokenDispatchFormat",
    "TokenFormat",
    "TokenTriggeredTagsFormat",
    "TriggeredTagsFormat",
]


class Note(Enum):
    """What a document must keep to, beside the type of a field."""

    FILLED = auto()
    """A text or a list must not be empty."""
    TOKEN = auto()
    """A token may be written as a format ``token``, too."""
    SCHEMA = auto()
    """A JSON schema, as text."""


_T = TypeVar("_T")
Filled = Annotated[_T, Note.FILLED]
Text = Filled[str]
Token = Annotated[int | str, Note.TOKEN]
"""By its id, or by its text in the vocabulary."""
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
        if "type" in cls.__dict__:
            Format.by_type[cls.__dict__["type"]] = cls

    @classmethod
    def class_of(cls, given: Mapping[str, Any], path: str) -> builtins.type[Self]:
        """The class that ``type`` says, where a field may be any format."""
        if cls is not Format:
            return cls
        if "type" not in given:
            raise InvalidStructuralTagError(f"{path}.type: is missing; it says which format this is")
        named = given["type"]
        chosen = Format.by_type.get(named) if isinstance(named, str) else None
        if chosen is None:
            raise InvalidStructuralTagError(f"{path}.type: must be one of {', '.join(Format.by_type)}, not {named!r}")
        return chosen  # type: ignore[return-value]


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
    excludes: list[Text] = field(default_factory=list)
    """Texts that no string without pattern or format, and no member's name, may contain as it is spelled."""


@dataclass(init=False, kw_only=True)
class AnyTextFormat(Format):
    """Any text without the excluded ones, and inside a tag without the tag's end."""

    type: Literal["any_text"] = "any_text"
    excludes: list[Text] = field(default_factory=list)
    max_tokens: Count | None = None
    max_chars: Count | None = None
    """Code points."""


@dataclass(init=False, kw_only=True)
class TokenFormat(Format):
    """One token, by its id or its text in the vocabulary."""

    type: Literal["token"] = "token"
    token: Token


@dataclass(init=False, kw_only=True)
class ExcludeTokenFormat(Format):
    """One token that is not listed."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[Token] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class AnyTokensFormat(Format):
    """Any number of tokens that are not listed."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[Token] = field(default_factory=list)
    max_tokens: Count | None = None


@dataclass(init=False, kw_only=True)
class GrammarFormat(Format):
    """A text of an EBNF grammar, or of a bundled one, by its name."""

    type: Literal["grammar"] = "grammar"
    grammar: Text


@dataclass(init=False, kw_only=True)
class RegexFormat(Format):
    """A text that a regular expression matches as a whole."""

    type: Literal["regex"] = "regex"
    pattern: Text


@dataclass(init=False, kw_only=True)
class SequenceFormat(Format):
    """The elements, one after the other."""

    type: Literal["sequence"] = "sequence"
    elements: Filled[list[Format]]


@dataclass(init=False, kw_only=True)
class OrFormat(Format):
    """One of the elements."""

    type: Literal["or"] = "or"
    elements: Filled[list[Format]]


@dataclass(init=False, kw_only=True)
class TagFormat(Format):
    """A begin, the content, and an end: each a text or a token. Of a list of ends, which are texts, any one."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | Filled[list[str]] | TokenFormat


@dataclass(init=False, kw_only=True)
class TriggeredTagsFormat(Format):
    """Free text in which a trigger begins a tag."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: Filled[list[Text]]
    tags: Filled[list[TagFormat]]
    at_least_one: bool = False
    """Whether the text must start with a tag."""
    stop_after_first: bool = False
    """Whether the first tag ends the text."""
    excludes: list[Text] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class TokenTriggeredTagsFormat(Format):
    """Free tokens among which a token begins a tag."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: Filled[list[Token]]
    tags: Filled[list[TagFormat]]
    exclude_tokens: list[Token] = field(default_factory=list)
    at_least_one: bool = False
    stop_after_first: bool = False


@dataclass(init=False, kw_only=True)
class TagsWithSeparatorFormat(Format):
    """Tags with the separator between two of them, and nothing else."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: Filled[list[TagFormat]]
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
    """Free text in which, behind the text of a rule, the rule's format follows. A rule is a text and a format."""

    type: Literal["dispatch"] = "dispatch"
    rules: Filled[list[tuple[Text, Format]]]
    loop: bool = True
    """Whether free text continues after a rule; else the first rule ends the text."""
    excludes: list[Text] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class TokenDispatchFormat(Format):
    """Free tokens among which, behind the token of a rule, the rule's format follows. A rule is a token and a format."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: Filled[list[tuple[Token, Format]]]
    loop: bool = True
    exclude_tokens: list[Token] = field(default_factory=list)


@dataclass(init=False, kw_only=True)
class QwenXMLParameterFormat(Format):
    """The older spelling of a ``JSONSchemaFormat`` with the style ``"qwen_xml"``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]
