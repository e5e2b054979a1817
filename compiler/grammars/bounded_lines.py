r"""Bundled grammars whose rules have line ends, as they are read with bounded layout: with other definitions behind their own.

What is ignored is `psc.compiler.frontends.lark.layout`'s to bound. A line end that is a terminal of the rules, or a part of one, is
defined here again: blanks alone up to a line end, and blanks and line ends alone from it on, so many at most of each. Whatever
else is ignored here is refused then, as comments are.

    _NL: (/\n/ | COMMENT_WITH_LINE_END) (…)*      becomes      _NL: /\n[ \t\r\n]{0,59}/

A text begins with its first word: in Go by another start, in JavaScript since LEADING is ignored. Of longer runs a lexeme is
taken that is ignored here; of JavaScript that is `layout`'s for LEADING.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_GO: Final = r"""
%override start: _preamble _terminator? | _declarations _terminator?
%override _NL: /\n[ \t\r\n]{0,REST}/
%ignore COMMENT_WITH_LINE_END
%ignore /\n[ \t\r\n]{MOST,}/
"""
_JAVASCRIPT: Final = r"""
%override start: text
%override BLANKS.1: /[ \t]+/
%override NL: LINES
%override LINES: /[ \t]{0,MOST}[\n\r][ \t\n\r]{0,REST}/
COMMENT: LINES? /\/[\/*]/
%ignore COMMENT
LEADING.-1: /[ \t\n\r]+/
%ignore LEADING
"""
_ELEMENTS: Final = r"""
%override TAG_BLANKS: /[ \t]{1,MOST}/ | LINES
%override JSX_TEXT.3: TAG_BLANKS? (/[^{}<> \t\n\r]+/ TAG_BLANKS?)+ | TAG_BLANKS
"""
_TYPED_ELEMENTS: Final = r"""
%override JSX_EXTENDS.4: TAG_BLANKS /extends[ \t\n\r]/
"""
_DEFINITIONS: Final[Mapping[str, str]] = {
    "go": _GO,
    "javascript": _JAVASCRIPT,
    "jsx": _JAVASCRIPT + _ELEMENTS,
    "tsx": _JAVASCRIPT + _ELEMENTS + _TYPED_ELEMENTS,
    "typescript": _JAVASCRIPT,
}
"""By grammar; MOST is the limit, and REST one less."""


def names_with_lines() -> frozenset[str]:
    """The bundled grammars that are read so."""
    return frozenset(_DEFINITIONS)


def with_bounded_lines(name: str, text: str, most: int) -> str:
    """A bundled grammar's text with line ends bounded.

    Args:
        name: of a grammar, see `names_with_lines`.
        text: of the grammar.
        most: how many blanks there may be up to a line end, and how many blanks and line ends from it on.
    """
    return text + _DEFINITIONS[name].replace("MOST", str(most)).replace("REST", str(most - 1))
