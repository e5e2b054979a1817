"""Tools, reasoning, artifacts and restarts in a real vLLM server with psc."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from needed import needed
from vllm_server import MODEL, Server, ask, json_of, real_server, serving, start, stop

from psc.cli import main as command_line

pytest.importorskip("aiohttp")
from registries import TOKEN
from registries import server as registry_server

needed("openai")

pytestmark = [*real_server, pytest.mark.filterwarnings("ignore")]
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]}
DAYS: dict[str, Any] = {
    "type": "object",
    "properties": {"days": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["days"],
}
SCHEMAS = {"get_weather": CITY | {"additionalProperties": False}, "get_days": DAYS | {"additionalProperties": False}}
TOOLS = [{"type": "function", "function": {"name": n, "parameters": p, "strict": True}} for n, p in SCHEMAS.items()]
NAME = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}},
    "required": ["name"],
    "additionalProperties": False,
}
OF_NAMES = {"type": "json_schema", "json_schema": {"name": "name", "schema": NAME, "strict": True}}
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
THINKING_ENDS = {"chat_template_kwargs": {"enable_thinking": True}, "logit_bias": {"4": 100}}
"""`</think>` wherever it may stand; the model never writes it by itself."""
CALL, END = "7", "2"
"""Tokens: `<tool_call>`, and the end of the answer."""
ARGUMENTS = ["--structured-outputs-config.backend", "xgrammar"]
QUESTION = "What is the weather in Rome in the next days?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def registry(folder: Path) -> Iterator[str]:
    """A registry on loopback that has `csv` for the model's tokenizer."""
    artifact = folder / "csv.psc"
    command_line(["compile", "csv", "-t", str(MODEL), "-o", str(artifact), "--quiet"], standalone_mode=False)
    (folder / "token").write_text(TOKEN)
    with registry_server(folder / "registry") as url:
        command_line(
            ["registry", "push", str(artifact), "--registry", url, "--token-file", str(folder / "token"), "--quiet"],
            standalone_mode=False,
        )
        yield url


@pytest.fixture(scope="module")
def server(folder: Path, registry: str) -> Iterator[Server]:
    """After all tests nothing has failed."""
    parsers = ["--reasoning-parser", "deepseek_v3", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    with serving(
        folder, *ARGUMENTS, *parsers, PSC_VLLM="require", PSC_REGISTRY=registry, PSC_STORE=str(folder / "store")
    ) as started:
        yield started
        counted = started.counters()
        assert not any(counted.get(name) for name in ("refused_tokens", "empty_masks", "failures")), counted


def calls_of(answer: Any) -> list[str]:
    """The names of the calls, whose arguments are right."""
    calls = answer.choices[0].message.tool_calls or []
    for call in calls:
        jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
    return [call.function.name for call in calls]


def test_tools_by_choice(server: Server) -> None:
    def calls(choice: Any, **more: Any) -> list[str]:
        return calls_of(ask(server.client(), QUESTION, tools=TOOLS, tool_choice=choice, max_tokens=150, **NO_THINKING, **more))

    assert calls("required", parallel_tool_calls=False)[0] in SCHEMAS
    assert calls({"type": "function", "function": {"name": "get_days"}}) == ["get_days"]
    assert calls("none") == []
    calls("auto")


def test_auto_calls_where_the_model_begins_one(server: Server) -> None:
    answer = ask(server.client(), QUESTION, tools=TOOLS, logit_bias={CALL: 100}, parallel_tool_calls=False, **NO_THINKING)
    assert calls_of(answer)[0] in SCHEMAS


def test_tools_together_with_a_format(server: Server) -> None:
    """The answer is in the format, or a call; the first token, which the bias chooses, says which."""
    both = {"tools": TOOLS, "response_format": OF_NAMES, "max_tokens": 150, **NO_THINKING}
    jsonschema.validate(json_of(ask(server.client(), QUESTION, logit_bias={CALL: -100}, **both)), NAME)
    assert calls_of(ask(server.client(), QUESTION, logit_bias={CALL: 100}, parallel_tool_calls=False, **both))
    assert calls_of(ask(server.client(), QUESTION, tool_choice="required", parallel_tool_calls=False, **both))


def test_tools_together_with_a_bundled_grammar(server: Server) -> None:
    both = {
        "tools": TOOLS,
        "structured_outputs": {"grammar": "json"},
        "max_tokens": 100,
        "parallel_tool_calls": False,
        **NO_THINKING,
    }
    assert calls_of(ask(server.client(), QUESTION, logit_bias={CALL: 100}, **both))


def test_stream_of_a_call(server: Server) -> None:
    pieces = list(
        ask(server.client(), QUESTION, tools=TOOLS, tool_choice="required", stream=True, parallel_tool_calls=False, **NO_THINKING)
    )
    deltas = [call for p in pieces if p.choices for call in p.choices[0].delta.tool_calls or []]
    (name,) = {d.function.name for d in deltas if d.function.name}
    jsonschema.validate(json.loads("".join(d.function.arguments or "" for d in deltas)), SCHEMAS[name])


def test_reasoning_before_a_format(server: Server) -> None:
    answer = ask(server.client(), "Name a person.", response_format=OF_NAMES, **THINKING_ENDS)
    jsonschema.validate(json_of(answer), NAME)
    answer = ask(server.client(), "Name a person.", response_format=OF_NAMES, **NO_THINKING)
    jsonschema.validate(json_of(answer), NAME)


def test_reasoning_before_a_call(server: Server) -> None:
    answer = ask(server.client(), QUESTION, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, **THINKING_ENDS)
    assert calls_of(answer)


def write_csv(server: Server) -> None:
    answer = ask(
        server.client(),
        "Write a table in CSV.",
        structured_outputs={"grammar": "csv"},
        max_tokens=20,
        logit_bias={END: -100},
        **NO_THINKING,
    )
    rows = list(csv.reader(StringIO(answer.choices[0].message.content)))
    assert any(rows)


def test_artifact_from_a_registry(server: Server) -> None:
    before = server.counters()
    write_csv(server)
    assert server.counters()["artifacts"] == before.get("artifacts", 0) + 1


def test_restart_finds_it_in_the_store(server: Server, folder: Path) -> None:
    write_csv(server)
    with serving(folder, *ARGUMENTS, PSC_STORE=str(folder / "store")) as again:
        write_csv(again)
        assert again.counters()["artifacts"] == 1


def test_psc_or_nothing(folder: Path) -> None:
    refused = start(folder, "--structured-outputs-config.backend", "guidance", PSC_VLLM="require")
    try:
        assert refused.process.wait(240) != 0
    finally:
        stop(refused)
    assert "structured_outputs_config.backend is guidance" in refused.log.read_text(errors="replace")
