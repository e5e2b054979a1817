r"""Writes the bundled grammars `jsx.lark` and `tsx.lark`: JavaScript and TypeScript with the elements of JSX.

    python -m psc.compiler.grammars.writers.elements

The rules are those of `ecmascript`, with those of `typescript` for TSX, and what is here.

*Tags and texts* are lexed by what may stand there: all terminals of JSX win over blanks, so a modal lexer tries them only where
the parser can take one of them, and there it leaves nothing out. Within tags each takes the blanks before it into itself.

*What is behind an element* is lexed by where the element stands: in an expression, in another element, or as the value of an
attribute. So the rule of what ends an element has a copy for each, and its last `>` is of a state of its own.

*No `<` continues an element*, as in `<a/><b/>`, which would otherwise be comparisons. So expressions that end with an element
are of a kind of their own, which the operators but `<` go on.
"""

from __future__ import annotations

from typing import Final

from psc.compiler.grammars.writers import Rules, ecmascript, sections, typescript, write
from psc.compiler.grammars.writers.ecmascript import merged, read, without, written

_TEXTS: Final = sections("elements")

JSX_HEADER: Final = _TEXTS["jsx_header"]
TSX_HEADER: Final = _TEXTS["tsx_header"]
TOKENS: Final = _TEXTS["tokens"]
RULES: Final = _TEXTS["rules"]
TYPED_RULES: Final = _TEXTS["typed_rules"]
LT_TERMINALS: Final = _TEXTS["lt_terminals"]
TERMINALS: Final = _TEXTS["terminals"]
TYPED_TERMINALS: Final = _TEXTS["typed_terminals"]


def with_elements(rules: Rules) -> Rules:
    """Rules in which operators that begin with `<` are separate from the others, which may also follow an element."""
    less = [["lt"], ["LT", "lt"], ["NL_LT", "lt"]]
    others = [alternative for alternative in rules["operator"] if alternative not in less]
    typed = [alternative for alternative in rules["operator"] if alternative in less[1:]]
    return rules | {"operator": [["lt"], *typed, ["operator_at_jsx"]], "operator_at_jsx": others}


def jsx() -> str:
    """The text of `jsx.lark`."""
    rules = with_elements(merged(read(ecmascript.TOKENS + ecmascript.RULES), TOKENS + RULES))
    return JSX_HEADER + written(rules) + without(ecmascript.TERMINALS, "INFIX") + LT_TERMINALS + TERMINALS


def tsx() -> str:
    """The text of `tsx.lark`."""
    rules = with_elements(merged(merged(typescript.rules(), TOKENS + RULES), TYPED_RULES))
    return TSX_HEADER + written(rules) + typescript.terminals() + TERMINALS + TYPED_TERMINALS


def main() -> None:
    """Writes the files."""
    write("jsx.lark", jsx())
    write("tsx.lark", tsx())


if __name__ == "__main__":
    main()
