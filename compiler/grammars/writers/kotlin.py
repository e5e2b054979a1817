r"""Writes the bundled grammar of Kotlin, `kotlin.lark`: rules as one would write them, copied by what a line end means.

    python -m psc.compiler.grammars.writers.kotlin

In Kotlin a line end ends a statement where what is behind it cannot go on, and within parentheses and brackets it says nothing,
until braces make it count again. Three devices say this to a parser that sees one token:

*Line ends.* `NL` is all blanks and comments up to the next token, if there is a line end among them; other blanks are ignored. A
token that only continues something (`)`, `,`, `.`, `?:`, `&&`) takes line ends before it into its own terminal. A token after
which something has to follow may be followed by `NL`: it is marked `~` here. What may stand before or behind a line end, such as
the `=` of a declaration, says so in its rule, and the parser follows both ways until the next token shows which it is.

*Two copies.* A rule whose name ends in `_L` has a copy for lines and one within parentheses, `_p`. There `NL_L` is a line end that
says nothing, and it stands behind every operand; in the copy for lines it is nothing. An alternative marked `{l}` or `{p}` is only
in that copy. What is within brackets of its own is the same in both, so a copy is little more than operators.

*Open ends.* An expression that ends with another expression (`if (a) b else c`, `return a`) takes all that follows into that one.
So it stands only at the end of operators, and a body in braces is a lambda.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.grammars.writers import Rules, needed, sections, text_of, write

_TEXTS: Final = sections("kotlin")
COPIES: Final = {"l": "", "p": "_p"}


def read(text: str) -> Rules:
    """The rules of a text, symbol by symbol; their marks are symbols, too."""
    rules: Rules = {}
    for rule in re.split(r"\n(?=\w+:)", re.sub(r"^//.*\n", "", text, flags=re.MULTILINE).strip()):
        name, _, alternatives = rule.partition(":")
        assert name not in rules, f"two rules are called {name}"
        rules[name] = [alternative.split() for alternative in re.split(r"(?:^|\s)\|\s", alternatives)]
    return rules


def copied(symbol: str, copy: str) -> str:
    """What a symbol of a rule is in one of its copies; nothing where it is not there."""
    if symbol == "NL_L":
        return "NL?" if copy == "p" else ""
    return re.sub(r"_L(?=\??$)", COPIES[copy], symbol)


def expanded(rules_once: Rules) -> Rules:
    """Rules with their copies."""
    rules: Rules = {}
    for name, alternatives in rules_once.items():
        for copy in COPIES if name.endswith("_L") else "l":
            assert copied(name, copy) not in rules, f"two rules are called {copied(name, copy)}"
            rules[copied(name, copy)] = [
                [s for symbol in alternative if symbol[0] != "{" and (s := copied(symbol, copy))]
                for alternative in alternatives
                if all(symbol[1] == copy for symbol in alternative if symbol[0] == "{")
            ]
    return rules


def with_lines(rules: Rules) -> Rules:
    """Rules with those of the tokens marked `~`, behind which a line end says nothing."""
    tokens: Rules = {}

    def rule_of(token: str) -> str:
        bare = token.strip('"')
        name = (bare.lower() if bare.isidentifier() else _SPOKEN[bare]) + "_nl"
        assert tokens.setdefault(name, [[token], [token, "NL"]])[0] == [token], f"two rules are called {name}"
        return name

    out = {
        name: [[rule_of(s[1:]) if s[0] == "~" else s for s in alternative] for alternative in alternatives]
        for name, alternatives in rules.items()
    }
    return out | tokens


_SPOKEN: Final = {
    "{": "lbrace",
    "(": "lpar",
    "[": "lsqb",
    "<": "less",
    "!": "not",
    "&": "and_type",
    "=": "assign",
    "+": "plus",
    "-": "minus",
    "*": "star",
    "::": "double_colon",
}


def grammar() -> str:
    """The text of the file."""
    rules = needed(with_lines(expanded(read(_TEXTS["rules"]))), suffixes="?*+", terminals="[A-Z_0-9]+")
    return _TEXTS["header"] + text_of(rules) + _TEXTS["terminals"]


def main() -> None:
    """Writes the file."""
    write("kotlin.lark", grammar())


if __name__ == "__main__":
    main()
