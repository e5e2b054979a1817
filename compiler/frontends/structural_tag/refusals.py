"""What is wrong with a document: the path and what must be there, also in XGrammar's words, which programs look for in messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from psc.errors import GrammarError, InvalidStructuralTagError

_MAX_PATH: Final = 300

DOCUMENT: Final = "Structural tag must be an object"
DOCUMENT_TYPE: Final = 'Structural tag\'s type must be a string "structural_tag"'
DOCUMENT_FORMAT: Final = "Structural tag must have a format field"
FORMAT: Final = "Format must be an object"
FORMAT_TYPE: Final = "Format's type must be a string"

_TITLES: Final = {
    "sequence": "Sequence format",
    "or": "Or format",
    "tag": "Tag format",
    "triggered_tags": "Triggered tags format",
    "tags_with_separator": "Tags with separator format",
    "token_triggered_tags": "TokenTriggeredTagsFormat",
    "dispatch": "TagDispatch format",
    "token_dispatch": "TokenTagDispatch format",
    "optional": "Optional format",
    "plus": "Plus format",
    "star": "Star format",
    "repeat": "Repeat format",
}
_FIELDS: Final[Mapping[tuple[str, str], str]] = {
    ("const_string", "value"): "ConstString format must have a value field with a string",
    ("json_schema", "json_schema"): "JSON schema format must have a json_schema field with a object or boolean value",
    ("json_schema", "excludes"): "JSONSchema format's excludes must be an array of non-empty strings",
    ("grammar", "grammar"): "Grammar format must have a grammar field with a non-empty string",
    ("regex", "pattern"): "Regex format must have a pattern field with a non-empty string",
    ("any_text", "excludes"): "AnyText format's excluded_strs array must contain strings",
    ("tag", "begin"): "Tag format's begin field must be a string",
    ("tag", "end"): "Tag format's end field must be a string or array of strings",
    ("tags_with_separator", "separator"): "Tags with separator format's separator field must be a string",
    ("token", "token"): "TokenFormat must have a token field",
    ("repeat", "min"): "Repeat format must have a min field (number)",
    ("repeat", "max"): "Repeat format must have a max field (number)",
}
_LISTS: Final = frozenset({"elements", "triggers", "tags", "rules"})
_OF_ANY_FORMAT: Final = {
    **dict.fromkeys(("any_order", "at_least_one", "stop_after_first", "loop"), "must be a boolean"),
    **dict.fromkeys(("max_chars", "max_tokens"), "must be a non-negative 32-bit integer"),
}


def required(kind: object, key: str, given: object) -> str | None:
    """What a field must be, to be said where it is not; None: XGrammar has no words for it.

    Args:
        kind: the type of the format.
        key: the field.
        given: what it is; None where it is missing.
    """
    if key in _OF_ANY_FORMAT:
        return f"{key} {_OF_ANY_FORMAT[key]}"
    if not isinstance(kind, str):
        return None
    title = _TITLES.get(kind)
    if kind == "tag" and key == "end" and given is None:
        return "Tag format must have an end field"
    if title is None or (kind, key) in _FIELDS:
        return _FIELDS.get((kind, key))
    if key == "content":
        return f"{title} must have a content field"
    return _required_list(title, key, given) if key in _LISTS else None


def _required_list(title: str, key: str, given: Any) -> str | None:
    if not isinstance(given, list):
        return f"{title} must have {'an' if key == 'elements' else 'a'} {key} field with an array"
    if key == "triggers":
        return f"{title}'s triggers must be non-empty strings"
    if given:
        return None  # an item is wrong
    return f"{title} must have at least one element" if key == "elements" else f"{title}'s {key} must be non-empty"


def refuse(path: str, problem: str) -> NoReturn:
    """Raises the error that says what is wrong where."""
    raise InvalidStructuralTagError(f"{shortened(path)}: {problem}")


def shortened(path: str) -> str:
    """A path as messages have it."""
    return path if len(path) <= _MAX_PATH else f"{path[: _MAX_PATH // 2]}…{path[-_MAX_PATH // 2 :]}"


def shown(value: object) -> str:
    """A value of a document as messages have it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def behind(begin: object, error: GrammarError) -> GrammarError:
    """The error about a schema, with the begin of the tag that it is in: for a tool's call that has the tool's name."""
    said = str(error).replace("lenient=True leaves it out", "leave it out of the schema")  # a tag has no such option
    return error.reworded(f"{said} (behind {shown(begin)})" if isinstance(begin, str) and begin else said)


def made_behind(begin: object, made: Callable[[], GrammarError]) -> GrammarError:
    """The same of an error that is made when it is needed."""
    return behind(begin, made())
