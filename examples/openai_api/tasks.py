"""A request's body, read and checked: what is to be written, and how."""

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import psc
from openai_api.constraints import Compiling, Constraint, compile_constraint, read_constraint
from openai_api.conversations import read_messages
from openai_api.errors import ApiError, no_such_model
from openai_api.fields import check_known, check_only, field, number, text
from openai_api.metrics import Metrics
from openai_api.models import LanguageModel
from openai_api.sampling import Sampling
from openai_api.tool_calls import READABLE
from openai_api.tools import Tools, compile_tools, read_tools
from psc.serving import ServiceOptions
from psc.support.readable import shortened

MOST_TOKENS = 4096
USUAL_TOKENS, USUAL_CONSTRAINED_TOKENS = 64, 1024
"""Where a request does not say: a text that is cut off is a text, and a value that is cut off is none."""
MOST_CHOICES = 16
MOST_PROMPTS = 16
MOST_STOPS = 4
MOST_STOP_CHARACTERS = 1000
"""Each piece of a text is compared with all beginnings of each."""
MOST_LOGPROBS = 20


@dataclass(frozen=True)
class Task:
    """A request, checked."""

    chat: bool
    prompts: tuple[list[int], ...]
    compiled: psc.CompiledGrammar | None
    tools: Tools | None
    sampling: Sampling
    max_tokens: int
    n: int
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool
    custom: Mapping[str, psc.CompiledGrammar | None] = dataclass_field(default_factory=dict)
    """Of the custom tools: the grammars of what they are called with."""
    told: Mapping[str, Any] = dataclass_field(default_factory=dict)
    """Of the Responses API: what its answer repeats of the request."""

    @property
    def n_prompt_tokens(self) -> int:
        """Of all prompts."""
        return sum(map(len, self.prompts))


