"""A document's rules as rules of expressions over characters.

Each position in a rule at which a terminal, a string or a regex stands is a *lexeme*, with a name of its own until `competition`
has said what the lexemes that may end early leave to the others. Schemas, nested and named grammars are parts, which keep to
themselves. What is ignored may stand behind each lexeme and each part.

Cost: linear; what `competition` costs comes on top where a rule ends early.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, Final

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import EMPTY, Choice, Ending, Expression, Reference, Repeat, RuleMark, RuleSet, Sequence
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.expressions.joined_rules import joined
from psc.compiler.expressions.regular_rules import TextLimits, limited_rules
from psc.compiler.expressions.text_sets import expression_of, text_set
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import no_start
from psc.compiler.frontends.json_schema.front_end import rules_of
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.llguidance.competition import Competition
from psc.compiler.frontends.llguidance.lexemes import Lexeme
from psc.compiler.frontends.llguidance.source import Source
from psc.compiler.frontends.llguidance.special_tokens import special_tokens
from psc.compiler.frontends.llguidance.syntax import And as Conjunction
from psc.compiler.frontends.llguidance.syntax import (
    Attributes,
    Definition,
    Document,
    Either,
    InRow,
    Many,
    Nested,
    Node,
    Not,
    Span,
    Text,
)
from psc.compiler.frontends.llguidance.terminals import Terminals
from psc.errors import GrammarError, ResourceLimitError
from psc.support.readable import shortened
from psc.support.similar import similar

IGNORED: Final = "%ignore"
"""The rule of what is ignored."""
_WHOLE: Final = "%start"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a document is read with."""

    names: TokenNames | None
    """Of the vocabulary."""
    named: Callable[[str], RuleSet]
    """Gives a grammar by its name; raises KeyError for one that there is not."""
    schemas: SchemaSettings
    """How schemas are written, where they say nothing; see `NamedGrammars`."""


