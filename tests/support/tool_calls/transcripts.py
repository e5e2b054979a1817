"""What the models' chat templates print for one call and for two, written by hand.

The tool is `get_weather`, its arguments a city (a string) and days (an integer); the second tool is `ping`, without arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
PING = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "ping", "parameters": PING}},
]
JSON_ARGUMENTS = '{"city": "Paris", "days": 3}'
_NS = "]<]minimax[>["


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """Texts that a model writes behind its prompt, which has opened the reasoning where the model's template does so."""

    thinking: str
    """Reasoning, its end, and what follows it before a call."""
    arguments: str
    begin: str
    """Of a section of calls; empty where calls stand by themselves."""
    call: str
    """Of `get_weather`; ``ARGUMENTS`` stands for the arguments."""
    between: str = ""
    ping: str
    """The second call."""
    end: str = ""

    @property
    def one(self) -> str:
        """A section with one call."""
        return self.begin + self.call.replace("ARGUMENTS", self.arguments) + self.end

    @property
    def two(self) -> str:
        """A section with both."""
        return self.begin + self.call.replace("ARGUMENTS", self.arguments) + self.between + self.ping + self.end


_DSML = (
    '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
)
_QWEN_CODER = Transcript(
    thinking="Let me look.\n</think>\n\n",
    arguments="<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n",
    begin="",
    call="<tool_call>\n<function=get_weather>\nARGUMENTS</function>\n</tool_call>",
    ping="<tool_call>\n<function=ping>\n</function>\n</tool_call>",
    between="\n",
)
_DEEPSEEK_V3_2 = Transcript(
    thinking="Let me look.</think>",
    arguments=_DSML,
    begin="\n\n<｜DSML｜function_calls>\n",
    call='<｜DSML｜invoke name="get_weather">\nARGUMENTS</｜DSML｜invoke>\n',
    ping='<｜DSML｜invoke name="ping">\n</｜DSML｜invoke>\n',
    end="</｜DSML｜function_calls>",
)

