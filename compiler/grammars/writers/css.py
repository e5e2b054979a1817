r"""Writes the bundled grammar of CSS, `css.lark`. `html` has the same rules within elements `style`.

python -m psc.compiler.grammars.writers.css
"""

from __future__ import annotations

from typing import Final

from psc.compiler.grammars.writers import sections, write

_TEXTS: Final = sections("css")
RULES: Final = _TEXTS["rules"]
TERMINALS: Final = _TEXTS["terminals"]


def grammar() -> str:
    """The text of the file."""
    return _TEXTS["header"] + RULES + TERMINALS


def main() -> None:
    """Writes the file."""
    write("css.lark", grammar())


if __name__ == "__main__":
    main()
