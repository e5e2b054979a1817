"""Ids that type checkers tell apart: each id space of the core's tables is a type of its own, as in native/base/ids.hpp.

When the program runs, ids are ints. The core's functions take and give plain ints. A module that reads the core's tables names the
types of their ids once, where it takes them in.
"""

from __future__ import annotations

from typing import NewType

LrState = NewType("LrState", int)
"""A state of the LR automaton; 0 is the start."""
LexerState = NewType("LexerState", int)
"""A state of the lexer; 0 is a start, whose context may not be known."""
Terminal = NewType("Terminal", int)
"""The last terminal is the end of the text."""
Nonterminal = NewType("Nonterminal", int)
Production = NewType("Production", int)
Symbol = NewType("Symbol", int)
"""A symbol of the grammar: the terminals, the end of the text, then the nonterminals."""
LexSymbol = NewType("LexSymbol", int)
"""What the lexer reads for the parser: the terminals, then the conditions on the LR state on top of the stack."""
ByteClass = NewType("ByteClass", int)
"""A set of bytes that the lexer does not tell apart."""
TokenClass = NewType("TokenClass", int)
"""A set of tokens that no lexer state tells apart."""
