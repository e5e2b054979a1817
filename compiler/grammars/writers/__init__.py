"""Writers of the bundled grammars that are too regular to write by hand: run one as a module and it writes its files.

The rules and terminals that a writer starts from are in the text file of its name, in sections headed ``==== NAME``.
"""

from __future__ import annotations

from pathlib import Path


def sections(writer: str) -> dict[str, str]:
    """The texts of a writer's file by the names of their sections. Raises OSError where it is not there."""
    parts = ("\n" + Path(__file__).with_name(f"{writer}.txt").read_text(encoding="utf-8")).split("\n==== ")
    return {name: text.removesuffix("\n") + "\n" for name, _, text in (part.partition("\n") for part in parts[1:])}


def write(name: str, text: str) -> None:
    """Writes the file of a bundled grammar, such as ``java.lark``. Raises OSError where it cannot be written."""
    Path(__file__).parents[1].joinpath(name).write_text(text, encoding="utf-8")
