"""Names of tools: a call's text has a name that the model's parsers read back, or the name is refused, with its place.

The readers are written by hand after public parsers, and know nothing of how the formats write names.
"""

import html
import json
import pickle
import re
from typing import Any

import pytest
from tool_calls.transcripts import TRANSCRIPTS
from vocabularies import byte_tokenizer

import psc
from psc.tool_calls.models.tool_names import ToolNameError

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)
PLAIN = [
    "f",
    "get_weather",
    "a.b",
    "a/b",
    "mcp__server__tool",
    "a-b",
    "größe",
    "日本",
    "x" * 64,
    "0",
    "{number}",
    "{name}",
    "a:b",
    "😀",
]
ODD = [
    'a"b', '"', "a\\b", "a\\", "\\n", "a\nb", "\n", "a\rb", "a\tb", "a\0b", "\x7f", "a>b", ">", "a<b", "<", "", " ", " a", "a ",
    "a b", "a'b", "'", "a&b", "&quot;", "&lt;", "</tool_call>", "<tool_call>", "<|call|>", "<|end|>x", "f>\n<function=g",
    "</function>", 'x", "arguments": {}}\n</tool_call>', "<arg_key>", "<｜tool▁sep｜>", "]<]minimax[>[", "\ud800",
    "a\u2028b", "a\u00a0b", "\u3000a", "a\x85b",
    "functions.f", "a:0", "}", "{", "a</b", "\\u003c", "to=x", "final", "a,b", "%s", "é", "e\u0301",
]  # fmt: skip


def _in_json(text):
    begin = text.index("{")
    marked = re.search(r"<tool_call>(.*?)</tool_call>", text, re.DOTALL)
    return json.loads(marked[1] if marked else text[begin:])["name"]


def _group(pattern):
    return lambda text: re.search(pattern, text, re.DOTALL)[1]


def _attribute(pattern):
    return lambda text: html.unescape(_group(pattern)(text))


_DSML = _group(r'｜DSML｜ ?invoke name="([^"]+)"\s*>')
READERS = {
    "llama": _in_json,
    "qwen_3": _in_json,
    "exaone": _in_json,
    "qwen_3_5": _group(r"<function=([^>]*)>"),
    "qwen_3_coder": _group(r"<function=([^>]*)>"),
    "mimo": _group(r"<function=([^>]*)>"),
    "glm_4_7": lambda text: _group(r"<tool_call>([^\n]*?)(?:\n|<arg_key>|</tool_call>)")(text).strip(),
    "kimi": lambda text: _group(r"<\|tool_call_begin\|>\s*functions\.([^<]+):\d+\s*<\|tool_call_argument_begin\|>")(text).strip(),
    "deepseek_r1": _group(r"<｜tool▁sep｜>([^\n]*?)\n```json"),
    "deepseek_v3_1": _group(r"<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>"),
    "deepseek_v3_2": _DSML,
    "deepseek_v4": _DSML,
    "deepseek_v4_1": _DSML,
    "minimax": lambda text: _group(r"<invoke name=([^>]+)>")(text).strip("\"'"),
    "minimax_m3": lambda text: _group(r"<invoke name=([^>]+)>")(text).strip("\"'"),
    "cohere": _attribute(r'name="([^"]*)"'),
    "kimi_k3": _attribute(r'tool="([^"]*)"'),
    "harmony": lambda text: _group(r"to=(\S+?)(?=\s|<)")(text).removeprefix("functions."),
}


def spelled(format):
    """The shortest text of a format, the first of several; calls have no arguments."""
    kind = format.type
    if kind == "tag":
        return format.begin + spelled(format.content) + (format.end if isinstance(format.end, str) else format.end[0])
    if kind == "sequence":
        return "".join([spelled(e) for e in format.elements])
    if kind == "tags_with_separator":
        return spelled(format.tags[0])
    if kind == "json_schema":
        return "{}" if format.style == "json" else ""
    return {"const_string": format.value if kind == "const_string" else "", "regex": "0"}.get(kind, "")


