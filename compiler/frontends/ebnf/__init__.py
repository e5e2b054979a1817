"""EBNF grammar text, in the dialect of XGrammar's EBNF and llama.cpp's GBNF, to a
:class:`~psc.compiler.expressions.expression.RuleSet`.

    escapes.py    literals and character classes: escapes, ranges, complements
    lexer.py      text to tokens; where an offset is, for messages
    parser.py     tokens to expressions
    macros.py     Name(…), as XGrammar has them; vocabulary_tokens.py: the vocabulary's tokens
    options.py    options of rules, name[max_chars=3] ::= …

What both dialects take is taken, and so is what only one of them takes, where the other refuses it; docs/ebnf.md has the list.
"""

from psc.compiler.frontends.ebnf.parser import MAX_NESTING, MAX_REPEAT, MAX_TEXT, load_ebnf

__all__ = ["MAX_NESTING", "MAX_REPEAT", "MAX_TEXT", "load_ebnf"]
