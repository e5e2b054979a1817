"""What a JSON schema expects where a text stops, in its own words: the member, or the bound, rather than a terminal of its grammar.

The text that was read says in which value it stops. Members that may come are tried with the matcher, so a name that is expected
can be written there. A value's bounds are read from the schema of the member.

Example: behind `{"kind": "a", "n": 2` comes `a value: n must be an integer, at least 3`; behind `{"` comes `the member 'kind'`.

Cost: linear in the text, and a call of the matcher for each declared member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.support.readable import shortened

_TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?\Z|[-+.\w]+|.', re.DOTALL)
_MOST, _LONGEST = 5, 60
_TYPES = {"array": "an array", "boolean": "true or false", "integer": "an integer", "null": "null", "number": "a number",
          "object": "an object", "string": "a string"}  # fmt: skip
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "greater than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "of at least {} characters",
    "maxLength": "of at most {} characters",
    "pattern": "that matches {}",
    "format": "of the format {}",
    "minItems": "of at least {} items",
    "maxItems": "of at most {} items",
    "minProperties": "of at least {} members",
    "maxProperties": "of at most {} members",
}


@dataclass
class _Open:
    """A container that the text has begun."""

    is_object: bool
    begin: int
    names: list[str] = field(default_factory=list)
    index: int = 0
    waits: str = "first"
    """For a name or an item: first, next; for the colon; for a value; or what is behind one: more."""


def schema_words(compiled: LoadedGrammar, data: bytes, offset: int) -> tuple[str, ...]:
    """What is expected at a byte where a text stops; nothing where the grammar is no schema's, or its words would not help."""
    grammar = compiled.metadata.get("grammar", {})
    if grammar.get("language") != "json_schema":
        return ()
    try:
        schema = json.loads(grammar["text"])
        text = data[:offset].decode("utf-8", "ignore")
        stack, begin = _read(text)
    except (KeyError, ValueError, RecursionError):
        return ()
    words = _Words(compiled, schema, text)
    if not stack:
        return () if text.strip() else words.of_value(stack)
    top = stack[-1]
    if top.waits in ("value", "item"):
        is_number = begin is not None and text[begin] != '"'
        if not (is_number and words.may_follow(text, ["}", ",", "]"])):
            return words.of_value(stack)
        begin = None
    return words.of_members(top, stack, begin) if top.is_object and top.waits != "colon" else ()


def _read(text: str) -> tuple[list[_Open], int | None]:
    """The containers that are open, and where the scalar or name begins that the text ends in."""
    stack: list[_Open] = []
    begin: int | None = None
    for match in _TOKEN.finditer(text):
        token, top = match[0], stack[-1] if stack else None
        if token.isspace():
            continue
        begin = None
        if token in "{[":
            stack.append(_Open(token == "{", match.start(), waits="first" if token == "{" else "item"))
        elif token in "}]":
            stack.pop()
            if stack:
                stack[-1].waits = "more"
        elif top is None:
            begin = match.start()
        elif token == ",":
            top.waits, top.index = ("next" if top.is_object else "item"), top.index + 1
        elif token == ":":
            top.waits = "value"
        elif token[0] == '"' and top.is_object and top.waits in ("first", "next"):
            if len(token) > 1 and match.end() <= len(text) and _is_whole(token):
                top.names.append(json.loads(token))
                top.waits = "colon"
            else:
                begin = match.start()
        elif match.end() == len(text) and not (token[0] == '"' and _is_whole(token)):
            begin = match.start()
        else:
            top.waits = "more"
    return stack, begin


def _is_whole(token: str) -> bool:
    try:
        json.loads(token)
    except ValueError:
        return False
    return True


