"""Grammars with a lexer of their own as parts of others: Lark's, whose text is cut into lexemes by maximal munch.

The lexing rule belongs to the part. Its machine lexes as that of the grammar alone does, and where its text may end it takes the
end of a part, which the lexer sees as one more character: no lexeme goes on with it, so what was begun is finished as at the end
of a text.

    start: A B    part    $part: start $END-OF-PART

Cost: the tables of the grammar with one more terminal, 30 ms for a programming language.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from psc.compiler.cfg.grammar import Cfg, Production, Terminal
from psc.compiler.expressions.expression import Chars
from psc.compiler.pipeline.ready_grammar import ReadyGrammar, ready_grammar
from psc.compiler.terminals.python_pattern import python_pattern

_END_NAME: Final = "$END_OF_PART"
_START_NAME: Final = "$part"


def with_end(cfg: Cfg, end: Chars) -> ReadyGrammar:
    """The tables of a grammar whose texts have one more character at their end.

    Args:
        cfg: with any lexer.
        end: the character.

    Raises:
        GrammarError: as :func:`psc.compiler.pipeline.ready_grammar.ready_grammar`.
    """
    n, end_of_text = len(cfg.terminals), cfg.end_terminal
    terminal = Terminal(
        name=_END_NAME,
        pattern=python_pattern(end),
        text=None,
        flags=frozenset(),
        priority=0,
        lark_order=n,
        rank=n,
        ignored=False,
        line=None,
        expression=end,
    )

    def moved(symbol: int) -> int:
        return symbol if symbol < end_of_text else symbol + 1

    start = cfg.first_nonterminal + cfg.nonterminals.index(cfg.start)
    productions = [replace(p, lhs=moved(p.lhs), rhs=tuple(map(moved, p.rhs))) for p in cfg.productions]
    whole = Production(cfg.first_nonterminal + 1 + len(cfg.nonterminals), (moved(start), n), 0)
    return ready_grammar(
        replace(
            cfg,
            terminals=(*cfg.terminals, terminal),
            nonterminals=(*cfg.nonterminals, _START_NAME),
            productions=(*productions, whole),
            start=_START_NAME,
            asked_for=None,
        )
    )
