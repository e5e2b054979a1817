"""JSON schemas as callers have them, a text, a dictionary or a pydantic model, to the request for their grammar."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from psc.compiler.frontends.front_end import UNNAMED, check_text
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError

Schema = str | Mapping[str, Any] | bool | type
"""JSON text, what it stands for, or a pydantic model."""

Resolver = Callable[[str], "str | Mapping[str, Any] | None"]
"""From the absolute URI of another schema to that schema; None where there is none."""


def schema_request(
    schema: Schema,
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    strict_mode: bool = True,
    max_whitespace_cnt: int | None = None,
    any_order: bool = False,
    lenient: bool = False,
    assert_format: bool = True,
    resolver: Resolver | None = None,
    origin: str = UNNAMED,
) -> GrammarRequest:
    """The request for the grammar of a schema; for the arguments see ``Grammar.from_json_schema``.

    Raises:
        GrammarError: the schema is no JSON, or an argument is out of its range.
        TypeError: the schema is of none of the types.
    """
    text = schema_text(schema)
    settings = schema_settings(
        any_whitespace=any_whitespace,
        indent=indent,
        separators=separators,
        strict_mode=strict_mode,
        max_whitespace_cnt=max_whitespace_cnt,
        any_order=any_order,
        lenient=lenient,
        assert_format=assert_format,
        resources={} if resolver is None else _resources(text, resolver, origin),
    )
    return GrammarRequest.of("json_schema", text, settings=settings.text(), origin=origin)


def schema_settings(
    *,
    any_whitespace: bool,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    max_whitespace_cnt: int | None = None,
    **others: Any,
) -> SchemaSettings:
    """Settings that say nothing that does not count: no layout where white space may be anywhere, and else not how much of it.

    Raises GrammarError: an argument is out of its range.
    """
    return SchemaSettings(
        any_whitespace=any_whitespace,
        indent=None if any_whitespace else indent,
        separators=None if any_whitespace else separators,
        max_whitespace_cnt=max_whitespace_cnt if any_whitespace else None,
        **others,
    )


def schema_text(schema: Schema) -> str:
    """The JSON text of a schema.

    Raises:
        GrammarError: a dictionary has what JSON has not.
        TypeError: it is neither text, nor a dictionary, a boolean or a pydantic model.
    """
    if isinstance(schema, str):
        check_text(schema, "schema")
        return schema
    if isinstance(schema, type) and callable(made := getattr(schema, "model_json_schema", None)):
        return _dumped(made())
    if isinstance(schema, (Mapping, bool)):
        return _dumped(schema)
    raise TypeError(f"a schema is JSON text, a dictionary, a boolean or a pydantic model, not {type(schema).__name__}")


def _dumped(schema: object) -> str:
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=dict)
    except (TypeError, ValueError, RecursionError) as e:
        raise GrammarError(f"the schema is not JSON: {e}") from e
    check_text(text, "schema")
    return text


def _resources(text: str, resolver: Resolver, origin: str) -> dict[str, str]:
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

    schema_grammar(text, SchemaSettings(lenient=True), ask, origin)
    return found
