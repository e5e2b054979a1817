"""The oracle: masks computed slowly and obviously, for everything in psc to be tested against.

It shares no code with psc. It reads a Lark grammar, lexes byte by byte (the design's reference language, "longest"
lexing with all terminals allowed), parses with Lark's own LALR tables, and answers for one prefix and one token at a
time.

    formulas.py   Boolean formulas, the states of the regex automata
    automaton.py  one terminal's regex as a deterministic byte automaton
    lexing.py     all terminals together: maximal munch, priorities, fall-back, commitment
    parsing.py    Lark's LALR(1) tables and a plain driver over immutable stacks
    masks.py      the mask: which tokens may follow a prefix

Cost: building takes milliseconds for toy grammars, well under a second for JSON, a second or two for Java; then a few
microseconds for each byte of each token. Source of the definitions: docs/language.md.
"""

from .automaton import Unsupported
from .lexing import LexError
from .masks import Oracle, Undecided

__all__ = ["LexError", "Oracle", "Undecided", "Unsupported"]
