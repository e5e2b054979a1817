"""What a Lark text says to psc in its first line, a comment, so that Lark reads it as well: `// psc: lexer=basic, case=ascii`.

Imports nothing of psc, as it is called for each text before its front end is loaded.
"""

from __future__ import annotations

import re
from typing import Final

_LINE: Final = re.compile(r"// psc: (\w+=[^\s,]+(?:,[ ]?\w+=[^\s,]+)*)[ \t]*\r?$", re.MULTILINE)


def said(text: str) -> dict[str, str]:
    """The settings of a text's first line by name; none where that line is something else."""
    found = _LINE.match(text)
    return dict(setting.strip().split("=", 1) for setting in found[1].split(",")) if found else {}
