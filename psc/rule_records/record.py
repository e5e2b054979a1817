"""The temperatures and captures that a matcher's text gives to the marked rules of its grammar.

A capture is a rule that was complete at some position, in a way to read the text that is still possible. If a rule was complete
at several positions, the longest text counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psc.compiler.expressions.expression import EMPTY, Choice, Ending, Reference, RuleMark, RuleSet
from psc.compiler.expressions.joined_rules import marks_of
from psc.compiler.expressions.tokens import FIRST_TOKEN
from psc.rule_records.chart import START, Chart, Item
from psc.rule_records.network import Network
from psc.support.cached_property import cached_property

if TYPE_CHECKING:
    from psc.vocabulary.tokenizer_info import TokenizerInfo

Step = int | bytes
"""A token, or text."""
Span = tuple[int, int]


@dataclass(frozen=True)
class MarkedRules:
    """A grammar's rules, with the marks that some have."""

    network: Network
    root: str
    marks: Mapping[str, RuleMark]

    @cached_property
    def has_temperatures(self) -> bool:
        """Whether a rule has one."""
        return any(mark.temperature is not None for mark in self.marks.values())

    @cached_property
    def has_captures(self) -> bool:
        """Whether a rule is captured, or a marker is."""
        endings = [mark.ending for mark in self.marks.values() if mark.ending is not None]
        return any(mark.capture is not None for mark in self.marks.values()) or any(e.captured_as is not None for e in endings)

    @cached_property
    def budgets(self) -> Mapping[str, int]:
        """Tokens per rule that has a budget."""
        return {name: mark.max_tokens for name, mark in self.marks.items() if mark.max_tokens is not None}

    @cached_property
    def exhausted(self) -> frozenset[str]:
        """The rules whose texts let other rules be complete once their budget is exhausted."""
        return frozenset(mark.spent for mark in self.marks.values() if mark.spent is not None)

    @cached_property
    def hides(self) -> bool:
        """Whether a marker is hidden from enclosing captures."""
        return any(mark.ending is not None and mark.ending.is_hidden for mark in self.marks.values())


def marked_rules(rules: RuleSet | None) -> MarkedRules:
    """The marked rules of a grammar. Its rules are read only where some are marked.

    Args:
        rules: of the grammar; None for one with a lexer, in which none can be marked.
    """
    marks = {} if rules is None else marks_of(rules)
    if rules is None or not marks:
        return MarkedRules(Network({"root": EMPTY}), "root", {})
    spent = {name: mark.spent for name, mark in marks.items() if mark.spent is not None}
    found = rules.rules
    if spent:
        found = {**found, **{name: Choice((found[name], Reference(other))) for name, other in spent.items()}}
    return MarkedRules(Network(found), rules.root, marks)


