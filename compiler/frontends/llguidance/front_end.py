"""What the registry of front ends has for llguidance's dialect of Lark."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import GrammarOptions
from psc.compiler.frontends.llguidance.grammars import NamedGrammar, read_settings
from psc.compiler.frontends.llguidance.parser import parse_document
from psc.compiler.frontends.llguidance.rules import Rules, Surroundings
from psc.errors import GrammarError, ResourceLimitError

MAX_NAMED = 30
"""Named grammars inside each other."""

_LIKE_A_TOKEN: Final = re.compile(r"<[^<>\s]+>")


def parse(text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
    """Reads a grammar in the dialect, with the grammars that it refers to.

    Args:
        text: the grammar.
        options: with the named grammars as settings, see :mod:`.grammars`.
        origin: for messages.
        names: of the vocabulary; None where it is not known, so that tokens cannot be looked up.

    Raises:
        GrammarError: the text or a named grammar is malformed, or uses what is not supported; the message has the place.
    """
    rules = _Linked(read_settings(options.settings), names, origin).read(text, options.start, origin, ())
    return replace(rules, settings=options.settings)


def names_tokens(text: str, settings: str) -> bool:
    """Whether a text, or a grammar that it may refer to, has anything like a special token; also within quotes or a comment."""
    from psc.compiler.frontends.registry import front_end

    if _LIKE_A_TOKEN.search(text):
        return True
    try:
        grammars = read_settings(settings).values()
    except GrammarError:  # parsing says so
        return True
    return any(front_end(_read_as(g)).names_tokens(g.text, g.settings) for g in grammars)


def _read_as(grammar: NamedGrammar) -> str:
    return "llguidance" if grammar.language == "lark" else grammar.language


class _Linked:
    """Grammars that refer to each other by name, each read once."""

    def __init__(self, grammars: dict[str, NamedGrammar], names: TokenNames | None, origin: str) -> None:
        self._grammars = grammars
        self._names = names
        self._origin = origin
        self._read: dict[str, RuleSet] = {}

    def read(self, text: str, start: str, name: str, within: tuple[str, ...]) -> RuleSet:
        """A text that may refer to the grammars, inside those in `within`."""
        document, source = parse_document(text, name)
        surroundings = Surroundings(names=self._names, named=lambda wanted: self._named(wanted, within))
        return Rules(document, source, surroundings).rule_set(start)

    def _named(self, name: str, within: tuple[str, ...]) -> RuleSet:
        grammar = self._grammars[name]
        if name in within:
            circle = " -> ".join(f"@{n}" for n in (*within[within.index(name) :], name))
            raise GrammarError(f"{self._origin}: circular named grammar reference: {circle}; put the rules into one grammar")
        if len(within) >= MAX_NAMED:
            raise ResourceLimitError(
                f"{self._origin}: named grammars refer to each other more than {MAX_NAMED} deep, which is the limit"
            )
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._parsed(name, grammar, within)
        return found

    def _parsed(self, name: str, grammar: NamedGrammar, within: tuple[str, ...]) -> RuleSet:
        from psc.compiler.frontends.registry import front_end

        if grammar.shares_names:
            return self.read(grammar.text, grammar.start, f"@{name}", (*within, name))
        language = _read_as(grammar)
        options = GrammarOptions(grammar.start, "any", True, grammar.settings)
        parsed = front_end(language).parse(grammar.text, options, f"@{name}", self._names)
        if not isinstance(parsed, RuleSet):
            what = front_end(language).a_grammar
            raise GrammarError(f"{self._origin}: @{name} is {what}, which cannot be a part of another grammar")
        return parsed
