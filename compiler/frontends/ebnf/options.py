"""Options of a rule: ``name[max_chars=100, excludes=("</a>"), lazy] ::= …``, as XGrammar's EBNF has them.

    max_chars=n       no text of the rule has more than n characters
    excludes=("a",)   no text of the rule has one of these inside
    lazy              the rule is over as soon as it can be: no text of the rule begins with another one

``capture``, ``capture="name"`` and ``temperature=0.5`` say nothing of texts. They are read and checked; matchers record no captures
and know no temperature but the one that they were given. ``max_tokens`` would be a limit, and is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from psc.compiler.expressions import Literal
from psc.compiler.frontends.ebnf.lexer import Source, Token, tokens_of
from psc.compiler.frontends.ebnf.macros import Argument, Arguments, Name, read_arguments
from psc.compiler.regular_rules import TextLimits

_KNOWN = ("max_chars", "excludes", "lazy", "capture", "temperature")


def read_options(token: Token, source: Source, literal: Callable[[str, int], Literal]) -> TextLimits:
    """The options in brackets.

    Args:
        token: the brackets with what is in them.
        source: for messages.
        literal: reads a quoted text at an offset.

    Raises:
        GrammarError: an option is not known, is not supported, or has no such value.
    """
    _, text, offset = token
    inner = [(kind, part, at + offset + 1) for kind, part, at in tokens_of(text[1:-1], source)]
    tokens = [("name", "rule options", offset), ("(", "(", offset), *inner, (")", ")", offset + len(text) - 1)]
    given = read_arguments(tokens, 0, len(tokens), source, literal)
    limits = TextLimits(
        max_chars=_max_chars(given, source), excludes=_excludes(given, source), shortest=any(_is(a, "lazy") for a in given.plain)
    )
    for argument in given.plain:
        if not _is(argument, "lazy") and not _is(argument, "capture"):
            raise source.error(argument.offset, _why(argument.value))
    for name, argument in given.named.items():
        if name not in _KNOWN or name == "lazy":
            raise source.error(argument.offset, _why(Name(name)))
    _check_what_says_nothing_of_texts(given, source)
    return limits


def _is(argument: Argument, name: str) -> bool:
    return argument.value == Name(name)


def _why(value: object) -> str:
    name = value.name if isinstance(value, Name) else repr(value)
    if name == "max_tokens":
        return "the rule option max_tokens is not supported: a grammar of texts does not count tokens; max_chars counts characters"
    return f"there is no rule option {name}; there are {', '.join(_KNOWN)}"


def _check_what_says_nothing_of_texts(given: Arguments, source: Source) -> None:
    capture, temperature = given.named.get("capture"), given.named.get("temperature")
    if capture is not None and (not isinstance(capture.value, str) or not capture.value):
        raise source.error(capture.offset, "capture must be a name in quotes that is not empty, or stand alone")
    if temperature is None:
        return
    value = temperature.value
    try:
        number = float(value.name if isinstance(value, Name) else str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool | str | tuple) or not math.isfinite(number) or number < 0:
        raise source.error(temperature.offset, "temperature must be a finite non-negative number, temperature=0.5")


def _max_chars(given: Arguments, source: Source) -> int | None:
    argument = given.named.get("max_chars")
    if argument is None:
        return None
    if isinstance(argument.value, bool) or not isinstance(argument.value, int) or argument.value < 0:
        raise source.error(argument.offset, "max_chars must be a non-negative number of characters")
    return argument.value


def _excludes(given: Arguments, source: Source) -> tuple[str, ...]:
    argument = given.named.get("excludes")
    if argument is None:
        return ()
    if not isinstance(argument.value, tuple) or not argument.value:
        raise source.error(argument.offset, 'excludes must be a tuple of texts in quotes, such as ("a", "b")')
    texts = []
    for element in argument.value:
        if not isinstance(element.value, str) or not element.value:
            raise source.error(element.offset, "excludes holds texts in quotes that are not empty")
        texts.append(element.value)
    return tuple(sorted(set(texts)))
