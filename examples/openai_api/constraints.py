"""What a request's text is constrained by, under all the names that servers have for it, and its grammar.

OpenAI: `response_format`. vLLM: `structured_outputs`, and before that `guided_json` and its siblings. SGLang: `regex`, `ebnf`,
`json_schema`. llama.cpp: `grammar`, `json_schema`. A text has one constraint at most.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psc
from openai_api.errors import ApiError
from openai_api.fields import check_only, field
from psc.requests.lark_texts import lark_request
from psc.requests.structural_tag_request import structural_tag_request
from psc.serving import ServiceOptions
from psc.serving.kinds import is_lark


@dataclass(frozen=True)
class Constraint:
    """A grammar as a request names it."""

    kind: str
    """json, json_object, regex, choice, grammar, lark or structural_tag"""
    value: Any
    param: str
    """The path of the field."""
    closed_objects: bool = False
    """Of a schema: objects have no members but those that it names."""
    compact: bool = False
    """Of a schema: no white space between tokens of JSON."""


_TOP_LEVEL = {
    "grammar": "grammar",
    "ebnf": "grammar",
    "guided_grammar": "grammar",
    "regex": "regex",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_json": "json",
    "json_schema": "json",
    "structural_tag": "structural_tag",
}
_STRUCTURED_OUTPUTS = {"json", "json_object", "regex", "choice", "grammar", "structural_tag"}
_STRUCTURED_OPTIONS = {"disable_any_whitespace", "disable_additional_properties"}
_TYPES: dict[str, tuple[type, ...]] = {
    "json": (dict, str, bool),
    "json_object": (bool,),
    "regex": (str,),
    "choice": (list,),
    "grammar": (str,),
    "lark": (str,),
    "structural_tag": (dict, str),
}


def read_constraint(body: dict[str, Any]) -> Constraint | None:
    """The one constraint of a request, or None. Raises ApiError where it has several, or one that cannot be."""
    asked = [Constraint(kind, body[name], name) for name, kind in _TOP_LEVEL.items() if body.get(name) is not None]
    asked += [c for c in (_response_format(body), _structured_outputs(body)) if c is not None]
    if len(asked) > 1:
        names = " and ".join(c.param for c in asked)
        raise ApiError(f"{names}: a text has one grammar; leave out all but one", asked[0].param)
    for constraint in asked:
        check_type(constraint)
    return asked[0] if asked else None


@dataclass(frozen=True)
class Compiling:
    """What compiles a grammar, and calls it off."""

    compiler: psc.GrammarCompiler
    bounds: ServiceOptions
    """Of white space and digits, so that a model that writes these for ever comes to an end."""
    cancellation: psc.Cancellation

    def tag(self, tag: object) -> psc.CompiledGrammar:
        """The grammar of a structural tag."""
        request = structural_tag_request(tag, settings=self.bounds.tag_settings)
        return self.compiler.compile_grammar(request, cancellation=self.cancellation)


def compile_constraint(compiling: Compiling, constraint: Constraint) -> psc.CompiledGrammar:
    """The grammar of a constraint. Raises ApiError, with psc's message, where it has none."""
    with grammar_errors(constraint.param):
        return _COMPILE[constraint.kind](compiling, constraint)


@contextmanager
def grammar_errors(param: str, code: str | None = None) -> Iterator[None]:
    """Turns what psc refuses into an error of the client's, at a field."""
    try:
        yield
    except psc.CompilationCancelledError:
        raise
    except (psc.PscError, RecursionError) as error:
        code = code or ("grammar_too_large" if isinstance(error, psc.ResourceLimitError) else "invalid_grammar")
        message = _without_origin(str(error))
        named = re.match(rf"{re.escape(param)}\b", message)
        raise ApiError(message if named else f"{param}: {message}", param, code=code) from error


def _without_origin(message: str) -> str:
    """psc's message, without its name for text that has none."""
    return re.sub(r"^<[^<>]*>:\s*", "", message) or "nested too deeply"


def _response_format(body: dict[str, Any]) -> Constraint | None:
    form = field(body, "response_format", {"type": "text"}, dict)
    kind = field(form, "type", None, str, within="response_format")
    if kind == "text":
        check_only(form, {"type"}, "response_format")
        return None
    if kind == "json_object":
        check_only(form, {"type", "schema"}, "response_format")
        if form.get("schema") is not None:
            return Constraint("json", form["schema"], "response_format.schema")
        return Constraint("json_object", True, "response_format")
    if kind == "json_schema":  # of chat completions; responses have its members in the format itself
        check_only(form, {"type", "json_schema"}, "response_format")
        described = field(form, "json_schema", None, dict, within="response_format")
        if described is None:
            path = "response_format.json_schema"
            raise ApiError(f"{path} is missing; it is an object with a name and a schema", path)
        check_only(described, _NAMED_SCHEMA, "response_format.json_schema")
        return _named_schema(described, "response_format.json_schema")
    if kind == "structural_tag":
        return Constraint("structural_tag", form, "response_format")
    raise ApiError(
        f"response_format.type {json.dumps(kind)[:80]} cannot be enforced; text, json_object, json_schema and structural_tag can",
        "response_format.type",
    )


