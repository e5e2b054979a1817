"""The machines of parts, for one vocabulary: a part that several grammars have is made once.

The schema of a tool stands in the grammar of each request that brings the tool. Its rules are read, and its machine is made, for
the first of them.

Cost: a lookup for a cached part; for a new one its front end. The tables and the machine of a part are made when a text first
reaches it, unless something could be wrong with its rules. The first parts of a vocabulary cost an index of it each time that their
texts end in other ways, 5 ms for 128,000 tokens. Threads: any; the lock is held for lookups and eviction, not while a part is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from psc._core import LinkedPart, Machine, PartVocabularies, VocabularyIndex, bytes_of_parts
from psc.compiler.cfg.lowering import DEFAULT_LIMITS, LoweredRules
from psc.compiler.cfg.terminals import MAX_POSITIONS
from psc.compiler.cfg.token_symbols import NO_SYMBOLS, Words
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.joined_rules import LexedPart, Part, key_of, rule_set
from psc.compiler.expressions.words import native_rules
from psc.compiler.frontends.tables import CfgTables, GrammarTables, RulesTables
from psc.compiler.pipeline.part_ends import END_OF_PART, FIRST_CALL, cfg_with_end, rules_with_end
from psc.support.cached_property import cached_property
from psc.support.forks import new_lock

_MAX_INDEXES: Final = 6
_LOOKS: Final = 8
"""How many cached parts a new one costs a look at."""


@dataclass(frozen=True)
class PartMachine:
    """The machine of a part."""

    native: LinkedPart
    make_tables: Callable[[], GrammarTables]

    @cached_property
    def tables(self) -> GrammarTables:
        """Its tables, for callers that inspect its machine; a machine that waits for a text makes its own."""
        return self.make_tables()


class PartCache:
    """The parts of one vocabulary.

    Args:
        index: the vocabulary.
        n_tokens: of it.
        max_bytes: see ``evict``.
    """

    def __init__(self, index: VocabularyIndex, n_tokens: int, max_bytes: int) -> None:
        self.index = index
        self.n_tokens = n_tokens
        self._max_bytes = max_bytes
        self._vocabularies = PartVocabularies(index)
        self._lock = new_lock()
        self._n_new = 0  # parts since all were looked at
        self._parts: OrderedDict[object, PartMachine] = OrderedDict()
        self._frames: OrderedDict[object, VocabularyIndex] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        """What the parts, and what they have built, take; an estimate."""
        with self._lock:
            return sum(bytes_of_parts([part.native for part in self._parts.values()]))

    def find(self, parts: Iterable[Part]) -> list[PartMachine]:
        """The machines of parts, which are read where they are not cached.

        Raises:
            GrammarError: a part is malformed, matches no text, or exceeds a limit.
        """
        found = []
        n_new = 0
        for part in parts:
            key = key_of(part)
            with self._lock:
                cached = self._parts.get(key)
                if cached is not None:
                    self._parts.move_to_end(key)
            if cached is None:
                n_new += 1
                made = self._lexed(part) if isinstance(part, LexedPart) else self._of_rules(rule_set(part))
                with self._lock:
                    cached = self._parts.setdefault(key, made)
            found.append(cached)
        with self._lock:
            self._n_new += n_new
            look = n_new and self._n_new * _LOOKS >= len(self._parts)
        if look:
            self.evict()
        return found

    def _of_rules(self, body: RuleSet) -> PartMachine:
        programs = native_rules(body.rules, body.root)
        waiting = LinkedPart.of_rules(programs, self._vocabularies, **vars(DEFAULT_LIMITS), max_positions=MAX_POSITIONS)
        if waiting is not None:
            return PartMachine(waiting, lambda: RulesTables(LoweredRules(rules_with_end(body))))
        return self.part(RulesTables(LoweredRules(rules_with_end(body))), 0)

    def _lexed(self, part: LexedPart) -> PartMachine:
        tables = CfgTables(cfg_with_end(part.cfg))
        machine = tables.machine(self._vocabularies.with_ends(bytes(range(256)), NO_SYMBOLS))  # Lark's have no tokens
        return PartMachine(LinkedPart.of_machine(machine), lambda: tables)

    def frame(self, tables: RulesTables, n_calls: int) -> Machine:
        """The machine of a frame that calls parts with numbers below `n_calls`."""
        return self._calling(tables, b"", n_calls)

    def part(self, tables: RulesTables, n_calls: int) -> PartMachine:
        """A part with its end among the rules, which calls parts with numbers below `n_calls`. It is not cached."""
        last = tables.terminals.bytes_before(tables.lr, END_OF_PART, 1)
        if n_calls:
            machine = self._calling(tables, last, n_calls)
        else:
            machine = tables.machine(self._vocabularies.with_ends(last, self._symbols(tables)))
        return PartMachine(LinkedPart.of_machine(machine), lambda: tables)

    def _calling(self, tables: RulesTables, before_end: bytes, n_calls: int) -> Machine:
        before = tables.terminals.bytes_before(tables.lr, FIRST_CALL, n_calls)
        symbols = self._symbols(tables)
        key = before_end, before, symbols.tobytes()
        with self._lock:
            index = self._frames.get(key)
            if index is None:
                index = self._frames[key] = self.index.with_boundaries(before_end, before, symbols)
                if len(self._frames) > _MAX_INDEXES:
                    self._frames.popitem(last=False)
            self._frames.move_to_end(key)
        return tables.machine(index)

    def _symbols(self, tables: RulesTables) -> Words:
        """Per token the number of its symbol in rules that may have boundaries; empty where they speak of no token."""
        return tables.symbols(self.n_tokens) if tables.terminals.has_symbols(self.n_tokens) else NO_SYMBOLS

    def evict(self) -> None:
        """Drops the least recently used parts where all take more than they may. Costs a look at each."""
        with self._lock:
            self._n_new = 0
            keys = list(self._parts)
            sizes = bytes_of_parts([self._parts[key].native for key in keys])
            total = sum(sizes)
            for key, size in zip(keys[:-1], sizes, strict=False):
                if total <= self._max_bytes:
                    break
                del self._parts[key]
                total -= size
