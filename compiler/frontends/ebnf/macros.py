"""Macros of XGrammar's EBNF: ``Name(…)`` to expressions.

Arguments are integers, literals, names, ``true`` and ``false``, tuples of these, and ``name=value`` for options:

    Token(1, 2)                   one of these tokens of the vocabulary, whatever its text is; also Token("<think>")
    ExcludeToken(1, 2)            any one token but these and the stop tokens
    TokenTagDispatch((3, rule), excludes=(4,), loop_after_dispatch=false)
    TagDispatch(("<tag>", rule), excludes=("bad"), stop_eos=true, stops=("end"), loop_after_dispatch=true)
    Substring("a", "b", "c")      neighbouring pieces in their order, from none to all
    Regex("[0-9]+", json_string=true, flags="is")

The two dispatches are free text, or free tokens, until a tag begins; then comes its rule, and if they loop all starts anew.

Cost: linear in the arguments, but for what an expression costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import (
    EMPTY,
    NOTHING,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from psc.compiler.expressions.fold import fold, rebuilt
from psc.compiler.expressions.text_sets import expression_of, until_first, without
from psc.compiler.frontends.ebnf.lexer import Source, Token
from psc.compiler.frontends.ebnf.vocabulary_tokens import VocabularyTokens
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

_REGEX_FLAGS = frozenset("isu")
MACROS = frozenset(("Regex", "Substring", "TagDispatch", "Token", "ExcludeToken", "TokenTagDispatch"))

MAX_ARCS = limit("ebnf_free_text_arcs")
"""Of the automata of free text in a grammar; each tag has one, as large as all the texts that begin tags."""
MAX_TUPLES = limit("ebnf_tuples")
"""Tuples within each other; no macro has a use for three."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name in an argument."""

    name: str


