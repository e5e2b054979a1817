"""Requests of tool calls as serving engines make them: tools of the kinds of parameters that real ones have, and calls of these."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tool:
    """A tool, and arguments that are valid for it."""

    name: str
    parameters: dict[str, Any]
    arguments: tuple[Any, ...]


# fmt: off
_VERBS = (
    "get", "list", "create", "update", "delete", "search", "send", "book", "cancel", "convert", "translate", "summarize",
    "schedule", "find", "count",
)
_NOUNS = (
    "weather", "flight", "hotel", "invoice", "ticket", "contact", "message", "file", "event", "order", "customer",
    "payment", "recipe", "route", "stock",
)
_FIELDS = (
    "city", "country", "query", "title", "body", "email", "url", "user_id", "order_id", "currency", "amount", "quantity",
    "limit", "page", "start_date", "end_date", "priority", "status", "language", "format", "recipient", "subject", "tags",
    "notes", "address", "phone", "include_archived", "sort_by", "timezone", "latitude", "longitude", "radius", "category",
)
_WORDS = (
    "Oslo", "quarterly", "report", "for", "the", "new", "office,", "see", "notes", "12/B", "and", "call", "back", "after",
    "lunch", "—", "grüße",
)
# fmt: on


def generated_tools(n: int, rng: random.Random) -> list[Tool]:
    """Tools with parameters of the kinds that real ones have: texts, enums, bounded numbers, dates, lists, records."""
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    return [_tool(name, rng) for name in rng.sample(names, n)]


def _tool(name: str, rng: random.Random) -> Tool:
    parameters = _record(rng, rng.randint(1, 8), 0)
    parameters["description"] = f"{name.replace('_', ' ').capitalize()}."
    return Tool(name, parameters, tuple(_value(parameters, rng) for _ in range(4)))


def _record(rng: random.Random, n: int, depth: int) -> dict[str, Any]:
    names = rng.sample(_FIELDS, n)
    properties = {name: {**_parameter(rng, depth), "description": f"The {name.replace('_', ' ')} to use."} for name in names}
    required = [name for name in names if rng.random() < 0.6]
    record: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if rng.random() < 0.4:
        record["additionalProperties"] = False
    return record


def _parameter(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "string"},
        lambda: {"type": "string"},
        lambda: {"type": "string", "enum": rng.sample(_WORDS, rng.randint(2, 6))},
        lambda: {"type": "string", "format": rng.choice(["date", "date-time", "email"])},
        lambda: {"type": "string", "maxLength": rng.choice([40, 200, 1000])},
        lambda: {"type": "integer"},
        lambda: {"type": "integer", "minimum": 0, "maximum": rng.choice([10, 100, 1000])},
        lambda: {"type": "number"},
        lambda: {"type": "boolean"},
        lambda: {"type": ["string", "null"]},
    ]
    if depth < 2:
        kinds += [
            lambda: {"type": "array", "items": _parameter(rng, depth + 1), "maxItems": rng.choice([5, 20])},
            lambda: _record(rng, rng.randint(1, 4), depth + 1),
        ]
    return rng.choice(kinds)()


def _value(schema: dict[str, Any], rng: random.Random) -> Any:
    """A value that is valid, members in the order of the schema."""
    kind = schema["type"] if isinstance(schema["type"], str) else rng.choice(schema["type"])
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if kind == "object":
        named = schema["properties"].items()
        return {name: _value(inner, rng) for name, inner in named if name in schema["required"] or rng.random() < 0.5}
    if kind == "array":
        return [_value(schema["items"], rng) for _ in range(rng.randint(0, 3))]
    if kind == "string":
        formats = {"date": "2026-11-22", "date-time": "2026-11-22T18:30:00Z", "email": "ada@example.com"}
        return (
            formats.get(schema.get("format", "")) or " ".join(rng.choices(_WORDS, k=rng.randint(0, 6)))[: schema.get("maxLength")]
        )
    if kind == "integer":
        return rng.randint(schema.get("minimum", -50), schema.get("maximum", 5000))
    return {"number": round(rng.uniform(-90, 90), 3), "boolean": rng.random() < 0.5, "null": None}[kind]


def request_of(tools: list[Tool]) -> str:
    """The schema that a serving engine makes of tools of which one must be called."""
    calls = [
        {
            "properties": {"name": {"type": "string", "enum": [tool.name]}, "parameters": tool.parameters},
            "required": ["name", "parameters"],
        }
        for tool in tools
    ]
    return json.dumps({"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": calls}})


def calls_of(tools: list[Tool], rng: random.Random) -> str:
    """One to three calls."""
    called = [rng.choice(tools) for _ in range(rng.randint(1, 3))]
    calls = [{"name": tool.name, "parameters": rng.choice(tool.arguments)} for tool in called]
    return json.dumps(calls, ensure_ascii=False)
