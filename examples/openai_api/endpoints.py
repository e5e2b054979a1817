"""What differs between the endpoints that write texts: how a body is read, and how the answer is written."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import psc
from openai_api import answers
from openai_api.errors import ApiError
from openai_api.response_events import ResponseEvents
from openai_api.responses import read_response
from openai_api.tasks import Engine, Task


@dataclass(frozen=True)
class Stream:
    """An answer as server-sent events."""

    events: Callable[[psc.Cancellation], Iterator[str]]
    failed: Callable[[ApiError], Iterator[str]]
    """The last ones, after an error."""


@dataclass(frozen=True)
class Api:
    """An endpoint."""

    read: Callable[[Engine, dict[str, Any], psc.Cancellation], Task]
    answer: Callable[[Engine, Task, psc.Cancellation], dict[str, Any]]
    stream: Callable[[Engine, Task], Stream]


def _read(chat: bool, engine: Engine, body: dict[str, Any], cancellation: psc.Cancellation) -> Task:
    return engine.read(body, chat, cancellation)


def _stream(engine: Engine, task: Task) -> Stream:
    return Stream(partial(answers.events, engine, task), answers.failed)


def _response(engine: Engine, task: Task, cancellation: psc.Cancellation) -> dict[str, Any]:
    *_, last = ResponseEvents(engine, task).of(cancellation)
    response: dict[str, Any] = last["response"]
    return response


def _response_stream(engine: Engine, task: Task) -> Stream:
    events = ResponseEvents(engine, task)
    return Stream(lambda cancellation: map(_named_event, events.of(cancellation)), lambda e: map(_named_event, events.failed(e)))


def _named_event(content: dict[str, Any]) -> str:
    return f"event: {content['type']}\ndata: {json.dumps(content)}\n\n"


COMPLETIONS = Api(partial(_read, False), answers.answer, _stream)
CHAT_COMPLETIONS = Api(partial(_read, True), answers.answer, _stream)
RESPONSES = Api(read_response, _response, _response_stream)
