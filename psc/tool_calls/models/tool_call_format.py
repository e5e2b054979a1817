"""How a model writes tool calls, as facts of its chat template, and the structural tag that they make.

A call is a template: ``{name}`` stands for the tool's name, ``{number}`` for digits that the model counts by. What differs between
the models is data; how text, calls and reasoning are put together is the same for all of them, and is here.

Reasoning comes first. "enabled": the prompt has opened it, so that the text begins inside it (a few models open it themselves);
"auto": a whole block or none; "disabled": none. Then, by the choice of tools: "auto": free text in which the trigger begins calls;
"required": calls, at least one; "forced": the one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from psc.errors import InvalidStructuralTagError
from psc.tool_calls.models.request import TagRequest
from psc.tool_calls.models.tool_names import ToolNames
from psc.tool_calls.openai_tool_call_schema import FunctionToolParam
from psc.tool_calls.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    OrFormat,
    RegexFormat,
    SequenceFormat,
    StructuralTag,
    Style,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """How a model writes its reasoning."""

    begin: str = "<think>"
    end: str = "</think>"
    suffix: str = ""
    """What stands between the end and the answer."""
    more_excludes: tuple[str, ...] = ()
    """What the reasoning may not contain, beside its begin and its end."""
    free_if_enabled: bool = False
    """Whether reasoning that the prompt has opened may contain anything but its end."""
    opened_by_prompt: bool = True
    end_alone: bool = False
    """Whether the end alone may stand for no reasoning, where there may be a block or none."""
    if_disabled: str = ""
    """What the model writes where there is to be no reasoning."""

    def prefix(self, request: TagRequest) -> list[Format]:
        """What comes before the answer."""
        if request.reasoning == "disabled":
            return [ConstStringFormat(value=self.if_disabled)] if self.if_disabled else []
        enabled = request.reasoning == "enabled"
        excludes = () if enabled and self.free_if_enabled else (self.begin, self.end, *self.more_excludes)
        block: Format = TagFormat(
            begin="" if enabled and self.opened_by_prompt else self.begin,
            content=AnyTextFormat(excludes=request.excluded(excludes)),
            end=self.end,
        )
        if self.suffix:
            block = SequenceFormat(elements=[block, ConstStringFormat(value=self.suffix)])
        if not enabled:
            block = OptionalFormat(
                content=OrFormat(elements=[block, ConstStringFormat(value=self.end)]) if self.end_alone else block
            )
        return [block]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What stands around several calls."""

    begin: str
    end: str
    separator: str = ""
    lead: str = ""
    """What comes first where there is no free text before the section."""

    def tag(self, content: Format) -> TagFormat:
        """The section beside free text."""
        return TagFormat(begin=self.begin, content=content, end=self.end)

    def alone(self, content: Format) -> SequenceFormat:
        """The section without free text before it."""
        return SequenceFormat(
            elements=[ConstStringFormat(value=self.lead + self.begin), content, ConstStringFormat(value=self.end)]
        )


@dataclass(frozen=True, kw_only=True)
class ToolCallFormat:
    """How a model writes tool calls."""

    trigger: str
    """What begins calls in free text."""
    begin: str
    """Of a call, a template."""
    end: str
    names: ToolNames = field(default_factory=ToolNames)
    style: Style = "json"
    """Of the arguments."""
    argument_excludes: tuple[str, ...] = ()
    """What no text in the arguments may contain."""
    section: Section | None = None
    thinking: Thinking | None = None
    text_excludes: tuple[str, ...] = ("<think>", "</think>")
    """What free text may not contain."""
    excludes_beside_calls: tuple[str, ...] = ()
    """More of it, where there are tools."""
    excludes_without_calls: tuple[str, ...] = ()
    """More of it, where there are none."""
    never_without_calls: tuple[str, ...] = ()
    """The same, even if special tokens may be text."""
    text_after_required: bool = False
    """Whether free text may follow a section that was required."""
    refuses_builtin_tools: bool = False
    """Whether builtin tools are an error; else they are left out."""

    def tag(self, request: TagRequest) -> StructuralTag:
        """The structural tag. Raises InvalidStructuralTagError, a ValueError, if there is no function to call where one must be."""
        self.check(request)
        prefix = self.thinking.prefix(request) if self.thinking else []
        answer = self._answer(request)
        return StructuralTag(format=SequenceFormat(elements=[*prefix, answer]) if prefix else answer)

    def check(self, request: TagRequest) -> None:
        """Raises InvalidStructuralTagError, a ValueError: no function, or one that the model cannot call."""
        if self.refuses_builtin_tools and request.builtins:
            raise InvalidStructuralTagError(f"tools: this model has no builtin tools, and {request.builtins[0].type!r} is one")
        if request.choice != "auto" and not request.functions:
            raise InvalidStructuralTagError(
                f"tool_choice: a call is {request.choice}, and this model calls functions only; tools has none that is allowed"
            )
        for i, tool in enumerate(request.functions):
            self.names.check(tool.function.name, i)

    def calls(self, request: TagRequest, section: Section) -> Format:
        """What stands in a section: the call that is forced, or calls."""
        calls = [self._call(request, tool) for tool in request.functions]
        if request.choice == "forced":
            return calls[0]
        return TagsWithSeparatorFormat(
            tags=calls, separator=section.separator, at_least_one=True, stop_after_first=not request.parallel_tool_calls
        )

    def _answer(self, request: TagRequest) -> Format:
        if not request.functions:
            excludes = request.excluded((*self.text_excludes, *self.excludes_without_calls))
            return AnyTextFormat(excludes=[*excludes, *self.never_without_calls])
        if self.section is None:
            calls = [self._call(request, tool) for tool in request.functions]
            return calls[0] if request.choice == "forced" else self._triggered(request, calls)
        content = self.calls(request, self.section)
        if request.choice == "forced" or (request.choice == "required" and not self.text_after_required):
            return self.section.alone(content)
        return self._triggered(request, [self.section.tag(content)])

    def _triggered(self, request: TagRequest, tags: list[TagFormat]) -> Format:
        return TriggeredTagsFormat(
            triggers=[self.trigger],
            tags=tags,
            excludes=request.excluded((*self.text_excludes, *self.excludes_beside_calls)),
            at_least_one=request.choice == "required",
            stop_after_first=not request.parallel_tool_calls,
        )

    def _call(self, request: TagRequest, tool: FunctionToolParam) -> TagFormat:
        before, *numbered = [
            part.replace("{name}", self.names.written(tool.function.name)) for part in self.begin.split("{number}")
        ]
        content: Format = request.arguments(tool, self.style, self.argument_excludes)
        if numbered:
            content = SequenceFormat(elements=[RegexFormat(pattern=r"\d+"), ConstStringFormat(value=numbered[0]), content])
        return TagFormat(begin=before, content=content, end=self.end)
