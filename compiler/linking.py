"""Grammars that are made of parts, as machines that are linked: a part's machine serves every grammar that has the part.

The rules of a structural tag are a frame around the schemas of tools (`joined_rules`). To be served just in time they need not be
one grammar: where a rule of the frame refers to a part, the frame calls the part's machine (native/linked_machine.hpp). So a
request with known tools costs its frame.

Cost: of a part that is known, a lookup; of a new one its front end, tables and machine; of the frame, as for any grammar. The first
parts of a vocabulary cost an index of it each time that their texts end in other ways, 60 ms for 128,000 tokens.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from psc._core import Machine, VocabularyIndex
from psc.compiler.expression_fold import fold, rebuilt
from psc.compiler.expressions import EMPTY, Chars, Expression, Reference, Sequence
from psc.compiler.joined_rules import JoinedRules, Part, UnreadPart, joined, rule_set
from psc.compiler.just_in_time import NO_SYMBOLS, Words
from psc.compiler.python_pattern import python_pattern
from psc.compiler.ready_grammar import ReadyRules
from psc.compiler.tokens import FIRST_TOKEN, MAX_TOKENS

END_OF_PART: Final = MAX_TOKENS - 1
FIRST_CALL: Final = MAX_TOKENS - 0x2000
MAX_PARTS: Final = 0x1000
"""Symbols, by number, as native/token_symbols.hpp has them."""

_END: Final = Chars(((FIRST_TOKEN + END_OF_PART, FIRST_TOKEN + END_OF_PART),))
_ENDS_OF_JSON: Final = frozenset(b'}]"0123456789el')
_MOST_INDEXES: Final = 6
_NAME: Final = "text"


@dataclass(frozen=True)
class LinkedPart:
    """A part that is known."""

    machine: Machine
    rules: ReadyRules


class Parts:
    """The parts that are known, for one vocabulary. Used by several threads.

    Args:
        index: the vocabulary.
        n_tokens: of it.
        most_bytes: see ``forget_unused``.
    """

    def __init__(self, index: VocabularyIndex, n_tokens: int, most_bytes: int) -> None:
        self.index = index
        self.n_tokens = n_tokens
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[object, LinkedPart] = OrderedDict()
        self._indexes: OrderedDict[object, VocabularyIndex] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        """What the parts, and what they have built, take; an estimate."""
        with self._lock:
            return sum(_bytes(part) for part in self._known.values())

    def find(self, part: Part) -> LinkedPart:
        """A part's machine, made where it is not known.

        Raises:
            GrammarError: the part is malformed, matches no text, or passes a limit.
        """
        key = _key(part)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        body = rule_set(part)
        whole = joined({"root": Sequence((Reference(_NAME), _END))}, {_NAME: body}, "root", source="", source_name=body.source_name)
        rules = ReadyRules(whole)
        ends = _rounded(rules.terminals.bytes_before(rules.lr, END_OF_PART, 1))
        machine = rules.machine(self.boundaries(ends, None, self.symbols(rules)), 0)
        made = LinkedPart(machine, rules)
        with self._lock:
            return self._known.setdefault(key, made)

    def forget_unused(self) -> None:
        """Forgets the parts not used for longest, where all take more than they may. Costs a look at each."""
        with self._lock:
            total = sum(_bytes(part) for part in self._known.values())
            while total > self._most_bytes and len(self._known) > 1:
                total -= _bytes(self._known.popitem(last=False)[1])

    def symbols(self, rules: ReadyRules) -> Words:
        """Per token the number of its symbol in rules that may have boundaries; empty where they speak of no token."""
        symbols = rules.symbols(self.n_tokens)
        return symbols if (symbols >= 0).any() else NO_SYMBOLS

    def boundaries(self, ends: bytes | None, calls: bytes | None, symbols: Words) -> VocabularyIndex:
        """The vocabulary with the boundaries of parts, see ``VocabularyIndex.with_boundaries``."""
        key = ends, calls, symbols.tobytes()
        with self._lock:
            known = self._indexes.get(key)
            if known is None:
                known = self._indexes[key] = self.index.with_boundaries(ends, calls, symbols)
                if len(self._indexes) > _MOST_INDEXES:
                    self._indexes.popitem(last=False)
            self._indexes.move_to_end(key)
            return known


def linked_machine(
    rules: JoinedRules,
    source_name: str,
    parts: Parts,
    cache_limit: int,
    *,
    worth: Callable[[Part], bool] | None = None,
) -> tuple[Machine, tuple[ReadyRules, ...]] | None:
    """The machine of rules with parts; None where they are better one grammar.

    Args:
        rules: of the frame, with its parts.
        source_name: for messages.
        parts: those that are known.
        cache_limit: in bytes, 0 for none.
        worth: tells whether a part gets a machine of its own; by default one that was not read does.

    Returns:
        The machine, and the rules of the frame and of each part, in the order of the machine's.

    Raises:
        GrammarError: a rule is malformed, matches no text, or passes a limit.
    """
    wanted = [name for name, part in rules.parts.items() if (worth or _is_worth_linking)(part)]
    if not wanted or len(wanted) > MAX_PARTS:
        return None
    found = [parts.find(rules.parts[name]) for name in wanted]
    parts.forget_unused()
    calls = {name: Chars(((FIRST_TOKEN + FIRST_CALL + i,) * 2,)) for i, name in enumerate(wanted)}
    frame = {name: _with_calls(expression, calls) for name, expression in rules.outer.items()}
    small = {name: rule_set(part) for name, part in rules.parts.items() if name not in calls}
    frame["linked root"] = Sequence((_with_calls(Reference(rules.root), calls), _END))
    ready = ReadyRules(joined(frame, small, "linked root", source="", source_name=source_name))
    before = ready.terminals.bytes_before(ready.lr, FIRST_CALL, len(wanted))
    frame_machine = ready.machine(parts.boundaries(b"", before, parts.symbols(ready)), 0)
    machine = Machine.linked(frame_machine, [part.machine for part in found], parts.index, cache_limit)
    return machine, (ready, *(part.rules for part in found))


def terminal_names(rules: Iterable[ReadyRules]) -> tuple[str, ...]:
    """The names of all terminals as the machine numbers them; a boundary has none, but the end of the frame."""
    names: list[str] = []
    for number, ready in enumerate(rules):
        for terminal in ready.cfg.terminals:
            assert terminal.expression is not None
            shown = fold(terminal.expression, _without_boundaries)
            if terminal.expression == _END:
                names.append("" if number else "$END")
            elif shown == EMPTY:
                names.append("")
            else:
                names.append(terminal.name if shown == terminal.expression else f"/{python_pattern(shown)}/")
        names.append("$END")
    return tuple(names)


def _without_boundaries(expression: Expression, parts: list[Expression]) -> Expression:
    match expression:
        case Chars():
            return EMPTY if expression.ranges and expression.ranges[0][0] >= FIRST_TOKEN + FIRST_CALL else expression
        case Sequence():
            kept = tuple([part for part in parts if part != EMPTY])
            return Sequence(kept) if len(kept) > 1 else kept[0] if kept else EMPTY
    return rebuilt(expression, parts)


def _is_worth_linking(part: Part) -> bool:
    return isinstance(part, UnreadPart)


def _key(part: Part) -> object:
    if isinstance(part, UnreadPart):
        return part.key
    return part.language, part.source, part.settings, part.root


def _rounded(ends: bytes) -> bytes:
    """A set of bytes that many parts have in common, and that has these."""
    for common in (b"}", bytes(sorted(_ENDS_OF_JSON))):
        if set(ends) <= set(common):
            return common
    return bytes(range(256))


def _bytes(part: LinkedPart) -> int:
    return part.machine.cache_bytes + part.machine.table_bytes


def _with_calls(expression: Expression, calls: Mapping[str, Expression]) -> Expression:
    """The expression with calls in the place of references to parts."""

    def combine(part: Expression, within: list[Expression]) -> Expression:
        return calls.get(part.name, part) if isinstance(part, Reference) else rebuilt(part, within)

    return fold(expression, combine)
