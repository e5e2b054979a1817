r"""Lark's `Indenter`: a grammar with `%declare _INDENT _DEDENT` to one that lines up by itself.

Lark's `Indenter` stands between lexer and parser. It looks at each line end `_NEWLINE`, and puts `_INDENT` or `_DEDENT` behind
it, by how far the next line is indented; it drops line ends within brackets. A mask cannot ask it. So the grammar is copied by what
the Indenter would do:

* *Columns.* The terminal of line ends is split by column: `_NEWLINE@4` has the lexemes whose last line is of width 4. What can
  hold a line end is there once for each column; what is on a line is there once.
* *Line ends are read late.* The Indenter's tokens behind a line end depend on the block around it: `_NEWLINE@0` may close three
  blocks. So `_NEWLINE` in a rule reads nothing. The lexeme is read by what comes next: by `_INDENT` (of a larger column), or by the
  next terminal, whose column must be that of the block which it stands in. `_DEDENT` reads nothing. A copy of a rule says how it
  begins and ends: behind a terminal (`r`), behind a line end that is to be read (`p`), or behind the text's end (`e`), where
  the Indenter closes all blocks.
* *Brackets.* What stands between brackets has a copy, in whose LR states line ends are ignored.

Lark's lexer tries a line end everywhere, and else what the LR state can take. To find the same terminals behind a line end,
there is a nonterminal for each column and each set of terminals that Lark tries behind one: its lookahead is what may
follow in all places.

The copies need more than one terminal of lookahead (behind a block, `_NEWLINE@4` comes before `else` and before a new
statement), so every LR action is kept. Where Lark lets a shift win within a line, the production that loses has the priority
`GIVES_WAY`. A conflict of rules with line ends cannot be decided so, and is refused, unless the caller wants every way.

Tried and dropped: line ends as optional parts behind each terminal within brackets. LALR merges the states behind them, so that
the lexer tried what some other place can take: a parameter called `_` was a wildcard.

Cost: Lark's grammar of Python becomes 5,000 productions and 9,800 LR states in 0.2 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from psc._core import stop_if_cancelled
from psc.compiler.cfg.conflicts import conflict_warning
from psc.compiler.cfg.grammar import GIVES_WAY, Cfg, Production, Terminal
from psc.compiler.cfg.lr_tables import lr_tables
from psc.compiler.cfg.normal_form import normal_form
from psc.compiler.expressions.expression import Automaton
from psc.compiler.frontends.lark.indenter_settings import IndenterSettings
from psc.compiler.terminals.regex import UnsupportedRegex, class_automaton
from psc.errors import GrammarError, ResourceLimitError
from psc.support.readable import shortened

Symbols = tuple[int, ...]


def with_indenter(grammar: Cfg, settings: IndenterSettings) -> Cfg:
    """The grammar of the texts that Lark takes with the Indenter.

    Args:
        grammar: as it is written, with terminals for what the Indenter makes.
        settings: the Indenter's.

    Raises:
        GrammarError: a name is not the grammar's; brackets or blocks of a rule do not match; the grammar has conflicts.
    """
    kinds = _kinds(grammar, settings)
    for index, p in enumerate(grammar.productions):
        if not _is_balanced(p.rhs, kinds):
            raise GrammarError(
                f"{grammar.source_name}: in {shortened(grammar.production_text(index))!r} brackets or blocks do not match: each of "
                f"{', '.join((settings.INDENT_type, *settings.OPEN_PAREN_types))} must be closed in the rule that opens it, for "
                "otherwise the depth is not known where a line ends. Put both into one rule"
            )
    if settings.every_way:
        grammar = replace(grammar, productions=tuple(replace(p, priority=0) for p in grammar.productions))
    else:
        grammar = _decided(grammar, settings)
    grammar = normal_form(_with_brackets_apart(grammar, kinds))
    kinds = _kinds(grammar, settings)
    for index, p in enumerate(grammar.productions):
        if not _is_balanced(p.rhs, kinds):  # a long one with many optional parts was cut
            raise ResourceLimitError(
                f"{grammar.source_name}: {shortened(grammar.production_text(index))!r} has too many optional parts around brackets "
                "or blocks; give these a rule of their own"
            )
    return _Lines(grammar, settings).grammar()


def _decided(grammar: Cfg, settings: IndenterSettings) -> Cfg:
    """The grammar with what Lark decides about its conflicts as priorities. Raises GrammarError where these cannot say it.

    A production gives way to every shift where Lark has it give way to some: elsewhere the written grammar has no such conflict,
    and what is on one line is copied as it is written.
    """
    tables = lr_tables(grammar)
    n_decided = tables.shift_reduce_resolved
    if len(lr_tables(grammar, keep_all=True).arrays()["actions"]) - len(tables.arrays()["actions"]) != n_decided:
        raise GrammarError(
            f"{grammar.source_name}: with an indenter, priorities cannot decide between rules that match the same text. Rewrite "
            "the rules so that one fits, or take every way (--keep-all-actions, keep_all_actions=True)"
        )
    if n_decided > len(tables.dropped):
        raise GrammarError(
            f"{grammar.source_name}: with an indenter, {n_decided:,} conflicts are too many to be decided as Lark does"
        )
    lined = _lined(grammar, settings)
    losers = {productions[0] for _, _, productions in tables.dropped}
    for index in sorted(losers):
        p = grammar.productions[index]
        if not p.rhs or p.lhs in lined:
            raise GrammarError(
                f"{grammar.source_name}: with an indenter, this cannot be decided as Lark does, since "
                f"{shortened(grammar.production_text(index))!r} {'may hold line ends' if p.rhs else 'is empty'}: "
                f"{conflict_warning(grammar, tables)}"
            )
    return replace(
        grammar,
        productions=tuple(replace(p, priority=GIVES_WAY if i in losers else 0) for i, p in enumerate(grammar.productions)),
    )


def _lined(grammar: Cfg, settings: IndenterSettings) -> set[int]:
    """The rules that may hold a line end outside of brackets."""
    kinds = _kinds(grammar, settings)
    lined = {i for i, kind in kinds.items() if kind in (_NEWLINE, _INDENT, _DEDENT)}
    before = -1
    while before < len(lined):
        stop_if_cancelled()
        before = len(lined)
        lined |= {p.lhs for p in grammar.productions if not lined.isdisjoint(_outside(p.rhs, kinds))}
    return lined - kinds.keys()


def _outside(rhs: Symbols, kinds: Mapping[int, str]) -> Iterator[int]:
    """The symbols of a right-hand side that are not within brackets."""
    i = 0
    while i < len(rhs):
        if kinds.get(rhs[i]) == _OPEN:
            i = _closing(rhs, i, kinds) or i
        yield rhs[i]
        i += 1


def _with_brackets_apart(grammar: Cfg, kinds: Mapping[int, str]) -> Cfg:
    """What stands between brackets, or in a block, as a rule of its own, so that the normal form cuts no production there."""
    names = list(grammar.nonterminals)
    out: list[Production] = []
    known: dict[Symbols, int] = {}

    def apart(inner: Symbols) -> Symbols:
        if len(inner) < 2:
            return inner
        if inner not in known:
            known[inner] = grammar.first_nonterminal + len(names)
            names.append(f"__within_{len(known)}")
            out.append(Production(known[inner], rewritten(inner), 0))
        return (known[inner],)

    def rewritten(rhs: Symbols) -> Symbols:
        result: list[int] = []
        i = 0
        while i < len(rhs):
            end = _closing(rhs, i, kinds)
            if end is None:
                result.append(rhs[i])
                i += 1
            else:
                result += [rhs[i], *apart(rhs[i + 1 : end]), rhs[end]]
                i = end + 1
        return tuple(result)

    for p in grammar.productions:
        stop_if_cancelled()
        out.append(replace(p, rhs=rewritten(p.rhs)))
    return replace(grammar, nonterminals=tuple(names), productions=tuple(out))


_OPEN, _CLOSE, _INDENT, _DEDENT, _NEWLINE = "open", "close", "indent", "dedent", "newline"


def _kinds(grammar: Cfg, settings: IndenterSettings) -> dict[int, str]:
    """What terminals are to the Indenter."""
    number = {t.name: i for i, t in enumerate(grammar.terminals)}
    kinds = {number[n]: _OPEN for n in settings.OPEN_PAREN_types if n in number}
    kinds |= {number[n]: _CLOSE for n in settings.CLOSE_PAREN_types if n in number}
    for name, kind in ((settings.INDENT_type, _INDENT), (settings.DEDENT_type, _DEDENT), (settings.NL_type, _NEWLINE)):
        if name in number:
            kinds[number[name]] = kind
    return kinds


def _is_balanced(rhs: Symbols, kinds: Mapping[int, str]) -> bool:
    opened: list[str] = []
    for symbol in rhs:
        kind = kinds.get(symbol)
        if kind in (_OPEN, _INDENT):
            opened.append(kind)
        elif kind in (_CLOSE, _DEDENT) and (not opened or opened.pop() != (_OPEN if kind == _CLOSE else _INDENT)):
            return False
    return not opened


def _closing(rhs: Symbols, begin: int, kinds: Mapping[int, str]) -> int | None:
    """Where what opens at an index closes; None where nothing opens there."""
    if kinds.get(rhs[begin]) not in (_OPEN, _INDENT):
        return None
    depth = 0
    for i in range(begin, len(rhs)):
        kind = kinds.get(rhs[i])
        depth += (kind in (_OPEN, _INDENT)) - (kind in (_CLOSE, _DEDENT))
        if not depth:
            return i
    raise AssertionError("brackets do not match")


# How a copy of a rule begins or ends: behind a terminal; behind a line end that is to be read; the same with blocks closed behind
# it; behind the end of the text. A line end that is to be read has the number of what Lark's lexer tries behind it.
_Mode = tuple[str, int]
_READ: Final[_Mode] = ("r", 0)
_END: Final[_Mode] = ("e", 0)
_Name = tuple[Any, ...]


class _Lines:
    """The copies of a grammar in normal form."""

    def __init__(self, grammar: Cfg, settings: IndenterSettings) -> None:
        self._old = grammar
        self._settings = settings
        self._kinds = _kinds(grammar, settings)
        self._of: dict[int, list[Symbols]] = {}
        for p in grammar.productions:
            self._of.setdefault(p.lhs, []).append(p.rhs)
        self._is_lined = _lined(grammar, settings)
        self._begins_with_line = self._fixpoint(lambda rhs, known: self._at_edge(rhs[:1], (_NEWLINE, _INDENT), known))
        self._begins_with_indent = self._fixpoint(lambda rhs, known: self._at_edge(rhs[:1], (_INDENT,), known))
        self._ends_with_dedent = self._fixpoint(lambda rhs, known: self._at_edge(rhs[-1:], (_DEDENT,), known))
        self._closing = "q" if self._may_indent_after_dedent() else "p"
        self._tried: dict[frozenset[int], int] = {}
        self._tried_behind = self._find_tried()
        self._outs = self._out_modes()
        self._terminals: list[Terminal] = []
        self._number: dict[int | tuple[str, int], int] = {}
        self._names: dict[_Name, int] = {}
        self._labels: list[str] = []
        self._productions: list[Production] = []
        self._gives_way = {(p.lhs, p.rhs) for p in grammar.productions if p.priority == GIVES_WAY}
        self._todo: list[_Name] = []

    def grammar(self) -> Cfg:
        """The grammar of all copies, in normal form."""
        self._make_terminals()
        start = self._nonterminal(("start",))
        while self._todo:
            stop_if_cancelled()
            name = self._todo.pop()
            lhs = self._names[name]
            for rhs, priority in dict.fromkeys(self._productions_of(name)):
                self._productions.append(Production(lhs, rhs, priority))
        made = replace(
            self._old,
            terminals=tuple(self._terminals),
            nonterminals=tuple(self._labels),
            productions=tuple(self._productions),
            start=self._labels[start - len(self._terminals) - 1],
            asked_for=self._old.asked_for or self._old.start,
            lexer="indented",
            keep_all_actions=True,
            settings=self._settings.text,
        )
        return _with_lines_in_brackets(_without_unused(normal_form(made), self._settings.NL_type), self._settings)

    # --- what the rules are like

    def _fixpoint(self, test: Any) -> set[int]:
        known: set[int] = set()
        while found := {lhs for lhs, all_rhs in self._of.items() if lhs not in known and any(test(rhs, known) for rhs in all_rhs)}:
            stop_if_cancelled()
            known |= found
        return known

    def _at_edge(self, edge: Symbols, kinds: Sequence[str], known: set[int]) -> bool:
        return any(s in known or self._kinds.get(s) in kinds for s in edge)

    def _may_indent_after_dedent(self) -> bool:
        return any(
            self._at_edge((a,), (_DEDENT,), self._ends_with_dedent) and self._at_edge((b,), (_INDENT,), self._begins_with_indent)
            for all_rhs in self._of.values()
            for rhs in all_rhs
            for a, b in pairwise(rhs)
        )

    def _find_tried(self) -> dict[tuple[int, Symbols, int], int]:
        """Per production and index of a line end or a dedent, the number of the terminals that Lark's lexer tries behind it.

        In LALR tables they are those of all places that share the rule: with an `else` somewhere, `else` is no name behind any
        statement.
        """
        tables = lr_tables(self._old, keep_all=True)
        n = len(self._old.terminals)
        arcs: dict[int, dict[int, int]] = {}
        begins: dict[int, list[int]] = {}
        for state, symbol, to in tables.arcs.reshape(-1, 3).tolist():
            arcs.setdefault(state, {})[symbol] = to
            begins.setdefault(symbol, []).append(state)
        filled = np.diff(tables.action_offsets).reshape(tables.n_lr_states, n + 1)[:, :n] > 0
        found: dict[tuple[int, Symbols, int], int] = {}
        for lhs in self._is_lined:
            for rhs in self._of[lhs]:
                stop_if_cancelled()
                tried: dict[int, set[int]] = {i: set() for i, s in enumerate(rhs) if self._kinds.get(s) in (_NEWLINE, _DEDENT)}
                if not tried:
                    continue
                for state in begins.get(lhs, ()):
                    at: int | None = state
                    for i, symbol in enumerate(rhs):
                        at = None if at is None else arcs.get(at, {}).get(symbol)
                        if i in tried and at is not None:
                            tried[i].update(np.flatnonzero(filled[at]).tolist())
                for i, terminals in tried.items():
                    key = frozenset(t for t in terminals if self._kinds.get(t) not in (_NEWLINE, _INDENT, _DEDENT))
                    found[lhs, rhs, i] = self._tried.setdefault(key, len(self._tried))
        return found

    def _out_modes(self) -> dict[tuple[int, _Mode], set[_Mode]]:
        """Per rule with line ends and per mode at its beginning, the modes at its end."""
        outs: dict[tuple[int, _Mode], set[_Mode]] = {}
        kinds = ("p", "q") if self._closing == "q" else ("p",)
        begin = [_READ, *((kind, number) for kind in kinds for number in range(len(self._tried)))]
        changed = True
        while changed:
            stop_if_cancelled()
            changed = False
            for lhs in self._is_lined:
                for mode in begin:
                    found = outs.setdefault((lhs, mode), set())
                    before = len(found)
                    for rhs in self._of[lhs]:
                        found |= self._modes_after(lhs, rhs, mode, outs)
                    changed |= len(found) > before
        return outs

    def _modes_after(self, lhs: int, rhs: Symbols, mode: _Mode, outs: Mapping[tuple[int, _Mode], set[_Mode]]) -> set[_Mode]:
        modes = {mode}
        i = 0
        while i < len(rhs):
            symbol, kind = rhs[i], self._kinds.get(rhs[i])
            if kind == _OPEN:
                i = _closing(rhs, i, self._kinds) or i
            if symbol in self._is_lined:
                modes = {after for m in modes if m != _END for after in outs.get((symbol, m), ())}
            elif kind == _NEWLINE:
                modes = {("p", self._tried_behind[lhs, rhs, i])} if modes - {_END} else set()
            elif kind == _INDENT:
                modes = {_READ} if any(m[0] == "p" for m in modes) else set()
            elif kind == _DEDENT:
                modes = {after for m in modes for after, _ in self._after_dedent(m, self._tried_behind[lhs, rhs, i])}
            else:
                modes = {_READ} if modes - {_END} else set()
            i += 1
        return modes

    def _after_dedent(self, mode: _Mode, tried: int) -> list[tuple[_Mode, bool]]:
        """The modes behind a dedent, each with whether the line end before it is read there, as the text's last one."""
        return [(_END, False)] if mode in (_READ, _END) else [((self._closing, tried), False), (_END, True)]

    # --- terminals

    def _make_terminals(self) -> None:
        newline = next(i for i, kind in self._kinds.items() if kind == _NEWLINE)
        gone = {i for i, kind in self._kinds.items() if kind in (_INDENT, _DEDENT)}
        order: list[tuple[Terminal, Any]] = []
        for i in sorted(range(len(self._old.terminals)), key=lambda i: self._old.terminals[i].rank):
            t = self._old.terminals[i]
            if i in gone:
                continue
            if i == newline:
                for column, automaton in self._by_column(t):
                    split = replace(t, name=f"{t.name}@{column}", text=None, expression=automaton)
                    order.append((split, ("column", column)))
                order.append((replace(t, name=f"{t.name}@in", ignored=True), ("in", 0)))
            order.append((t, i))  # of line ends, those that are refused: Lark's Indenter has them lexed everywhere
        for rank, (t, key) in enumerate(order):
            self._number[key] = rank
            self._terminals.append(replace(t, rank=rank))
        for lark_order, i in enumerate(sorted(range(len(order)), key=lambda i: (self._terminals[i].lark_order, i))):
            self._terminals[i] = replace(self._terminals[i], lark_order=lark_order)

    def _by_column(self, terminal: Terminal) -> list[tuple[int, Automaton]]:
        """The lexemes of line ends by the column of what follows them."""
        settings = self._settings
        try:
            found = class_automaton(terminal.pattern)
        except UnsupportedRegex as e:
            raise GrammarError(
                f"{self._old.source_name}: terminal {terminal.name}, the indenter's NL_type, cannot be split: {e}"
            ) from e
        feed, widths = ord("\n"), {ord("\n"): 0, ord(" "): 1, ord("\t"): settings.tab_len}
        arcs: dict[int, list[tuple[int, int, int]]] = {}
        for source, c, target in found.arcs:
            for first, last in found.classes[c]:
                cuts = sorted({first, *(x for w in widths for x in (w, w + 1) if first < x <= last), last + 1})
                arcs.setdefault(source, []).extend((a, b - 1, target) for a, b in pairwise(cuts))
        for some in arcs.values():
            some.sort()
        out: list[tuple[int, Automaton]] = []
        for wanted in settings.columns:
            # By the state, and the column: -1 before the first line feed, wanted + 1 beyond.
            numbers = {(0, -1): 0}
            todo = [(0, -1)]
            moves: list[tuple[int, int, int, int]] = []
            for state, column in todo:  # grows
                stop_if_cancelled()
                source = numbers[state, column]
                for first, last, target in arcs.get(state, ()):
                    after = 0 if first == feed else column if column < 0 else min(column + widths.get(first, 0), wanted + 1)
                    to = numbers.setdefault((target, after), len(numbers))
                    if to == len(todo):
                        todo.append((target, after))
                    if moves and moves[-1][0] == source and moves[-1][3] == to and moves[-1][2] + 1 == first:
                        moves[-1] = (source, moves[-1][1], last, to)
                    else:
                        moves.append((source, first, last, to))
            accepts = [found.final[state] and column == wanted for state, column in todo]
            if any(accepts):
                out.append((wanted, _trimmed(accepts, moves)))
        return out

    # --- nonterminals

    def _nonterminal(self, name: _Name) -> int:
        if name not in self._names:
            self._names[name] = len(self._terminals) + 1 + len(self._names)
            self._labels.append(self._label(name))
            self._todo.append(name)
        return self._names[name]

    def _label(self, name: _Name) -> str:
        kind, *rest = name
        if kind == "start":
            return f"{self._old.start}@"
        if kind == "line":
            column, tried = rest
            return f"{self._settings.NL_type}@{column}{'' if len(self._tried) == 1 else f'_{tried}'}@"
        label = self._old.symbol_name(rest[0])
        if kind == "flat":
            return label
        if kind == "in":
            return f"{label}@in"
        if kind == "lined":
            _, column, before, after = rest
            return f"{label}@{column}{self._suffix(before)}{self._suffix(after)}"
        _, rhs, begin, column, after = rest
        return f"__{label}_{self._of[rest[0]].index(rhs)}_{begin}_{kind}@{column}{self._suffix(after)}"

    def _suffix(self, mode: _Mode) -> str:
        return mode[0] + (str(mode[1]) if mode[0] in "pq" and len(self._tried) > 1 else "")

    def _productions_of(self, name: _Name) -> Iterator[tuple[Symbols, int]]:
        """The productions of a copy, with their priorities."""
        if name[0] in ("flat", "in"):
            for rhs in self._of[name[1]]:
                priority = GIVES_WAY if (name[1], rhs) in self._gives_way else 0
                if name[0] == "flat":
                    for copy, _ in self._paths(name[1], rhs, 0, len(rhs), 0, _READ):
                        yield copy, priority
                elif not any(self._kinds.get(s) in (_NEWLINE, _INDENT, _DEDENT) for s in rhs):
                    yield tuple(self._within_brackets(s) for s in rhs), priority
        else:
            for copy in self._of_lines(name):
                yield copy, 0

    def _within_brackets(self, symbol: int) -> int:
        return self._number[symbol] if symbol < len(self._old.terminals) else self._nonterminal(("in", symbol))

    def _of_lines(self, name: _Name) -> Iterator[Symbols]:
        kind, *rest = name
        if kind == "start":
            start = self._old.first_nonterminal + self._old.nonterminals.index(self._old.start)
            if start not in self._is_lined:
                yield (self._nonterminal(("flat", start)),)
                return
            for after in self._outs[start, _READ]:
                end = self._read(0, after)
                if end is not None:
                    yield (self._nonterminal(("lined", start, 0, _READ, after)), *end)
        elif kind == "line":
            yield (self._number["column", rest[0]],)
        elif kind == "lined":
            lhs, column, before, after = rest
            for rhs in self._of[lhs]:
                for symbols, mode in self._paths(lhs, rhs, 0, len(rhs), column, before):
                    if mode == after:
                        yield symbols
        elif kind == "after":  # a line end before a larger column, and the block that it begins
            lhs, rhs, begin, column, after = rest
            larger = [c for c in self._settings.columns if c > column]
            if larger:
                yield (self._nonterminal(("after", lhs, rhs, begin, larger[0], after)),)
                if ("column", larger[0]) in self._number:
                    content = self._nonterminal(("content", lhs, rhs, begin, larger[0], after))
                    yield (self._number["column", larger[0]], content)
        else:  # the content of a block, up to the dedent
            lhs, rhs, begin, column, after = rest
            close = _closing(rhs, begin, self._kinds)
            assert close is not None
            for symbols, mode in self._paths(lhs, rhs, begin + 1, close, column, _READ):
                for then, reads in self._after_dedent(mode, self._tried_behind[lhs, rhs, close]):
                    line = self._read(column, mode) if reads else ()
                    if then == after and line is not None:
                        yield (*symbols, *line)

    def _read(self, column: int, mode: _Mode) -> Symbols | None:
        """What is read of a line end before something at a column; None where no lexeme is one."""
        if mode in (_READ, _END):
            return ()
        return (self._nonterminal(("line", column, mode[1])),) if ("column", column) in self._number else None

    def _paths(self, lhs: int, rhs: Symbols, begin: int, end: int, column: int, before: _Mode) -> list[tuple[Symbols, _Mode]]:
        """What a part of a right-hand side becomes at a column, and the mode behind it."""
        paths: list[tuple[Symbols, _Mode]] = [((), before)]
        i = begin
        while i < end:
            symbol, kind = rhs[i], self._kinds.get(rhs[i])
            close = _closing(rhs, i, self._kinds)
            following: list[tuple[Symbols, _Mode]] = []
            for symbols, mode in paths:
                if mode == _END:
                    continue
                read = self._read(column, mode)
                if kind == _INDENT:
                    assert close is not None
                    if mode[0] == "p":
                        for after in ((self._closing, self._tried_behind[lhs, rhs, close]), _END):
                            following.append(((*symbols, self._nonterminal(("after", lhs, rhs, i, column, after))), after))
                elif symbol in self._is_lined and symbol in self._begins_with_line:
                    for after in self._outs[symbol, mode]:
                        following.append(((*symbols, self._nonterminal(("lined", symbol, column, mode, after))), after))
                elif read is None:
                    continue
                elif symbol in self._is_lined:
                    for after in self._outs[symbol, _READ]:
                        copy = self._nonterminal(("lined", symbol, column, _READ, after))
                        following.append(((*symbols, *read, copy), after))
                elif kind == _NEWLINE:
                    following.append(((*symbols, *read), ("p", self._tried_behind[lhs, rhs, i])))
                elif kind == _OPEN:
                    assert close is not None
                    inside = rhs[i + 1 : close]
                    if not any(self._kinds.get(s) in (_NEWLINE, _INDENT, _DEDENT) for s in inside):
                        copies = [self._within_brackets(s) for s in inside]
                        following.append(((*symbols, *read, self._number[symbol], *copies, self._number[rhs[close]]), _READ))
                elif symbol < len(self._old.terminals):
                    following.append(((*symbols, *read, self._number[symbol]), _READ))
                else:
                    following.append(((*symbols, *read, self._nonterminal(("flat", symbol))), _READ))
            paths = following
            i = i + 1 if close is None else close + 1
        return paths


