r"""Grammar text in W3C's notation as a finite set: its sentences up to a length, over a small alphabet.

    %ignore WS
    [1] start ::= (NAME | 'a' - "b" | #x61)* - [^a-b]?     /* comment */

Each part of an expression is a set of texts, and each rule the least set that its body gives. What a difference refers to is
worked out first, and must not need itself. Directives stand on lines of their own, and a rule stands on one line.
"""

import re
from collections.abc import Callable, Mapping
from itertools import product

Texts = frozenset[str]
Reading = Callable[[Mapping[str, Texts]], Texts]
"""What an expression gives, where it is known what the rules give."""

_TOKEN = re.compile(r"""\s*(?:(/\*.*?\*/)|("[^"]*"|'[^']*')|(\[[^\]]*\])|#x([0-9A-F]+)|(\w+)|([|()*+?-]))""")


def sentences(text: str, start: str, alphabet: str, longest: int) -> Texts:
    """The texts of the rule `start` that have at most `longest` characters, all of them of the alphabet."""
    ignored = re.findall(r"^%ignore (\w+)$", text, re.M)
    bodies = dict(re.findall(r"^(?:\[\d+\] )?(\w+) ::= (.*)$", text, re.M))
    terminals = {name for name, body in bodies.items() if name.isupper() or name in ignored or body.endswith("/* ws: explicit */")}

    def joined(left: Texts, right: Texts) -> Texts:
        return frozenset(a + b for a, b in product(left, right) if len(a + b) <= longest)

    def repeated(body: Texts) -> Texts:
        found = frozenset([""])
        while (more := found | joined(found, body)) != found:
            found = more
        return found

    def reading(body: str, *, is_terminal: bool) -> Reading:
        tokens = [m for m in _TOKEN.finditer(body) if not m[1]]
        at = 0

        def lexeme(found: Reading) -> Reading:
            if is_terminal or not ignored:
                return found
            return lambda rules: joined(found(rules), rules["%ignore"])

        def mark() -> str | None:
            return tokens[at][6] if at < len(tokens) else None

        def choice() -> Reading:
            nonlocal at
            options = [row()]
            while mark() == "|":
                at += 1
                options.append(row())
            return lambda rules: frozenset().union(*[option(rules) for option in options])

        def row() -> Reading:
            parts: list[Reading] = []
            while at < len(tokens) and mark() not in ("|", ")"):
                parts.append(difference())

            def in_row(rules: Mapping[str, Texts]) -> Texts:
                found = frozenset([""])
                for part in parts:
                    found = joined(found, part(rules))
                return found

            return in_row

        def difference() -> Reading:
            nonlocal at, is_terminal
            began, outside = at, is_terminal
            left = repetition()
            if mark() != "-":
                return left
            at, is_terminal = began, True  # read again: within a difference nothing is ignored
            left = repetition()
            while mark() == "-":
                at += 1
                left = without(left, repetition())
            is_terminal = outside
            return lexeme(left)

        def repetition() -> Reading:
            nonlocal at
            body = primary()
            while (found := mark()) in ("*", "+", "?"):
                at += 1
                body = times(body, found)
            return body

        def primary() -> Reading:
            nonlocal at
            _, literal, chars, number, name, opened = tokens[at].groups()
            at += 1
            if opened:
                inside = choice()
                at += 1
                return inside
            if name:
                return lexeme(lambda rules: rules[name]) if name in terminals else (lambda rules: rules[name])
            one = frozenset([literal[1:-1] if literal else chr(int(number, 16))]) if literal or number else members(chars[1:-1])
            return lexeme(lambda rules: one) if one != {""} else (lambda rules: one)

        return choice()

    def members(inside: str) -> Texts:
        characters = re.sub("#x([0-9A-F]+)", lambda m: chr(int(m[1], 16)), inside.removeprefix("^"))
        ranges = re.findall(r"(.)-(.)|(.)", characters, re.S)
        named = {c for c in alphabet for low, high, one in ranges if c == one or low <= c <= high != ""}
        return frozenset(set(alphabet) - named if inside.startswith("^") else named)

    def times(body: Reading, mark: str) -> Reading:
        if mark == "?":
            return lambda rules: body(rules) | {""}
        if mark == "*":
            return lambda rules: repeated(body(rules))
        return lambda rules: joined(body(rules), repeated(body(rules)))

    def without(left: Reading, right: Reading) -> Reading:
        left, right = settled(left), settled(right)
        return lambda rules: left(rules) - right(rules)

    def settled(body: Reading) -> Reading:
        return lambda _: body(_Settled(readings))

    readings = {name: reading(body, is_terminal=name in terminals) for name, body in bodies.items()}
    rules = {name: frozenset[str]() for name in [*bodies, "%ignore"]}
    while True:
        found = {name: body(rules) for name, body in readings.items()}
        found["%ignore"] = repeated(frozenset().union(*[found[name] for name in ignored]))
        if found == rules:
            break
        rules = found
    whole = joined(rules["%ignore"], rules[start])
    if start in terminals:
        whole = joined(whole, rules["%ignore"])
    return frozenset(text for text in whole if set(text) <= set(alphabet))


class _Settled(dict[str, Texts]):
    """What rules that do not need themselves give, each worked out where it is asked of."""

    def __init__(self, readings: Mapping[str, Reading]) -> None:
        super().__init__()
        self._readings = readings

    def __missing__(self, name: str) -> Texts:
        self[name] = self._readings[name](self)
        return self[name]