class RuleRecord:
    """The record of one text, brought up to date by each query.

    Args:
        rules: of the grammar.
        tokenizer: of the accepted tokens.
    """

    def __init__(self, rules: MarkedRules, tokenizer: TokenizerInfo) -> None:
        self._rules = rules
        self._tokenizer = tokenizer
        self._stops = frozenset(tokenizer.stop_token_ids)
        self._steps: list[Step] = []
        self._marks = [START]
        self._is_ended = False
        """Whether a stop token has ended the text."""

    @cached_property
    def _chart(self) -> Chart:
        return Chart(self._rules.network, self._rules.root, self._rules.budgets, self._rules.exhausted)

    def temperature(self, steps: Sequence[Step], default: float | None) -> float | None:
        """The highest temperature of what may come next after these steps; the default where no open rule has one."""
        if not self._rules.has_temperatures:
            return default
        self._follow(steps)
        temperatures: set[float] = set()
        todo = {(item.rule, item.origin) for item, _ in self._chart.reading()}
        seen = set(todo)
        while todo:
            rule, origin = todo.pop()
            mark = self._rules.marks.get(rule)
            if mark is not None and mark.temperature is not None:
                temperatures.add(mark.temperature)
                continue
            more = {(caller.rule, caller.origin) for caller in self._chart.callers(rule, origin)} - seen
            seen |= more
            todo |= more
        return max(temperatures, default=default)

    def temperatures_along(
        self, steps: list[Step], child: list[int], sibling: list[int], token: list[int], default: float | None
    ) -> list[float]:
        """`temperature` at each node of a tree of draft tokens, see ``GrammarMatcher.traverse_draft_tree``.

        -1 where there is none, and at nodes that the tokens cannot reach.
        """
        if not self._rules.has_temperatures:
            return [-1.0 if default is None else default] * len(token)
        temperatures = [-1.0] * len(token)
        todo: list[tuple[int, list[Step]]] = [(0, steps)]
        while todo:
            node, path = todo.pop()
            temperature = self.temperature(path, default)
            if not self._chart.mark()[1]:
                continue
            temperatures[node] = -1.0 if temperature is None else temperature
            after = child[node]
            while after >= 0:
                todo.append((after, [*path, token[after]]))
                after = sibling[after]
        self._follow(steps)
        return temperatures

    def captures(self, steps: Sequence[Step], deduplicate: bool) -> list[tuple[str, bytes]]:
        """(name, text) of the captured rules that these steps complete, in the order in which they ended.

        Args:
            steps: tokens and texts.
            deduplicate: for a rule that began at one position, only the longest of its texts with which the whole can be read;
                else every text that completed the rule.
        """
        if not self._rules.has_captures:
            return []
        self._follow(steps)
        live = self._live() if deduplicate else None
        captures: dict[object, tuple[str, bytes]] = {}
        for end in sorted(self._chart.columns):
            for rule, origin in self._chart.columns[end].completed:
                mark = self._rules.marks.get(rule)
                if mark is None or (live is not None and (rule, origin, end) not in live):
                    continue
                for kind, name, text in self._captured(mark, rule, origin, end):
                    key = (kind, rule, origin) if deduplicate else (kind, rule, origin, end)
                    captures.pop(key, None)
                    captures[key] = name, text
        return list(captures.values())

    def _live(self) -> set[tuple[str, int, int]]:
        """(rule, where it began, where it ended) of the rules completed in a way in which the text can go on, or ends."""
        columns, end = self._chart.columns, len(self._chart.text)
        completed: set[tuple[str, int, int]] = set()
        seen: set[tuple[Item, int]] = set()
        todo: list[tuple[Item, int]] = []

        def read(item: Item, at: int) -> None:
            if (item, at) not in seen:
                seen.add((item, at))
                todo.append((item, at))

        def complete(rule: str, origin: int, at: int) -> None:
            if (rule, origin, at) not in completed:
                completed.add((rule, origin, at))
                for item in columns[at].completed[rule, origin]:
                    read(item, at)

        is_open: set[tuple[str, int]] = set()
        for item, at in () if self._is_ended else self._chart.reading():
            read(item, at)
            is_open.add((item.rule, item.origin))
        spine = list(is_open)
        for rule, origin in spine:  # which grows
            for caller in self._chart.callers(rule, origin):
                read(caller, origin)
                if (caller.rule, caller.origin) not in is_open:
                    is_open.add((caller.rule, caller.origin))
                    spine.append((caller.rule, caller.origin))
        if end in columns and (self._rules.root, 0) in columns[end].completed:
            complete(self._rules.root, 0, end)
        while todo:
            item, at = todo.pop()
            for link in columns[at].items[item]:
                read(link.before, link.column)
                if link.child is not None:
                    complete(link.child, link.column, at)
        return completed

    def _captured(self, mark: RuleMark, rule: str, origin: int, end: int) -> list[tuple[str, str, bytes]]:
        """The captures of a completed rule: ("marker" or "text", name, text)."""
        captures = []
        body_end = end
        if mark.ending is not None:
            body_end = self._border(mark.ending, origin, end)
            if mark.ending.captured_as is not None:
                captures.append(("marker", mark.ending.captured_as, bytes(self._chart.text[body_end:end])))
        if mark.capture is not None:
            captures.append(("text", mark.capture, self._without_hidden(rule, origin, end, body_end)))
        return captures

    def _border(self, ending: Ending, origin: int, end: int) -> int:
        """Where the body of an ending rule stops and the marker starts: the first position where both match."""
        text = bytes(self._chart.text)
        body = Chart(self._rules.network, ending.body)
        body.append(text[origin:end])
        for at in sorted(body.columns):
            if (ending.body, 0) in body.columns[at].completed:
                marker = Chart(self._rules.network, ending.marker)
                if text[origin + at : end]:
                    marker.append(text[origin + at : end])
                last = marker.columns.get(end - origin - at)
                if last is not None and (ending.marker, 0) in last.completed:
                    return origin + at
        return end

    def _without_hidden(self, rule: str, origin: int, end: int, text_end: int) -> bytes:
        text = bytes(self._chart.text[origin:text_end])
        if not self._rules.hides:
            return text
        for first, last in sorted(self._hidden(rule, origin, end), reverse=True):
            if last <= text_end:
                text = text[: first - origin] + text[last - origin :]
        return text

    def _hidden(self, rule: str, origin: int, end: int) -> set[Span]:
        """The markers inside a completed rule that are hidden from its text, in one way to read it."""
        markers = set()
        todo = [(rule, origin, end)]
        while todo:
            outer, began, ended = todo.pop()
            item, at = self._chart.columns[ended].completed[outer, began][0], ended
            while links := self._chart.columns[at].items[item]:
                link = links[0]
                if link.child is not None:
                    mark = self._rules.marks.get(link.child)
                    if mark is not None and mark.ending is not None and mark.ending.is_hidden:
                        markers.add((self._border(mark.ending, link.column, at), at))
                    todo.append((link.child, link.column, at))
                item, at = link.before, link.column
        return markers

    def _follow(self, steps: Sequence[Step]) -> None:
        """Brings the chart to these steps."""
        same = 0
        for mine, theirs in zip(self._steps, steps, strict=False):
            if mine != theirs:
                break
            same += 1
        if same < len(self._steps):
            del self._steps[same:]
            del self._marks[same + 1 :]
            self._chart.rewind(self._marks[-1])
            self._is_ended = False
        for step in steps[same:]:
            self._read(step)
            self._steps.append(step)
            self._marks.append(self._chart.mark())

    def _read(self, step: Step) -> None:
        if isinstance(step, bytes):
            if step:
                self._chart.append(step)
            return
        before = self._chart.mark()
        text = self._tokenizer.token_texts[step]
        self._chart.append(text or self._name(step), FIRST_TOKEN + step, is_text=bool(text))
        if step in self._stops and not self._chart.mark()[1]:  # it ended the text
            self._chart.rewind(before)
            self._is_ended = True

    def _name(self, token: int) -> bytes:
        return self._tokenizer.decoded_vocab[token] or b"<[%d]>" % token
