"""Grammars to compiled grammars, in the process: from an artifact where there is one, else just in time; kept, within a limit.

A compiler belongs to one vocabulary. Each request becomes a ``GrammarRequest``: by that it keeps what is compiled, and
from that comes the key under which artifacts are found.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack
from weakref import WeakSet

from psc.artifacts.store import Store
from psc.compiler.frontends.front_end import NO_SETTINGS, UNNAMED, RefusedTextError, check_text
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.registry import antlr_settings, front_end, indenter_settings
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import CompilationCancelledError, GrammarError
from psc.grammars.artifact_lookup import ArtifactLookup, Registries
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.cache import GrammarCache, Shared
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time, compiled_from_artifact, compiled_like
from psc.grammars.grammar import Grammar, named_requests, read_instead
from psc.grammars.near_artifacts import Wanted
from psc.requests.ebnf_texts import ebnf_request
from psc.requests.json_schemas import Resolver, Schema, SchemaOptions, schema_request, takes_schema_options
from psc.requests.lark_texts import LarkDialect, lark_request
from psc.requests.structural_tag_request import structural_tag_request
from psc.support import threads
from psc.support.cancellation import Cancellation, check_cancellation, obeying
from psc.support.forks import in_child
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LarkLexer
    from psc.compiler.expressions.tokens import TokenNames

_log = logging.getLogger("psc.compiler")
_MAX_PART_BYTES = 256 << 20
"""What the parts of grammars may take, where nothing else is said."""


class GrammarCompiler:
    """Compiles grammars for one vocabulary.

    Args:
        tokenizer_info: the vocabulary.
        max_threads: accepted for compatibility: nothing that a compilation waits for would be faster with more.
        cache_enabled: keep compiled grammars, so that compiling the same again costs nothing.
        cache_limit_bytes: what the kept grammars, and what they have built, may take; the least recently used ones are evicted,
            those that stay share it equally, and one that exceeds its share begins anew. -1 is no limit.
        store: the folder of artifacts in which a grammar is looked for before it is built, and into which ``finish`` and downloads
            put theirs. None is the user's store, see ``psc.artifacts.store.default_store``. False is none: downloads are kept in a
            temporary folder as long as this compiler lives, and ``finish`` has nowhere to write to.
        registry: the URL of a registry, or several, asked in turn when the store has nothing; see docs/registry-protocol.md. None
            is what the environment variable ``PSC_REGISTRY`` says; False is none at all.
        registry_patience_s: how long a compilation waits for them. What arrives later is used from then on.
        masks_ahead: how many masks of a grammar that is built just in time a thread builds once it is compiled, before it is asked:
            the first one, and those a few bytes further on. 0 is no thread; 1 is good where a prefill comes before the first
            mask is needed. See docs/serving/artifacts.md.

    Raises:
        ValueError: the first argument is not a ``TokenizerInfo``, the limit is below -1, or the number of masks below 0.
        RegistryError: a URL is malformed.

    May be used from several threads. Each ``compile_`` method takes a ``Cancellation``, by which another thread calls it off: it
    then raises ``CompilationCancelledError``, mostly within 50 ms.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        store: Store | str | Path | Literal[False] | None = None,
        registry: str | Sequence[str] | Registries | Literal[False] | None = None,
        registry_patience_s: float = 2.0,
        masks_ahead: int = 0,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise TypeError(
                f"the vocabulary must be a TokenizerInfo, not {type(tokenizer_info).__name__}; see TokenizerInfo.from_huggingface"
            )
        if cache_limit_bytes < -1:
            raise ValueError(f"cache_limit_bytes={cache_limit_bytes}; it must be -1 (no limit) or a number of bytes")
        if masks_ahead < 0:
            raise ValueError(f"masks_ahead={masks_ahead}; it must be 0 (nothing is built ahead) or a number of masks")
        self._origins = {"store": store, "registry": registry, "registry_patience_s": registry_patience_s}
        self.tokenizer_info = tokenizer_info
        self.max_threads = max_threads
        self.cache_enabled = cache_enabled
        self.cache_limit_bytes = cache_limit_bytes
        self.masks_ahead = masks_ahead
        self._lookup = ArtifactLookup.of(store, registry, registry_patience_s)
        max_part_bytes = cache_limit_bytes // 2 if cache_limit_bytes >= 0 else _MAX_PART_BYTES
        self._shared = Shared(tokenizer_info, max_part_bytes if cache_enabled else 0)
        self._cache = GrammarCache(cache_limit_bytes, self._shared)
        self._token_names: TokenNames | None = None

    def __repr__(self) -> str:
        return f"GrammarCompiler({self.tokenizer_info!r})"

    def __reduce__(self) -> tuple[Callable[..., GrammarCompiler], tuple[object, ...]]:
        """A copy, or what is pickled, has the vocabulary and the options; its cache is empty."""
        options = {
            "max_threads": self.max_threads,
            "cache_enabled": self.cache_enabled,
            "cache_limit_bytes": self.cache_limit_bytes,
            "masks_ahead": self.masks_ahead,
            **self._origins,
        }
        return _made, (type(self), self.tokenizer_info, options)

    def __copy__(self) -> GrammarCompiler:
        made, arguments = self.__reduce__()
        return made(*arguments)

    def __deepcopy__(self, memo: object) -> GrammarCompiler:
        return self.__copy__()  # a vocabulary does not change

    def compile_grammar(
        self,
        grammar: str | Grammar | GrammarRequest,
        *,
        root_rule_name: str = "root",
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar.

        Args:
            grammar: EBNF text, see ``Grammar.from_ebnf``; a ``Grammar``; or a ``GrammarRequest`` in any language with a front end.
            root_rule_name: the rule of EBNF text that a whole text must match.
            cancellation: calls the compilation off from another thread.

        Raises:
            GrammarError: the text is malformed, or the grammar cannot be compiled.
            CompilationCancelledError: it was called off.
            TypeError: neither text nor a ``Grammar``.

        Cost: a dictionary lookup for a grammar that is kept; else see ``compile_just_in_time``.
        """
        if isinstance(grammar, Grammar):
            return self._compile(grammar.request, grammar, cancellation)
        if isinstance(grammar, GrammarRequest):
            return self._compile(grammar, cancellation=cancellation)
        if not isinstance(grammar, str):
            raise TypeError(f"the grammar must be EBNF text or a Grammar (or a GrammarRequest), not {type(grammar).__name__}")
        return self._compile(ebnf_request(grammar, root=root_rule_name), cancellation=cancellation)

    def compile_regex(self, regex: str, *, cancellation: Cancellation | None = None) -> CompiledGrammar:
        """Compiles a regular expression that the whole text must match. Raises GrammarError, CompilationCancelledError."""
        return self._compile(GrammarRequest.of("regex", regex), cancellation=cancellation)

    @takes_schema_options
    def compile_json_schema(
        self,
        schema: Schema,
        *,
        resolver: Resolver | None = None,
        source_name: str = UNNAMED,
        cancellation: Cancellation | None = None,
        **options: Unpack[SchemaOptions],
    ) -> CompiledGrammar:
        """Compiles a JSON schema. For the arguments, ``options`` and errors see ``Grammar.from_json_schema``.

        By default objects are closed (``strict_mode``), as XGrammar's are: a schema that names members allows no others.

        ``cancellation`` calls the compilation off from another thread; it then raises CompilationCancelledError.
        """
        with obeying(cancellation):
            request = schema_request(schema, resolver=resolver, origin=source_name, **options)
        return self._compile(request, cancellation=cancellation)

    def compile_structural_tag(
        self,
        structural_tag: object,
        triggers: Sequence[str] | None = None,
        *,
        source_name: str = UNNAMED,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a structural tag. For the arguments and errors see ``Grammar.from_structural_tag``; tokens are the vocabulary's.

        ``cancellation`` calls the compilation off from another thread; it then raises CompilationCancelledError.
        """
        with obeying(cancellation):
            request = structural_tag_request(structural_tag, triggers, origin=source_name)
        return self._compile(request, cancellation=cancellation)

    def compile_builtin_json_grammar(self, *, cancellation: Cancellation | None = None) -> CompiledGrammar:
        """Compiles the bundled grammar ``json``, see ``Grammar.builtin_json_grammar``; the same as ``compile_file("json")``."""
        return self.compile_file("json", cancellation=cancellation)

    def compile_lark(
        self,
        lark_string: str,
        *,
        named_grammars: Mapping[str, Grammar | str] | None = None,
        dialect: LarkDialect | None = None,
        start: str = "start",
        lexer: LarkLexer | None = None,
        keep_all_actions: bool = False,
        indenter: object = None,
        refuse_conflicts: bool = False,
        source_name: str = UNNAMED,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles grammar text in Lark's language, or in llguidance's dialect of it.

        Args:
            lark_string: the grammar.
            named_grammars: what the dialect refers to, see ``Grammar.from_lark``.
            dialect: what the text is in, where that is not to be seen from the text, see ``Grammar.from_lark``.
            start: the rule that a whole text must match.
            lexer: "contextual", "basic", "modal", or one of these with "flush", see ``Grammar.from_lark``.
            keep_all_actions: take any context-free grammar, where Lark would refuse it or resolve a conflict.
            indenter: what Lark's ``postlex=`` has, where that is an ``Indenter``, see ``Grammar.from_lark``.
            refuse_conflicts: raise where Lark lets a shift win over a reduction, see ``Grammar.from_lark``.
            source_name: the file it came from, for relative imports and messages.
            cancellation: calls the compilation off from another thread.

        Raises:
            CompilationCancelledError: it was called off.
            GrammarError: the grammar does not load, has conflicts that Lark refuses, or a terminal that is not regular.
        """
        lark_string = check_text(lark_string, "lark_string")
        request = lark_request(
            lark_string,
            named_requests(named_grammars),
            dialect=dialect,
            start=start,
            lexer=lexer,
            keep_all_actions=keep_all_actions,
            indenter=indenter,
            origin=source_name,
        )
        try:
            if refuse_conflicts and request.language == "lark":
                with obeying(cancellation):
                    Grammar.parse(request).require_no_conflicts()
            return self._compile(request, cancellation=cancellation)
        except RefusedTextError as e:
            if dialect is not None:
                raise
            with obeying(cancellation):
                read = read_instead(request, e, self._names)
        return self.compile_grammar(read, cancellation=cancellation)

    def compile_file(
        self,
        grammar: str | Path,
        *,
        start: str | None = None,
        lexer: LarkLexer | None = None,
        keep_all_actions: bool = False,
        indenter: object = None,
        drop_actions: bool = False,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar by its name or its file, as ``psc compile`` takes it.

        Args:
            grammar: a bundled name (``java``), or the path of a ``.lark``, ``.ebnf``, ``.gbnf`` or ``.g4`` file.
            start: the rule that a whole text must match; by default ``start`` in Lark's language, ``root`` in EBNF, and the first
                one in ANTLR's.
            lexer: of a Lark grammar; by default "contextual"; a bundled grammar has its own.
            keep_all_actions: of a Lark grammar, see ``compile_lark``.
            indenter: of a Lark grammar, see ``Grammar.from_lark``.
            drop_actions: of an ANTLR grammar: read over actions and predicates, as if each predicate were true.
            cancellation: calls the compilation off from another thread.

        Raises:
            CompilationCancelledError: it was called off.
            GrammarError: the grammar is not found or cannot be compiled.
        """
        settings = NO_SETTINGS if indenter is None else indenter_settings(indenter)
        found = find_grammar(grammar)
        if drop_actions:
            if found.language != "antlr":
                is_one = front_end(found.language).a_grammar
                raise GrammarError(f"{found.name}: drop_actions is of ANTLR grammars, and this is {is_one}")
            settings = antlr_settings(drop_actions=True)
        request = found.request(start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings)
        return self._compile(request, cancellation=cancellation)

    def clear_cache(self) -> None:
        """Drops every cached grammar, and what is known of the vocabulary; grammars in use stay usable."""
        self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        """An estimate of what the kept grammars, and what they share, take."""
        return self._cache.size_bytes

    @property
    def near_misses(self) -> int:
        """How many grammars were compiled though an artifact of the same name was there, which is of another grammar, vocabulary or
        compiler; the logger ``psc.artifacts`` says how it differs."""
        return self._lookup.n_near_misses

    def trim(self, limit_bytes: int) -> None:
        """Evicts the least recently used grammars until what is kept takes no more; grammars in use stay usable.

        For callers that let grammars grow as they need (``cache_limit_bytes=-1``) and check the sum from time to time.

        Args:
            limit_bytes: what may be kept.

        Cost: 0.1 us for each grammar that is kept.
        """
        self._cache.trim(limit_bytes)

    def finish(self, compiled: CompiledGrammar, *, cancellation: Cancellation | None = None) -> Future[Path]:
        """Builds the rest of a grammar in the background and writes it as an artifact into the store.

        What is compiled after that is loaded from it. ``compiled`` itself stays as it is; its masks are the same.

        Args:
            compiled: the grammar.
            cancellation: calls the building off from another thread; nothing is written then.

        Returns:
            A future of the artifact's path; it raises GrammarError, ArtifactError or RegistryError when that fails, and
            CompilationCancelledError when it was called off.

        Raises:
            ValueError: the compiler has no store.
        """
        store = self._lookup.store
        if store is None:
            raise ValueError("there is nowhere to write to: this GrammarCompiler was made with store=False")
        done: Future[Path] = Future()
        _finishing.add(done)

        def work() -> None:
            began = time.perf_counter()
            try:
                with obeying(cancellation):
                    reference = store.add(artifact_bytes(compiled.grammar, self.tokenizer_info))
                self._cache.drop(compiled)
            except BaseException as e:
                done.set_exception(e)
                return
            _log.info("%s: finished and written into the store in %.2f s", compiled.grammar_name, time.perf_counter() - began)
            done.set_result(store.root / reference.blob_path)

        try:
            threads.start(threading.Thread(target=work, name=f"psc finish {compiled.grammar_name}", daemon=True))
        except RuntimeError as e:  # too many threads, or the program ends
            done.set_exception(CompilationCancelledError(f"{compiled.grammar_name}: nothing is finished in the background: {e}"))
        return done

    def _compile(
        self, request: GrammarRequest, parsed: Grammar | None = None, cancellation: Cancellation | None = None
    ) -> CompiledGrammar:
        """The compiled grammar of a request, made now or cached; ``parsed`` where the caller has it parsed already."""
        check_cancellation(cancellation)
        if not self.cache_enabled:
            return self._build(_Job(request, parsed, cancellation))
        key = request, (parsed.imports if parsed is not None else ()) or None
        job = _Job(request, parsed, cancellation, on_arrival=lambda: self._cache.drop_key(key))
        return self._cache.get_or_build(key, lambda: self._build(job), cancellation)

    def _build(self, job: _Job) -> CompiledGrammar:
        """A grammar from the first source that has it: a twin, the store and the registries, or just in time, which has all."""
        with obeying(job.cancellation):
            if self.cache_enabled and job.parsed is None:
                order_free = job.request.front_end.order_free(job.request.text)
                settings = job.request.options.settings.text
                job.order_free = order_free if order_free is None or not settings else f"{settings}\n{order_free}"
            return self._of_twin(job) or self._of_artifact(job) or self._just_in_time(job)

    def _of_twin(self, job: _Job) -> CompiledGrammar | None:
        """Over the machine of a grammar whose text means the same."""
        twin = self._cache.twin(job.order_free) if job.order_free is not None else None
        if job.order_free is None or twin is None:
            return None
        compiled = compiled_like(twin, Grammar.unread(job.request, self._names), self._shared.parts)
        self._cache.add_twin(job.order_free, compiled)
        return compiled

    def _of_artifact(self, job: _Job) -> CompiledGrammar | None:
        """From the store, or from a registry that answers in time."""
        if self._lookup.finds_nothing:
            return None
        key = job.parsed.key if job.parsed is not None else job.request.key()
        if key is None:  # only parsing can tell what it imports
            job.parsed = Grammar.parse(job.request, names=self._names)
            key = job.parsed.key
        wanted = Wanted.of(job.request.origin, key, self.tokenizer_info)
        found = self._lookup.find(wanted, on_arrival=job.on_arrival, cancellation=job.cancellation)
        if found is None:
            return None
        artifact, store, reference = found
        compiled = compiled_from_artifact(
            artifact,
            lambda: store.read(reference),
            tokenizer_info=self.tokenizer_info,
            place=str(store.root / reference.blob_path),
            cache_limit_bytes=self.cache_limit_bytes,
            request=job.request,
        )
        compiled.build_ahead(self.masks_ahead)
        return compiled

    def _just_in_time(self, job: _Job) -> CompiledGrammar:
        began = time.perf_counter()
        store = self._lookup.store
        grammar = job.parsed if job.parsed is not None else Grammar.parse(job.request, store=store, names=self._names)
        compiled = compile_just_in_time(
            grammar,
            self.tokenizer_info,
            cache_limit_bytes=self.cache_limit_bytes,
            store=store,
            parts=self._shared.parts,
            index=self._shared.index(),
        )
        _log.info("%s: ready to be built just in time after %.3f s", grammar.origin, time.perf_counter() - began)
        compiled.build_ahead(self.masks_ahead)
        if job.order_free is not None and compiled.is_linked:
            self._cache.add_twin(job.order_free, compiled)
        return compiled

    @property
    def _names(self) -> TokenNames:
        """Of the vocabulary's tokens, for grammars that name some."""
        if self._token_names is None:
            from psc.compiler.expressions.tokens import TokenNames

            self._token_names = TokenNames(self.tokenizer_info)
        return self._token_names


def _made(cls: type[GrammarCompiler], tokenizer_info: TokenizerInfo, options: dict[str, Any]) -> GrammarCompiler:
    return cls(tokenizer_info, **options)


@dataclass
class _Job:
    """A grammar that is being built."""

    request: GrammarRequest
    parsed: Grammar | None
    """The grammar, where it is parsed already."""
    cancellation: Cancellation | None
    on_arrival: Callable[[], None] | None = None
    """Called when its artifact arrives from a registry that did not answer in time."""
    order_free: str | None = None
    """What its settings and its text have in common with those of its twins, see `FrontEnd.order_free`."""


_finishing: WeakSet[Future[Path]] = WeakSet()
"""The futures of ``finish``."""


def _end_in_child() -> None:
    """In the child of a fork the threads of ``finish`` are not there."""
    for future in list(_finishing):
        if not future.done():
            future._condition = threading.Condition()  # a thread may have held it
            future.set_exception(CompilationCancelledError("the process forked while this was built: the parent continues"))


in_child(_end_in_child)
