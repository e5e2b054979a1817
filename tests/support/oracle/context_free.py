"""`any` lexing with every LR action kept: a text is what the rules generate, character by character.

A terminal matches whatever its regex matches, wherever the parser may take it; no lexeme is preferred to another. So the
language is the plain context-free one, with the terminals' regular languages put in for the terminals, over bytes. Earley's
recognizer answers exactly: a token may come next if and only if prefix + token begins some sentence.

Cost: a terminal's automaton takes milliseconds and is kept for all grammars; then Earley's for each byte of each token.
Source: docs/language.md.
"""

import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from lark.lexer import PatternRE, TerminalDef

from .earley import Earley, Symbol, TerminalAutomaton
from .ebnf import Chars, Expression, Literal, Reference, productions_of, read_ebnf, regex_of
from .lexing import LexerAutomaton


@functools.lru_cache(maxsize=4096)
def _automaton(regex: str) -> TerminalAutomaton:
    """The automaton of one terminal, which need not be able to stand in a lexer: it may match the empty text."""
    d = LexerAutomaton([TerminalDef("TERMINAL", PatternRE(regex))])
    return TerminalAutomaton(d.start, d.next, [winner is not None for winner in d.winner])


class CfgOracle:
    """Masks of a context-free grammar over the texts of its terminals.

    Args:
        productions: left side and right side of each; symbols are any hashable values.
        patterns: the terminals, in the syntax of `re`; any other symbol is a nonterminal.
        start: the symbol that a whole text must derive.
    """

    def __init__(
        self, productions: Iterable[tuple[Symbol, Sequence[Symbol]]], patterns: Mapping[Symbol, str], start: Symbol
    ) -> None:
        terminals = {symbol: _automaton(regex) for symbol, regex in patterns.items()}
        self._recognizer = Earley([(left, tuple(right)) for left, right in productions], terminals, start)

    @classmethod
    def of_ebnf(cls, text: str, root: str = "root") -> "CfgOracle":
        """The language of EBNF text, see ebnf.py."""
        rules = read_ebnf(text)
        numbers: dict[Hashable, int] = {Reference(root): 0}
        expressions: list[Expression] = [Reference(root)]
        productions: list[tuple[Symbol, Sequence[Symbol]]] = []
        for left in expressions:  # grows while we walk it
            for right in () if isinstance(left, Literal | Chars) else productions_of(left, rules):
                for part in right:
                    if part not in numbers:
                        numbers[part] = len(expressions)
                        expressions.append(part)
                productions.append((numbers[left], [numbers[part] for part in right]))
        patterns = {number: regex_of(e) for number, e in enumerate(expressions) if isinstance(e, Literal | Chars)}
        return cls(productions, patterns, 0)

    @classmethod
    def of_grammar(cls, grammar: Any) -> "CfgOracle":
        """The language of a psc.compiler.cfg.grammar.Cfg without ignored terminals."""
        if any(t.ignored for t in grammar.terminals):
            raise ValueError("ignored terminals mean nothing to `any` lexing")
        patterns = {i: t.pattern for i, t in enumerate(grammar.terminals)}
        start = grammar.first_nonterminal + grammar.nonterminals.index(grammar.start)
        return cls([(p.lhs, p.rhs) for p in grammar.productions], patterns, start)

    def allowed(self, prefix: bytes, tokens: Sequence[bytes]) -> list[bool]:
        """For each token, whether prefix + token begins some sentence."""
        column = self._recognizer.read(self._recognizer.first, prefix)
        return [self._recognizer.read(column, token) is not None for token in tokens]

    def eos_allowed(self, prefix: bytes) -> bool:
        """Whether the text may end after the prefix."""
        return self.accepts(prefix)

    def accepts(self, text: bytes) -> bool:
        """Whether the text is a sentence."""
        column = self._recognizer.read(self._recognizer.first, text)
        return column is not None and self._recognizer.accepts(column)
