"""Writers of the bundled grammars that are too regular to write by hand: run one as a module and it writes its files.

The rules and terminals that a writer starts from are in the text file of its name, in sections headed ``==== NAME``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

Rules = dict[str, list[list[str]]]
"""The alternatives of each rule, as lists of symbols in Lark's spelling."""


def sections(writer: str) -> dict[str, str]:
    """The texts of a writer's file by the names of their sections. Raises OSError where it is not there."""
    parts = ("\n" + Path(__file__).with_name(f"{writer}.txt").read_text(encoding="utf-8")).split("\n==== ")
    return {name: text.removesuffix("\n") + "\n" for name, _, text in (part.partition("\n") for part in parts[1:])}


def needed(rules: Rules, *, suffixes: str, terminals: str) -> Rules:
    """The rules that a text needs, in their order.

    Args:
        rules: all of them; a text is of the rule `start`.
        suffixes: the characters that may stand behind a symbol, such as ``?``.
        terminals: the pattern of the names that are no rules. Raises KeyError for another symbol without a rule.
    """
    found, todo = {"start"}, ["start"]
    while todo:
        for symbol in {s[:-1] if s[-1] in suffixes else s for alternative in rules[todo.pop()] for s in alternative} - found:
            if symbol in rules:
                found.add(symbol)
                todo.append(symbol)
            elif not re.fullmatch(rf'"[^"]+"|{terminals}', symbol):
                raise KeyError(f"there is no rule {symbol}")
    return {name: alternatives for name, alternatives in rules.items() if name in found}


def text_of(rules: Rules, priority_of: Callable[[str], str] = lambda name: "") -> str:
    """Rules in Lark's language, with what `priority_of` puts behind a rule's name, such as ``.2``."""
    return "".join(
        f"{name}{priority_of(name)}: " + ("\n" + " " * len(name) + "| ").join(" ".join(a) for a in alternatives) + "\n"
        for name, alternatives in rules.items()
    )


def write(name: str, text: str) -> None:
    """Writes the file of a bundled grammar, such as ``java.lark``. Raises OSError where it cannot be written."""
    Path(__file__).parents[1].joinpath(name).write_text(text, encoding="utf-8")
