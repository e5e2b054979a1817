"""How a JSON schema is meant, and how its values are to be written: a part of what was asked for, and so of an artifact's key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psc.errors import GrammarError


@dataclass(frozen=True, kw_only=True)
class SchemaSettings:
    """The options of ``compile_json_schema``, with the meanings that they have there."""

    any_whitespace: bool = True
    indent: int | None = None
    separators: tuple[str, str] | None = None
    strict_mode: bool = True
    max_whitespace_cnt: int | None = None
    any_order: bool = False
    lenient: bool = False
    assert_format: bool = True
    resources: Mapping[str, str] = field(default_factory=dict)
    """Texts of other schemas that the schema refers to, by absolute URI."""

    def __post_init__(self) -> None:
        """Raises GrammarError for values that no layout has."""
        if self.max_whitespace_cnt is not None and not (_is_count(self.max_whitespace_cnt) and self.max_whitespace_cnt >= 1):
            raise GrammarError(f"max_whitespace_cnt must be a whole number, 1 or more, or None, not {self.max_whitespace_cnt!r}")
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

    def text(self) -> str:
        """What differs from the defaults, as canonical JSON; of the defaults the empty text."""
        given = {name: value for name, value in vars(self).items() if value != _DEFAULTS[name]}
        return json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=True) if given else ""

    @staticmethod
    def of(text: str) -> SchemaSettings:
        """What :meth:`text` wrote. Raises GrammarError for anything else."""
        if not text:
            return SchemaSettings()
        try:
            given: dict[str, Any] = json.loads(text)
            if not isinstance(given, dict) or not given.keys() <= _DEFAULTS.keys():
                raise ValueError
            return SchemaSettings(**given)
        except (ValueError, TypeError) as e:
            raise GrammarError(f"the settings of a JSON schema are malformed: {text[:80]!r}") from e


_DEFAULTS: Mapping[str, object] = vars(SchemaSettings())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
