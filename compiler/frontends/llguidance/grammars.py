"""The grammars that a text refers to by `@name`: part of what was asked for, and so of an artifact's key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psc.errors import GrammarError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_FIELDS: Final = {"language": str, "text": str, "start": str, "lexer": str, "keep_all_actions": bool, "settings": str}


@dataclass(frozen=True, kw_only=True)
class NamedGrammar:
    """A grammar in any language that psc reads; one in Lark's is read as the dialect is."""

    language: str
    text: str
    start: str
    lexer: str
    keep_all_actions: bool
    settings: str
    shares_names: bool = False
    """Whether it was given as text, which may refer to the other named grammars."""


def settings_text(grammars: Mapping[str, NamedGrammar]) -> str:
    """The grammars as canonical JSON; of none the empty text. Raises GrammarError for a name that cannot be referred to."""
    for name in grammars:
        if not _NAME.fullmatch(name):
            raise GrammarError(f"Invalid named grammar name {name!r}: a name has letters, digits, '_' and '-'")
    if not grammars:
        return ""
    return json.dumps({"grammars": {n: vars(g) for n, g in grammars.items()}}, sort_keys=True, separators=(",", ":"))


def read_settings(text: str) -> dict[str, NamedGrammar]:
    """What :func:`settings_text` wrote. Raises GrammarError for anything else."""
    if not text:
        return {}
    try:
        given: Any = json.loads(text)
        return {name: NamedGrammar(**entry) for name, entry in given["grammars"].items() if _is_sound(entry)}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise GrammarError(f"the settings of a grammar in llguidance's dialect are malformed: {text[:80]!r}") from e


def _is_sound(entry: dict[str, Any]) -> bool:
    for name, kind in _FIELDS.items():
        if not isinstance(entry[name], kind):
            raise TypeError(name)
    return True
