"""Where a JSON value ends, in text that comes in pieces."""

import re

_SCALAR_END = re.compile(r"[^-+.0-9a-zA-Z]")
_IN_STRING = re.compile(r'["\\]')
_OUTSIDE = re.compile(r'["{}\[\]]')


class JsonValueEnd:
    """Follows one value that is known to be JSON. Cost: linear in the text."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = self._in_scalar = False
        self.has_begun = False

    def read(self, piece: str) -> tuple[int, bool]:
        """How much of the piece belongs to the value, and whether the value is over. White space before it counts as read."""
        at = 0
        while at < len(piece):
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._in_string:
                found = _IN_STRING.search(piece, at)
                if found is None:
                    return len(piece), False
                self._escaped = found[0] == "\\"
                self._in_string = self._escaped
                at = found.end()
                if not self._in_string and not self._depth:
                    return at, True
            elif self._in_scalar:
                found = _SCALAR_END.search(piece, at)
                return (len(piece), False) if found is None else (found.start(), True)
            elif not self.has_begun and piece[at] not in '"{[':
                self._in_scalar = self.has_begun = not piece[at].isspace()
                at += not self._in_scalar
            else:
                self.has_begun = True
                found = _OUTSIDE.search(piece, at)
                if found is None:
                    return len(piece), False
                at = found.end()
                self._in_string = found[0] == '"'
                self._depth += (found[0] in "{[") - (found[0] in "}]")
                if not self._in_string and not self._depth:
                    return at, True
        return len(piece), False
