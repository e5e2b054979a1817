"""What the registry of front ends has for llguidance's dialect of Lark."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import GrammarOptions, Settings
from psc.compiler.frontends.llguidance.grammars import NamedGrammar, NamedGrammars
from psc.compiler.frontends.llguidance.parser import parse_document
from psc.compiler.frontends.llguidance.rules import Rules, Surroundings
from psc.compiler.frontends.registry import front_end
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_NAMED: Final = limit("llguidance_grammars")
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
    rules = _Linked(_settings(options.settings), names, origin).read(text, options.start, origin, ())
    return replace(rules, settings=options.settings.text)


def names_tokens(text: str, settings: Settings) -> bool:
    """Whether a text, or a grammar that it may refer to, has anything like a special token; also within quotes or a comment."""
    if _LIKE_A_TOKEN.search(text):
        return True
    named = _settings(settings).grammars.values()
    return any(front_end(g.read_as).names_tokens(g.request.text, g.request.options.settings) for g in named)


def _settings(settings: Settings) -> NamedGrammars:
    if not settings.text:
        return NamedGrammars()
    assert isinstance(settings, NamedGrammars)
    return settings


class _Linked:
    """Grammars that refer to each other by name, each read once."""

    def __init__(self, settings: NamedGrammars, names: TokenNames | None, origin: str) -> None:
        self._settings = settings
        self._names = names
        self._origin = origin
        self._read: dict[str, RuleSet] = {}

    def read(self, text: str, start: str, name: str, within: tuple[str, ...]) -> RuleSet:
        """A text that may refer to the grammars, inside those in `within`."""
        document, source = parse_document(text, name)
        surroundings = Surroundings(
            names=self._names, named=lambda wanted: self._named(wanted, within), schemas=self._settings.schemas
        )
        return Rules(document, source, surroundings).rule_set(start)

    def _named(self, name: str, within: tuple[str, ...]) -> RuleSet:
        grammar = self._settings.grammars[name]
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
        text, options = grammar.request.text, grammar.request.options
        if grammar.shares_names:
            return self.read(text, options.start, f"@{name}", (*within, name))
        reader = front_end(grammar.read_as)
        parsed = reader.parse(text, replace(options, lexer="any", keep_all_actions=True), f"@{name}", self._names)
        if parsed.rules is None:
            raise GrammarError(f"{self._origin}: @{name} is {reader.a_grammar}, which cannot be a part of another grammar")
        return parsed.rules
