"""Options of a rule: ``name[max_chars=100, excludes=("</a>"), lazy] ::= …``, as XGrammar's EBNF has them.

    max_chars=n       no text of the rule has more than n characters
    excludes=("a",)   no text of the rule has one of these inside
    lazy              the rule is over as soon as it can be: no text of the rule begins with another one

    capture, capture="name"   matchers tell the rule's texts under this name, or under the rule's own
    temperature=0.5           matchers report this temperature while the rule is open
    stop=(body, marker)       the rule's text is one of the rule `body` and one of the rule `marker`, which no capture shows
    suffix=(body, marker)     the same, and captures of enclosing rules show the marker
    stop_capture="name"       the marker's texts are captured under this name

    max_tokens=n      once n tokens have had bytes in a text of the rule, it ends before the next one that begins where it can end
    spent=rule        it may then end where its text is one of another rule, too

``capture`` to ``stop_capture`` say nothing of texts. ``stop``, ``suffix``, ``stop_capture`` and ``spent`` are what a rule that ends
at a marker is printed with: the body of the rule is written out besides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container

from psc.compiler.expressions.expression import Ending, Literal, RuleMark
from psc.compiler.expressions.regular_rules import TextLimits
from psc.compiler.expressions.token_budgets import MAX_BUDGET
from psc.compiler.frontends.ebnf.lexer import Source, Token, tokens_of
from psc.compiler.frontends.ebnf.macros import Argument, Arguments, Name, read_arguments

_KNOWN = ("max_chars", "excludes", "lazy", "capture", "temperature", "stop", "suffix", "stop_capture", "max_tokens", "spent")
_ALONE = {"capture": ", or stand alone"}


def read_options(
    token: Token, source: Source, rule: str, rules: Container[str], literal: Callable[[str, int], Literal]
) -> tuple[TextLimits, RuleMark]:
    """The options in brackets.

    Args:
        token: the brackets with what is in them.
        source: for messages.
        rule: whose options they are.
        rules: those that there are.
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
            raise source.error(argument.offset, _why(argument.value, has_value=False))
    for name, argument in given.named.items():
        if name not in _KNOWN or name == "lazy":
            raise source.error(argument.offset, _why(Name(name), has_value=True))
    plain_capture = any(_is(a, "capture") for a in given.plain)
    mark = RuleMark(
        capture=rule if plain_capture else _name(given, "capture", source),
        temperature=_temperature(given, source),
        ending=_ending(given, source, rules),
        max_tokens=_max_tokens(given, source),
        spent=_spent(given, source, rules),
    )
    return limits, mark


def _is(argument: Argument, name: str) -> bool:
    return argument.value == Name(name)


def _why(value: object, *, has_value: bool) -> str:
    name = value.name if isinstance(value, Name) else repr(value)
    if name in _KNOWN:
        return f"the rule option {name} " + (f"has no value: write [{name}]" if has_value else f"needs a value: [{name}=…]")
    return f"there is no rule option {name}; there are {', '.join(_KNOWN)}"


def _name(given: Arguments, option: str, source: Source) -> str | None:
    argument = given.named.get(option)
    if argument is None:
        return None
    if not isinstance(argument.value, str) or not argument.value:
        raise source.error(argument.offset, f"{option} must be a name in quotes that is not empty{_ALONE.get(option, '')}")
    return argument.value


def _temperature(given: Arguments, source: Source) -> float | None:
    argument = given.named.get("temperature")
    if argument is None:
        return None
    value = argument.value
    try:
        number = float(value.name if isinstance(value, Name) else str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool | str | tuple) or not math.isfinite(number) or number < 0:
        raise source.error(argument.offset, "temperature must be a finite non-negative number, temperature=0.5")
    return number


def _ending(given: Arguments, source: Source, rules: Container[str]) -> Ending | None:
    captured_as = _name(given, "stop_capture", source)
    options = [option for option in ("stop", "suffix") if option in given.named]
    if len(options) != 1:
        if options or captured_as is not None:
            raise source.error(
                given.named["stop_capture" if captured_as is not None else "stop"].offset,
                "stop= and suffix= exclude each other, and stop_capture= needs one of them",
            )
        return None
    (option,) = options
    argument = given.named[option]
    names = [element.value for element in argument.value] if isinstance(argument.value, tuple) else []
    if len(names) != 2 or not all(isinstance(name, Name) and name.name in rules for name in names):
        raise source.error(argument.offset, f"{option} must be two rules, the body and the marker: {option}=(body, marker)")
    body, marker = (name.name for name in names if isinstance(name, Name))
    return Ending(body, marker, option == "stop", captured_as)


def _max_tokens(given: Arguments, source: Source) -> int | None:
    argument = given.named.get("max_tokens")
    if argument is None:
        return None
    value = argument.value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BUDGET:
        raise source.error(argument.offset, f"max_tokens must be a number of tokens from 1 to {MAX_BUDGET:,}")
    return value


def _spent(given: Arguments, source: Source, rules: Container[str]) -> str | None:
    argument = given.named.get("spent")
    if argument is None:
        return None
    if not isinstance(argument.value, Name) or argument.value.name not in rules or "max_tokens" not in given.named:
        raise source.error(argument.offset, "spent must be a rule, beside max_tokens: max_tokens=3, spent=body")
    return argument.value.name


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
