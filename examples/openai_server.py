"""A toy server that speaks OpenAI's protocol, with a random model: `grammar`, `regex` and JSON mode go through psc.

    python examples/openai_server.py [--port P] [--tokenizer SPEC]

    curl -s localhost:8000/v1/completions -d '{"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]"}'
    curl -s localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"}}'

Of the protocol it has `/v1/models`, `/v1/completions` and `/v1/chat/completions`, with `max_tokens`, `seed`, `temperature`, `n`
and `stream` (server-sent events). The extra fields are those of other servers: `grammar` is EBNF (GBNF), `regex` is a regular
expression, and `response_format` is `{"type": "json_object"}` or `{"type": "text"}`; a request has one of them at most. A
grammar that cannot be compiled is an error of the client's, 400, with psc's message.

Compiling and generating run in threads, so that a request does not hold up others. The model is for show: it makes each text
alone, token by token.
"""

import argparse
import codecs
import json
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_model import RandomModel
from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import psc

MAX_TOKENS = 512
MAX_CHOICES = 16


class BadRequest(Exception):
    """What the client has to change."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True)
class Task:
    """A request, checked."""

    prompt: str
    compiled: psc.CompiledGrammar | None
    max_tokens: int
    temperature: float
    seed: int
    n: int
    stream: bool


class Engine:
    """The model and the compiler."""

    def __init__(self, tokenizer: str) -> None:
        self.info = psc.load_tokenizer(tokenizer)
        self.name = f"random-{tokenizer}"
        self._model = RandomModel(self.info)
        self._compiler = psc.GrammarCompiler(self.info, cache_limit_bytes=256 << 20)

    def task(self, body: dict[str, Any], prompt: str) -> Task:
        """Reads the fields of a request. Raises BadRequest."""
        return Task(
            prompt=prompt,
            compiled=self._compiled(body),
            max_tokens=_number(body, "max_tokens", 64, int, 1, MAX_TOKENS),
            temperature=_number(body, "temperature", 1.0, float, 0.0, 2.0),
            seed=_number(body, "seed", 0, int, 0, 2**63 - 1),
            n=_number(body, "n", 1, int, 1, MAX_CHOICES),
            stream=_field(body, "stream", False, bool),
        )

    def _compiled(self, body: dict[str, Any]) -> psc.CompiledGrammar | None:
        form = _field(body, "response_format", {"type": "text"}, dict)
        if form.get("type") not in ("text", "json_object"):
            raise BadRequest(f"response_format {form.get('type')!r} is not supported; json_object and text are", "response_format")
        json_mode = form["type"] == "json_object"
        asked = [name for name in ("grammar", "regex") if body.get(name) is not None] + ["response_format"] * json_mode
        if len(asked) > 1:
            raise BadRequest(f"{' and '.join(asked)}: a text has one grammar", asked[0])
        if not asked:
            return None
        try:
            if asked == ["grammar"]:
                return self._compiler.compile_grammar(_field(body, "grammar", "", str))
            if asked == ["regex"]:
                return self._compiler.compile_regex(_field(body, "regex", "", str))
            return self._compiler.compile_builtin_json_grammar()
        except psc.GrammarError as e:
            raise BadRequest(str(e), asked[0]) from e

    def tokens(self, task: Task, choice: int) -> Iterator[int]:
        """The tokens of a text as they come, the one that ends it among them."""
        rng = np.random.default_rng((task.seed, choice))
        matcher = None if task.compiled is None else psc.GrammarMatcher(task.compiled)
        state = self._model.start(1)
        read = np.frombuffer(task.prompt.encode()[-64:], np.uint8)  # a prompt, for a model that cannot read
        for token in read.tolist() or [0]:
            state, logits = self._model(state, np.array([token]))
        for _ in range(task.max_tokens):
            if matcher is not None:
                psc.apply_token_bitmask_inplace(logits[0], matcher.mask())
            noise = rng.gumbel(size=logits.shape[1]) if task.temperature else 0.0
            token = int((logits[0] / (task.temperature or 1.0) + noise).argmax())
            yield token
            if token in self.info.stop_token_ids:
                return
            if matcher is not None and not matcher.accept_token(token):
                raise AssertionError(f"token {token} was drawn and is not allowed")
            state, logits = self._model(state, np.array([token]))


def _field(body: dict[str, Any], name: str, default: Any, kind: type) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise BadRequest(f"{name} must be of type {kind.__name__}, not {type(value).__name__}", name)
    return value


def _number(body: dict[str, Any], name: str, default: Any, kind: type, least: Any, most: Any) -> Any:
    value = body.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        body = {name: float(value)}
    value = _field(body, name, default, kind)
    if not least <= value <= most:
        raise BadRequest(f"{name}={value}: it must be from {least} to {most}", name)
    return value


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError as e:
        raise BadRequest(f"the body is not JSON: {e}") from e
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    return body


def _prompt(body: dict[str, Any]) -> str:
    if not isinstance(body.get("prompt"), str):
        raise BadRequest("prompt must be a string", "prompt")
    return str(body["prompt"])


def _conversation(body: dict[str, Any]) -> str:
    messages = _field(body, "messages", [], list)
    if not messages or not all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in messages):
        raise BadRequest("messages must be a list of objects with a role and a content", "messages")
    return "\n".join(f"{m.get('role', 'user')}: {m['content']}" for m in messages)


class _Choice:
    """One text of an answer: bytes to characters, and why it ended."""

    def __init__(self, engine: Engine, task: Task, index: int) -> None:
        self._engine, self._task, self.index = engine, task, index
        self.n_tokens = 0
        self.finish_reason = "length"

    def pieces(self) -> Iterator[str]:
        """The text in pieces of whole characters."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end inside a character
        for token in self._engine.tokens(self._task, self.index):
            self.n_tokens += 1
            if token in self._engine.info.stop_token_ids:
                self.finish_reason = "stop"
                break
            if piece := decoder.decode(self._engine.info.token_bytes(token)):
                yield piece
        if piece := decoder.decode(b"", final=True):
            yield piece


