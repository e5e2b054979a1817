"""Rules of expressions to terminals and productions.

What is regular becomes a terminal, as large as is good: a named rule that is not recursive and not long is one, as is what is
written in place without naming a rule; so a JSON string, a number and white space are one terminal each. A terminal never matches
the empty text: where its expression may, it is an optional item. What counts high, or has an automaton that grows when it is made
deterministic, is left to productions; so is every recursion, but one that only repeats (``ws ::= [ ] ws | ""``) is a repetition.

    grammar_analysis.py   which rules are terminals, which may be empty
    lowering.py           productions of all others
    repetition.py         counted repetition and lists
    normal_form.py        optional items, useless symbols, cycles

Cost: linear in the grammar, for JSON under a millisecond.
"""

from __future__ import annotations

from dataclasses import replace

from psc.compiler.expression_graph import CHOICE, LITERAL, REFERENCE, REPEAT, SEQUENCE
from psc.compiler.expressions import Literal, RuleSet
from psc.compiler.grammar import Cfg, Production, Terminal
from psc.compiler.grammar_analysis import Analysis, TerminalLimits, analyse
from psc.compiler.normal_form import finish
from psc.compiler.productions import Item, Productions
from psc.compiler.python_pattern import python_pattern
from psc.compiler.repetition import Repetition

_MANY_LITERALS = 8
"""So many literals side by side are one terminal: a list of words, rather than keywords of a language."""
_LONGEST_NAME = 40
_MOST_OPTIONAL_IN_LIST = 2
_DEFAULT_LIMITS = TerminalLimits()
_CHUNK = 1000  # characters of a terminal, where a literal is too long for one


def lower(rule_set: RuleSet, limits: TerminalLimits = _DEFAULT_LIMITS) -> Cfg:
    """The grammar of a rule set: its lexer is ``any``, all LR actions are kept, and it is in normal form.

    Args:
        rule_set: the rules; those that the root does not need are left out.
        limits: how large terminals may become.

    Raises:
        GrammarError: the root matches nothing, a rule is not defined, or a limit is passed; the message names it.
    """
    return _Lowering(rule_set, analyse(rule_set, limits)).grammar()


def terminals_and_productions(parsed: RuleSet | Cfg) -> Cfg:
    """What a front end has parsed, as it is compiled: rules are lowered, and raise GrammarError as :func:`lower`."""
    return lower(parsed) if isinstance(parsed, RuleSet) else parsed


