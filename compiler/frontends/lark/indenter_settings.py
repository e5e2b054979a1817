"""How a caller says which of Lark's `Indenter` a grammar is written for.

As a class of Lark's, an instance, a dict of its attributes, or text on the command line; all of them are `IndenterSettings`, whose
text is a part of the artifact's key. What they mean for a grammar is in psc.compiler.frontends.lark.indenter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from psc.compiler.cfg.grammar import LexerKind
from psc.compiler.frontends.front_end import Settings
from psc.errors import GrammarError
from psc.support.cached_property import cached_property
from psc.support.readable import shortened

COLUMNS: Final = (0, *range(1, 13), *range(14, 25, 2), *range(28, 49, 4))
"""Columns at which a line may begin where a caller names none: those of real files, since each takes a copy of the rules."""
_MAX_COLUMN: Final = 400
_MAX_COLUMNS: Final = 64
_NAMES: Final = ("NL_type", "INDENT_type", "DEDENT_type")
_LISTS: Final = ("OPEN_PAREN_types", "CLOSE_PAREN_types")
_METHODS: Final = ("handle_NL", "_process", "process", "always_accept", "__init__")


@dataclass(frozen=True, kw_only=True)
class IndenterSettings(Settings):
    """The attributes of Lark's `Indenter`, by default its `PythonIndenter`'s. Raises GrammarError for values that are none."""

    NL_type: str = "_NEWLINE"
    OPEN_PAREN_types: tuple[str, ...] = ("LPAR", "LSQB", "LBRACE")
    CLOSE_PAREN_types: tuple[str, ...] = ("RPAR", "RSQB", "RBRACE")
    INDENT_type: str = "_INDENT"
    DEDENT_type: str = "_DEDENT"
    tab_len: int = 8
    columns: tuple[int, ...] = COLUMNS
    """Columns at which a line outside of brackets may begin, which Lark does not bound."""
    every_way: bool = False
    """Whether conflicts of the grammar are followed both ways, rather than refused."""

    def __post_init__(self) -> None:
        for name in _NAMES:
            if not isinstance(getattr(self, name), str):
                raise _malformed(name, getattr(self, name), "the name of a terminal")
        for name in _LISTS:
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable) or not all(isinstance(v, str) for v in value):
                raise _malformed(name, value, "a list of names of terminals")
            object.__setattr__(self, name, tuple(value))
        if type(self.tab_len) is not int or not 1 <= self.tab_len <= _MAX_COLUMN:
            raise _malformed("tab_len", self.tab_len, f"a number from 1 to {_MAX_COLUMN}")
        columns = self.columns
        if (
            isinstance(columns, str)
            or not isinstance(columns, Iterable)
            or not all(type(c) is int and 0 <= c <= _MAX_COLUMN for c in columns)
            or len({0, *columns}) > _MAX_COLUMNS
        ):
            raise _malformed("columns", columns, f"at most {_MAX_COLUMNS} numbers from 0 to {_MAX_COLUMN}")
        object.__setattr__(self, "columns", tuple(sorted({0, *columns})))

    @cached_property
    def text(self) -> str:
        return json.dumps({"indenter": {name: getattr(self, name) for name in sorted(_FIELDS)}}, sort_keys=True)

    @staticmethod
    def of_text(text: str) -> IndenterSettings:
        """The settings with a text. Raises GrammarError where there are none."""
        try:
            given = json.loads(text)["indenter"]
            if not isinstance(given, dict) or set(given) != _FIELDS or type(given["every_way"]) is not bool:
                raise ValueError
        except (ValueError, KeyError, TypeError) as e:
            raise GrammarError(f"the settings of a Lark grammar are malformed: {text[:80]!r}") from e
        return IndenterSettings(**given)

    @staticmethod
    def named(text: str) -> IndenterSettings:
        """The settings as a command line names them: ``python``, or ``NL_type=_NL tab_len=4 …``. Raises GrammarError."""
        values: dict[str, Any] = {}
        for part in () if text.strip() == "python" else text.split():
            name, equals, value = part.partition("=")
            if not equals or name not in _FIELDS - {"every_way"}:
                known = ", ".join(sorted(_FIELDS - {"every_way"}))
                raise GrammarError(f"indenter: {shortened(part)!r} is not python, nor name=value with a name of {known}")
            try:
                values[name] = _read(name, value)
            except ValueError:
                raise _malformed(name, value, "a number" if name == "tab_len" else "numbers and ranges, as in 0-8,12") from None
        return IndenterSettings(**values)

    @staticmethod
    def of(indenter: object) -> IndenterSettings:
        """The settings of what a caller passes as ``indenter``.

        Args:
            indenter: True for those of Lark's `PythonIndenter`; a subclass of Lark's `Indenter`, or an instance; a mapping
                of its attributes, where the others are the `PythonIndenter`'s; or a text as in `named`. A mapping may have
                `columns`, too, and so may a subclass.

        Raises:
            GrammarError: it is none of these, or a subclass that overrides a method, which a grammar cannot run.
        """
        if isinstance(indenter, IndenterSettings):
            return indenter
        if indenter is True:
            return IndenterSettings()
        if isinstance(indenter, str):
            return IndenterSettings.named(indenter)
        if isinstance(indenter, Mapping):
            if unknown := sorted(set(map(str, indenter)) - _FIELDS | {"every_way"} & set(indenter)):
                known = ", ".join(sorted(_FIELDS - {"every_way"}))
                raise GrammarError(f"indenter: there is no attribute {shortened(unknown[0])!r}; there are {known}")
            return IndenterSettings(**indenter)
        kind = indenter if isinstance(indenter, type) else type(indenter)
        if not any(base.__name__ == "Indenter" for base in kind.__mro__):
            raise GrammarError(
                f"indenter: {shortened(repr(indenter), 60)} is no Indenter; give a subclass of lark.indenter.Indenter, or an "
                "instance, a dict of its attributes, or True for the names of Lark's PythonIndenter"
            )
        for base in kind.__mro__:
            if base.__name__ == "Indenter":
                break
            if overridden := [method for method in _METHODS if method in vars(base)]:
                raise GrammarError(
                    f"indenter: {kind.__name__} overrides {overridden[0]}, which is Python that a mask cannot run; psc takes the "
                    f"attributes alone ({', '.join((*_NAMES, *_LISTS, 'tab_len'))}). Pass them as a dict, if Lark's own "
                    f"{overridden[0]} is meant"
                )
        if isinstance(indenter, type):
            values = {name: getattr(indenter, name) for name in _FIELDS if hasattr(indenter, name)}
            values = {name: _constant(kind, name, value) for name, value in values.items()}
        else:
            values = {name: getattr(indenter, name) for name in _FIELDS if hasattr(indenter, name)}
        values.pop("every_way", None)
        return IndenterSettings(**values)


def options_with_indenter(settings: Settings, lexer: LexerKind | None, *, every_way: bool) -> tuple[LexerKind, IndenterSettings]:
    """The lexer and the settings of a grammar with an indenter, where a caller gave some. Raises GrammarError."""
    settings = settings if isinstance(settings, IndenterSettings) else IndenterSettings.of_text(settings.text)
    if lexer not in (None, "contextual", "indented"):
        raise GrammarError(f"lexer={lexer!r}: with an indenter the lexer is 'contextual', Lark's default, and no other")
    settings = replace(settings, every_way=settings.every_way or every_way)
    return "indented", settings


_FIELDS: Final = frozenset((*_NAMES, *_LISTS, "tab_len", "columns", "every_way"))


def _read(name: str, value: str) -> Any:
    if name == "tab_len":
        return int(value)
    if name == "columns":
        columns: list[int] = []
        for part in value.split(","):
            first, is_range, last = part.partition("-")
            low, high = int(first), int(last if is_range else first)
            columns += range(low, min(high, low + _MAX_COLUMN) + 1)
        return tuple(columns)
    return tuple(filter(None, value.split(","))) if name in _LISTS else value


def _constant(kind: type, name: str, value: Any) -> Any:
    if isinstance(value, property):  # a property is read of an instance; an abstract one has none
        if getattr(value, "__isabstractmethod__", False):
            raise GrammarError(f"indenter: {kind.__name__} does not define {name}")
        return value.fget(object.__new__(kind))  # type: ignore[misc]
    return value


def _malformed(name: str, value: object, what: str) -> GrammarError:
    return GrammarError(f"indenter: {name} is {what}, not {shortened(repr(value), 60)}")
