"""What a text is expected to go on with, in an order in which a reader finds the answer: names first, then by numbers of tokens.

Where an expression belongs, ``IDENTIFIER`` and ``NUMBER`` say more than forty operators and keywords, of which some are for rare
places (``exports``). So named terminals come before texts, and each kind by how many of the allowed tokens begin such a terminal.

Cost: a mask, and a step of the lexer for each byte that can come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psc._core import MatcherView
from psc.errors import ArtifactError, PscError
from psc.inspection.configurations import configurations
from psc.inspection.lexemes import Lexemes
from psc.inspection.next_bytes import one_of, ranges
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar

END_OF_FILE = "end of file"
_TOKENS = re.compile(r"\(\?#tokens ([^)]*)\)\(\?!\)")
_LONGEST_NAME = 60
_INNER = re.compile(r"format[.\[]")


class Names:
    """The terminals of a grammar as messages call them: a string by its text in quotes, another by its name.

    Raises:
        ArtifactError: the metadata do not describe terminals.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        try:
            terminals = metadata["grammar"]["terminals"]
            shown = [_display_name(t["name"], t["text"], t["flags"], t["pattern"]) for t in terminals]
            texts = {name: t["text"] for name, t in zip(shown, terminals, strict=True)}
            self._has_inner = metadata["grammar"].get("language") == "structural_tag"
            self.texts: dict[str, str] = {name: text for name, text in texts.items() if text is not None}
            """Of those that are strings, the text by the name."""
        except (KeyError, TypeError) as e:
            raise ArtifactError(f"the artifact's metadata do not describe its terminals: {e}") from e
        self.of: tuple[str, ...] = (*shown, END_OF_FILE)
        """By the number of the terminal; the end of the text is the last."""

    def sorted(self, names: Iterable[str], counts: Mapping[str, int] | None = None) -> tuple[str, ...]:
        """Each once: names first, then regexes without one, then strings; and of each kind those that more tokens begin."""
        n = counts or {}
        return tuple(sorted(set(names), key=lambda name: (name in self.texts, name.startswith("/"), -n.get(name, 0), name)))

    def at(self, matcher: GrammarMatcher, counts: Callable[[GrammarMatcher], Mapping[str, int]]) -> tuple[str, ...]:
        """Of the terminals that may come next, sorted; what only psc has a name for, as the body of a tag, by its first bytes.

        Args:
            matcher: at the text's end.
            counts: how many tokens begin the terminals; called where there are several.
        """
        names = {self.of[terminal] for terminal in MatcherView(matcher).continuations()}
        shown = {name for name in names if not (self._has_inner and _INNER.match(name))}
        words = self.sorted(shown, counts(matcher) if len(shown) > 1 else {})
        if len(shown) == len(names):
            return words
        return (*words, one_of(ranges(b for b in range(256) if matcher.fork().accept_string(bytes([b])))))


class TokenCounts:
    """How many of the allowed tokens begin a terminal; bytes, where the vocabulary is not known."""

    def __init__(self, compiled: LoadedGrammar, names: Names, lexemes: Lexemes | None = None) -> None:
        self._compiled = compiled
        self._names = names.of
        self._lexemes = lexemes
        self._first: npt.NDArray[np.int16] | None = None

    def of(self, matcher: GrammarMatcher) -> dict[str, int]:
        """The numbers by the names of terminals, at a position."""
        if self._lexemes is None:
            self._lexemes = Lexemes(self._compiled)
        counts: dict[str, int] = {}
        accessing = self._compiled._machine.lr.accessing
        before = {at.stack for at in configurations(matcher)}
        for byte, n in enumerate(self._by_byte(matcher)):
            ahead = matcher.fork()
            if not n or not ahead.accept_string(bytes([byte])):
                continue
            begun: set[int] = set()
            for state, stack, *_ in configurations(ahead):
                if state != self._lexemes.start(stack[0]):
                    begun.update(self._lexemes.becomes(state))
                elif stack not in before:  # a terminal that nothing can extend
                    begun.add(int(accessing[stack[0]]))
            for terminal in begun:
                if terminal < len(self._names):
                    name = self._names[terminal]
                    counts[name] = counts.get(name, 0) + n
        return counts

    def _by_byte(self, matcher: GrammarMatcher) -> Sequence[int]:
        """Per byte how many allowed tokens begin with it."""
        if self._first is None:
            try:
                texts = self._compiled.tokenizer_info.token_texts
                self._first = np.array([text[0] if text else -1 for text in texts], np.int16)
            except (PscError, OSError):
                self._first = np.zeros(0, np.int16)
        if not len(self._first):
            return [1] * 256
        allowed = matcher.allowed_tokens()
        first = self._first[allowed[allowed < len(self._first)]]
        counts: list[int] = np.bincount(first[first >= 0], minlength=256).tolist()
        return counts


def _display_name(name: str, text: str | None, flags: str, pattern: str) -> str:
    if text is None:
        if "(?#tokens " not in name:
            return name
        written = _TOKENS.sub(lambda m: f"<[{m[1]}]>", pattern)
        alone = re.fullmatch(r"<\[[^\]]*\]>", written)
        shown = written if alone else f"/{written}/"
        return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"
    escaped = text if text.isprintable() else text.encode("unicode_escape").decode()
    quote = "'" if '"' in escaped and "'" not in escaped else '"'
    return f"{quote}{escaped}{quote}{flags}"
