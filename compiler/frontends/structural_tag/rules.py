"""Formats to rules: each format is a rule called by its path, the body of a tag too; schemas, grammars and regexes are parts.

Where free text is the last thing in a tag, it and the tag's end are one automaton (`psc.compiler.expressions.free_text`): else
each character could be the last one before the end, and a lexer would follow both ways. So a format is written either as it is,
or with the ends of the tag that it closes:

    <t> any_text </t>      tag ::= "<t>" body     body ::= text until "</t>"
    <t> json_schema </t>   tag ::= "<t>" body     body ::= schema "</t>"

Equal free text is one rule, and so are equal schemas, wherever they are.

Cost: a microsecond for each part of an expression, and what the parts take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from psc.compiler.expressions.expression import EMPTY, NOTHING, Chars, Choice, Expression, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.free_text import free_text, text_into_marker, text_until_end, text_until_trigger
from psc.compiler.expressions.joined_rules import LexedPart, Part, UnreadPart, joined
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS, token_set
from psc.compiler.frontends.found import find_grammar
from psc.compiler.frontends.json_schema.front_end import rules_of as json_rules
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.frontends.structural_tag import formats
from psc.compiler.frontends.structural_tag.formats import Format
from psc.compiler.frontends.structural_tag.parameter_styles import marker_tokens, parameter_list
from psc.compiler.frontends.structural_tag.reader import refuse
from psc.compiler.grammars import is_bundled

if TYPE_CHECKING:
    from psc.compiler.expressions.tokens import TokenNames


@dataclass(frozen=True)
class _Tail:
    """The ends of the tag that a format closes."""

    ends: tuple[Marker, ...]
    may_stop: bool

    def expression(self) -> Expression:
        """Any of them."""
        options = [end.expression() for end in self.ends]
        return Choice((*options, EMPTY)) if self.may_stop else options[0] if len(options) == 1 else Choice(tuple(options))


@dataclass(frozen=True)
class _Place:
    """Where a format stands."""

    ends: tuple[str, ...]
    """Texts that end the nearest tag around, which free text has not."""
    end_tokens: tuple[int, ...]
    """Tokens that end it, which are none of those that are free."""
    tail: _Tail | None
    """The ends that the format is written with."""

    def inside(self) -> _Place:
        """The same, where something follows in the tag."""
        return replace(self, tail=None)

    def closed(self, expression: Expression) -> Expression:
        """The expression with what is to follow."""
        return expression if self.tail is None else Sequence((expression, self.tail.expression()))


def rules_of(root: Format, names: TokenNames | None, source: str, origin: str) -> RuleSet:
    """The rules of a document.

    Args:
        root: the format that a whole text must have.
        names: of the vocabulary's tokens; None where it is not known.
        source: the document's text.
        origin: where it is from, for messages.

    Raises:
        GrammarError: a schema, a grammar or a regex in it is malformed, or a limit is passed.
    """
    writer = _Writer(names, origin)
    rules = writer.write(root)
    whole = joined(rules, writer.parts, "root", source=source, source_name=origin, language="structural_tag")
    return replace(whole, reads_names=True)


class _Writer:
    def __init__(self, names: TokenNames | None, origin: str) -> None:
        self._names = names
        self._origin = origin
        self.parts: dict[str, Part] = {}
        self._rules: dict[str, Expression] = {}
        self._todo: list[tuple[Format, _Place]] = []
        self._met: set[str] = set()
        self._texts: dict[object, Reference] = {}
        self._parts: dict[object, str] = {}
        self._special: dict[str, Mapping[str, int]] = {}

    def write(self, root: Format) -> dict[str, Expression]:
        """The rules of a format and of all in it; the first is the whole."""
        self._rules["root"] = self._reference(root, _Place((), (), None))
        for form, place in self._todo:
            self._rules[form.path] = self._expression(form, place)
        return self._rules

    def _reference(self, form: Format, place: _Place) -> Expression:
        if form.path not in self._met:
            self._met.add(form.path)
            self._todo.append((form, place))
        return Reference(form.path)

    def _expression(self, form: Format, place: _Place) -> Expression:
        inside = place.inside()
        match form:
            case formats.ConstString():
                return place.closed(form.value.expression())
            case formats.JsonSchema():
                return place.closed(self._schema(form))
            case formats.Text():
                return place.closed(self._text_of(form))
            case formats.AnyText():
                return self._any_text(form, place)
            case formats.Tokens():
                ids = (*form.ids, *place.end_tokens) if form.all_but else form.ids
                return place.closed(Repeat(self._tokens(ids, form.all_but), form.least, form.most))
            case formats.Sequence():
                *first, last = form.elements
                return Sequence((*[self._reference(e, inside) for e in first], self._reference(last, place)))
            case formats.Or():
                return Choice(tuple([self._reference(e, place) for e in form.elements]))
            case formats.Repeat():
                if form.most == 1:
                    once = self._reference(form.content, place)
                    return once if form.least else Choice((place.closed(EMPTY), once))
                return place.closed(Repeat(self._reference(form.content, inside), form.least, form.most))
            case formats.Tag():
                return place.closed(Sequence((form.begin.expression(), self._reference(form.body, inside))))
            case formats.Enclosed():
                tail = _Tail(form.ends, form.may_stop) if form.ends else None
                ends = tuple([end.text for end in form.ends if end.text])
                end_tokens = tuple([token for end in form.ends if not end.text for _, token, _ in end.tokens])
                return self._reference(form.content, _Place(ends, end_tokens, tail))
            case formats.Dispatch():
                return self._dispatch(form, place)
            case formats.TokenDispatch():
                return self._token_dispatch(form, place)
            case formats.TagsWithSeparator():
                return place.closed(self._separated(form, inside))
        raise AssertionError(f"there is no format {type(form).__name__}")

    def _text_of(self, form: formats.Text) -> Expression:
        """What another front end reads, once for equal texts; or a bundled grammar, by its name."""
        key = form.language, form.text
        if key not in self._parts:
            name = f"{form.path}.text"
            if form.language == "ebnf" and is_bundled(form.text):
                self.parts[name] = bundled_part(form.text)
            else:
                request = GrammarRequest.of(form.language, form.text, origin=f"{self._origin}: {form.path}")
                parsed = request.parse(self._names)
                assert isinstance(parsed, RuleSet)
                self.parts[name] = parsed
            self._parts[key] = name
        return Reference(self._parts[key])

    def _schema(self, form: formats.JsonSchema) -> Expression:
        origin = f"{self._origin}: {form.path}.json_schema"

        def read() -> RuleSet:
            if form.style == "json":
                return json_rules(form.schema, form.settings, origin, excludes=form.excludes)
            return parameter_list(
                form.schema,
                form.style,
                excludes=form.excludes,
                any_order=form.settings.any_order,
                max_whitespace_cnt=form.settings.max_whitespace_cnt,
                strict_mode=form.settings.strict_mode,
                special=self._marker_tokens(form.style),
                source_name=origin,
            )

        spelled = tuple(self._marker_tokens(form.style).items())
        key = form.style, form.schema, form.settings.text(), form.excludes, spelled
        name = f"{form.path}.json_schema"
        if key not in self._parts:
            self.parts[name] = UnreadPart(key, read)
            self._parts[key] = name
        return Reference(self._parts[key])

    def _marker_tokens(self, style: str) -> Mapping[str, int]:
        """The special tokens that may spell markers of a style."""
        if style not in self._special:
            self._special[style] = {} if self._names is None or style == "json" else marker_tokens(style, self._names.special_names)
        return self._special[style]

    def _any_text(self, form: formats.AnyText, place: _Place) -> Expression:
        if form.most_tokens is not None:
            return place.closed(self._counted_text(form, place))
        if place.tail is not None:
            return self._text_until_end(form.excludes, (), place.tail, form.most)
        return self._free_text((*place.ends, *form.excludes), form.most)

    def _counted_text(self, form: formats.AnyText, place: _Place) -> Expression:
        """Free text of so many tokens at most, apart from the end behind it: a token that begins with the end is not counted."""
        for end in place.ends if place.tail is not None else ():
            if any(_begins_within(end, other) for other in place.ends):
                refuse(
                    f"{form.path}.max_tokens",
                    f"cannot be counted before the end {end!r}, which can begin within another end; give the tag another end",
                )
        if form.most_tokens == 0:
            return EMPTY
        excluded = tuple(sorted({*place.ends, *form.excludes}))
        key = "free text", excluded, form.most

        def read() -> RuleSet:
            return RuleSet({"root": free_text(excluded, form.most)}, "root", "", f"{self._origin}: {form.path}", {})

        if (key, form.most_tokens) not in self._parts:
            self.parts[f"{form.path}.text"] = UnreadPart(key, read, form.most_tokens)
            self._parts[key, form.most_tokens] = f"{form.path}.text"
        return Reference(self._parts[key, form.most_tokens])

    def _dispatch(self, form: formats.Dispatch, place: _Place) -> Expression:
        triggers = tuple([trigger for trigger, _ in form.rules])
        texts = tuple([trigger.text for trigger in triggers])
        excluded = (*place.ends, *form.excludes)
        free = (
            self._free_text((*excluded, *texts), None)
            if place.tail is None
            else self._text_until_end(form.excludes, texts, place.tail, None)
        )
        bodies = [[(begin, self._reference(body, place.inside())) for begin, body in options] for _, options in form.rules]
        first = Choice(tuple([Sequence((begin.expression(), body)) for options in bodies for begin, body in options]))
        if form.at_least_one and form.stop_after_first:
            return place.closed(first)
        segments: list[Expression] = []
        for number, (trigger, options) in enumerate(zip(triggers, bodies, strict=True)):
            if not options:
                continue
            size = len(trigger.text)
            rest = Choice(tuple([Sequence((begin.after(size).expression(), body)) for begin, body in options]))
            segments.append(Sequence((self._text_until_trigger(excluded, triggers, number), rest)))
            for begin, body in options:
                if any(a < size < b for a, _, b in begin.tokens):
                    segments.append(Sequence((self._text_into_marker((*excluded, *texts), begin, size), body)))
        segment = Choice(tuple(segments))
        if form.stop_after_first:
            return Choice((free, place.closed(segment)))
        after = Sequence((Repeat(segment, 0, None), free))
        return Sequence((first, after)) if form.at_least_one else after

    def _token_dispatch(self, form: formats.TokenDispatch, place: _Place) -> Expression:
        triggers = [token for token, _ in form.rules]
        free = Repeat(self._tokens((*form.exclude_tokens, *triggers, *place.end_tokens), all_but=True), 0, None)
        tagged = [
            Sequence((token_set([token]), Choice(tuple([self._reference(body, place.inside()) for body in bodies]))))
            for token, bodies in form.rules
            if bodies
        ]
        first = Choice(tuple(tagged))
        if form.at_least_one and form.stop_after_first:
            return place.closed(first)
        segment = Sequence((free, first))
        if form.stop_after_first:
            return place.closed(Choice((free, segment)))
        after = Sequence((Repeat(segment, 0, None), free))
        return place.closed(Sequence((first, after)) if form.at_least_one else after)

    def _separated(self, form: formats.TagsWithSeparator, inside: _Place) -> Expression:
        one = Choice(tuple([self._reference(tag, inside) for tag in form.tags]))
        if form.stop_after_first:
            return one if form.at_least_one else Choice((EMPTY, one))
        some = Sequence((one, Repeat(Sequence((form.separator.expression(), one)), 0, None)))
        return some if form.at_least_one else Choice((EMPTY, some))

    def _tokens(self, ids: tuple[int, ...], all_but: bool) -> Chars:
        if not all_but:
            return token_set(ids)
        if self._names is not None:
            return self._names.tokens_except(ids)
        gaps = []  # of any vocabulary: it is read again when one is known
        at = 0
        for i in sorted(set(ids)):
            if at < i:
                gaps.append((FIRST_TOKEN + at, FIRST_TOKEN + i - 1))
            at = i + 1
        return Chars((*gaps, (FIRST_TOKEN + at, FIRST_TOKEN + MAX_TOKENS - 1)))

    # Free text: a rule of its own each, so that what stands beside does not become one terminal with it.

    def _free_text(self, excluded: tuple[str, ...], most: int | None) -> Expression:
        excluded = tuple(sorted(set(excluded)))
        return self._text("text", (excluded, most), lambda: free_text(excluded, most))

    def _text_until_end(self, excluded: tuple[str, ...], triggers: tuple[str, ...], tail: _Tail, most: int | None) -> Expression:
        key = excluded, triggers, tail, most
        return self._text(
            f"text until {tail.ends[0].text!r}",
            key,
            lambda: text_until_end(excluded, triggers, tail.ends, may_stop=tail.may_stop, most=most),
        )

    def _text_until_trigger(self, excluded: tuple[str, ...], triggers: tuple[Marker, ...], number: int) -> Expression:
        key = excluded, triggers, number
        return self._text(f"text until {triggers[number].text!r}", key, lambda: text_until_trigger(excluded, triggers, number))

    def _text_into_marker(self, excluded: tuple[str, ...], marker: Marker, place: int) -> Expression:
        key = excluded, marker, place
        return self._text(f"text until {marker.text!r}", key, lambda: text_into_marker(excluded, marker, place))

    def _text(self, name: str, key: object, made: Callable[[], Expression]) -> Expression:
        known = self._texts.get((name, key))
        if known is None:
            expression = made()
            if expression == NOTHING:
                return NOTHING
            free = name
            number = 1
            while free in self._rules:
                number += 1
                free = f"{name} ({number})"
            self._rules[free] = expression
            known = self._texts[name, key] = Reference(free)
        return known


@cache  # which takes as long as all the rest, and a document with a name is asked for again and again
def bundled_part(name: str) -> Part:
    """A bundled grammar as a part. Raises MissingExtraError: it is in Lark's language, which is not installed."""
    parsed = find_grammar(name).request().parse()
    return parsed if isinstance(parsed, RuleSet) else LexedPart(parsed)


def _begins_within(end: str, other: str) -> bool:
    """Whether an end may begin within another one that is over before it."""
    return any(end.startswith(other[i:]) for i in range(1, len(other)) if len(other) - i < len(end))
