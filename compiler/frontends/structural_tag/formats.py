"""The formats of a structural tag as records: what was read and found to be sound, markers and tokens still by their names.

Each has its path in the document, for messages. Tokens are ids, resolved where the vocabulary is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from psc.compiler.expressions.markers import Marker
from psc.compiler.frontends.json_schema.settings import SchemaSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class Format:
    """What a part of a text must look like."""

    path: str
    """Where it is in the document, ``format.elements[1]``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ConstString(Format):
    """A marker."""

    value: Marker


@dataclass(frozen=True, kw_only=True, eq=False)
class JsonSchema(Format):
    """A value of a schema, as JSON or as a list of parameters."""

    schema: str
    """JSON text."""
    style: str
    settings: SchemaSettings
    excludes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Text(Format):
    """A text of an EBNF grammar or of a bundled one, or of a regular expression."""

    language: str
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class AnyText(Format):
    """Free text."""

    excludes: tuple[str, ...]
    most: int | None
    """Characters."""
    most_tokens: int | None
    """Tokens that have bytes in it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens(Format):
    """Tokens of a set: those listed, or all but those listed and the stop tokens."""

    ids: tuple[int, ...]
    all_but: bool
    least: int
    most: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequence(Format):
    """One after the other."""

    elements: tuple[Format, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Or(Format):
    """One of them."""

    elements: tuple[Format, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Repeat(Format):
    """So many times, None is without limit."""

    content: Format
    least: int
    most: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Enclosed(Format):
    """What stands behind the begin of a tag: its content and one of its ends."""

    content: Format
    ends: tuple[Marker, ...]
    """Other than the empty text."""
    may_stop: bool
    """Whether the empty text is an end, too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tag(Format):
    """A content between markers."""

    begin: Marker
    body: Enclosed


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispatch(Format):
    """Free text in which a trigger begins something: of each trigger, markers that begin with it, and what stands behind them."""

    rules: tuple[tuple[Marker, tuple[tuple[Marker, Format], ...]], ...]
    excludes: tuple[str, ...]
    at_least_one: bool = False
    """Whether there is no free text before the first."""
    stop_after_first: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenDispatch(Format):
    """The same over tokens: all but those listed and the stop tokens are free."""

    rules: tuple[tuple[int, tuple[Format, ...]], ...]
    exclude_tokens: tuple[int, ...]
    at_least_one: bool = False
    stop_after_first: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class TagsWithSeparator(Format):
    """Tags, and between two of them the separator."""

    tags: tuple[Tag, ...]
    separator: Marker
    at_least_one: bool
    stop_after_first: bool
