"""Whether a text in Lark's syntax is meant in llguidance's dialect: it is, if it has anything that only the dialect has.

These are the directives `%llguidance`, `%grammar_options`, `%json`, `%regex`, `%lark` and `%if`; tokens `<…>`; references `@name`;
`&`; `~` before anything but a number; `{` before a number or a comma; `::`; a hyphen in a name; and brackets between a name that
begins its line and the colon. None of these can stand in a text that Lark reads.

Cost: a search for what such a thing has, outside of strings, regexes and comments: 0.5 ms for a programming language. Where there
is something, all tokens, ten times as long.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.frontends.llguidance.lexer import TOKEN

_DIRECTIVES: Final = frozenset(("%llguidance", "%grammar_options", "%json", "%regex", "%lark", "%if"))
_OPAQUE: Final = re.compile(r'(?:#|//)[^\n]*|"(?:\\[^\n]|[^"\\\n])*"i?|/(?:\\.|[^/\\])+/[A-Za-z]*', re.S)
"""The tokens that may hold anything; no other has a quote, a slash or a number sign in it but `<…>`."""
_CANDIDATE: Final = re.compile(
    r"""[<@&] | :: | %(?:llguidance|grammar_options|json|regex|lark|if) | [A-Za-z0-9_]-(?!>)
    | ~(?![ \t\r\f\ufeff]*[+\-]?[0-9]) | \{[ \t\r\f\ufeff]*[0-9+,\-]
    | ^[ \t\r\f\ufeff]*[!?_A-Za-z][!?\w\-]*[ \t\r\f\ufeff]*\[""",
    re.M | re.X,
)
"""What a text has, where a quote stands for each of these, if it has anything of the dialect; or else, seldom."""


def is_dialect(text: str) -> bool:
    """Whether a text can only be meant in the dialect."""
    return _CANDIDATE.search(_OPAQUE.sub('"', text)) is not None and has_token_of_dialect(text)


def has_token_of_dialect(text: str) -> bool:
    """The same, by looking at each token."""
    begins_line = True
    name_begins_line = False
    before = ""
    for match in TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        if kind == "space":
            continue
        if kind in ("special", "grammar") or found in ("&", "::") or found in _DIRECTIVES:
            return True
        if before == "~" and kind != "number":
            return True
        if before == "{" and (kind == "number" or found == ","):
            return True
        if kind in ("rule", "terminal") and "-" in found:
            return True
        if name_begins_line and found == "[":
            return True
        name_begins_line = begins_line and kind in ("rule", "terminal")
        begins_line = kind == "newline"
        before = found
    return False
