"""What a text of the dialect says: rules, terminals and statements, with offsets into the text. Names are not looked up yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Text:
    """A string, perhaps in any case; or a name that stands for a rule or a terminal."""

    kind: OneOf["string", "string of any case", "regex", "rule", "terminal", "special token", "grammar", "%json", "%regex"]
    text: str
    """The string's value, the regex without slashes, the name (of a grammar without @), the special token with <>, or JSON."""
    at: int
    flags: str = ""
    """Of a regex."""


@dataclass(frozen=True, slots=True)
class Span:
    """One character from `first` to `last`."""

    first: str
    last: str
    at: int


@dataclass(frozen=True, slots=True)
class Nested:
    """`%lark {…}`: a grammar with names of its own."""

    document: Document
    at: int


@dataclass(frozen=True, slots=True)
class Not:
    """`~`: every text but those of the operand."""

    operand: Node
    at: int


@dataclass(frozen=True, slots=True)
class Many:
    """The body `least` to `most` times; `None` is without limit."""

    body: Node
    least: int
    most: int | None
    at: int


@dataclass(frozen=True, slots=True)
class InRow:
    """The parts, one after the other."""

    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class And:
    """`&`: what all parts match."""

    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Either:
    """`|`: what any of the parts matches."""

    parts: tuple[Node, ...]
    at: int


Node = Text | Span | Nested | Not | Many | InRow | And | Either


@dataclass(frozen=True, slots=True)
class Attributes:
    """What stands in brackets behind a rule's name."""

    lazy: bool = False
    suffix: Node | None = None
    stop: Node | None = None
    stop_capture: str | None = None
    capture: str | None = None
    """The name under which the rule's text is found; None: it is not captured."""
    temperature: float | None = None
    max_chars: int | None = None
    """How many characters the rule's text may have."""
    max_tokens: int | None = None
    """How many tokens may have bytes in the rule's text."""
    offsets: dict[str, int] = field(default_factory=dict)
    """Where each attribute stands."""

    @property
    def marker(self) -> Node | None:
        """What shows that the rule's text is over, and belongs to it. ``stop=""`` is none."""
        if isinstance(self.stop, Text) and self.stop.kind == "string" and not self.stop.text:
            return None
        return self.suffix if self.stop is None else self.stop

    @property
    def ends_early(self) -> bool:
        """Whether the rule's text ends where it first can."""
        return self.lazy or self.marker is not None


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or a terminal."""

    name: str
    body: Node
    at: int
    attributes: Attributes = Attributes()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole grammar."""

    rules: dict[str, Definition]
    terminals: dict[str, Definition]
    ignored: tuple[Node, ...]
    allow_initial_skip: bool
    """Whether what is ignored may stand before everything else."""
    skip_once: bool
    """Whether what is ignored may stand once at a place, rather than any number of times."""
    at: int
