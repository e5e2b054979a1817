"""Names of tools as a format writes them, and names that it cannot carry.

Inside JSON a name is a JSON string, so that any name can be read back. Between markers it is raw text, up to what ends it for the
parsers of the model; a few formats have entities for that. Where a name has such a character, a call of the tool could not be read,
so the name is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from psc.errors import InvalidStructuralTagError

_SHOWN: Final = {" ": "a blank", "\n": "a line break", '"': "a quotation mark", "'": "an apostrophe", "\\": "a backslash"}
_MAX_SHOWN: Final = 60
_MAX_LISTED: Final = 150


def shown(name: str) -> str:
    """A name as messages have it."""
    return repr(name if len(name) <= _MAX_SHOWN else name[:_MAX_SHOWN] + "…")


def listed(names: list[str]) -> str:
    """Names as messages have them: the first ones, and how many more there are."""
    first: list[str] = []
    for name in map(shown, names):
        if first and sum(map(len, first)) + len(name) > _MAX_LISTED:
            return f"{', '.join(first)} and {len(names) - len(first)} more"
        first.append(name)
    return ", ".join(first) or "none"


class ToolNameError(InvalidStructuralTagError):
    """A tool's name that a format cannot carry.

    Args:
        index: of the tool in the list.
        name: of the tool.
        field: of the tool in which the name stands.
        problem: what is wrong with it.
    """

    def __init__(self, index: int, name: str, field: str, problem: str) -> None:
        super().__init__(f"tools[{index}].{field}: the name {shown(name)} {problem}")
        self.index, self.name, self.field, self.problem = index, name, field, problem

    def at(self, index: int) -> ToolNameError:
        """The same of another list, in which the tool has this index."""
        return ToolNameError(index, self.name, self.field, self.problem)

    def __reduce__(self) -> tuple[type[ToolNameError], tuple[int, str, str, str]]:
        return ToolNameError, (self.index, self.name, self.field, self.problem)


@dataclass(frozen=True, kw_only=True)
class ToolNames:
    """How a format writes the name of a tool."""

    in_json: bool = False
    """Whether the name is inside a JSON string."""
    never: str = "<>"
    """Characters that no name may have, beside control characters, where it is not in JSON; with a blank all white space."""
    escapes: tuple[tuple[str, str], ...] = ()
    """Characters that are written as entities, the one that entities begin with first."""

    def written(self, name: str) -> str:
        """The name as it stands in a call."""
        if self.in_json:  # where a parser that looks for markers finds none of them in it
            return json.dumps(name, ensure_ascii=False)[1:-1].replace("<", r"\u003c")
        for character, entity in self.escapes:
            name = name.replace(character, entity)
        return name

    def check(self, name: str, index: int, field: str = "function.name") -> None:
        """Raises ToolNameError where the format cannot carry the name of a tool; `index` and `field`: where it stands."""
        problem = self._problem(name)
        if problem is not None:
            raise ToolNameError(index, name, field, problem)

    def _problem(self, name: str) -> str | None:
        if not name:
            return "is empty; give the tool a name"
        if any("\ud800" <= c <= "\udfff" for c in name):
            return "has a lone surrogate, which is no character; give the tool another name"
        if self.in_json:
            return None
        for c in name:
            if c in self.never or c < " " or c == "\x7f" or (c.isspace() and " " in self.never):
                return f"has {_SHOWN.get(c, repr(c))} in it, and this model's calls cannot carry that; give the tool another name"
        if name != name.strip():
            return "begins or ends with white space, which parsers take off; give the tool another name"
        return None
