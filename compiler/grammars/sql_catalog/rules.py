"""Rules of a bundled grammar and of a dialect's catalogue, by name: which are needed, and which say what is a name of what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial

from psc.compiler.grammars import bundled_text
from psc.compiler.grammars.sql_catalog.catalogue import CatalogOptions
from psc.compiler.grammars.sql_catalog.names import Names, Role, Spelling

_RULE = re.compile(r"^([a-z_]+[0-9]*)(?:\{[a-z_, ]+\})?:.*\n(?:[ \t].*\n)*", re.MULTILINE)
_TERMINAL = re.compile(r"^([A-Z_]+)(?:\.\d+)?: .*\n(?:[ \t].*\n)*", re.MULTILINE)
_WORD = re.compile(r'"([a-z]+)"i')

# Rules that use each other are left in, though no text has them: so the lexer has their words, which are then no other names.
NEVER = """
never: never_either | RESERVED | NAME | WIDE_NAME | NO_NUMBER
never_either: never | RESERVED | NAME | WIDE_NAME | NO_NUMBER
"""
GUARDS = r"""
// Any other name: no name of the catalogue, but a word to the lexer, and what a column of a result may be called.
NAME.-4: /[a-zA-Z_][a-zA-Z0-9_$]*/
DOUBLE_QUOTED.-5: /"([^"]|"")*"/
// Not even a keyword, which has other letters of Unicode where case is ignored: a long s, a dotted i.
WIDE_NAME.1: /([a-zA-Z_][a-zA-Z0-9_$]*)?[\u0080-\U0010FFFF][a-zA-Z0-9_$\u0080-\U0010FFFF]*/
// `1max` and `$1max`, which no engine reads as two words.
NO_NUMBER.-1: /(\$?[0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[a-zA-Z_$\u0080-\U0010FFFF][a-zA-Z0-9_$\u0080-\U0010FFFF]*/
"""


@cache
def bundled_rules(name: str, titles: tuple[str, ...]) -> Mapping[str, str]:
    """The rules of a bundled grammar: those before its first title, and those below some of its titles."""
    parts = re.split(r"^// -+ ([a-z ,]+)\n", bundled_text(name), flags=re.MULTILINE)
    kept = [parts[0], *(body for title, body in zip(parts[1::2], parts[2::2], strict=True) if title in titles)]
    return rules_of("".join(kept))


@cache
def bundled_terminals(name: str) -> Mapping[str, str]:
    """The definitions of a bundled grammar's own terminals by name."""
    return {found[1]: found[0] for found in _TERMINAL.finditer(bundled_text(name))}


def rules_of(text: str) -> dict[str, str]:
    """The rules of a text by name."""
    return {found[1]: found[0] for found in _RULE.finditer(text)}


def reachable(rules: Mapping[str, str], start: str) -> set[str]:
    """The rules that a rule needs, itself included."""
    found, todo = {start}, [start]
    while todo:
        for name in re.findall(r"[a-z_]+[0-9]*", re.sub(r'"[^"]*"i?', " ", rules[todo.pop()])):
            if name in rules and name not in found:
                found.add(name)
                todo.append(name)
    return found


def names_in_rules(names: Names, changes: bool, more_functions: Sequence[str] = ()) -> str:
    """The rules that say which terminals are names of what."""
    numbers = range(len(names.tables))

    def is_free(role: Role, *kinds: str) -> bool:
        return role.table is None and any(kind in role.introduced for kind in kinds)

    functions = names.where(lambda role: role.function)
    written = [
        alternation("table_name", [f"TABLE_{number}" for number in numbers]),
        alternation("column", names.where(lambda role: role.columns)),
        alternation("star_of_table", [f'TABLE_{number} "." "*"' for number in numbers]),
        alternation("column_of_table", [f'TABLE_{number} "." columns_{number}' for number in numbers]),
        alternation("function_name", [*functions, *more_functions]),
        alternation("type_name", names.where(lambda role: role.type)),
        alternation("alias", ["ALIAS", "RESULT", *names.where(lambda role: is_free(role, "aliases", "results"))]),
        alternation("common_table", ["CTE", *names.where(lambda role: is_free(role, "ctes"))]),
        alternation("heading", ["NAME", "DOUBLE_QUOTED", "ALIAS", "RESULT", "CTE", *names.where(lambda role: True)]),
        alternation("result", ["RESULT", *names.where(lambda role: is_free(role, "results") and not role.columns)]),
    ]
    for number in numbers:
        written.append(alternation(f"columns_{number}", names.where(partial(_has_column, number))))
    if parts := names.where(lambda role: role.part_of_time):
        written.append(alternation("part_of_time", parts))
    if changes:
        statements = []
        for number, table in enumerate(names.tables):
            if table.written:
                written.append(alternation(f"written_{number}", names.where(partial(_is_written, number))))
                statements += [f"changed{{TABLE_{number}, written_{number}}}", f"removed{{TABLE_{number}}}"]
        written.append(alternation("data_change", statements))
    return "".join(written)


def read_results_anywhere(rules: dict[str, str], value: str, indent: int, reading: Iterable[str]) -> None:
    """Lets a rule of values read results, and takes that from the rules that did so before."""
    rules[value] += f"{' ' * indent}| result\n"
    for name in reading:
        rules[name] = re.sub(r" *\| result\b.*\n", "", rules[name])


def catalogue_grammar(
    about: str, rules: Mapping[str, str], names: Names, options: CatalogOptions, reserved: Set[str], terminals: Iterable[str]
) -> str:
    """The text of a grammar.

    Args:
        about: what its texts are.
        rules: by name, those that `start` does not need included.
        names: of the catalogue.
        options: of the names that a text introduces.
        reserved: words that are no names and stand in no terminal; those of the rules may be among them.
        terminals: the definitions of what is neither a word nor a name.
    """
    needed = reachable(rules, "start")
    written = "".join(text for name, text in rules.items() if name in needed) + NEVER
    return "".join(
        [
            "// psc: lexer=basic, case=ascii\n",
            f"// {about} that name what is in {len(names.tables)} tables.\n\n{written}\n",
            names.definitions(),
            *_introduced_terminals(names.spelling, options),
            GUARDS,
            f"RESERVED: /{'|'.join(sorted(reserved - words_in([written])))}/i\n",
            *terminals,
            "%ignore COMMENT\n%ignore WS\n",
        ]
    )


def alternation(name: str, alternatives: Sequence[str]) -> str:
    """A rule that is one of some terminals."""
    assert alternatives, name  # a rule of nothing would match the empty text
    return f"{name}: {' | '.join(alternatives)}\n"


def _has_column(table: int, role: Role) -> bool:
    return table in role.columns


def _is_written(table: int, role: Role) -> bool:
    return table in role.written


def words_in(rules: Iterable[str]) -> set[str]:
    """The keywords of rules."""
    return set(_WORD.findall("".join(rules)))


def _introduced_terminals(spelling: Spelling, options: CatalogOptions) -> Iterator[str]:
    """The terminals of names that a text introduces."""
    for name, priority, kind in (("CTE", -1, "ctes"), ("RESULT", -2, "results"), ("ALIAS", -3, "aliases")):
        yield f"{name}.{priority}: {spelling.introduced(options.introduced[kind])}\n"
