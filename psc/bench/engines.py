"""The engines that are set side by side, behind one small interface, and the process that each runs in.

The idea: every engine gets the grammar in its own dialect and the vocabulary as bytes, from psc's table, so that none depends on
how another library reads the tokenizer. Each lives in a process of its own (`HostedEngine`), because a benchmark must survive an
engine that crashes or does not come back; only one process works at a time. Of an engine's ways to fill a mask, the benchmark takes
the fastest from Python: llguidance writes to a raw pointer, the others into an int32 array. psc runs four times: with everything
built ahead of time and built just in time, each giving the number of a row or a copy of it.

The cost: a process and a loaded tokenizer an engine.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psc
from psc.bench.lark_dialects import for_llguidance, for_xgrammar
from psc.bench.measure import timer_overhead
from psc.bench.subjects import Subject
from psc.bench.texts import Encode, encoder
from psc.grammars.compiled_grammar import compile_ahead_of_time

ENGINES = {
    "psc row": "psc",
    "psc fill": "psc",
    "psc jit row": "psc",
    "psc jit fill": "psc",
    "llguidance": "llguidance",
    "xgrammar": "xgrammar",
    "outlines": "outlines_core",
    "formatron": "formatron",
}
"""Engine -> the distribution that it needs."""

STEP_MAX_ITEMS = 500_000
"""llguidance gives up on a step beyond this many Earley items; its default is too low for Go."""


@dataclass
class Engine:
    """A compiled grammar and a matcher over it."""

    grammar: str
    """Which grammar it got, in words."""
    compile_seconds: float
    """From the grammar's text; imports and the engine's own preparation of the vocabulary came before."""
    mask: Callable[[], object]
    """Computes the current mask."""
    accept: Callable[[int], bool]
    reset: Callable[[], object]
    """Back to the start of a text. May replace `mask` and `accept`."""


def psc_engine(subject: Subject, info: psc.TokenizerInfo, *, ahead: bool, fill: bool) -> Engine:
    """psc; the mask is the number of a row, or the row copied into an array."""
    compiler = psc.GrammarCompiler(info, cache_enabled=False, store=False)
    warm_up(compiler)
    began = time.perf_counter()
    grammar = subject.open()
    compiled = compile_ahead_of_time(grammar, info) if ahead else compiler.compile_grammar(grammar)
    seconds = time.perf_counter() - began
    matcher = psc.GrammarMatcher(compiled)
    mask: Callable[[], object] = matcher.mask_row
    if fill:
        mask = partial(matcher.fill_next_token_bitmask, _bitmask(info))
    return Engine("as it is", seconds, mask, matcher.accept_token, matcher.reset)


def warm_up(compiler: psc.GrammarCompiler) -> None:
    """Imports every front end and indexes the vocabulary, with grammars that share nothing with any other."""
    files("psc.compiler.grammars").joinpath("__init__.py").read_bytes()
    for trivial in (compiler.compile_grammar('root ::= "a"'), compiler.compile_regex("a"), compiler.compile_lark('start: "a"')):
        psc.GrammarMatcher(trivial).mask_row()


class _Vocabulary:
    """The interface that llguidance needs of a tokenizer."""

    def __init__(self, info: psc.TokenizerInfo, encode: Encode) -> None:
        self.eos_token_id = info.stop_token_ids[0]
        self.bos_token_id = None
        self.special_token_ids = list(info.special_token_ids)
        self.tokens = [info.token_bytes(i) for i in range(info.vocab_size)]
        for i in info.special_token_ids:
            self.tokens[i] = b"<|special %d|>" % i
        self._encode = encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self._encode(text if isinstance(text, bytes) else text.encode())


def llguidance_tokenizer(info: psc.TokenizerInfo, encode: Encode) -> Any:
    """The vocabulary as llguidance takes it."""
    llguidance: Any = import_module("llguidance")
    return llguidance.LLTokenizer(
        llguidance.TokenizerWrapper(_Vocabulary(info, encode)),
        n_vocab=info.vocab_size,
        eos_token=list(info.stop_token_ids),
    )


def llguidance_matcher(subject: Subject, tokenizer: Any) -> Any:
    """A matcher of llguidance. Raises RuntimeError when it refuses the grammar."""
    llguidance: Any = import_module("llguidance")
    if subject.language == "lark":
        source = llguidance.LLMatcher.grammar_from_lark(for_llguidance(subject.text))
    else:
        any_to_lark = import_module("llguidance.gbnf_to_lark").any_to_lark
        source = llguidance.LLMatcher.grammar_from_lark(any_to_lark(subject.text))
    limits = llguidance.LLParserLimits(step_max_items=STEP_MAX_ITEMS)
    made = llguidance.LLMatcher(tokenizer, source, log_level=0, limits=limits)
    if made.is_error():
        raise RuntimeError(made.get_error())
    return made


def llguidance_engine(subject: Subject, info: psc.TokenizerInfo, encode: Encode) -> Engine:
    """llguidance; the mask is written through a raw pointer. Raises RuntimeError when it refuses the grammar."""
    tokenizer = llguidance_tokenizer(info, encode)
    bitmask = _bitmask(info)

    def new() -> Any:
        return llguidance_matcher(subject, tokenizer)

    began = time.perf_counter()
    matcher = new()
    seconds = time.perf_counter() - began

    def bind() -> None:
        engine.mask = partial(matcher.unsafe_compute_mask_ptr, bitmask.ctypes.data, bitmask.nbytes)
        engine.accept = matcher.consume_token

    def reset() -> None:
        nonlocal matcher
        if matcher.is_error() or not matcher.reset():  # one that has refused a token stays in error
            matcher = new()
            bind()

    unchanged = subject.language == "lark" and for_llguidance(subject.text) == subject.text
    engine = Engine("as it is" if unchanged else "rewritten", seconds, lambda: None, bool, reset)
    bind()
    return engine


def xgrammar_compiler(info: psc.TokenizerInfo) -> Any:
    """A compiler of XGrammar for the vocabulary, on one thread."""
    xgrammar: Any = import_module("xgrammar")
    tokenizer = xgrammar.TokenizerInfo(
        [info.token_bytes(i) for i in range(info.vocab_size)],
        xgrammar.VocabType.RAW,
        vocab_size=info.vocab_size,
        stop_token_ids=list(info.stop_token_ids),
    )
    return xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)


def xgrammar_compiled(subject: Subject, compiler: Any) -> tuple[Any, str]:
    """The grammar, compiled, and which it is in words. Raises RuntimeError when XGrammar refuses it."""
    if subject.name in ("json", "builtin-json"):
        return compiler.compile_builtin_json_grammar(), "its own JSON"
    if subject.language == "ebnf":
        return compiler.compile_grammar(subject.text), "as it is"
    rewritten = for_xgrammar(subject.text)
    return compiler.compile_lark(rewritten), "as it is" if rewritten == subject.text else "rewritten"


def xgrammar_engine(subject: Subject, info: psc.TokenizerInfo) -> Engine:
    """XGrammar; for JSON its own grammar, for Lark its own front end. Raises RuntimeError when it refuses the grammar."""
    compiler = xgrammar_compiler(info)
    began = time.perf_counter()
    compiled, kind = xgrammar_compiled(subject, compiler)
    seconds = time.perf_counter() - began
    matcher = import_module("xgrammar").GrammarMatcher(compiled)
    mask = partial(matcher.fill_next_token_bitmask, _bitmask(info).reshape(1, -1))
    return Engine(kind, seconds, mask, matcher.accept_token, matcher.reset)


def _bitmask(info: psc.TokenizerInfo) -> NDArray[np.int32]:
    return np.full((info.vocab_size + 31) // 32, -1, np.int32)


def start(engine: str, subject: Subject, spec: str) -> Engine:
    """An engine ready to run. Raises what the engine raises when it refuses the grammar."""
    info = psc.load_tokenizer(spec)
    if engine == "llguidance":
        return llguidance_engine(subject, info, encoder(spec, info)[1])
    if engine == "xgrammar":
        return xgrammar_engine(subject, info)
    if not engine.startswith("psc"):
        raise RuntimeError("takes JSON schemas alone here")
    return psc_engine(subject, info, ahead="jit" not in engine, fill="fill" in engine)


@dataclass(frozen=True)
class Visit:
    """The measurements of an engine on one text."""

    masks: list[int]
    """Nanoseconds of each mask, the timer's own included."""
    accepts: list[int]
    """The same of the accepts that follow these masks."""
    accepted: int
    """Tokens accepted before the first that was not, or all."""


