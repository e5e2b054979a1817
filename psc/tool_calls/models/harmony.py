"""Harmony, the format of gpt-oss: a turn is a list of messages, each with a header that names a channel and perhaps a recipient.

The prompt ends with ``<|start|>assistant``, so the first message begins behind that; each other one begins with it. A message on
the channel ``analysis`` is reasoning, one on ``final`` the answer, one on ``commentary`` without a recipient a preamble to calls;
these end with ``<|end|>``, the last one with ``<|return|>``. A message with a recipient is a call, and ends with ``<|call|>``,
where a serving engine stops. The recipient stands in the role or behind the channel: templates write the one, the model the other.

"required" is messages, then a call, then anything; "forced" is messages, then the call.

Source: developers.openai.com/cookbook/articles/openai-harmony.
"""

from __future__ import annotations

from psc.errors import InvalidStructuralTagError
from psc.tool_calls.models.request import TagRequest, builtin_name
from psc.tool_calls.models.tool_names import ToolNames
from psc.tool_calls.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OrFormat,
    SequenceFormat,
    StarFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
)

_NEXT = "<|start|>assistant"
_CALL_END = "<|call|>"
_MESSAGE_ENDS = ("<|end|>", "<|return|>")
_NAMES = ToolNames(never=" <")
"""A recipient ends with white space or a marker."""

_FUNCTION_HEADERS = (
    "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.{name}<|constrain|>json<|message|>",
    " to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>",
    " to=functions.{name}<|channel|>commentary json<|message|>",
)
_BUILTIN_HEADERS = (
    "<|channel|>commentary to={name} code<|message|>",
    "<|channel|>analysis to={name} code<|message|>",
    " to={name}<|channel|>commentary code<|message|>",
    " to={name}<|channel|>analysis code<|message|>",
)


def harmony_tag(request: TagRequest) -> StructuralTag:
    """The structural tag. Raises InvalidStructuralTagError, a ValueError, if there is no tool to call where one must be."""
    calls = _calls(request)
    messages = []
    if request.choice == "auto":
        messages.append(_message("final", _MESSAGE_ENDS))
    if request.reasoning != "disabled":
        messages.append(_message("analysis", _MESSAGE_ENDS))
    if calls:
        messages.append(_message("commentary", _MESSAGE_ENDS[:1]))
    if request.choice != "auto" and not calls:
        raise InvalidStructuralTagError(f"tool_choice: a call is {request.choice}, and there is no tool to call")
    if not calls or (request.choice == "auto" and request.parallel_tool_calls):
        return StructuralTag(format=TagsWithSeparatorFormat(tags=[*calls, *messages], separator=_NEXT))
    one_call = TagsWithSeparatorFormat(tags=calls, separator=_NEXT, at_least_one=True, stop_after_first=True)
    then_call = SequenceFormat(elements=[_repeated(messages, before=True), one_call])
    if request.choice == "auto":
        without_call = TagsWithSeparatorFormat(tags=messages, separator=_NEXT)
        return StructuralTag(format=OrFormat(elements=[without_call, then_call]))
    if request.choice == "required" and request.parallel_tool_calls:
        then_call.elements.append(_repeated([*calls, *messages], before=False))
    return StructuralTag(format=then_call)


def _calls(request: TagRequest) -> list[TagFormat]:
    calls = []
    for i, function in enumerate(request.functions):
        _NAMES.check(function.function.name, i)
        calls += _spellings(function.function.name, _FUNCTION_HEADERS, request.arguments(function))
    for i, builtin in enumerate(request.builtins):
        _NAMES.check(builtin_name(builtin), i, "name" if builtin.name else "type")
        calls += _spellings(builtin_name(builtin), _BUILTIN_HEADERS, request.arguments(builtin))
    return calls


def _spellings(name: str, headers: tuple[str, ...], arguments: Format) -> list[TagFormat]:
    return [TagFormat(begin=header.replace("{name}", name), content=arguments, end=_CALL_END) for header in headers]


def _message(channel: str, ends: tuple[str, ...]) -> TagFormat:
    return TagFormat(begin=f"<|channel|>{channel}<|message|>", content=AnyTextFormat(), end=list(ends))


def _repeated(tags: list[TagFormat], *, before: bool) -> Format:
    """Any number of the messages, each with what begins the next one, or each behind it."""
    one, between = OrFormat(elements=list(tags)), ConstStringFormat(value=_NEXT)
    return StarFormat(content=SequenceFormat(elements=[one, between] if before else [between, one]))
