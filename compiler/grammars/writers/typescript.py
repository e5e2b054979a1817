r"""Writes the bundled grammar of TypeScript, `typescript.lark`: JavaScript's rules, with types.

    python -m psc.compiler.grammars.writers.typescript

The rules are those of `ecmascript`, and what is here: a rule of the same name takes the place of one there, and `+name:` adds
alternatives to it. What only looking far ahead tells apart (type arguments from comparisons, an arrow function's result from the
end of a choice) is left ambiguous: the grammar keeps all actions, and both ways are followed as long as both are possible.
"""

from __future__ import annotations

from typing import Final

from psc.compiler.grammars.writers import Rules, ecmascript, sections, write
from psc.compiler.grammars.writers.ecmascript import merged, read, without, written

_TEXTS: Final = sections("typescript")

HEADER: Final = _TEXTS["header"]
TOKENS: Final = _TEXTS["tokens"]
RULES: Final = _TEXTS["rules"]
ASSERTIONS: Final = _TEXTS["assertions"]
TERMINALS: Final = _TEXTS["terminals"]


def rules() -> Rules:
    """JavaScript's rules and these, less assertions."""
    return merged(read(ecmascript.TOKENS + ecmascript.RULES), TOKENS + RULES)


def terminals() -> str:
    """JavaScript's terminals and these."""
    return without(ecmascript.TERMINALS, "INFIX", "LOGICAL", "COMPOUND") + TERMINALS


def grammar() -> str:
    """The text of the file."""
    return HEADER + written(merged(rules(), ASSERTIONS)) + terminals()


def main() -> None:
    """Writes the file."""
    write("typescript.lark", grammar())


if __name__ == "__main__":
    main()
