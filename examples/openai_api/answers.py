"""Answers as OpenAI's API has them: whole, and as server-sent events."""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psc
from openai_api.deltas import Arguments, CallBegin, Delta, Text
from openai_api.errors import ApiError
from openai_api.generation import Choice, Told
from openai_api.tasks import Engine, Task


def answer(engine: Engine, task: Task, cancellation: psc.Cancellation) -> dict[str, Any]:
    """A whole answer."""
    choices, n_tokens = [], 0
    for index in range(task.n * len(task.prompts)):
        choice = Choice(engine, task, index, cancellation)
        pieces = list(choice.pieces())
        n_tokens += choice.n_tokens
        deltas = [delta for piece in pieces for delta in piece.deltas]
        told = [t for piece in pieces for t in piece.tokens]
        content = {"message": _message(deltas)} if task.chat else {"text": _text(deltas)}
        choices.append(
            {"index": index, **content, "finish_reason": choice.finish_reason, "logprobs": _logprobs(task, told, offset=0)}
        )
    return {**_head(engine, task), "choices": choices, "usage": _usage(task, n_tokens)}


def events(engine: Engine, task: Task, cancellation: psc.Cancellation) -> Iterator[str]:
    """An answer as events, one text after the other."""
    head = _head(engine, task)
    usage = {"usage": None} if task.include_usage else {}
    n_tokens = 0
    for index in range(task.n * len(task.prompts)):
        choice = Choice(engine, task, index, cancellation)
        for content in _streamed(task, choice):
            yield event({**head, "choices": [{"index": index, "finish_reason": None, **content}], **usage})
        end: dict[str, Any] = {"delta": {}} if task.chat else {"text": ""}
        yield event({**head, "choices": [{"index": index, "finish_reason": choice.finish_reason, **end}], **usage})
        n_tokens += choice.n_tokens
    if task.include_usage:
        yield event({**head, "choices": [], "usage": _usage(task, n_tokens)})
    yield "data: [DONE]\n\n"


def _streamed(task: Task, choice: Choice) -> Iterator[dict[str, Any]]:
    """The choices of events, without what all of them have."""
    if task.chat:
        yield {"delta": {"role": "assistant", "content": ""}}
    offset = 0
    for piece in choice.pieces():
        if not task.chat:
            text = _text(piece.deltas)
            yield {"text": text, "logprobs": _logprobs(task, piece.tokens, offset)}
            offset += len(text)
            continue
        for i, delta in enumerate(piece.deltas):
            logprobs = _logprobs(task, piece.tokens if i == 0 else (), offset)
            yield {"delta": _delta(delta), **({"logprobs": logprobs} if logprobs else {})}


def _delta(delta: Delta) -> dict[str, Any]:
    if isinstance(delta, Text):
        return {"content": delta.text}
    if isinstance(delta, CallBegin):
        return {"tool_calls": [{"index": delta.index, **_call(delta.name, "")}]}
    return {"tool_calls": [{"index": delta.index, "function": {"arguments": delta.text}}]}


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _text(deltas: Iterable[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def _message(deltas: list[Delta]) -> dict[str, Any]:
    names = [delta.name for delta in deltas if isinstance(delta, CallBegin)]
    arguments = [""] * len(names)
    for delta in deltas:
        if isinstance(delta, Arguments):
            arguments[delta.index] += delta.text
    calls = [_call(name, spelled) for name, spelled in zip(names, arguments, strict=True)]
    content = _text(deltas)
    return {
        "role": "assistant",
        "content": content if content or not calls else None,
        "refusal": None,
        **({"tool_calls": calls} if calls else {}),
    }


def _logprobs(task: Task, told: Sequence[Told], offset: int) -> dict[str, Any] | None:
    """Of tokens whose text begins at a character; None where the request did not ask for it."""
    if task.sampling.n_logprobs is None:
        return None
    if task.chat:
        return {"content": [_token(t.text, t.drawn.logprob) | {"top_logprobs": _likely(t)} for t in told], "refusal": None}
    tokens = [_shown(t.text) for t in told]
    offsets = [offset + len("".join(tokens[:i])) for i in range(len(tokens))]
    return {
        "tokens": tokens,
        "token_logprobs": [t.drawn.logprob for t in told],
        "top_logprobs": [{_shown(text): logprob for text, logprob in t.likely} for t in told],
        "text_offset": offsets,
    }


def _likely(told: Told) -> list[dict[str, Any]]:
    return [_token(text, logprob) for text, logprob in told.likely]


def _token(text: bytes, logprob: float) -> dict[str, Any]:
    return {"token": _shown(text), "logprob": logprob, "bytes": list(text)}


def _shown(text: bytes) -> str:
    return text.decode(errors="replace")


def _usage(task: Task, n_tokens: int) -> dict[str, int]:
    n_prompt = task.n_prompt_tokens
    return {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": n_prompt + n_tokens}


def _head(engine: Engine, task: Task) -> dict[str, Any]:
    kind = ("chat.completion.chunk" if task.stream else "chat.completion") if task.chat else "text_completion"
    prefix = "chatcmpl" if task.chat else "cmpl"
    return {"id": f"{prefix}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": engine.model.name}


def failed(error: ApiError) -> Iterator[str]:
    """The last events of an answer that came to no end."""
    yield event(error.content)
    yield "data: [DONE]\n\n"


def event(content: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(content)}\n\n"
