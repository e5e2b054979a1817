"""A grammar without empty productions, unit cycles, and symbols that are of no use, so that a generalized LR parser always ends.

In this order: right-hand sides are expanded over the items that may be left out (long ones are cut in two, ``A : X Y Z R`` and
``R : …``, so that expansion stays linear); nonterminals that derive nothing are removed, then those that the start does not reach;
nonterminals that derive each other (``a : b``, ``b : a``) become one; duplicates go. Only a start symbol of its own may be empty:
``S' : S`` and ``S' :``. Cost: linear in the size of the grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from psc.compiler.components import components
from psc.compiler.grammar import Cfg, Production
from psc.compiler.productions import Productions
from psc.errors import GrammarError

_MOST_EXPANDED = 3
"""Optional items of one right-hand side that are expanded in place, to 2^3 productions."""

Plain = tuple[int, tuple[int, ...], int]
"""Left-hand side, right-hand side, priority; symbols as in :mod:`psc.compiler.productions`."""


def without_unproductive(grammar: Cfg) -> Cfg:
    """The grammar without productions that no text can finish, of the same language; as it is where there are none.

    A production is finished where each symbol is a terminal that the parser sees, which an ignored one is not, or has a production
    that is finished. LALR tables do not ask for that: they would take the beginning of such a production and then allow nothing.

    Raises:
        GrammarError: the start symbol can never be finished.
    """
    finished = {i for i, t in enumerate(grammar.terminals) if not t.ignored}
    while new := {p.lhs for p in grammar.productions if p.lhs not in finished and finished.issuperset(p.rhs)}:
        finished |= new
    if grammar.first_nonterminal + grammar.nonterminals.index(grammar.start) not in finished:
        normal_form(grammar)  # raises, and says why
    kept = tuple([p for p in grammar.productions if finished.issuperset(p.rhs)])
    if len(kept) == len(grammar.productions):
        return grammar
    names = [grammar.symbol_name(s) for s in sorted({p.lhs for p in grammar.productions} - finished)]
    return replace(grammar, productions=kept, left_out=tuple([n for n in names if not n.startswith("__")]))


def normal_form(grammar: Cfg) -> Cfg:
    """The grammar without empty productions, cycles and useless symbols, of the same language.

    Terminals stay as they are, used or not, since they decide how text is lexed; nonterminals keep their names.

    Raises:
        GrammarError: the start symbol derives nothing.
    """
    first = grammar.first_nonterminal
    productions = Productions(grammar.source_name)
    for name in grammar.nonterminals:
        productions.named(name)
    nullable = _nullable(grammar)
    ignored: set[str] = set()
    for p in grammar.productions:
        # The parser never sees an ignored terminal, so what needs one can never be finished.
        if unseen := [s for s in p.rhs if s < len(grammar.terminals) and grammar.terminals[s].ignored]:
            ignored.update(grammar.terminals[s].name for s in unseen)
            continue
        items = [(s if s < first else ~(s - first), s in nullable) for s in p.rhs]
        productions.add(~(p.lhs - first), tuple(items), p.priority)
    start = ~grammar.nonterminals.index(grammar.start)
    try:
        return finish(productions, start, first + ~start in nullable, grammar)
    except GrammarError as e:
        if not ignored:
            raise
        names = ", ".join(sorted(ignored))
        raise GrammarError(f"{e} (what needs an ignored terminal, here {names}, is left out: the parser never sees one)") from e


def finish(
    productions: Productions, start: int, may_be_empty: bool, grammar: Cfg, lines: Mapping[str, int] = MappingProxyType({})
) -> Cfg:
    """The normal form of productions, with everything else as ``grammar`` has it.

    Args:
        productions: they may have optional items; right-hand sides of optional items only do not mean the empty text.
        start: a nonterminal.
        may_be_empty: the start also derives the empty text.
        grammar: its terminals are those that the productions use.
        lines: where nonterminals are defined, for messages.
    """
    expanded = _expanded(productions)
    plain = useful(expanded, start)
    if not may_be_empty and not any(lhs == start for lhs, _, _ in plain):
        raise GrammarError(_unproductive_message(productions, start, grammar, lines))
    plain, start = _without_unit_cycles(plain, start)
    if may_be_empty:
        # The empty production must not be used inside a text, so the start is a symbol that no right-hand side has.
        fresh = productions.named_like(f"${productions.name_of(start)}")
        plain = [(fresh, (start,), 0)] * any(lhs == start for lhs, _, _ in plain) + [(fresh, (), 0)] + plain
        start = fresh
    first = grammar.first_nonterminal
    used = dict.fromkeys([start, *[lhs for lhs, _, _ in plain]])
    number = {symbol: first + i for i, symbol in enumerate(used)}
    return replace(
        grammar,
        start=productions.name_of(start),
        nonterminals=tuple([productions.name_of(symbol) for symbol in used]),
        productions=tuple([Production(number[lhs], tuple([s if s >= 0 else number[s] for s in rhs]), p) for lhs, rhs, p in plain]),
        asked_for=grammar.asked_for or grammar.start,
        left_out=grammar.left_out + _never_finished(productions, expanded, lines),
    )


def _never_finished(productions: Productions, plain: list[Plain], lines: Mapping[str, int]) -> tuple[str, ...]:
    """The rules of the text that derive nothing, not even the empty text."""
    productive = _productive(plain)
    may_be_empty = {s for _, items, _ in productions.rules for s, leave_out in items if leave_out}
    found = {lhs for lhs, _, _ in plain} - productive - may_be_empty
    return tuple([name for symbol in sorted(found, reverse=True) if (name := productions.name_of(symbol)) in lines])


def _nullable(grammar: Cfg) -> set[int]:
    """The nonterminals that derive the empty text: those with a right-hand side of such, to the least fixpoint."""
    missing = [len(p.rhs) for p in grammar.productions]
    uses: dict[int, list[int]] = {}
    for i, p in enumerate(grammar.productions):
        for symbol in p.rhs:
            uses.setdefault(symbol, []).append(i)
    found: set[int] = set()
    todo = [p.lhs for p in grammar.productions if not p.rhs]
    while todo:
        symbol = todo.pop()
        if symbol in found:
            continue
        found.add(symbol)
        for i in uses.get(symbol, ()):
            missing[i] -= 1
            if missing[i] == 0:
                todo.append(grammar.productions[i].lhs)
    return found


def _expanded(productions: Productions) -> list[Plain]:
    """Every choice of optional items, but for the choice that leaves nothing."""
    plain: dict[tuple[int, tuple[int, ...]], int] = {}
    rules = productions.rules
    for lhs, items, priority in rules:  # grows while it is read
        optional = [i for i, (_, leave_out) in enumerate(items) if leave_out]
        if not optional:
            if items:
                plain.setdefault((lhs, tuple([s for s, _ in items])), priority)
            continue
        if len(optional) > _MOST_EXPANDED:
            cut = optional[_MOST_EXPANDED - 1]
            rest = productions.new(productions.name_of(lhs))
            productions.add(rest, items[cut:], priority)
            items = (*items[:cut], (rest, len(optional) - _MOST_EXPANDED + 1 == len(items) - cut))
        choices: list[tuple[tuple[int, ...], ...]] = [((s,), ()) if leave_out else ((s,),) for s, leave_out in items]
        for chosen in product(*choices):
            rhs = tuple([s for part in chosen for s in part])
            if rhs:
                plain.setdefault((lhs, rhs), priority)
    return [(lhs, rhs, priority) for (lhs, rhs), priority in plain.items()]


def useful(plain: list[Plain], start: int) -> list[Plain]:
    """The productions that take part in deriving some text from the start."""
    productive = _productive(plain)
    of: dict[int, list[Plain]] = {}
    for p in plain:
        if all([s >= 0 or s in productive for s in p[1]]):
            of.setdefault(p[0], []).append(p)
    reached = {start: None}
    for symbol in (queue := [start]):
        for _, rhs, _ in of.get(symbol, ()):
            for s in rhs:
                if s < 0 and s not in reached:
                    reached[s] = None
                    queue.append(s)
    return [p for symbol in reached for p in of.get(symbol, ())]


def _productive(plain: list[Plain]) -> set[int]:
    """The nonterminals that derive some text."""
    uses: dict[int, list[int]] = {}
    missing = []
    todo = []
    for i, (lhs, rhs, _) in enumerate(plain):
        needed = {s for s in rhs if s < 0}
        missing.append(len(needed))
        for symbol in needed:
            uses.setdefault(symbol, []).append(i)
        if not needed:
            todo.append(lhs)
    productive: set[int] = set()
    while todo:
        symbol = todo.pop()
        if symbol in productive:
            continue
        productive.add(symbol)
        for i in uses.get(symbol, ()):
            missing[i] -= 1
            if missing[i] == 0:
                todo.append(plain[i][0])
    return productive


def _without_unit_cycles(plain: list[Plain], start: int) -> tuple[list[Plain], int]:
    """Nonterminals that derive each other alone derive the same texts: one of them stands for all."""
    units: dict[int, list[int]] = {}
    for lhs, rhs, _ in plain:
        if len(rhs) == 1 and rhs[0] < 0:
            units.setdefault(lhs, []).append(rhs[0])
    if not units:
        return plain, start
    stands_for = {}
    for group in components(list(units), lambda s: units.get(s, ())):
        if len(group) > 1:
            chosen = start if start in group else max(group)  # the complement of the smallest number: the one made first
            stands_for.update(dict.fromkeys(group, chosen))
    merged: dict[tuple[int, tuple[int, ...]], int] = {}
    for lhs, rhs, priority in plain:
        to = stands_for.get(lhs, lhs)
        new_rhs = tuple([stands_for.get(s, s) for s in rhs]) if stands_for else rhs
        if new_rhs != (to,):
            merged.setdefault((to, new_rhs), priority)
    return [(lhs, rhs, priority) for (lhs, rhs), priority in merged.items()], start


def _unproductive_message(productions: Productions, start: int, grammar: Cfg, lines: Mapping[str, int]) -> str:
    """Follows, from the start, a symbol that an alternative needs and that derives nothing, until one comes again."""
    plain = _expanded(productions)
    productive = _productive(plain)
    alternative: dict[int, tuple[int, ...]] = {}
    for lhs, rhs, _ in plain:
        alternative.setdefault(lhs, rhs)
    path = {start: None}
    symbol = start
    while symbol in alternative:
        symbol = next(s for s in alternative[symbol] if s < 0 and s not in productive)
        if symbol in path:
            break
        path[symbol] = None
    name = productions.name_of(symbol)
    place = f"{grammar.source_name}:{lines[name]}" if name in lines else grammar.source_name
    if symbol not in alternative:
        needed = "" if symbol == start else f", and no text of {productions.name_of(start)!r} can do without it"
        return f"{place}: rule {name!r} matches no text at all{needed}"
    circle = list(path)[list(path).index(symbol) :]
    way = " -> ".join([productions.name_of(s) for s in (*circle, symbol)])
    return f"{place}: rule {name!r} can never finish: every alternative needs itself ({way}); give it one that does not"
