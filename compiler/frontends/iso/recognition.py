"""Whether an EBNF text is in ISO's notation: it is, if its first rule is written `name =`.

The other two notations of EBNF refuse such a text, so no grammar changes its meaning.

Cost: what stands before the first rule's name is read.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.frontends.iso.lexer import end_of_comment

_BEFORE: Final = re.compile(r"[ \t\r\n\ufeff\xa0]+|%(?:iso|ignore)\b[^\r\n]*")
_HEAD: Final = re.compile(r"[^\W\d]\w*(?:[ \t\r\n]+\w+)*[ \t\r\n]*=(?!=)")


def is_iso(text: str) -> bool:
    """Whether a text can only be meant in ISO's notation."""
    at = 0
    while True:
        if text.startswith("(*", at):
            end = end_of_comment(text, at)
            if end is None:
                return False
            at = end
        elif match := _BEFORE.match(text, at):
            at = match.end()
        else:
            return _HEAD.match(text, at) is not None
