"""The bundled grammars, by name.

Lives here: their texts, the tables that spare reading them (`tables/`, written by `python -m psc.grammars.known_grammars`), and the
writers of those that are generated (`writers/`). Nothing but this module reads the folder.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from psc.compiler.cfg.grammar import LarkLexer
from psc.compiler.frontends.registry import suffixes
from psc.compiler.grammars.bounded_lines import BOUNDED_LINES, WITHOUT_BOUNDS, BoundedLines
from psc.errors import GrammarError

_FOLDER = Path(__file__).parent

_MODAL = {"csharp", "javascript", "jsx", "kotlin", "python", "tsx", "typescript"}
_CONTEXTUAL = {"bash", "css", "html", "mermaid", "pddl", "yaml"}
_KEEP_ALL_ACTIONS = {"c", "cpp", "csharp", "cypher", "kotlin", "tsx", "typescript"}
_PARTS = {"c": {"preprocessed": "// macros\n"}}
"""Of bundled grammars whose last rules can be left out: what the rest is called, and the line that these rules begin with."""


def bundled_names() -> list[str]:
    """The names, sorted."""
    return sorted(p.stem for p in _files())


def bundled_specs() -> list[str]:
    """The names, and those of parts, such as `c?preprocessed`."""
    return [spec for name in bundled_names() for spec in (name, *(f"{name}?{part}" for part in bundled_parts(name)))]


def bundled_parts(name: str) -> tuple[str, ...]:
    """What the parts of a bundled grammar are called that can be had alone; most have none."""
    return tuple(_PARTS.get(name, ()))


def is_bundled(name: str) -> bool:
    """Whether a text is the name of a bundled grammar."""
    return name.isidentifier() and name in bundled_names()


def bundled_path(name: str) -> Path:
    """The file of a bundled grammar. Raises :class:`GrammarError` for a name that is not one."""
    for path in _files():
        if path.stem == name:
            return path
    raise GrammarError(f"no bundled grammar is called {name!r}; there are {', '.join(bundled_names())}")


def bundled_lexer(name: str, *, flush: bool = False) -> LarkLexer:
    """What a bundled grammar in Lark's language is written for: what its language reserves, no name may be.

    Args:
        name: of the grammar.
        flush: whether a text is to begin with its first word.
    """
    if name in _CONTEXTUAL:
        return "flush-contextual" if flush and not BOUNDED_LINES[name].until else "contextual"
    if name in _MODAL:
        return "flush-modal" if flush else "modal"
    return "flush" if flush else "basic"


def bundled_keeps_all_actions(name: str) -> bool:
    """Whether a bundled grammar is written for a parser that follows every way."""
    return name in _KEEP_ALL_ACTIONS


def bundled_bounds_layout(name: str) -> bool:
    """Whether a bundled grammar can be had with `?layout=bounded`."""
    return not why_unbounded(name)


def why_unbounded(name: str) -> str:
    """Why a bundled grammar has no bounded layout; empty where it has."""
    return WITHOUT_BOUNDS.get(name, "")


def bounded_lines_of(text: str) -> BoundedLines | None:
    """What a text is read with for bounded layout; None, but of bundled grammars with layout in rules."""
    of_parts = ((lines, (name, *(f"{name}?{part}" for part in bundled_parts(name)))) for name, lines in BOUNDED_LINES.items())
    return next((lines for lines, specs in of_parts if text in map(bundled_text, specs)), None)


def bundled_text(spec: str) -> str:
    """The text of a bundled grammar, or of a part, such as `c?preprocessed`."""
    name, _, part = spec.partition("?")
    text = bundled_path(name).read_text(encoding="utf-8")
    return text.partition(_PARTS[name][part])[0] if part else text


@cache  # half a megabyte, read where a grammar has conflicts
def bundled_lark_texts() -> frozenset[str]:
    """The texts of the bundled grammars in Lark's language."""
    return frozenset(bundled_text(spec) for spec in bundled_specs() if bundled_path(spec.partition("?")[0]).suffix == ".lark")


def importing_file(origin: str) -> str:
    """The file of a text, beside which is what it imports: of a bundled grammar, which is called by its name, its file here."""
    return next((str(path) for path in _files() if path.stem == origin.partition("?")[0]), origin)


def bundled_description(name: str) -> str:
    """What a bundled grammar is of: the first sentence of the comment that its text begins with."""
    comment: list[str] = []
    for line in bundled_text(name).splitlines():
        if not line.startswith(("//", "#")):
            break
        comment.append(line.lstrip("/# "))
    sentence = re.match(r".+?\.(?=\s|$)", " ".join(comment))
    return sentence[0].rstrip(".") if sentence else ""


@cache  # of the package, looked for by every request for one of them
def _files() -> tuple[Path, ...]:
    return tuple(path for path in _FOLDER.iterdir() if path.suffix in suffixes())
