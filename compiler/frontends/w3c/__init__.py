"""EBNF in the notation of W3C's specifications (XML, SPARQL, Turtle, XPath) to a
:class:`~psc.compiler.expressions.expression.RuleSet`.

    recognition.py   whether an EBNF text is in this notation
    lexer.py         text to tokens
    parser.py        tokens to rules of expressions
    rules.py         differences to automata; ignored text between the terminals

Begin with `parser.py`. docs/w3c-ebnf.md says what is read.
"""

from psc.compiler.frontends.w3c.parser import load_w3c

__all__ = ["load_w3c"]