def _with_lines_in_brackets(grammar: Cfg, settings: IndenterSettings) -> Cfg:
    """The grammar in which line ends are ignored within brackets, and nowhere else.

    The lexer `indented` tries an ignored terminal where the parser could take it. So for each place within brackets there is a
    production that has one there. It is never finished: the parser never sees what is ignored.
    """
    kinds = _kinds(grammar, settings)
    ignored = next(i for i, t in enumerate(grammar.terminals) if t.name == f"{settings.NL_type}@in")
    within = {grammar.first_nonterminal + i for i, name in enumerate(grammar.nonterminals) if name.endswith("@in")}
    added: dict[Production, None] = {}
    for p in grammar.productions:
        stop_if_cancelled()
        depth = int(p.lhs in within)
        for i, symbol in enumerate(p.rhs[:-1]):
            depth += (kinds.get(symbol) == _OPEN) - (kinds.get(symbol) == _CLOSE)
            if depth:
                added[Production(p.lhs, (*p.rhs[: i + 1], ignored), 0)] = None
    if not added:  # without brackets it would be ignored everywhere
        return _without_terminals(grammar, {ignored})
    return replace(grammar, productions=(*grammar.productions, *added))


def _trimmed(accepts: Sequence[bool], moves: Sequence[tuple[int, int, int, int]]) -> Automaton:
    """The automaton without states from which nothing is accepted."""
    into: dict[int, list[int]] = {}
    for source, _, _, target in moves:
        into.setdefault(target, []).append(source)
    alive = {i for i, a in enumerate(accepts) if a}
    todo = list(alive)
    while todo:
        for source in into.get(todo.pop(), ()):
            if source not in alive:
                alive.add(source)
                todo.append(source)
    alive.add(0)
    number = {state: i for i, state in enumerate(sorted(alive))}
    return Automaton(
        tuple(accepts[state] for state in sorted(alive)),
        tuple((number[s], first, last, number[t]) for s, first, last, t in moves if s in number and t in number),
    )


def _without_unused(grammar: Cfg, newline: str) -> Cfg:
    """Without the terminals that no rule has and nothing ignores, but for line ends."""
    used = {s for p in grammar.productions for s in p.rhs}
    unused = {i for i, t in enumerate(grammar.terminals) if i not in used and not t.ignored and t.name != newline}
    return _without_terminals(grammar, unused)


def _without_terminals(grammar: Cfg, gone: Set[int]) -> Cfg:
    kept = [i for i in range(len(grammar.terminals)) if i not in gone]
    number = {old: new for new, old in enumerate(kept)}
    rank = {i: r for r, i in enumerate(sorted(kept, key=lambda i: grammar.terminals[i].rank))}
    order = {i: r for r, i in enumerate(sorted(kept, key=lambda i: grammar.terminals[i].lark_order))}

    def moved(symbol: int) -> int:
        return number[symbol] if symbol in number else symbol - len(gone)

    return replace(
        grammar,
        terminals=tuple(replace(grammar.terminals[i], rank=rank[i], lark_order=order[i]) for i in kept),
        productions=tuple(replace(p, lhs=moved(p.lhs), rhs=tuple(map(moved, p.rhs))) for p in grammar.productions),
    )
