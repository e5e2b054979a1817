"""Rules of the lexer to lexemes, and names of token types to the lexemes that are of them.

Of several lexemes of a text the first in the grammar wins; the literals of a combined grammar's rules come before all. A literal
that is the whole of one rule of the lexer is that rule's token.

Cost: that of the rules, see `psc.compiler.frontends.antlr.lexer_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import NOTHING, Chars, Expression, Literal, Sequence
from psc.compiler.frontends.antlr.escapes import both_cases
from psc.compiler.frontends.antlr.lexer_rules import LexerRules, elements_of
from psc.compiler.frontends.antlr.nodes import Alternative, Command, GrammarText, Rule, Text
from psc.compiler.frontends.ebnf.lexer import Source

DEFAULT_MODE: Final = "DEFAULT_MODE"
_SHOWN: Final = ("DEFAULT_TOKEN_CHANNEL", "0")
"""The channels whose tokens the parser sees."""


@dataclass(frozen=True)
class Lexeme:
    """A terminal, and what the lexer does when it has matched it."""

    name: str
    type: str | None
    """The type of its token; None where the parser sees none."""
    expression: Expression
    mode: str
    is_more: bool
    """Whether the token continues with the next lexeme."""
    moves: tuple[tuple[str, str], ...]
    """pushMode, popMode and mode, in order, each with its argument."""
    line: int | None
    rule: Rule | None
    offset: int


class TokenTypes:
    """The lexemes of a grammar, in the order of precedence.

    Args:
        lexer: the rules of the lexer, in ANTLR's order.
        parser: those of the parser, whose literals are tokens, too.
        texts: where the rules are from.

    Raises:
        GrammarError: a rule of the lexer cannot be read.
    """

    def __init__(self, lexer: Mapping[str, Rule], parser: Mapping[str, Rule], texts: list[GrammarText], main: Source) -> None:
        self._rules = LexerRules(lexer)
        self._main = main
        self.modes = list(dict.fromkeys([DEFAULT_MODE, *(rule.mode for rule in lexer.values())]))
        self.of_literal = _literal_rules(lexer)
        """The token type of each literal."""
        may_define = texts[0].kind == "combined"
        self.lexemes: list[Lexeme] = []
        ignores_case = texts[0].ignores_case
        for rule in parser.values():
            for text in _literals(rule):
                key = text.text
                if ignores_case and key not in self.of_literal and key.lower() in self.of_literal:
                    self.of_literal[key] = self.of_literal[key.lower()]
                if key in self.of_literal:
                    continue
                if not may_define:
                    raise rule.source.error(
                        text.offset,
                        f"no rule of the lexer is {text.text[:40]!r} alone, and a parser grammar defines no token; add one to the "
                        "lexer",
                    )
                if not text.text:
                    raise rule.source.error(text.offset, "'' is no token; leave the alternative empty")
                name = f"'{text.text}'"
                self.of_literal[key] = name
                self.lexemes.append(self._literal(name, text, rule, ignores_case))
        for rule in lexer.values():
            if not rule.is_fragment:
                self.lexemes += self._lexemes(rule)
        declared = [name for text in texts for name in text.tokens]
        types = [lexeme.type for lexeme in self.lexemes if lexeme.type is not None]
        own = [rule.name for rule in lexer.values() if not rule.is_fragment]
        self.names = list(dict.fromkeys([*types, *own, *declared]))
        """All token types."""

    def _line(self, source: Source, offset: int) -> int | None:
        return source.line(offset) if source is self._main else None

    def _literal(self, name: str, text: Text, rule: Rule, ignores_case: bool) -> Lexeme:
        expression: Expression = Literal(text.text)
        if ignores_case and text.text.lower() != text.text.upper():
            expression = Sequence(tuple(Chars(both_cases(((ord(c), ord(c)),))) for c in text.text))
        line = self._line(rule.source, text.offset)
        return Lexeme(name, name, expression, DEFAULT_MODE, False, (), line, None, text.offset)

    def _lexemes(self, rule: Rule) -> list[Lexeme]:
        """Of a rule: one for all alternatives that do the same."""
        groups: dict[tuple[tuple[str, str], ...], list[Alternative]] = {}
        for alternative in rule.alternatives:
            stop_if_cancelled()
            groups.setdefault(tuple((c.name, c.argument) for c in alternative.commands), []).append(alternative)
        found: list[Lexeme] = []
        for alternatives in groups.values():
            commands = alternatives[0].commands
            token = rule.name
            is_hidden = is_more = False
            moves = []
            for command in commands:
                if command.name == "skip":
                    is_hidden = True
                elif command.name == "channel":
                    is_hidden |= command.argument not in _SHOWN
                elif command.name == "type":
                    token = command.argument
                elif command.name == "more":
                    is_more = True
                elif command.name in ("mode", "pushMode", "popMode"):
                    moves.append((command.name, self._mode(rule, command)))
                else:
                    raise rule.source.error(
                        command.offset,
                        f"ANTLR has no command {command.name[:40]}; there are skip, more, type, channel, mode, pushMode, popMode",
                    )
            name = rule.name if len(groups) == 1 else f"{rule.name}#{len(found) + 1}"
            if token != rule.name:
                name = f"{name} -> {token}"
            expression = self._rules.terminal(rule, tuple(alternatives))
            if expression == NOTHING:
                if moves:
                    raise rule.source.error(
                        rule.offset,
                        f"the rule {rule.name[:40]} of the lexer matches no character, and changes the mode; psc's lexer takes "
                        "none without a character: write what follows into the rule",
                    )
                continue
            line = self._line(rule.source, rule.offset)
            found.append(
                Lexeme(name, None if is_hidden else token, expression, rule.mode, is_more, tuple(moves), line, rule, rule.offset)
            )
        return found

    def _mode(self, rule: Rule, command: Command) -> str:
        if command.name != "popMode" and command.argument not in self.modes:
            raise rule.source.error(
                command.offset, f"there is no mode {command.argument[:40]}; there are {', '.join(self.modes)[:200]}"
            )
        return command.argument


def _literal_rules(lexer: Mapping[str, Rule]) -> dict[str, str]:
    """The rules that are one literal each. Of several those without commands count; if these are several, the literal is none's."""
    found: dict[str, list[tuple[bool, str]]] = {}
    for rule in lexer.values():
        if rule.is_fragment or len(rule.alternatives) != 1 or len(rule.alternatives[0].parts) != 1:
            continue
        part, commands = rule.alternatives[0].parts[0], rule.alternatives[0].commands
        if isinstance(part, Text) and len(commands) <= 2:
            found.setdefault(part.text, []).append((bool(commands), rule.name))
    alone = {}
    for text, rules in found.items():
        plain = [name for has_commands, name in rules if not has_commands] or [name for _, name in rules]
        if len(plain) == 1:
            alone[text] = plain[0]
    return alone


def _literals(rule: Rule) -> list[Text]:
    """The literals of a rule of the parser, in order."""
    return [element for element in elements_of(rule.alternatives) if isinstance(element, Text)]
