"""What a model's tag is made for: the tools, whether one must be called, and the reasoning before it.

`tool_choice` of OpenAI's API becomes a list of tools and one of three words. Cost: linear in the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from psc.errors import InvalidStructuralTagError
from psc.support.checked_record import Reading
from psc.tool_calls.models.tool_names import listed, shown
from psc.tool_calls.openai_tool_call_schema import (
    AllowedToolChoiceParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionToolParam,
    NamedToolChoiceParam,
)
from psc.tool_calls.structural_tag import JSONSchemaFormat, Style

SimplifiedToolChoice = Literal["auto", "required", "forced"]
Reasoning = Literal["enabled", "disabled", "auto"]


@dataclass(frozen=True, kw_only=True)
class TagRequest:
    """The arguments of a model's tag, as `get_model_structural_tag` has normalized them."""

    functions: tuple[FunctionToolParam, ...]
    builtins: tuple[BuiltinToolParam, ...] = ()
    choice: SimplifiedToolChoice = "auto"
    """With ``"forced"`` there is one tool in all."""
    reasoning: Reasoning = "enabled"
    any_order: bool = False
    exclude_special_tokens: bool = True
    max_whitespace_cnt: int | None = None
    parallel_tool_calls: bool = True

    def excluded(self, texts: Iterable[str]) -> list[str]:
        """The texts, if special tokens are to be kept out of free text; else none."""
        return list(texts) if self.exclude_special_tokens else []

    def arguments(
        self, tool: FunctionToolParam | BuiltinToolParam, style: Style = "json", excludes: Iterable[str] = ()
    ) -> JSONSchemaFormat:
        """The arguments of a tool; any at all where it has no schema, or is not strict."""
        described = tool.function if isinstance(tool, FunctionToolParam) else tool
        loose = isinstance(tool, FunctionToolParam) and tool.function.strict is False
        return JSONSchemaFormat(
            json_schema=True if loose or described.parameters is None else described.parameters,
            style=style,
            any_order=self.any_order,
            max_whitespace_cnt=self.max_whitespace_cnt,
            excludes=self.excluded(excludes),
        )


def builtin_name(tool: BuiltinToolParam) -> str:
    """What the model calls a builtin tool."""
    return tool.name or tool.type


