"""What a catalogue has, as a dialect's reader gives it and a grammar is written of it; and what else a user says of the grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    written: bool = True
    """Whether INSERT and UPDATE may name it; a generated one is read alone."""


@dataclass(frozen=True)
class Table:
    """A table or a view."""

    name: str
    columns: tuple[Column, ...]
    written: bool = True
    """Whether INSERT, UPDATE and DELETE may name it; a view is read alone."""


ALIASES = "[a-z]{1,3}[0-9]{0,2}"
RESULTS = (
    "(?:average|avg|cnt|count|diff|difference|max|maximum|min|minimum|n|num|number|pct|percent|percentage|rank|ratio|rn|share|sum|"
    "total)(?:_[a-z0-9_]+)?"
)
CTES = "cte[a-z0-9_]*"


@dataclass(frozen=True)
class CatalogOptions:
    """How a grammar is to be written. Patterns are of names in lower case, and match upper case, too."""

    aliases: str = ALIASES
    """Of names that a text may give to tables and windows."""
    results: str = RESULTS
    """Of names that a text may give to columns of its results."""
    ctes: str = CTES
    """Of names that a text may give to common tables."""
    queries_only: bool = False
    """Whether INSERT, UPDATE and DELETE are left out."""
    results_anywhere: bool = False
    """Whether names of results may be read without a qualifier wherever a column may, and not in GROUP BY, HAVING and ORDER BY
    alone."""
    every_quote: bool = False
    """Whether names that need no quotes may be in each kind of quotes that the dialect has, and not in double quotes alone."""
    double_quoted_strings: bool = False
    """Whether a text in double quotes that is no name is a string."""

    @property
    def introduced(self) -> Mapping[str, str]:
        """The patterns of names that a text introduces, by what they are called here."""
        return {"aliases": self.aliases, "results": self.results, "ctes": self.ctes}


DEFAULTS: Final = CatalogOptions()
