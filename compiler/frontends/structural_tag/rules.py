"""Formats to rules: each format is a rule called by its path, the body of a tag too; schemas, grammars and regexes are parts.

Where free text is the last thing in a tag, it and the tag's end are one automaton (`psc.compiler.expressions.free_text`): else
each character could be the last one before the end, and a lexer would follow both ways. So a format is written either as it is,
or with the ends of the tag that it closes:

    <t> any_text </t>      tag ::= "<t>" body     body ::= text until "</t>"
    <t> json_schema </t>   tag ::= "<t>" body     body ::= schema "</t>"

Formats that differ in their spelling only are written by one function: `optional`, `plus`, `star` and `repeat`; `triggered_tags`
and `dispatch`, of texts and of tokens. Equal free text is one rule, and so are equal schemas, wherever they are.

Cost: a microsecond for each part of an expression, and what the parts take.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

from psc.compiler.expressions.expression import EMPTY, Choice, Expression, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.free_text import free_text
from psc.compiler.expressions.joined_rules import Part, UnreadPart, has_unique, joined
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.tokens import token_set
from psc.compiler.frontends.json_schema.front_end import rules_of as json_rules
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.compiler.frontends.lookup import find_grammar, names_bundled
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.structural_tag import formats
from psc.compiler.frontends.structural_tag.formats import Format, TagFormat, TokenFormat
from psc.compiler.frontends.structural_tag.free_texts import FreeTexts, Tail
from psc.compiler.frontends.structural_tag.parameter_styles import parameter_rules
from psc.compiler.frontends.structural_tag.reader import SchemaInDocument, TagInDocument
from psc.compiler.frontends.structural_tag.refusals import behind, made_behind, refuse, shortened, shown
from psc.compiler.frontends.structural_tag.tokens import DocumentTokens
from psc.errors import GrammarError, ResourceLimitError

_log = logging.getLogger("psc.compiler")
MAX_COUNT: Final = 2**31 - 1
"""A repetition up to more is one without limit."""
_DIGITS: Final = (r"\d+", "[0-9]+")
_Rule = Callable[[], Reference]
"""Writes what stands behind a trigger or the begin of a tag as a rule."""


@dataclass(frozen=True)
class _Surroundings:
    """What is around a format: the nearest tag, and what is to follow."""

    ends: tuple[str, ...] = ()
    """Texts that end the tag, which free text has not."""
    end_tokens: tuple[int, ...] = ()
    """Tokens that end it, which are none of those that are free."""
    tail: Tail | None = None
    """The ends that the format is written with."""
    begin: str | TokenFormat = ""
    """What the tag begins with, for messages: the name of a tool is in it."""

    def inside(self) -> _Surroundings:
        """The same, where something follows in the tag."""
        return replace(self, tail=None)

    def closed(self, expression: Expression) -> Expression:
        """The expression with what is to follow."""
        return expression if self.tail is None else Sequence((expression, self.tail.expression()))


def rules_of(root: Format, tokens: DocumentTokens, settings: SchemaSettings, source: str, origin: str) -> RuleSet:
    """The rules of a document.

    Args:
        root: the format that a whole text must have.
        tokens: of the document.
        settings: of schemas, where their formats say nothing.
        source: the document's text.
        origin: where it is from, for messages.

    Raises:
        InvalidStructuralTagError: a format means nothing; the message has the path.
        GrammarError: a schema, a grammar or a regex in it is malformed, or a limit is passed.
    """
    writer = _Writer(tokens, settings, origin)
    rules = writer.write(root, "format")
    whole = joined(rules, writer.parts, "root", source=source, source_name=origin, language="structural_tag")
    return replace(whole, reads_names=True)


class _Writer:
    def __init__(self, tokens: DocumentTokens, settings: SchemaSettings, origin: str) -> None:
        self._tokens = tokens
        self._settings = settings
        self._origin = origin
        self.parts: dict[str, Part] = {}
        self._rules: dict[str, Expression] = {}
        self._todo: list[tuple[str, Callable[[], Expression]]] = []
        """Rules that are referred to, and what writes them."""
        self._free = FreeTexts(self._rules)
        self._parts: dict[object, str] = {}

    def write(self, root: Format, path: str) -> dict[str, Expression]:
        """The rules of a format and of all in it; the first is the whole."""
        self._rules["root"] = self._reference(root, path, _Surroundings())
        for name, write in self._todo:
            self._rules[name] = write()
        return self._rules

    def _reference(self, form: Format, path: str, around: _Surroundings) -> Reference:
        return self._rule(path, partial(self._expression, form, path, around))

    def _rule(self, name: str, write: Callable[[], Expression]) -> Reference:
        self._todo.append((name, write))
        return Reference(name)

    def _expression(self, form: Format, path: str, around: _Surroundings) -> Expression:
        match form:
            case formats.ConstStringFormat():
                return around.closed(self._tokens.marker(form.value).expression())
            case SchemaInDocument():
                return around.closed(self._schema(form, path, around.begin))
            case formats.GrammarFormat():
                return around.closed(self._text_of("ebnf", form.grammar, path))
            case formats.RegexFormat():
                return around.closed(self._text_of("regex", self._bounded(form.pattern), path))
            case formats.AnyTextFormat():
                return self._any_text(form, path, around)
            case TokenFormat():
                return around.closed(Repeat(token_set([self._tokens.id_of(form.token, f"{path}.token")]), 1, 1))
            case formats.ExcludeTokenFormat():
                return around.closed(Repeat(self._free_tokens(form.exclude_tokens, path, around), 1, 1))
            case formats.AnyTokensFormat():
                return around.closed(Repeat(self._free_tokens(form.exclude_tokens, path, around), 0, form.max_tokens))
            case formats.SequenceFormat():
                return self._sequence(form, path, around)
            case formats.OrFormat():
                return Choice(tuple([self._reference(e, f"{path}.elements[{i}]", around) for i, e in enumerate(form.elements)]))
            case formats.OptionalFormat():
                return self._repeated(form.content, path, around, 0, 1)
            case formats.PlusFormat():
                return self._repeated(form.content, path, around, 1, None)
            case formats.StarFormat():
                return self._repeated(form.content, path, around, 0, None)
            case formats.RepeatFormat():
                return self._repeated(form.content, path, around, *_bounds(form, path))
            case TagFormat():
                begin = self._tokens.marker(form.begin, f"{path}.begin")
                return around.closed(Sequence((begin.expression(), self._body(form, path))))
            case formats.TriggeredTagsFormat():
                return self._triggered_tags(form, path, around)
            case formats.DispatchFormat():
                return self._dispatch(form, path, around)
            case formats.TokenTriggeredTagsFormat():
                return self._token_triggered_tags(form, path, around)
            case formats.TokenDispatchFormat():
                return self._token_dispatch(form, path, around)
            case formats.TagsWithSeparatorFormat():
                return around.closed(self._separated(form, path, around.inside()))
        raise AssertionError(f"there is no format {type(form).__name__}")

    def _sequence(self, form: formats.SequenceFormat, path: str, around: _Surroundings) -> Expression:
        inside, last = around.inside(), len(form.elements) - 1
        elements = enumerate(form.elements)
        return Sequence(tuple([self._reference(e, f"{path}.elements[{i}]", around if i == last else inside) for i, e in elements]))

    def _repeated(self, content: Format, path: str, around: _Surroundings, least: int, most: int | None) -> Expression:
        if most == 1:
            once = self._reference(content, f"{path}.content", around)
            return once if least else Choice((around.closed(EMPTY), once))
        return around.closed(Repeat(self._reference(content, f"{path}.content", around.inside()), least, most))

    def _free_tokens(self, excluded: Iterable[int | str], path: str, around: _Surroundings) -> Expression:
        return self._tokens.all_but((*self._tokens.ids_of(excluded, f"{path}.exclude_tokens"), *around.end_tokens))

    # Parts.

    def _text_of(self, language: str, text: str, path: str) -> Expression:
        """What another front end reads, once for equal texts; or a bundled grammar, by its name."""
        key = language, text
        if key not in self._parts:
            name = f"{path}.text"
            if language == "ebnf" and names_bundled(text):
                self.parts[name] = bundled_part(text)
            else:
                request = GrammarRequest.of(language, text, origin=f"{self._origin}: {path}")
                self.parts[name] = request.parse(self._tokens.names).part
            self._parts[key] = name
        return Reference(self._parts[key])

    def _bounded(self, pattern: str) -> str:
        """A pattern of any number of digits, as models count calls by, with the request's limit of them."""
        most = self._settings.max_digits
        return pattern if most is None or pattern not in _DIGITS else rf"[0-9]{{1,{most}}}"

    def _schema(self, form: SchemaInDocument, path: str, begin: object) -> Expression:
        origin = f"{self._origin}: {path}.json_schema"
        schema, style, excludes = form.json_schema.text, form.style, _distinct(form.excludes)
        settings, special = _settings(form, self._settings, path), self._tokens.of_style(style)
        unique = style == "json" and not excludes and '"uniqueItems"' in schema

        def read() -> RuleSet:
            try:
                if style == "json":
                    rules = json_rules(schema, settings, origin, excludes=excludes, unique_items=unique)
                else:
                    rules = parameter_rules(schema, style, settings, origin, excludes=excludes, special=special)
            except GrammarError as e:
                raise behind(begin, e) from None
            return rules if rules.if_empty is None else replace(rules, if_empty=partial(made_behind, begin, rules.if_empty))

        key = (style, schema, settings.text, excludes, tuple(special.items()))
        part: Part = UnreadPart(key, read)
        if unique and key not in self._parts and has_unique(rules := read()):
            part = rules  # its arrays are parts of the whole, so it is no part by itself
        return self._part(f"{path}.json_schema", key, part)

    def _any_text(self, form: formats.AnyTextFormat, path: str, around: _Surroundings) -> Expression:
        excludes = _distinct(form.excludes)
        if form.max_tokens is not None:
            return around.closed(self._counted_text(form, form.max_tokens, path, around))
        with self._limits_of(f"{path}.excludes", excludes):
            if around.tail is not None:
                return self._free.until_end(excludes, around.tail, form.max_chars)
            return self._free.without((*around.ends, *excludes), form.max_chars)

    @contextmanager
    def _limits_of(self, path: str, texts: Collection[str]) -> Iterator[None]:
        """Names the texts of which the automaton for free text is too large."""
        try:
            yield
        except ResourceLimitError as e:
            if not texts or e.path is not None:
                raise
            longest = max(texts, key=len)
            which = f"{len(texts):,} texts, the longest, {shown(longest)}, of {len(longest):,} characters"
            error = ResourceLimitError(f"{self._origin}: {shortened(path)}: {e} ({which})")
            raise error.with_position(path=self._origin) from None

    def _counted_text(self, form: formats.AnyTextFormat, most_tokens: int, path: str, around: _Surroundings) -> Expression:
        """Free text of some tokens at most, apart from the end behind it: a token that begins with the end is not counted."""
        for end in around.ends if around.tail is not None else ():
            if any(_begins_within(end, other) for other in around.ends):
                refuse(
                    f"{path}.max_tokens",
                    f"cannot be counted before the end {end!r}, which can begin within another end; give the tag another end",
                )
        if most_tokens == 0:
            return EMPTY
        excluded, most = tuple(sorted({*around.ends, *form.excludes})), form.max_chars

        def read() -> RuleSet:
            return RuleSet({"root": free_text(excluded, most)}, "root", "", f"{self._origin}: {path}", {})

        key = "free text", excluded, most
        return self._part(f"{path}.text", (key, most_tokens), UnreadPart(key, read, most_tokens))

    def _part(self, name: str, key: object, part: Part) -> Expression:
        """A part by its name, once for equal parts."""
        if key not in self._parts:
            self.parts[name] = part
            self._parts[key] = name
        return Reference(self._parts[key])

    # Tags.

    def _body(self, tag: TagFormat, path: str) -> Reference:
        """What stands behind the begin of a tag: its content and one of its ends."""
        return self._rule(f"{path}.body", partial(self._content_to_end, tag, path))

    def _content_to_end(self, tag: TagFormat, path: str) -> Expression:
        given = _distinct(tag.end) if isinstance(tag.end, list) else (tag.end,)
        ends = tuple([self._tokens.marker(end, f"{path}.end") for end in given if end != ""])
        if not ends and (free := _endless(tag.content, f"{path}.content")):
            refuse(
                f"{path}.end",
                f"the free text at {shortened(free)} has no limit, so the tag needs an end that is not empty; or exclude a text",
            )
        texts = tuple([end.text for end in ends if end.text])
        end_tokens = tuple([token for end in ends if not end.text for _, token, _ in end.tokens])
        around = _Surroundings(texts, end_tokens, Tail(ends, "" in given) if ends else None, tag.begin)
        return self._reference(tag.content, f"{path}.content", around)

    def _tags(self, tags: Iterable[TagFormat], path: str) -> list[tuple[Marker, TagFormat, str]]:
        """Tags with their begins and paths, in an order that does not depend on the list's."""
        paths = [(tag, f"{path}.tags[{i}]") for i, tag in enumerate(tags)]
        begun = [(self._tokens.marker(tag.begin, f"{tag_path}.begin"), tag, tag_path) for tag, tag_path in paths]
        distinct = len({begin for begin, _, _ in begun}) == len(begun)
        return sorted(begun, key=lambda b: (b[0].text, b[0].tokens, "" if distinct else _spelling(b[1])))

    def _triggered_tags(self, form: formats.TriggeredTagsFormat, path: str, around: _Surroundings) -> Expression:
        of: dict[str, list[tuple[Marker, _Rule]]] = {trigger: [] for trigger in form.triggers}
        sizes = sorted(set(map(len, of)))
        for begin, tag, tag_path in self._tags(form.tags, path):
            where = f"{tag_path}.begin"
            if isinstance(tag.begin, TokenFormat):
                refuse(where, "must be a text here; Tags in triggered_tags must have a string begin, not a token format")
            fitting = [trigger for size in sizes if size <= len(tag.begin) and (trigger := tag.begin[:size]) in of]
            if not fitting:
                refuse(where, f"{shown(tag.begin)} begins with none of the triggers ({', '.join(map(shown, [*of][:5]))})")
            if len(fitting) > 1:
                refuse(where, f"{shown(tag.begin)} begins with more than one trigger: {', '.join(map(shown, fitting))}")
            of[fitting[0]].append((begin, partial(self._body, tag, tag_path)))
        with self._limits_of(f"{path}.triggers", of):
            return self._text_with(of, form.excludes, around, form.at_least_one, form.stop_after_first)

    def _dispatch(self, form: formats.DispatchFormat, path: str, around: _Surroundings) -> Expression:
        of: dict[str, list[tuple[Marker, _Rule]]] = {}
        within = around.inside() if form.loop else around  # a format behind which nothing comes closes the tag
        for i, (text, inner) in enumerate(form.rules):
            rule = partial(self._reference, inner, f"{path}.rules[{i}][1]", within)
            of.setdefault(text, []).append((self._tokens.marker(text), rule))
        with self._limits_of(f"{path}.rules", of):
            return self._text_with(of, form.excludes, around, at_least_one=False, stop_after_first=not form.loop, close=False)

    def _text_with(
        self,
        of: Mapping[str, list[tuple[Marker, _Rule]]],
        excludes: list[str],
        around: _Surroundings,
        at_least_one: bool,
        stop_after_first: bool,
        close: bool = True,
    ) -> Expression:
        """Free text in which a trigger begins something.

        Args:
            of: of each trigger, markers that begin with it, each with what follows.
            excludes: texts that the free text has not.
            around: what is around it.
            at_least_one: whether it begins with one of the markers.
            stop_after_first: whether it ends behind what follows a marker.
            close: whether the ends of the tag are to be read behind that; else that has read them.
        """
        markers, own = tuple([self._tokens.marker(text) for text in of]), _distinct(excludes)
        triggers = self._free.triggers(markers, (*around.ends, *own), sum([1 for options in of.values() if options]))
        free = self._free.beside(triggers) if around.tail is None else self._free.until_end((*own, *of), around.tail, None)
        bodies = [[(begin, rule()) for begin, rule in options] for options in of.values()]
        first = Choice(tuple([Sequence((begin.expression(), body)) for options in bodies for begin, body in options]))
        if at_least_one and stop_after_first:
            return around.closed(first)
        segment = self._free.segments(triggers, bodies)
        if stop_after_first:
            return Choice((free, around.closed(segment) if close else segment))
        after = Sequence((Repeat(segment, 0, None), free))
        return Sequence((first, after)) if at_least_one else after

    def _token_triggered_tags(self, form: formats.TokenTriggeredTagsFormat, path: str, around: _Surroundings) -> Expression:
        of: dict[int, list[_Rule]] = {token: [] for token in self._tokens.ids_of(form.trigger_tokens, f"{path}.trigger_tokens")}
        for begin, tag, tag_path in self._tags(form.tags, path):
            where = f"{tag_path}.begin"
            if not isinstance(tag.begin, TokenFormat):
                refuse(where, "must be a token here; Tags in token_triggered_tags must have a token format begin, not a string")
            token = begin.tokens[0][1]
            if token not in of:
                refuse(where, f"the token {token} is none of the trigger_tokens")
            of[token].append(partial(self._body, tag, tag_path))
        free = self._free_tokens([*form.exclude_tokens, *of], path, around)
        return self._tokens_with(of, free, around, form.at_least_one, form.stop_after_first)

    def _token_dispatch(self, form: formats.TokenDispatchFormat, path: str, around: _Surroundings) -> Expression:
        of: dict[int, list[_Rule]] = {}
        for i, (token, inner) in enumerate(form.rules):
            rule = partial(self._reference, inner, f"{path}.rules[{i}][1]", around.inside() if form.loop else around)
            of.setdefault(self._tokens.id_of(token, f"{path}.rules[{i}][0]"), []).append(rule)
        free = self._free_tokens([*form.exclude_tokens, *of], path, around)
        return self._tokens_with(of, free, around, at_least_one=False, stop_after_first=not form.loop, close=False)

    def _tokens_with(
        self,
        of: Mapping[int, list[_Rule]],
        one: Expression,
        around: _Surroundings,
        at_least_one: bool,
        stop_after_first: bool,
        close: bool = True,
    ) -> Expression:
        """Free tokens among which a token begins something; see `_text_with`."""
        free = Repeat(one, 0, None)
        tagged = [Sequence((token_set([token]), Choice(tuple([rule() for rule in rules])))) for token, rules in of.items() if rules]
        first = Choice(tuple(tagged))
        if at_least_one and stop_after_first:
            return around.closed(first)
        segment = Sequence((free, first))
        if stop_after_first:
            return Choice((around.closed(free), around.closed(segment) if close else segment))
        after = Sequence((Repeat(segment, 0, None), free))
        return around.closed(Sequence((first, after)) if at_least_one else after)

    def _separated(self, form: formats.TagsWithSeparatorFormat, path: str, inside: _Surroundings) -> Expression:
        one = Choice(tuple([self._reference(tag, tag_path, inside) for _, tag, tag_path in self._tags(form.tags, path)]))
        if form.stop_after_first:
            return one if form.at_least_one else Choice((EMPTY, one))
        separator = self._tokens.marker(form.separator).expression()
        some = Sequence((one, Repeat(Sequence((separator, one)), 0, None)))
        return some if form.at_least_one else Choice((EMPTY, some))


