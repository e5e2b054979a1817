"""The bundled grammars, by name."""

from __future__ import annotations

from pathlib import Path

from psc.errors import GrammarError

_FOLDER = Path(__file__).parent


def bundled_names() -> list[str]:
    """The names, sorted."""
    return sorted(p.stem for p in _FOLDER.glob("*.lark"))


def bundled_path(name: str) -> Path:
    """The file of a bundled grammar. Raises :class:`GrammarError` for a name that is not one."""
    if name not in bundled_names():
        raise GrammarError(f"no bundled grammar is called {name!r}; there are {', '.join(bundled_names())}")
    return _FOLDER / f"{name}.lark"


def bundled_text(name: str) -> str:
    """The text of a bundled grammar."""
    return bundled_path(name).read_text(encoding="utf-8")