class _Lowering:
    def __init__(self, rule_set: RuleSet, analysis: Analysis) -> None:
        self._rule_set = rule_set
        self._analysis = analysis
        self._graph = analysis.graph
        self._productions = Productions(rule_set.source_name)
        self._repetition = Repetition(self._productions)
        self._terminals: dict[int, Terminal] = {}
        self._number_of: dict[int, int] = {}
        self._names: set[str] = set()
        self._nonterminals: dict[str, int] = {}
        self._queue: list[str] = []
        self._symbols: dict[int, int] = {}
        self._lists: dict[int, int] = {}
        self._rule = ""

    def grammar(self) -> Cfg:
        """Lowers the root, and every rule when it is first met."""
        rule_set, analysis, productions = self._rule_set, self._analysis, self._productions
        productions.reserve(list(analysis.bodies))
        start = self._nonterminal(rule_set.root)
        for rule in self._queue:
            self._rule = rule
            for alternative in self._alternatives(analysis.inlined.get(rule, analysis.bodies[rule])):
                productions.add(self._nonterminals[rule], alternative)
        raw = Cfg(
            source=rule_set.source,
            source_name=rule_set.source_name,
            imports=(),
            start=rule_set.root,
            terminals=tuple(self._terminals.values()),
            nonterminals=(),
            productions=(),
            lexer="any",
            keep_all_actions=True,
            language=rule_set.language,
        )
        may_be_empty = analysis.nullable(analysis.bodies[rule_set.root])
        finished = finish(productions, start, may_be_empty, raw, rule_set.lines)
        # A nonterminal stands for nonempty texts: where those can never be finished, the rule may still be empty.
        left_out = tuple([rule for rule in finished.left_out if not analysis.nullable(analysis.bodies[rule])])
        return _without_unused_terminals(replace(finished, left_out=left_out))

    def _nonterminal(self, rule: str) -> int:
        symbol = self._nonterminals.get(rule)
        if symbol is None:
            symbol = self._nonterminals[rule] = self._productions.named(rule)
            self._queue.append(rule)
        return symbol

    def _alternatives(self, node: int) -> list[tuple[Item, ...]]:
        """What the node derives, but for the empty text."""
        graph = self._graph
        kind = graph.kind[node]
        if node in (graph.empty, graph.nothing):
            return []
        if kind == REFERENCE:
            return [((self._rule_symbol(str(graph.value[node])), False),)]
        if self._analysis.is_terminal(node):
            return [((self._terminal(node), False),)]
        if kind == LITERAL:
            text = str(graph.value[node])
            return [tuple([(self._terminal(graph.literal(text[i : i + _CHUNK])), False) for i in range(0, len(text), _CHUNK)])]
        if kind == CHOICE:
            return [a for option in self._with_words_joined(graph.parts[node]) for a in self._alternatives(option)]
        if kind == SEQUENCE:
            return [self._row(graph.parts[node])]
        assert kind == REPEAT
        if graph.bounds(node) == (0, 1):
            return self._alternatives(graph.parts[node][0])
        return [self._repeated(node)]

    def _rule_symbol(self, rule: str) -> int:
        node = self._analysis.inlined.get(rule)
        if node is None or node in (self._graph.empty, self._graph.nothing):
            return self._nonterminal(rule)
        return self._terminal(node, rule)

    def _with_words_joined(self, options: tuple[int, ...]) -> list[int]:
        """Many literals as one option."""
        graph = self._graph
        words = [o for o in options if graph.kind[o] == LITERAL and graph.size[o] <= _CHUNK]
        if len(words) < _MANY_LITERALS:
            return list(options)
        chosen = set(words)
        joined = [o for o in options if o not in chosen]
        while words:
            size, count = 0, 0
            while count < len(words) and size + graph.size[words[count]] <= self._analysis.limits.literals:
                size += graph.size[words[count]]
                count += 1
            joined.append(graph.choice(words[:count]))
            words = words[count:]
        return joined

    def _row(self, parts: tuple[int, ...]) -> tuple[Item, ...]:
        """The items of a sequence. Neighbours written in place are one terminal where that fits; named rules stay apart."""
        items: list[Item] = []
        run: list[int] = []
        for part in (*parts, None):
            if part is not None and self._analysis.is_terminal(part):
                run.append(part)
                continue
            if run:
                items += self._joined(tuple(run))
                run = []
            if part is None:
                break
            if self._graph.kind[part] == REPEAT and self._graph.bounds(part) != (0, 1):
                items += self._repeated(part)
            else:
                items.append((self._symbol(part), self._analysis.nullable(part)))
        return tuple(items)

    def _joined(self, run: tuple[int, ...]) -> list[Item]:
        node = self._graph.sequence(run) if len(run) > 1 else run[0]
        if self._analysis.is_terminal(node):
            return [(self._terminal(node), self._graph.nullable[node])]
        half = len(run) // 2
        return self._joined(run[:half]) + self._joined(run[half:])

    def _repeated(self, node: int) -> tuple[Item, ...]:
        (body,) = self._graph.parts[node]
        least, most = self._graph.bounds(node)
        if self._analysis.nullable(body):
            least = 0  # fewer of it that are not empty make up any number of it
        if most is None and least <= 1:
            return ((self._list(body), least == 0),)
        return self._repetition.items(self._symbol(body), least, most, self._rule)

    def _list(self, body: int) -> int:
        """One or more of a node. Short bodies are written into the list, which saves the parser a reduction for each."""
        if body not in self._lists:
            alternatives = self._alternatives(body) if self._graph.kind[body] == SEQUENCE else []
            if len(alternatives) != 1 or len([1 for _, leave_out in alternatives[0] if leave_out]) > _MOST_OPTIONAL_IN_LIST:
                self._lists[body] = self._repetition.list_of(self._symbol(body), self._rule)
            else:
                symbol = self._lists[body] = self._productions.new(self._rule)
                self._productions.add(symbol, alternatives[0])
                self._productions.add(symbol, ((symbol, False), *alternatives[0]))
        return self._lists[body]

    def _symbol(self, node: int) -> int:
        """A symbol that derives what the node does, but for the empty text."""
        symbol = self._symbols.get(node)
        if symbol is None:
            alternatives = self._alternatives(node)
            if len(alternatives) == 1 and len(alternatives[0]) == 1:
                symbol = alternatives[0][0][0]
            else:
                symbol = self._productions.new(self._rule)
                for alternative in alternatives:
                    self._productions.add(symbol, alternative)
            self._symbols[node] = symbol
        return symbol

    def _terminal(self, node: int, rule: str | None = None) -> int:
        node = self._graph.nonempty(node)
        number = self._number_of.get(node)
        if number is None:
            number = self._number_of[node] = len(self._number_of)
            expression = self._graph.expression(node)
            pattern = python_pattern(expression)
            text = expression.text if isinstance(expression, Literal) else None
            self._terminals[node] = Terminal(
                name=self._terminal_name(rule, text, pattern),
                pattern=pattern,
                text=text,
                flags=frozenset(),
                priority=0,
                lark_order=number,
                rank=number,
                ignored=False,
                line=self._rule_set.lines.get(rule or self._rule),
                expression=expression,
            )
        return number

    def _terminal_name(self, rule: str | None, text: str | None, pattern: str) -> str:
        written = f'"{pattern}"' if text is not None else f"/{pattern}/"
        if text is not None and text.isprintable() and '"' not in text and "\\" not in text:
            written = f'"{text}"'
        name = rule or (written if len(written) <= _LONGEST_NAME else f"{written[: _LONGEST_NAME - 1]}…")
        number = 1
        unique = name
        while unique in self._names:
            number += 1
            unique = f"{name}#{number}"
        self._names.add(unique)
        return unique


def _without_unused_terminals(grammar: Cfg) -> Cfg:
    count = len(grammar.terminals)
    used = sorted({s for p in grammar.productions for s in p.rhs if s < count})
    if len(used) == count:
        return grammar
    number = {old: new for new, old in enumerate(used)}
    dropped = count - len(used)
    terminals = [replace(grammar.terminals[old], lark_order=new, rank=new) for old, new in number.items()]
    productions = [
        Production(p.lhs - dropped, tuple([number[s] if s < count else s - dropped for s in p.rhs]), p.priority)
        for p in grammar.productions
    ]
    return replace(grammar, terminals=tuple(terminals), productions=tuple(productions))
