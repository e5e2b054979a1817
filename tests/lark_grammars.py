"""Grammars in Lark's language that Lark itself can check: the bundled ones, and one of JSON documents."""

from pathlib import Path

from psc.compiler.grammars import bundled_names, bundled_path

_PATHS = {name: bundled_path(name) for name in bundled_names() if bundled_path(name).suffix == ".lark"}
_PATHS["json"] = Path(__file__).parent / "grammars" / "json.lark"

LARK_NAMES = sorted(_PATHS)


def lark_text(name: str) -> str:
    """The grammar's text."""
    return _PATHS[name].read_text(encoding="utf-8")