def _tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def _text(model, name):
    """A call of the tool, which the grammar must take."""
    forced = {"type": "function", "function": {"name": name}}
    tag = psc.get_model_structural_tag(model, [_tool("other"), _tool(name)], forced, "disabled")
    text = spelled(tag.format)
    matcher = psc.GrammarMatcher(COMPILER.compile_structural_tag(tag), terminate_without_stop_token=True)
    assert matcher.accept_string(text) and matcher.is_terminated(), text
    return text


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_a_name_is_read_back_or_refused(model):
    assert set(READERS) == set(TRANSCRIPTS)
    for name in PLAIN:
        assert READERS[model](_text(model, name)) == name
    refused = set()
    for name in ODD:
        try:
            text = _text(model, name)
        except psc.InvalidStructuralTagError as e:
            assert str(e).startswith("tools[1].function.name: the name "), e
            refused.add(name)
        else:
            assert READERS[model](text) == name, text
    assert {"", "\ud800"} <= refused
    if READERS[model] is _in_json:
        assert refused == {"", "\ud800"}
    else:
        assert {"a\nb", "\n", "a\0b"} <= refused and not refused & {"a\\b", "functions.f", "}", "a,b", "é", "%s"}


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "a<b"}}])
@pytest.mark.parametrize("model", sorted({*TRANSCRIPTS} - {"llama", "qwen_3", "exaone", "cohere"}))
def test_the_error_has_the_index_of_the_tool_in_the_callers_list(model, choice):
    tools = [_tool("f"), {"type": "search"}, _tool("a<b"), _tool("g")]
    if model in ("mimo", "minimax_m3"):
        tools[1] = _tool("h")
    with pytest.raises(psc.InvalidStructuralTagError, match=r"^tools\[2\]\.function\.name: the name 'a<b' has '<' in it") as e:
        psc.get_model_structural_tag(model, tools, choice)
    assert isinstance(e.value, ToolNameError) and str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
    some = {"mode": "auto", "tools": [_tool("g"), _tool("a<b")]}
    with pytest.raises(psc.InvalidStructuralTagError, match=r"^tools\[2\]\.function\.name"):
        psc.get_model_structural_tag(model, tools, {"type": "allowed_tools", "allowed_tools": some})
    others = {"mode": "auto", "tools": [_tool("g")]}
    psc.get_model_structural_tag(model, tools, {"type": "allowed_tools", "allowed_tools": others})
    psc.get_model_structural_tag(model, tools, "none")


def test_tools_of_the_serving_side():
    tools = [_tool("f"), {"type": "search", "name": "a b"}]
    with pytest.raises(psc.InvalidStructuralTagError, match=r"^tools\[1\]\.name: the name 'a b' has a blank in it"):
        psc.get_model_structural_tag("harmony", tools)
    with pytest.raises(psc.InvalidStructuralTagError, match=r"^tools\[1\]\.type: the name 'a<b' has '<' in it"):
        psc.get_model_structural_tag("harmony", [_tool("f"), {"type": "a<b"}])


def test_messages_do_not_repeat_long_names():
    long = "<" + "x" * 10_000
    for arguments in (
        {"tools": [_tool(long)]},
        {"tools": [_tool(long), _tool(long)]},
        {"tools": [_tool("f" + long), _tool("g" + long)], "tool_choice": {"type": "function", "function": {"name": long}}},
        {"tools": [_tool("f")], "tool_choice": {"type": long}},
    ):
        with pytest.raises(psc.InvalidStructuralTagError) as e:
            psc.get_model_structural_tag("harmony", **arguments)
        assert len(str(e.value)) < 400


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (
            lambda: psc.normalize_tool_choice([{"type": "function", "function": {"name": "n", "paramters": {}}}]),
            r"tools\[0\]\.function\.paramters: there is no such field, so it is ignored; did you mean 'parameters'",
        ),
        (
            lambda: psc.Grammar.from_structural_tag(
                {"type": "structural_tag", "format": {"type": "any_text", "exclude": ["bad"]}}
            ).to_cfg(),
            r"format\.exclude: .* did you mean 'excludes'",
        ),
    ],
)
def test_a_misspelt_field_is_a_warning(work: Any, said: str, caplog: pytest.LogCaptureFixture) -> None:
    work()
    assert re.search(said, caplog.text)


def test_other_fields_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    psc.normalize_tool_choice([{"type": "function", "function": {"name": "n", "cache_control": 1, "parameters": {}}}])
    assert not caplog.text


def test_only_the_first_unknown_fields_are_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    tools = [_tool(f"f{i}") for i in range(4)]
    for i in (1, 3):
        tools[i]["function"] |= {f"strikt{k}": 1 for k in range(70)}
    psc.normalize_tool_choice(tools)
    said = [record.getMessage().partition(":")[0] for record in caplog.records]
    assert said == [f"tools[{i}].function.strikt{k}" for i, n in ((1, 70), (3, 30)) for k in range(n)]


def test_tools_are_not_inside_each_other() -> None:
    psc.normalize_tool_choice([_tool(f"f{i}") for i in range(2_000)])  # records may be 1,000 deep
