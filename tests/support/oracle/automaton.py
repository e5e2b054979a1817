"""One terminal's regex as a deterministic automaton over bytes, lookaround and lazy quantifiers included.

The language meant: { w : re.fullmatch(p, w) }; with a lazy quantifier in p, { w : re.match(p, w) ends at len(w) }.

The idea. Python's parse of the regex becomes a graph in continuation style: each node says what must be read next and
leads to the node for all the rest of the pattern. A state is a Boolean formula that says what the *rest of the text*
must be like; its variables are "the rest of the text is read by node n", in one of three modes:

    FULL   some path from n reaches the end of the pattern exactly at the end of the text       (re.fullmatch)
    SOME   some path from n reaches the end of the pattern somewhere                            (a lookahead holds)
    BEST   the path that backtracking would take first reaches the pattern's end at the text's end   (re.match)

Reading a byte replaces each variable by what remains to be asked afterwards. A choice is a disjunction; in mode BEST it
is "the first alternative is best, or the first leads nowhere and the second is best". A lookahead is a conjunction. So
this is an alternating automaton made deterministic by keeping formulas canonical (formulas.py). What a lookbehind asks
about is already read, hence known: the automaton also carries, for each lookbehind, the set of its nodes that end here.

Sets of characters are asked of `re` itself. Refused: back references, atomic and possessive groups, lookaround inside a
lookbehind. Sources: Brzozowski, "Derivatives of Regular Expressions" (1964); Chandra, Kozen, Stockmeyer,
"Alternation" (1981).
"""

import functools
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .formulas import FALSE, TRUE, Formulas

_sre_parser: Any = importlib.import_module("re._parser")
_sre_compiler: Any = importlib.import_module("re._compiler")

FULL, SOME, BEST = "full", "some", "best"


class Unsupported(Exception):
    """The pattern uses something that the oracle refuses."""


@dataclass(eq=False)
class Node:
    """What must be read from here on; compared by identity."""


@dataclass(eq=False)
class End(Node):
    """The end of the pattern (or of the lookaround) has been reached."""


@dataclass(eq=False)
class Read(Node):
    """One byte of a character, and the node after it for each byte that may stand here."""

    after: dict[int, Node]


@dataclass(eq=False)
class Choice(Node):
    """Alternatives, the preferred one first."""

    alternatives: tuple[Node, ...]


@dataclass(eq=False)
class Loop(Node):
    """An unbounded repeat: once more the body (which leads back here), or on with the rest."""

    lazy: bool
    rest: Node
    body: Node = field(default_factory=Node)


@dataclass(eq=False)
class Ahead(Node):
    """A lookahead: `inside` must (or must not) match here, then the rest."""

    negated: bool
    inside: Node
    rest: Node


@dataclass(eq=False)
class Behind(Node):
    """A lookbehind, by its number in Pattern.behinds: a match of it must (or must not) end here, then the rest."""

    negated: bool
    number: int
    rest: Node


# ---------------------------------------------------------------------------------------------------------------------
# Characters to bytes


@functools.cache
def _every_character() -> str:
    return "".join(map(chr, range(0x110000)))


@functools.cache
def _code_points(op: str, argument: Any, flags: int) -> tuple[tuple[int, int], ...]:
    """The ranges of code points that a one-character pattern matches, by asking `re` about every one."""
    if op == "LITERAL" and not flags & re.IGNORECASE:
        return ((argument, argument),)
    one: Any = _sre_parser.SubPattern(_sre_parser.State())
    one.append((getattr(_sre_parser, op), list(argument) if isinstance(argument, tuple) else argument))
    run: Any = _sre_parser.SubPattern(_sre_parser.State())
    run.append((_sre_parser.MAX_REPEAT, (1, _sre_parser.MAXREPEAT, one)))
    compiled = _sre_compiler.compile(run, flags)
    return tuple((m.start(), m.end() - 1) for m in compiled.finditer(_every_character()))


def _utf8(low: int, high: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """The range of code points as sequences of byte ranges, surrogates left out (they have no UTF-8)."""

    def split(a: bytes, b: bytes) -> Iterator[tuple[tuple[int, int], ...]]:
        if len(a) == 1:
            yield ((a[0], b[0]),)
        elif a[0] == b[0]:
            for rest in split(a[1:], b[1:]):
                yield ((a[0], a[0]), *rest)
        else:
            lowest, highest = b"\x80" * (len(a) - 1), b"\xbf" * (len(a) - 1)
            first, last = a[0], b[0]
            if a[1:] != lowest:
                yield from split(a, bytes([first]) + highest)
                first += 1
            if b[1:] != highest:
                yield from split(bytes([last]) + lowest, b)
                last -= 1
            if first <= last:
                yield ((first, last), *(((0x80, 0xBF),) * len(lowest)))

    for bottom, top in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)):
        if max(low, bottom) <= min(high, top):
            yield from split(chr(max(low, bottom)).encode(), chr(min(high, top)).encode())


