"""Grammars to compiled grammars, in the process: from an artifact where there is one, else just in time; kept, within a limit.

A compiler belongs to one vocabulary. Whatever it is asked for becomes a ``GrammarRequest``: by that it keeps what is compiled, and
from that comes the key under which artifacts are found.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from psc._core import Machine, VocabularyIndex
from psc.artifacts.references import short_name
from psc.artifacts.store import Store, default_store
from psc.compiler.frontends.found import find_grammar
from psc.compiler.frontends.front_end import UNNAMED, Imports, check_text
from psc.compiler.frontends.request import GrammarKey, GrammarRequest
from psc.errors import CompilationCancelledError, GrammarError, ResourceLimitError
from psc.grammars.artifact_lookup import ArtifactLookup, Registries
from psc.grammars.build_grammar import artifact_bytes, shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time, compiled_from_artifact, compiled_like
from psc.grammars.grammar import Grammar, named_requests
from psc.grammars.near_artifacts import Wanted
from psc.requests.json_schemas import Resolver, Schema, schema_request
from psc.requests.lark_texts import LarkDialect, dialect_instead, lark_request
from psc.requests.structural_tag_request import structural_tag_request
from psc.support.cancellation import Cancellation, obeying, result_unless_cancelled
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.artifacts.format import Artifact
    from psc.artifacts.references import Reference
    from psc.compiler.cfg.grammar import LarkLexer
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.pipeline.linking import Parts

_log = logging.getLogger("psc.compiler")
_MOST_BYTES_OF_PARTS = 256 << 20
"""What the known parts of grammars may take, where nothing else is said."""
_Asked = tuple[GrammarRequest, Imports | None]


class GrammarCompiler:
    """Compiles grammars for one vocabulary.

    Args:
        tokenizer_info: the vocabulary.
        max_threads: accepted for compatibility: nothing that a compilation waits for would be faster with more.
        cache_enabled: keep compiled grammars, so that compiling the same again costs nothing.
        cache_limit_bytes: what the kept grammars, and what they have built, may take; the least recently used ones are evicted,
            those that stay share it equally, and one that exceeds its share begins anew. -1 is no limit.
        store: the folder of artifacts in which a grammar is looked for before it is built, and into which ``finish`` and downloads
            put theirs. None is the user's store, see ``psc.artifacts.store.default_store``; False is none at all.
        registry: the URL of a registry, or several, asked in turn when the store has nothing; see docs/registry-protocol.md. None
            is what the environment variable ``PSC_REGISTRY`` says; False is none at all.
        registry_patience_s: how long a compilation waits for them. What arrives later is used from then on.
        masks_ahead: how many masks of a grammar that is built just in time a thread builds once it is compiled, before it is asked:
            the first one, and those a few bytes further on. 0 is no thread; 1 is good where a prefill comes before the first
            mask is asked for. See docs/serving.md.

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
            raise ValueError(
                f"the vocabulary must be a TokenizerInfo, not {type(tokenizer_info).__name__}; see TokenizerInfo.from_huggingface"
            )
        if cache_limit_bytes < -1:
            raise ValueError(f"cache_limit_bytes={cache_limit_bytes}; it must be -1 (no limit) or a number of bytes")
        if masks_ahead < 0:
            raise ValueError(f"masks_ahead={masks_ahead}; it must be 0 (nothing is built ahead) or a number of masks")
        self.tokenizer_info = tokenizer_info
        self.max_threads = max_threads
        self.cache_enabled = cache_enabled
        self.cache_limit_bytes = cache_limit_bytes
        self.masks_ahead = masks_ahead
        self._lookup = ArtifactLookup(_store(store), _registries(registry), patience_s=registry_patience_s)
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Asked, Future[CompiledGrammar]] = OrderedDict()
        # Requests whose artifact arrived while they were still being built: the result is not cached.
        self._superseded: set[_Asked] = set()
        # Held here so that what is known of the vocabulary outlives the grammars that found it out.
        self._vocabulary: VocabularyIndex | None = None
        self._token_names: TokenNames | None = None
        self._parts: Parts | None = None
        # By what texts have in common that mean the same, see FrontEnd.order_free; those that are linked of parts.
        self._order_free: WeakValueDictionary[str, CompiledGrammar] = WeakValueDictionary()

    def compile_grammar(
        self,
        grammar: str | Grammar | GrammarRequest,
        *,
        root_rule_name: str = "root",
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar.

        Args:
            grammar: EBNF text, a ``Grammar``, or a ``GrammarRequest`` in any language that has a front end.
            root_rule_name: the rule of EBNF text that a whole text must match.
            cancellation: calls the compilation off from another thread.

        Raises:
            GrammarError: the text is malformed, or the grammar cannot be compiled.
            CompilationCancelledError: it was called off.
            ValueError: neither text nor a ``Grammar``.

        Cost: a dictionary lookup for a grammar that is kept; else see ``compile_just_in_time``.
        """
        if isinstance(grammar, Grammar):
            return self._compile(grammar.request, grammar, cancellation)
        if isinstance(grammar, GrammarRequest):
            return self._compile(grammar, cancellation=cancellation)
        if not isinstance(grammar, str):
            raise ValueError(f"the grammar must be EBNF text or a Grammar (or a GrammarRequest), not {type(grammar).__name__}")
        return self._compile(GrammarRequest.of("ebnf", grammar, start=root_rule_name), cancellation=cancellation)

    def compile_regex(self, regex: str, *, cancellation: Cancellation | None = None) -> CompiledGrammar:
        """Compiles a regular expression that the whole text must match. Raises GrammarError, CompilationCancelledError."""
        return self._compile(GrammarRequest.of("regex", regex), cancellation=cancellation)

    def compile_json_schema(
        self,
        schema: Schema,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool = False,
        lenient: bool = False,
        assert_format: bool = True,
        resolver: Resolver | None = None,
        source_name: str = UNNAMED,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a JSON schema. For the arguments and errors see ``Grammar.from_json_schema``.

        By default objects are closed (``strict_mode``), as XGrammar's are: a schema that names members allows no others.

        ``cancellation`` calls the compilation off from another thread; it then raises CompilationCancelledError.
        """
        with obeying(cancellation):
            request = schema_request(
                schema,
                any_whitespace=any_whitespace,
                indent=indent,
                separators=separators,
                strict_mode=strict_mode,
                max_whitespace_cnt=max_whitespace_cnt,
                any_order=any_order,
                lenient=lenient,
                assert_format=assert_format,
                resolver=resolver,
                origin=source_name,
            )
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
        lexer: LarkLexer = "contextual",
        keep_all_actions: bool = False,
        source_name: str = UNNAMED,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles grammar text in Lark's language, or in llguidance's dialect of it.

        Args:
            lark_string: the grammar.
            named_grammars: what the dialect refers to, see ``Grammar.from_lark``.
            dialect: what the text is in, where that is not to be seen from the text, see ``Grammar.from_lark``.
            start: the rule that a whole text must match.
            lexer: "contextual", as Lark's default is, "basic" or "modal", see ``Grammar.from_lark``.
            keep_all_actions: take any context-free grammar, where Lark would refuse it or resolve a conflict.
            source_name: the file it came from, for relative imports and messages.
            cancellation: calls the compilation off from another thread.

        Raises:
            CompilationCancelledError: it was called off.
            GrammarError: the grammar does not load, has conflicts that Lark refuses, or a terminal that is not regular.
        """
        check_text(lark_string, "lark_string")
        request = lark_request(
            lark_string,
            named_requests(named_grammars),
            dialect=dialect,
            start=start,
            lexer=lexer,
            keep_all_actions=keep_all_actions,
            origin=source_name,
        )
        try:
            return self._compile(request, cancellation=cancellation)
        except ResourceLimitError:
            raise
        except GrammarError:
            if dialect_instead(request, dialect) is None:
                raise
            read = Grammar.from_lark(lark_string, start=start, source_name=source_name)
            if read.language == "lark":  # Lark can read it, and it cannot be compiled
                raise
        return self.compile_grammar(read, cancellation=cancellation)

    def compile_file(
        self,
        grammar: str | Path,
        *,
        start: str | None = None,
        lexer: LarkLexer | None = None,
        keep_all_actions: bool = False,
        cancellation: Cancellation | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar by its name or its file, as ``psc compile`` takes it.

        Args:
            grammar: a bundled name (``java``), or the path of a ``.lark``, ``.ebnf`` or ``.gbnf`` file.
            start: the rule that a whole text must match; by default ``start`` in Lark's language and ``root`` in EBNF.
            lexer: of a Lark grammar; by default "contextual"; a bundled grammar has its own.
            keep_all_actions: of a Lark grammar, see ``compile_lark``.
            cancellation: calls the compilation off from another thread.

        Raises:
            CompilationCancelledError: it was called off.
            GrammarError: the grammar is not found or cannot be compiled.
        """
        request = find_grammar(grammar).request(start=start, lexer=lexer, keep_all_actions=keep_all_actions)
        return self._compile(request, cancellation=cancellation)

    def clear_cache(self) -> None:
        """Drops every cached grammar, and what is known of the vocabulary; grammars in use stay usable."""
        with self._lock:
            self._kept.clear()
            self._parts = None
            self._vocabulary = None

    def get_cache_size_bytes(self) -> int:
        """An estimate of what the kept grammars, and what they share, take."""
        with self._lock:
            return self._size()

    def trim(self, limit_bytes: int) -> None:
        """Evicts the least recently used grammars until what is kept takes no more; grammars in use stay usable.

        For who lets grammars grow as they need (``cache_limit_bytes=-1``) and looks at the sum now and then.

        Args:
            limit_bytes: what may be kept.

        Cost: 0.1 us for each grammar that is kept.
        """
        with self._lock:
            self._evict_oldest(limit_bytes, None)

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

        def work() -> None:
            began = time.perf_counter()
            try:
                with obeying(cancellation):
                    artifact = artifact_bytes(compiled.grammar, self.tokenizer_info)
                reference = store.add(artifact)
                self._drop(compiled)
            except BaseException as e:
                done.set_exception(e)
                return
            _log.info("%s: finished and written into the store in %.2f s", compiled.grammar_name, time.perf_counter() - began)
            done.set_result(store.root / reference.blob_path)

        threading.Thread(target=work, name=f"psc finish {compiled.grammar_name}", daemon=True).start()
        return done

    def _compile(
        self, request: GrammarRequest, parsed: Grammar | None = None, cancellation: Cancellation | None = None
    ) -> CompiledGrammar:
        """The compiled grammar of a request, made now or kept; ``parsed`` where the caller has it parsed already."""
        if not self.cache_enabled:
            return self._build(request, parsed, None, cancellation)
        # What was parsed is what it imported then; a file of the same name may have another text now.
        asked: _Asked = request, (parsed.imports if parsed is not None else ()) or None
        while True:
            with self._lock:
                kept = self._kept.get(asked)
                if kept is not None and kept.done() and kept.exception() is None and kept.result()._machine.is_broken:
                    # It has run out of memory, and so have the parts that it may share.
                    self._forget(kept.result())
                    self._parts = kept = None
                if kept is None:
                    mine = self._kept[asked] = Future()
                    break
                self._kept.move_to_end(asked)
            try:
                return result_unless_cancelled(kept, cancellation)
            except CompilationCancelledError:
                if cancellation is not None and cancellation.cancelled:
                    raise
                # The thread that was compiling it was called off, and this one was not.
        try:
            compiled = self._build(request, parsed, lambda: self._artifact_arrived(asked), cancellation)
        except BaseException as e:
            with self._lock:
                self._superseded.discard(asked)
                if self._kept.get(asked) is mine:
                    del self._kept[asked]
            mine.set_exception(e)
            raise
        mine.set_result(compiled)
        with self._lock:
            if asked in self._superseded:
                self._superseded.discard(asked)
                self._forget(compiled)
                self._kept.pop(asked, None)
            self._evict(asked)
        return compiled

    def _artifact_arrived(self, asked: _Asked) -> None:
        """Drops what was built while an artifact was on its way; where it is still being built, notes not to cache it."""
        with self._lock:
            kept = self._kept.get(asked)
            if kept is not None and kept.done():
                self._forget(kept.result())
                del self._kept[asked]
            elif kept is not None:
                self._superseded.add(asked)

    def _drop(self, compiled: CompiledGrammar) -> None:
        """Drops a grammar from the cache. Whoever asks for it next gets the artifact that is there now."""
        with self._lock:
            for key, kept in list(self._kept.items()):
                if kept.done() and kept.exception() is None and kept.result() is compiled:
                    self._forget(compiled)
                    del self._kept[key]

    def _forget(self, compiled: CompiledGrammar) -> None:
        """Makes no other grammar of this one's machine any more. Called under the lock."""
        for text, like in list(self._order_free.items()):
            if like._machine is compiled._machine:
                del self._order_free[text]

    def _build(
        self,
        request: GrammarRequest,
        parsed: Grammar | None,
        on_arrival: Callable[[], None] | None,
        cancellation: Cancellation | None,
    ) -> CompiledGrammar:
        with obeying(cancellation):
            order_free = request.front_end.order_free(request.text) if self.cache_enabled and parsed is None else None
        if order_free is not None:
            with self._lock:  # even a look removes what is dead, and `_forget` iterates
                like = self._order_free.get(order_free)
            if like is not None:
                compiled = self._like(like, request)
                self._add_order_free(order_free, compiled)
                return compiled
        if self._lookup.store is not None:
            key = parsed.key if parsed is not None else request.key()
            if key is None:
                with obeying(cancellation):
                    parsed = Grammar.parse(request, names=self._names)
                key = parsed.key
            wanted = self._wanted(request, key)
            found = self._lookup.find(wanted, on_arrival=on_arrival, cancellation=cancellation)
            if found is not None:
                return self._open(*found)
        began = time.perf_counter()
        with obeying(cancellation):
            grammar = parsed if parsed is not None else Grammar.parse(request, store=self._lookup.store, names=self._names)
            if self._vocabulary is None:
                self._vocabulary = shared_vocabulary(self.tokenizer_info)
            compiled = compile_just_in_time(
                grammar,
                self.tokenizer_info,
                cache_limit_bytes=self.cache_limit_bytes,
                store=self._lookup.store,
                parts=self._known_parts,
                index=self._vocabulary,
            )
        _log.info("%s: ready to be built just in time after %.3f s", grammar.origin, time.perf_counter() - began)
        compiled.build_ahead(self.masks_ahead)
        if order_free is not None and compiled.is_linked:
            self._add_order_free(order_free, compiled)
        return compiled

    def _add_order_free(self, order_free: str, compiled: CompiledGrammar) -> None:
        with self._lock:  # `_forget` iterates over them
            self._order_free[order_free] = compiled

    def _like(self, like: CompiledGrammar, request: GrammarRequest) -> CompiledGrammar:
        """The grammar of a text that means the same as another one's, over the same machine."""
        grammar = Grammar.unread(request, self._names)
        return compiled_like(like, grammar, self._known_parts)

    def _known_parts(self) -> Parts:
        """The parts of grammars, such as the schemas of tools."""
        from psc.compiler.pipeline.linking import Parts

        with self._lock:
            if self._parts is None:
                limit = self.cache_limit_bytes // 2 if self.cache_limit_bytes >= 0 else _MOST_BYTES_OF_PARTS
                n_tokens = self.tokenizer_info.vocab_size
                limit = limit if self.cache_enabled else 0
                self._parts = Parts(shared_vocabulary(self.tokenizer_info), n_tokens, limit)
            return self._parts

    @property
    def _names(self) -> TokenNames:
        """Of the vocabulary's tokens, for grammars that name some."""
        if self._token_names is None:
            from psc.compiler.expressions.tokens import TokenNames

            self._token_names = TokenNames(self.tokenizer_info)
        return self._token_names

    def _wanted(self, request: GrammarRequest, key: GrammarKey) -> Wanted:
        return Wanted(
            key=key.for_tokenizer(self.tokenizer_info),
            grammar=short_name(request.origin),
            tokenizer_name=short_name(self.tokenizer_info.name),
            tokenizer_info=self.tokenizer_info,
            fingerprint=key.fingerprint_of(self.tokenizer_info),
            key_as=lambda r: key.with_vocabulary(
                r.fingerprint, compiler_revision=r.compiler_revision, format_version=r.format_version
            ),
        )

    def _open(self, artifact: Artifact, store: Store, reference: Reference) -> CompiledGrammar:
        compiled = compiled_from_artifact(
            artifact,
            lambda: store.read(reference),
            tokenizer_info=self.tokenizer_info,
            place=str(store.root / reference.blob_path),
            cache_limit_bytes=self.cache_limit_bytes,
        )
        compiled.build_ahead(self.masks_ahead)
        return compiled

    def _evict(self, newest: _Asked) -> None:
        """Evicts the least recently used grammars until the cache fits, and shares the limit among those that stay.

        ``newest`` is evicted last. The grammars that stay get equal shares of the limit for what they build.
        """
        if self.cache_limit_bytes < 0:
            return
        self._evict_oldest(self.cache_limit_bytes, newest)
        shared = self._vocabulary.fragment_bytes if self._vocabulary is not None else 0
        machines = self._machines()
        tables = sum(machine.table_bytes for machine in machines)
        for machine in machines:
            machine.set_limit(max(1, (self.cache_limit_bytes - shared - tables) // len(machines)))
        if self.cache_limit_bytes == 0:
            self._kept.pop(newest, None)

    def _evict_oldest(self, limit_bytes: int, newest: _Asked | None) -> None:
        while len(self._kept) > 1 and self._size() > limit_bytes:
            oldest = next((k for k, f in self._kept.items() if f.done() and k != newest), None)
            if oldest is None:
                break
            name = self._kept.pop(oldest).result().place
            _log.info("%s: evicted, to keep within %d bytes", name, limit_bytes)

    def _machines(self) -> list[Machine]:
        """Those of the grammars that are kept; several may have one."""
        kept = [f.result()._machine for f in self._kept.values() if f.done() and f.exception() is None]
        return list({id(machine): machine for machine in kept}.values())

    def _size(self) -> int:
        total = sum(machine.bytes for machine in self._machines())
        total += self._parts.size_bytes if self._parts is not None else 0
        return total + (self._vocabulary.fragment_bytes if self._vocabulary is not None and self._kept else 0)


def _store(store: Store | str | Path | Literal[False] | None) -> Store | None:
    if store is False:
        return None
    if store is None:
        return default_store()
    return store if isinstance(store, Store) else Store(store)


def _registries(registry: str | Sequence[str] | Registries | Literal[False] | None) -> Registries | None:
    if registry is False or (registry is None and not os.environ.get("PSC_REGISTRY")):
        return None  # so that nobody pays for the client's imports who has no registry
    if registry is None or isinstance(registry, (str, Sequence)):
        from psc.artifacts.registry import registries

        if registry is None:
            named = registries.Registries.from_environment()
        else:
            named = registries.Registries([registry] if isinstance(registry, str) else registry)
        return named if named else None
    return registry
