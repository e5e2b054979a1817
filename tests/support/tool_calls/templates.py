"""What the models' chat templates print for calls, as small templates of our own that have the same structure, byte for byte.

A template renders `thinking` (None: the prompt says that there is none) and `calls`, each with a name and its arguments. Macros say
how a value is written. They are rendered by jinja2 as chat templates are, with JSON that is not escaped for HTML.
"""

from __future__ import annotations

import json
from typing import Any

import jinja2

_NS = "]<]minimax[>["
_RAW = "{% macro value(v) %}{{ v if v is string else v|tojson }}{% endmacro %}"
_THINK = "{% if thinking is not none %}{{ thinking }}</think>{% endif %}"
_THINK_LINES = "{% if thinking is not none %}{{ thinking }}\n</think>\n\n{% endif %}"
_CALLS = "{% for c in calls %}"
_JSON = "{{ c.arguments|tojson }}"
_MEMBERS = "{% for k, v in c.arguments.items() %}"
_SEPARATOR = "{% if not loop.first %}\n{% endif %}"


def _dsml(calls: str, space: str) -> str:
    return (
        f"{_RAW}{_THINK}\n\n<｜DSML｜{calls}>\n{_CALLS}"
        f'<｜DSML｜{space}invoke name="{{{{ c.name }}}}">\n{_MEMBERS}'
        f"<｜DSML｜{space}parameter name=\"{{{{ k }}}}\" string=\"{{{{ 'true' if v is string else 'false' }}}}\">{{{{ value(v) }}}}"
        f"</｜DSML｜{space}parameter>\n{{% endfor %}}</｜DSML｜{space}invoke>\n{{% endfor %}}</｜DSML｜{calls}>"
    )


def _qwen_json(begin: str, end: str) -> str:
    call = f'{{"name": "{{{{ c.name }}}}", "arguments": {_JSON}}}'
    return f"{_THINK_LINES}{_CALLS}{_SEPARATOR}<tool_call>{begin}{call}{end}</tool_call>{{% endfor %}}"


_QWEN_CODER = (
    _RAW + _THINK_LINES + _CALLS + _SEPARATOR + "<tool_call>\n<function={{ c.name }}>\n" + _MEMBERS
    + "<parameter={{ k }}>\n{{ value(v) }}\n</parameter>\n{% endfor %}</function>\n</tool_call>{% endfor %}"
)  # fmt: skip
_KIMI_TYPE = (
    "{% macro kind(v) %}{% if v is none %}null{% elif v is boolean %}boolean{% elif v is string %}string{% elif v is number %}"
    "number{% elif v is mapping %}object{% else %}array{% endif %}{% endmacro %}"
)
_COFL = (
    '{% macro node(v) %}{% if v is mapping %} type="dict">{% for k, w in v.items() %}<cofl:value name="{{ k }}"{{ node(w) }}'
    '{% endfor %}{% elif v is string %} type="raw">{{ v }}{% elif v is iterable %} type="list">{% for w in v %}'
    '<cofl:value{{ node(w) }}{% endfor %}{% else %} type="json">{{ v|tojson }}{% endif %}</cofl:value>{% endmacro %}'
)
_M3 = (
    "{% macro node(v) %}{% if v is mapping %}{% for k, w in v.items() %}NS<{{ k }}>{{ node(w) }}NS</{{ k }}>{% endfor %}"
    "{% elif v is string %}{{ v }}{% elif v is iterable %}{% for w in v %}NS<item>{{ node(w) }}NS</item>{% endfor %}"
    "{% else %}{{ v|tojson }}{% endif %}{% endmacro %}"
)
_HARMONY_CALL = "<|channel|>commentary to=functions.{{ c.name }} <|constrain|>json<|message|>" + _JSON + "<|call|>"

