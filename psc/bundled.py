"""From what a user types for a grammar to its file: a bundled name or a path.

A bundled name wins over a file of the same name, so that `java` means the same in every directory; write `./java` for
the file. The bundled grammars are package data of ``psc.compiler``, which a base install has too, though it cannot
compile them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from psc.compiler.grammars import bundled_names, bundled_path
from psc.errors import GrammarError

_LATER = {".ebnf": "EBNF grammars", ".gbnf": "GBNF grammars", ".json": "JSON Schemas"}


@dataclass(frozen=True)
class GrammarFile:
    """A grammar that was found: what it is called, and where its text is."""

    name: str
    """A bundled name, or the path as it was given: what an artifact records."""
    path: Path
    bundled: bool

    @property
    def stem(self) -> str:
        """The name without folder and suffix, for naming an artifact after."""
        return self.name if self.bundled else self.path.stem


def find_grammar(spec: str | Path) -> GrammarFile:
    """Finds a grammar.

    Args:
        spec: a bundled name, or the path of a `.lark` file. A ``Path`` is never a name.

    Raises:
        GrammarError: there is no such name or file, or the file is not in Lark's language.
    """
    if isinstance(spec, str) and spec in bundled_names():
        return GrammarFile(spec, bundled_path(spec), bundled=True)
    path = Path(spec)
    if (kind := _LATER.get(path.suffix.lower())) is not None:
        raise GrammarError(f"{spec}: {kind} are not supported yet; give a .lark grammar or one of {', '.join(bundled_names())}")
    if path.is_dir():
        raise GrammarError(f"{spec}: is a folder; give a .lark file or one of {', '.join(bundled_names())}")
    if not path.exists():
        close = difflib.get_close_matches(str(spec).lower(), bundled_names(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GrammarError(f"{spec}: no such file, nor a bundled grammar ({', '.join(bundled_names())}).{hint}")
    if path.suffix.lower() != ".lark":
        raise GrammarError(f"{spec}: unknown kind of grammar {path.suffix!r}; psc reads .lark files, so rename it if it is one")
    return GrammarFile(str(spec), path, bundled=False)
