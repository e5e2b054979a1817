"""The example server on a socket, and what its tests ask of it."""

import importlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MODEL = "random-qwen3"
USER = [{"role": "user", "content": "What is the weather?"}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]}
CITY |= {"additionalProperties": False}
DAYS = {"type": "object", "properties": {"days": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": ["days"]}
DAYS |= {"additionalProperties": False}
SCHEMAS = {"get_weather": CITY, "get_days": DAYS}
TOOLS: list[Any] = [{"type": "function", "function": {"name": n, "parameters": p}} for n, p in SCHEMAS.items()]
CALLS = 151657
"""Qwen's token `<tool_call>`: a bias towards it makes the random model call a tool where it need not."""


@contextmanager
def serving(engine: Any) -> Iterator[str]:
    """A server on a port of its own; its address."""
    import uvicorn

    application = importlib.import_module("openai_api.application").application
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(application(engine), log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def ask(client: Any, **request: Any) -> Any:
    """An answer of chat completions that has one choice."""
    request = {"model": MODEL, "messages": USER, "max_tokens": 600, "seed": 1, **request}
    [choice] = client.chat.completions.create(**request).choices
    return choice


def json_schema(schema: Any, **more: Any) -> dict[str, Any]:
    """A response_format."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **more}}


def gathered(chunks: Any) -> dict[str, Any]:
    """A stream of one choice put together as the client's users do."""
    content, calls, reason, usage = "", [], None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                if call.index == len(calls):
                    assert call.id and call.type == "function"
                    calls.append([call.function.name, ""])
                calls[call.index][1] += call.function.arguments
    return {"content": content, "calls": calls, "reason": reason, "usage": usage}


def metrics(address: str) -> dict[str, float]:
    """The server's counters by their names with labels."""
    import httpx

    lines = httpx.get(f"{address}/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; fails after half a minute."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
