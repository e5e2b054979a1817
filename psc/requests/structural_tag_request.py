"""Structural tags as callers have them, a dictionary, JSON text, an object or the older pair, to the request for their grammar."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psc.compiler.frontends.front_end import NO_SETTINGS, UNNAMED, Settings, check_text
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import InvalidStructuralTagError


def structural_tag_request(
    structural_tag: object,
    triggers: Sequence[str] | None = None,
    *,
    settings: Settings = NO_SETTINGS,
    origin: str = UNNAMED,
) -> GrammarRequest:
    """The request for the grammar of a structural tag.

    Args:
        structural_tag: a dictionary, JSON text, or an object with ``model_dump``; with triggers, the tags of the older form.
        triggers: of the older form.
        settings: ``SchemaSettings`` of the schemas in it, where their formats say nothing.
        origin: where it is from, for messages.

    Raises:
        InvalidStructuralTagError: it has what JSON has not, is nested too deep, or contains itself.
        TypeError: it is of none of these types.
    """
    if triggers is not None or (isinstance(structural_tag, Sequence) and not isinstance(structural_tag, str)):
        structural_tag = _of_pair(structural_tag, triggers)
    return GrammarRequest.of("structural_tag", structural_tag_text(structural_tag), settings=settings, origin=origin)


def structural_tag_text(structural_tag: object) -> str:
    """The JSON text of a structural tag. Raises as :func:`structural_tag_request`."""
    if isinstance(structural_tag, str):
        return check_text(structural_tag, "structural_tag")
    if not isinstance(structural_tag, Mapping) and (isinstance(structural_tag, type) or _dump_of(structural_tag) is None):
        raise TypeError(f"a structural tag is a dictionary, JSON text or a StructuralTag, not {type(structural_tag).__name__}")
    try:
        return json.dumps(structural_tag, allow_nan=False, separators=(",", ":"), default=_plain)
    except RecursionError:
        raise InvalidStructuralTagError("the structural tag is nested too deep, or contains itself") from None
    except (TypeError, ValueError) as e:
        raise InvalidStructuralTagError(f"the structural tag is not JSON: {e}") from None


def _plain(value: object) -> object:
    """What JSON has for an object that is none of its own."""
    if isinstance(value, Mapping):
        return dict(value)
    if (dump := _dump_of(value)) is not None:
        return dump()
    raise TypeError(f"an object of the type {type(value).__name__} is no value of JSON")


def _dump_of(value: object) -> Callable[[], object] | None:
    """What gives the value of an object, or of a class the schema of its objects, as pydantic's have it."""
    dump = getattr(value, "model_json_schema" if isinstance(value, type) else "model_dump", None)
    return dump if callable(dump) else None


def _of_pair(tags: object, triggers: Sequence[str] | None) -> dict[str, Any]:
    if not isinstance(tags, Sequence) or isinstance(tags, str):
        raise TypeError(f"with triggers the first argument is a list of StructuralTagItem, not {type(tags).__name__}")
    if isinstance(triggers, str) or not isinstance(triggers, Sequence):
        raise TypeError(f"triggers must be a list of texts beside a list of tags, not {type(triggers).__name__}")
    return {"type": "structural_tag", "structures": [_item(tag) for tag in tags], "triggers": list(triggers)}


def _item(tag: object) -> object:
    """A tag of the older form: a dictionary, or an object with begin, schema and end."""
    if isinstance(tag, Mapping):
        return {**tag}
    if callable(value := getattr(tag, "schema_value", None)):
        return {"begin": getattr(tag, "begin", None), "schema": value(), "end": getattr(tag, "end", None)}
    return tag