def _answer(engine: Engine, task: Task, chat: bool) -> dict[str, Any]:
    choices, n_tokens = [], 0
    for index in range(task.n):
        choice = _Choice(engine, task, index)
        text = "".join(choice.pieces())
        n_tokens += choice.n_tokens
        content = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        choices.append({"index": index, **content, "finish_reason": choice.finish_reason, "logprobs": None})
    n_prompt = len(task.prompt.encode())
    usage = {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": n_prompt + n_tokens}
    return {**_head(engine, chat, streamed=False), "choices": choices, "usage": usage}


def _events(engine: Engine, task: Task, chat: bool) -> Iterator[str]:
    head = _head(engine, chat, streamed=True)

    def event(index: int, piece: str | None, reason: str | None = None) -> str:
        text = piece or ""
        content = {"delta": {"content": text} if piece is not None else {}} if chat else {"text": text}
        choice = {"index": index, **content, "finish_reason": reason}
        return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"

    for index in range(task.n):
        choice = _Choice(engine, task, index)
        for piece in choice.pieces():
            yield event(index, piece)
        yield event(index, None, choice.finish_reason)
    yield "data: [DONE]\n\n"


def _head(engine: Engine, chat: bool, *, streamed: bool) -> dict[str, Any]:
    kind = ("chat.completion.chunk" if streamed else "chat.completion") if chat else "text_completion"
    return {"id": f"cmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": engine.name}


def application(engine: Engine) -> Starlette:
    """The server."""

    async def respond(request: Request, chat: bool) -> Response:
        body = await _body(request)
        prompt = _conversation(body) if chat else _prompt(body)
        task = await run_in_threadpool(engine.task, body, prompt)
        if not task.stream:
            return JSONResponse(await run_in_threadpool(_answer, engine, task, chat))
        events: AsyncIterator[str] = iterate_in_threadpool(_events(engine, task, chat))
        return StreamingResponse(events, media_type="text/event-stream")

    async def completions(request: Request) -> Response:
        return await respond(request, chat=False)

    async def chat_completions(request: Request) -> Response:
        return await respond(request, chat=True)

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": engine.name, "object": "model", "owned_by": "psc"}]})

    async def refuse(request: Request, error: Exception) -> Response:
        parameter = error.parameter if isinstance(error, BadRequest) else None
        content = {"message": str(error), "type": "invalid_request_error", "param": parameter, "code": None}
        return JSONResponse({"error": content}, status_code=400)

    return Starlette(
        routes=[
            Route("/v1/models", models),
            Route("/v1/completions", completions, methods=["POST"]),
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
        ],
        exception_handlers={BadRequest: refuse},
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    args = options.parse_args()
    import uvicorn

    uvicorn.run(application(Engine(args.tokenizer)), host=args.host, port=args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
