"""Kimi K3: a message of blocks, each between ``<|open|>NAME<|sep|>`` and ``<|close|>NAME<|sep|>``.

The blocks come in this order: the reasoning, the response, and the tools if there are calls. The prompt has opened the first block.
"""

from __future__ import annotations

from psc.errors import InvalidStructuralTagError
from psc.tool_calls.models.request import TagRequest
from psc.tool_calls.openai_tool_call_schema import FunctionToolParam
from psc.tool_calls.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    RegexFormat,
    SequenceFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
)

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_MESSAGE_END = f"{_CLOSE}message{_SEP}"


def _begin(block: str) -> str:
    return f"{_OPEN}{block}{_SEP}"


def _end(block: str) -> str:
    return f"{_CLOSE}{block}{_SEP}"


def kimi_k3_tag(request: TagRequest) -> StructuralTag:
    """The structural tag. Raises InvalidStructuralTagError, a ValueError, if there is no function to call where one must be."""
    if request.choice != "auto" and not request.functions:
        raise InvalidStructuralTagError(
            f"tool_choice: a call is {request.choice}, and this model calls functions only; tools has none that is allowed"
        )
    elements: list[Format] = []
    if request.reasoning != "disabled":
        block = TagFormat(
            begin="" if request.reasoning == "enabled" else _begin("think"),
            content=AnyTextFormat(excludes=request.excluded((_OPEN, _CLOSE))),
            end=_end("think"),
        )
        elements.append(block if request.reasoning == "enabled" else OptionalFormat(content=block))
    elements.append(
        TagFormat(
            begin="" if request.reasoning == "disabled" else _begin("response"),
            content=AnyTextFormat(excludes=request.excluded((_OPEN, _CLOSE))),
            end=_end("response"),
        )
    )
    if request.functions:
        elements.append(_tools(request))
    elements.append(ConstStringFormat(value=_MESSAGE_END))
    return StructuralTag(format=SequenceFormat(elements=elements))


def _tools(request: TagRequest) -> Format:
    calls = [_call(request, tool) for tool in request.functions]
    content: Format = (
        calls[0]
        if request.choice == "forced"
        else TagsWithSeparatorFormat(tags=calls, separator="", at_least_one=True, stop_after_first=not request.parallel_tool_calls)
    )
    if request.choice == "auto":
        return OptionalFormat(content=TagFormat(begin=_begin("tools"), content=content, end=_end("tools")))
    return SequenceFormat(elements=[ConstStringFormat(value=_begin("tools")), content, ConstStringFormat(value=_end("tools"))])


def _call(request: TagRequest, tool: FunctionToolParam) -> TagFormat:
    arguments = request.arguments(tool, "kimi_k3_xml")
    arguments.excludes = request.excluded((_OPEN, _CLOSE, _SEP))
    return TagFormat(
        begin=f'{_OPEN}call tool="{tool.function.name}" index="',
        content=SequenceFormat(elements=[RegexFormat(pattern=r"\d+"), ConstStringFormat(value=f'"{_SEP}'), arguments]),
        end=_end("call"),
    )
