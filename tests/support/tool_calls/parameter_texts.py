"""Arguments written in the models' styles, and read back: what the grammars of parameter lists are held against.

Both are by hand from the styles' descriptions, and know nothing of the table that the grammars are made of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import jsonschema

NS = "]<]minimax[>["


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {int: "number", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _kimi_key(key: str) -> str:
    return key.replace("&", "&amp;").replace('"', "&quot;")


def _cohere_key(key: str) -> str:
    return _kimi_key(key).replace("<", "&lt;").replace(">", "&gt;")


def _cohere(value: Any) -> str:
    if isinstance(value, dict):
        members = "".join([f'<cofl:value name="{_cohere_key(k)}"{_cohere(v)}' for k, v in value.items()])
        return f' type="dict">{members}</cofl:value>'
    if isinstance(value, list):
        return ' type="list">' + "".join(["<cofl:value" + _cohere(v) for v in value]) + "</cofl:value>"
    return f' type="{"raw" if isinstance(value, str) else "json"}">{_plain(value)}</cofl:value>'


def _m3(value: Any) -> str:
    if isinstance(value, dict):
        return "".join([f"{NS}<{k}>{_m3(v)}{NS}</{k}>" for k, v in value.items()])
    if isinstance(value, list):
        return "".join([f"{NS}<item>{_m3(v)}{NS}</item>" for v in value])
    return _plain(value)


def _deepseek(space: str) -> Callable[[str, Any], str]:
    def parameter(key: str, value: Any) -> str:
        string = "true" if isinstance(value, str) else "false"
        return f'<｜DSML｜{space}parameter name="{key}" string="{string}">{_plain(value)}</｜DSML｜{space}parameter>\n'

    return parameter


WRITERS: dict[str, Callable[[str, Any], str]] = {
    "qwen_xml": lambda k, v: f"<parameter={k}>{_plain(v)}</parameter>\n",
    "minimax_xml": lambda k, v: f'<parameter name="{k}">{_plain(v)}</parameter>\n',
    "glm_xml": lambda k, v: f"<arg_key>{k}</arg_key><arg_value>{_plain(v)}</arg_value>",
    "deepseek_xml": _deepseek(""),
    "deepseek_v4_1_xml": _deepseek(" "),
    "kimi_k3_xml": lambda k, v: (
        f'<|open|>argument key="{_kimi_key(k)}" type="{_kind(v)}"<|sep|>{_plain(v)}<|close|>argument<|sep|>'
    ),
    "cohere_xml": lambda k, v: f'<cofl:value name="{_cohere_key(k)}"{_cohere(v)}',
    "minimax_m3_xml": lambda k, v: _m3({k: v}),
}


def written(style: str, arguments: dict[str, Any]) -> str:
    """The arguments in a style."""
    return "".join([WRITERS[style](k, v) for k, v in arguments.items()])


_SPACE = r"[ \n\r\t]*"
_PARAMETERS = {
    "qwen_xml": (rf"{_SPACE}<parameter=(?P<key>[^>]*)>", "</parameter>"),
    "minimax_xml": (rf'{_SPACE}<parameter name="(?P<key>[^"]*)">', "</parameter>"),
    "glm_xml": (rf"{_SPACE}<arg_key>(?P<key>[^<]*)</arg_key>{_SPACE}<arg_value>", "</arg_value>"),
    "deepseek_xml": (rf'{_SPACE}<｜DSML｜parameter name="(?P<key>[^"]*)" string="(?P<type>true|false)">', "</｜DSML｜parameter>"),
    "kimi_k3_xml": (
        rf'{_SPACE}<\|open\|>argument key="(?P<key>[^"]*)" type="(?P<type>[a-z]+)"<\|sep\|>',
        "<|close|>argument<|sep|>",
    ),
}
READABLE = tuple(_PARAMETERS)
LINE_BREAKS = ("qwen_xml", "minimax_xml")
"""The styles whose readers take one line break off on each side of a value."""


def is_valid(style: str, text: str, schema: dict[str, Any]) -> bool:
    """Whether a text is a list of parameters that some arguments of the schema may be written as, members in the schema's order.

    A JSON value may not contain the marker at its end here, and white space of other kinds than JSON's is none.
    """
    begin, end = _PARAMETERS[style]
    members: list[tuple[str, list[Any]]] = []
    while found := re.match(begin, text):
        close = text.find(end, found.end())
        if close < 0:
            return False
        values = _values(style, text[found.end() : close], found.groupdict().get("type"))
        members.append((found["key"], values))
        text = text[close + len(end) :]
    keys = [key for key, _ in members]
    declared = [k for k in keys if k in schema["properties"]]
    if text.strip(" \n\r\t") or len(set(keys)) != len(keys) or declared != [k for k in schema["properties"] if k in keys]:
        return False
    return any(
        jsonschema.Draft202012Validator(schema).is_valid(dict(zip(keys, values, strict=True)))
        for values in product(*[values for _, values in members])
    )


def _values(style: str, text: str, named: str | None) -> list[Any]:
    string = text.removeprefix("\n").removesuffix("\n") if style in LINE_BREAKS else text
    raw: list[Any] = [string] if named in (None, "true", "string") else []
    if named in ("true", "string"):
        return raw
    try:
        value = json.loads(text)
    except ValueError:
        return raw
    if isinstance(value, str) or (style == "kimi_k3_xml" and named != _kind(value)):
        return raw
    return [*raw, value]
