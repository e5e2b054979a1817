"""The messages of a request, each content one text."""

import json
from typing import Any

from openai_api.errors import ApiError
from openai_api.fields import field, text

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def read_messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation, each content one text."""
    messages = field(body, "messages", [], list)
    if not messages:
        raise ApiError("messages must be a list of objects with a role and a content, with one at least", "messages")
    return [_message(m, f"messages[{i}]") for i, m in enumerate(messages)]


def _message(message: Any, path: str) -> dict[str, Any]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ApiError(f"{path}: messages must be objects with a role and a content", path)
    if message["role"] not in ROLES:
        raise ApiError(
            f"{path}.role {message['role'][:40]!r}: it is one of {', '.join(ROLES)}", f"{path}.role", code="invalid_value"
        )
    calls = field(message, "tool_calls", [], list, within=path)
    for i, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not is_json(function.get("arguments")):
            at = f"{path}.tool_calls[{i}]"
            raise ApiError(f"{at} must have a function with a name, and arguments that are JSON text", at)
    return {**message, "content": text(_content(message, path), path)}


def is_json(given: Any) -> bool:
    """Whether it is JSON text."""
    try:
        return isinstance(given, str) and isinstance(json.loads(given), object)
    except (ValueError, RecursionError):
        return False


def _content(message: dict[str, Any], path: str) -> str:
    """A message's text: a string, a list of parts of text, or null in what an assistant said."""
    content = message.get("content")
    if content is None and message["role"] == "assistant":
        return ""
    if isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else [None]
    if not all(isinstance(p, dict) and p.get("type") == "text" and isinstance(p.get("text"), str) for p in parts):
        raise ApiError(f"{path}.content must be a string, or a list of parts of type text", f"{path}.content")
    return "".join(p["text"] for p in parts)
