"""The contextual lexer where every LR action is kept: each stack lexes in its own context, and a text passes if some stack does.

The tables are LALR(1), worked out by Lark's analyzer for the grammar's normal form (docs/language.md), with nothing resolved:
the terminals allowed at the start of a lexeme are all those that the LR state on top has an action for, and the ignored ones.
Otherwise this is contextual.py, with sets of readings.

Cost: as contextual.py, for each stack. Source: docs/language.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lark.common import ParserConf
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.parsers.lalr_analysis import LALR_Analyzer

from .contextual import ContextAutomata
from .lexing import LexerAutomaton
from .masks import Undecided

Stack = tuple[int, ...]
END = "$END"
_MOST = 5_000


class AllActions:
    """LALR(1) tables with every action, and what a terminal makes of a stack."""

    def __init__(self, grammar: Any) -> None:
        def symbol(s: int) -> Any:
            return Terminal(grammar.symbol_name(s)) if s < grammar.first_nonterminal else NonTerminal(grammar.symbol_name(s))

        rules = [
            Rule(NonTerminal(grammar.symbol_name(p.lhs)), [symbol(s) for s in p.rhs], i, None, RuleOptions())
            for i, p in enumerate(grammar.productions)
        ]
        analyzer = LALR_Analyzer(ParserConf(rules, dict.fromkeys(rules), [grammar.start]))
        analyzer.compute_lr0_states()
        analyzer.compute_reads_relations()
        analyzer.compute_includes_lookback()
        analyzer.compute_lookaheads()
        sets = list(analyzer.lr0_itemsets)
        number = {id(s): i for i, s in enumerate(sets)}
        self._shift: list[dict[str, int]] = [{s.name: number[id(to)] for s, to in state.transitions.items()} for state in sets]
        self._reduce: list[dict[str, list[Any]]] = [{la.name: list(rs) for la, rs in state.lookaheads.items()} for state in sets]
        self._ends = {
            i
            for i, s in enumerate(sets)
            if any(rp.rule.origin.name == f"$root_{grammar.start}" and rp.is_satisfied for rp in s.closure)
        }
        self.start: Stack = (number[id(analyzer.lr0_start_states[grammar.start])],)
        self._terminals = frozenset(t.name for t in grammar.terminals)
        self.ignored = frozenset(t.name for t in grammar.terminals if t.ignored)

    def context(self, stack: Stack) -> frozenset[str]:
        here = self._shift[stack[-1]].keys() | self._reduce[stack[-1]].keys()
        return self.ignored | (here & self._terminals)

    def _closed(self, stack: Stack, terminal: str) -> set[Stack]:
        seen, todo = {stack}, [stack]
        while todo:
            top = todo.pop()
            for rule in self._reduce[top[-1]].get(terminal, ()):
                base = top[: len(top) - len(rule.expansion)]
                to = self._shift[base[-1]].get(rule.origin.name)
                if to is not None and (*base, to) not in seen:
                    seen.add((*base, to))
                    todo.append((*base, to))
            if len(seen) > _MOST:
                raise Undecided(stack)
        return seen

    def shift(self, stack: Stack, terminal: str) -> frozenset[Stack]:
        if terminal in self.ignored:
            return frozenset([stack])
        return frozenset((*s, to) for s in self._closed(stack, terminal) if (to := self._shift[s[-1]].get(terminal)) is not None)

    def accepts(self, stack: Stack) -> bool:
        return any(s[-1] in self._ends for s in self._closed(stack, END))


@dataclass(frozen=True)
class Reading:
    """As in contextual.py, with all that takes the lexeme's place if it fails."""

    stack: Stack
    state: int
    begun: bool
    fall_back: frozenset[Reading]


class ContextualKeepAllOracle:
    """Masks of a psc.compiler.cfg.grammar.Cfg in normal form, and Lark's definitions of its terminals."""

    def __init__(self, grammar: Any, terminals: Iterable[Any]) -> None:
        self.parser = AllActions(grammar)
        self._automata = ContextAutomata(terminals)
        self._bytes = self._automata.representative_bytes
        self._steps: dict[tuple[Reading, int], frozenset[Reading]] = {}
        self.start = self._lexeme(self.parser.start)

    def automaton(self, stack: Stack) -> LexerAutomaton:
        return self._automata.of(self.parser.context(stack))

    def _lexeme(self, stack: Stack) -> Reading:
        return Reading(stack, self.automaton(stack).start, False, frozenset())

    def step(self, readings: frozenset[Reading], byte: int) -> frozenset[Reading]:
        out: set[Reading] = set()
        for reading in readings:
            key = (reading, byte)
            if key not in self._steps:
                self._steps[key] = self._step(reading, byte)
            out |= self._steps[key]
        if len(out) > _MOST:
            raise Undecided(readings)
        return frozenset(out)

    def _step(self, reading: Reading, byte: int) -> frozenset[Reading]:
        d, stack = self.automaton(reading.stack), reading.stack
        instead = self.step(reading.fall_back, byte)
        state = d.next[reading.state].get(byte)
        if state is None:
            return instead
        winner = d.winner[state]
        if winner is not None:
            return frozenset([Reading(stack, state, True, frozenset(map(self._lexeme, self.parser.shift(stack, winner))))])
        return frozenset([Reading(stack, state, True, frozenset() if d.commits[state] else instead)])

    def read(self, readings: frozenset[Reading], text: bytes) -> frozenset[Reading]:
        for byte in text:
            readings = self.step(readings, byte)
        return readings

    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]:
        """For each token, whether prefix + token begins some sentence. Raises Undecided."""
        here = self.read(frozenset([self.start]), prefix)
        return [any(map(self._continues, self.read(here, token))) for token in tokens]

    def eos_allowed(self, prefix: bytes) -> bool:
        """Whether the text may end after the prefix."""
        return any(map(self._ends, self.read(frozenset([self.start]), prefix)))

    def _ends(self, reading: Reading) -> bool:
        if not reading.begun:
            return self.parser.accepts(reading.stack)
        return any(map(self._ends, reading.fall_back))

    def _continues(self, reading: Reading) -> bool:
        todo, seen = [reading], {reading}
        for reading in todo:  # grows while we walk it
            if not reading.begun:
                return True
            can_become = self.automaton(reading.stack).can_become[reading.state]
            if any(self.parser.shift(reading.stack, t) for t in can_become) or self._ends(reading):
                return True
            if reading.fall_back:
                for byte in self._bytes:
                    for after in self.step(frozenset([reading]), byte):
                        if after not in seen:
                            seen.add(after)
                            todo.append(after)
            if len(seen) > _MOST:
                raise Undecided(reading)
        return False
