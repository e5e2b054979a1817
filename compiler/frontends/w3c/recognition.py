"""Whether an EBNF text is in W3C's notation: it is, if it has something that XGrammar's EBNF refuses and this notation does not.

That is a line that begins with `%w3c`, `%ignore`, or a production number before its rule; or a comment `/* … */`. Single quotes do
not count: who writes them in the other EBNF by mistake gets an error, and not another meaning of backslashes.

Cost: searches for a character each; a pass over the tokens where `/*` is found.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.frontends.ebnf.lexer import Source, first_refused

_BEGINS_LINE: Final = re.compile(r"\[[0-9]+[A-Za-z]*\][ \t\xa0]+[^\W\d][\w.-]*\s*::=|%(?:w3c|ignore)\b")


def is_w3c(text: str) -> bool:
    """Whether a text can only be meant in W3C's notation."""
    source = Source(text, "")
    if any(source.begins_line(match.start()) for match in _BEGINS_LINE.finditer(text)):
        return True
    return "/*" in text and text.startswith("/*", first_refused(text))
