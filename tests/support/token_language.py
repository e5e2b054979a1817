"""A language whose grammars name tokens, as a front end: parts one after the other, with blanks between.

A part is `"text"`, `@name` (that token), `#5` (the same by its id), `^name` (any other token), or `$name` (a marker).
"""

import re
from dataclasses import dataclass

from token_grammars import spellings

from psc.compiler.expressions.expression import NOTHING, Expression, Literal, RuleSet, Sequence
from psc.compiler.expressions.tokens import TokenNames, token_set
from psc.compiler.frontends.front_end import NO_SETTINGS, FrontEnd, GrammarOptions, Settings
from psc.errors import GrammarError


@dataclass(frozen=True, kw_only=True)
class Tokens(FrontEnd):
    language: str = "tokens"
    title: str = "tokens"
    a_grammar: str = "a list of tokens"
    suffixes: tuple[str, ...] = (".tokens",)
    has_rules: bool = False

    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        parts = tuple(_part(word, origin, names) for word in text.split())
        reads_names = self.names_tokens(text, NO_SETTINGS)
        return RuleSet({"root": Sequence(parts)}, "root", text, origin, {"root": 1}, "tokens", reads_names=reads_names)

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return re.search(r"[@^#$]", text) is not None


def _part(word: str, origin: str, names: TokenNames | None) -> Expression:
    kind, rest = word[0], word[1:]
    if kind == '"':
        return Literal(rest.rstrip('"'))
    if names is None:
        return NOTHING
    if kind == "#":
        return token_set([int(rest)])
    if kind == "$":
        return spellings(names, rest)
    token = names.id_of(rest)
    if token is None:
        raise GrammarError(f"{origin}: there is no token {rest!r}")
    return token_set([token]) if kind == "@" else names.tokens_except([token])