def visit(engine: Engine, ids: Sequence[int], positions: frozenset[int]) -> Visit:
    """Follow a text; at the positions given, and only there, compute the mask and time it and the accept after it."""
    now = time.perf_counter_ns
    masks: list[int] = []
    accepts: list[int] = []
    engine.reset()
    mask, accept = engine.mask, engine.accept  # after the reset, which may replace them
    for n, token in enumerate(ids):
        if n not in positions:
            if not accept(token):
                return Visit(masks, accepts, n)
            continue
        t0 = now()
        mask()
        t1 = now()
        good = accept(token)
        t2 = now()
        masks.append(t1 - t0)
        accepts.append(t2 - t1)
        if not good:
            return Visit(masks, accepts, n)
    return Visit(masks, accepts, len(ids))


@dataclass(frozen=True)
class Ready:
    """The first message of a hosted engine."""

    compile_seconds: float
    first_mask_seconds: float
    grammar: str
    """Which grammar the engine got, in words."""
    overhead: float
    """Nanoseconds, see `timer_overhead`."""


class HostedEngine:
    """An engine over a grammar, for `psc.bench.isolated.Resident`; its first mask is made."""

    def __init__(self, engine: str, subject: Subject, spec: str) -> None:
        """Raises what the engine raises when it refuses the grammar."""
        self._engine = made = start(engine, subject, spec)
        began = time.perf_counter()
        made.mask()
        first_mask = time.perf_counter() - began
        gc.collect()
        gc.disable()
        self._ready = Ready(made.compile_seconds, first_mask, made.grammar, timer_overhead())

    def ready(self) -> Ready:
        """The message before the first text."""
        return self._ready

    def visit(self, ids: Sequence[int], positions: frozenset[int]) -> Visit:
        """As `visit`."""
        return visit(self._engine, ids, positions)


def installed_peers(names: Sequence[str]) -> dict[str, str | None]:
    """Version of each peer's distribution, None where it is absent."""
    return {name: installed(name) for name in names}


def installed(engine: str) -> str | None:
    """The version of an engine's distribution, or None if it is absent."""
    distribution = ENGINES.get(engine, engine)
    if distribution == "psc":
        return psc.__version__
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
