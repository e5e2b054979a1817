"""The grammars of a serving engine's requests: compiled, validated and counted; the engine gets those that psc refuses.

The idea: an engine gives a kind and a text (`psc.serving.kinds`), and wants a grammar, or an error that it can show to the client.
Everything that is the same for all engines is here; an adapter has the engine's classes, its errors, and its own backend.

Cost: a request whose grammar is cached is a dictionary lookup; else see `psc.GrammarCompiler` and `psc.serving.validation`.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from typing import Final, TypeVar

from psc.compiler.frontends.request import GrammarRequest
from psc.errors import (
    CompilationCancelledError,
    ResourceLimitError,
)
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.serving.counters import Counters
from psc.serving.deadlines import Deadlines
from psc.serving.handed_over import HANDED_OVER
from psc.serving.kinds import Kind, request_of
from psc.serving.metrics_server import MetricsServer
from psc.serving.options import ServiceOptions
from psc.serving.validation import REFUSALS, ValidationCache, check_request
from psc.serving.warm_up import WarmUp
from psc.support.arguments import check_type
from psc.support.forks import new_lock
from psc.vocabulary.tokenizer_info import TokenizerInfo

_log = logging.getLogger("psc.serving")
_TRIM_EVERY_S = 1.0
_Theirs = TypeVar("_Theirs")


class GrammarService:
    """The grammars of an engine's requests, for one vocabulary. May be used from several threads.

    Args:
        tokenizer_info: the vocabulary, as wide as the engine's masks.
        options: of the operator; None stands for those of the environment.

    Raises:
        OptionError: a variable of the environment is malformed.
        RegistryError: a registry's address is.
    """

    def __init__(self, tokenizer_info: TokenizerInfo, *, options: ServiceOptions | None = None) -> None:
        check_type("options", options, ServiceOptions, optional=True)
        self.options: Final = ServiceOptions.of() if options is None else options
        self.counters: Final = Counters()
        # Without a store the compiler keeps downloads in a folder of its own, as long as it lives.
        self.compiler: Final = GrammarCompiler(
            tokenizer_info, store=self.options.store or False, registry=self.options.registry or False
        )
        self._validations: Final = ValidationCache(self._read, self.options.validations)
        self._deadlines: Final = Deadlines(self.options.compile_timeout_s) if self.options.compile_timeout_s else None
        self._seen: weakref.WeakSet[CompiledGrammar] = weakref.WeakSet()
        self._reported: set[str] = set()
        self._lock = new_lock()
        self._trim_after = 0.0
        self._warm_up: Final = WarmUp(self.options.warm, self.options, self._compile_warm)
        self._warm_up.start()
        self.metrics: Final = MetricsServer(self.options.metrics, self.prometheus_text) if self.options.metrics else None

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary."""
        return self.compiler.tokenizer_info

    def compile(self, kind: Kind, text: str) -> CompiledGrammar:
        """The compiled grammar of a request.

        Args:
            kind: of the request.
            text: of the request.

        Raises:
            REFUSALS: psc cannot serve it; the message says where and why.
        """
        began = time.perf_counter()
        try:
            compiled = self._compile_in_time(request_of(kind, text, self.options))
        except REFUSALS:
            self.counters.add("refused", kind)
            raise
        self._count(compiled, kind, time.perf_counter() - began)
        self._keep_within_limit()
        return compiled

    def compile_or_fall_back(self, kind: Kind, text: str, engine: Callable[[], _Theirs]) -> CompiledGrammar | _Theirs:
        """The compiled grammar of a request, or the result of the engine's own backend for one that psc refuses.

        Args:
            kind: of the request.
            text: of the request.
            engine: makes the engine's grammar; called with ``fallback = "engine"`` alone.

        Raises:
            REFUSALS: psc cannot serve it, and there is no fallback.
            Exception: what the engine raises.
        """
        try:
            return self.compile(kind, text)
        except REFUSALS as e:
            if not self.falls_back(kind, e):
                raise
        return engine()

    def falls_back(self, kind: str, refusal: Exception) -> bool:
        """Whether a request that psc refused goes to the engine's own backend. It is counted, and logged once for each kind."""
        if self.options.fallback != "engine":
            return False
        self.counters.add("fallbacks", kind)
        with self._lock:
            first = kind not in self._reported
            self._reported.add(kind)
        if first:
            _log.warning(
                "a request of the kind %s goes to the engine's own backend, since psc refuses it: %s. "
                "Others of this kind are only counted",
                kind,
                refusal,
            )
        return True

    def validate(self, kind: Kind, text: str) -> None:
        """Reads a request, and compiles nothing.

        Args:
            kind: of the request.
            text: of the request.

        Raises:
            REFUSALS: it is malformed, or says what psc cannot enforce. A limit of compiling may still refuse it later.
        """
        if self._validations.validate(kind, text):
            self.counters.add("validation_hits", kind)

    def build_ahead(self, compiled: CompiledGrammar, *, has_first: bool = False) -> None:
        """Has a thread build the masks of a new grammar's first steps, see ``ServiceOptions.masks_ahead``.

        An adapter that makes the first mask as it admits the request calls this afterwards: both at once would hinder each other.

        Args:
            compiled: the grammar; a closed one, from an artifact, needs no masks built.
            has_first: the first mask is made, so one step has nothing left to build.
        """
        if self.options.masks_ahead > has_first:
            compiled.build_ahead(self.options.masks_ahead)

    def wait_until_warm(self, timeout_s: float | None = None) -> bool:
        """Waits until the warm-up list is compiled. Returns whether it is."""
        return self._warm_up.wait(timeout_s)

    @property
    def warm_up_failures(self) -> dict[str, str]:
        """Why entries of the warm-up list could not be compiled, by their names."""
        return dict(self._warm_up.failed)

    def snapshot(self) -> dict[str, float]:
        """The counts, see `psc.serving.counters`, and the compiler's: near misses, and the size of the compiled grammars."""
        return {
            **self.counters.snapshot(),
            "near_misses": self.compiler.near_misses,
            "cache_bytes": self.compiler.get_cache_size_bytes(),
        }

    def prometheus_text(self) -> str:
        """The same in Prometheus' text format."""
        size = self.compiler.get_cache_size_bytes()
        gauge = "# HELP psc_cache_bytes What compiled grammars take.\n# TYPE psc_cache_bytes gauge\n"
        near = "# HELP psc_near_misses_total Artifacts that have the requested name and do not serve.\n"
        near += f"# TYPE psc_near_misses_total counter\npsc_near_misses_total {self.compiler.near_misses}\n"
        return f"{self.counters.prometheus_text()}{near}{gauge}psc_cache_bytes {size}\n"

    def close(self) -> None:
        """Drops the cached grammars; those in use stay usable."""
        if self.metrics is not None:
            self.metrics.close()
        self.compiler.clear_cache()

    def _compile_warm(self, request: GrammarRequest) -> None:
        began = time.perf_counter()
        compiled = self._compile_in_time(request)
        self._count(compiled, "warm_up", time.perf_counter() - began)
        self.build_ahead(compiled)

    def _count(self, compiled: CompiledGrammar, kind: str, seconds: float) -> None:
        with self._lock:
            is_new = compiled not in self._seen
            self._seen.add(compiled)
        if is_new:
            self.counters.add("compilations", kind)
            self.counters.add("compile_seconds", kind, seconds)
            if not compiled.is_lazy:
                self.counters.add("artifacts", kind)
        else:
            self.counters.add("cache_hits", kind)

    def _keep_within_limit(self) -> None:
        """Evicts grammars, once a second at most: the cache grows with the masks that texts visit."""
        now = time.monotonic()
        with self._lock:
            if now < self._trim_after:
                return
            self._trim_after = now + _TRIM_EVERY_S
        self.compiler.trim(self.options.cache_mb << 20)

    def _read(self, kind: Kind, text: str) -> None:
        began = time.perf_counter()
        try:
            check_request(kind, text, self.options, self.tokenizer_info)
        finally:
            self.counters.add("validations", kind)
            self.counters.add("validate_seconds", kind, time.perf_counter() - began)

    def _compile_in_time(self, request: GrammarRequest) -> CompiledGrammar:
        grammar = HANDED_OVER.take(request) or request
        if self._deadlines is None:
            return self.compiler.compile_grammar(grammar)
        with self._deadlines.watch() as cancellation:
            try:
                return self.compiler.compile_grammar(grammar, cancellation=cancellation)
            except CompilationCancelledError as e:
                raise ResourceLimitError(
                    f"{request.origin}: compiling it took longer than {self.options.compile_timeout_s:g} s, the option "
                    "compile_timeout_s; make it simpler"
                ) from e
