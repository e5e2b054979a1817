"""The fields of a request's body: their types and ranges, and which ones there are.

A field that would change the text and is not enforced is refused by name. A server that ignored it would answer 200 with text that
nothing constrains.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openai_api.errors import ApiError
from psc.support.readable import shortened

MOST_BYTES = 4 << 20
"""Of a body."""

_HONOURED = frozenset(
    {
        *("model", "messages", "prompt", "response_format", "tools", "tool_choice", "parallel_tool_calls"),
        *("structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar"),
        *("json_schema", "regex", "ebnf", "grammar", "structural_tag"),
        *("max_tokens", "max_completion_tokens", "stop", "n", "seed", "stream", "stream_options"),
        *("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
    }
)
_WITHOUT_EFFECT = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"}
"""Fields that say nothing of the text: they may hold anything."""

_OFF: dict[str, tuple[Any, ...]] = {
    "echo": (False,),
    "best_of": (1,),
    "suffix": ("",),
    "modalities": (["text"],),
    "top_k": (-1, 0),
    "min_p": (0,),
    "min_tokens": (0,),
    "repetition_penalty": (1,),
    "ignore_eos": (False,),
    "skip_special_tokens": (True,),
    "chat_template_kwargs": ({}, {"enable_thinking": False}),
}

_INSTEAD = {
    "functions": "use tools",
    "function_call": "use tool_choice",
    "guided_whitespace_pattern": "use structured_outputs.disable_any_whitespace",
    "guided_decoding_backend": "every grammar is psc's",
}


@dataclass(frozen=True)
class Fields:
    """The fields of a body: of one of the endpoints."""

    honoured: frozenset[str]
    off: Mapping[str, tuple[Any, ...]]
    """Fields that the server does not have, with the values that ask for nothing."""
    instead: Mapping[str, str]
    """What to do without one that it does not have."""


COMPLETIONS = Fields(_HONOURED, _OFF, _INSTEAD)


def parsed(body: bytes) -> dict[str, Any]:
    """The body as a dictionary. Raises ApiError where it is none."""
    try:
        read = json.loads(body, parse_constant=_refuse_constant)
    except ValueError as e:
        raise ApiError(f"the body is not JSON: {e}", code="invalid_json") from e
    except RecursionError as e:
        raise ApiError("the body is nested too deeply", code="invalid_json") from e
    if not isinstance(read, dict):
        raise ApiError(f"the body must be a JSON object, not {_json_type(read)}", code="invalid_json")
    return read


def check_known(body: dict[str, Any], fields: Fields = COMPLETIONS) -> None:
    """Raises ApiError for a field that the server does not have."""
    for name, value in body.items():
        if name in fields.honoured or name in _WITHOUT_EFFECT or value is None or _is_off(fields.off.get(name, ()), value):
            continue
        what = "is not supported by this server" if name in fields.off or name in fields.instead else "is not known to this server"
        raise ApiError(
            f"{shortened(name)} {what}, so it cannot be enforced; {fields.instead.get(name, 'leave it out')}",
            name,
            code="unsupported_parameter",
        )


def check_only(given: dict[str, Any], known: set[str], param: str) -> None:
    """Raises ApiError for a member of an object that is not among the known ones."""
    for name, value in given.items():
        if name not in known and value is not None:
            raise ApiError(
                f"{param}.{shortened(name)} is not supported by this server, so it cannot be enforced; "
                f"it takes {', '.join(sorted(known))}",
                f"{param}.{name}",
                code="unsupported_parameter",
            )


def field(body: dict[str, Any], name: str, default: Any, kind: type, *, within: str = "") -> Any:
    """A field, of a type; the default where it is missing or null. ``within`` is the path of the object that has it."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        path = f"{within}.{name}" if within else name
        raise ApiError(f"{path} must be of type {_JSON_TYPES[kind]}, not {_json_type(value)}", path, code="invalid_type")
    return value


def number(body: dict[str, Any], name: str, default: Any, kind: type, least: float, most: float) -> Any:
    """A number within its range."""
    value = body.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        body = {name: float(value)} if abs(value) < 1 << 53 else body
    value = field(body, name, default, kind)
    if value is not None and not least <= value <= most:
        raise ApiError(f"{name}={shortened(str(value))}: it must be from {least} to {most}", name, code="invalid_value")
    return value


def text(value: str, name: str) -> str:
    """A text of whole characters; JSON can spell others."""
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise ApiError(f"{name} is no text: it has half of a surrogate pair at character {e.start}", name) from e
    return value


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def _json_type(value: object) -> str:
    return _JSON_TYPES[type(value)]


def _is_off(offs: tuple[Any, ...], value: object) -> bool:
    return any(value == off and type(value) in (type(off), float) for off in offs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
