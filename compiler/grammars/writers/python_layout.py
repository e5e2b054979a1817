"""Writes the bundled grammar of Python, `python.lark`: rules as one would write them, copied by what layout makes of them.

    python -m psc.compiler.grammars.writers.python_layout

A context-free grammar does not know how far lines are indented, nor that a line end within brackets is a blank. Two copies say
so:

* *Within brackets.* Every expression has a copy for the inside of brackets (`…_in`), in which a line end may follow each token.
  What stands between brackets is in this copy, whatever is around it.
* *Columns.* A line begins with the terminal of its column, `LINE_4`, which is all blank lines and comments before it, and its
  blanks. For each column there is a copy of the rules that say how lines follow each other in a block, some forty; what is on a
  line is there once. A block within a block is of a column further right: `body_4` is a block of any column after 4. A block
  ends before a line of another column, which the parser sees as its next terminal. So the open columns are on the parser's
  stack, and a mask knows them.

What may follow a compound statement at its column depends on it, so there is a kind of block for each: `if_4` is a block of
column 4 whose last statement is an if that may go on. A text may end without a line end: `last_4` is a block of which the last
line is such.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from psc.compiler.grammars.writers import sections, write

_TEXTS: Final = sections("python_layout")

SPACES: Final = (*range(1, 13), *range(14, 25, 2), *range(28, 49, 4))
"""Numbers of spaces that may indent a block: those of real files, since each column costs a hundred LR states."""
TABS: Final = tuple(range(1, 7))
"""Numbers of tabs that may indent a block."""

# Rules are written as in Lark's language, one alternative a line. `!X` is a terminal that no line end follows even within brackets.

EXPRESSIONS: Final = _TEXTS["expressions"]

# Of a string in one kind of quotes; what is between its fields is lexed by itself. A field within a format is one of its own,
# since what is after it is lexed otherwise.
FORMATTED: Final = _TEXTS["formatted"]
STATEMENTS: Final = _TEXTS["statements"]

# What a subject does not begin with: `match` before it is a name.
NO_SUBJECT: Final = frozenset(['"("', '"["', '"+"', '"-"', '"*"', '"not"'])

HEADS: Final = (
    "definition", "with", "if", "elif", "else", "loop", "try", "except", "except_group", "finally", "case",
)  # fmt: skip

TERMINALS: Final = _TEXTS["terminals"]

KEYWORDS: Final = tuple(keyword.kwlist)

HEADER: Final = _TEXTS["header"]

Alternative = tuple[str, ...]
Rules = dict[str, list[Alternative]]

_OPENING: Final = {'"("', '"["', '"{"'}
_CLOSING: Final = {'")"', '"]"', '"}"'}
_NAMES: Final = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ":": "COLON", ".": "DOT",
    "=": "EQUAL", ":=": "WALRUS", "*": "STAR", "**": "DOUBLE_STAR", "+": "PLUS", "-": "MINUS", "~": "TILDE", "/": "SLASH",
    "@": "AT",
    "|": "BAR", "...": "ELLIPSIS", "!": "BANG", "->": "ARROW", ";": "SEMICOLON",
}  # fmt: skip


def grammar() -> str:
    """The text of `python.lark`."""
    expressions, statements = parse(EXPRESSIONS + lambda_parameters() + parameters()), parse(STATEMENTS)
    for quote in ("double", "single", "long_double", "long_single"):
        upper = FORMATTED.replace("TEXT_QUOTE", f"TEXT_{quote.upper()}").replace("SPEC_QUOTE", f"SPEC_{quote.upper()}")
        statements |= parse(upper.replace("QUOTE", quote))
    statements["match_open"] = [tuple("first_subject" if s == "subject" else s for s in a) for a in statements["match_open"]]
    statements |= first_restricted("subject", expressions | statements, NO_SUBJECT)
    once = {name: [laid_out(a, expressions, within=False) for a in alternatives] for name, alternatives in statements.items()}
    outside = {name: [laid_out(a, expressions, within=False) for a in alternatives] for name, alternatives in expressions.items()}
    inside = {
        name + "_in": [laid_out(a, expressions, within=True) for a in alternatives] for name, alternatives in expressions.items()
    }
    rules = once | outside | inside
    rules["line_end"] = [("NEWLINE",), ("line_end", "NEWLINE")]
    for name, terminal in wrapped_terminals(rules).items():
        rules[name] = [(terminal,), (terminal, "line_end")]
    rules = lines() | heads() | rules
    return HEADER + text_of(reachable(rules, "start")) + TERMINALS.replace("KEYWORDS", "|".join(KEYWORDS)) + line_terminals()


def parse(text: str) -> Rules:
    """Rules by name, from Lark's notation without groups."""
    rules: Rules = {}
    name = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("//"):
            continue
        head, found, rest = line.partition(": ") if line[0].isalpha() else ("", "", line.strip().removeprefix("|"))
        name = head if found else name
        rules.setdefault(name, []).extend(tuple(alternative.split()) for alternative in re.split(r" \| ", rest))
    return rules