TRANSCRIPTS = {
    "llama": Transcript(
        thinking="",
        arguments=JSON_ARGUMENTS,
        begin="",
        call='{"name": "get_weather", "parameters": ARGUMENTS}',
        ping='{"name": "ping", "parameters": {}}',
        between="\n",
    ),
    "qwen_3": Transcript(
        thinking="Let me look.\n</think>\n\n",
        arguments=JSON_ARGUMENTS,
        begin="",
        call='<tool_call>\n{"name": "get_weather", "arguments": ARGUMENTS}\n</tool_call>',
        ping='<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>',
        between="\n",
    ),
    "exaone": Transcript(
        thinking="Let me look.\n</think>\n\n",
        arguments=JSON_ARGUMENTS,
        begin="",
        call='<tool_call>{"name": "get_weather", "arguments": ARGUMENTS}</tool_call>',
        ping='<tool_call>{"name": "ping", "arguments": {}}</tool_call>',
        between="\n",
    ),
    "qwen_3_5": _QWEN_CODER,
    "qwen_3_coder": _QWEN_CODER,
    "mimo": Transcript(
        thinking="<think>Let me look.</think>",
        arguments="<parameter=city>Paris</parameter><parameter=days>3</parameter>",
        begin="",
        call="<tool_call><function=get_weather>ARGUMENTS</function></tool_call>",
        ping="<tool_call><function=ping></function></tool_call>",
        between="\n",
    ),
    "glm_4_7": Transcript(
        thinking="Let me look.</think>",
        arguments="<arg_key>city</arg_key><arg_value>Paris</arg_value><arg_key>days</arg_key><arg_value>3</arg_value>",
        begin="",
        call="<tool_call>get_weatherARGUMENTS</tool_call>",
        ping="<tool_call>ping</tool_call>",
        between="\n",
    ),
    "kimi": Transcript(
        thinking="Let me look.</think>",
        arguments=JSON_ARGUMENTS,
        begin="<|tool_calls_section_begin|>",
        call="<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>ARGUMENTS<|tool_call_end|>",
        ping="<|tool_call_begin|>functions.ping:1<|tool_call_argument_begin|>{}<|tool_call_end|>",
        end="<|tool_calls_section_end|>",
    ),
    "deepseek_r1": Transcript(
        thinking="Let me look.\n</think>",
        arguments=JSON_ARGUMENTS,
        begin="<｜tool▁calls▁begin｜>",
        call="<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\nARGUMENTS\n```<｜tool▁call▁end｜>",
        ping="<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜>",
        between="\n",
        end="<｜tool▁calls▁end｜>",
    ),
    "deepseek_v3_1": Transcript(
        thinking="Let me look.</think>",
        arguments=JSON_ARGUMENTS,
        begin="<｜tool▁calls▁begin｜>",
        call="<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>ARGUMENTS<｜tool▁call▁end｜>",
        ping="<｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        end="<｜tool▁calls▁end｜>",
    ),
    "deepseek_v3_2": _DEEPSEEK_V3_2,
    "deepseek_v4": Transcript(
        thinking="Let me look.</think>",
        arguments=_DSML,
        begin="\n\n<｜DSML｜tool_calls>\n",
        call=_DEEPSEEK_V3_2.call,
        ping=_DEEPSEEK_V3_2.ping,
        end="</｜DSML｜tool_calls>",
    ),
    "deepseek_v4_1": Transcript(
        thinking="Let me look.</think>",
        arguments=_DSML.replace("｜parameter", "｜ parameter"),
        begin="\n\n<｜DSML｜ calls>\n",
        call='<｜DSML｜ invoke name="get_weather">\nARGUMENTS</｜DSML｜ invoke>\n',
        ping='<｜DSML｜ invoke name="ping">\n</｜DSML｜ invoke>\n',
        end="</｜DSML｜ calls>",
    ),
    "minimax": Transcript(
        thinking="Let me look.\n</think>\n\n",
        arguments='<parameter name="city">Paris</parameter>\n<parameter name="days">3</parameter>\n',
        begin="\n<minimax:tool_call>\n",
        call='<invoke name="get_weather">\nARGUMENTS</invoke>\n',
        ping='<invoke name="ping">\n</invoke>\n',
        end="</minimax:tool_call>",
    ),
    "minimax_m3": Transcript(
        thinking="Let me look.</mm:think>",
        arguments=f"{_NS}<city>Paris{_NS}</city>{_NS}<days>3{_NS}</days>",
        begin=f"{_NS}<tool_call>\n",
        call=f'{_NS}<invoke name="get_weather">ARGUMENTS{_NS}</invoke>\n',
        ping=f'{_NS}<invoke name="ping">{_NS}</invoke>\n',
        end=f"{_NS}</tool_call>",
    ),
    "cohere": Transcript(
        thinking="Let me look.<|END_THINKING|>",
        arguments='<cofl:value name="city" type="raw">Paris</cofl:value><cofl:value name="days" type="json">3</cofl:value>',
        begin="<cofl:tool_calls>",
        call='<cofl:tool_call id="0" name="get_weather">ARGUMENTS</cofl:tool_call>',
        ping='<cofl:tool_call id="1" name="ping"></cofl:tool_call>',
        end="</cofl:tool_calls>",
    ),
    "kimi_k3": Transcript(
        thinking="Let me look.<|close|>think<|sep|>",
        arguments='<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>',
        begin="<|open|>response<|sep|>One moment.<|close|>response<|sep|><|open|>tools<|sep|>",
        call='<|open|>call tool="get_weather" index="0"<|sep|>ARGUMENTS<|close|>call<|sep|>',
        ping='<|open|>call tool="ping" index="1"<|sep|><|close|>call<|sep|>',
        end="<|close|>tools<|sep|><|close|>message<|sep|>",
    ),
    "harmony": Transcript(
        thinking="<|channel|>analysis<|message|>Let me look.<|end|><|start|>assistant",
        arguments=JSON_ARGUMENTS,
        begin="",
        call="<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>ARGUMENTS<|call|>",
        ping="<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}<|call|>",
        between="<|start|>assistant",
    ),
}

MARKERS = {
    "harmony": ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"],
    "kimi": [
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
        "</think>",
    ],
    "kimi_k3": ["<|open|>", "<|close|>", "<|sep|>"],
    "deepseek_v3_1": [
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
        "</think>",
    ],
    "deepseek_v3_2": ["｜DSML｜", "</think>"],
    "qwen_3": ["<tool_call>", "</tool_call>", "</think>"],
    "glm_4_7": ["<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</think>"],
    "minimax_m3": ["]<]minimax[>[", "</mm:think>"],
    "cohere": ["<|END_THINKING|>"],
}
"""Per model the markers that are single tokens of its vocabulary."""
