"""The grammars that a text refers to by `@name`: the settings of the dialect, and so a part of an artifact's key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from psc.compiler.frontends.front_end import Settings
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import DeserializeFormatError, GrammarError
from psc.support.cached_property import cached_property

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class NamedGrammar:
    """A grammar in any language that psc reads."""

    request: GrammarRequest
    shares_names: bool = False
    """Whether it was given as text, which may refer to the other named grammars."""

    @property
    def read_as(self) -> str:
        """The language in which it is read: the dialect for Lark's, the request's for others."""
        return "llguidance" if self.request.language == "lark" else self.request.language


@dataclass(frozen=True, eq=False)
class NamedGrammars(Settings):
    """Grammars by their names. Raises GrammarError for a name that no reference can have."""

    grammars: Mapping[str, NamedGrammar] = field(default_factory=dict)
    schemas: SchemaSettings = field(default_factory=SchemaSettings)
    """How the schemas of ``%json`` are written; of these settings white space, digits and integers count."""

    def __post_init__(self) -> None:
        for name in self.grammars:
            if not _NAME.fullmatch(name):
                raise GrammarError(f"Invalid named grammar name {name!r}: a name has letters, digits, '_' and '-'")

    @cached_property
    def text(self) -> str:
        if not self.grammars and not self.schemas.text:
            return ""
        written = {name: {**g.request.to_json(), "shares_names": g.shares_names} for name, g in self.grammars.items()}
        schemas = {"schemas": self.schemas.text} if self.schemas.text else {}
        return json.dumps({"grammars": written, **schemas}, sort_keys=True, separators=(",", ":"))

    @staticmethod
    def of_text(text: str) -> NamedGrammars:
        """The grammars with a text. Raises GrammarError where there are none."""
        if not text:
            return NamedGrammars()
        try:
            read = json.loads(text)
            given: dict[str, Any] = read["grammars"]
            named = {n: NamedGrammar(GrammarRequest.of_json(g), bool(g["shares_names"])) for n, g in given.items()}
            return NamedGrammars(named, SchemaSettings.of_text(read.get("schemas", "")))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, DeserializeFormatError) as e:
            raise GrammarError(f"the settings of a grammar in llguidance's dialect are malformed: {text[:80]!r}") from e