def laid_out(alternative: Alternative, copied: Mapping[str, object], *, within: bool) -> Alternative:
    """An alternative with the copies of its symbols that are meant, where it stands within brackets or not."""
    inside, out = [within], []
    for symbol in alternative:
        bare = symbol.removeprefix("!").removesuffix("?")
        if bare in _CLOSING:
            inside.pop()
        if bare in copied:
            bare += "_in" if inside[-1] else ""
        elif symbol[0] != "!" and (inside[-1] or bare in _OPENING) and is_terminal(bare):
            bare = wrapper(bare)
        out.append(bare + "?" * symbol.endswith("?"))
        if bare in map(wrapper, _OPENING):
            inside.append(True)
    return tuple(out)


def is_terminal(symbol: str) -> bool:
    bare = symbol.removeprefix("!")
    return bare[0] == '"' or bare[0].isupper()


def wrapper(terminal: str) -> str:
    """The rule of a terminal that line ends may follow."""
    bare = terminal.strip('"')
    return _NAMES.get(bare, bare).lower() + "_nl"


def wrapped_terminals(rules: Rules) -> dict[str, str]:
    """The wrappers that rules ask for, and of which terminals they are."""
    strings = {f'"{text}"' for text in (*_NAMES, *KEYWORDS, "match", "case", "type")}
    upper = set(re.findall(r"^([A-Z][A-Z_]*)(?=[.:])", TERMINALS, re.MULTILINE))
    by_name = {wrapper(t): t for t in strings | upper}
    asked_for = {s.removesuffix("?") for alternatives in rules.values() for a in alternatives for s in a}
    return {name: by_name[name] for name in sorted(asked_for & by_name.keys())}


def first_restricted(root: str, rules: Rules, refused: frozenset[str]) -> Rules:
    """Copies `first_…` of the rules that a text of `root` may begin with, less what begins with a terminal that is refused."""
    out: Rules = {}
    todo = [root]
    while todo:
        name = todo.pop()
        if "first_" + name in out:
            continue
        out["first_" + name] = []
        for first, *rest in rules[name]:
            if is_terminal(first):
                if first not in refused:
                    out["first_" + name].append((first, *rest))
            else:
                out["first_" + name].append(("first_" + first, *rest))
                todo.append(first)
    while empty := {name for name, alternatives in out.items() if not alternatives}:
        out = {name: [a for a in alternatives if a[0] not in empty] for name, alternatives in out.items() if name not in empty}
    return out


def lambda_parameters() -> str:
    """Rules of a lambda's parameters."""
    return "lambda_parameter: name\nlambda_rest: name\n" + _parameters("lambda_")


def parameters() -> str:
    """Rules of a function's parameters."""
    return """parameter: name | name ":" expression
rest: name | name ":" expression | name ":" "*" sum
""" + _parameters("")


def _parameters(p: str) -> str:
    # In this order: parameters without a default and with one, each before and after `/`; then after `*`; then after `**`.
    leading = [f"{p}bare", f"{p}bare_slash", f"{p}given", f"{p}given_slash"]
    bare, bare_slash, given, given_slash = leading
    star, double = f"{p}starred", f"{p}doubled"

    def after(names: Iterable[str], what: str) -> str:
        return "".join(f' | {name} "," {what}' for name in names)

    stars = f'"*" {p}rest | "*" "," {p}keyword_only' + after(leading, f'"*" {p}rest') + after(leading, f'"*" "," {p}keyword_only')
    every = " | ".join(f'{name} ","?' for name in [*leading, star, double])
    return f"""
{p}default: {p}parameter "=" expression
{p}keyword_only: {p}parameter | {p}default
{bare}: {p}parameter{after([bare], f"{p}parameter")}
{bare_slash}: {bare} "," "/"{after([bare_slash], f"{p}parameter")}
{given}: {p}default{after([bare, given], f"{p}default")}
{given_slash}: {given} "," "/"{after([bare_slash, given_slash], f"{p}default")}
{star}: {stars}{after([star], f"{p}keyword_only")}
{double}: "**" {p}parameter{after([*leading, star], f'"**" {p}parameter')}
{p}parameters: {every}
"""


# Kinds of a block by its last statement: those with which it may be over, and two that something has to follow.
_DONE: Final = ("plain", "if", "loop", "except", "except_group", "tried")


def column_names() -> dict[str, list[str]]:
    """The columns, each with the next ones further right."""
    right: dict[str, list[str]] = {"0": []}
    for name, widths in (("", SPACES), ("t", TABS)):
        before = "0"
        for n in widths:
            right[before].append(f"{name}{n}")
            right[f"{name}{n}"] = []
            before = f"{name}{n}"
    return right


def line(column: str) -> str:
    return f"LINE_{column.upper()}"


