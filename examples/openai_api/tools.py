"""The tools of a request, and the structural tag of what the model may write with them.

Which markers a call has is the model's: `format_name` is a name of docs/tool-calls.md. A request may also have a JSON schema: the
model then writes a value of it, or calls.
"""

from dataclasses import dataclass
from typing import Any

import psc
from openai_api.constraints import Compiling, Constraint, grammar_errors
from openai_api.errors import ApiError
from openai_api.fields import check_only, field
from psc.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    JSONSchemaFormat,
    OptionalFormat,
    OrFormat,
    SequenceFormat,
    StarFormat,
    StructuralTag,
    TagFormat,
    TriggeredTagsFormat,
)
from psc.support.readable import shortened
from psc.tool_calls.models.formats import FORMATS
from psc.tool_calls.models.tool_names import ToolNameError

_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True)
class Tools:
    """Tools of which the model may call some."""

    listed: tuple[dict[str, Any], ...]
    """As the request has them, for the prompt."""
    functions: dict[str, dict[str, Any]]
    """The schema of the arguments of each function that may be called."""
    choice: Any
    """As the request has it."""
    must_call: bool
    parallel: bool
    custom: frozenset[str] = frozenset()
    """Names of those functions that are custom tools: they are called with a text."""


def read_tools(body: dict[str, Any]) -> Tools | None:
    """The tools of a request; None where it has none, or may call none. Raises ApiError."""
    listed = field(body, "tools", [], list)
    choice = body.get("tool_choice")
    parallel = field(body, "parallel_tool_calls", True, bool)
    with grammar_errors("tools", "invalid_tools"):
        psc.normalize_tool_choice(listed, "auto")
    with grammar_errors("tool_choice", "invalid_tool_choice"):
        functions, _, kind = psc.normalize_tool_choice(listed, choice)
    for i, tool in enumerate(listed):
        if tool["type"] != "function":
            raise ApiError(f"tools[{i}].type {shortened(repr(tool['type']))}: this server has functions only", f"tools[{i}].type")
        check_only(tool, {"type", "function"}, f"tools[{i}]")
        check_only(tool["function"], {"name", "description", "parameters", "strict"}, f"tools[{i}].function")
    if not functions:
        return None
    schemas = {f.function.name: _arguments(f.function) for f in functions}
    return Tools(tuple(listed), schemas, choice, kind != "auto", parallel)


def _arguments(function: Any) -> dict[str, Any]:
    """What the arguments of a function are: none where it names none, any where it is not strict."""
    if function.strict is False:
        return {"type": "object"}
    return _NO_ARGUMENTS if function.parameters is None else function.parameters


def compile_tools(compiling: Compiling, tools: Tools, format_name: str, otherwise: Constraint | None) -> psc.CompiledGrammar:
    """The grammar of text with calls, or of calls or a value of a schema. Raises ApiError."""
    if tools.must_call or otherwise is None:
        tag = _tag(tools, format_name, tools.choice)
    else:
        tag = _value_or_calls(tools, format_name, otherwise)
    try:
        return compiling.tag(tag)
    except psc.CompilationCancelledError:
        raise
    except (psc.PscError, RecursionError) as error:  # what is nested too deeply is no tag
        _blame(tools, otherwise)
        raise ApiError(f"tools: {error}", "tools", code="invalid_tools") from error


def _tag(tools: Tools, format_name: str, choice: Any) -> StructuralTag:
    functions = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools.functions.items()]
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        choice = choice["allowed_tools"]["mode"]  # the others are left out already
    try:
        tag = psc.get_model_structural_tag(format_name, functions, choice, reasoning="disabled", parallel_tool_calls=tools.parallel)
    except ToolNameError as error:
        error = error.at([tool["function"]["name"] for tool in tools.listed].index(error.name))
        raise ApiError(str(error), f"tools[{error.index}].{error.field}", code="invalid_tools") from error
    if tools.must_call or choice == "required":
        tag = StructuralTag(format=_calls_alone(tag.format) or tag.format)
    if not tools.custom:
        return tag
    names = FORMATS[format_name].names
    begins = tuple(FORMATS[format_name].begin.partition("{name}")[0] + names.written(name) for name in tools.custom)
    return StructuralTag.model_validate(_ended_before_input(tag.model_dump(), begins))


def _ended_before_input(form: Any, begins: tuple[str, ...]) -> Any:
    """The tag as an object, in which calls of custom tools end where their text begins: that has a grammar of its own."""
    if isinstance(form, list):
        return [_ended_before_input(each, begins) for each in form]
    if not isinstance(form, dict):
        return form
    if form.get("type") == "tag" and isinstance(form["begin"], str) and form["begin"].startswith(begins):
        begin, content = form["begin"], form["content"]
        if content["type"] == "sequence":  # a number stands between the name and the text
            return {**form, "content": {**content, "elements": content["elements"][:-1]}, "end": ""}
        return {**form, "begin": begin[:-1], "content": {"type": "const_string", "value": begin[-1]}, "end": ""}
    return {name: _ended_before_input(each, begins) for name, each in form.items()}


def _calls_alone(form: Format, within: bool = False) -> Format | None:
    """What a model must write where a call is required, without the text that may stand beside calls; None for text alone."""
    match form:
        case AnyTextFormat():
            return None
        case TagFormat():
            return None if isinstance(form.content, AnyTextFormat) else form
        case TriggeredTagsFormat():
            call = OrFormat(elements=list(form.tags))
            if form.stop_after_first:
                return call
            next_call = SequenceFormat(elements=[OptionalFormat(content=ConstStringFormat(value="\n")), call])
            return SequenceFormat(elements=[call, StarFormat(content=next_call)])
        case SequenceFormat() | OrFormat():
            parts = [_calls_alone(element, within or isinstance(form, OrFormat)) for element in form.elements]
            left = [part for part in parts if part is not None]
            if not left or (isinstance(form, SequenceFormat) and within and len(left) < len(parts)):
                return None
            return type(form)(elements=left)
        case StarFormat():
            content = _calls_alone(form.content, within=True)
            return None if content is None else StarFormat(content=content)
        case _:
            return form


def _value_or_calls(tools: Tools, format_name: str, otherwise: Constraint) -> StructuralTag:
    if otherwise.kind not in ("json", "json_object"):
        raise ApiError(
            f"{otherwise.param} beside tools: text that may hold calls has no other grammar; give a JSON schema, or the "
            "tool_choice none or required",
            otherwise.param,
        )
    schema = {"type": "object"} if otherwise.kind == "json_object" else otherwise.value
    value = JSONSchemaFormat(json_schema=schema, strict_mode=otherwise.closed_objects, any_whitespace=not otherwise.compact)
    return StructuralTag(format=OrFormat(elements=[value, _tag(tools, format_name, "required").format]))


def _blame(tools: Tools, otherwise: Constraint | None) -> None:
    """Raises ApiError for the first schema that has no grammar by itself."""
    for i, tool in enumerate(tools.listed):
        name = tool["function"]["name"]
        if name in tools.functions:
            with grammar_errors(f"tools[{i}].function.parameters", "invalid_function_parameters"):
                psc.Grammar.from_json_schema(tools.functions[name])
    if otherwise is not None and not tools.must_call:
        with grammar_errors(otherwise.param):
            psc.Grammar.from_json_schema(True if otherwise.kind == "json_object" else otherwise.value)
