r"""Bundled grammars whose rules have line ends, as they are read with bounded layout: with other definitions of those.

What is ignored is `psc.compiler.frontends.lark.layout`'s to bound. A line end that is a terminal of the rules is defined here
again: blanks and line ends alone, so many at most, beside an ignored terminal for longer runs and one for each comment in them. A
text then begins with its first word, which is a rule of the grammar's.

    _NL: (/\n/ | COMMENT_WITH_LINE_END) (…)*      becomes      _NL: /\n[ \t\r\n]{0,59}/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_DEFINITIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "go": {
        "start": "_preamble _terminator? | _declarations _terminator?",
        "_NL": r"/\n[ \t\r\n]{0,MOST}/",
    },
}
"""By grammar, what its names are defined as instead; MOST is one less than the limit."""
_IGNORED: Final[Mapping[str, str]] = {
    "go": r"%ignore COMMENT_WITH_LINE_END" "\n" r"%ignore /\n[ \t\r\n]{MORE,}/",
}
"""What is ignored besides, and then refused as comments are; MORE is the limit."""


def names_with_lines() -> frozenset[str]:
    """The bundled grammars that are read so."""
    return frozenset(_DEFINITIONS)


def with_bounded_lines(name: str, text: str, most: int) -> str:
    """A bundled grammar's text with line ends bounded; as many lines are before what follows a definition.

    Args:
        name: of a grammar, see `names_with_lines`.
        text: of the grammar.
        most: how many blanks and line ends there may be from a line end on.
    """
    for defined, instead in _DEFINITIONS[name].items():
        found = re.search(rf"^{re.escape(defined)}:.*\n(?:[ \t]+\|.*\n)*", text, re.MULTILINE)
        assert found is not None
        line_ends = "\n" * found[0].count("\n")
        text = text[: found.start()] + f"{defined}: {instead}{line_ends}" + text[found.end() :]
    return (text + _IGNORED[name] + "\n").replace("MOST", str(most - 1)).replace("MORE", str(most))
