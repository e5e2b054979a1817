"""Teacher forcing: does a text pass token by token, and if not, where does it stop and what was expected.

Every token is checked in three ways that share little: its bit in the mask (the stack classifier), ``accept_token``
(what an engine calls), and reading its bytes with the parser. They must agree for every text; where they do not, psc is
wrong, not the text.

Cost: some microseconds a token, plus composing each mask row on its first visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from psc.inspection.expected import END_OF_FILE, Names, TokenCounts
from psc.inspection.linked import next_words
from psc.inspection.schema_words import schema_words
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.vocabulary.segment import Segmenter

_MAX_OFFENDING = 24
_WORD = re.compile(r"\w+")
_OPERATOR = re.compile(r"[-+*/%=<>!&|^~?:@#$\\]+")


@dataclass(frozen=True)
class Stop:
    """The position where a text leaves the grammar."""

    offset: int
    """In bytes, from 0; the length of the text if it is only unfinished."""
    line: int
    """From 1."""
    column: int
    """In characters, from 1."""
    found: str
    """The text from there on, in short, quoted; or the words END_OF_FILE."""
    expected: tuple[str, ...]
    """Terminals: names first, then the text of those that are strings, quoted; of each kind those that more tokens begin."""

    def message(self, most: int = 12) -> str:
        """One line: what was found, and at most `most` of the terminals that were expected."""
        shown = ", ".join(self.expected[:most]) or "the end of an unfinished lexeme"
        more = f" and {len(self.expected) - most} more" if len(self.expected) > most else ""
        return f"found {self.found}, expected {shown}{more}"


@dataclass(frozen=True)
class Check:
    """How a text fared."""

    bytes: int
    tokens: int
    """Tokens accepted; bytes, where the text was read without a vocabulary."""
    stop: Stop | None = None
    """None if the text passed."""
    disagreement: str | None = None
    """A fault of psc: mask, accept_token and parser do not agree."""

    @property
    def passed(self) -> bool:
        return self.stop is None and self.disagreement is None


@dataclass
class Checker:
    """Checks texts against one compiled grammar.

    Args:
        compiled: the grammar.
        segmenter: how a text becomes tokens; without one it is read byte by byte, which checks the text but not the masks.
    """

    compiled: LoadedGrammar
    segmenter: Segmenter | None = None
    _names: Names = field(init=False)
    _counts: TokenCounts = field(init=False)

    def __post_init__(self) -> None:
        self._names = Names(self.compiled.metadata)
        self._counts = TokenCounts(self.compiled, self._names)

    def check(self, data: bytes) -> Check:
        """Reads a whole text; it passes if every token is allowed, and the text may end after the last."""
        reader = GrammarMatcher(self.compiled)
        if self.segmenter is None:
            n = reader.accept_prefix(data)
            if n < len(data) or not reader.is_completed():
                return Check(len(data), n, self.stop(data, n, reader))
            return Check(len(data), n)
        return self._forced(data, reader, self.segmenter)

    def check_file(self, data: bytes) -> Check:
        """Reads a whole file. A newline at its very end may be there though the grammar has none: editors and echo write it."""
        check = self.check(data)
        if check.stop is None or not data.endswith(b"\n") or check.stop.offset != len(data) - 1:
            return check
        without = self.check(data[:-1])
        return without if without.passed else check

    def _forced(self, data: bytes, reader: GrammarMatcher, segmenter: Segmenter) -> Check:
        matcher = GrammarMatcher(self.compiled)
        token_bytes = segmenter.tokenizer.token_texts
        at = 0
        tokens = segmenter.segment(data)
        for i, token in enumerate(tokens):
            text = token_bytes[token]
            in_mask = matcher.is_allowed(token)
            accepted = matcher.accept_token(token)
            n = reader.accept_prefix(text)
            parsed = n == len(text)
            if self.compiled.is_linked and parsed and not in_mask and not accepted:  # a rule has no tokens left, and bytes are none
                return Check(len(data), i, self.stop(data, at, matcher))
            if not in_mask == accepted == parsed:
                said = f"mask {in_mask}, accept_token {accepted}, parser {parsed}"
                return Check(len(data), i, disagreement=f"token {token} {text!r} at byte {at}: {said}")
            if not accepted:
                return Check(len(data), i, self.stop(data, at + n, reader))
            if self.compiled.is_linked:
                reader = matcher.fork()
            at += len(text)
        complete = matcher.is_completed()
        stops = {matcher.is_allowed(t) for t in matcher.stop_token_ids}
        if not stops <= {complete} or reader.is_completed() != complete:
            return Check(len(data), len(tokens), disagreement=f"the end of the text: mask {stops}, parser {complete}")
        return Check(len(data), len(tokens), None if complete else self.stop(data, at, reader))

    def stop(self, data: bytes, offset: int, reader: GrammarMatcher) -> Stop:
        """The report on a text that stops here; the reader has read the bytes before."""
        line, column = line_and_column(data, offset)
        if words := schema_words(self.compiled, data, offset):
            return Stop(offset, line, column, _found(data, offset), words)
        if self.compiled.is_linked:
            return Stop(offset, line, column, _found(data, offset), next_words(reader, self.compiled.tokenizer_info.token_texts))
        return Stop(offset, line, column, _found(data, offset), self._names.at(reader, self._counts.of))


def line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a byte; columns count characters, and every byte of a character has its column."""
    begin = data.rfind(b"\n", 0, offset) + 1
    starts = sum(byte & 0xC0 != 0x80 for byte in data[begin : offset + 1])
    at_end_or_line_end = offset >= len(data)
    return data.count(b"\n", 0, offset) + 1, max(1, starts + at_end_or_line_end)


def _found(data: bytes, offset: int) -> str:
    if offset >= len(data):
        return END_OF_FILE
    while offset > 0 and data[offset] & 0xC0 == 0x80:
        offset -= 1
    line_begin = data.rfind(b"\n", 0, offset) + 1
    before = data[max(line_begin, offset - 200) : offset].decode("utf-8", "replace")
    rest = data[offset : offset + 200].decode("utf-8", "replace")
    word = _WORD.match(rest)
    if word is None:
        operator = _OPERATOR.match(rest)
        return repr(operator[0][:_MAX_OFFENDING] if operator else rest[0])
    shown = repr(word[0][:_MAX_OFFENDING])
    head = re.search(r"\w+\Z", before)
    return f"{shown} in {head[0][-_MAX_OFFENDING:] + word[0][:_MAX_OFFENDING]!r}" if head else shown
