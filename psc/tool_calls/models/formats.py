"""The models whose tool calls differ in data only, from their chat templates.

Every string is a fact of a template, byte for byte: ``｜`` is U+FF5C and ``▁`` U+2581. `tool_call_format` explains the fields.
"""

from __future__ import annotations

from dataclasses import replace

from psc.tool_calls.models.tool_call_format import Section, Thinking, ToolCallFormat
from psc.tool_calls.models.tool_names import ToolNames
from psc.tool_calls.structural_tag import Style

_THINK = Thinking()
_IN_JSON = ToolNames(in_json=True)
_UP_TO_MARKER = ToolNames(never="<")

_LLAMA = ToolCallFormat(trigger='{"name": ', begin='{"name": "{name}", "parameters": ', end="}", names=_IN_JSON)

_QWEN_3 = ToolCallFormat(
    trigger="<tool_call>",
    begin='<tool_call>\n{"name": "{name}", "arguments": ',
    end="}\n</tool_call>",
    names=_IN_JSON,
    thinking=Thinking(suffix="\n\n"),
)

_EXAONE = ToolCallFormat(
    trigger="<tool_call>",
    begin='<tool_call>{"name": "{name}", "arguments": ',
    end="}</tool_call>",
    names=_IN_JSON,
    thinking=Thinking(suffix="\n\n", free_if_enabled=True),
)

_QWEN_3_CODER = ToolCallFormat(
    trigger="<tool_call>\n<function=",
    begin="<tool_call>\n<function={name}>\n",
    end="</function>\n</tool_call>",  # the line break before it ends the list of parameters, or is the one of the begin
    style="qwen_xml",
    thinking=Thinking(suffix="\n\n"),
)

_MIMO_MARKERS = ("</tool_call>", "<function=")
_MIMO = ToolCallFormat(
    trigger="<tool_call>",
    begin="<tool_call><function={name}>",
    end="</function></tool_call>",
    style="qwen_xml",
    thinking=Thinking(opened_by_prompt=False, more_excludes=("<tool_call>", *_MIMO_MARKERS)),
    text_excludes=("<think>", "</think>", *_MIMO_MARKERS),
    excludes_without_calls=("<tool_call>",),
    refuses_builtin_tools=True,
)

_GLM_MARKERS = ("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
_GLM_4_7 = ToolCallFormat(
    trigger="<tool_call>",
    begin="<tool_call>{name}",
    end="</tool_call>",
    names=_UP_TO_MARKER,
    style="glm_xml",
    thinking=Thinking(more_excludes=("<tool_call>", *_GLM_MARKERS)),
    text_excludes=("<think>", "</think>", *_GLM_MARKERS),
    excludes_without_calls=("<tool_call>",),
)

_KIMI = ToolCallFormat(
    trigger="<|tool_calls_section_begin|>",
    begin="<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>",
    end="<|tool_call_end|>",
    names=_UP_TO_MARKER,
    section=Section(begin="<|tool_calls_section_begin|>", end="<|tool_calls_section_end|>"),
    thinking=Thinking(free_if_enabled=True),
    excludes_beside_calls=("<|tool_call_begin|>",),
)

_DEEPSEEK_R1 = ToolCallFormat(
    trigger="<｜tool▁calls▁begin｜>",
    begin="<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n",
    end="\n```<｜tool▁call▁end｜>",
    names=_UP_TO_MARKER,
    section=Section(begin="<｜tool▁calls▁begin｜>", end="<｜tool▁calls▁end｜>", separator="\n"),
    thinking=_THINK,
)

_DEEPSEEK_V3_1 = ToolCallFormat(
    trigger="<｜tool▁calls▁begin｜>",
    begin="<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>",
    end="<｜tool▁call▁end｜>",
    names=_UP_TO_MARKER,
    section=Section(begin="<｜tool▁calls▁begin｜>", end="<｜tool▁calls▁end｜>"),
    thinking=_THINK,
)


def _dsml(calls: str, space: str, style: Style) -> ToolCallFormat:
    """DeepSeek's own markup since V3.2."""
    return ToolCallFormat(
        trigger=f"<｜DSML｜{calls}>",
        begin=f'<｜DSML｜{space}invoke name="{{name}}">\n',
        end=f"</｜DSML｜{space}invoke>\n",
        names=ToolNames(never='"<'),
        style=style,
        section=Section(begin=f"<｜DSML｜{calls}>\n", end=f"</｜DSML｜{calls}>", lead="\n\n"),
        thinking=_THINK,
    )


_DEEPSEEK_V4_1 = replace(_dsml(" calls", " ", "deepseek_v4_1_xml"), never_without_calls=("<｜DSML｜ calls>",))

_MINIMAX = ToolCallFormat(
    trigger="<minimax:tool_call>",
    begin='<invoke name="{name}">\n',
    end="</invoke>\n",
    names=ToolNames(never="\"'<>"),
    style="minimax_xml",
    section=Section(begin="<minimax:tool_call>\n", end="</minimax:tool_call>", lead="\n"),
    thinking=Thinking(suffix="\n\n", free_if_enabled=True, if_disabled="\n</think>\n\n"),
)

_NS = "]<]minimax[>["
_M3_MARKERS = (f"{_NS}</tool_call>", f"{_NS}<invoke", f"{_NS}</invoke>")
_MINIMAX_M3 = ToolCallFormat(
    trigger=f"{_NS}<tool_call>",
    begin=_NS + '<invoke name="{name}">',
    end=f"{_NS}</invoke>\n",
    names=ToolNames(never="\"'<>"),
    style="minimax_m3_xml",
    section=Section(begin=f"{_NS}<tool_call>\n", end=f"{_NS}</tool_call>"),
    thinking=Thinking(
        begin="<mm:think>",
        end="</mm:think>",
        more_excludes=(f"{_NS}<tool_call>", *_M3_MARKERS),
        end_alone=True,
    ),
    text_excludes=("<mm:think>", "</mm:think>", *_M3_MARKERS),
    excludes_without_calls=(f"{_NS}<tool_call>",),
    text_after_required=True,
    refuses_builtin_tools=True,
)

_COHERE = ToolCallFormat(
    trigger="<cofl:tool_calls>",
    begin='<cofl:tool_call id="{number}" name="{name}">',
    end="</cofl:tool_call>",
    names=ToolNames(never="", escapes=(("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))),
    style="cohere_xml",
    section=Section(begin="<cofl:tool_calls>", end="</cofl:tool_calls>"),
    thinking=Thinking(begin="<|START_THINKING|>", end="<|END_THINKING|>", free_if_enabled=True),
    text_excludes=("<|START_THINKING|>", "<|END_THINKING|>"),
)

FORMATS = {
    "llama": _LLAMA,
    "kimi": _KIMI,
    "deepseek_r1": _DEEPSEEK_R1,
    "deepseek_v3_1": _DEEPSEEK_V3_1,
    "deepseek_v3_2": _dsml("function_calls", "", "deepseek_xml"),
    "deepseek_v4": _dsml("tool_calls", "", "deepseek_xml"),
    "deepseek_v4_1": _DEEPSEEK_V4_1,
    "qwen_3": _QWEN_3,
    "qwen_3_5": _QWEN_3_CODER,
    "qwen_3_coder": _QWEN_3_CODER,
    "mimo": _MIMO,
    "minimax": _MINIMAX,
    "minimax_m3": _MINIMAX_M3,
    "glm_4_7": _GLM_4_7,
    "cohere": _COHERE,
    "exaone": _EXAONE,
}
