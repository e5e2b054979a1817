"""A body of the Responses API, read and checked: the same tasks as those of chat completions, under other names.

A custom tool is called with a text, of a grammar of its own or of none. The model begins its call as that of a function; then the
text's grammar takes the place of the answer's, up to the end. So a call of a custom tool is the last of its answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psc
from openai_api.constraints import Compiling, Constraint, check_type, compile_constraint, read_text_format
from openai_api.conversations import ROLES, is_json, read_messages
from openai_api.errors import ApiError
from openai_api.fields import Fields, check_known, check_only, field, number, text
from openai_api.tasks import MOST_TOKENS, USUAL_CONSTRAINED_TOKENS, USUAL_TOKENS, Engine, Task
from openai_api.tool_calls import CUSTOM
from openai_api.tools import Tools, read_tools
from psc.support.readable import shortened

_NOT_KEPT = "this server keeps no responses; send the whole conversation in input"
FIELDS = Fields(
    honoured=frozenset(
        {
            *("model", "input", "instructions", "text", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens"),
            *("temperature", "top_p", "stream", "stream_options"),
            *("seed", "logit_bias", "presence_penalty", "frequency_penalty"),  # not OpenAI's here, and as in chat completions
        }
    ),
    off={
        "background": (False,),
        "include": ([], ["reasoning.encrypted_content"]),
        "reasoning": ({}, {"effort": "none"}),
        "truncation": ("disabled",),
        "top_logprobs": (0,),
        "max_tool_calls": (),
        "prompt": (),
        "context_management": ([],),
        "moderation": (),
    },
    instead={
        "previous_response_id": _NOT_KEPT,
        "conversation": _NOT_KEPT,
        "background": "wait for the answer, or stream it",
        "messages": "use input",
        "response_format": "use text.format",
        "max_tokens": "use max_output_tokens",
        "max_completion_tokens": "use max_output_tokens",
    },
)

_PARTS = ("input_text", "output_text", "text")
_CALLS = {"function_call": ("arguments", "function_call_output"), "custom_tool_call": ("input", "custom_tool_call_output")}
_OUTPUTS = {output: call for call, (_, output) in _CALLS.items()}
_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The arguments of a custom tool, for chat templates, which know functions alone."""


def read_response(engine: Engine, body: dict[str, Any], cancellation: psc.Cancellation) -> Task:
    """A request as a task, its grammars compiled.

    Raises ApiError for what the client has to change, and CompilationCancelledError.
    """
    engine.check_model(body)
    check_known(body, FIELDS)
    tools, inputs = _read_tools(body)
    constraint = read_text_format(body)
    stream = field(body, "stream", False, bool)
    check_only(field(body, "stream_options", {}, dict), {"include_obfuscation"}, "stream_options")
    is_value = tools.must_call if tools else constraint is not None
    usual = USUAL_CONSTRAINED_TOKENS if is_value or inputs else USUAL_TOKENS
    max_tokens = number(body, "max_output_tokens", usual, int, 1, MOST_TOKENS)
    if inputs and engine.model.format_name not in CUSTOM:
        raise ApiError(f"tools: custom tools are called in the formats {', '.join(CUSTOM)}; see --tool-format", "tools")
    with _flat_names():
        compiled = engine.compiled(constraint, tools, cancellation)
    compiling = Compiling(engine.compiler, engine.bounds, cancellation)
    prompts = (engine.model.chat_prompt(_conversation(body), tools.listed if tools else ()),)
    return Task(
        chat=True,
        prompts=prompts,
        compiled=compiled,
        tools=tools,
        sampling=engine.sampling(body, chat=True, tools=tools),
        max_tokens=engine.fitting(max_tokens, prompts, "input"),
        n=1,
        stop=(),
        stream=stream,
        include_usage=True,
        custom={name: None if asked is None else _compiled(engine, compiling, asked) for name, asked in inputs.items()},
        told=_told(body, max_tokens),
    )


