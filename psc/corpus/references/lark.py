"""Lark itself, over the same grammar: psc must not refuse a text that it parses. It reads some 200 KB a second."""

from __future__ import annotations

from pathlib import Path

from psc.compiler.cfg.grammar import LarkLexer
from psc.corpus.references.libraries import Library
from psc.corpus.references.reference import Refusal
from psc.errors import ReferenceMissingError


def lark_parser(grammar: Path, lexer: LarkLexer) -> Library:
    """Lark's LALR(1) parser with this lexer, for a grammar in its language."""
    import lark

    if grammar.suffix != ".lark":
        raise ReferenceMissingError(f"{grammar.name} is not in Lark's language")
    parser = lark.Lark.open(str(grammar), parser="lalr", lexer=lexer, start="start")

    def judge(text: str) -> Refusal | None:
        try:
            parser.parse(text)
        except lark.exceptions.UnexpectedCharacters as e:
            return Refusal(f"no terminal matches {text[e.pos_in_stream :][:1]!r}", e.line, e.column)
        except lark.exceptions.UnexpectedToken as e:
            return Refusal(f"unexpected {e.token.type}", max(e.line, 0), max(e.column, 0))
        except lark.exceptions.UnexpectedInput as e:
            return Refusal(type(e).__name__)
        return None

    return Library(f"Lark {lark.__version__}", judge)
