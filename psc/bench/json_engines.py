"""psc and its peers (`psc.bench.json_peers`) as engines that compile JSON schemas, each in a process of its own.

`SchemaEngine` is one of them, and `SchemaServer` has it in a process of its own: an engine may crash on a schema, or not come back.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from psc.bench.engines import installed
from psc.bench.isolated import Failed, Resident
from psc.bench.json_peers import SCHEMA_PEERS, Bits, Compile, Matcher
from psc.bench.reports import Settings
from psc.bench.texts import encoder
from psc.errors import ResourceLimitError
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.runtime.compiled import GrammarMatcher
from psc.vocabulary import load_tokenizer

_WARM_UP = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}'


def psc_engine(compiler: GrammarCompiler, bits: Bits, *, any_order: bool = False) -> Compile:
    """psc, just in time. Members in any order where objects are small enough."""

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        try:
            compiled = compiler.compile_json_schema(schema, strict_mode=False, any_order=any_order)
        except ResourceLimitError:
            if not any_order:
                raise
            compiled = compiler.compile_json_schema(schema, strict_mode=False)

        def new() -> Matcher:
            matcher = GrammarMatcher(compiled)
            return Matcher(lambda: matcher.fill_next_token_bitmask(bits), matcher.accept_token)

        return new

    return compile_schema


def passes(matcher: Matcher, bits: Bits, ids: list[int], end: int, nanoseconds: list[int]) -> bool:
    """Whether every token, and the end after them, is in its mask."""
    for token in [*ids, end]:
        began = time.perf_counter_ns()
        matcher.mask()
        nanoseconds.append(time.perf_counter_ns() - began)
        if not bits[token // 32] >> (token % 32) & 1:
            return False
        if token != end:
            matcher.accept(token)
    return True


class SchemaEngine:
    """One engine with one vocabulary, for `SchemaServer`. Times are nanoseconds."""

    def __init__(self, name: str, spec: str, options: dict[str, Any]) -> None:
        """`options`: of psc's engine, see `psc_engine`, and `kept`, whether one compiler serves all schemas, as in a server."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # XGrammar warns there of each schema
        info = load_tokenizer(spec)
        self._bits = np.zeros((info.vocab_size + 31) // 32, np.int32)
        self._end = info.stop_token_ids[0]
        if name == "psc":
            limits: dict[str, Any] = {"cache_limit_bytes": 1 << 30} if options.get("kept") else {"cache_enabled": False}
            compiler = GrammarCompiler(info, store=False, **limits)
            self._compile = psc_engine(compiler, self._bits, any_order=options.get("any_order", False))
        else:
            self._compile = SCHEMA_PEERS[name](info, self._bits, encoder(spec, info)[1])
        self._compile(_WARM_UP)().mask()  # imports are done, and the vocabulary is read
        self._admitted: dict[str, Callable[[], Matcher]] = {}

    def admitted(self, schema: str, ids: list[int]) -> tuple[int, int, bool]:
        """Compiling a schema, from its text to its first mask, and whether it takes a text by tokens. No other mask is made.

        The compiled schema is stored for `steps`.
        """
        began = time.perf_counter_ns()
        new = self._compile(schema)
        compiled = time.perf_counter_ns()
        new().mask()
        ended = time.perf_counter_ns()
        self._admitted[schema] = new
        matcher = new()
        return compiled - began, ended - began, all(matcher.accept(token) for token in ids)

    def instances(self, schema: str, texts: list[list[int]]) -> tuple[int, list[bool], list[int]]:
        """From a schema's text to its first mask; which texts pass to their end; each mask."""
        began = time.perf_counter_ns()
        new = self._compile(schema)
        new().mask()
        first = time.perf_counter_ns() - began
        masks: list[int] = []
        return first, [passes(new(), self._bits, ids, self._end, masks) for ids in texts], masks

    def steps(self, works: list[tuple[str, list[int]]], n_steps: int, seconds: float) -> list[list[tuple[int, int]]]:
        """Steps of a batch of (schema, tokens of a text): the times of masks and accepts, of a first round and of later ones.

        A text that has ended begins anew. A round that reaches the limit of seconds has fewer steps. Raises RuntimeError where a
        token is refused.
        """
        made_of = {schema: self._admitted.get(schema) or self._compile(schema) for schema, _ in works}
        rounds = []
        for _ in range(2):
            matchers = [made_of[schema]() for schema, _ in works]
            at = [0] * len(works)
            took: list[tuple[int, int]] = []
            until = time.monotonic() + seconds
            while len(took) < n_steps and (not took or time.monotonic() < until):
                began = time.perf_counter_ns()
                for matcher in matchers:
                    matcher.mask()
                filled = time.perf_counter_ns()
                taken = [matcher.accept(tokens[i]) for matcher, (_, tokens), i in zip(matchers, works, at, strict=True)]
                took.append((filled - began, time.perf_counter_ns() - filled))
                if not all(taken):
                    raise RuntimeError("a token of a valid text is refused")
                for k, (schema, tokens) in enumerate(works):
                    at[k] += 1
                    if at[k] == len(tokens):
                        at[k], matchers[k] = 0, made_of[schema]()
            rounds.append(took)
        return rounds


class SchemaServer:
    """An engine in a process of its own, started again after a request that it did not come back from.

    Args:
        name: of the engine.
        spec: the tokenizer.
        options: as `SchemaEngine` takes them.
        patience: seconds that starting may take.

    Raises Failed.
    """

    def __init__(self, name: str, spec: str, options: dict[str, Any], patience: float) -> None:
        self.given_up = 0
        """Requests that it did not come back from."""
        self._start = partial(Resident, SchemaEngine, name, spec, options, timeout=patience)
        self._resident = self._start()

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """The result of a method of the engine. Raises Failed."""
        if not self._resident.alive:
            self._resident = self._start()
        try:
            return self._resident.ask(method, *arguments, timeout=timeout)
        finally:
            self.given_up += not self._resident.alive

    def stop(self) -> None:
        """Ends its process."""
        self._resident.stop()


def started(settings: Settings, options: dict[str, Any], patience: float, notes: list[str]) -> dict[str, SchemaServer]:
    """psc and its peers by name; ``notes`` get a line for each that is not installed, or does not start."""
    running: dict[str, SchemaServer] = {}
    for name in ("psc", *settings.peers):
        if installed(name) is None:
            notes.append(f"{name} is not installed.")
            continue
        settings.announce(f"{name} starts")
        try:
            running[name] = SchemaServer(name, settings.tokenizer, options, patience)
        except Failed as error:
            notes.append(f"{name}: {error}.")
    return running