@cache  # which takes as long as all the rest, and documents that name a grammar come again and again
def bundled_part(name: str) -> Part:
    """A bundled grammar as a part."""
    return find_grammar(name).request().parse().part


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _spelling(tag: TagFormat) -> str:
    assert isinstance(tag, TagInDocument)
    return repr(tag.spelled)


def _settings(form: SchemaInDocument, defaults: SchemaSettings, path: str) -> SchemaSettings:
    said = {name: value for name in SchemaInDocument.layout if (value := getattr(form, name)) is not None}
    try:
        return replace(defaults, **said)
    except GrammarError as e:
        refuse(path, str(e))


def _bounds(form: formats.RepeatFormat, path: str) -> tuple[int, int | None]:
    least, most = form.min, form.max
    if least < 0:
        refuse(f"{path}.min", f"must be 0 or more, not {least}; Repeat min must be >= 0")
    if most != -1 and most < least:
        required = "min must be <= max" if most >= 0 else "max must be -1 (unbounded) or >= 0"
        refuse(f"{path}.max", f"must be -1, for no limit, or at least min, {least}, not {most}; Repeat {required}")
    if most > MAX_COUNT:
        _log.warning("%s.max: %d is taken for no limit", shortened(path), most)
    return least, most if 0 <= most <= MAX_COUNT else None


def _endless(content: Format, path: str) -> str | None:
    """The path of free text that has no end, at the end of a content, if there is some."""
    todo = [(content, path)]
    for form, at in todo:
        match form:
            case formats.AnyTextFormat():
                if not form.excludes and form.max_chars is None and form.max_tokens is None:
                    return at
            case formats.TriggeredTagsFormat():
                if not form.excludes and not (form.at_least_one and form.stop_after_first):
                    return at
            case formats.DispatchFormat():
                if not form.excludes:
                    return at
            case formats.SequenceFormat():
                todo.append((form.elements[-1], f"{at}.elements[{len(form.elements) - 1}]"))
            case formats.OrFormat():
                todo += [(element, f"{at}.elements[{i}]") for i, element in enumerate(form.elements)]
            case formats.OptionalFormat() | formats.PlusFormat() | formats.StarFormat() | formats.RepeatFormat():
                todo.append((form.content, f"{at}.content"))
    return None


def _begins_within(end: str, other: str) -> bool:
    """Whether an end may begin within another one that is over before it."""
    return any(end.startswith(other[i:]) for i in range(1, len(other)) if len(other) - i < len(end))
