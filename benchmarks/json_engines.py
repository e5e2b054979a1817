"""Engines that compile JSON schemas, behind one interface: a schema's text to what makes matchers, which share one mask."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from corpus import Encode
from engines import installed, llguidance_tokenizer, xgrammar_compiler
from numpy.typing import NDArray

import psc

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


def psc_engine(compiler: psc.GrammarCompiler, bits: Bits, *, any_order: bool = False) -> Compile:
    """psc, just in time. Members in any order where objects are small enough."""

    def compile_schema(schema: str) -> Callable[[], Matcher]:
        try:
            compiled = compiler.compile_json_schema(schema, strict_mode=False, any_order=any_order)
        except psc.ResourceLimitError:
            if not any_order:
                raise
            compiled = compiler.compile_json_schema(schema, strict_mode=False)

        def new() -> Matcher:
            matcher = psc.GrammarMatcher(compiled)
            return Matcher(lambda: matcher.fill_next_token_bitmask(bits), matcher.accept_token)

        return new

    return compile_schema


def llguidance_engine(info: psc.TokenizerInfo, bits: Bits, encode: Encode) -> Compile:
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


def xgrammar_engine(info: psc.TokenizerInfo, bits: Bits) -> Compile:
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


def made(names: list[str], info: psc.TokenizerInfo, bits: Bits, encode: Encode, ours: Callable[[], Compile]) -> dict[str, Compile]:
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


def empty_mask(info: psc.TokenizerInfo) -> Bits:
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
