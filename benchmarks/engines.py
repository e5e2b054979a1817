"""The engines that `peers.py` sets side by side, behind one small interface, and the process that each runs in.

The idea: every engine gets the grammar in its own dialect and the vocabulary as bytes, from psc's table, so that none
depends on how another library reads the tokenizer. Each lives in a process of its own (`Worker`), because a benchmark
must survive an engine that crashes or does not come back; only one process works at a time. Of the ways an engine has
to fill a mask, the fastest from Python is taken: llguidance writes to a raw pointer, the others into an int32 array.

The cost: a process and a loaded tokenizer an engine.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np
from corpus import Encode, encoder, grammar_file
from lark_dialects import for_llguidance, for_xgrammar
from measure import timer_overhead

import psc

ENGINES = {"psc row": "psc", "psc fill": "psc", "llguidance": "llguidance", "xgrammar": "xgrammar"}
"""Engine -> the distribution that it needs."""

# llguidance gives up on a step beyond this many Earley items; its default is too low for Go.
_STEP_MAX_ITEMS = 500_000


class Engine(Protocol):
    """A compiled grammar and a matcher over it."""

    grammar: str  # which grammar it got
    mask: Callable[[], object]  # computes the current mask
    accept: Callable[[int], bool]

    def reset(self) -> None:
        """Back to the start of a text."""


class Psc:
    """psc, the mask as the number of a row or copied into an array."""

    def __init__(self, text: str, info: psc.TokenizerInfo, fill: bool) -> None:
        self.grammar = "as it is"
        compiled = psc.GrammarCompiler(info).compile_lark(text)
        matcher = psc.GrammarMatcher(compiled)
        self.accept = matcher.accept_token
        self.reset = matcher.reset
        self.mask: Callable[[], object] = matcher.mask_row
        if fill:
            bitmask = np.full((info.vocab_size + 31) // 32, -1, np.int32)
            self.mask = lambda: matcher.fill_next_token_bitmask(bitmask)


class _Vocabulary:
    """What llguidance asks of a tokenizer."""

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


class LLGuidance:
    """llguidance's LLMatcher."""

    def __init__(self, text: str, info: psc.TokenizerInfo, encode: Encode) -> None:
        import llguidance

        vocabulary: Any = llguidance.TokenizerWrapper(_Vocabulary(info, encode))
        tokenizer = llguidance.LLTokenizer(
            vocabulary, n_vocab=info.vocab_size, eos_token=list(info.stop_token_ids)
        )
        self.compile_from = time.perf_counter()
        rewritten = for_llguidance(text)
        self.grammar = "as it is" if rewritten == text else "rewritten"
        self._new = lambda: llguidance.LLMatcher(
            tokenizer,
            llguidance.LLMatcher.grammar_from_lark(rewritten),
            log_level=0,
            limits=llguidance.LLParserLimits(step_max_items=_STEP_MAX_ITEMS),
        )
        self._bitmask = np.full((info.vocab_size + 31) // 32, -1, np.int32)
        self._matcher = self._new()
        self._check()
        self._bind()

    def _check(self) -> None:
        if self._matcher.is_error():
            raise RuntimeError(self._matcher.get_error())

    def _bind(self) -> None:
        compute, address, size = self._matcher.unsafe_compute_mask_ptr, self._bitmask.ctypes.data, self._bitmask.nbytes
        self.mask: Callable[[], object] = lambda: compute(address, size)
        self.accept = self._matcher.consume_token

    def reset(self) -> None:
        """A matcher that has refused a token stays in error, and another is made."""
        if self._matcher.is_error() or not self._matcher.reset():
            self._matcher = self._new()
            self._bind()


class XGrammar:
    """XGrammar's GrammarMatcher."""

    def __init__(self, name: str, text: str, info: psc.TokenizerInfo) -> None:
        import xgrammar

        tokenizer = xgrammar.TokenizerInfo(
            [info.token_bytes(i) for i in range(info.vocab_size)],
            xgrammar.VocabType.RAW,
            vocab_size=info.vocab_size,
            stop_token_ids=list(info.stop_token_ids),
        )
        self.compile_from = time.perf_counter()
        compiler = xgrammar.GrammarCompiler(tokenizer, cache_enabled=False)
        if name == "json":
            self.grammar = "its own JSON"
            compiled = compiler.compile_builtin_json_grammar()
        else:
            rewritten = for_xgrammar(text)
            self.grammar = "as it is" if rewritten == text else "rewritten"
            compiled = compiler.compile_lark(rewritten)
        matcher = xgrammar.GrammarMatcher(compiled)
        bitmask = np.full((1, (info.vocab_size + 31) // 32), -1, np.int32)
        self.mask: Callable[[], object] = lambda: matcher.fill_next_token_bitmask(bitmask)
        self.accept = matcher.accept_token
        self.reset = matcher.reset


def start(engine: str, grammar: str, spec: str) -> tuple[Engine, float]:
    """An engine ready to run, and the seconds that compiling took, the tokenizer being loaded before."""
    info = psc.load_tokenizer(spec)
    path = grammar_file(grammar)
    text = path.read_text(encoding="utf-8")
    # Imports and the engine's own preparation of the vocabulary are no part of compiling a grammar.
    if engine.startswith("psc"):
        psc.GrammarCompiler(info).compile_lark('start: "a"')
        began = time.perf_counter()
        return Psc(text, info, engine == "psc fill"), time.perf_counter() - began
    made = LLGuidance(text, info, encoder(spec, info)[1]) if engine == "llguidance" else XGrammar(path.stem, text, info)
    return made, time.perf_counter() - made.compile_from


@dataclass(frozen=True)
class Visit:
    """What an engine did with one text."""

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
    mask, accept = engine.mask, engine.accept
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


class Worker:
    """An engine in a process of its own."""

    def __init__(self, engine: str, grammar: str, spec: str) -> None:
        self.engine = engine
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, engine, grammar, spec), daemon=True)
        self._process.start()
        theirs.close()

    def receive(self, timeout: float) -> Any:
        """The next message. Raises RuntimeError with what the engine said, or what became of its process."""
        if not self._connection.poll(timeout):
            self._process.kill()
            raise RuntimeError(f"did not come back within {timeout:.0f} s")
        try:
            kind, content = self._connection.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"its process died (exit status {self._process.exitcode})") from None
        if kind == "error":
            raise RuntimeError(content)
        return content

    def visit(self, ids: Sequence[int], positions: frozenset[int], timeout: float) -> Visit:
        """As `visit`, over there."""
        self._connection.send((ids, positions))
        result: Visit = self.receive(timeout)
        return result

    def stop(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _serve(connection: Connection, name: str, grammar: str, spec: str) -> None:
    import gc

    try:
        engine, seconds = start(name, grammar, spec)
        gc.collect()
        gc.disable()
        connection.send(("ready", (seconds, engine.grammar, timer_overhead())))
        while True:
            ids, positions = connection.recv()
            connection.send(("visit", visit(engine, ids, positions)))
    except EOFError:
        pass
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        connection.send(("error", lines[0]))


def installed(engine: str) -> str | None:
    """The version of an engine's distribution, or None if it is absent."""
    try:
        return version(ENGINES[engine])
    except PackageNotFoundError:
        return psc.__version__ if ENGINES[engine] == "psc" else None
