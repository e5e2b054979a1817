"""EBNF in the notation of ISO/IEC 14977 to a :class:`~psc.compiler.expressions.expression.RuleSet`.

    recognition.py   whether an EBNF text is in this notation
    lexer.py         text to tokens
    parser.py        tokens to rules of expressions

Differences and ignored text are those of `psc.compiler.frontends.w3c.rules`. Begin with `parser.py`. docs/iso-ebnf.md says what is
read.
"""

from psc.compiler.frontends.iso.parser import load_iso

__all__ = ["load_iso"]
