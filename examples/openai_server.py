"""A toy server that speaks OpenAI's protocol, with a random model: `grammar`, `regex` and JSON mode go through psc.

    python examples/openai_server.py [--port P] [--tokenizer SPEC]

    curl -s localhost:8000/v1/completions -d '{"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]"}'
    curl -s localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"}}'

Of the protocol it has `/v1/models`, `/v1/completions` and `/v1/chat/completions`, with `max_tokens` (or
`max_completion_tokens`), `stop`, `seed`, `temperature`, `n` and `stream` (server-sent events, with
`stream_options.include_usage`). The extra fields are those of other servers: `grammar` (or `guided_grammar`) is EBNF, `regex`
(or `guided_regex`) a regular expression, `guided_choice` a list of texts, and `response_format` is `{"type": "json_object"}` or
`{"type": "text"}`; a request has one of them at most. A grammar that cannot be compiled is an error of the client's, 400, with
psc's message.

A field that the server does not know, or cannot enforce (`tools`, `json_schema`, `guided_json`, ...), is refused with 400. A server
that ignored it would answer 200 with text that nothing constrains.

Compiling and generating run in threads, so that a request does not hold up others. The model is for show: it makes each text
alone, token by token.
"""

import argparse
import codecs
import json
import secrets
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
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import psc

MAX_TOKENS = 512
MAX_CHOICES = 16
MAX_STOPS = 4

CONSTRAINTS = {
    "grammar": "grammar",
    "guided_grammar": "grammar",
    "regex": "regex",
    "guided_regex": "regex",
    "guided_choice": "choice",
}
"""Fields that constrain the text, and what each holds."""

