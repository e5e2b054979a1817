"""Engines that compile JSON schemas, behind one interface: a schema's text to what makes matchers, which share one mask.

`SchemaEngine` is one of them in a process of its own, since an engine may crash on a schema, or not come back.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.bench.engines import installed, llguidance_tokenizer, xgrammar_compiler
from psc.bench.texts import Encode, encoder
from psc.errors import ResourceLimitError
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.runtime.compiled import GrammarMatcher
from psc.vocabulary import load_tokenizer
from psc.vocabulary.tokenizer_info import TokenizerInfo

ENGINES = ("psc", "llguidance", "xgrammar")
Bits = NDArray[np.int32]


@dataclass
class Matcher:
    """One text of a compiled schema."""

    mask: Callable[[], object]
    """Computes the mask into the array that all share."""
    accept: Callable[[int], object]


Compile = Callable[[str], Callable[[], Matcher]]
"""From a schema's text to what makes matchers. Raises RuntimeError where the engine refuses it."""


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


def llguidance_engine(info: TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
    """llguidance."""
    llguidance: Any = import_module("llguidance")
    tokenizer = llguidance_tokenizer(info, encode)

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        source = llguidance.LLMatcher.grammar_from_json_schema(schema)

        def new() -> Matcher:
            matcher = llguidance.LLMatcher(tokenizer, source, log_level=0)
            if matcher.is_error():
                raise RuntimeError(matcher.get_error())
            return Matcher(lambda: matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes), matcher.consume_token)

        new()
        return new

    return compile_schema


def xgrammar_engine(info: TokenizerInfo, bits: Bits) -> Compile:
    """XGrammar, on one thread."""
    xgrammar: Any = import_module("xgrammar")
    torch: Any = import_module("torch")
    compiler = xgrammar_compiler(info)
    shared = torch.from_numpy(bits.reshape(1, -1))

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        compiled = compiler.compile_json_schema(schema, strict_mode=False)

        def new() -> Matcher:
            matcher = xgrammar.GrammarMatcher(compiled)
            return Matcher(lambda: matcher.fill_next_token_bitmask(shared), matcher.accept_token)

        return new

    return compile_schema


def made(names: list[str], info: TokenizerInfo, bits: Bits, encode: Encode, ours: Callable[[], Compile]) -> dict[str, Compile]:
    """The engines of these names that are installed, with their imports done and the vocabulary read. `ours`: makes psc's."""
    makers: dict[str, Callable[[], Compile]] = {
        "psc": ours,
        "llguidance": lambda: llguidance_engine(info, bits, encode),
        "xgrammar": lambda: xgrammar_engine(info, bits),
    }
    by: dict[str, Compile] = {}
    for name in names:
        if name != "psc" and installed(name) is None:
            print(f"{name}: not installed", file=sys.stderr)
            continue
        by[name] = makers[name]()
        by[name]('{"type": "integer"}')().mask()
    return by


def empty_mask(info: TokenizerInfo) -> Bits:
    """The array that masks are computed into."""
    return np.zeros((info.vocab_size + 31) // 32, np.int32)


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
    """One engine with one vocabulary, for `psc.bench.isolated.Resident`. Times are nanoseconds."""

    def __init__(self, name: str, spec: str, options: dict[str, Any]) -> None:
        """`options`: of psc's engine, see `psc_engine`, and `kept`, whether one compiler serves all schemas, as in a server."""
        self._info = load_tokenizer(spec)
        self._bits = empty_mask(self._info)
        self._end = self._info.stop_token_ids[0]
        _, encode = encoder(spec, self._info)
        any_order, kept = options.get("any_order", False), options.get("kept", False)

        def ours() -> Compile:
            limits: dict[str, Any] = {"cache_limit_bytes": 1 << 30} if kept else {"cache_enabled": False}
            return psc_engine(GrammarCompiler(self._info, store=False, **limits), self._bits, any_order=any_order)

        self._compile = made([name], self._info, self._bits, encode, ours)[name]
        self._admitted: dict[str, Callable[[], Matcher]] = {}

    def admitted(self, schema: str, ids: list[int]) -> tuple[int, int, bool]:
        """Compiling a schema, from its text to its first mask, and whether it takes a text by tokens. No other mask is made.

        What is compiled is kept for `steps`.
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
        """Steps of a batch of (schema, tokens of a text): of each the masks and the accepts, first and then over again.

        A text that has ended begins anew. A round that has taken so many seconds has fewer steps. Raises RuntimeError where a
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
