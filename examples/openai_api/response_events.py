"""Answers of the Responses API: the events of a stream. A whole answer is what the last event has."""

import time
import uuid
from collections.abc import Iterator
from typing import Any

import psc
from openai_api.deltas import Arguments, CallBegin, Delta, Text
from openai_api.errors import ApiError
from openai_api.generation import Choice
from openai_api.tasks import Engine, Task

_ITEMS = {
    "message": ("msg", "output_text", "text"),
    "function_call": ("fc", "function_call_arguments", "arguments"),
    "custom_tool_call": ("ctc", "custom_tool_call_input", "input"),
}
"""Of each type of items: what its ids begin with, its events, and the field that has its text."""


class ResponseEvents:
    """The events of one answer, each an object with its type and number."""

    def __init__(self, engine: Engine, task: Task) -> None:
        self._task = task
        self._n_events = 0
        self._output: list[dict[str, Any]] = []
        self._written = ""  # of the last item
        self._response: dict[str, Any] = {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": engine.model.name,
            "output": [],
            "usage": None,
            **task.told,
        }
        self._engine = engine

    def of(self, cancellation: psc.Cancellation) -> Iterator[dict[str, Any]]:
        """All of them, while the text is written. The last one has the whole answer."""
        choice = Choice(self._engine, self._task, 0, cancellation)
        yield self._event("response.created", response=dict(self._response))
        yield self._event("response.in_progress", response=dict(self._response))
        for piece in choice.pieces():
            for delta in piece.deltas:
                yield from self._more(delta)
        complete = choice.finish_reason != "length"
        if not self._output:
            yield from self._begin("message")
        yield from self._end("completed" if complete else "incomplete")
        reason = {} if complete else {"incomplete_details": {"reason": "max_output_tokens"}}
        yield self._last("completed" if complete else "incomplete", usage=_usage(self._task, choice.n_tokens), **reason)

    def failed(self, error: ApiError) -> Iterator[dict[str, Any]]:
        """The last ones, where the text came to no end."""
        told = error.content["error"]
        yield self._event("error", code=told["code"], message=told["message"], param=told["param"])
        code = "server_error" if error.status >= 500 else "invalid_prompt"
        yield self._last("failed", error={"code": code, "message": told["message"]})

    def _more(self, delta: Delta) -> Iterator[dict[str, Any]]:
        if isinstance(delta, CallBegin):
            yield from self._end("completed")
            tools = self._task.tools
            kind = "custom_tool_call" if tools and delta.name in tools.custom else "function_call"
            yield from self._begin(kind, call_id=f"call_{uuid.uuid4().hex[:24]}", name=delta.name)
            return
        if isinstance(delta, Text) and (not self._output or self._output[-1]["type"] != "message"):
            yield from self._end("completed")
            yield from self._begin("message")
        if delta.text:
            self._written += delta.text
            more = {"delta": delta.text} if isinstance(delta, Arguments) else {"delta": delta.text, "logprobs": []}
            yield self._of_item(f"response.{_ITEMS[self._output[-1]['type']][1]}.delta", **more)

    def _begin(self, kind: str, **named: Any) -> Iterator[dict[str, Any]]:
        prefix, _, field = _ITEMS[kind]
        self._written = ""
        content: dict[str, Any] = {"role": "assistant", "content": []} if kind == "message" else {**named, field: ""}
        self._output.append({"id": f"{prefix}_{uuid.uuid4().hex}", "type": kind, "status": "in_progress", **content})
        yield self._event("response.output_item.added", output_index=len(self._output) - 1, item=dict(self._output[-1]))
        if kind == "message":
            yield self._of_item("response.content_part.added", part=_part(""))

    def _end(self, status: str) -> Iterator[dict[str, Any]]:
        """Of the last item."""
        if not self._output:
            return
        item = self._output[-1]
        _, events, field = _ITEMS[item["type"]]
        item["status"] = status
        if item["type"] == "message":
            item["content"] = [_part(self._written)]
            yield self._of_item(f"response.{events}.done", text=self._written, logprobs=[])
            yield self._of_item("response.content_part.done", part=_part(self._written))
        else:
            item[field] = self._written
            named = {"name": item["name"]} if item["type"] == "function_call" else {}
            yield self._of_item(f"response.{events}.done", **named, **{field: self._written})
        yield self._event("response.output_item.done", output_index=len(self._output) - 1, item=dict(item))

    def _of_item(self, kind: str, **more: Any) -> dict[str, Any]:
        """An event of the last item."""
        item = self._output[-1]
        of_part = {"content_index": 0} if item["type"] == "message" else {}
        return self._event(kind, item_id=item["id"], output_index=len(self._output) - 1, **of_part, **more)

    def _last(self, status: str, **more: Any) -> dict[str, Any]:
        ended = {"completed_at": int(time.time())} if status == "completed" else {}
        return self._event(
            f"response.{status}", response={**self._response, "status": status, "output": self._output, **ended, **more}
        )

    def _event(self, kind: str, **more: Any) -> dict[str, Any]:
        self._n_events += 1
        return {"type": kind, "sequence_number": self._n_events - 1, **more}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(task: Task, n_tokens: int) -> dict[str, Any]:
    return {
        "input_tokens": task.n_prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": n_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": task.n_prompt_tokens + n_tokens,
    }
