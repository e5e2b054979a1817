"""The oracles: masks computed slowly and obviously, for everything in psc to be tested against.

But for `openfst`, they share no code with psc. Each reads grammar text and answers for one prefix and one token at a time, byte by
byte.

    formulas.py      Boolean formulas, the states of the regex automata
    automaton.py     one terminal's regex as a deterministic byte automaton
    lexing.py        all terminals together: maximal munch, priorities, fall-back, commitment
    parsing.py       Lark's LALR(1) tables and a plain driver over immutable stacks
    earley.py        Earley's recognizer, for any context-free grammar
    ebnf.py          EBNF text as expressions and as productions
    w3c.py           EBNF in W3C's notation as the set of its sentences up to a length
    enumeration.py   all sentences up to a length, to test the oracles themselves

    masks.py         Oracle: a Lark grammar, LALR(1), all terminals allowed everywhere (`basic`)
    contextual.py    ContextualOracle: the same, each lexeme lexed with what the parser can take there (`contextual`)
    modal.py         ModalOracle: the same, some terminals only where the parser can take them, and alone there (`modal`)
    flush.py         FlushOracle, FlushModalOracle: `basic` and `modal`; no text begins with what is ignored
    keep_all.py      KeepAllOracle: `basic`, but every derivation counts, not only the one that Lark's tables prefer
    contextual_keep_all.py  ContextualKeepAllOracle: `contextual`, every derivation counting, each with contexts of its own
    context_free.py  CfgOracle: EBNF, or any productions over regexes; the plain context-free language (`any`)

    openfst/         terminals' byte automata by OpenFst, from psc's own parsed patterns; not imported with the others

Cost: building takes milliseconds for toy grammars, well under a second for JSON, a second or two for Java; then a few
microseconds for each byte of each token. Source of the definitions: docs/language.md.
"""

from .automaton import Unsupported
from .context_free import CfgOracle
from .contextual import ContextualOracle
from .contextual_keep_all import ContextualKeepAllOracle
from .flush import FlushModalOracle, FlushOracle
from .keep_all import KeepAllOracle
from .lexing import LexError
from .masks import Oracle, Undecided
from .modal import ModalOracle

__all__ = [
    "CfgOracle",
    "ContextualKeepAllOracle",
    "ContextualOracle",
    "FlushModalOracle",
    "FlushOracle",
    "KeepAllOracle",
    "LexError",
    "ModalOracle",
    "Oracle",
    "Undecided",
    "Unsupported",
]