TEMPLATES = {
    "llama": _CALLS + _SEPARATOR + '{"name": "{{ c.name }}", "parameters": ' + _JSON + "}{% endfor %}",
    "qwen_3": _qwen_json("\n", "\n"),
    "exaone": _qwen_json("", ""),
    "qwen_3_5": _QWEN_CODER,
    "qwen_3_coder": _QWEN_CODER,
    "mimo": _RAW + "{% if thinking is not none %}<think>{{ thinking }}</think>{% endif %}" + _CALLS + _SEPARATOR
    + "<tool_call><function={{ c.name }}>" + _MEMBERS + "<parameter={{ k }}>{{ value(v) }}</parameter>{% endfor %}"
    + "</function></tool_call>{% endfor %}",
    "glm_4_7": _RAW + _THINK + _CALLS + "<tool_call>{{ c.name }}" + _MEMBERS
    + "<arg_key>{{ k }}</arg_key><arg_value>{{ value(v) }}</arg_value>{% endfor %}</tool_call>{% endfor %}",
    "kimi": _THINK + "<|tool_calls_section_begin|>" + _CALLS + "<|tool_call_begin|>functions.{{ c.name }}:{{ loop.index0 }}"
    + "<|tool_call_argument_begin|>" + _JSON + "<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>",
    "deepseek_r1": _THINK + "<｜tool▁calls▁begin｜>" + _CALLS + _SEPARATOR
    + "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ c.name }}\n```json\n" + _JSON
    + "\n```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>",
    "deepseek_v3_1": _THINK + "<｜tool▁calls▁begin｜>" + _CALLS + "<｜tool▁call▁begin｜>{{ c.name }}<｜tool▁sep｜>" + _JSON
    + "<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>",
    "deepseek_v3_2": _dsml("function_calls", ""),
    "deepseek_v4": _dsml("tool_calls", ""),
    "deepseek_v4_1": _dsml(" calls", " "),
    "minimax": _RAW + "{{ thinking or '' }}\n</think>\n\n\n<minimax:tool_call>\n" + _CALLS
    + '<invoke name="{{ c.name }}">\n' + _MEMBERS
    + '<parameter name="{{ k }}">{{ value(v) }}</parameter>\n{% endfor %}</invoke>\n{% endfor %}</minimax:tool_call>',
    "minimax_m3": (_M3 + "{% if thinking is not none %}{{ thinking }}</mm:think>{% endif %}NS<tool_call>\n" + _CALLS
    + 'NS<invoke name="{{ c.name }}">{{ node(c.arguments) }}NS</invoke>\n{% endfor %}NS</tool_call>').replace("NS", _NS),
    "cohere": _COFL + "{% if thinking is not none %}{{ thinking }}<|END_THINKING|>{% endif %}<cofl:tool_calls>" + _CALLS
    + '<cofl:tool_call id="{{ loop.index0 }}" name="{{ c.name }}">' + _MEMBERS
    + '<cofl:value name="{{ k }}"{{ node(v) }}{% endfor %}'
    + "</cofl:tool_call>{% endfor %}</cofl:tool_calls>",
    "kimi_k3": _KIMI_TYPE + _RAW
    + "{% if thinking is not none %}{{ thinking }}<|close|>think<|sep|><|open|>response<|sep|>{% endif %}"
    + "One moment.<|close|>response<|sep|><|open|>tools<|sep|>" + _CALLS
    + '<|open|>call tool="{{ c.name }}" index="{{ loop.index0 }}"<|sep|>' + _MEMBERS
    + '<|open|>argument key="{{ k }}" type="{{ kind(v) }}"<|sep|>{{ value(v) }}<|close|>argument<|sep|>{% endfor %}'
    + "<|close|>call<|sep|>{% endfor %}<|close|>tools<|sep|><|close|>message<|sep|>",
    "harmony": "{% if thinking is not none %}<|channel|>analysis<|message|>{{ thinking }}<|end|><|start|>assistant{% endif %}"
    + _CALLS + "{% if not loop.first %}<|start|>assistant{% endif %}" + _HARMONY_CALL + "{% endfor %}",
}  # fmt: skip
"""By model; the two spellings of Qwen's coder format are one."""
_ENVIRONMENT = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
_ENVIRONMENT.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)


def rendered(model: str, calls: list[tuple[str, dict[str, Any]]], thinking: str | None = None) -> str:
    """What a model writes behind its prompt."""
    named = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return _ENVIRONMENT.from_string(TEMPLATES[model]).render(calls=named, thinking=thinking)
