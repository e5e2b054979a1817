"""The ends and the calls of parts in the rules of linked grammars: one more character each, by symbols that no text has.

A part's machine takes the end of a part where its text may end. A frame takes a call where a text of the part may stand:

    frame   "<" call(0) ">"          part   "a" "b"+ END

The lexing rule of a grammar with a lexer of its own (Lark's) belongs to the part: its machine lexes as that of the grammar alone
does. The lexer sees the end as one more character which no lexeme continues with, so what was begun is finished as at the end of a
text:

    start: A B    part    $part: start $END-OF-PART

Cost: of rules, a copy of the native core's; of a grammar with a lexer, its tables with one more terminal, 30 ms for a programming
language.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from psc.compiler.cfg.grammar import Cfg, Production, Terminal
from psc.compiler.expressions.expression import EMPTY, Chars, Expression, Reference, RuleSet, Sequence
from psc.compiler.expressions.fold import fold, rebuilt
from psc.compiler.expressions.joined_rules import joined
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS
from psc.compiler.terminals.python_pattern import python_pattern
from psc.support.limits import limit

END_OF_PART: Final = MAX_TOKENS - 1
SPENT_END: Final = MAX_TOKENS - 0x3000
FIRST_CALL: Final = MAX_TOKENS - 0x2000
MAX_PARTS: Final = limit("parts")
"""Symbols, by number, as native/text/token_symbols.hpp has them."""

END: Final = Chars(((FIRST_TOKEN + END_OF_PART, FIRST_TOKEN + END_OF_PART),))
"""The end of a part."""
SPENT: Final = Chars(((FIRST_TOKEN + SPENT_END, FIRST_TOKEN + SPENT_END),))
"""The end of a part whose tokens are exhausted."""

_END_NAME: Final = "$END_OF_PART"
_START_NAME: Final = "$part"
_TEXT_NAME: Final = "text"


def call(number: int) -> Chars:
    """The call of a part."""
    return Chars(((FIRST_TOKEN + FIRST_CALL + number,) * 2,))


def rules_with_end(body: RuleSet) -> RuleSet:
    """Rules whose texts have the end of a part at their end."""
    root = Sequence((Reference(_TEXT_NAME), END))
    whole = joined({"root": root}, {_TEXT_NAME: body}, "root", source="", source_name=body.source_name)
    return replace(whole, if_empty=body.if_empty)


def cfg_with_end(cfg: Cfg) -> Cfg:
    """The same of a grammar with any lexer."""
    n, end_of_text = len(cfg.terminals), cfg.end_terminal
    terminal = Terminal(
        name=_END_NAME,
        pattern=python_pattern(END),
        text=None,
        flags=frozenset(),
        priority=0,
        lark_order=n,
        rank=n,
        ignored=False,
        line=None,
        expression=END,
    )

    def moved(symbol: int) -> int:
        return symbol if symbol < end_of_text else symbol + 1

    start = cfg.first_nonterminal + cfg.nonterminals.index(cfg.start)
    productions = [replace(p, lhs=moved(p.lhs), rhs=tuple(map(moved, p.rhs))) for p in cfg.productions]
    whole = Production(cfg.first_nonterminal + 1 + len(cfg.nonterminals), (moved(start), n), 0)
    return replace(
        cfg,
        terminals=(*cfg.terminals, terminal),
        nonterminals=(*cfg.nonterminals, _START_NAME),
        productions=(*productions, whole),
        start=_START_NAME,
        asked_for=None,
    )


def without_boundaries(expression: Expression) -> Expression:
    """An expression in which nothing stands for ends and calls."""

    def combine(e: Expression, parts: list[Expression]) -> Expression:
        match e:
            case Chars():
                return EMPTY if e.ranges and e.ranges[0][0] >= FIRST_TOKEN + SPENT_END else e
            case Sequence():
                rest = tuple([part for part in parts if part != EMPTY])
                return Sequence(rest) if len(rest) > 1 else rest[0] if rest else EMPTY
        return rebuilt(e, parts)

    return fold(expression, combine)