def normalize_tool_choice(
    tools: list[FunctionToolParam | BuiltinToolParam | dict[str, Any]] | None = None,
    tool_choice: object = "auto",
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    """The tools that may be called, and whether one must be.

    Args:
        tools: OpenAI's list; records, dictionaries, or pydantic models of the same shape. A function's ``type`` may be absent.
        tool_choice: ``"auto"``, ``"none"``, ``"required"``; a function's name, a builtin tool's type, or some allowed tools, as
            dictionaries or records; None is ``"auto"``.

    Returns:
        The functions, the builtin tools, and ``"auto"`` (text or calls), ``"required"`` (at least a call) or ``"forced"`` (a call
        of the one tool that is left). With ``"none"`` no tool is left.

    Raises:
        InvalidStructuralTagError: a ValueError; ``tools`` is no list; a tool has no valid form, or the name of another one; the
            choice is none of these, or names a tool that is not there; a call is required, and no tool is left.
    """
    functions, builtins = _read_tools(tools)
    chosen = _read_choice(tool_choice)
    if isinstance(chosen, AllowedToolChoiceParam):
        functions, builtins = _allowed(functions, builtins, chosen)
        return _checked(functions, builtins, chosen.allowed_tools.mode)
    if isinstance(chosen, NamedToolChoiceParam):
        name = chosen.function.name
        named = [f for f in functions if f.function.name == name]
        if not named:
            raise InvalidStructuralTagError(
                f"tool_choice: there is no function {shown(name)} in tools, which has {_names(functions)}"
            )
        return _checked(named, [], "forced")
    if isinstance(chosen, BuiltinToolChoiceParam):
        of_type = [b for b in builtins if b.type == chosen.type]
        if len(of_type) != 1:
            raise InvalidStructuralTagError(
                f"tool_choice: {len(of_type)} builtin tools in tools have the type {shown(chosen.type)}, and exactly one "
                f"must have it; types are {listed([b.type for b in builtins])}"
            )
        return _checked([], of_type, "forced")
    if chosen == "none":
        return [], [], "auto"
    return _checked(functions, builtins, chosen)


def _read_tools(tools: object) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    read = _each_tool(tools)
    names: dict[str, int] = {}
    for i, name in enumerate(map(_name, read)):
        if name in names:
            raise InvalidStructuralTagError(
                f"tools[{i}]: has the name {shown(name)}, as tools[{names[name]}] has; a call would be of either"
            )
        names[name] = i
    functions = [tool for tool in read if isinstance(tool, FunctionToolParam)]
    return functions, [tool for tool in read if isinstance(tool, BuiltinToolParam)]


def names_of(tools: object) -> list[str]:
    """The names of all tools, in their order. Raises InvalidStructuralTagError: a tool has no valid form."""
    return [_name(tool) for tool in _each_tool(tools)]


def _name(tool: FunctionToolParam | BuiltinToolParam) -> str:
    return tool.function.name if isinstance(tool, FunctionToolParam) else builtin_name(tool)


def _each_tool(tools: object) -> list[FunctionToolParam | BuiltinToolParam]:
    if tools is None:
        return []
    if not isinstance(tools, (list, tuple)):
        raise InvalidStructuralTagError(f"tools: must be a list, not {type(tools).__name__}")
    reading = Reading()
    return [_read_tool(given, f"tools[{i}]", reading) for i, given in enumerate(tools)]


def _read_tool(given: object, path: str, reading: Reading) -> FunctionToolParam | BuiltinToolParam:
    if isinstance(given, (FunctionToolParam, BuiltinToolParam)):
        return given
    given = _plain(given)
    if not isinstance(given, Mapping) or not ("function" in given or isinstance(given.get("type"), str)):
        raise InvalidStructuralTagError(
            f'{path}: must be a dictionary with a "type", such as {{"type": "function", "function": …}}'
        )
    if given.get("type", "function") != "function":
        return reading.read(BuiltinToolParam, given, path)
    if "function" not in given:
        raise InvalidStructuralTagError(
            f'{path}.function: is missing; a function tool is {{"type": "function", "function": {{"name": …, "parameters": …}}}}'
        )
    return reading.read(FunctionToolParam, given, path)


def _read_choice(
    given: object,
) -> Literal["none", "auto", "required"] | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam:
    if isinstance(given, (NamedToolChoiceParam, AllowedToolChoiceParam, BuiltinToolChoiceParam)):
        return given
    given = _plain(given)
    if given is None or given == "auto":
        return "auto"
    if given == "none":
        return "none"
    if given == "required":
        return "required"
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise InvalidStructuralTagError(
            f"tool_choice: must be 'auto', 'none', 'required' or a dictionary with a \"type\", not {given!r}"[:200]
        )
    if given["type"] == "function":
        return Reading().read(NamedToolChoiceParam, given, "tool_choice")
    if given["type"] == "allowed_tools":
        return Reading().read(AllowedToolChoiceParam, given, "tool_choice")
    return Reading().read(BuiltinToolChoiceParam, given, "tool_choice")


def _plain(given: object) -> object:
    """The dictionary of a model that is another library's."""
    dump = getattr(given, "model_dump", None)
    return dump() if callable(dump) and not isinstance(given, type) else given


def _allowed(
    functions: list[FunctionToolParam], builtins: list[BuiltinToolParam], choice: AllowedToolChoiceParam
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    names, types = set(), set()
    for i, tool in enumerate(choice.allowed_tools.tools):
        path = f"tool_choice.allowed_tools.tools[{i}]"
        if tool.type != "function":
            if all(b.type != tool.type for b in builtins):
                raise InvalidStructuralTagError(
                    f"{path}: Allowed builtin {shown(tool.type)} is the type of no builtin tool in tools"
                )
            types.add(tool.type)
        elif tool.function is None:
            raise InvalidStructuralTagError(f'{path}.function: is missing; a function is allowed by {{"function": {{"name": …}}}}')
        elif all(f.function.name != tool.function.name for f in functions):
            raise InvalidStructuralTagError(
                f"{path}: there is no function {shown(tool.function.name)} in tools, which has {_names(functions)}"
            )
        else:
            names.add(tool.function.name)
    return [f for f in functions if f.function.name in names], [b for b in builtins if b.type in types]


def _checked(
    functions: list[FunctionToolParam], builtins: list[BuiltinToolParam], choice: SimplifiedToolChoice
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    if choice == "required" and not functions and not builtins:
        raise InvalidStructuralTagError("tool_choice: a call is required, and there is no tool to call: tools is empty")
    return functions, builtins, choice


def _names(functions: list[FunctionToolParam]) -> str:
    return listed([f.function.name for f in functions])
