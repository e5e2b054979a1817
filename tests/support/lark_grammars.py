"""Grammars in Lark's language that Lark itself checks in a second: bundled ones that import none, and one of JSON documents."""

from pathlib import Path

from psc.compiler.grammars import bundled_keeps_all_actions, bundled_lexer, bundled_names, bundled_path

_LONGER = {"bigquery", "latex_math", "mysql"}
"""Whose lexemes are the longest where Lark takes the first alternative of a terminal that fits."""
_PATHS = {
    path.stem: path
    for path in map(bundled_path, bundled_names())
    if path.suffix == ".lark"
    and bundled_lexer(path.stem) == "basic"
    and not bundled_keeps_all_actions(path.stem)
    and path.stem not in _LONGER
    and "%import" not in path.read_text(encoding="utf-8")
}
_PATHS["json"] = Path(__file__).parents[1] / "compiler" / "grammars" / "json.lark"

LARK_NAMES = sorted(_PATHS)


def lark_text(name: str) -> str:
    """The grammar's text."""
    return _PATHS[name].read_text(encoding="utf-8")
