"""An expression without references as Python ``re`` syntax, with every class written out. Recursive: for bounded depth."""

from __future__ import annotations

import hashlib

from psc.compiler.expressions.expression import MAX_CODE_POINT, Automaton, Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.expressions.tokens import tokens_of

_SPECIAL = frozenset("\\.^$*+?{}[]()|#&~-/")
_LONGEST_LIST = 60
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}


def python_pattern(expression: Expression) -> str:
    """A pattern that ``re.fullmatch`` matches exactly where the expression does; of an automaton and of tokens, a comment."""
    if isinstance(expression, Literal):
        return "".join([_character(c) for c in expression.text])
    if isinstance(expression, Chars):
        return _class(expression.ranges)
    if isinstance(expression, Sequence):
        return "".join([_grouped(p) if isinstance(p, Choice) else python_pattern(p) for p in expression.parts])
    if isinstance(expression, Choice):
        return "|".join([python_pattern(o) for o in expression.options]) if expression.options else "(?!)"
    if isinstance(expression, Repeat):
        body = expression.body
        simple = isinstance(body, Chars) or (isinstance(body, Literal) and len(body.text) == 1)
        return (python_pattern(body) if simple else _grouped(body)) + _quantifier(expression.least, expression.most)
    if isinstance(expression, Automaton):
        digest = hashlib.sha256(repr(expression).encode()).hexdigest()[:16]
        return f"(?#automaton {digest} of {len(expression.accepts)} states)"
    raise TypeError(f"a reference to {expression.name!r} has no pattern")


def _grouped(expression: Expression) -> str:
    return f"(?:{python_pattern(expression)})"


def _quantifier(least: int, most: int | None) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is not None:
        return short
    if most is None:
        return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _character(c: str) -> str:
    if c in _SPECIAL:
        return "\\" + c
    if c in _CONTROL:
        return _CONTROL[c]
    if c.isprintable():
        return c
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    if not ranges:
        return "(?!)"
    if ranges[-1][1] > MAX_CODE_POINT:
        characters = tuple([(low, min(high, MAX_CODE_POINT)) for low, high in ranges if low <= MAX_CODE_POINT])
        tokens = ",".join([f"{a}" if a == b else f"{a}-{b}" for a, b in tokens_of(Chars(ranges))])
        comment = f"(?#tokens {tokens if len(tokens) <= _LONGEST_LIST else hashlib.sha256(tokens.encode()).hexdigest()[:16]})"
        return f"(?:{_class(characters)}|{comment}(?!))" if characters else f"{comment}(?!)"
    if ranges[-1][1] == 0x10FFFF:  # nearly everything: what is left out is shorter
        gaps = []
        at = 0
        for low, high in ranges:
            if at < low and (at, low - 1) != (0xD800, 0xDFFF):
                gaps.append((at, low - 1))
            at = high + 1
        return f"[^{_ranges(gaps)}]" if gaps else r"[\x00-\U0010ffff]"
    return f"[{_ranges(ranges)}]"


def _ranges(ranges: list[tuple[int, int]] | tuple[tuple[int, int], ...]) -> str:
    written = []
    for low, high in ranges:
        dash = "-" if high - low > 1 else ""
        written.append(_character(chr(low)) if low == high else f"{_character(chr(low))}{dash}{_character(chr(high))}")
    return "".join(written)
