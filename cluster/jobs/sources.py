"""How a batch finds grammars and tokenizers: functions that whoever runs it passes in, since this room knows no names of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from psc.compiler.grammar import Grammar
from psc.vocabulary.tokenizer_info import TokenizerInfo


class FoundGrammar(Protocol):
    """A grammar that there is, not read yet."""

    @property
    def stem(self) -> str:
        """What an artifact is called after it."""

    @property
    def bundled(self) -> bool: ...

    @property
    def path(self) -> Path: ...


class OpenGrammar(Protocol):
    def __call__(self, found: FoundGrammar, *, start: str | None, lexer: str | None, keep_all_actions: bool) -> Grammar:
        """Reads it. Raises GrammarError."""


class LoadTokenizer(Protocol):
    def __call__(self, spec: str | Path, *, vocab_size: int | None, stop_token_ids: Sequence[int] | None) -> TokenizerInfo:
        """Reads it. Raises TokenizerError."""


@dataclass(frozen=True)
class Sources:
    """Where the inputs of a batch come from."""

    find_grammar: Callable[[str | Path], FoundGrammar]
    """From a bundled name (a string) or a file (a path). Raises GrammarError when there is none."""
    open_grammar: OpenGrammar
    load_tokenizer: LoadTokenizer
