"""JSON values whose numbers stay as they are written: a float would lose the tests on large integers and decimals."""

from __future__ import annotations

import json
from typing import Any


class Number(str):
    """A number's spelling."""

    __slots__ = ()


def loads(text: str) -> Any:
    """The value of a text, with its numbers as spellings."""
    return json.loads(text, parse_float=Number, parse_int=Number)


def dumps(value: Any) -> str:
    """The text of a value; of its spellings the usual one."""
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