def _compiled(engine: Engine, compiling: Compiling, asked: Constraint) -> psc.CompiledGrammar:
    return engine.counted(asked.kind, lambda: compile_constraint(compiling, asked))


def _told(body: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    usual = {
        "instructions": None,
        "max_output_tokens": max_tokens,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
    }
    fixed = {"previous_response_id": None, "reasoning": {"effort": None, "summary": None}, "store": False, "background": False}
    return {name: value if body.get(name) is None else body[name] for name, value in usual.items()} | fixed


def _read_tools(body: dict[str, Any]) -> tuple[Tools | None, dict[str, Constraint | None]]:
    """The tools, and of those custom ones that may be called what their texts are."""
    listed, inputs = [], {}
    for i, tool in enumerate(field(body, "tools", [], list)):
        path = f"tools[{i}]"
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind not in ("function", "custom"):
            raise ApiError(f"{path}.type {shortened(repr(kind))}: this server has the types function and custom", f"{path}.type")
        name = field(tool, "name", None, str, within=path)
        if not name:
            raise ApiError(f"{path}.name is missing", f"{path}.name")
        described = {"name": name, "description": field(tool, "description", None, str, within=path)}
        if kind == "function":
            check_only(tool, {"type", "name", "description", "parameters", "strict"}, path)
            described |= {key: tool[key] for key in ("parameters", "strict") if key in tool}
        else:
            check_only(tool, {"type", "name", "description", "format"}, path)
            inputs[name] = _input_constraint(tool, path)
            described["parameters"] = _INPUT
        listed.append({"type": "function", "function": described})
    choice = _nested_choice(body.get("tool_choice"), frozenset(inputs))
    with _flat_names():
        tools = read_tools({**body, "tools": listed, "tool_choice": choice})
    if tools is None:
        return None, {}
    callable_ = {name: asked for name, asked in inputs.items() if name in tools.functions}
    return replace(tools, custom=frozenset(callable_), parallel=tools.parallel and not callable_), callable_


def _input_constraint(tool: Mapping[str, Any], path: str) -> Constraint | None:
    path = f"{path}.format"
    form = field({"format": tool.get("format")}, "format", {"type": "text"}, dict, within=path.removesuffix(".format"))
    kind = form.get("type")
    if kind == "text":
        check_only(form, {"type"}, path)
        return None
    if kind != "grammar":
        raise ApiError(f"{path}.type {shortened(repr(kind))}: it is text or grammar", f"{path}.type", code="invalid_value")
    check_only(form, {"type", "syntax", "definition"}, path)
    if form.get("syntax") not in ("lark", "regex"):
        raise ApiError(
            f"{path}.syntax {shortened(repr(form.get('syntax')))}: it is lark or regex", f"{path}.syntax", code="invalid_value"
        )
    constraint = Constraint(form["syntax"], form.get("definition"), f"{path}.definition")
    check_type(constraint)
    return constraint


def _nested_choice(choice: Any, custom: frozenset[str]) -> Any:
    """A tool_choice as chat completions have it."""
    if not isinstance(choice, dict):
        return choice
    kind = choice.get("type")
    if kind in ("function", "custom"):
        return _nested_tool(choice, custom, "tool_choice")
    if kind != "allowed_tools":
        raise ApiError(f"tool_choice.type {shortened(repr(kind))}: it is function, custom or allowed_tools", "tool_choice.type")
    check_only(choice, {"type", "mode", "tools"}, "tool_choice")
    allowed = field(choice, "tools", [], list, within="tool_choice")
    nested = [_nested_tool(tool, custom, f"tool_choice.tools[{i}]") for i, tool in enumerate(allowed)]
    return {"type": kind, "allowed_tools": {"mode": choice.get("mode"), "tools": nested}}


def _nested_tool(tool: Any, custom: frozenset[str], path: str) -> dict[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") not in ("function", "custom") or not isinstance(tool.get("name"), str):
        raise ApiError(f"{path} must have the type function or custom, and a name", path, code="invalid_tool_choice")
    check_only(tool, {"type", "name"}, path)
    if (tool["name"] in custom) is not (tool["type"] == "custom"):
        raise ApiError(f"{path}: no {tool['type']} tool has this name in tools", path, code="invalid_tool_choice")
    return {"type": "function", "function": {"name": tool["name"]}}


@contextmanager
def _flat_names() -> Iterator[None]:
    """Errors of a tool name its field without the ``function`` that chat completions have around it."""

    def flat(words: str) -> str:
        return re.sub(r"\b(tools\[\d+\]|tool_choice)\.function\b", r"\1", words)

    try:
        yield
    except ApiError as error:
        param = None if error.param is None else flat(error.param)
        raise ApiError(flat(str(error)), param, status=error.status, code=error.code) from error


def _conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The input as messages of chat completions."""
    given = body.get("input")
    if isinstance(given, str):
        items: list[Any] = [{"role": "user", "content": text(given, "input")}]
    else:
        items = field(body, "input", [], list)
    if not items:
        raise ApiError("input must be a text or a list of items, with one at least", "input")
    instructions = field(body, "instructions", None, str)
    messages = [] if instructions is None else [{"role": "system", "content": text(instructions, "instructions")}]
    calls: dict[str, str] = {}  # the types of those that were made, by their call_id
    for i, item in enumerate(items):
        messages += _messages(item, f"input[{i}]", calls)
    if not messages:
        raise ApiError("input has no message", "input")
    return read_messages({"messages": messages})


def _messages(item: Any, path: str, calls: dict[str, str]) -> list[dict[str, Any]]:
    """An item as messages: one, or none of reasoning, which the model does not read again."""
    if not isinstance(item, dict):
        raise ApiError(f"{path} must be an object", path, code="invalid_type")
    kind = field(item, "type", "message", str, within=path)
    if kind == "reasoning":
        return []
    if kind == "message":
        role = field(item, "role", None, str, within=path)
        if role not in ROLES[:4]:
            raise ApiError(
                f"{path}.role {shortened(repr(role))}: it is one of {', '.join(ROLES[:4])}", f"{path}.role", code="invalid_value"
            )
        return [{"role": role, "content": _text(item.get("content"), f"{path}.content")}]
    if kind not in _CALLS and kind not in _OUTPUTS:
        known = ", ".join(("message", *_CALLS, *_OUTPUTS, "reasoning"))
        raise ApiError(f"{path}.type {shortened(repr(kind))}: this server takes {known}", f"{path}.type", code="invalid_value")
    call_id = field(item, "call_id", None, str, within=path)
    if not call_id:
        raise ApiError(f"{path}.call_id is missing", f"{path}.call_id")
    if kind in _OUTPUTS:
        if calls.get(call_id) != _OUTPUTS[kind]:
            raise ApiError(f"{path}.call_id: no {_OUTPUTS[kind]} before it has this call_id", f"{path}.call_id")
        return [{"role": "tool", "tool_call_id": call_id, "content": _text(item.get("output"), f"{path}.output")}]
    calls[call_id] = kind
    name, spelled = (field(item, key, None, str, within=path) for key in ("name", _CALLS[kind][0]))
    if not name or spelled is None or (kind == "function_call" and not is_json(spelled)):
        raise ApiError(f"{path} must have a name, and arguments that are JSON text or, of a custom tool, an input", path)
    arguments = spelled if kind == "function_call" else json.dumps({"input": text(spelled, f"{path}.input")})
    call = {"id": call_id, "type": "function", "function": {"name": text(name, f"{path}.name"), "arguments": arguments}}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}]


def _text(content: Any, path: str) -> str:
    """A text, or a list of parts of text."""
    if isinstance(content, str):
        return text(content, path)
    parts: list[Any] = content if isinstance(content, list) else [None]
    if not all(isinstance(p, dict) and p.get("type") in _PARTS and isinstance(p.get("text"), str) for p in parts):
        raise ApiError(f"{path} must be a string, or a list of parts of type {', '.join(_PARTS[:2])}", path)
    return text("".join(p["text"] for p in parts), path)
