"""Calls found in texts of all models whose formats the example server reads, however the text is cut."""

import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest

pytest.importorskip("starlette")

from tool_calls.transcripts import TOOLS, TRANSCRIPTS

FUNCTIONS: dict[str, Any] = {t["function"]["name"]: t["function"]["parameters"] for t in TOOLS}  # type: ignore[index]
BOTH = [("get_weather", {"city": "Paris", "days": 3}), ("ping", {})]
FORMATS = sorted(
    {*TRANSCRIPTS} - {"kimi_k3", "minimax_m3", "cohere"}  # arguments that are nested markers
)


def read(name: str, pieces: list[str], functions: dict[str, Any] = FUNCTIONS) -> tuple[str, list[tuple[str, str]]]:
    """The text beside calls, and the calls with their arguments as text."""
    from openai_api.deltas import Arguments, CallBegin, Text
    from openai_api.tool_calls import tool_call_reader

    reader = tool_call_reader(name, functions)
    deltas = [delta for piece in pieces for delta in reader.feed(piece)] + list(reader.finish())
    text, calls = "", []
    for delta in deltas:
        if isinstance(delta, Text):
            text += delta.text
        elif isinstance(delta, CallBegin):
            assert delta.index == len(calls)
            calls.append((delta.name, ""))
        elif isinstance(delta, Arguments):
            assert delta.index == len(calls) - 1
            calls[-1] = (calls[-1][0], calls[-1][1] + delta.text)
    return text, calls


def after_text(name: str, rest: str) -> str:
    return ("<|channel|>final<|message|>Look:<|end|><|start|>assistant" if name == "harmony" else "Look: ") + rest


def test_every_readable_format_has_a_transcript() -> None:
    from openai_api.tool_calls import READABLE

    assert sorted(READABLE) == FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_calls_in_any_cut(name: str) -> None:
    transcript = TRANSCRIPTS[name]
    whole = after_text(name, transcript.two)
    random = Random(0)
    cuts = [[whole], list(whole), [whole[i : i + 3] for i in range(0, len(whole), 3)]]
    for _ in range(20):
        at = sorted(random.sample(range(1, len(whole)), 9))
        cuts.append([whole[a:b] for a, b in pairwise([0, *at, len(whole)])])
    for pieces in cuts:
        text, calls = read(name, pieces)
        assert text == "Look:"
        assert [(called, json.loads(arguments)) for called, arguments in calls] == BOTH


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_that_is_cut_off_loses_nothing_but_its_end(name: str) -> None:
    """Each beginning of the text gives a beginning of what the whole text gives."""
    whole = after_text(name, TRANSCRIPTS[name].two)
    text, calls = read(name, [whole])
    for n in range(len(whole)):
        part_text, part_calls = read(name, [whole[:n]])
        # What may have become a marker, or white space before one, is text where the text is over.
        assert (text + " ").startswith(part_text) or whole[:n].rstrip().endswith(part_text[len(text) :].strip())
        assert [called for called, _ in part_calls] == [called for called, _ in calls[: len(part_calls)]]
        for (_, part), (_, arguments) in zip(part_calls, calls, strict=False):
            assert arguments.startswith(part)


@pytest.mark.parametrize(
    "arguments",
    ['{"a": "}\\n</tool_call>"}', '{"a": "\\\\\\"}"}', "[{}, [1]]", '"}"', "-1.5e3", "null", '{"a": {"b": []}}', "{}"],
)
@pytest.mark.parametrize("name", ["qwen_3", "llama", "deepseek_r1"])
def test_the_end_of_arguments(name: str, arguments: str) -> None:
    text = TRANSCRIPTS[name].call.replace("ARGUMENTS", arguments)
    text = TRANSCRIPTS[name].begin + text + TRANSCRIPTS[name].end
    assert read(name, [text]) == read(name, list(text)) == ("", [("get_weather", arguments)])


def test_a_name_that_begins_as_another_does() -> None:
    functions = {"get": FUNCTIONS["ping"], "get_weather": FUNCTIONS["get_weather"]}
    for name in ("glm_4_7", "qwen_3", "kimi"):
        text = TRANSCRIPTS[name].one
        assert read(name, list(text), functions)[1][0][0] == "get_weather"


def test_values_by_their_types() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {}}}
    values = {"a": "5", "b": "null", "c": "x\ny"}
    text = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    text = f"<tool_call>\n<function=f>\n{text}</function>\n</tool_call>"
    [(_, arguments)] = read("qwen_3_coder", [text], {"f": schema})[1]
    assert json.loads(arguments) == {"a": "5", "b": None, "c": "x\ny"}


def test_text_that_is_nearly_a_call() -> None:
    text = "a < b <tool_cal <tool_call"
    assert read("qwen_3", list(text)) == read("qwen_3", [text]) == (text, [])


def test_without_functions_all_is_text() -> None:
    text = TRANSCRIPTS["qwen_3"].two
    assert read("qwen_3", list(text), {}) == (text, [])


@pytest.mark.parametrize("called", ['a"b', "a\\b", "a\nb", "</tool_call>", "größe", "a.b/c"])
@pytest.mark.parametrize("name", ["llama", "qwen_3", "exaone", "glm_4_7", "harmony"])
def test_names_are_given_as_the_request_has_them(name: str, called: str) -> None:
    """A name inside JSON is escaped in the text, and not in the answer."""
    import psc
    from psc.tool_calls.models.tool_names import ToolNameError

    function = {"name": called, "parameters": {"type": "object"}}
    try:
        tag = psc.get_model_structural_tag(name, [{"type": "function", "function": function}], "required", "disabled")
    except ToolNameError:
        assert name in ("glm_4_7", "harmony") and called in ("a\nb", "</tool_call>")
        return
    format = tag.format
    tags = format.tags if name != "harmony" else [tag for e in format.elements if hasattr(e, "tags") for tag in e.tags]
    call = next(tag for tag in tags if "commentary to=" in tag.begin or name != "harmony")
    text = call.begin + ("" if name == "glm_4_7" else "{}") + call.end
    assert read(name, [text], {called: {}})[1] == [(called, "{}")]
    assert read(name, list(text), {called: {}})[1] == [(called, "{}")]
