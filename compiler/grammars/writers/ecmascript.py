r"""Writes the bundled grammar of JavaScript, `javascript.lark`: rules as one would write them, copied by where they stand.

    python -m psc.compiler.grammars.writers.ecmascript

ECMAScript's own grammar looks further ahead than one token, and its parser may put in semicolons. Three devices say the same to
an LALR(1) parser:

*Line ends.* `NL` is all blanks and comments up to the next token, if there is a line end among them; other blanks are ignored. A
token that only continues something (`)`, `,`, `*`, `.`) takes line ends before it into its own terminal, since no semicolon is
put in before it. A token after which something has to follow may be followed by `NL`: the rules of TOKENS. So `NL` is left between
an end and a beginning, where it is a semicolon. Of what both continues and begins, such as `(`, there are two terminals, `LPAR` and
`NL_LPAR` with line ends before it. After `a` the parser shifts either; after `a++`, which no `(` continues, it reduces and takes
`NL_LPAR` as the beginning of the next statement. That a shift wins over a reduction is thus the rule of the standard, that a
semicolon is put in only before a token that cannot go on.

*Patterns.* What is before `=` or `=>` is known to be a pattern only there. Expressions are therefore of disjoint kinds, by what
they may turn out to be: `name`; `member` (a target, no binding); `open` (literals that may turn out to be patterns);
`pattern_only` (`{a = 1}`); `defaulted` and `assigned` (the first three and `member`, with `= value`); `other`. So a list has one
derivation for each of its kinds.

*Where an expression stands.* Some may not begin with `{`, `function`, `class`, and in the head of a for there is no `in`. A rule
whose name ends in `_V` has a copy for each of STARTS, one in `_I` a second one without `in`, and one in `_VI` those of COPIES. An
alternative marked `{…}` is only in the copies that the mark names, or, after a `-`, not in these. What continues an expression
is the same in all copies, so it is rules of its own (`member_tail`, `infix_I`), and a copy is little more than what it begins with.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.grammars.writers import Rules, needed, sections, text_of, write

_TEXTS: Final = sections("ecmascript")

STARTS: Final = {"e": "", "s": "_at_statement", "b": "_at_body", "d": "_at_default", "t": "_at_line"}
"""Where an expression begins: anywhere; a statement; the body of an arrow function; behind `export default`; and a statement that
begins with one of the tokens that take line ends before them, behind one that is not ended otherwise."""
COPIES: Final = ("e", "en", "s", "b", "bn", "d", "t")
"""Letters of STARTS, with `n` without `in`."""

HEADER: Final = _TEXTS["header"]

# Tokens after which a line end says nothing. `~"x"` in the rules is one, too.
TOKENS: Final = _TEXTS["tokens"]
RULES: Final = _TEXTS["rules"]


PRIORITIES: Final = {"head": ".4", "object": ".3", "left": ".2", "get_nl": ".2", "set_nl": ".2", "static_nl": ".2"}
"""Of two reductions, which: what a token can continue, it continues."""
SPOKEN: Final = {'"!"': "not_nl", '"~"': "complement_nl", '"@"': "at_nl"}

TERMINALS: Final = _TEXTS["terminals"]


def read(text: str) -> Rules:
    """The rules of a text, symbol by symbol; their marks are symbols, too."""
    rules: Rules = {}
    for rule in re.split(r"\n(?=\+?\w+:)", re.sub(r"^//.*\n", "", text, flags=re.MULTILINE).strip()):
        name, _, alternatives = rule.partition(":")
        assert name not in rules, f"two rules are called {name}"
        rules[name] = [alternative.split() for alternative in alternatives.split("|")]
    return rules


def merged(rules: Rules, changes: str) -> Rules:
    """Rules with those of a text in their places; `+name` adds alternatives to a rule."""
    out = dict(rules)
    for name, alternatives in read(changes).items():
        bare = name.removeprefix("+")
        out[bare] = out[bare] + alternatives if name != bare else alternatives
    return out


def copies(name: str) -> tuple[str, ...]:
    """Of a rule: a letter of STARTS, and perhaps `n`."""
    if name.endswith("_VI"):
        return COPIES
    if name.endswith("_V"):
        return tuple(STARTS)
    return ("e", "en") if name.endswith("_I") else ("e",)


def copied(symbol: str, copy: str) -> str:
    """What a symbol of a rule is in one of its copies: `_EI` and `_BI` begin anywhere and an arrow function's body."""
    start, no_in = STARTS[copy[0]], "_no_in" if copy.endswith("n") else ""
    names = {"_VI": start + no_in, "_EI": no_in, "_BI": STARTS["b"] + no_in, "_V": start, "_I": no_in}
    ending = re.search(r"(?<=[a-z])_(VI|EI|BI|V|I)$", symbol)
    return symbol[: ending.start()] + names[ending[0]] if ending else symbol


def stands(mark: str, copy: str) -> bool:
    """Whether an alternative of this mark is in a copy."""
    return not set(mark) & set(copy) if mark.startswith("-") else copy[0] in mark


def expanded(rules_once: Rules) -> Rules:
    """Rules with all their copies."""
    rules: Rules = {}
    for name, alternatives in rules_once.items():
        for copy in copies(name):
            assert copied(name, copy) not in rules, f"two rules are called {copied(name, copy)}"
            rules[copied(name, copy)] = [
                [copied(symbol, copy) for symbol in alternative if symbol[0] != "{"]
                for alternative in alternatives
                if all(stands(symbol[1:-1], copy) for symbol in alternative if symbol[0] == "{")
            ]
    return rules


def with_lines(rules: Rules) -> Rules:
    """Rules with those of the tokens marked `~`, behind which a line end says nothing."""
    tokens: Rules = {}

    def rule_of(token: str) -> str:
        name = SPOKEN.get(token) or token.strip('"').lower() + "_nl"
        tokens[name] = [[token], [token, "NL"]]
        return name

    out = {
        name: [[rule_of(s[1:]) if s[0] == "~" else s for s in alternative] for alternative in alternatives]
        for name, alternatives in rules.items()
    }
    return out | tokens


def written(rules: Rules) -> str:
    """Rules with marks, as rules of a file."""
    rules = needed(with_lines(expanded(rules)), suffixes="?", terminals="[A-Z_]+")
    return text_of(rules, lambda name: PRIORITIES.get(name.split("_at_")[0], ""))


def without(terminals: str, *names: str) -> str:
    """A text of terminals less those of these names, which have a line each."""
    return "".join(line for line in terminals.splitlines(keepends=True) if line.partition(":")[0] not in names)


def grammar() -> str:
    """The text of the file."""
    return HEADER + written(read(TOKENS + RULES)) + TERMINALS


def main() -> None:
    """Writes the file."""
    write("javascript.lark", grammar())


if __name__ == "__main__":
    main()