class Engine:
    """A model, and the compiler for its vocabulary."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.metrics = Metrics()
        # What clients ask for is written to a folder only where whoever runs the server has named one.
        store = os.environ.get("PSC_STORE") or False
        self.bounds = ServiceOptions.of()
        self.compiler = psc.GrammarCompiler(model.info, cache_limit_bytes=256 << 20, store=store)

    def read(self, body: dict[str, Any], chat: bool, cancellation: psc.Cancellation) -> Task:
        """A request as a task, its grammar compiled.

        Raises ApiError for what the client has to change, and CompilationCancelledError.
        """
        self.check_model(body)
        check_known(body)
        tools = read_tools(body) if chat else self._no_tools(body)
        stream = field(body, "stream", False, bool)
        options = field(body, "stream_options", {}, dict)
        if options and not stream:
            raise ApiError("stream_options is for streams; set stream, or leave it out", "stream_options")
        check_only(options, {"include_usage", "include_obfuscation"}, "stream_options")
        sampling = self.sampling(body, chat, tools)
        constraint = read_constraint(body)
        limit = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
        is_value = tools.must_call if tools else constraint is not None
        usual = USUAL_CONSTRAINED_TOKENS if is_value else USUAL_TOKENS
        prompts = self._prompts(body, chat, tools)
        max_tokens = number(body, limit, usual, int, 1, MOST_TOKENS)
        return Task(
            chat=chat,
            prompts=prompts,
            tools=tools,
            sampling=sampling,
            max_tokens=self.fitting(max_tokens, prompts, "messages" if chat else "prompt"),
            n=number(body, "n", 1, int, 1, MOST_CHOICES),
            stop=_stops(body),
            stream=stream,
            include_usage=field(options, "include_usage", False, bool, within="stream_options"),
            compiled=self.compiled(constraint, tools, cancellation),
        )

    def fitting(self, max_tokens: int, prompts: Sequence[list[int]], param: str) -> int:
        """What is left of the model's length for a text. Raises ApiError where it is nothing."""
        longest = max(map(len, prompts))
        if longest >= self.model.max_length:
            message = f"{param}: {longest} tokens, and the model reads and writes {self.model.max_length} in all; make it shorter"
            raise ApiError(message, param, code="context_length_exceeded")
        return min(max_tokens, self.model.max_length - longest)

    def check_model(self, body: dict[str, Any]) -> None:
        """Raises ApiError where it names another model."""
        asked = field(body, "model", self.model.name, str)
        if asked != self.model.name:
            raise no_such_model(asked, self.model.name)

    @staticmethod
    def _no_tools(body: dict[str, Any]) -> None:
        for name in ("tools", "tool_choice"):
            if body.get(name) not in (None, [], "none"):
                raise ApiError(f"{name} is for chat completions, at /v1/chat/completions", name)

    def _prompts(self, body: dict[str, Any], chat: bool, tools: Tools | None) -> tuple[list[int], ...]:
        if chat:
            return (self.model.chat_prompt(read_messages(body), tools.listed if tools else ()),)
        asked = body.get("prompt")
        prompts: list[Any] = asked if isinstance(asked, list) else [asked]
        if not 1 <= len(prompts) <= MOST_PROMPTS or not all(isinstance(p, str) for p in prompts):
            raise ApiError(f"prompt must be a string or a list of 1 to {MOST_PROMPTS} strings; tokens are not taken", "prompt")
        return tuple(self.model.prompt(text(p, "prompt")) for p in prompts)

    def sampling(self, body: dict[str, Any], chat: bool, tools: Tools | None) -> Sampling:
        """How tokens are drawn. Raises ApiError."""
        n_logprobs = _n_logprobs(body) if chat else number(body, "logprobs", None, int, 0, 5)
        if n_logprobs is not None and tools:
            raise ApiError("logprobs beside tools: they are told of text alone; leave them out", "logprobs")
        return Sampling(
            seed=number(body, "seed", secrets.randbits(63), int, 0, 2**63 - 1),
            temperature=number(body, "temperature", 1.0, float, 0.0, 2.0),
            top_p=number(body, "top_p", 1.0, float, 0.0, 1.0),
            presence_penalty=number(body, "presence_penalty", 0.0, float, -2.0, 2.0),
            frequency_penalty=number(body, "frequency_penalty", 0.0, float, -2.0, 2.0),
            logit_bias=self._logit_bias(body),
            n_logprobs=n_logprobs,
        )

    def _logit_bias(self, body: dict[str, Any]) -> tuple[tuple[int, float], ...]:
        given = field(body, "logit_bias", {}, dict)
        size = self.model.info.vocab_size
        for token, bias in given.items():
            known = token.isascii() and token.isdigit() and len(token) < 9 and int(token) < size
            if not known or type(bias) not in (int, float) or not -100 <= bias <= 100:
                raise ApiError(
                    f"logit_bias[{shortened(repr(token))}]: it must map tokens below {size} to numbers from -100 to 100",
                    "logit_bias",
                )
        return tuple((int(token), float(bias)) for token, bias in given.items())

    def compiled(
        self, constraint: Constraint | None, tools: Tools | None, cancellation: psc.Cancellation
    ) -> psc.CompiledGrammar | None:
        """The grammar of a text, if it has one. Raises ApiError."""
        compiling = Compiling(self.compiler, self.bounds, cancellation)
        if tools is not None:
            form = self.model.format_name or ""
            if form not in READABLE:
                raise ApiError(f"tools: start the server with --tool-format, one of {', '.join(READABLE)}", "tools")
            return self.counted("tools", lambda: compile_tools(compiling, tools, form, constraint))
        if constraint is None:
            return None
        return self.counted(constraint.kind, lambda: compile_constraint(compiling, constraint))

    def counted(self, kind: str, work: Callable[[], psc.CompiledGrammar]) -> psc.CompiledGrammar:
        """A grammar that is compiled for a request, for the metrics."""
        began, outcome = time.perf_counter(), "refused"
        try:
            compiled = work()
            outcome = "compiled"
            return compiled
        except psc.CompilationCancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.metrics.add("compilations_total", kind=kind, outcome=outcome)
            self.metrics.add("compile_seconds_total", time.perf_counter() - began, kind=kind)


def _n_logprobs(body: dict[str, Any]) -> int | None:
    """Chat's spelling of it."""
    n = number(body, "top_logprobs", None, int, 0, MOST_LOGPROBS)
    if field(body, "logprobs", False, bool):
        return n or 0
    if n:
        raise ApiError("top_logprobs needs logprobs to be true", "top_logprobs")
    return None


def _stops(body: dict[str, Any]) -> tuple[str, ...]:
    stop = [body["stop"]] if isinstance(body.get("stop"), str) else field(body, "stop", [], list)
    if len(stop) > MOST_STOPS or not all(isinstance(s, str) and s for s in stop):
        raise ApiError(f"stop must be a text or a list of at most {MOST_STOPS} texts, none of them empty", "stop")
    if any(len(s) > MOST_STOP_CHARACTERS for s in stop):
        raise ApiError(f"stop: a text must have at most {MOST_STOP_CHARACTERS} characters", "stop", code="invalid_value")
    return tuple(stop)
