r"""Bounded layout, whatever language a grammar is in: the settings that a name ends in, and runs of blanks that are cut.

Where a grammar ignores its layout, `psc.compiler.frontends.lark.layout` bounds it. In EBNF blanks are parts of rules. A run of
them is a class of blanks that is repeated, and `cut` counts it:

    ws ::= [ \t]*        becomes        ws ::= [ \t]{0,60}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from psc.compiler.frontends.front_end import NO_SETTINGS, Settings
from psc.errors import GrammarError
from psc.support.cached_property import cached_property
from psc.support.readable import shortened

_MAX = 1000
BOUNDED: Final = 60
"""Blanks between two words where a caller names no number: an empty line, and nine levels of four spaces with room to align."""
_REPEATED: Final = re.compile(r"(\\.|\[(?:\\.|[^\]\\])*\]|.)([*+])(?![?+])", re.DOTALL)
_OF_BLANKS: Final = re.compile(r"\[(?:[ \t\n\r\f\v]|\\[tnrfv])+\]|[ \t\n\r\f\v]|\\[tnrfv]")


@dataclass(frozen=True, kw_only=True)
class LayoutSettings(Settings):
    """The options of a grammar whose layout can be bounded. Raises GrammarError for a bound that is none."""

    max_blanks: int

    def __post_init__(self) -> None:
        if type(self.max_blanks) is not int or not 1 <= self.max_blanks <= _MAX:
            raise GrammarError(f"layout: between two words may be 1 to {_MAX} blanks, not {self.max_blanks!r:.40}")

    @cached_property
    def text(self) -> str:
        return json.dumps({"max_blanks": self.max_blanks})

    @staticmethod
    def of_text(text: str) -> LayoutSettings:
        """The settings with a text. Raises GrammarError where there are none."""
        try:
            given = json.loads(text)
            if not isinstance(given, dict) or set(given) != {"max_blanks"}:
                raise ValueError
        except ValueError as e:
            raise GrammarError(f"the settings of a grammar are malformed: {text[:80]!r}") from e
        return LayoutSettings(**given)


def named(option: str) -> Settings:
    """The settings that a grammar's name ends in, `layout=bounded` or `layout=any`, the default. Raises GrammarError."""
    if option == "layout=bounded":
        return LayoutSettings(max_blanks=BOUNDED)
    if option not in ("", "layout=any"):
        raise GrammarError(f"?{shortened(option)}: a bundled grammar has the option layout=bounded or layout=any, and no other")
    return NO_SETTINGS


def cut(rules: str, most: int) -> str:
    """Rules in EBNF with at most this number of blanks where a class of them is repeated."""

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]}{{{0 if found[2] == '*' else 1},{most}}}" if _OF_BLANKS.fullmatch(found[1]) else found[0]

    return _REPEATED.sub(counted, rules)
