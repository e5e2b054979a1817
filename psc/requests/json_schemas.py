"""JSON schemas as callers have them, a text, a dictionary or a pydantic model, to the request for their grammar."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from psc.compiler.frontends.front_end import UNNAMED, check_text
from psc.compiler.frontends.json_schema.settings import BOUNDED, SchemaOptions, SchemaSettings, takes_schema_options
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError
from psc.support.readable import shortened_pointer

__all__ = [
    "BOUNDED",
    "Resolver",
    "Schema",
    "SchemaOptions",
    "SchemaSettings",
    "parameters_as_ebnf",
    "schema_request",
    "schema_text",
    "takes_schema_options",
]

Schema = str | Mapping[str, Any] | bool | type
"""JSON text, what it stands for, or a pydantic model."""

Resolver = Callable[[str], "str | Mapping[str, Any] | None"]
"""From the absolute URI of another schema to that schema; None where there is none."""


def schema_request(
    schema: Schema, *, resolver: Resolver | None = None, origin: str = UNNAMED, **options: Unpack[SchemaOptions]
) -> GrammarRequest:
    """The request for the grammar of a schema; for the arguments see ``Grammar.from_json_schema``.

    Raises:
        GrammarError: the schema is no JSON, or an argument is out of its range.
        TypeError: the schema is of none of the types.
    """
    text = schema_text(schema)
    settings = SchemaSettings.of(**options)
    if resolver is not None:
        settings = replace(settings, resources=_resources(text, settings, resolver, origin))
    return GrammarRequest.of("json_schema", text, settings=settings, origin=origin)


def schema_text(schema: Schema) -> str:
    """The JSON text of a schema.

    Raises:
        GrammarError: a dictionary has what JSON has not.
        TypeError: it is neither text, nor a dictionary, a boolean or a pydantic model.
    """
    if isinstance(schema, str):
        return check_text(schema, "schema")
    if isinstance(schema, type) and callable(made := getattr(schema, "model_json_schema", None)):
        return _dumped(made())
    if isinstance(schema, (Mapping, bool)):
        return _dumped(schema)
    raise TypeError(f"a schema is JSON text, a dictionary, a boolean or a pydantic model, not {type(schema).__name__}")


def parameters_as_ebnf(schema: Schema, style: str, **options: Unpack[SchemaOptions]) -> str:
    """EBNF text of the lists of parameters that fit a schema, see ``parameter_list``. Raises GrammarError as that does.

    Of the options that say how a value is written, ``any_order`` and ``max_whitespace_cnt`` count.
    """
    from psc.compiler.expressions import rule_sets
    from psc.compiler.frontends.structural_tag.parameter_styles import parameter_list

    rules = parameter_list(
        schema_text(schema),
        style,
        any_order=options.get("any_order", False),
        max_whitespace_cnt=options.get("max_whitespace_cnt"),
        strict_mode=options.get("strict_mode", True),
    )
    return rule_sets.to_ebnf(rules if rules.root == "root" else rule_sets.union([rules]))


def _dumped(schema: object) -> str:
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError) as e:
        pointer, why = _not_json(schema)
        raise GrammarError(f"{shortened_pointer(pointer)}: the schema is not JSON{why}").with_position(pointer=pointer) from e
    try:
        return check_text(text, "schema")
    except GrammarError as e:
        pointer = _half_pair(json.loads(text))
        raise GrammarError(f"{shortened_pointer(pointer)}: has half of a surrogate pair, which is no character").with_position(
            pointer=pointer
        ) from e


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _not_json(schema: object) -> tuple[str, str]:
    """The pointer of the first value in a schema that is none of JSON, and why it is none."""
    parts, seen = [("#", schema)], set[int]()
    for pointer, value in parts:
        if isinstance(value, (Mapping, list, tuple)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            members = value.items() if isinstance(value, Mapping) else enumerate(value)
            for name, inner in members:
                if name is not None and not isinstance(name, (str, int, float)):
                    return pointer, f": the name of a member is of the type {type(name).__name__}"
                parts.append((f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}", inner))
        elif isinstance(value, float) and not math.isfinite(value):
            return pointer, f", which has no number {value}"
        elif value is not None and not isinstance(value, (str, int, float)):
            of = f"type {value.__name__}" if isinstance(value, type) else f"value of the type {type(value).__name__}"
            return pointer, f", which has no {of}"
    return "#", ": it is nested too deep, or contains itself"


def _half_pair(schema: object) -> str:
    """The pointer of the first text in a schema that has half of a surrogate pair, or of the object with such a name."""
    parts = [("#", schema)]
    for pointer, value in parts:
        if isinstance(value, dict):
            for name, inner in value.items():
                if _has_half(name):
                    return pointer
                parts.append((f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", inner))
        elif isinstance(value, list):
            parts += [(f"{pointer}/{i}", inner) for i, inner in enumerate(value)]
        elif isinstance(value, str) and _has_half(value):
            return pointer
    return "#"


def _has_half(text: str) -> bool:
    try:
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return True
    return False


def _resources(text: str, settings: SchemaSettings, resolver: Resolver, origin: str) -> dict[str, str]:
    """The texts of all schemas that one asks for: they are a part of what is compiled, and so of its key."""
    from psc.compiler.frontends.json_schema.front_end import schema_grammar

    found: dict[str, str] = {}

    def ask(uri: str) -> str | None:
        if uri not in found:
            other = resolver(uri)
            if other is None:
                return None
            found[uri] = schema_text(other)
        return found[uri]

    schema_grammar(text, replace(settings, lenient=True), ask, origin)
    return found
