"""What the registry of front ends has for Lark's language."""

from __future__ import annotations

from dataclasses import replace

from psc.compiler.cfg.grammar import Cfg
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import GrammarOptions, RefusedTextError
from psc.compiler.frontends.lark import loader
from psc.compiler.frontends.lark.first_line import said
from psc.compiler.frontends.lark.indenter_settings import IndenterSettings
from psc.compiler.frontends.lark.layout import bounded_layout
from psc.compiler.frontends.layout import LayoutSettings
from psc.compiler.grammars import bounded_lines_of
from psc.compiler.grammars.bounded_lines import BoundedLines
from psc.errors import GrammarError, ResourceLimitError


def parse(text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> Cfg:
    """See :func:`psc.compiler.frontends.lark.loader.load_lark`.

    Raises:
        GrammarError: the text is malformed; a `RefusedTextError` where llguidance's dialect has the same options.
    """
    try:
        if not isinstance(options.settings, LayoutSettings):
            return _load(text, options, origin)  # with an indenter, too
        lines = bounded_lines_of(text) or BoundedLines("")
        if lines.until:  # what is behind it is all that the bounds leave out
            bounded = _load(text.partition(lines.until)[0], options, origin)
            return replace(bounded, source=text, settings=options.settings.text)
        grammar = _load(text + lines.counted(options.settings.max_blanks), options, origin)
        return replace(bounded_layout(grammar, options.settings, lines.kept), source=text)
    except ResourceLimitError:
        raise
    except GrammarError as e:
        if options.lexer != "contextual" or options.keep_all_actions or said(text):  # the dialect has none of these
            raise
        instead = _as_dialect(text, options.start, origin, names)
        hint = "llguidance's dialect of Lark can read it: begin it with %llguidance {}"
        raise RefusedTextError(e, "llguidance", instead, hint) from e


def _load(text: str, options: GrammarOptions, origin: str) -> Cfg:
    return loader.load_lark(
        text,
        source_name=origin,
        start=options.start,
        lexer=options.lexer,
        keep_all_actions=options.keep_all_actions,
        indenter=options.settings if isinstance(options.settings, IndenterSettings) else None,
    )


def _as_dialect(text: str, start: str, origin: str, names: TokenNames | None) -> RuleSet | GrammarError:
    from psc.compiler.frontends.llguidance.front_end import parse as parse_dialect

    try:
        return parse_dialect(text, GrammarOptions(start, "any", True), origin, names)
    except GrammarError as e:
        return e
