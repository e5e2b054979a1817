"""Grammars that are made of parts, as machines that are linked: a part's machine serves every grammar that has the part.

The rules of a structural tag are a frame around the schemas of tools (`joined_rules`). To be served just in time they need not be
one grammar: where a rule of the frame refers to a part, the frame calls the part's machine (native/linked/machine.hpp). So a
request with known tools costs its frame.

Cost: of a part that is known, a lookup; of a new one its front end; of the frame, as for any grammar. A part's tables and machine
are made when a text comes to it first. The first parts of a vocabulary cost an index of it each time that their texts end in other
ways, 5 ms for 128,000 tokens.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from psc._core import LinkedPart, Machine, PartVocabularies, VocabularyIndex, bytes_of_parts
from psc.compiler.cfg.lowering import DEFAULT_LIMITS
from psc.compiler.cfg.terminals import MAX_POSITIONS
from psc.compiler.expressions.expression import EMPTY, Chars, Choice, Expression, Reference, RuleSet, Sequence
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.expressions.joined_rules import LexedPart, Part, UnreadPart, joined, rule_set
from psc.compiler.expressions.token_budgets import CutRules, cut_at_budgets, needed
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS
from psc.compiler.expressions.words import native_rules
from psc.compiler.pipeline.just_in_time import NO_SYMBOLS, Words
from psc.compiler.pipeline.lexed_parts import with_end
from psc.compiler.pipeline.ready_grammar import ReadyGrammar, ReadyRules
from psc.compiler.terminals.python_pattern import python_pattern
from psc.errors import ResourceLimitError

END_OF_PART: Final = MAX_TOKENS - 1
SPENT_END: Final = MAX_TOKENS - 0x3000
FIRST_CALL: Final = MAX_TOKENS - 0x2000
MAX_PARTS: Final = 0x1000
"""Symbols, by number, as native/text/token_symbols.hpp has them."""

_END: Final = Chars(((FIRST_TOKEN + END_OF_PART, FIRST_TOKEN + END_OF_PART),))
_SPENT: Final = Chars(((FIRST_TOKEN + SPENT_END, FIRST_TOKEN + SPENT_END),))
_MOST_INDEXES: Final = 6
_LOOKS_AT: Final = 8
"""How many parts that are known a new one costs a look at."""
_NAME: Final = "text"


@dataclass(frozen=True)
class KnownPart:
    """A part that is known."""

    native: LinkedPart
    body: RuleSet | ReadyGrammar

    @cached_property
    def rules(self) -> ReadyRules | ReadyGrammar:
        """Its tables, for those who ask what its machine has; the machine of rules has made them for itself."""
        return ReadyRules(_with_end(self.body)) if isinstance(self.body, RuleSet) else self.body


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
        self._vocabularies = PartVocabularies(index)
        self._lock = threading.Lock()
        self._n_new = 0  # parts since all were looked at
        self._known: OrderedDict[object, KnownPart] = OrderedDict()
        self._frames: OrderedDict[object, VocabularyIndex] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        """What the parts, and what they have built, take; an estimate."""
        with self._lock:
            return sum(bytes_of_parts([part.native for part in self._known.values()]))

    def find(self, parts: Iterable[Part]) -> list[KnownPart]:
        """Parts, read where they are not known. A machine is made when a text comes to it, if nothing can be wrong with the part.

        Raises:
            GrammarError: a part is malformed, matches no text, or passes a limit.
        """
        found = []
        n_new = 0
        for part in parts:
            key = _key(part)
            with self._lock:
                known = self._known.get(key)
                if known is not None:
                    self._known.move_to_end(key)
            if known is None:
                n_new += 1
                made = self._lexed(part) if isinstance(part, LexedPart) else self._part_of(rule_set(part))
                with self._lock:
                    known = self._known.setdefault(key, made)
            found.append(known)
        with self._lock:
            self._n_new += n_new
            look = n_new and self._n_new * _LOOKS_AT >= len(self._known)
        if look:
            self.forget_unused()
        return found

    def _part_of(self, body: RuleSet) -> KnownPart:
        programs = native_rules(body.rules, body.root)
        waiting = LinkedPart.of_rules(programs, self._vocabularies, **vars(DEFAULT_LIMITS), max_positions=MAX_POSITIONS)
        if waiting is not None:
            return KnownPart(waiting, body)
        rules = ReadyRules(_with_end(body))
        last = rules.terminals.bytes_before(rules.lr, END_OF_PART, 1)
        machine = rules.machine(self._vocabularies.with_ends(last, self._symbols(rules)), 0)
        return KnownPart(LinkedPart.of_machine(machine), body)

    def _lexed(self, part: LexedPart) -> KnownPart:
        ready = with_end(part.cfg, _END)
        machine = ready.machine(self._vocabularies.with_ends(bytes(range(256)), NO_SYMBOLS), 0)  # Lark's have no tokens
        return KnownPart(LinkedPart.of_machine(machine), ready)

    def frame(self, rules: ReadyRules, n_calls: int) -> Machine:
        """The machine of a frame with so many calls."""
        return self._calling(rules, b"", n_calls)

    def part(self, rules: ReadyRules, n_calls: int) -> Machine:
        """The machine of a part, its end among the rules, which calls some of so many parts, or none."""
        last = rules.terminals.bytes_before(rules.lr, END_OF_PART, 1)
        if n_calls:
            return self._calling(rules, last, n_calls)
        return rules.machine(self._vocabularies.with_ends(last, self._symbols(rules)), 0)

    def _calling(self, rules: ReadyRules, before_end: bytes, n_calls: int) -> Machine:
        before = rules.terminals.bytes_before(rules.lr, FIRST_CALL, n_calls)
        symbols = self._symbols(rules)
        key = before_end, before, symbols.tobytes()
        with self._lock:
            known = self._frames.get(key)
            if known is None:
                known = self._frames[key] = self.index.with_boundaries(before_end, before, symbols)
                if len(self._frames) > _MOST_INDEXES:
                    self._frames.popitem(last=False)
            self._frames.move_to_end(key)
        return rules.machine(known, 0)

    def _symbols(self, rules: ReadyRules) -> Words:
        """Per token the number of its symbol in rules that may have boundaries; empty where they speak of no token."""
        return rules.symbols(self.n_tokens) if rules.terminals.has_symbols(self.n_tokens) else NO_SYMBOLS

    def forget_unused(self) -> None:
        """Forgets the parts not used for longest, where all take more than they may. Costs a look at each."""
        with self._lock:
            self._n_new = 0
            keys = list(self._known)
            sizes = bytes_of_parts([self._known[key].native for key in keys])
            total = sum(sizes)
            for key, size in zip(keys[:-1], sizes, strict=False):
                if total <= self._most_bytes:
                    break
                del self._known[key]
                total -= size


@dataclass(frozen=True)
class CountedPart:
    """A rule with a budget, which is a part of one grammar alone."""

    native: LinkedPart
    rules: ReadyRules


@dataclass(frozen=True)
class Linked:
    """A machine of several, and what they are of."""

    machine: Machine
    frame: ReadyRules
    parts: tuple[KnownPart | CountedPart, ...]

    def terminal_names(self) -> tuple[str, ...]:
        """The names of all terminals as the machine numbers them; a boundary has none, but the end of the frame."""
        return _names_of_terminals((self.frame, *(part.rules for part in self.parts)))


def linked_machine(
    rules: RuleSet,
    parts: Parts,
    cache_limit: int,
    *,
    worth: Callable[[Part], bool] | None = None,
) -> Linked | None:
    """The machine of rules with parts or budgets; None where they are better one grammar.

    Args:
        rules: of the frame, with its parts.
        parts: those that are known.
        cache_limit: in bytes, 0 for none.
        worth: tells whether a part gets a machine of its own; by default one that was not read does.

    Raises:
        GrammarError: a rule is malformed, matches no text, or passes a limit; or a rule with a budget may begin with itself.
    """
    cut = cut_at_budgets(rules)
    reached = _reached(cut) if cut.calls else set()
    wanted = [name for name, part in cut.parts.items() if (worth or _is_worth_linking)(part)]
    counted = {name: rule for name, rule in cut.calls.items() if name in reached}
    n_calls = len(wanted) + len(counted)
    if not n_calls or (n_calls > MAX_PARTS and not counted):
        return None
    if n_calls > MAX_PARTS:
        raise ResourceLimitError(f"{rules.source_name}: {n_calls:,} rules with max_tokens and schemas; the limit is {MAX_PARTS:,}")
    found = parts.find([cut.parts[name] for name in wanted])
    most_tokens = [_most_tokens(cut.parts[name]) for name in wanted]
    calls: dict[str, Expression] = {}
    for i, name in enumerate((*wanted, *counted)):
        call = Chars(((FIRST_TOKEN + FIRST_CALL + i,) * 2,))
        # A part whose tokens are counted is free text, which may be empty.
        calls[name] = call if i >= len(wanted) or most_tokens[i] == -1 else Choice((call, EMPTY))
    small = {name: rule_set(part) for name, part in cut.parts.items() if name not in calls}

    def ready(start: str, spent: str | None = None) -> tuple[ReadyRules, bool]:
        whole: Expression = Sequence((Reference(start), _END))
        if spent is not None:
            whole = Choice((whole, Sequence((Reference(spent), _SPENT))))
        own = {**(needed(whole, cut.outer) if counted else cut.outer), **calls, "linked root": whole}
        used = set().union(*[referred_to(e) for e in own.values()]) if counted else set(small)
        inner = {name: part for name, part in small.items() if name in used}
        has_calls = not used.isdisjoint(calls)
        return ReadyRules(joined(own, inner, "linked root", source="", source_name=rules.source_name)), has_calls

    frame, _ = ready(cut.root)
    frame_machine = parts.frame(frame, n_calls)
    made: list[KnownPart | CountedPart] = [*found]
    for rule in counted.values():
        part, has_calls = ready(rule.body, rule.spent)
        made.append(CountedPart(LinkedPart.of_machine(parts.part(part, n_calls if has_calls else 0)), part))
        most_tokens.append(rule.most_tokens)
    spent_ends = [False] * len(wanted) + [rule.spent is not None for rule in counted.values()]
    machine = Machine.linked(frame_machine, [part.native for part in made], most_tokens, parts.index, cache_limit, spent_ends)
    return Linked(machine, frame, tuple(made))


def _reached(cut: CutRules) -> set[str]:
    """The names that the root needs."""
    found: set[str] = set()
    todo = [cut.root]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        rule = cut.calls.get(name)
        if rule is not None:
            todo += [rule.body] if rule.spent is None else [rule.body, rule.spent]
        elif name in cut.outer:
            todo += referred_to(cut.outer[name])
    return found


def _names_of_terminals(rules: Iterable[ReadyRules | ReadyGrammar]) -> tuple[str, ...]:
    names: list[str] = []
    for number, ready in enumerate(rules):
        for terminal in ready.cfg.terminals:
            if terminal.expression is None:
                names.append(terminal.name)
                continue
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
            return EMPTY if expression.ranges and expression.ranges[0][0] >= FIRST_TOKEN + SPENT_END else expression
        case Sequence():
            kept = tuple([part for part in parts if part != EMPTY])
            return Sequence(kept) if len(kept) > 1 else kept[0] if kept else EMPTY
    return rebuilt(expression, parts)


def _is_worth_linking(part: Part) -> bool:
    return not isinstance(part, RuleSet)


def _most_tokens(part: Part) -> int:
    return part.most_tokens or -1 if isinstance(part, UnreadPart) else -1


def _key(part: Part) -> object:
    if isinstance(part, UnreadPart):
        return part.key
    if isinstance(part, LexedPart):
        cfg = part.cfg
        return cfg.language, cfg.source, cfg.settings, cfg.imports, cfg.asked_for or cfg.start, cfg.lexer, cfg.keep_all_actions
    return part.language, part.source, part.settings, part.root


def _with_end(body: RuleSet) -> RuleSet:
    """A text of a part, and its end."""
    root = Sequence((Reference(_NAME), _END))
    return joined({"root": root}, {_NAME: body}, "root", source="", source_name=body.source_name)
