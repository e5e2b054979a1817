"""The compiled grammars of one compiler: each is built once, for all threads that want it, and evicted by bytes.

The idea: a pending entry is registered for a request before its grammar is built. Threads that want the same one meanwhile wait for
it, and build the grammar themselves where the thread that registered it gave up or is gone (`psc.support.pending`).
The grammar takes its place, until it is evicted, dropped because an artifact of it has arrived, or cleared.

Example: threads A and B want the schema S. A registers an entry and builds; B waits for it. A's client goes away, so A is called
off: the entry is set to None, and B registers one of its own and builds. An artifact of S arrives meanwhile: B's entry
leaves the cache, B returns what it has built, and the next thread that wants S loads the artifact.

Twins are grammars whose texts differ in the order of some things only (`FrontEnd.order_free`). They share one machine, and are
found by the text that they have in common, as long as one of them is alive.

Cost: two dictionary lookups where a grammar is cached; eviction looks at each cached grammar once (0.1 us).
Threads: any. The lock is held for lookups and eviction, never while a grammar is built. `Shared` is locked inside of it.
Tried and dropped: a set of requests whose artifact arrived during the build, read when the build was done: a failed or cleared
build left its entry to the next one. Handing KeyboardInterrupt on to the threads that wait: it is for one thread alone.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from psc.grammars.build_grammar import shared_vocabulary
from psc.support.cancellation import Cancellation, result_unless_cancelled
from psc.support.forks import new_lock
from psc.support.pending import Pending
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc._core import Machine, VocabularyIndex
    from psc.compiler.frontends.front_end import Imports
    from psc.compiler.frontends.request import GrammarRequest
    from psc.compiler.pipeline.part_cache import PartCache
    from psc.grammars.compiled_grammar import CompiledGrammar

    Key = tuple[GrammarRequest, Imports | None]
    """A request, and what it imported where it is parsed already: a file of the same name may have another text later."""

    _Pending = Pending[CompiledGrammar]
    """Of a grammar that a thread is building. None: that thread gave up, and one that waits builds the grammar."""

_log = logging.getLogger("psc.compiler")


class Shared:
    """What the grammars of one compiler share: the vocabulary's index, and the parts of linked grammars.

    Both grow as grammars are built, and outlive the grammars that they grew for. May be used from several threads.

    Args:
        tokenizer_info: the vocabulary.
        max_part_bytes: what the parts may take.
    """

    def __init__(self, tokenizer_info: TokenizerInfo, max_part_bytes: int) -> None:
        self._tokenizer_info = tokenizer_info
        self._max_part_bytes = max_part_bytes
        self._lock = new_lock()
        self._index: VocabularyIndex | None = None
        self._parts: PartCache | None = None

    def index(self) -> VocabularyIndex:
        """The vocabulary's index, made when it is first needed."""
        with self._lock:
            if self._index is None:
                self._index = shared_vocabulary(self._tokenizer_info)
            return self._index

    def parts(self) -> PartCache:
        """The parts of grammars, such as the schemas of tools."""
        from psc.compiler.pipeline.part_cache import PartCache

        with self._lock:
            if self._parts is None:
                index = shared_vocabulary(self._tokenizer_info)
                self._parts = PartCache(index, self._tokenizer_info.vocab_size, self._max_part_bytes)
            return self._parts

    @property
    def index_bytes(self) -> int:
        """What grammars have added to the index takes."""
        index = self._index
        return index.fragment_bytes if index is not None else 0

    @property
    def part_bytes(self) -> int:
        """What the parts take."""
        parts = self._parts
        return parts.size_bytes if parts is not None else 0

    def clear_parts(self) -> None:
        """Drops the parts; those in use stay usable."""
        with self._lock:
            self._parts = None

    def clear(self) -> None:
        """Drops all."""
        with self._lock:
            self._parts = self._index = None


