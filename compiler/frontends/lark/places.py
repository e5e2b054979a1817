"""Where things are in the text of a Lark grammar, for messages; nothing of it is computed before something is wrong.

Trees of Lark's loader know no lines here (see `syntax`), so a name or a literal is looked for among the tokens of the text.

Cost: a pass over the tokens for the first error, and another for each that is about a literal.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice, takewhile

from psc.compiler.frontends.lark.syntax import tokens
from psc.errors import GrammarError
from psc.support.cached_property import cached_property

_NAMES = frozenset(("RULE", "TERMINAL"))
_BEHIND_NAMES = frozenset(("_COLON", "_DOT", "_LBRACE"))
_DIRECTIVES = frozenset(("_OVERRIDE", "_EXTEND", "RULE_MODIFIERS"))


class Places:
    """Positions in a text.

    Args:
        text: the grammar.
        source_name: its file or a label.
    """

    def __init__(self, text: str, source_name: str) -> None:
        self.text = text
        self.source_name = source_name

    def at(self, offset: int, message: str) -> GrammarError:
        """The error about an offset."""
        line, column = self._position(offset)
        return GrammarError.at(self.source_name, message, line=line, column=column)

    def of(self, name: str) -> str:
        """``file:line:column`` of a name's definition; the file, where the text has none (imports, rules that Lark makes)."""
        definition = next(iter(self.definitions(name)), None)
        if definition is None:
            return self.source_name
        line, column = self._position(definition)
        return f"{self.source_name}:{line}:{column}"

    def positioned(self, error: GrammarError) -> GrammarError:
        """An error whose message begins with what `of` says, with the same as attributes."""
        if error.line is None:
            begins = re.match(rf"{re.escape(self.source_name)}(?::(\d+):(\d+))?: ", str(error))
            if begins:
                line, column = (None if n is None else int(n) for n in begins.groups())
                error.with_position(path=self.source_name, line=line, column=column)
        return error

    def definitions(self, name: str) -> Iterator[int]:
        """Offsets of the definitions of a name."""
        return (offset for offset, defines in self._named.get(name, ()) if defines)

    def uses(self, name: str, *, within: str | None = None) -> Iterator[int]:
        """Offsets at which a name is used, in the definitions of another one where that is given."""
        begin, end = 0, len(self.text)
        if within is not None:
            begin = next(self.definitions(within), end)
            end = self._end_of_statement(begin)
        return (offset for offset, defines in self._named.get(name, ()) if begin <= offset < end and not defines)

    def literals(self, text: str) -> Iterator[int]:
        """Offsets of a string or a regex as it is written."""
        return (offset for kind, found, offset in self._tokens if found == text and kind in ("STRING", "REGEXP"))

    def regexes(self, name: str | None = None) -> list[tuple[int, str]]:
        """Offsets and texts of the regexes in the definition of a name, or of all."""
        begin, end = 0, len(self.text)
        if name is not None:
            begin = next(self.definitions(name), end)
            end = self._end_of_statement(begin)
        return [(offset, text) for kind, text, offset in self._tokens if kind == "REGEXP" and begin <= offset < end]

    def directive(self, what: str, *names: str) -> int | None:
        """The offset of the statement ``%what`` that has these names."""
        found = self._tokens
        for i, (_, text, offset) in enumerate(found):
            if text == what:
                statement = takewhile(lambda token: token[0] != "_NL", islice(found, i + 1, None))
                if set(names) <= {t for _, t, _ in statement}:
                    return offset
        return None

    def _end_of_statement(self, begin: int) -> int:
        i = bisect_right(self._ends, begin)
        return self._ends[i] if i < len(self._ends) else len(self.text)

    def _position(self, offset: int) -> tuple[int, int]:
        begin = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - begin + 1

    @cached_property
    def _named(self) -> dict[str, list[tuple[int, bool]]]:
        """Where each name stands, and whether it is defined there."""
        named: dict[str, list[tuple[int, bool]]] = {}
        found = self._tokens
        before = "_NL"
        for i, (kind, text, offset) in enumerate(found):
            if kind in _NAMES:
                behind = found[i + 1][0] if i + 1 < len(found) else ""
                defines = before in ("_NL", *_DIRECTIVES) and behind in _BEHIND_NAMES
                named.setdefault(text, []).append((offset, defines))
            before = kind
        return named

    @cached_property
    def _ends(self) -> list[int]:
        """Where lines end, but not within an item."""
        return [offset for kind, _, offset in self._tokens if kind == "_NL"]

    @cached_property
    def _tokens(self) -> list[tuple[str, str, int]]:
        return list(tokens(self.text))
