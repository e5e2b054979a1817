"""Grammars that a validation has read, for the compilation of the same request in the same process.

The idea: an engine validates a request before it compiles it, and reading is half of compiling a schema. Where both happen in one
process, what was read goes from one to the other, once. A compiler keeps its grammars itself, and those of a process that compiles
nothing are forgotten after some more requests.

Cost: below 1 us, and what the last few texts take once they are read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from psc.compiler.frontends.request import GrammarRequest
from psc.grammars.grammar import Grammar
from psc.support.forks import new_lock

_LANGUAGES: Final = frozenset({"json_schema"})
"""Languages that take long to read, and whose compilation needs only the result of reading."""
_MAX_CHARACTERS: Final = 1 << 16
"""Of a text; longer ones are read again, as the result of reading may take a hundred times the text."""


class HandedOver:
    """Grammars that were read and are not compiled yet. May be used from several threads.

    Args:
        max_grammars: the number held.
    """

    def __init__(self, max_grammars: int) -> None:
        self._max_grammars: Final = max_grammars
        self._lock = new_lock()
        self._read: OrderedDict[GrammarRequest, Grammar] = OrderedDict()

    def give(self, grammar: Grammar) -> None:
        """Holds a grammar for `take`, if it is of those for which this pays."""
        request = grammar.request
        if request.language not in _LANGUAGES or len(request.text) > _MAX_CHARACTERS:
            return
        with self._lock:
            self._read[request] = grammar
            self._read.move_to_end(request)
            if len(self._read) > self._max_grammars:
                self._read.popitem(last=False)

    def take(self, request: GrammarRequest) -> Grammar | None:
        """The grammar of a request, which is no longer held; None where it was not given."""
        with self._lock:
            return self._read.pop(request, None)


HANDED_OVER: Final = HandedOver(8)
"""One for the process, since validation and compilation do not share an object."""
