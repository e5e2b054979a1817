"""Where Lark's own lexing of a grammar differs from ours, by terminal names.

Lark's lexers try terminals in an order and take the first that matches, with the length that Python's ``re`` gives; ours
take the longest lexeme (docs/language.md). Where the lexer is contextual, only terminals that some LR state allows together are
compared. Found on the byte automaton of all terminals, so a warning is a fact about some text:

* a terminal that Lark tries earlier matches a shorter lexeme, and a later one would go on;
* both match the same text, and Lark's order (or its rule that turns a regex's match into a string terminal) picks another one;
* a regex's own first match is not its longest (``a|ab``).

A lookaround that looks past the end of its lexeme is judged by us as if the text ended there. What Python's ``re`` does with it
depends on the rest of the text, so for such terminals both lexers are tried instead: on the shortest text to every state of the
automaton, and on those texts with another character after them.

Cost: a propagation of terminal sets over the automaton, plus an ordered determinization per regex; tens of milliseconds.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from psc._core import LrTables
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.terminals import TerminalAutomaton, terminal_expression
from psc.compiler.frontends.lark.first_match import first_match_differs
from psc.compiler.terminals.regex import UnsupportedRegex, looks_past_end

_MAX_NAMES = 6


def contexts(grammar: Cfg, lr: LrTables) -> list[frozenset[int]]:
    """The sets of terminals that are lexed together: all of them, or those that an LR state can take, and the ignored ones."""
    n = len(grammar.terminals)
    if grammar.lexer not in ("contextual", "indented"):
        return [frozenset(range(n))]
    filled = np.diff(lr.action_offsets).reshape(lr.n_lr_states, n + 1)[:, :n] > 0
    always = {i for i, t in enumerate(grammar.terminals) if t.ignored}
    if grammar.lexer == "indented":
        always = set(np.flatnonzero(~filled.any(axis=0)).tolist())
    sets = {frozenset(np.flatnonzero(row).tolist()) | always for row in np.unique(filled, axis=0)}
    return sorted(sets, key=sorted)


def _line_ends(grammar: Cfg) -> dict[int, int]:
    """The terminals into which an indenter's line ends are split, each with the one that is written."""
    number = {t.name: i for i, t in enumerate(grammar.terminals)}
    return {i: number[t.name.partition("@")[0]] for i, t in enumerate(grammar.terminals) if "@" in t.name}


