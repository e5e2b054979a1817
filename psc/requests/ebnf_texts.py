"""EBNF texts as callers have them, to the request for the grammar: in XGrammar's and llama.cpp's notation, in W3C's or in ISO's.

Which one a text is in is seen from the text: see docs/w3c-ebnf.md and docs/iso-ebnf.md.
"""

from __future__ import annotations

from psc.compiler.frontends.front_end import UNNAMED
from psc.compiler.frontends.registry import front_end
from psc.compiler.frontends.request import GrammarRequest


def ebnf_request(text: str, *, root: str = "root", origin: str = UNNAMED) -> GrammarRequest:
    """The request for the grammar of a text; for the arguments see ``Grammar.from_ebnf``."""
    return GrammarRequest.of(front_end("ebnf").language_of(text), text, start=root, origin=origin)