def lines() -> Rules:
    """How lines follow each other, column by column."""
    rules: Rules = {
        "start": [
            (*before, *text)
            for before in [(), ("leading",)]
            for text in [(), ("REST",), ("block_0",), ("block_0", "REST"), ("last_0",)]
        ],
        "leading": [("BLANK",), ("leading", "BLANK")],
    }
    for column, right in column_names().items():
        rules |= _blocks(column, right)
    return rules


def _blocks(c: str, right: Sequence[str]) -> Rules:
    begin = (f"begin_{c}",)
    margin = () if c == "0" else (line(c),)

    def after(*kinds: str) -> list[Alternative]:
        """At the beginning of a line after a block of these kinds."""
        return [(f"{kind}_{c}", *margin) for kind in kinds]

    def clauses(head: str, *before: Alternative) -> list[Alternative]:
        return [a for b in before for a in [(*b, f"{head}_line")] + ([(*b, f"{head}_open", f"body_{c}")] if right else [])]

    tries = after("try", "except", "except_group", "tried")
    rules: Rules = {
        "begin": [margin, *after(*_DONE)],
        "plain": [
            (*begin, "simple"),
            *clauses("definition", begin, *after("decorated")),
            *clauses("with", begin),
            *([(*begin, "match_open", f"match_{c}")] if right else []),
            *clauses("else", *after("if", "loop")),
            *clauses("finally", *tries),
        ],
        "if": [*clauses("if", begin), *clauses("elif", *after("if"))],
        "loop": clauses("loop", begin),
        "try": clauses("try", begin),
        "except": clauses("except", *after("try", "except")),
        "except_group": clauses("except_group", *after("try", "except_group")),
        "tried": clauses("else", *after("except", "except_group")),
        "decorated": [(*begin, "decorator"), *((*a, "decorator") for a in after("decorated"))],
        "block": [(f"{kind}_{c}",) for kind in _DONE],
    }
    lasts = {f"body_{c}": f"last_body_{c}", f"match_{c}": f"last_match_{c}", "simple": "last_statements"}

    def last(alternatives: Iterable[Alternative]) -> list[Alternative]:
        """With the end of the text in the place of the last line's end."""
        return [(*before, lasts.get(end, re.sub("_line$", "_last", end))) for *before, end in alternatives]

    rules["last"] = last(a for kind in _DONE for a in rules[kind])
    if right:
        rules["body"] = [(f"{what}_{r}",) for r in right for what in ("block", "body")]
        rules["match"] = [(f"{what}_{r}",) for r in right for what in ("cases", "match")]
        rules["last_body"] = [(f"{what}_{r}",) for r in right for what in ("last", "last_body")]
        rules["last_match"] = [(f"{what}_{r}",) for r in right for what in ("last_cases", "last_match")]
    if c != "0":
        rules["cases"] = clauses("case", (line(c),), (f"cases_{c}", line(c)))
        rules["last_cases"] = last(rules["cases"])
    return {f"{name}_{c}": alternatives for name, alternatives in rules.items()}


def heads() -> Rules:
    """What is on a compound statement's first line: all of it, nothing behind the colon, or the end of the text."""
    rules: Rules = {}
    for head in HEADS:
        rules[f"{head}_line"] = [(f"{head}_head", "simple")]
        rules[f"{head}_open"] = [(f"{head}_head", "line_break")]
        rules[f"{head}_last"] = [(f"{head}_head", "last_statements")]
    return rules


def line_terminals() -> str:
    """The terminals of the columns."""
    out = [""]
    for column in list(column_names())[1:]:
        blank, n = ("\\t", int(column[1:])) if column[0] == "t" else (" ", int(column))
        out.append(f"{line(column)}.3: /{blank}{{{n}}}/")
    return "\n".join(out) + "\n"


def reachable(rules: Rules, start: str) -> Rules:
    """The rules that a text needs, in their order; without those that only a column too far right would end."""
    while missing := {
        name for name, alternatives in rules.items() for a in alternatives for s in a if _rule(s) and _rule(s) not in rules
    }:
        known = rules
        rules = {
            n: [a for a in alternatives if all(not _rule(s) or _rule(s) in known for s in a)] for n, alternatives in known.items()
        }
        rules = {n: alternatives for n, alternatives in rules.items() if alternatives or n not in missing}
    found, todo = {start}, [start]
    while todo:
        for symbol in {_rule(s) for a in rules[todo.pop()] for s in a} - {""} - found:
            found.add(symbol)
            todo.append(symbol)
    return {name: alternatives for name, alternatives in rules.items() if name in found}


def _rule(symbol: str) -> str:
    bare = symbol.removesuffix("?")
    return "" if is_terminal(bare) else bare


def text_of(rules: Rules) -> str:
    return "".join(
        f"{name}: " + ("\n" + " " * len(name) + "| ").join(" ".join(a) for a in alternatives) + "\n"
        for name, alternatives in rules.items()
    )


def main() -> None:
    """Writes the file."""
    write("python.lark", grammar())


if __name__ == "__main__":
    main()