@dataclass
class _Words:
    compiled: LoadedGrammar
    schema: Any
    text: str

    def may_follow(self, before: str, texts: Iterable[str]) -> bool:
        """Whether one of these may come next."""
        return any(map(self._trial(before), texts))

    def _trial(self, before: str) -> Callable[[str], bool]:
        matcher = GrammarMatcher(self.compiled)
        data = before.encode()
        is_read = matcher.accept_prefix(data) == len(data)

        def passes(text: str) -> bool:
            return is_read and matcher.fork().accept_prefix(text.encode()) == len(text.encode())

        return passes

    def of_value(self, stack: list[_Open]) -> tuple[str, ...]:
        said: list[str] = []
        for depth in range(len(stack), -1, -1):  # a value of an enum may be a part of one
            said = sorted({words for schema in self._at(stack[:depth]) if (words := _described(schema))}, key=len)[:_MOST]
            if said or depth + 1 < len(stack):
                break
        if not said:
            return ()
        if depth == len(stack) and self._must_differ(stack):
            said = [f"{words}, other than the items before it" for words in said]
        name = _name(stack[:depth])
        return (f"a value: {name} must be {' or '.join(said)}" if name else f"a value that is {' or '.join(said)}",)

    def _must_differ(self, stack: list[_Open]) -> bool:
        """Whether the value that the innermost container waits for is an item that may not be one of those before it."""
        if "lenient" in self.compiled.metadata["grammar"].get("settings", ""):
            return False
        is_item = bool(stack) and not stack[-1].is_object and stack[-1].index > 0
        return is_item and any(schema.get("uniqueItems") is True for schema in self._at(stack[:-1]))

    def of_members(self, top: _Open, stack: list[_Open], begin: int | None) -> tuple[str, ...]:
        """The members that may come next, and whether the object may end."""
        before = self.text if begin is None else self.text[:begin]
        passes = self._trial(before)
        comma = ", " if top.waits in ("more", "value") else ""
        declared = dict.fromkeys(name for schema in self._at(stack[:-1]) for name in _declared(schema))
        names = [name for name in declared if name not in top.names]
        named = [f"the member {shortened(name, _LONGEST)!r}" for name in names[:1000] if passes(f"{comma}{json.dumps(name)}")]
        ends = ['"}"'] if begin is None and passes("}") else []
        more = [f"{len(named) - _MOST} more members"] if len(named) > _MOST else []
        return (*named[:_MOST], *more, *ends) if named or ends else ()

    def _at(self, stack: list[_Open]) -> list[Mapping[str, Any]]:
        """The schemas of the value that the innermost of these containers waits for."""
        schemas = self._with_parts([self.schema])
        for container in stack:
            inner: list[Any] = []
            for schema in schemas:
                if container.is_object:
                    inner += _of_member(schema, container.names[-1]) if container.names else []
                else:
                    inner += _of_item(schema, container.index)
            schemas = self._with_parts(inner)
        return schemas

    def _with_parts(self, schemas: list[Any]) -> list[Mapping[str, Any]]:
        """These and what they apply to the same value."""
        todo, out = list(schemas), list[Mapping[str, Any]]()
        for schema in todo:
            if not isinstance(schema, dict) or any(schema is other for other in out) or len(out) > 200:
                continue
            out.append(schema)
            for keyword in ("allOf", "anyOf", "oneOf"):
                todo += schema[keyword] if isinstance(schema.get(keyword), list) else []
            todo += [schema[keyword] for keyword in ("then", "else") if keyword in schema]
            if isinstance(schema.get("$ref"), str):
                todo.append(self._referred(schema["$ref"]))
        return out

    def _referred(self, reference: str) -> Any:
        value = self.schema
        if not reference.startswith("#"):
            return None
        for step in reference.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        return value


def _of_member(schema: Mapping[str, Any], name: str) -> list[Any]:
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return [properties[name]]
    return [schema["additionalProperties"]] if "additionalProperties" in schema else []


def _of_item(schema: Mapping[str, Any], index: int) -> list[Any]:
    items, first = schema.get("items"), schema.get("prefixItems")
    if isinstance(items, list):
        items, first = schema.get("additionalItems"), items
    if isinstance(first, list) and index < len(first):
        return [first[index]]
    return [] if items is None else [items]


def _declared(schema: Mapping[str, Any]) -> list[str]:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    return names + (required if isinstance(required, list) else [])


def _described(schema: Mapping[str, Any]) -> str:
    """What a value must be by one schema's own keywords."""
    if "const" in schema:
        return _shown(schema["const"])
    if isinstance(values := schema.get("enum"), list) and values:
        more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
        return f"one of {', '.join(map(_shown, values[:_MOST]))}{more}" if len(values) > 1 else _shown(values[0])
    bounds = ", ".join(_BOUNDS[keyword].format(_shown(value)) for keyword, value in schema.items() if keyword in _BOUNDS)
    named = schema.get("type")
    types = [_TYPES[t] for t in (named if isinstance(named, list) else [named]) if isinstance(t, str) and t in _TYPES]
    if bounds and types and named in ("integer", "number"):
        return f"{types[0]}, {bounds}"
    if bounds and not types:
        return bounds
    return f"{' or '.join(types)} {bounds}".strip()


def _shown(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST)


def _name(stack: list[_Open]) -> str:
    path = ""
    for container in stack:
        path += f".{container.names[-1]}" if container.is_object and container.names else f"[{container.index}]"
    return shortened(path.removeprefix("."), 100)
