"""The lexemes of a document: which texts each has, and what is left of them where others end early.

Lexemes with the same expression share their texts, and what is left of these is made once for each set of texts that end early.

Cost: an automaton for each expression of a lexeme, and one for each pair of it and such a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import Expression, Reference
from psc.compiler.expressions.text_sets import begun_by, text_set
from psc.compiler.frontends.llguidance.source import Source
from psc.errors import ResourceLimitError


@cache
def empty_text() -> TextAutomaton:
    """The set of the empty text; made where it is used, since a cancellation ends an import that works (for other threads, too)."""
    return TextAutomaton.texts([""])


@dataclass(frozen=True)
class Lexeme:
    """A position in a rule at which text of a regular language stands, or something that keeps to itself."""

    expression: Expression
    at: int
    """Where it stands in the text of the grammar."""
    terminal: str | None = None
    """The terminal that it is, by whose name it is shown."""
    lazy_rule: str | None = None
    """The rule that ends early, of which it is the text."""
    is_text: bool = True
    """False for a token, a schema or another grammar."""

    def shown(self) -> Expression:
        """The lexeme as a rule has it, if nothing is taken from it."""
        return self.expression if self.terminal is None else Reference(self.terminal)


class LexemeTexts:
    """The texts of the lexemes of a document.

    Args:
        lexemes: by their names; more may be added while this is used.
        source: the grammar, for messages.
    """

    def __init__(self, lexemes: dict[str, Lexeme], source: Source) -> None:
        self._lexemes = lexemes
        self._source = source
        self._sets: dict[int, TextAutomaton] = {}
        self._kinds: dict[tuple[Expression | str, bool], int] = {}
        self._kind_of: dict[str, int] = {}
        self._zones: dict[frozenset[int], TextAutomaton] = {}
        self._rest: dict[tuple[int, int], TextAutomaton] = {}

    def texts(self, name: str) -> TextAutomaton:
        """The texts of a lexeme by itself: of one that ends early, the shortest that are not empty.

        Raises:
            ResourceLimitError: their automaton is too large.
        """
        lexeme = self._lexemes[name]
        kind = self.kind(name)
        if kind not in self._sets:
            try:
                texts = text_set(lexeme.expression)
                if lexeme.lazy_rule is not None:
                    texts = texts.difference(empty_text()).shortest_matches().union(texts.intersection(empty_text()))
            except ResourceLimitError as e:
                raise self._source.limit(lexeme.at, f"{e}; needed since a rule that ends early may begin here") from None
            self._sets[kind] = texts
        return self._sets[kind]

    def kind(self, name: str) -> int:
        """A number that lexemes share which have the same texts."""
        kind = self._kind_of.get(name)
        if kind is None:
            lexeme = self._lexemes[name]
            text = lexeme.expression if lexeme.is_text else name
            kind = self._kind_of[name] = self._kinds.setdefault((text, lexeme.lazy_rule is not None), len(self._kinds))
        return kind

    def may_agree(self, a: str, b: str) -> bool:
        """Whether two lexemes that may begin at one position may be read from one text."""
        x, y = self._lexemes[a], self._lexemes[b]
        if (x.lazy_rule is None) != (y.lazy_rule is None):
            return False  # where the one ends, the other is given up
        return not self.texts(a).difference(empty_text()).intersection(self.texts(b)).is_empty()

    def zone(self, begun: Iterable[str]) -> TextAutomaton:
        """The texts of those lexemes that end early, but for the empty text, where all of these may begin."""
        lazy = [name for name in begun if self._lexemes[name].lazy_rule is not None]
        kinds = {self.kind(name): name for name in lazy}
        key = frozenset(kinds)
        if key not in self._zones:
            zone = TextAutomaton.empty()
            for name in kinds.values():
                zone = zone.union(self.texts(name).difference(empty_text()))
            self._zones[key] = zone
        return self._zones[key]

    def left(self, name: str, zone: TextAutomaton) -> TextAutomaton:
        """What is left to a lexeme where those that end early have a set of texts, as :meth:`zone` gives it."""
        texts = self.texts(name)
        if zone.is_empty():
            return texts
        key = self.kind(name), id(zone)
        if key not in self._rest:
            self._rest[key] = texts.difference(begun_by(zone, properly=self._lexemes[name].lazy_rule is not None))
        return self._rest[key]

    def check_apart(self, name: str, begun: Iterable[str]) -> None:
        """Raises GrammarError for what keeps to itself where a rule that ends early may begin; a token is no text, and apart."""
        lexeme = self._lexemes[name]
        lazy = sorted({str(self._lexemes[n].lazy_rule) for n in begun if self._lexemes[n].lazy_rule is not None})
        if not lazy or not isinstance(lexeme.expression, Reference):
            return
        if lexeme.expression.name.startswith("%json"):
            json_text = TextAutomaton.pattern('^[{\\["\\-0-9tfn]')
            if self.zone(begun).intersection(json_text).is_empty():
                return
        raise self._source.error(
            lexeme.at,
            f"a schema or grammar may begin where the rule {', '.join(lazy)} may, which ends early, so that it would have to end "
            "in the midst; put text before it that tells the two apart",
        )
