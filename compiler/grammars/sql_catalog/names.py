r"""Names of a catalogue to terminals that share no text, so that a lexer that tries all of them reads each name as one.

A name may be a table's, a column's of some tables and a function's at once. Names that are the same of everything are one terminal:

    singer, concert          tables          TABLE_0, TABLE_1
    name                     a column of both, and no more      NAME_0
    year                     a column of the second, and a function    NAME_1

A rule then says what may stand at a place as an alternation of terminals, and the parser never asks which of two a name was.

Cost: one pass over all names. There are at most as many terminals as names. Fifty tables of twenty columns
have about 100, because they share columns such as ids and dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from psc.compiler.grammars.sql_catalog.catalogue import Table
from psc.errors import GrammarError
from psc.support.readable import shortened

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*", re.ASCII)


@dataclass(frozen=True)
class Role:
    """What a name is."""

    table: int | None = None
    """The number of the table with this name."""
    columns: frozenset[int] = frozenset()
    """Numbers of the tables that have a column of this name."""
    written: frozenset[int] = frozenset()
    """Those of them that may be written there."""
    function: bool = False
    type: bool = False
    part_of_time: bool = False
    introduced: frozenset[str] = frozenset()
    """Which of the patterns of introduced names match it."""


@dataclass(frozen=True)
class Spelling:
    """How a dialect writes names."""

    fold: Callable[[str], str]
    """What two names of the catalogue have in common that are one name to the engine."""
    is_bare: Callable[[str], bool]
    """Whether a folded name may be written without quotes, keywords left aside."""
    quotes: Sequence[tuple[str, str]]
    """Opening and closing quotes; a closing one within a name is doubled, but for a bracket, which it cannot have."""
    folds_quoted: bool
    """Whether case does not matter within quotes, either."""
    keywords: frozenset[str]
    """Words that are names in quotes alone."""
    every_quote: bool
    """Whether a name that needs no quotes may be in any of them, and not in the first alone."""

    def pattern(self, names: Iterable[str]) -> str:
        """A regular expression in Lark's slashes that matches the spellings of folded names, and no other text."""
        names = sorted(names)
        bare = [name for name in names if self.is_bare(name) and name not in self.keywords]
        parts = [f"(?ai:{'|'.join(map(re.escape, bare))})"] if bare else []
        for number, (opening, closing) in enumerate(self.quotes):
            quotable = [name for name in names if closing != "]" or "]" not in name]
            if number and not self.every_quote:
                quotable = [name for name in quotable if name not in bare]
            if quotable:
                written = "|".join(re.escape(name if closing == "]" else name.replace(closing, closing * 2)) for name in quotable)
                parts.append(self._quoted(opening, written, closing))
        return _in_slashes("|".join(parts))

    def introduced(self, pattern: str) -> str:
        """The same for names that a pattern matches."""
        quotes = self.quotes if self.every_quote else self.quotes[:1]
        return _in_slashes("|".join([f"(?ai:{pattern})", *(self._quoted(a, pattern, b) for a, b in quotes)]))

    def _quoted(self, opening: str, pattern: str, closing: str) -> str:
        return f"{re.escape(opening)}{'(?ai:' if self.folds_quoted else '(?:'}{pattern}){re.escape(closing)}"


@dataclass
class _Found:
    """What a name is of in the catalogue."""

    table: int | None = None
    columns: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)


def _in_slashes(pattern: str) -> str:
    return "/" + pattern.replace("/", "\\/") + "/"


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def is_plain(name: str) -> bool:
    """Whether a folded name is one word of ASCII that begins with a letter."""
    return _PLAIN.fullmatch(name) is not None


def _compiled(kind: str, pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    except re.error as e:
        raise GrammarError(f"{kind}: {shortened(pattern)!r} is no regular expression: {e}") from e
    if compiled.fullmatch(""):
        raise GrammarError(f"{kind}: {shortened(pattern)!r} matches the empty text; a name has a character")
    return compiled


@dataclass
class Names:
    """The names of a catalogue by what they are.

    Args:
        tables: of the catalogue.
        spelling: of the dialect.
        functions: that the dialect has.
        types: that CAST may name.
        parts_of_time: that EXTRACT may name.
        introduced: patterns of names that a text may introduce, by what they are called.

    Raises:
        GrammarError: there is no table, two tables or two columns of one have the same name, a name is empty or has a control
            character, or a pattern is none.
    """

    tables: Sequence[Table]
    spelling: Spelling
    functions: frozenset[str]
    types: frozenset[str]
    parts_of_time: frozenset[str]
    introduced: Mapping[str, str]
    terminals: dict[Role, str] = field(default_factory=dict, init=False)
    """The terminal of each role."""
    names: dict[Role, list[str]] = field(default_factory=dict, init=False)
    """The folded names of each role."""

    def __post_init__(self) -> None:
        found: dict[str, _Found] = {}
        for number, table in enumerate(self.tables):
            of_table = found.setdefault(self._key(table.name, "a table"), _Found())
            if of_table.table is not None:
                raise GrammarError(f"two tables are called {shortened(table.name)}; leave one out")
            of_table.table = number
            for column in table.columns:
                of_column = found.setdefault(self._key(column.name, "a column", table), _Found())
                if of_column.columns and of_column.columns[-1] == number:
                    raise GrammarError(f"two columns of {shortened(table.name)} are called {shortened(column.name)}; leave one out")
                of_column.columns.append(number)
                if table.written and column.written:
                    of_column.written.append(number)
        if not self.tables:
            raise GrammarError("the catalogue has no table; give the DDL of one, or a database that has some")
        patterns = {kind: _compiled(kind, pattern) for kind, pattern in self.introduced.items()}
        nothing = _Found()
        for name in dict.fromkeys([*sorted(self.functions), *sorted(self.types), *sorted(self.parts_of_time), *found]):
            of_catalogue = found.get(name, nothing)
            role = Role(
                of_catalogue.table,
                frozenset(of_catalogue.columns),
                frozenset(of_catalogue.written),
                name in self.functions,
                name in self.types,
                name in self.parts_of_time,
                frozenset([kind for kind, pattern in patterns.items() if pattern.fullmatch(name)]),
            )
            self.names.setdefault(role, []).append(name)
        self.terminals = {
            role: f"NAME_{number}" if role.table is None else f"TABLE_{role.table}" for number, role in enumerate(self.names)
        }

    def _key(self, name: str, what: str, of: Table | None = None) -> str:
        if not name or _CONTROL.search(name):
            what = what if of is None else f"{what} of {shortened(of.name)}"
            raise GrammarError(f"{what} is called {shortened(repr(name), 60)}: a name needs characters, none of them a control one")
        return self.spelling.fold(name)

    def where(self, chosen: Callable[[Role], object]) -> list[str]:
        """The terminals of the roles that are chosen."""
        return [terminal for role, terminal in self.terminals.items() if chosen(role)]

    def definitions(self) -> str:
        """The terminals in Lark's language."""
        return "".join(f"{self.terminals[role]}: {self.spelling.pattern(names)}\n" for role, names in self.names.items())