Value = int | str | bool | Name | tuple["Argument", ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """A value, and where it is in the text."""

    value: Value
    offset: int


@dataclass(frozen=True)
class Arguments:
    """What is between the parentheses of a macro."""

    macro: str
    offset: int
    """Of the macro's name."""
    end: int
    """The number of the token after the macro."""
    plain: list[Argument] = field(default_factory=list)
    named: dict[str, Argument] = field(default_factory=dict)


def read_arguments(tokens: list[Token], at: int, end: int, source: Source, literal: Callable[[str, int], Literal]) -> Arguments:
    """Reads the arguments of the macro whose name is token ``at``.

    Args:
        tokens: of the grammar.
        at: the number of the macro's name; a ``(`` follows.
        end: where the rule ends.
        source: for messages.
        literal: reads a quoted text at an offset.

    Raises:
        GrammarError: the arguments are malformed.
    """
    found = Arguments(tokens[at][1], tokens[at][2], at)
    open_tuples: list[tuple[int, list[Argument]]] = []
    here = found.plain
    i = at + 2
    name: str | None = None  # of the argument that is read
    is_open = True  # an argument or the end may come; else a comma or the end
    while i < end:
        kind, text, offset = tokens[i]
        i += 1
        if kind == ")":
            if not open_tuples and name is not None:
                raise source.error(offset, f"{found.macro}: {name}= has no value")
            if not open_tuples:
                return Arguments(found.macro, found.offset, i, found.plain, found.named)
            opened_at, outer = open_tuples.pop()
            argument = Argument(tuple(here), opened_at)
            here = outer
        elif text == "," and kind == "unknown":
            if is_open:
                raise source.error(offset, f"{found.macro}: there is nothing before this comma")
            is_open = True
            continue
        elif not is_open:
            raise source.error(offset, f"{found.macro}: expected a comma or ) before {text}")
        elif kind == "(":
            if len(open_tuples) >= MAX_TUPLES:
                raise source.limit(offset, f"{found.macro}: tuples are nested more than {MAX_TUPLES} deep, which is the limit")
            open_tuples.append((offset, here))
            here = []
            continue
        elif kind == "name" and i < end and tokens[i][1] == "=" and not open_tuples and name is None:
            if text in found.named:
                raise source.error(offset, f"{found.macro}: {text}= is given twice")
            name = text
            i += 1
            continue
        else:
            argument = Argument(_value(kind, text, offset, source, literal, found.macro), offset)
        is_open = False
        if open_tuples or name is None:
            here.append(argument)
        else:
            found.named[name], name = argument, None
    raise source.error(found.offset, f"{found.macro}(… has no closing )")


def _value(
    kind: str, text: str, offset: int, source: Source, literal: Callable[[str, int], Literal], macro: str
) -> int | str | bool | Name:
    if kind == "literal":
        return literal(text, offset).text
    if kind != "name":
        raise source.error(
            offset, f"{macro}: {text} is no argument; arguments are numbers, texts in quotes, names and tuples of these"
        )
    if text in ("true", "false"):
        return text == "true"
    if text.removeprefix("-").isdecimal() and len(text) < 20:
        return int(text)
    return Name(text)


class Macros:
    """Makes expressions of macros, for one grammar text.

    Args:
        source: of the text.
        rules: the names that are defined.
        tokens: what the text names.
    """

    def __init__(self, source: Source, rules: frozenset[str], tokens: VocabularyTokens) -> None:
        self.source, self.rules, self.tokens = source, rules, tokens
        self._arcs = 0  # of free text

    def expression(self, arguments: Arguments) -> Expression:
        """What a macro matches. Raises GrammarError, ResourceLimitError."""
        a = arguments
        if a.macro == "Token":
            self._only_options(a)
            return self.tokens.one_of(self._token_ids(a))
        if a.macro == "ExcludeToken":
            self._only_options(a)
            return self.tokens.any_but(self._token_ids(a))
        if a.macro == "TokenTagDispatch":
            return self._token_dispatch(a)
        if a.macro == "TagDispatch":
            return self._text_dispatch(a)
        return self._substring(a) if a.macro == "Substring" else self._regex(a)

    def _error(self, at: Argument | Arguments, message: str) -> GrammarError:
        return self.source.error(at.offset, message)

    def _only_options(self, a: Arguments, *known: str) -> None:
        for name, value in a.named.items():
            if name not in known:
                if not known:
                    raise self._error(value, f"{a.macro}() does not accept named arguments, such as {name}")
                raise self._error(value, f"{a.macro} does not support the named argument {name}; it has {', '.join(known)}")

    def _boolean(self, a: Arguments, name: str, default: bool) -> bool:
        argument = a.named.get(name)
        if argument is None:
            return default
        if not isinstance(argument.value, bool):
            raise self._error(argument, f"{a.macro}: {name} must be a boolean, true or false")
        return argument.value

    def _elements(self, a: Arguments, name: str) -> tuple[Argument, ...]:
        argument = a.named.get(name)
        if argument is None:
            return ()
        if not isinstance(argument.value, tuple):
            raise self._error(argument, f"{a.macro}: {name} must be a tuple, such as (…, …)")
        return argument.value

    def _texts(self, a: Arguments, name: str) -> list[str]:
        texts = []
        for e in self._elements(a, name):
            if not isinstance(e.value, str) or not e.value:
                raise self._error(e, f"{a.macro}: {name} holds texts in quotes that are not empty")
            texts.append(e.value)
        return texts

    def _token_ids(self, a: Arguments) -> list[int]:
        if not a.plain and a.macro == "Token":
            raise self._error(a, "Token needs the id of a token, or the token's text in quotes")
        return [self._token_id(argument, a.macro) for argument in a.plain]

    def _token_id(self, argument: Argument, macro: str) -> int:
        value = argument.value
        if isinstance(value, str):
            return self.tokens.named(value, argument.offset)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._error(argument, f"{macro}: a token is named by its id, or by its text in quotes")
        return self.tokens.known(value, argument.offset)

    def _pairs(self, a: Arguments) -> list[tuple[Argument, Reference]]:
        """What begins a tag, and the tag's rule."""
        pairs = []
        for pair in a.plain:
            if not isinstance(pair.value, tuple) or len(pair.value) != 2 or not isinstance(pair.value[1].value, Name):
                raise self._error(pair, f"{a.macro}: each tag must be a tuple of what it begins with and a rule, such as (…, rule)")
            begin, rule = pair.value
            assert isinstance(rule.value, Name)
            if rule.value.name not in self.rules:
                raise self._error(rule, f"{a.macro}: rule {rule.value.name!r} is not defined; define it")
            pairs.append((begin, Reference(rule.value.name)))
        return pairs

    def _token_dispatch(self, a: Arguments) -> Expression:
        self._only_options(a, "loop_after_dispatch", "excludes")
        tags: dict[int, list[Expression]] = {}
        for begin, rule in self._pairs(a):
            tags.setdefault(self._token_id(begin, a.macro), []).append(rule)
        excludes = set()
        for e in self._elements(a, "excludes"):
            token = self._token_id(e, a.macro)
            if token in tags:
                raise self._error(e, f"{a.macro}: token {token} begins a tag and is excluded; leave one of them out")
            excludes.add(token)
        free = self.tokens.any_but(excludes.union(tags))
        begun: list[Expression] = [Sequence((self.tokens.one_of([token]), _any(rules))) for token, rules in tags.items()]
        if self._boolean(a, "loop_after_dispatch", True):
            return Repeat(_any([free, *begun]), 0, None)
        return Sequence((Repeat(free, 0, None), Repeat(_any(begun), 0, 1))) if begun else Repeat(free, 0, None)

    def _text_dispatch(self, a: Arguments) -> Expression:
        self._only_options(a, "stop_eos", "stop_str", "stops", "loop_after_dispatch", "excludes")
        tags: dict[str, list[Expression]] = {}
        for begin, rule in self._pairs(a):
            if not isinstance(begin.value, str) or not begin.value:
                raise self._error(begin, f"{a.macro}: a tag begins with a text in quotes that is not empty")
            tags.setdefault(begin.value, []).append(rule)
        excludes = self._texts(a, "excludes")
        for trigger in tags:
            shadow = next((e for e in excludes if e in trigger), None)
            if shadow is not None:
                prefix = "Exclude string must not be a prefix. " if any(map(trigger.startswith, excludes)) else ""
                contained = f"{trigger!r} contains the excluded {shadow!r}, so its tag could never begin"
                raise self._error(a, f"{a.macro}: {prefix}{contained}")
        stops = self._texts(a, "stops") + self._texts(a, "stop_str")
        stop_eos = self._boolean(a, "stop_eos", True)
        if not stop_eos and not stops:
            raise self._error(a, f"{a.macro} could never end: stop_eos is false, and there are no stops; give one of them")
        try:
            segments = [self._kept(until_first(begin, [*tags, *stops], excludes)) for begin in (*tags, *stops)]
            unended = self._kept(without([*excludes, *tags, *stops]))
        except ResourceLimitError as e:
            raise self.source.limit(a.offset, f"{a.macro}: {e}") from e
        begun: list[Expression] = [
            Sequence((segment, _any(rules))) for segment, rules in zip(segments, tags.values(), strict=False)
        ]
        ends: list[Expression] = [*segments[len(tags) :], *([unended] if stop_eos else [])]
        if not self._boolean(a, "loop_after_dispatch", True):
            return _any([*begun, *ends])
        return Sequence((Repeat(_any(begun), 0, None), _any(ends))) if begun else _any(ends)

    def _kept(self, texts: TextAutomaton) -> Expression:
        self._arcs += texts.n_arcs
        if self._arcs > MAX_ARCS:
            raise ResourceLimitError(
                f"automata of free text have more than {MAX_ARCS:,} arcs, which is the limit; use fewer tags or a structural tag"
            )
        return expression_of(texts)

    def _substring(self, a: Arguments) -> Expression:
        self._only_options(a)
        pieces = []
        for argument in a.plain:
            if not isinstance(argument.value, str):
                raise self._error(argument, "Substring() arguments must be strings, texts in quotes")
            pieces.append(argument.value)
        if not any(pieces):
            return EMPTY
        from psc.compiler.expressions.substrings import substring_automaton

        try:
            return substring_automaton(pieces)
        except ResourceLimitError as e:
            raise self.source.limit(a.offset, f"Substring: {e}") from e

    def _regex(self, a: Arguments) -> Expression:
        self._only_options(a, "json_string", "flags")
        if len(a.plain) != 1:
            raise self._error(a, 'Regex expects exactly one string argument, the pattern: Regex("…")')
        (pattern,) = a.plain
        if not isinstance(pattern.value, str):
            raise self._error(pattern, 'the Regex pattern must be a string literal: Regex("…")')
        inside_json = self._boolean(a, "json_string", False)
        flags = self._flags(a)
        from psc.compiler.frontends.regex import regex_expression

        try:
            expression: Expression = regex_expression(flags + pattern.value)
        except ResourceLimitError as e:
            raise self.source.limit(pattern.offset, str(e)) from e
        except GrammarError as e:
            raise self.source.error(pattern.offset, str(e)) from e
        return _inside_json_string(expression) if inside_json else expression

    def _flags(self, a: Arguments) -> str:
        """The flags of a Regex as its pattern can begin with them."""
        argument = a.named.get("flags")
        if argument is None:
            return ""
        if not isinstance(argument.value, str):
            raise self._error(argument, 'flags must be a string: flags="is"')
        for flag in argument.value:
            if flag not in _REGEX_FLAGS:
                raise self._error(
                    argument, f"regular-expression flag {flag!r} is not supported; there are {', '.join(sorted(_REGEX_FLAGS))}"
                )
        flags = "".join(sorted(set(argument.value) - {"u"}))  # which says what is so anyway
        return f"(?{flags})" if flags else ""


def _any(options: Iterable[Expression]) -> Expression:
    several = tuple(options)
    return several[0] if len(several) == 1 else Choice(several)


_SAFE_IN_JSON = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF))
"""What a JSON string may hold as it is: no quote, no backslash, no control character."""


def _inside_json_string(expression: Expression) -> Expression:
    """The texts of an expression that are the inside of a JSON string as they stand."""

    def combine(e: Expression, parts: list[Expression]) -> Expression:
        if isinstance(e, Literal):
            return e if all(_overlap((ord(c), ord(c))) for c in e.text) else NOTHING
        if isinstance(e, Chars):
            return Chars(tuple([part for r in e.ranges for part in _overlap(r)]))
        if isinstance(e, Automaton):
            arcs = [(source, *part, target) for source, first, last, target in e.arcs for part in _overlap((first, last))]
            return Automaton(e.accepts, tuple(arcs))
        return rebuilt(e, parts)

    return fold(expression, combine)


def _overlap(wanted: tuple[int, int]) -> list[tuple[int, int]]:
    first, last = wanted
    return [(max(first, low), min(last, high)) for low, high in _SAFE_IN_JSON if first <= high and low <= last]
