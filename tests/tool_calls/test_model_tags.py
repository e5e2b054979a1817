"""The structural tag of each model's tool calls: its markers against transcripts, its shape in each mode, and what is refused."""

import pytest
from tool_calls.transcripts import PING, TOOLS, TRANSCRIPTS, WEATHER

import psc
from psc.tool_calls.builtin_structural_tag import get_model_structural_tag, normalize_tool_choice, register_model_structural_tag
from psc.tool_calls.openai_tool_call_schema import BuiltinToolParam, FunctionDefinition, FunctionToolParam, NamedToolChoiceParam
from psc.tool_calls.structural_tag import AnyTextFormat, SequenceFormat, StructuralTag, TagsWithSeparatorFormat, TriggeredTagsFormat

SEARCH = {"type": "web_search", "name": "browser.search", "parameters": PING}
FORCED = {"type": "function", "function": {"name": "get_weather"}}


def spelled(format, arguments):
    """The shortest text of a format, the first of several, with these arguments."""
    kind = format.type
    if kind == "const_string":
        return format.value
    if kind == "tag":
        end = format.end if isinstance(format.end, str) else format.end[0]
        return format.begin + spelled(format.content, arguments) + end
    if kind == "sequence":
        return "".join([spelled(e, arguments) for e in format.elements])
    if kind in ("tags_with_separator", "triggered_tags"):
        return spelled(format.tags[0], arguments) if format.at_least_one else ""
    return {"json_schema": arguments, "regex": "0", "any_text": "", "optional": "", "star": ""}[kind]


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_a_forced_call_is_spelled_as_the_template_prints_it(model):
    transcript = TRANSCRIPTS[model]
    tag = get_model_structural_tag(model, TOOLS, FORCED, "disabled", parallel_tool_calls=False)
    written = spelled(tag.format, transcript.arguments)
    expected = transcript.one
    if model == "kimi_k3":  # the response is opened by the prompt where there is no reasoning
        expected = expected.removeprefix("<|open|>response<|sep|>One moment.")
    if model == "minimax":
        expected = "\n</think>\n\n" + expected
    assert written == expected


@pytest.mark.parametrize("model", sorted(TRANSCRIPTS.keys() - {"harmony", "kimi_k3"}))
def test_modes_of_free_text(model):
    def answer(choice, **options):
        format = get_model_structural_tag(model, TOOLS, choice, "disabled", **options).format
        return format.elements[-1] if model == "minimax" else format

    auto = answer("auto")
    assert isinstance(auto, TriggeredTagsFormat) and not auto.at_least_one and not auto.stop_after_first
    assert all(tag.begin.startswith(auto.triggers[0]) for tag in auto.tags) and len(auto.triggers) == 1
    assert answer("auto", parallel_tool_calls=False).stop_after_first
    assert answer(None) == auto and auto.excludes
    assert answer("auto", exclude_special_tokens=False).excludes == []
    none = answer("none")
    assert isinstance(none, AnyTextFormat) and set(auto.excludes) - {"<|tool_call_begin|>"} <= set(none.excludes)
    assert get_model_structural_tag(model, None, "auto", "disabled") == get_model_structural_tag(model, TOOLS, "none", "disabled")
    required = answer("required", parallel_tool_calls=False)
    if isinstance(required, TriggeredTagsFormat):
        assert required.at_least_one and required.stop_after_first
    else:
        assert isinstance(required, SequenceFormat)
        assert required.elements[1].at_least_one and required.elements[1].stop_after_first
        assert not answer("required").elements[1].stop_after_first
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FORCED]}}
    assert "ping" not in str(answer(allowed)) and "get_weather" in str(answer(allowed))


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_arguments(model):
    loose = [
        {"type": "function", "function": {**TOOLS[0]["function"], "strict": False}},
        {"type": "function", "function": {"name": "p"}},
    ]
    tag = get_model_structural_tag(
        model, [*TOOLS, *[t for t in loose if t["function"]["name"] == "p"]], max_whitespace_cnt=2, any_order=True
    )
    schemas = list(_schemas(tag.model_dump()))
    assert {str(s["json_schema"]) for s in schemas} == {str(WEATHER), str(PING), "True"}
    assert all(s["any_order"] and s["max_whitespace_cnt"] == 2 for s in schemas)
    assert {s["style"] for s in schemas} != {"json"} or '"' in TRANSCRIPTS[model].arguments[:3]
    assert {str(s["json_schema"]) for s in _schemas(get_model_structural_tag(model, loose).model_dump())} == {"True"}