def read_text_format(body: dict[str, Any]) -> Constraint | None:
    """The constraint of a body of the Responses API, `text.format`. Raises ApiError."""
    path = "text.format"
    text = field(body, "text", {}, dict)
    check_only(text, {"format"} if text.get("verbosity") != "medium" else {"format", "verbosity"}, "text")
    form = field(text, "format", {"type": "text"}, dict, within="text")
    kind = field(form, "type", None, str, within=path)
    if kind == "json_schema":
        check_only(form, {"type", *_NAMED_SCHEMA}, path)
        return _named_schema(form, path)
    if kind in ("text", "json_object"):
        check_only(form, {"type"}, path)
        return Constraint("json_object", True, path) if kind == "json_object" else None
    raise ApiError(f"{path}.type {json.dumps(kind)[:80]} cannot be enforced; text, json_object and json_schema can", f"{path}.type")


_NAMED_SCHEMA = {"name", "description", "schema", "strict"}


def _named_schema(form: dict[str, Any], path: str) -> Constraint:
    name = field(form, "name", None, str, within=path)
    if name is None or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise ApiError(f"{path}.name must be 1 to 64 letters, digits, underscores and hyphens", f"{path}.name")
    if form.get("schema") is None:
        raise ApiError(f"{path}.schema is missing; for any JSON object there is the type json_object", f"{path}.schema")
    constraint = Constraint(
        "json", form["schema"], f"{path}.schema", closed_objects=field(form, "strict", False, bool, within=path)
    )
    check_type(constraint)
    return constraint


def _structured_outputs(body: dict[str, Any]) -> Constraint | None:
    path = "structured_outputs"
    given = field(body, path, None, dict)
    if given is None:
        return None
    check_only(given, _STRUCTURED_OUTPUTS | _STRUCTURED_OPTIONS, path)
    named = [n for n in sorted(_STRUCTURED_OUTPUTS) if given.get(n) is not None]
    if len(named) != 1:
        raise ApiError(
            f"{path} must have one of {', '.join(sorted(_STRUCTURED_OUTPUTS))}; it has {' and '.join(named) or 'none'}", path
        )
    if named == ["json_object"] and given["json_object"] is False:
        raise ApiError(f"{path}.json_object is false, which constrains nothing; leave out {path}", f"{path}.json_object")
    return Constraint(
        named[0],
        given[named[0]],
        f"{path}.{named[0]}",
        closed_objects=field(given, "disable_additional_properties", False, bool, within=path),
        compact=field(given, "disable_any_whitespace", False, bool, within=path),
    )


def check_type(constraint: Constraint) -> None:
    """Raises ApiError where the value cannot be a grammar of its kind."""
    if not isinstance(constraint.value, _TYPES[constraint.kind]):
        expected = {dict: "object", str: "string", bool: "boolean", list: "array"}
        names = " or ".join(expected[t] for t in _TYPES[constraint.kind])
        raise ApiError(f"{constraint.param} must be of type {names}", constraint.param, code="invalid_type")


def _json(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    bounds = compiling.bounds
    return compiling.compiler.compile_json_schema(
        asked.value,
        strict_mode=asked.closed_objects,
        any_whitespace=not asked.compact,
        separators=(",", ":") if asked.compact else None,
        max_whitespace_cnt=bounds.max_whitespace,
        max_digits=bounds.max_digits,
        plain_integers=bounds.plain_integers,
        cancellation=compiling.cancellation,
    )


def _json_object(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    return _json(compiling, Constraint("json", {"type": "object"}, asked.param, compact=asked.compact))


def _regex(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    return compiling.compiler.compile_regex(asked.value, cancellation=compiling.cancellation)


def _grammar(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    """EBNF, or Lark's language where no rule is written with ``::=``, see `psc.serving.kinds.is_lark`."""
    if asked.param == "ebnf" or not is_lark(asked.value):
        _check_imports(asked)
        return compiling.compiler.compile_grammar(asked.value, cancellation=compiling.cancellation)
    return _lark(compiling, asked)


def _check_imports(asked: Constraint) -> None:
    """Lark reads `%import .name` from a file beside the program, which is no business of a client's."""
    if re.search(r"%import\s*\.", asked.value):
        raise ApiError(f"{asked.param}: %import of a file: a request's grammar has no folder; write the rules out", asked.param)


def _lark(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    _check_imports(asked)
    request = lark_request(asked.value, {}, schemas=compiling.bounds.schema_settings)
    return compiling.compiler.compile_grammar(request, cancellation=compiling.cancellation)


def _choice(compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    if not asked.value or not all(isinstance(text, str) for text in asked.value):
        raise ApiError(f"{asked.param} must be a list of strings, with one at least", asked.param)
    # JSON's escapes are EBNF's, but for the pairs of surrogates that it makes of characters beyond the first 65,536.
    choices = " | ".join(json.dumps(text, ensure_ascii=False) for text in asked.value)
    return compiling.compiler.compile_grammar(f"root ::= {choices}", cancellation=compiling.cancellation)


_COMPILE: dict[str, Callable[[Compiling, Constraint], psc.CompiledGrammar]] = {
    "json": _json,
    "json_object": _json_object,
    "regex": _regex,
    "choice": _choice,
    "grammar": _grammar,
    "lark": _lark,
    "structural_tag": lambda compiling, asked: compiling.tag(asked.value),
}
