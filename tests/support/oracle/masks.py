"""The mask by definition: token v may follow prefix x if and only if xv begins some sentence.

The prefix is lexed and parsed; so is each token after it. What is then left to ask is whether the lexeme that is still
pending can become something that the parser takes (`_continues`). A viable sequence of terminals is assumed to have a
spelling, but the bytes of a fall-back are real ones: a pending lexeme that fails on some next byte is lexed again with
that byte, so every such byte is tried.
Cost: a few microseconds for each byte of each token; `_continues` once for each pair of pending lexeme and stack.
Source: docs/language.md.
"""

from collections.abc import Sequence

import lark

from .lexing import Lexer, LexerAutomaton, LexError, Pending
from .parsing import Parser, Stack

_MAX_FALL_BACKS = 5_000


class Undecided(Exception):
    """Falling back led to ever new stacks; the search was given up. Terminals such as a, b, abd, bac can do that."""


class Oracle:
    """Masks of a Lark grammar, LALR(1), all terminals allowed everywhere (Lark's basic lexer, but maximal munch).

    Raises what Lark raises for a bad grammar, `Unsupported` for a regex that the oracle refuses.
    """

    def __init__(self, grammar_text: str, start: str = "start") -> None:
        self.lark, self.parser = self._load(grammar_text, start)
        self.lexer = Lexer(LexerAutomaton(self.lark.terminals, ascii_case="case=ascii" in grammar_text.partition("\n")[0]))
        self._continuations: dict[tuple[Pending, Stack], bool] = {}

    def _load(self, grammar_text: str, start: str) -> tuple[lark.Lark, Parser]:
        loaded = lark.Lark(grammar_text, parser="lalr", lexer="basic", start=start)
        return loaded, Parser(loaded, start)

    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]:
        """For each token, whether prefix + token begins some sentence. Raises Undecided."""
        read = self.lexer.read(self.lexer.nothing, prefix)
        stack = read and self.parser.shift_all(self.parser.start, read[0])
        if read is None or stack is None:
            return [False] * len(tokens)
        return [self._allows(read[1], stack, token) for token in tokens]

    def eos_allowed(self, prefix: bytes) -> bool:
        """Whether the text may end after the prefix."""
        return self.accepts(prefix)

    def accepts(self, text: bytes) -> bool:
        """Whether the text is a sentence."""
        try:
            stack = self.parser.shift_all(self.parser.start, self.lexer.terminals(text))
        except LexError:
            return False
        return stack is not None and self.parser.accepts(stack)

    def terminals(self, text: bytes) -> list[str]:
        """The terminals of a whole text, without the ignored ones. Raises LexError if it cannot be lexed."""
        return [t for t in self.lexer.terminals(text) if t not in self.parser.ignored]

    def _allows(self, pending: Pending, stack: Stack, token: bytes) -> bool:
        read = self.lexer.read(pending, token)
        after = read and self.parser.shift_all(stack, read[0])
        return read is not None and after is not None and self._continues(read[1], after)

    def _continues(self, pending: Pending, stack: Stack) -> bool:
        """Whether some text after the pending lexeme leads to terminals that the parser takes."""
        key = (pending, stack)
        if key not in self._continuations:
            self._continuations[key] = self._search(pending, stack)
        return self._continuations[key]

    def _search(self, pending: Pending, stack: Stack) -> bool:
        todo = [(pending, stack)]
        seen = {(pending, stack)}
        for pending, stack in todo:  # grows while we walk it
            if not pending.begun:
                return True
            # It becomes one terminal, now or after more bytes.
            if any(self.parser.shift(stack, t) is not None for t in self.lexer.automaton.can_become[pending.state]):
                return True
            # It falls back because the text ends.
            last = self.lexer.finish(pending)
            ended = None if last is None else self.parser.shift_all(stack, last)
            if ended is not None and self.parser.accepts(ended):
                return True
            # It falls back because of some next byte, at once or after bytes that still go on with it.
            if pending.fall_back and self.parser.shift_all(stack, pending.fall_back[0]) is not None:
                for byte in self.lexer.automaton.representative_bytes:
                    step = self.lexer.step(pending, byte)
                    after = step and self.parser.shift_all(stack, step[0])
                    if step is not None and after is not None and (step[1], after) not in seen:
                        seen.add((step[1], after))
                        todo.append((step[1], after))
            if len(seen) > _MAX_FALL_BACKS:
                raise Undecided(pending, stack)
        return False
