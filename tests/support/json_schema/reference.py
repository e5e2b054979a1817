"""What the library jsonschema says of a value, with numbers as decimals and regular expressions as ECMA-262 has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import jsonschema
from json_schema.random_schemas import DRAFTS
from jsonschema.exceptions import ValidationError

FARTHEST = 60
"""Longer numbers and greater exponents are not given to the reference: it computes with whole numbers."""


class NotComparable(Exception):
    """A text that the reference reads otherwise than psc means it, as the docs say: a key twice, or a huge exponent."""


def value_of(text: str) -> Any:
    """A text's value. Raises NotComparable; ValueError where it is not JSON."""
    return json.loads(text, parse_float=_number, parse_int=_number, object_pairs_hook=_members, parse_constant=_no_constant)


def text_of(value: Any) -> str:
    """A value's text, as json.dumps writes it, with plain numbers."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def is_valid(draft: int, schema: Any, value: Any) -> bool:
    """The reference's verdict. Raises RecursionError where a schema refers to itself about one value."""
    return bool(_validators()[draft](schema, format_checker=_formats()).is_valid(value))


def _number(text: str) -> Decimal:
    exponent = re.search("[eE](.*)", text)
    if len(text) > FARTHEST or (exponent is not None and abs(int(exponent[1])) > FARTHEST):
        raise NotComparable
    return Decimal(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotComparable
    return found


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _is_whole(draft: int) -> Callable[[Any, Any], bool]:
    def whole(_: Any, value: Any) -> bool:
        if not isinstance(value, Decimal):
            return isinstance(value, int) and not isinstance(value, bool)
        return Fraction(value).denominator == 1 if draft > 4 else value.as_tuple().exponent == 0

    return whole


def _multiple_of(validator: Any, step: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and Fraction(value) % Fraction(step):
        yield ValidationError("multipleOf")


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not re.search(_python(pattern), value):
        yield ValidationError("pattern")


def _python(pattern: str) -> str:
    return pattern.replace("$", r"\Z").replace(".", r"[^\n\r\u2028\u2029]").replace(r"\[^\n\r\u2028\u2029]", r"\.")


@cache
def _formats() -> jsonschema.FormatChecker:
    return jsonschema.FormatChecker(["ipv4"])


@cache
def _validators() -> dict[int, Any]:
    classes = {4: jsonschema.Draft4Validator, 7: jsonschema.Draft7Validator, 2020: jsonschema.Draft202012Validator}
    assert classes.keys() == DRAFTS.keys()
    return {
        draft: jsonschema.validators.extend(
            of_draft,
            {"multipleOf": _multiple_of, "pattern": _pattern},
            type_checker=of_draft.TYPE_CHECKER.redefine("integer", _is_whole(draft)),
        )
        for draft, of_draft in classes.items()
    }