def _schemas(dumped):
    if isinstance(dumped, dict):
        if dumped.get("type") == "json_schema":
            yield dumped
        else:
            for value in dumped.values():
                yield from _schemas(value)
    if isinstance(dumped, list):
        for value in dumped:
            yield from _schemas(value)


@pytest.mark.parametrize(
    ("model", "begin", "end"),
    [
        ("qwen_3", "<think>", "</think>"),
        ("mimo", "<think>", "</think>"),
        ("minimax_m3", "<mm:think>", "</mm:think>"),
        ("cohere", "<|START_THINKING|>", "<|END_THINKING|>"),
        ("kimi_k3", "<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ],
)
def test_reasoning(model, begin, end):
    def first(reasoning):
        format = get_model_structural_tag(model, TOOLS, reasoning=reasoning).format
        return format.elements[0] if isinstance(format, SequenceFormat) else format

    enabled, auto = first("enabled"), first("auto")
    block = enabled.elements[0] if enabled.type == "sequence" else enabled
    assert (block.begin, block.end) == (begin if model == "mimo" else "", end)
    assert auto.type == "optional" and spelled(
        auto.content.elements[0] if auto.content.type == "or" else auto.content, ""
    ).startswith(begin)
    assert first(True) == enabled and first(False) == first("disabled")
    assert end not in [getattr(first("disabled"), "end", None)]


def test_harmony_takes_a_call_where_one_is_required():
    def tag(choice, tools=TOOLS, **options):
        return get_model_structural_tag("harmony", tools, choice, **options).format

    auto = tag("auto")
    assert isinstance(auto, TagsWithSeparatorFormat) and auto.separator == "<|start|>assistant"
    begins = [t.begin for t in auto.tags]
    assert "<|channel|>commentary<|message|>" in begins and "<|channel|>final<|message|>" in begins
    assert len([b for b in begins if "functions.ping" in b]) == 4
    messages, call, more = tag("required").elements
    assert messages.type == more.type == "star" and call.at_least_one and call.stop_after_first
    assert {t.end for t in call.tags} == {"<|call|>"} and len(call.tags) == 8
    assert len(tag("required", parallel_tool_calls=False).elements) == 2
    messages, call = tag(FORCED).elements
    assert len(call.tags) == 4 and "final" not in str(messages) and "analysis" in str(messages)
    assert "analysis" not in str(tag(FORCED, reasoning=False))
    builtin = tag({"type": "web_search"}, [*TOOLS, SEARCH]).elements[1]
    assert [t.begin for t in builtin.tags][:2] == [
        "<|channel|>commentary to=browser.search code<|message|>",
        "<|channel|>analysis to=browser.search code<|message|>",
    ]
    assert "commentary" not in str(tag("none")) and "commentary" not in str(tag("auto", []))


def test_registered_formats(monkeypatch):
    monkeypatch.setattr("psc.tool_calls.builtin_structural_tag._builders", dict(psc.tool_calls.builtin_structural_tag._builders))
    seen = []

    @register_model_structural_tag("mine")
    def mine(tools=None, builtin_tools=None, tool_choice="auto", reasoning="enabled", **options):
        seen.append((tools, builtin_tools, tool_choice, reasoning, options))
        return StructuralTag(format=AnyTextFormat())

    assert get_model_structural_tag("mine", TOOLS, FORCED, False, any_order=True) == StructuralTag(format=AnyTextFormat())
    tools, builtins, choice, reasoning, options = seen[0]
    assert tools == [FunctionToolParam(function=FunctionDefinition(**TOOLS[0]["function"]))]
    assert (builtins, choice, reasoning) == ([], "forced", "disabled")
    assert options == {"any_order": True, "exclude_special_tokens": True, "max_whitespace_cnt": None, "parallel_tool_calls": True}
    assert psc.tool_calls.builtin_structural_tag.get_llama_structural_tag(tools).format.triggers == ['{"name": ']
    assert psc.get_builtin_structural_tag is psc.get_model_structural_tag


def test_tools_and_choices_as_records_and_as_other_libraries_models():
    class Theirs:
        def __init__(self, **fields):
            self.fields = fields

        def model_dump(self):
            return self.fields

    records = [FunctionToolParam(function=FunctionDefinition(name="f")), BuiltinToolParam(type="b")]
    named = NamedToolChoiceParam(function={"name": "f"})
    assert normalize_tool_choice(records, named) == ([records[0]], [], "forced")
    assert normalize_tool_choice([Theirs(**t) for t in TOOLS], Theirs(**FORCED))[0][0].function.name == "get_weather"
    assert normalize_tool_choice([{"function": {"name": "f"}}])[0] == [records[0]]
    assert normalize_tool_choice(records) == ([records[0]], [records[1]], "auto")
    assert normalize_tool_choice(records, "none") == ([], [], "auto") == normalize_tool_choice(None, None)
    both = {"mode": "required", "tools": [{"type": "b"}, {"type": "function", "function": {"name": "f"}}]}
    assert normalize_tool_choice(records, {"type": "allowed_tools", "allowed_tools": both}) == (
        [records[0]],
        [records[1]],
        "required",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "qwen3"}, r"model: there is no format 'qwen3'; do you mean 'qwen_3'"),
        ({"model": 3}, r"model: there is no format 3"),
        ({"model": "Qwen/Qwen3-8B"}, r"no format 'Qwen/Qwen3-8B'; do you mean 'qwen_3' or 'qwen_3_5' or 'qwen_3_coder'\?"),
        ({"model": "Meta-Llama-3.1-8B-Instruct"}, r"do you mean 'llama'\?"),
        ({"model": "DeepSeek-V3.1"}, r"do you mean 'deepseek_v3_1' or "),
        ({"model": "gpt-oss-20b"}, r"do you mean 'harmony'\?"),
        ({"model": "c4ai-command-a-03-2025"}, r"do you mean 'cohere'\?"),
        *(
            ({"model": model}, rf"no format '{model}'\. Unknown format type: the formats are llama, .*; for another one write")
            for model in ("Mistral-7B-Instruct-v0.3", "Hermes-3", "gemma-3-27b-it", "")
        ),
        ({"tools": "x"}, r"tools: must be a list, not str"),
        ({"tools": [{"name": "f"}]}, r'tools\[0\]: must be a dictionary with a "type"'),
        ({"tools": [*TOOLS, {"type": "function", "name": "f"}]}, r"tools\[2\]\.function: is missing"),
        ({"tools": [{"type": "function", "function": {}}]}, r"tools\[0\]\.function\.name: is missing"),
        ({"tools": [{"type": None, "function": {"name": "f"}}]}, r"tools\[0\]"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": True}}]},
            r"tools\[0\]\.function\.parameters: must be an object or null, not True",
        ),
        ({"tools": [*TOOLS, TOOLS[0]]}, r"tools\[2\]: has the name 'get_weather', as tools\[0\] has"),
        ({"tools": [], "tool_choice": "required"}, r"tool_choice: a call is required, and there is no tool"),
        ({"tools": [SEARCH], "tool_choice": "required"}, r"tool_choice: a call is required, and this model calls functions only"),
        ({"tool_choice": "sometimes"}, r"tool_choice: must be 'auto', 'none', 'required' or .*, not 'sometimes'"),
        ({"tool_choice": {"type": "function"}}, r"tool_choice\.function: is missing"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            r"tool_choice: there is no function 'f' in tools, which has 'get_weather', 'ping'",
        ),
        ({"tool_choice": {"type": "web"}}, r"tool_choice: 0 builtin tools in tools have the type 'web'.*types are none"),
        ({"tool_choice": {"type": "allowed_tools"}}, r"tool_choice\.allowed_tools: is missing"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "web"}]}}},
            r"tool_choice\.allowed_tools\.tools\[0\]: Allowed builtin 'web' is the type of no builtin tool",
        ),
        ({"reasoning": "often"}, r"reasoning: must be 'enabled', 'disabled', 'auto', true or false, not 'often'"),
        ({"parallel_tool_calls": 1}, r"parallel_tool_calls: must be true or false, not 1"),
        ({"model": "mimo", "tools": [SEARCH]}, r"tools: this model has no builtin tools, and 'web_search' is one"),
        ({"model": "minimax_m3", "tools": [SEARCH]}, r"tools: this model has no builtin tools"),
        (
            {"model": "kimi_k3", "tools": [SEARCH], "tool_choice": "required"},
            r"tool_choice: a call is required, and this model calls",
        ),
        ({"max_whitespace_cnt": "2"}, r"max_whitespace_cnt: must be a whole number or null, not '2'"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(psc.InvalidStructuralTagError, match=message) as e:
        get_model_structural_tag(**{"model": "llama", "tools": TOOLS, **arguments})
    assert isinstance(e.value, ValueError)
