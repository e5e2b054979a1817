"""Arguments that a model writes as a list of parameters, as JSON.

A parameter's value is raw text or JSON. Which one it is, the marker says in some styles; in the others the schema does: a value
that can only be a string is raw, and any other one is JSON if it reads as such.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ParameterStyle:
    """How a parameter is written."""

    begin: re.Pattern[str]
    """With the groups ``key`` and, where the marker says it, ``string``: "true" or "false"."""
    end: str
    padded: bool = False
    """Whether a line break may stand before the value and behind it, and is no part of it."""


def _deepseek(word: str) -> ParameterStyle:
    return ParameterStyle(
        re.compile(rf'<｜DSML｜{word} name="(?P<key>[^"]*)" string="(?P<string>true|false)">'), f"</｜DSML｜{word}>"
    )


STYLES = {
    "qwen_xml": ParameterStyle(re.compile(r"<parameter=(?P<key>[^>]*)>"), "</parameter>", padded=True),
    "minimax_xml": ParameterStyle(re.compile(r'<parameter name="(?P<key>[^"]*)">'), "</parameter>", padded=True),
    "glm_xml": ParameterStyle(re.compile(r"<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>"), "</arg_value>"),
    "deepseek_xml": _deepseek("parameter"),
    "deepseek_v4_1_xml": _deepseek(" parameter"),
}


class Parameters:
    """The parameters of one call, up to the marker that ends it."""

    def __init__(self, style: ParameterStyle, call_end: str, schema: Mapping[str, Any]) -> None:
        self._style, self._call_end = style, call_end.strip()
        properties = schema.get("properties")
        self._properties = properties if isinstance(properties, dict) else {}
        self._values: dict[str, Any] = {}

    def read(self, text: str) -> tuple[int, str | None]:
        """How much of the text was read, and the JSON text of all arguments once the call has ended."""
        at = 0
        while True:
            rest = at + len(text[at:]) - len(text[at:].lstrip())
            if text.startswith(self._call_end, rest):
                return rest, json.dumps(self._values, ensure_ascii=False)
            begin = self._style.begin.match(text, rest)
            end = text.find(self._style.end, begin.end()) if begin else -1
            if begin is None or end < 0:
                return at, None
            self._values[begin["key"]] = self._value(begin, text[begin.end() : end])
            at = end + len(self._style.end)

    def _value(self, begin: re.Match[str], spelled: str) -> Any:
        if self._style.padded:
            spelled = spelled.removeprefix("\n").removesuffix("\n")
        marked = begin.groupdict().get("string")
        schema = self._properties.get(begin["key"])
        if marked == "true" or (marked is None and isinstance(schema, dict) and schema.get("type") == "string"):
            return spelled
        try:
            return json.loads(spelled)
        except (ValueError, RecursionError):
            return spelled