def lark_differences(grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
    """One warning for each kind of difference, naming terminals; empty where Lark's lexer and ours agree."""
    if grammar.lexer in ("flush", "flush-contextual", "modal", "flush-modal"):  # which Lark does not have
        return ()
    written = _line_ends(grammar)

    def as_written(terminals: Iterable[int]) -> frozenset[int]:
        return frozenset([written.get(t, t) for t in terminals]) if written else frozenset(terminals)

    order = _LarkOrder(grammar, written)
    together = sorted({as_written(context) for context in contexts(grammar, lr)}, key=sorted)
    ranks = [t.rank for t in grammar.terminals]
    beyond = {
        i
        for i, t in enumerate(grammar.terminals)
        if i not in written and terminal_expression(t) is None and _looks_past_end(t.pattern)
    }
    shorter: set[tuple[int, int]] = set()
    other: set[tuple[int, int]] = set()
    refused: set[tuple[int, int]] = set()
    before = _matched_on_the_way(automaton)
    places = {
        (matches & context, as_written(before[state]) & context)
        for state, matches in enumerate(map(as_written, automaton.matches))
        for context in together
        if matches & context
    }
    for matches, earlier in places:
        tried = [t for t in matches if t not in order.embedded]
        for longer in tried:
            for t in earlier - matches - order.embedded - beyond:
                if order.position[t] < order.position[longer]:
                    shorter.add((t, longer))
        lark = order.pick(matches)
        ours = min(matches, key=ranks.__getitem__)
        if lark is not None and lark != (ours, grammar.terminals[ours].ignored) and lark[0] not in beyond:
            other.add((lark[0], ours))
    if beyond:
        for (theirs, n), (ours, m) in _tried(grammar, automaton, order):
            ours = written.get(ours, ours)
            if theirs >= 0 and not any({theirs, ours} <= context for context in together):
                continue
            if beyond & {theirs, ours} and (theirs, n) != (ours, m):
                (refused if theirs < 0 else shorter if n < m else other).add((theirs, ours))
    # Terminals whose lookaround leaves the lexeme were tried against Lark's own match already.
    first = [
        t.name
        for i, t in enumerate(grammar.terminals)
        if t.text is None and i not in beyond and i not in written and _first_match_differs(t.pattern)
    ]
    return tuple(_messages(grammar, shorter, other, refused, first))


def _tried(grammar: Cfg, automaton: TerminalAutomaton, order: _LarkOrder) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """What Lark and we read first, as (terminal, length), on the shortest text to each state, alone and with more after it."""
    alternation = re.compile("|".join(f"(?P<t{t}>{grammar.terminals[t].pattern})" for t in order.tried))
    for word in _shortest_texts(automaton):
        for more in ("", " ", "a", "1", "."):
            try:
                text = word.decode() + more
            except UnicodeDecodeError:
                break
            match = alternation.match(text)
            ours = _longest(automaton, text.encode())
            if ours is None:
                continue
            if match is None or match.lastgroup is None:
                yield (-1, 0), ours
                continue
            found = match.group()
            lark, _ = order.becomes(int(match.lastgroup[1:]), _matches(automaton, found.encode()))
            yield (lark, len(found.encode())), ours


def _shortest_texts(automaton: TerminalAutomaton) -> list[bytes]:
    texts = {0: b""}
    queue = deque([0])
    while queue:
        state = queue.popleft()
        targets, first = np.unique(automaton.next[state], return_index=True)
        for target, byte in zip(targets.tolist(), first.tolist(), strict=True):
            if target >= 0 and target not in texts:
                texts[target] = texts[state] + bytes([byte])
                queue.append(target)
    return list(texts.values())


def _matches(automaton: TerminalAutomaton, text: bytes) -> frozenset[int]:
    """The terminals that match a whole text; of those with lookaround, as if nothing came after it."""
    state = 0
    for byte in text:
        state = int(automaton.next[state, byte])
        if state < 0:
            return frozenset()
    return automaton.matches[state]


def _longest(automaton: TerminalAutomaton, text: bytes) -> tuple[int, int] | None:
    state, best = 0, None
    for i, byte in enumerate(text, 1):
        state = int(automaton.next[state, byte])
        if state < 0:
            break
        if automaton.accept[state] >= 0:
            best = (int(automaton.accept[state]), i)
    return best


class _LarkOrder:
    """Lark's BasicLexer: the order in which it tries terminals, and which strings it finds through a regex instead."""

    def __init__(self, grammar: Cfg, left_out: Iterable[int] = ()) -> None:
        self.grammar = grammar
        terminals = grammar.terminals
        by_order = sorted(range(len(terminals)), key=lambda t: terminals[t].lark_order)
        self.position = {t: i for i, t in enumerate(by_order)}
        self.embedded = set(left_out)  # with the strings that Lark finds only through a regex
        self.through: dict[int, set[int]] = {}  # regex -> strings that its match may turn into
        for regex in by_order:
            if terminals[regex].is_string:
                continue
            compiled = re.compile(terminals[regex].pattern)
            for string in by_order:
                t = terminals[string]
                if not t.is_string or t.priority != terminals[regex].priority or not compiled.fullmatch(t.text or ""):
                    continue
                self.through.setdefault(regex, set()).add(string)
                if t.flags <= terminals[regex].flags:
                    self.embedded.add(string)

    @property
    def tried(self) -> list[int]:
        """Terminals in the order in which Lark tries them."""
        return [t for t in self.position if t not in self.embedded]

    def pick(self, matches: frozenset[int]) -> tuple[int, bool] | None:
        """Of terminals that match the same text, the one that Lark reports, and whether it is dropped."""
        tried = [t for t in matches if t not in self.embedded]
        if not tried:
            return None
        return self.becomes(min(tried, key=self.position.__getitem__), matches)

    def becomes(self, first: int, matches: frozenset[int]) -> tuple[int, bool]:
        """What Lark makes of a match of `first`: the first string that also matches. `first` decides whether it is ignored."""
        if self.grammar.terminals[first].ignored:
            return first, True
        return min(matches & self.through.get(first, set()), key=self.position.__getitem__, default=first), False


def _matched_on_the_way(automaton: TerminalAutomaton) -> list[frozenset[int]]:
    """Per state, the terminals that match a proper prefix of some text that leads there."""
    n = len(automaton.matches)
    successors = [np.unique(row[row >= 0]).tolist() for row in automaton.next]
    found: list[set[int]] = [set() for _ in range(n)]
    todo = list(range(n))
    queued = [True] * n
    while todo:
        state = todo.pop()
        queued[state] = False
        here = found[state] | automaton.matches[state]
        for to in successors[state]:
            if not here <= found[to]:
                found[to] |= here
                if not queued[to]:
                    queued[to] = True
                    todo.append(to)
    return [frozenset(f) for f in found]


def _messages(
    grammar: Cfg,
    shorter: set[tuple[int, int]],
    other: set[tuple[int, int]],
    refused: set[tuple[int, int]],
    first: list[str],
) -> list[str]:
    name = [t.name for t in grammar.terminals]

    def listed(items: list[str]) -> str:
        more = f" and {len(items) - _MAX_NAMES} more" if len(items) > _MAX_NAMES else ""
        return ", ".join(items[:_MAX_NAMES]) + more

    out = []
    if shorter:
        pairs = listed([f"{name[a]} before {name[b]}" for a, b in sorted(shorter)])
        out.append(f"Lark's lexer takes a shorter lexeme where this one takes the longest: {pairs}")
    if other:
        pairs = listed([f"{name[a]} (here {name[b]})" for a, b in sorted(other)])
        out.append(f"Lark's lexer picks another terminal for the same text: {pairs}")
    if refused:
        out.append(f"Lark's lexer finds no lexeme where this one does: {listed(sorted({name[b] for _, b in refused}))}")
    if first:
        out.append(f"Lark takes the first alternative that matches, not the longest, inside: {listed(first)}")
    return out


def _looks_past_end(pattern: str) -> bool:
    try:
        return looks_past_end(pattern)
    except UnsupportedRegex:  # too large to tell: both lexers are tried on it
        return True


def _first_match_differs(pattern: str) -> bool:
    try:
        return first_match_differs(pattern)
    except UnsupportedRegex:  # too large to tell
        return False