class Rules:
    """The rules of one document while they are made."""

    def __init__(self, document: Document, source: Source, surroundings: Surroundings) -> None:
        self._document = document
        self._source = source
        self._surroundings = surroundings
        self._terminals = Terminals(document, source)
        self._lexemes: dict[str, Lexeme] = {}
        self._parts: dict[str, RuleSet] = {}
        self._reads_names = False
        self._bodies: dict[str, str] = {}
        """The lexemes of bodies at which rules that end early may be over when their tokens are spent, by rule."""

    def rule_set(self, start: str) -> RuleSet:
        """The document as rules.

        Args:
            start: the rule that a whole text must match.

        Raises:
            GrammarError: a name is not defined, something is not supported, or a part is malformed.
        """
        document, source = self._document, self._source
        if start not in document.rules:
            raise source.error(document.at, no_start(start, list(document.rules)))
        for name, definition in document.terminals.items():
            self._terminals.named(name, definition.at)
        rules = {name: self._rule(definition) for name, definition in document.rules.items()}
        root = start
        if document.ignored:
            ignored = Choice(tuple([self._terminals.expression(node) for node in document.ignored]))
            bare = {name for name, d in document.rules.items() if d.attributes.offsets and self._is_lexeme(rules[name])}
            rules = {name: e if name in bare else self._with_ignored(e, ignored, bare) for name, e in rules.items()}
            before = (self._ignored(ignored),) if document.allow_initial_skip else ()
            behind = (self._ignored(ignored),) if start in bare else ()
            if before or behind:
                root = _WHOLE
                rules[root] = Sequence((*before, Reference(start), *behind))
        rules |= {name: Choice((rules[name], Reference(body))) for name, body in self._bodies.items()}
        competition = Competition(rules, self._lexemes, root, source)
        found = competition.resolved()
        self._check_budgets(competition)
        rules |= {name: expression.options[0] for name in self._bodies if isinstance(expression := rules[name], Choice)}
        rules |= {_spent(name): Reference(body) for name, body in self._bodies.items()}
        made = {name: self._finished(e, found) for name, e in rules.items()}
        marks = {name: mark for name, definition in document.rules.items() if (mark := self._mark(definition, made))}
        lines = {name: source.line(definition.at) for name, definition in document.rules.items()}
        for name in {lexeme.terminal for lexeme in self._lexemes.values() if lexeme.terminal}:
            if name == IGNORED:
                made[name] = ignored
                continue
            made[name] = self._terminals.named(name, 0)
            lines[name] = source.line(document.terminals[name].at)
        made = self._limited(made)
        joint = joined(
            made, self._parts, root, source=source.text, source_name=source.name, lines=lines, marks=marks, language="llguidance"
        )
        return replace(joint, reads_names=self._reads_names or any(p.reads_names for p in self._parts.values()))

    def _limited(self, made: dict[str, Expression]) -> dict[str, Expression]:
        """The rules, those with `max_chars` without longer texts."""
        limits = {}
        for name, definition in self._document.rules.items():
            attributes = definition.attributes
            if attributes.max_chars is None:
                continue
            if part := next((used for used in _used(name, made) if used in self._parts), None):
                raise self._source.error(
                    attributes.offsets["max_chars"], f"max_chars counts the characters of rules and terminals, not of {part}"
                )
            limits[name] = TextLimits(max_chars=attributes.max_chars)
        return limited_rules(made, limits) if limits else made

    def _rule(self, definition: Definition) -> Expression:
        attributes = definition.attributes
        if not attributes.ends_early:
            if attributes.stop is not None:
                return self._lexeme(self._terminals.expression(definition.body), definition.at)
            return self._expression(definition.body)
        whole = self._terminals.expression(definition.body)
        body = whole
        if attributes.marker is not None:
            whole = Sequence((body, self._marker(attributes)))
        if attributes.max_tokens is not None:
            self._may_be_over_at(body if attributes.marker is not None else self._free_beginning(definition.body), definition)
        return self._lexeme(whole, definition.at, lazy_rule=definition.name)

    def _may_be_over_at(self, body: Expression | None, definition: Definition) -> None:
        """Puts down what a rule that ends early may be when its tokens are spent, which then is not empty."""
        if body is None:
            return
        try:
            texts = expression_of(text_set(body).difference(TextAutomaton.texts([""])))
        except ResourceLimitError as e:
            raise self._source.limit(definition.attributes.offsets["max_tokens"], str(e)) from None
        name = f"%lexeme {len(self._lexemes)}"
        self._lexemes[name] = Lexeme(texts, definition.at)
        self._bodies[definition.name] = name

    def _free_beginning(self, node: Node) -> Expression | None:
        """What a lazy rule begins with, if that is any text: what comes then is its marker."""
        if not isinstance(node, InRow) or len(node.parts) < 2:
            return None
        first = self._terminals.expression(node.parts[0])
        return first if text_set(first).complement().is_empty() else None

    def _check_budgets(self, competition: Competition) -> None:
        """Refuses budgets of rules that are no rules any more."""
        if not competition.is_written_out:
            return
        for definition in self._document.rules.values():
            if definition.attributes.max_tokens is not None:
                raise self._source.error(
                    definition.attributes.offsets["max_tokens"],
                    f"max_tokens of the rule {definition.name!r} is not supported here: what rules that end early leave to others "
                    "depends on the place, so that rules become one; put text before what may begin where such a rule may",
                )

    def _marker(self, attributes: Attributes) -> Expression:
        assert attributes.marker is not None
        marker = self._terminals.expression(attributes.marker)
        if marker == EMPTY:
            raise self._source.error(attributes.offsets["suffix"], "suffix must not be empty; use lazy")
        return marker

    def _mark(self, definition: Definition, made: dict[str, Expression]) -> RuleMark:
        """What a rule says beside its texts; the body and the marker of one that ends at a marker become rules."""
        attributes, ending = definition.attributes, None
        if attributes.marker is not None and (attributes.capture or attributes.stop_capture or attributes.stop is not None):
            ending = Ending(
                f"{definition.name} body", f"{definition.name} marker", attributes.stop is not None, attributes.stop_capture
            )
            made[ending.body] = self._terminals.expression(definition.body)
            made[ending.marker] = self._marker(attributes)
        spent = _spent(definition.name) if definition.name in self._bodies else None
        return RuleMark(attributes.capture, attributes.temperature, ending, attributes.max_tokens, spent)

    def _lexeme(self, expression: Expression, at: int, *, terminal: str | None = None, lazy_rule: str | None = None) -> Expression:
        if expression == EMPTY:
            return EMPTY
        name = f"%lexeme {len(self._lexemes)}"
        self._lexemes[name] = Lexeme(expression, at, terminal=terminal, lazy_rule=lazy_rule)
        return Reference(name)

    def _part(self, at: int, rule_set: RuleSet, what: str) -> Expression:
        name = f"{what} {len(self._parts) + 1}"
        self._parts[name] = rule_set
        return self._opaque(Reference(name), at)

    def _opaque(self, expression: Expression, at: int) -> Expression:
        name = f"%lexeme {len(self._lexemes)}"
        self._lexemes[name] = Lexeme(expression, at, is_text=False)
        return Reference(name)

    def _expression(self, node: Node) -> Expression:
        if isinstance(node, Text):
            return self._text(node)
        if isinstance(node, Span):
            return self._lexeme(self._terminals.expression(node), node.at)
        if isinstance(node, InRow):
            parts = tuple([self._expression(part) for part in node.parts])
            return Sequence(parts) if parts else EMPTY
        if isinstance(node, Either):
            return Choice(tuple([self._expression(part) for part in node.parts]))
        if isinstance(node, Many):
            return Repeat(self._expression(node.body), node.least, node.most)
        if isinstance(node, Nested):
            try:
                nested = Rules(node.document, self._source, self._surroundings).rule_set("start")
            except ResourceLimitError:
                raise
            except GrammarError as e:
                raise self._source.error(node.at, f"failed to compile nested Lark grammar: {e}") from None
            return self._part(node.at, nested, "%lark")
        assert isinstance(node, (Conjunction, Not))
        what = "intersection '&'" if isinstance(node, Conjunction) else "complement '~'"
        raise self._source.error(
            node.at, f"{what} is not supported in rules; put it into a terminal, which has a name in upper case"
        )

    def _text(self, node: Text) -> Expression:
        if node.kind == "rule":
            if node.text not in self._document.rules:
                if node.text in self._document.terminals:  # an import under a name in lower case
                    return self._lexeme(self._terminals.named(node.text, node.at), node.at, terminal=node.text)
                raise self._source.error(node.at, self._unknown(node.text))
            return Reference(node.text)
        if node.kind == "terminal":
            return self._lexeme(self._terminals.named(node.text, node.at), node.at, terminal=node.text)
        if node.kind == "special token":
            self._reads_names = True
            return self._opaque(special_tokens(node, self._source, self._surroundings.names), node.at)
        if node.kind == "grammar":
            return self._named(node)
        if node.kind == "%json":
            return self._part(node.at, self._schema(node), "%json")
        return self._lexeme(self._terminals.expression(node), node.at)

    def _unknown(self, name: str) -> str:
        close = similar(name, self._document.rules)
        way_out = f"did you mean {close[0]!r}?" if close else "define it"
        if re.fullmatch(r"\w-\w", name):
            way_out = f"a class of characters is written in slashes: /[{name}]/"
        return f"unknown name {shortened(name)!r}; {way_out}"

    def _named(self, node: Text) -> Expression:
        name = f"@{node.text}"
        if name not in self._parts:
            try:
                self._parts[name] = self._surroundings.named(node.text)
            except KeyError:
                raise self._source.error(node.at, f"unknown named grammar '{name}'; give it in named_grammars") from None
        return self._opaque(Reference(name), node.at)

    def _schema(self, node: Text) -> RuleSet:
        settings = self._schema_settings(node)
        try:
            return rules_of(node.text, settings, "%json")
        except ResourceLimitError as e:
            raise self._source.limit(node.at, f"failed to compile inline JSON schema: {e}") from None
        except GrammarError as e:
            raise self._source.error(node.at, f"failed to compile inline JSON schema: {e}").with_position(
                pointer=e.pointer
            ) from None

    def _schema_settings(self, node: Text) -> SchemaSettings:
        schema = json.loads(node.text)
        options: dict[str, Any] = schema.get("x-guidance") or {} if isinstance(schema, dict) else {}
        try:
            return _settings_of(options, self._surroundings.schemas)
        except (GrammarError, ValueError, TypeError, AttributeError) as e:
            raise self._source.error(node.at, f"x-guidance: {e}") from None

    def _ignored(self, ignored: Expression) -> Expression:
        """What may stand at one position without being meant: lexemes as others are."""
        name = f"%lexeme {len(self._lexemes)}"
        self._lexemes[name] = Lexeme(ignored, 0, terminal=IGNORED)
        return Repeat(Reference(name), 0, 1 if self._document.skip_once else None)

    def _is_lexeme(self, expression: Expression) -> bool:
        return isinstance(expression, Reference) and expression.name in self._lexemes

    def _with_ignored(self, expression: Expression, ignored: Expression, bare: Container[str]) -> Expression:
        """A rule in which what is ignored may stand behind each lexeme and each part, and behind rules that leave this to others.

        These are the rules with attributes that are one lexeme, whose captures and temperatures are of the lexeme alone.
        """

        def combine(e: Expression, parts: list[Expression]) -> Expression:
            if isinstance(e, Reference) and (self._is_lexeme(e) or e.name in bare):
                return Sequence((e, self._ignored(ignored)))
            return rebuilt(e, parts)

        return fold(expression, combine)

    def _finished(self, expression: Expression, found: dict[str, Expression]) -> Expression:
        """A rule with what its lexemes are instead of their names."""

        def combine(e: Expression, parts: list[Expression]) -> Expression:
            return found[e.name] if isinstance(e, Reference) and e.name in found else rebuilt(e, parts)

        return fold(expression, combine)


