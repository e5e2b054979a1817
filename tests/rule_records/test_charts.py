"""Charts and captures of random grammars, against an oracle that tries every way to cut a text."""

from itertools import pairwise

import strategies
from hypothesis import event, given
from hypothesis import strategies as st

import psc
from psc.compiler.expressions.expression import Automaton, Chars, Choice, Expression, Literal, Reference, Repeat, RuleMark, Sequence
from psc.rule_records.chart import Chart
from psc.rule_records.network import Network
from psc.rule_records.record import MarkedRules, RuleRecord

TEXT_ONLY = psc.TokenizerInfo([])
STOPS = psc.TokenizerInfo.from_tokens([b"a", b"</s>"], special_token_ids=[1], stop_token_ids=[1])
Span = tuple[str, int, int]


class Oracle:
    """All spans of a text that rules derive, and those that are in a derivation of the whole."""

    def __init__(self, rules: dict[str, Expression], text: str) -> None:
        self.rules, self.text = rules, text
        self.spans: set[Span] = set()
        while found := {s for s in self._derived() if s not in self.spans}:
            self.spans |= found

    def _derived(self) -> set[Span]:
        n = len(self.text) + 1
        return {(r, i, j) for r, e in self.rules.items() for i in range(n) for j in range(i, n) if self.ways(e, i, j) is not None}

    def ways(self, e: Expression, i: int, j: int) -> set[Span] | None:
        """The rules' spans in the ways in which an expression is text[i:j]; None: it is not."""
        part = self.text[i:j]
        if isinstance(e, Literal):
            return set() if part == e.text else None
        if isinstance(e, Chars):
            return set() if len(part) == 1 and any(low <= ord(part) <= high for low, high in e.ranges) else None
        if isinstance(e, Reference):
            return {(e.name, i, j)} if (e.name, i, j) in self.spans else None
        if isinstance(e, Choice):
            return self._any([self.ways(option, i, j) for option in e.options])
        if isinstance(e, Sequence):
            if not e.parts:
                return set() if i == j else None
            first, rest = e.parts[0], Sequence(e.parts[1:])
            return self._any([self._both(self.ways(first, i, k), lambda k=k: self.ways(rest, k, j)) for k in range(i, j + 1)])
        if isinstance(e, Repeat):
            if e.most == 0:
                return set() if i == j else None
            less = Repeat(e.body, max(e.least - 1, 0), None if e.most is None else e.most - 1)
            none = set() if i == j and e.least == 0 else None
            later = range(i + 1 if less == e else i, j + 1)  # else it would never end
            found = self._any([none, *[self._both(self.ways(e.body, i, k), lambda k=k: self.ways(less, k, j)) for k in later]])
            empty = self.ways(e.body, i, i) if less == e and found is not None else None
            return self._any([found, empty])
        assert not isinstance(e, Automaton)
        raise TypeError(e)

    @staticmethod
    def _any(ways: list[set[Span] | None]) -> set[Span] | None:
        known = [w for w in ways if w is not None]
        return set().union(*known) if known else None

    @staticmethod
    def _both(first, rest) -> set[Span] | None:
        if first is None:
            return None
        second = rest()
        return None if second is None else first | second

    def used(self, root: str) -> set[Span]:
        todo = [(root, 0, len(self.text))]
        found = set(todo) & self.spans
        todo = list(found)
        while todo:
            rule, i, j = todo.pop()
            more = (self.ways(self.rules[rule], i, j) or set()) - found
            found |= more
            todo += more
        return found


def rules_of(text: str) -> tuple[dict[str, Expression], str]:
    rules = psc.Grammar.from_ebnf(text).parsed.rules
    assert rules is not None
    return dict(rules.rules), rules.root


@given(strategies.cfg_texts(), strategies.texts(), st.data())
def test_a_chart_knows_where_the_text_may_end(grammar: str, text: bytes, data: st.DataObject) -> None:
    rules, root = rules_of(grammar)
    try:
        matcher = psc.GrammarMatcher(psc.GrammarCompiler(TEXT_ONLY, store=False).compile_grammar(psc.Grammar.from_ebnf(grammar)))
    except psc.GrammarError:  # no text
        return
    taken = text[: matcher.accept_prefix(text)]
    matcher.reset()
    chart = Chart(Network(rules), root)
    start = chart.mark()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(taken))))) if taken else []
    for _ in range(2):
        for first, last in pairwise([0, *cuts, len(taken)]):
            if first < last:
                assert matcher.accept_string(taken[first:last])
                chart.append(taken[first:last])
            is_over = last in chart.columns and (root, 0) in chart.columns[last].completed
            assert is_over == matcher.is_completed(), (grammar, taken[:last])
            assert is_over or list(chart.reading()), (grammar, taken[:last])
        chart.rewind(start)
        matcher.reset()


@given(strategies.cfg_texts(), st.text("abcd.é", max_size=5))
def test_captures_are_in_a_derivation(grammar: str, text: str) -> None:
    rules, root = rules_of(grammar)
    oracle = Oracle(rules, text)
    text = text[: max((j for rule, i, j in oracle.spans if (rule, i) == (root, 0)), default=0)]
    oracle = Oracle(rules, text)
    if (root, 0, len(text)) not in oracle.spans:
        return
    event(f"{min(len(text), 3)} characters or more")
    marks = {name: RuleMark(capture=name) for name in rules}
    record = RuleRecord(MarkedRules(Network(rules), root, marks), STOPS)
    longest: dict[tuple[str, int], int] = {}
    for rule, i, j in oracle.used(root):
        longest[rule, i] = max(j, longest.get((rule, i), 0))
    steps: list[int | bytes] = [text.encode(), 1]
    assert sorted(record.captures(steps, True)) == sorted((rule, text[i:j].encode()) for (rule, i), j in longest.items())
    assert oracle.used(root) <= _spans(record)


def _spans(record: RuleRecord) -> set[Span]:
    """The rules completed at any position, in characters."""
    text = bytes(record._chart.text)
    at = {len(text[:i].decode(errors="ignore").encode()): len(text[:i].decode(errors="ignore")) for i in range(len(text) + 1)}
    return {(rule, at[origin], at[end]) for end, column in record._chart.columns.items() for rule, origin in column.completed}
