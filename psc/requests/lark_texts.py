"""Texts in Lark's syntax as callers have them, and the grammars that they name, to the request for the grammar.

Lark's own language and llguidance's dialect of it share their files and calls. Which one a text is in is seen from the text, unless
the caller says so: see docs/llguidance.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from psc.compiler.frontends.front_end import NO_SETTINGS, UNNAMED, check_text, origin_of
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.registry import front_end, indenter_settings
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError
from psc.support.readable import shortened

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LarkLexer

LarkDialect = OneOf["lark", "llguidance"]
"""What a text in Lark's syntax may be in."""


def lark_request(
    text: str,
    named: Mapping[str, str | GrammarRequest],
    *,
    dialect: LarkDialect | None = None,
    start: str = "start",
    lexer: LarkLexer | None = None,
    keep_all_actions: bool = False,
    indenter: object = None,
    schemas: SchemaSettings | None = None,
    origin: str = UNNAMED,
) -> GrammarRequest:
    """The request for the grammar of a text; for the arguments see ``Grammar.from_lark``.

    Args:
        named: texts in the dialect, and requests for grammars in any language.
        origin: the file that the caller says the text is from.
        schemas: of ``%json`` in the dialect, see ``NamedGrammars``.

    Raises:
        GrammarError: an option does not fit the dialect, or a name cannot be referred to.
    """
    if dialect not in (None, "lark", "llguidance"):
        raise GrammarError(f"dialect must be 'lark', 'llguidance' or None, not {shortened(repr(dialect), 60)}")
    if indenter is not None and (named or dialect == "llguidance"):
        raise GrammarError("indenter: llguidance's dialect has none; it is for Lark's own language")
    if dialect is None and indenter is not None:
        dialect = "lark"
    if dialect is None:
        dialect = "llguidance" if named or front_end("lark").language_of(text) == "llguidance" else "lark"
    origin = origin_of(origin)
    if dialect == "lark":
        if named:
            raise GrammarError(f"named_grammars ({', '.join(named)}): references like @name are not in Lark's own language")
        settings = NO_SETTINGS if indenter is None else indenter_settings(indenter)
        return GrammarRequest.of(
            "lark", text, start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings, origin=origin
        )
    from psc.compiler.frontends.llguidance.grammars import NamedGrammar, NamedGrammars

    grammars = {}
    for name, grammar in named.items():
        if isinstance(grammar, str):
            text_of_it = check_text(grammar, f"named_grammars[{name!r}]")
            grammars[name] = NamedGrammar(GrammarRequest.of("llguidance", text_of_it), shares_names=True)
        else:
            grammars[name] = NamedGrammar(grammar)
    return GrammarRequest.of(
        "llguidance",
        text,
        start=start,
        lexer=None if lexer == "contextual" else lexer,
        keep_all_actions=keep_all_actions,
        settings=NamedGrammars(grammars, schemas or SchemaSettings()),
        origin=origin,
    )
