"""How a JSON schema is meant, and how its values are to be written: a part of the request, and so of an artifact's key.

`SchemaOptions` declares the options for callers, `SchemaSettings` their defaults and checks. Whatever takes them has the parameter
``**options: Unpack[SchemaOptions]``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypedDict, TypeVar, Unpack

from psc.compiler.frontends.front_end import Settings
from psc.errors import GrammarError
from psc.support.cached_property import cached_property

_MAX_COUNT = 1_000_000_000
_Function = TypeVar("_Function", bound=Callable[..., Any])


class SchemaOptions(TypedDict, total=False):
    """The options of a JSON schema, all by keyword."""

    any_whitespace: bool
    """Whether white space may stand anywhere inside the value, which is the default; else it is fixed by the next two."""
    indent: int | None
    """Spaces for each level, each item and member on a line of its own; by default None: all on one line."""
    separators: tuple[str, str] | None
    """Between items, and behind keys; by default ``(", ", ": ")``, with ``indent`` ``(",", ": ")``."""
    strict_mode: bool
    """Closes objects: where a schema names members, or has an empty list of them, and says nothing of others, there are no others.
    False is what JSON Schema says. The default is XGrammar's: True."""
    max_whitespace_cnt: int | None
    """With ``any_whitespace``, how much there may be at one place; by default None: no limit."""
    plain_integers: bool
    """Whether numbers that must be integers are written as such, ``1`` and never ``1.0`` or ``-0``. By default False: JSON Schema
    takes ``1.0`` for an integer."""
    max_digits: int | None
    """How many digits may follow each other where the schema sets no bound: before a number's point, behind it, in its exponent,
    and in formats, such as a second's fraction. By default None: no limit."""
    any_order: bool
    """Whether declared members may come in any order, each once, of objects that declare up to 4,000 (in an artifact eight). By
    default they come in the order of the schema, with other members anywhere among them."""
    lenient: bool
    """Leave out what cannot be enforced, each with a warning in the log, instead of raising; by default False."""
    assert_format: bool
    """Whether ``format`` is enforced, for the formats of JSON Schema; by default True."""


BOUNDED: Final[SchemaOptions] = {"plain_integers": True, "max_whitespace_cnt": 20, "max_digits": 20}
"""What servers set so that no model writes white space or digits without end. White space is then a line break and 19 spaces at
most, for a value nine levels deep at two spaces each; 2^64 - 1 has 20 digits, and a fraction of 64 bits needs 17."""


@dataclass(frozen=True, kw_only=True)
class SchemaSettings(Settings):
    """The options of a schema, with the schemas that it refers to. Raises GrammarError for values that no layout has."""

    any_whitespace: bool = True
    indent: int | None = None
    separators: tuple[str, str] | None = None
    strict_mode: bool = True
    max_whitespace_cnt: int | None = None
    plain_integers: bool = False
    max_digits: int | None = None
    any_order: bool = False
    lenient: bool = False
    assert_format: bool = True
    resources: Mapping[str, str] = field(default_factory=dict)
    """Texts of other schemas that the schema refers to, by absolute URI."""

    __hash__ = Settings.__hash__  # comparing fields says the same as comparing texts, and makes none

    def __post_init__(self) -> None:
        for name in ("max_whitespace_cnt", "max_digits"):
            if (value := getattr(self, name)) is not None and not (_is_count(value) and 1 <= value <= _MAX_COUNT):
                raise GrammarError(f"{name} must be a whole number from 1 to {_MAX_COUNT}, or None, not {value!r}"[:200])
        if self.indent is not None and not (_is_count(self.indent) and self.indent <= 1000):
            raise GrammarError(f"indent must be a whole number from 0 to 1000, or None, not {self.indent!r}")
        if self.separators is not None:
            pair = tuple(self.separators)
            if len(pair) != 2 or not all(isinstance(s, str) for s in pair):
                raise GrammarError(f"separators must be two texts, between items and behind keys, not {self.separators!r}")
            for text, mark in zip(pair, ",:", strict=True):
                if text.strip(" \t\r\n") != mark:
                    raise GrammarError(f"the separator {text!r} must be {mark!r} with nothing but white space around it")
            object.__setattr__(self, "separators", pair)

    @staticmethod
    def of(**options: Unpack[SchemaOptions]) -> SchemaSettings:
        """Settings without options that do not count: no layout where white space may be anywhere, and else not how much of it.

        Raises GrammarError: an option is out of its range.
        """
        dropped = ("indent", "separators") if options.get("any_whitespace", True) else ("max_whitespace_cnt",)
        return SchemaSettings(**{name: value for name, value in options.items() if name not in dropped})  # type: ignore[arg-type]

    @staticmethod
    def among(settings: Settings) -> SchemaSettings:
        """The settings of a request; the defaults where it has none."""
        if not settings.text:
            return SchemaSettings()
        assert isinstance(settings, SchemaSettings)
        return settings

    @cached_property
    def text(self) -> str:
        given = {name: value for name, value in vars(self).items() if value != _DEFAULTS[name]}
        return json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=True) if given else ""

    @staticmethod
    def of_text(text: str) -> SchemaSettings:
        """The settings with a text. Raises GrammarError where there are none."""
        if not text:
            return SchemaSettings()
        try:
            given: dict[str, Any] = json.loads(text)
            if not isinstance(given, dict) or not given.keys() <= _DEFAULTS.keys():
                raise ValueError
            return SchemaSettings(**given)
        except (ValueError, TypeError) as e:
            raise GrammarError(f"the settings of a JSON schema are malformed: {text[:80]!r}") from e


_DEFAULTS: Mapping[str, object] = dict(vars(SchemaSettings()))


def takes_schema_options(function: _Function) -> _Function:
    """Gives a function with the parameter ``**options: Unpack[SchemaOptions]`` a signature with each option and its default."""
    signature = inspect.signature(function)
    others = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(SchemaSettings)
        if f.name in SchemaOptions.__annotations__
    ]
    function.__signature__ = signature.replace(parameters=[*others, *options])  # type: ignore[attr-defined]
    return function


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