HONOURED = {"max_tokens", "max_completion_tokens", "temperature", "seed", "n", "stream", "stream_options", "stop"}
HONOURED |= {"prompt", "messages", "response_format"}
NO_EFFECT = {"model", "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
"""Fields that say nothing of the text: they may hold anything."""

OFF = {"logprobs": (False,), "top_logprobs": (0,), "echo": (False,), "best_of": (1,), "top_p": (1,), "presence_penalty": (0,)}
OFF |= {"frequency_penalty": (0,), "logit_bias": ({},), "suffix": ("",), "tools": ([],), "tool_choice": ("none",)}
"""Fields that the server does not have, with the value that asks for nothing."""


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
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool


class Engine:
    """The model and the compiler."""

    def __init__(self, tokenizer: str) -> None:
        self.info = psc.load_tokenizer(tokenizer)
        self.name = f"random-{tokenizer}"
        self._model = RandomModel(self.info)
        self._compiler = psc.GrammarCompiler(self.info, cache_limit_bytes=256 << 20)

    def task(self, body: dict[str, Any], prompt: str) -> Task:
        """Reads the fields of a request, all of them. Raises BadRequest."""
        _check_fields(body)
        if body.get("model") not in (None, self.name):
            raise BadRequest(f"there is no model {body['model']!r}; this server has {self.name!r}", "model")
        limit = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
        return Task(
            prompt=prompt,
            compiled=self._compiled(body),
            max_tokens=_number(body, limit, 64, int, 1, MAX_TOKENS),
            temperature=_number(body, "temperature", 1.0, float, 0.0, 2.0),
            seed=_number(body, "seed", secrets.randbits(63), int, 0, 2**63 - 1),
            n=_number(body, "n", 1, int, 1, MAX_CHOICES),
            stop=_stops(body),
            stream=_field(body, "stream", False, bool),
            include_usage=_field(_field(body, "stream_options", {}, dict), "include_usage", False, bool),
        )

    def _compiled(self, body: dict[str, Any]) -> psc.CompiledGrammar | None:
        form = _field(body, "response_format", {"type": "text"}, dict)
        if form.get("type") not in ("text", "json_object") or len(form) > 1:
            what = json.dumps(form)[:80]
            raise BadRequest(
                f"response_format {what} cannot be enforced; json_object and text can, without more", "response_format"
            )
        asked = [name for name in CONSTRAINTS if body.get(name) is not None] + ["response_format"] * (form["type"] == "json_object")
        if len(asked) > 1:
            raise BadRequest(f"{' and '.join(asked)}: a text has one grammar", asked[0])
        if not asked:
            return None
        kind = CONSTRAINTS.get(asked[0], "json")
        try:
            if kind == "grammar":
                return self._compiler.compile_grammar(_field(body, asked[0], "", str))
            if kind == "regex":
                return self._compiler.compile_regex(_field(body, asked[0], "", str))
            if kind == "choice":
                return self._compiler.compile_grammar(_one_of(_field(body, asked[0], [], list)))
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


def _check_fields(body: dict[str, Any]) -> None:
    """Raises BadRequest for a field that would change the text and is not enforced."""
    known = HONOURED | NO_EFFECT | set(CONSTRAINTS)
    for name, value in body.items():
        if name in known or value is None or value in OFF.get(name, ()):
            continue
        what = "is not supported by this server" if name in OFF else "is not known to this server"
        raise BadRequest(f"{name} {what}, so it cannot be enforced; leave it out", name)


def _one_of(texts: list[Any]) -> str:
    """EBNF for a choice of texts."""
    if not texts or not all(isinstance(text, str) for text in texts):
        raise BadRequest("guided_choice must be a list of strings, with one at least", "guided_choice")
    # JSON's escapes are EBNF's, but for the pairs of surrogates that it makes of characters beyond the first 65,536.
    return "root ::= " + " | ".join(json.dumps(text, ensure_ascii=False) for text in texts)


def _stops(body: dict[str, Any]) -> tuple[str, ...]:
    stop = [body["stop"]] if isinstance(body.get("stop"), str) else _field(body, "stop", [], list)
    if len(stop) > MAX_STOPS or not all(isinstance(text, str) and text for text in stop):
        raise BadRequest(f"stop must be a text or a list of at most {MAX_STOPS} texts, none of them empty", "stop")
    return tuple(stop)


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
    except RecursionError as e:
        raise BadRequest("the body is nested too deeply") from e
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    return body


def _checked_text(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise BadRequest(f"{name} is no text: it has half of a surrogate pair at character {e.start}", name) from e
    return text


def _prompt(body: dict[str, Any]) -> str:
    if not isinstance(body.get("prompt"), str):
        raise BadRequest("prompt must be a string", "prompt")
    return _checked_text(body["prompt"], "prompt")


def _conversation(body: dict[str, Any]) -> str:
    messages = _field(body, "messages", [], list)
    if not messages or not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        raise BadRequest("messages must be a list of objects with a role and a content", "messages")
    return _checked_text("\n".join(f"{m['role']}: {_content(m)}" for m in messages), "messages")


def _content(message: dict[str, Any]) -> str:
    """A message's text: a string, a list of parts of text, or null in what an assistant said."""
    content = message.get("content")
    if content is None and message["role"] == "assistant":
        return ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [None]
    if not all(isinstance(p, dict) and p.get("type") == "text" and isinstance(p.get("text"), str) for p in parts):
        raise BadRequest("messages: a content must be a string, or a list of parts of type text", "messages")
    return "".join(p["text"] for p in parts)


class _Choice:
    """One text of an answer: bytes to characters, and why it ended."""

    def __init__(self, engine: Engine, task: Task, index: int) -> None:
        self._engine, self._task, self.index = engine, task, index
        self.n_tokens = 0
        self.finish_reason = "length"

    def pieces(self) -> Iterator[str]:
        """The text in pieces of whole characters, up to the first of the request's stop texts."""
        held = ""  # what a stop text may begin in
        for piece in self._decoded():
            held += piece
            if (end := min((at for s in self._task.stop if (at := held.find(s)) >= 0), default=-1)) >= 0:
                self.finish_reason = "stop"
                held = held[:end]
                break
            keep = max((n for s in self._task.stop for n in range(1, len(s)) if held.endswith(s[:n])), default=0)
            if ready := held[: len(held) - keep]:
                yield ready
            held = held[len(held) - keep :]
        if held:
            yield held

    def _decoded(self) -> Iterator[str]:
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


def _usage(task: Task, n_tokens: int) -> dict[str, int]:
    n_prompt = len(task.prompt.encode())  # the model reads bytes
    return {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": n_prompt + n_tokens}


def _answer(engine: Engine, task: Task, chat: bool) -> dict[str, Any]:
    choices, n_tokens = [], 0
    for index in range(task.n):
        choice = _Choice(engine, task, index)
        text = "".join(choice.pieces())
        n_tokens += choice.n_tokens
        content = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        choices.append({"index": index, **content, "finish_reason": choice.finish_reason, "logprobs": None})
    return {**_head(engine, chat, streamed=False), "choices": choices, "usage": _usage(task, n_tokens)}


def _events(engine: Engine, task: Task, chat: bool) -> Iterator[str]:
    head = _head(engine, chat, streamed=True)

    def event(index: int, content: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": index, **({"delta": content} if chat else {"text": content.get("content", "")}), "finish_reason": reason}
        return _event({**head, "choices": [choice], **({"usage": None} if task.include_usage else {})})

    n_tokens = 0
    for index in range(task.n):
        choice = _Choice(engine, task, index)
        if chat:
            yield event(index, {"role": "assistant", "content": ""})
        for piece in choice.pieces():
            yield event(index, {"content": piece})
        yield event(index, {}, choice.finish_reason)
        n_tokens += choice.n_tokens
    if task.include_usage:
        yield _event({**head, "choices": [], "usage": _usage(task, n_tokens)})
    yield "data: [DONE]\n\n"


def _event(content: dict[str, Any]) -> str:
    return f"data: {json.dumps(content)}\n\n"


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

    card = {"id": engine.name, "object": "model", "created": 0, "owned_by": "psc"}

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [card]})

    async def model(request: Request) -> Response:
        if request.path_params["name"] != engine.name:
            raise HTTPException(404, f"there is no model {request.path_params['name']!r}; this server has {engine.name!r}")
        return JSONResponse(card)

    async def refuse(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 400
        message = error.detail if isinstance(error, HTTPException) else str(error)
        parameter = error.parameter if isinstance(error, BadRequest) else None
        content = {"message": message, "type": "invalid_request_error", "param": parameter, "code": None}
        return JSONResponse({"error": content}, status_code=status)

    return Starlette(
        routes=[
            Route("/v1/models", models),
            Route("/v1/models/{name}", model),
            Route("/v1/completions", completions, methods=["POST"]),
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
        ],
        exception_handlers={BadRequest: refuse, HTTPException: refuse},
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    args = options.parse_args()
    try:
        import uvicorn
    except ImportError:
        print("openai_server: serving needs uvicorn: pip install uvicorn", file=sys.stderr)
        return 1
    uvicorn.run(application(Engine(args.tokenizer)), host=args.host, port=args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