class GrammarCache:
    """Compiled grammars by request, the least recently used first.

    Args:
        limit_bytes: what they, and what they have built, may take. The least recently used ones are evicted, and those that stay
            share the limit equally. -1 is no limit.
        shared: counts to the limit, and is cleared with the cache.
    """

    def __init__(self, limit_bytes: int, shared: Shared) -> None:
        self._limit_bytes = limit_bytes
        self._shared = shared
        self._lock = new_lock()
        self._entries: OrderedDict[Key, CompiledGrammar | _Pending] = OrderedDict()
        # Under the lock even to look one up, which removes dead ones: it may be iterated over meanwhile.
        self._twins: WeakValueDictionary[str, CompiledGrammar] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._entries)

    def get_or_build(
        self, key: Key, build: Callable[[], CompiledGrammar], cancellation: Cancellation | None = None
    ) -> CompiledGrammar:
        """The cached grammar, that of a thread which is building it, or a new one, which is then cached.

        Args:
            key: of the grammar. Where it is dropped during the build, the result is not cached.
            build: builds it. What it raises is raised here, and in the threads that wait for it, but for an end that is this
                thread's alone (CompilationCancelledError, KeyboardInterrupt, SystemExit): then one of these builds it.
            cancellation: calls the waiting off.

        Raises:
            CompilationCancelledError: it was called off.
        """
        while True:
            with self._lock:
                entry = self._sound(key)
            if entry is None:
                mine: _Pending = Pending()
                with mine.making:
                    entry = self._registered(key, mine)
                    if entry is mine:
                        return self._built(key, mine, build)
            compiled = result_unless_cancelled(entry, cancellation) if isinstance(entry, Pending) else entry
            if compiled is not None:
                return compiled
            self._drop_entry(key, entry)  # the thread that made it gave up, or is gone

    def _registered(self, key: Key, mine: _Pending) -> CompiledGrammar | _Pending:
        """The entry of a key: ``mine``, where it had none."""
        with self._lock:
            entry = self._sound(key)
            if entry is None:
                entry = self._entries[key] = mine
            return entry

    def _built(self, key: Key, mine: _Pending, build: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        with mine.ends(self._drop_entry, key):
            compiled = build()
            with self._lock:
                if self._entries.get(key) is mine:
                    self._entries[key] = compiled
                else:
                    self._forget_twins(compiled)
                mine.set(compiled)
                self._evict(key)
        return compiled

    def twin(self, order_free: str) -> CompiledGrammar | None:
        """A grammar whose text has this form, and differs in the order of some things only."""
        with self._lock:
            return self._twins.get(order_free)

    def add_twin(self, order_free: str, compiled: CompiledGrammar) -> None:
        """Makes a grammar one that `twin` returns, as long as it is alive and not dropped."""
        with self._lock:
            self._twins[order_free] = compiled

    def drop_key(self, key: Key) -> None:
        """Drops a grammar, or one that is being built, since there is something better: callers from now on build anew."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is not None and not isinstance(entry, Pending):
                self._forget_twins(entry)

    def drop(self, compiled: CompiledGrammar) -> None:
        """Drops a grammar in the same way."""
        with self._lock:
            for key, cached in self._compiled():
                if cached is compiled:
                    del self._entries[key]
                    self._forget_twins(compiled)

    def _drop_entry(self, key: Key, entry: CompiledGrammar | _Pending) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]

    def clear(self) -> None:
        """Drops every grammar, and what they share; grammars in use stay usable."""
        with self._lock:
            self._entries.clear()
            self._shared.clear()

    def trim(self, limit_bytes: int) -> None:
        """Evicts the least recently used grammars, all but one at most, until they take no more bytes."""
        with self._lock:
            self._evict_oldest(limit_bytes, None)

    @property
    def size_bytes(self) -> int:
        """An estimate of what the grammars, and what they share, take."""
        with self._lock:
            return self._size([compiled._machine for _, compiled in self._compiled()])

    # The rest is called under the lock.

    def _sound(self, key: Key) -> CompiledGrammar | _Pending | None:
        """The entry of a key. A grammar that has run out of memory is dropped, with the parts: those that it shares have, too."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not isinstance(entry, Pending) and entry._machine.is_broken:
            del self._entries[key]
            self._forget_twins(entry)
            self._shared.clear_parts()
            return None
        self._entries.move_to_end(key)
        return entry

    def _compiled(self) -> list[tuple[Key, CompiledGrammar]]:
        """Those that are built."""
        return [(key, entry) for key, entry in self._entries.items() if not isinstance(entry, Pending)]

    def _forget_twins(self, compiled: CompiledGrammar) -> None:
        """Makes no other grammar of this one's machine any more."""
        for text, twin in list(self._twins.items()):
            if twin._machine is compiled._machine:
                del self._twins[text]

    def _evict(self, newest: Key) -> None:
        """Evicts grammars until the cache fits, ``newest`` last, and shares the limit among the machines that stay."""
        if self._limit_bytes < 0:
            return
        self._evict_oldest(self._limit_bytes, newest)
        machines = {id(compiled._machine): compiled._machine for _, compiled in self._compiled()}.values()
        free = self._limit_bytes - self._shared.index_bytes - sum(machine.table_bytes for machine in machines)
        for machine in machines:
            machine.set_limit(max(1, free // len(machines)))
        if self._limit_bytes == 0:
            self._entries.pop(newest, None)

    def _evict_oldest(self, limit_bytes: int, newest: Key | None) -> None:
        """A machine that several grammars share is freed with the last of them."""
        cached = self._compiled()
        uses = Counter(id(compiled._machine) for _, compiled in cached)
        total = self._size([compiled._machine for _, compiled in cached])
        for key, compiled in cached:
            if total <= limit_bytes or len(self._entries) == 1:
                return
            if key == newest:
                continue
            del self._entries[key]
            _log.info("%s: evicted, to keep within %d bytes", compiled.place, limit_bytes)
            uses[id(compiled._machine)] -= 1
            if not uses[id(compiled._machine)]:
                total -= compiled._machine.bytes

    def _size(self, machines: list[Machine]) -> int:
        total = sum(machine.bytes for machine in {id(machine): machine for machine in machines}.values())
        return total + self._shared.part_bytes + (self._shared.index_bytes if self._entries else 0)
