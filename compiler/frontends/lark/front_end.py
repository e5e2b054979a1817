"""What the registry of front ends has for Lark's language."""

from __future__ import annotations

from psc.compiler.cfg.grammar import Cfg
from psc.compiler.frontends.front_end import GrammarOptions
from psc.compiler.frontends.lark import loader
from psc.errors import GrammarError, ResourceLimitError


def parse(text: str, options: GrammarOptions, origin: str) -> Cfg:
    """See :func:`psc.compiler.frontends.lark.loader.load_lark`; the message says where llguidance's dialect could read the text."""
    try:
        return loader.load_lark(
            text, source_name=origin, start=options.start, lexer=options.lexer, keep_all_actions=options.keep_all_actions
        )
    except ResourceLimitError:
        raise
    except GrammarError as e:
        if options.lexer == "contextual" and not options.keep_all_actions and _is_read_as_dialect(text, options.start):
            raise GrammarError(f"{e}\nllguidance's dialect of Lark can read it: begin it with %llguidance {{}}") from e
        raise


def _is_read_as_dialect(text: str, start: str) -> bool:
    from psc.compiler.frontends.llguidance.front_end import parse as parse_dialect

    try:
        parse_dialect(text, GrammarOptions(start, "any", True), "", None)
    except GrammarError:
        return False
    return True