def _spent(rule: str) -> str:
    """The rule of what a rule may be when its tokens are spent."""
    return f"{rule} spent"


def _used(name: str, rules: dict[str, Expression]) -> set[str]:
    """The names that a rule needs, its own among them."""
    found, todo = {name}, [name]
    while todo:
        new = referred_to(rules[todo.pop()]) - found
        found |= new
        todo += [n for n in new if n in rules]
    return found


def _settings_of(options: dict[str, Any], defaults: SchemaSettings) -> SchemaSettings:
    """What `x-guidance` in a schema says. Raises GrammarError or ValueError for what it cannot say."""
    known = {"item_separator", "key_separator", "whitespace_flexible", "whitespace_pattern", "coerce_one_of", "lenient"}
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"unknown option {name!r}; there are {', '.join(sorted(known))}")
        if name in ("whitespace_flexible", "coerce_one_of", "lenient") and not isinstance(value, bool):
            raise ValueError(f"{name} must be a boolean")
    if options.get("whitespace_pattern") is not None:
        raise ValueError("option 'whitespace_pattern' is not supported; use whitespace_flexible, item_separator and key_separator")
    if options.get("coerce_one_of"):
        raise ValueError("option 'coerce_one_of' is not supported; write anyOf in the place of oneOf")
    flexible = options.get("whitespace_flexible", True)
    separators = (options.get("item_separator", ","), options.get("key_separator", ":"))
    if flexible and separators != (",", ":"):
        raise ValueError("item_separator and key_separator need whitespace_flexible to be false")
    return SchemaSettings.of(
        strict_mode=False,
        any_whitespace=flexible,
        separators=separators,
        max_whitespace_cnt=defaults.max_whitespace_cnt,
        plain_integers=defaults.plain_integers,
        max_digits=defaults.max_digits,
        lenient=options.get("lenient", False),
    )
