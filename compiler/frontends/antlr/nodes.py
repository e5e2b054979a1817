"""What a text in ANTLR 4's language is made of: rules of alternatives of elements, as they are written.

Each node that a message may be about has its offset in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from psc.compiler.frontends.ebnf.lexer import Source


@dataclass(frozen=True, slots=True)
class Name:
    """A use of a rule or of a token type."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Text:
    """A literal, without its quotes and escapes."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set `[…]` or of a range `'a'..'z'`."""

    ranges: tuple[tuple[int, int], ...]
    """As they are written: not sorted."""
    offset: int


@dataclass(frozen=True, slots=True)
class AnyOne:
    """`.`: a character in the lexer, a token in the parser."""

    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    """`~`: another character or token than these."""

    body: Element
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """`( … | … )`."""

    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """An element with `?`, `*` or `+`."""

    body: Element
    least: int
    most: int | None
    is_lazy: bool
    """Whether a second `?` follows."""


Element = Name | Text | Characters | AnyOne | Not | Group | Repeated


@dataclass(frozen=True, slots=True)
class Command:
    """`-> name(argument)`, behind an alternative of the lexer."""

    name: str
    argument: str
    offset: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """Elements, one after the other."""

    parts: tuple[Element, ...]
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the lexer, whose name begins with a capital, or of the parser."""

    name: str
    offset: int
    source: Source
    alternatives: tuple[Alternative, ...]
    is_fragment: bool = False
    mode: str = "DEFAULT_MODE"
    ignores_case: bool = False

    @property
    def is_lexical(self) -> bool:
        return self.name[0].isupper()


@dataclass
class GrammarText:
    """One file."""

    source: Source
    kind: str = "combined"
    """Or parser, or lexer."""
    name: str = ""
    rules: list[Rule] = field(default_factory=list)
    imports: list[tuple[str, int]] = field(default_factory=list)
    """Names of grammars, each with its offset."""
    vocabulary: tuple[str, int] | None = None
    """The grammar that defines the token types, with its offset."""
    tokens: list[str] = field(default_factory=list)
    """Token types without a rule."""
    ignores_case: bool = False
