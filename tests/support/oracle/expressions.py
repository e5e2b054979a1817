"""Rule sets, slowly and obviously: is this text one of the rule set's, is it the beginning of one?

By definition: for every rule and every position, the set of positions where a text of the rule that starts there can end, and
whether the rest of the text is the beginning of one; both are grown from nothing until they change no more, which is what
recursion of every kind means. Shares no code with psc but the expressions themselves. Cost: rules times positions, several times.
"""

from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Reference, Repeat, RuleSet, Sequence


def matches(rule_set: RuleSet, text: str) -> bool:
    """Whether the whole text is one of the root's."""
    return len(text) in _Table(rule_set, text).rule_ends(rule_set.root, 0)


def begins_one(rule_set: RuleSet, text: str) -> bool:
    """Whether some text of the root begins with this one (which may be all of it)."""
    table = _Table(rule_set, text)
    return table.begins(Reference(rule_set.root), 0)


def matches_any(rule_set: RuleSet) -> bool:
    """Whether the root has any text."""
    return rule_set.root in _Table(rule_set, "").productive


class _Table:
    def __init__(self, rule_set: RuleSet, text: str) -> None:
        self._rules = rule_set.rules
        self._text = text
        self.productive: set[str] = set()
        self._ends: dict[tuple[str, int], set[int]] = {}
        self._begins: dict[tuple[str, int], bool] = {}
        positions = range(len(text) + 1)
        changed = True
        while changed:
            found = {name for name, e in self._rules.items() if self._produces(e)}
            changed, self.productive = found != self.productive, found
        changed = True
        while changed:
            ends = {(name, i): self.ends(e, i) for name, e in self._rules.items() for i in positions}
            changed, self._ends = ends != self._ends, ends
        changed = True
        while changed:
            begins = {(name, i): self.begins(e, i) for name, e in self._rules.items() for i in positions}
            changed, self._begins = begins != self._begins, begins

    def rule_ends(self, name: str, start: int) -> set[int]:
        return self._ends.get((name, start), set())

    def _produces(self, e: Expression) -> bool:
        match e:
            case Reference(name):
                return name in self.productive
            case Sequence(parts):
                return all(self._produces(p) for p in parts)
            case Choice(options):
                return any(self._produces(o) for o in options)
            case Repeat(body, least, _):
                return least == 0 or self._produces(body)
            case Chars(ranges):
                return bool(ranges)
        return True

    def ends(self, e: Expression, start: int) -> set[int]:
        """Where a text of ``e`` that starts at ``start`` can end."""
        match e:
            case Literal(text):
                return {start + len(text)} if self._text.startswith(text, start) else set()
            case Chars(ranges):
                inside = start < len(self._text) and any(low <= ord(self._text[start]) <= high for low, high in ranges)
                return {start + 1} if inside else set()
            case Reference(name):
                return self.rule_ends(name, start)
            case Choice(options):
                return {end for o in options for end in self.ends(o, start)}
            case Sequence(parts):
                at = {start}
                for part in parts:
                    at = {end for i in at for end in self.ends(part, i)}
                return at
        return {i for count, i in self._repeated(e, start) if count >= e.least}

    def _repeated(self, e: Repeat, start: int) -> set[tuple[int, int]]:
        """(count, position) after so many bodies; counts above the least are all the same when there is no most."""
        highest = e.least if e.most is None else e.most
        found = {(0, start)}
        todo = [(0, start)]
        while todo:
            count, i = todo.pop()
            if e.most is not None and count == highest:
                continue
            for end in self.ends(e.body, i):
                after = (min(count + 1, highest), end)
                if after not in found:
                    found.add(after)
                    todo.append(after)
        return found

    def begins(self, e: Expression, start: int) -> bool:
        """Whether some text of ``e`` begins with the text from ``start`` on."""
        rest = self._text[start:]
        match e:
            case Literal(text):
                return text.startswith(rest)
            case Chars(ranges):
                return bool(ranges) and (not rest or (len(rest) == 1 and bool(self.ends(e, start))))
            case Reference(name):
                return self._begins.get((name, start), False)
            case Choice(options):
                return any(self.begins(o, start) for o in options)
            case Sequence(parts):
                at = {start}
                for k, part in enumerate(parts):
                    if any(self.begins(part, i) for i in at) and all(self._produces(p) for p in parts[k + 1 :]):
                        return True
                    at = {end for i in at for end in self.ends(part, i)}
                return len(self._text) in at
        if not self._produces(e):
            return False
        reached = self._repeated(e, start)
        return any(
            (count >= e.least and i == len(self._text)) or ((e.most is None or count < e.most) and self.begins(e.body, i))
            for count, i in reached
        )