# ---------------------------------------------------------------------------------------------------------------------
# From the regex to nodes

# What a zero-width position means, said with lookaround; `$` and `\Z` look at the end of the lexeme, as fullmatch does.
_POSITIONS = {
    ("AT_BEGINNING", False): r"(?<!(?s:.))",
    ("AT_BEGINNING", True): r"(?<![^\n])",
    ("AT_BEGINNING_STRING", False): r"(?<!(?s:.))",
    ("AT_END", False): r"(?!\n(?s:.)|[^\n])",
    ("AT_END", True): r"(?![^\n])",
    ("AT_END_STRING", False): r"(?!(?s:.))",
    ("AT_BOUNDARY", False): r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))",
    # Not in an empty text: a quirk of `re` before Python 3.14.
    ("AT_NON_BOUNDARY", False): r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w)(?:(?<=(?s:.))|(?=(?s:.))))",
}


class Pattern:
    """The node graph of one regex: `first` is where reading starts."""

    def __init__(self, regex: str) -> None:
        try:
            tree = _sre_parser.parse(regex)
        except re.error as error:
            raise Unsupported(f"{regex}: {error}") from error
        self.end = End()
        self.lazy = _has_lazy(tree)
        self.behinds: list[Node] = []
        self.reads: list[Read] = []
        self._inside_behind = False
        self._read_nodes: dict[tuple[tuple[tuple[tuple[int, int], ...], ...], Node], Read] = {}
        self.first = self._sequence(tree, int(tree.state.flags), self.end)

    def _sequence(self, items: Any, flags: int, rest: Node) -> Node:
        for op, argument in reversed(list(items)):
            rest = self._item(str(op), argument, flags, rest)
        return rest

    def _item(self, op: str, argument: Any, flags: int, rest: Node) -> Node:
        if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            hashable = tuple(argument) if isinstance(argument, list) else argument
            ranges = _code_points(op, hashable, flags)
            return self._read(tuple(s for low, high in ranges for s in _utf8(low, high)), rest)
        if op == "SUBPATTERN":
            _group, added, removed, items = argument
            kept = flags & ~(re.ASCII | re.UNICODE) if added & (re.ASCII | re.UNICODE) else flags
            return self._sequence(items, (kept | added) & ~removed, rest)
        if op == "BRANCH":
            return Choice(tuple(self._sequence(items, flags, rest) for items in argument[1]))
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(argument, flags, rest, lazy=op == "MIN_REPEAT")
        if op == "AT":
            multiline = bool(flags & re.MULTILINE) and str(argument) in ("AT_BEGINNING", "AT_END")
            meaning = _sre_parser.parse(_POSITIONS[str(argument), multiline], flags & re.ASCII)
            return self._sequence(meaning, flags & ~re.IGNORECASE, rest)
        if op in ("ASSERT", "ASSERT_NOT"):
            return self._look(argument, flags, rest, negated=op == "ASSERT_NOT")
        raise Unsupported(f"{op} in a terminal's regex")

    def _repeat(self, argument: Any, flags: int, rest: Node, *, lazy: bool) -> Node:
        least, most, items = argument
        node = rest
        if most == _sre_parser.MAXREPEAT:
            node = loop = Loop(lazy, rest)
            loop.body = self._sequence(items, flags, loop)
        else:
            for _ in range(most - least):
                more = self._sequence(items, flags, node)
                node = Choice((rest, more) if lazy else (more, rest))
        for _ in range(least):
            node = self._sequence(items, flags, node)
        return node

    def _look(self, argument: Any, flags: int, rest: Node, *, negated: bool) -> Node:
        direction, items = argument
        if self._inside_behind:
            raise Unsupported("lookaround inside a lookbehind")
        if direction > 0:
            return Ahead(negated, self._sequence(items, flags, self.end), rest)
        self._inside_behind = True
        self.behinds.append(self._sequence(items, flags, self.end))
        self._inside_behind = False
        return Behind(negated, len(self.behinds) - 1, rest)

    def _read(self, sequences: tuple[tuple[tuple[int, int], ...], ...], rest: Node) -> Read:
        """The node that reads any of the sequences of byte ranges, then goes on with `rest`."""
        key = (sequences, rest)
        if key not in self._read_nodes:
            after: dict[int, Node] = {}
            for byte in {b for s in sequences for b in range(s[0][0], s[0][1] + 1)}:
                tails = tuple(s[1:] for s in sequences if s[0][0] <= byte <= s[0][1])
                after[byte] = rest if tails == ((),) else self._read(tails, rest)
            self._read_nodes[key] = Read(after)
            self.reads.append(self._read_nodes[key])
        return self._read_nodes[key]


