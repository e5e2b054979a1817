"""The files of a grammar: what it imports, and the lexer that its `tokenVocab` names, which lie beside it.

Cost: reads each file once.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Final

from psc.compiler.frontends.antlr.nodes import GrammarText
from psc.compiler.frontends.antlr.syntax import read_text
from psc.compiler.frontends.ebnf.lexer import Source
from psc.compiler.frontends.front_end import Imports
from psc.compiler.frontends.lark.imports import import_name, may_import
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit
from psc.support.readable import shortened
from psc.support.regular_file import read_regular_text

MAX_TEXT: Final = limit("lark_characters")
_MAX_FILES: Final = 50
_VOCABULARY: Final = re.compile(r"tokenVocab\s*=\s*([\w.']+)")
"""Of a text whose actions are in the way of reading it."""


class Files:
    """A text and all files that it needs.

    Args:
        text: the grammar.
        origin: its `FileOrigin`, or a label; only what a file holds can have files beside it.
        drops_actions: see `psc.compiler.frontends.antlr.syntax`.

    Raises:
        GrammarError: a text is malformed, or a file is missing.
    """

    def __init__(self, text: str, origin: str, *, drops_actions: bool) -> None:
        self._origin = origin
        self._drops_actions = drops_actions
        self._digests: dict[str, str] = {}
        self._n_files = 0
        self.main = self._read(text, origin)
        """The text that was given."""
        self.parser: list[GrammarText] = self._with_imports(self.main)
        """It and what it imports, in the order in which ANTLR puts rules together."""
        self.lexer: list[GrammarText] = []
        """The grammar of its token types and what that imports, where a parser names one."""
        if self.main.vocabulary is not None and self.main.kind == "parser":
            name, offset = self.main.vocabulary
            self.lexer = self._with_imports(self._beside(self.main, name, offset))

    @property
    def imports(self) -> Imports:
        """(name relative to the grammar's folder, sha256 of the text) of each file but the first."""
        return tuple(sorted(self._digests.items()))

    def _read(self, text: str, name: str) -> GrammarText:
        if len(text) > MAX_TEXT:
            raise ResourceLimitError(f"{name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
        return read_text(Source(text, name), drops_actions=self._drops_actions)

    def _with_imports(self, first: GrammarText) -> list[GrammarText]:
        found = [first]
        names = {first.name}
        for grammar in found:  # which grows
            for name, offset in grammar.imports:
                if name not in names:
                    names.add(name)
                    found.append(self._beside(grammar, name, offset))
        return found

    def _beside(self, grammar: GrammarText, name: str, offset: int) -> GrammarText:
        self._n_files += 1
        if self._n_files > _MAX_FILES:
            raise grammar.source.limit(offset, f"the grammar needs more than {_MAX_FILES} files, which is the limit")
        if not may_import(self._origin):
            raise grammar.source.error(
                offset,
                f"{shortened(name)}.g4 lies beside a grammar in a file, and this text is in none; read the grammar with "
                "compile_file, or put both into one text",
            )
        path = os.path.join(os.path.dirname(self._origin), f"{name}.g4")
        try:
            text = read_regular_text(path, 4 * MAX_TEXT)
        except (OSError, UnicodeDecodeError) as e:
            why = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
            raise grammar.source.error(
                offset, f"cannot read {shortened(path)}: {why}; a grammar needs the files beside it that it names"
            ) from None
        self._digests[import_name(path, self._origin)] = hashlib.sha256(text.encode()).hexdigest()
        return self._read(text, path)


def find_imports(text: str, origin: str) -> Imports | None:
    """What a text imports, directly or not; None where a text is malformed or a file is missing."""
    try:
        return Files(text, origin, drops_actions=True).imports
    except GrammarError:
        return None
