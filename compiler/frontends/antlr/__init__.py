"""Grammars in ANTLR 4's language (`.g4`) to :class:`~psc.compiler.cfg.grammar.Cfg`.

    files.py          a text, and the files beside it that it imports or takes its tokens from
    tokens.py         text to tokens
    escapes.py        what is inside quotes and brackets
    nodes.py          what a text is made of
    syntax.py         tokens to rules
    lexer_rules.py    rules of the lexer to expressions
    lazy.py           those with `*?` to automata
    token_types.py    names of tokens to what is lexed as them
    parser_rules.py   rules of the parser to productions
    modes.py          productions that know the mode of the lexer at each place
    front_end.py      all of it

Begin with `front_end.py`. docs/antlr.md says what is read.
"""