def _has_lazy(tree: Any) -> bool:
    if isinstance(tree, (list, tuple, _sre_parser.SubPattern)):
        return any(_has_lazy(part) for part in tree)
    return str(tree) == "MIN_REPEAT"


# ---------------------------------------------------------------------------------------------------------------------
# From nodes to deterministic states

State = tuple[int, tuple[frozenset[Node], ...]]  # the formula; for each lookbehind, the nodes its matches are at


class RegexAutomaton:
    """A deterministic automaton for one regex, its states computed as they are asked for."""

    def __init__(self, regex: str) -> None:
        self.pattern = Pattern(regex)
        self._formulas = Formulas()
        self._variables: list[tuple[str, Node]] = []
        self._numbers: dict[tuple[str, Node], int] = {}
        self._asked: dict[tuple[str, Node, frozenset[Loop], tuple[bool, ...]], int] = {}
        behinds = tuple(_open([node]) for node in self.pattern.behinds)
        mode = BEST if self.pattern.lazy else FULL
        self.start: State = (self._ask(mode, self.pattern.first, frozenset(), self._known(behinds)), behinds)

    def next(self, state: State, byte: int) -> State | None:
        """The state after one more byte; None if the formula says that nothing can follow."""
        formula, behinds = state
        # A match of a lookbehind may begin anywhere, so its first node is open at every position.
        behinds = tuple(
            _open([n.after[byte] for n in now if isinstance(n, Read) and byte in n.after] + [first])
            for now, first in zip(behinds, self.pattern.behinds, strict=True)
        )
        known = self._known(behinds)

        def after(variable: int) -> int:
            mode, node = self._variables[variable]
            if isinstance(node, Read) and byte in node.after:
                return self._ask(mode, node.after[byte], frozenset(), known)
            return FALSE

        formula = self._formulas.substitute(formula, after)
        return None if formula == FALSE else (formula, behinds)

    def accepts(self, state: State) -> bool:
        """Whether what has been read is a whole lexeme."""
        return self._formulas.evaluate(state[0], lambda variable: self._variables[variable][1] is self.pattern.end)

    def _known(self, behinds: Iterable[frozenset[Node]]) -> tuple[bool, ...]:
        return tuple(self.pattern.end in now for now in behinds)

    def _ask(self, mode: str, node: Node, entered: frozenset[Loop], known: tuple[bool, ...]) -> int:
        """The formula of `node` at this position; `entered` are the loops whose body this path has begun here."""
        key = (mode, node, entered, known)
        if key not in self._asked:
            self._asked[key] = self._formula(mode, node, entered, known)
        return self._asked[key]

    def _formula(self, mode: str, node: Node, entered: frozenset[Loop], known: tuple[bool, ...]) -> int:
        logic = self._formulas
        if isinstance(node, Choice):
            return self._first_of(mode, [(n, entered) for n in node.alternatives], known)
        if isinstance(node, Loop):
            if node in entered:  # the body matched nothing: `re` does not try it again
                return self._ask(mode, node.rest, entered, known)
            ways = [(node.body, entered | {node}), (node.rest, entered)]
            return self._first_of(mode, ways[::-1] if node.lazy else ways, known)
        if isinstance(node, Ahead):
            holds = self._ask(SOME, node.inside, entered, known)
            holds = logic.negation(holds) if node.negated else holds
            return logic.both(holds, self._ask(mode, node.rest, entered, known))
        if isinstance(node, Behind):
            return FALSE if known[node.number] == node.negated else self._ask(mode, node.rest, entered, known)
        if isinstance(node, End) and mode == SOME:
            return TRUE
        return logic.variable(self._number(mode, node))

    def _first_of(self, mode: str, ways: Sequence[tuple[Node, frozenset[Loop]]], known: tuple[bool, ...]) -> int:
        logic, result = self._formulas, FALSE
        for node, entered in reversed(ways):
            if mode == BEST:
                leads_nowhere = logic.negation(self._ask(SOME, node, entered, known))
                result = logic.both(leads_nowhere, result)
            result = logic.either(self._ask(mode, node, entered, known), result)
        return result

    def _number(self, mode: str, node: Node) -> int:
        key = (mode, node)
        if key not in self._numbers:
            self._numbers[key] = len(self._variables)
            self._variables.append(key)
        return self._numbers[key]


def _open(nodes: Iterable[Node]) -> frozenset[Node]:
    """The nodes with all that they lead to without reading."""
    found: set[Node] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            if isinstance(node, Choice):
                todo += node.alternatives
            elif isinstance(node, Loop):
                todo += (node.body, node.rest)
    return frozenset(found)
