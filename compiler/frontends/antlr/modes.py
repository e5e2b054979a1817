"""Grammars whose lexer has modes, as productions that know the mode at each place.

ANTLR's lexer keeps a stack of modes, of which the topmost says what it lexes. A nonterminal becomes one for each stack that it may
begin and end with, as far as that shows: two modes from the top. So each place of the parser is in one mode, and psc's lexer
`modal` lexes what belongs there: outside the default mode what the parser can take, in the default mode every token.

What the lexer skips in other modes, and what changes the mode while it is skipped, stands in the productions before each token, and
`more` is a token of several lexemes.

With one other mode each of its lexemes has a twin that no rule takes. The lexer lexes twins throughout the mode, so a text in
which ANTLR would find another token there is refused. Where the default mode ignores nothing, psc's lexer cannot tell it from the
others, and lexes what the parser can take there, too.

Cost: the productions times the stacks that they may begin with; at most :data:`_MAX_WORK` steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from psc._core import TextAutomaton, stop_if_cancelled
from psc.compiler.expressions.expression import Automaton, Expression
from psc.compiler.expressions.text_sets import expression_of, text_set
from psc.compiler.frontends.antlr.parser_rules import Productions, Symbols
from psc.compiler.frontends.antlr.token_types import DEFAULT_MODE, Lexeme, TokenTypes
from psc.errors import ResourceLimitError

_KNOWN: Final = 2
_MAX_WORK: Final = 1_000_000
"""Symbols of rows that are followed; some seconds."""
_GAP: Final = "__skipped"
_MORE: Final = "__more"

Stack = tuple[str, ...]
"""Modes, the topmost last; those below are not known."""


@dataclass(frozen=True)
class Moded:
    """What is made of a grammar."""

    productions: Productions
    start: str
    lexemes: list[Lexeme]
    """In the order of precedence, those of other modes first."""
    ignored: frozenset[str]
    """The lexemes that may stand anywhere in the default mode."""


def has_modes(tokens: TokenTypes) -> bool:
    """Whether a lexer has anything but tokens and skipped text in one mode."""
    return len(tokens.modes) > 1 or any(lexeme.moves or lexeme.is_more for lexeme in tokens.lexemes)


def with_modes(productions: Productions, start: str, tokens: TokenTypes, source_name: str) -> Moded:
    """The productions for each mode.

    Args:
        productions: over nonterminals and token types.
        start: the nonterminal of whole texts.
        tokens: the token types.
        source_name: for messages.

    Raises:
        ResourceLimitError: there are too many of them.
    """
    ignored = {x.name for x in tokens.lexemes if x.type is None and not x.is_more and x.mode == DEFAULT_MODE and not x.moves}
    of_name = {x.name: x for x in tokens.lexemes}
    rules = dict(productions)
    more = [x.name for x in tokens.lexemes if x.is_more]
    rules[_MORE] = [(), *((_MORE, name) for name in more)]
    begun: Symbols = (_MORE,) if more else ()
    skipped = [x.name for x in tokens.lexemes if x.type is None and not x.is_more and (x.name not in ignored or more)]
    rules[_GAP] = [(), *((_GAP, *begun, name) for name in skipped)]
    for name in tokens.names:
        rules[_token(name)] = [(_GAP, *begun, x.name) for x in tokens.lexemes if x.type == name and not x.is_more]
    types = set(tokens.names)
    for name in productions:
        rules[name] = [tuple(_token(s) if s in types else s for s in row) for row in productions[name]]
    rules["__text"] = [(start, _GAP)]
    made, whole = _Product(rules, of_name, source_name).of("__text")
    return _lexed(made, whole, tokens, ignored)


def _token(name: str) -> str:
    return f"__token {name}"


class _Product:
    """Nonterminals with the stacks that they begin and end with."""

    def __init__(self, rules: Productions, lexemes: dict[str, Lexeme], source_name: str) -> None:
        self._rules = rules
        self._lexemes = lexemes
        self._too_large = ResourceLimitError(f"{source_name}: the modes of the lexer make too many rules; use fewer modes")
        self._work = 0
        self._ends: dict[tuple[str, Stack], set[Stack]] = {}
        self._users: dict[tuple[str, Stack], set[tuple[str, Stack]]] = {}

    def of(self, start: str) -> tuple[Productions, str]:
        first: tuple[str, Stack] = (start, (DEFAULT_MODE,))
        todo: dict[tuple[str, Stack], None] = {first: None}
        self._ends[first] = set()
        while todo:
            stop_if_cancelled()
            at = next(iter(todo))
            del todo[at]
            ends = set()
            known = len(self._ends)
            for row in self._rules[at[0]]:
                ends |= {stack for _, stack in self._ways(row, at)}
            todo |= dict.fromkeys(list(self._ends)[known:])
            if not ends <= self._ends[at]:
                self._ends[at] |= ends
                todo |= dict.fromkeys(sorted(self._users.get(at, ())))
        made: Productions = {}
        for name, stack in self._ends:
            for row in self._rules[name]:
                for symbols, end in self._ways(row, (name, stack)):
                    made.setdefault(_called(name, stack, end), []).append(symbols)
        whole = "__whole"
        made[whole] = [(_called(*first, end),) for end in sorted(self._ends[first])]
        return made, whole

    def _ways(self, row: Symbols, at: tuple[str, Stack]) -> list[tuple[Symbols, Stack]]:
        """The row from a stack on: its symbols for each stack that it ends with."""
        ways: list[tuple[Symbols, Stack]] = [((), at[1])]
        for symbol in row:
            following = []
            for symbols, stack in ways:
                lexeme = self._lexemes.get(symbol)
                if lexeme is not None:
                    moved = _moved(lexeme, stack)
                    if moved is not None:
                        following.append(((*symbols, symbol), moved))
                    continue
                below, known = stack[:-_KNOWN], stack[-_KNOWN:]
                key = (symbol, known)
                self._ends.setdefault(key, set())
                self._users.setdefault(key, set()).add(at)
                following += [((*symbols, _called(symbol, known, end)), below + end) for end in sorted(self._ends[key])]
            ways = following
            self._work += 1 + len(ways)
            if self._work > _MAX_WORK:
                raise self._too_large
        return ways


def _called(name: str, stack: Stack, end: Stack) -> str:
    inner = " ".join(stack) if stack == end else f"{' '.join(stack)} > {' '.join(end)}"
    return f"{name}<{inner}>"


def _moved(lexeme: Lexeme, stack: Stack) -> Stack | None:
    """The stack behind a lexeme; None where it is of another mode, or leads below what is known."""
    if not stack or stack[-1] != lexeme.mode:
        return None
    for command, mode in lexeme.moves:
        if command == "pushMode":
            stack = (*stack, mode)
        elif not stack:
            return None
        else:
            stack = stack[:-1] if command == "popMode" else (*stack[:-1], mode)
    return stack


def _lexed(productions: Productions, start: str, tokens: TokenTypes, ignored: set[str]) -> Moded:
    """With the lexemes in the order that the lexer `modal` needs: those in front of each ignored one are of other modes."""
    inside = [x for x in tokens.lexemes if x.mode != DEFAULT_MODE]
    outside = [x for x in tokens.lexemes if x.mode == DEFAULT_MODE]
    first = _alone(outside, ignored)
    if first is None:
        return Moded(productions, start, [*inside, *outside], frozenset())
    if len({x.mode for x in inside}) == 1:
        inside = [twin for x in inside for twin in (x, replace(x, name=f"{x.name}#twin"))]
    return Moded(productions, start, [*inside, first, *outside], frozenset((*ignored, first.name)))


def _alone(lexemes: list[Lexeme], ignored: set[str]) -> Lexeme | None:
    """What of an ignored lexeme no better one matches; it may come first. None where nothing is ignored."""
    for i, lexeme in enumerate(lexemes):
        if lexeme.name not in ignored:
            continue
        left = _texts(lexeme.expression)
        for better in lexemes[:i]:
            stop_if_cancelled()
            left = left.difference(_texts(better.expression))
        if not left.is_empty():
            return replace(lexeme, name=f"{lexeme.name}#first", expression=expression_of(left))
    return None


def _texts(expression: Expression) -> TextAutomaton:
    if isinstance(expression, Automaton):
        return TextAutomaton.of(expression.accepts, expression.arcs)
    return text_set(expression)
