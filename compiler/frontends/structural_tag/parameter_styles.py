"""How models write the arguments of a call, if not as JSON: a list of parameters between markers, by the schema of the arguments.

The styles are facts of chat templates. A string is raw text up to the first marker that ends it, so it cannot contain that marker;
its pattern, format and length still apply, to the raw text. Where models write line breaks around a value, or their parsers
take them off, one on each side is layout and no part of the string. Other values are JSON. In two of the styles values within
values are parameters and items again. native/schema/parameter_style.hpp says what stands where, native/schema/parameters.cpp makes
the rules.

Declared members come in the order of the schema, optional ones may be left out, and other members, where the schema allows them,
come anywhere among them. Names of these are identifiers, or what a pattern of the schema says.

Cost: as of a JSON schema, see `front_end`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from psc import _core
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.tokens import FIRST_TOKEN
from psc.compiler.frontends.json_schema.front_end import rules_of
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.errors import GrammarError

_Head = tuple[list[str], str, bool]
_ALL = ["null", "boolean", "number", "string", "array", "object"]
_NOT_STRINGS = [t for t in _ALL if t != "string"]
_MINIMAX = "]<]minimax[>["


def parameter_list(
    schema: str | bool | Mapping[str, Any],
    style: str,
    *,
    excludes: Iterable[str] = (),
    any_order: bool = False,
    max_whitespace_cnt: int | None = None,
    strict_mode: bool = True,
    special: Mapping[str, int] | None = None,
    source_name: str = "<JSON schema>",
) -> RuleSet:
    """The rules of a list of parameters: of the objects that fit a schema, as the style writes them.

    Args:
        schema: the arguments' JSON schema, as text or as the value that it is. Values that are no objects are left out.
        style: one of ``STYLES``.
        excludes: texts that no string and no name of a member may contain, as they are spelled.
        any_order: whether declared members may come in any order, each once.
        max_whitespace_cnt: how much white space there may be at one place; None is no limit.
        strict_mode: closes objects, see ``Grammar.from_json_schema``.
        special: special tokens by their names, which may spell markers and parts of them.
        source_name: for messages.

    Raises:
        GrammarError: there is no such style, an excluded text is empty, no object is valid, or the schema says what cannot be
            enforced; the message has the place in the schema as a JSON pointer, and the keyword.
        ResourceLimitError: a limit is exceeded, which the message names.
    """
    text = schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False)
    settings = SchemaSettings(any_order=any_order, max_whitespace_cnt=max_whitespace_cnt, strict_mode=strict_mode)
    return parameter_rules(text, style, settings, source_name, excludes=excludes, special=special)


def parameter_rules(
    schema: str,
    style: str,
    settings: SchemaSettings,
    origin: str,
    *,
    excludes: Iterable[str] = (),
    special: Mapping[str, int] | None = None,
) -> RuleSet:
    """The same of a schema's text, with any settings: white space around parameters is limited as elsewhere, and never fixed."""
    if style not in STYLES:
        raise GrammarError(f"{origin}: there is no style {style!r}; the styles are {', '.join(STYLES)}")
    texts = list(excludes)
    if "" in texts:
        raise GrammarError(f"{origin}: an excluded text is empty, and every text contains that")
    return rules_of(schema, settings, origin, excludes=texts, parameters=_style(style, special or {}))


def _facts(**given: Any) -> dict[str, Any]:
    """A style whose end is one marker, and whose values are strings and JSON."""
    facts = {
        "space_after_key": False,
        "heads": [(_ALL, "", False)],
        "end_names_key": False,
        "padded": True,
        "line_breaks": False,
        "recursive": False,
        "before_item": "",
        "end_of_item": "",
        "other_keys": "identifiers",
        "escapes": [],
        **given,
    }
    return {"raw_stop": facts["end"], **facts}


def _deepseek(space: str) -> dict[str, Any]:
    return _facts(
        before_key=f'<｜DSML｜{space}parameter name="',
        after_key='"',
        heads=[(["string"], ' string="true">', False), (_NOT_STRINGS, ' string="false">', False)],
        end=f"</｜DSML｜{space}parameter>",
    )


_KIMI_HEADS: list[_Head] = [([t], f' type="{t}"<|sep|>', False) for t in _ALL]

STYLES: Mapping[str, Mapping[str, Any]] = {
    "qwen_xml": _facts(before_key="<parameter=", after_key=">", end="</parameter>", line_breaks=True),
    "minimax_xml": _facts(before_key='<parameter name="', after_key='">', end="</parameter>", line_breaks=True),
    "glm_xml": _facts(
        before_key="<arg_key>",
        after_key="</arg_key>",
        space_after_key=True,
        heads=[(_ALL, "<arg_value>", False)],
        end="</arg_value>",
    ),
    "deepseek_xml": _deepseek(""),
    "deepseek_v4_1_xml": _deepseek(" "),
    "kimi_k3_xml": _facts(
        before_key='<|open|>argument key="',
        after_key='"',
        heads=[*_KIMI_HEADS, (["number"], ' type="integer"<|sep|>', True)],
        end="<|close|>argument<|sep|>",
        escapes=[("&", "&amp;"), ('"', "&quot;")],
    ),
    "cohere_xml": _facts(
        before_key='<cofl:value name="',
        after_key='"',
        heads=[
            (["string"], ' type="raw">', False),
            (["null", "boolean", "number"], ' type="json">', False),
            (["object"], ' type="dict">', False),
            (["array"], ' type="list">', False),
        ],
        end="</cofl:value>",
        recursive=True,
        before_item="<cofl:value",
        end_of_item="</cofl:value>",
        other_keys="any",
        escapes=[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")],
    ),
    "minimax_m3_xml": _facts(
        before_key=f"{_MINIMAX}<",
        after_key=">",
        end=f"{_MINIMAX}</",
        end_names_key=True,
        raw_stop=_MINIMAX,
        padded=False,
        recursive=True,
        before_item=f"{_MINIMAX}<item>",
        end_of_item=f"{_MINIMAX}</item>",
        other_keys="none",
    ),
}
"""The styles by the names that structural tags have for them."""


def marker_tokens(style: str, special: Mapping[str, int]) -> dict[str, int]:
    """Those of the special tokens whose names are in a marker of the style."""
    facts = STYLES[style]
    markers = "\0".join([*[text for _, text, _ in facts["heads"]], *[text for text in facts.values() if isinstance(text, str)]])
    return {name: token for name, token in special.items() if name and name in markers}


def _style(name: str, special: Mapping[str, int]) -> _core.ParameterStyle:
    tokens = [(text, FIRST_TOKEN + token) for text, token in marker_tokens(name, special).items()]
    return _core.ParameterStyle(**STYLES[name], tokens=tokens)
