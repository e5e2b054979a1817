"""Kimi K3: a message of blocks, each between ``<|open|>NAME<|sep|>`` and ``<|close|>NAME<|sep|>``.

The blocks come in this order: the reasoning, the response, and the tools if there are calls. The prompt has opened the first block.
"""

from __future__ import annotations

from psc.tool_calls.models.request import TagRequest
from psc.tool_calls.models.tool_call_format import Section, ToolCallFormat
from psc.tool_calls.models.tool_names import ToolNames
from psc.tool_calls.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    SequenceFormat,
    StructuralTag,
    TagFormat,
)

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_MESSAGE_END = f"{_CLOSE}message{_SEP}"


def _begin(block: str) -> str:
    return f"{_OPEN}{block}{_SEP}"


def _end(block: str) -> str:
    return f"{_CLOSE}{block}{_SEP}"


_TOOLS = Section(begin=_begin("tools"), end=_end("tools"))
_CALLS = ToolCallFormat(
    trigger=_begin("tools"),
    begin=f'{_OPEN}call tool="{{name}}" index="{{number}}"{_SEP}',
    end=_end("call"),
    names=ToolNames(never="<", escapes=(("&", "&amp;"), ('"', "&quot;"))),
    style="kimi_k3_xml",
    argument_excludes=(_OPEN, _CLOSE, _SEP),
)


def kimi_k3_tag(request: TagRequest) -> StructuralTag:
    """The structural tag. Raises InvalidStructuralTagError, a ValueError, if there is no function to call where one must be."""
    _CALLS.check(request)
    elements: list[Format] = []
    if request.reasoning != "disabled":
        thinking = _text(request, "think", is_open=request.reasoning == "enabled")
        elements.append(thinking if request.reasoning == "enabled" else OptionalFormat(content=thinking))
    elements.append(_text(request, "response", is_open=request.reasoning == "disabled"))
    if request.functions:
        calls = _CALLS.calls(request, _TOOLS)
        elements.append(OptionalFormat(content=_TOOLS.tag(calls)) if request.choice == "auto" else _TOOLS.alone(calls))
    elements.append(ConstStringFormat(value=_MESSAGE_END))
    return StructuralTag(format=SequenceFormat(elements=elements))


def _text(request: TagRequest, block: str, *, is_open: bool) -> TagFormat:
    """A block of free text; `is_open`: the prompt has opened it."""
    content = AnyTextFormat(excludes=request.excluded((_OPEN, _CLOSE)))
    return TagFormat(begin="" if is_open else _begin(block), content=content, end=_end(block))
