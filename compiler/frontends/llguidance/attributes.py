"""What stands in brackets behind a rule's name: `rule[capture="name", temperature=0.7, suffix="</end>"]: …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from psc.compiler.expressions.token_budgets import MAX_BUDGET
from psc.compiler.frontends.llguidance.syntax import Attributes, Text
from psc.support.limits import limit

if TYPE_CHECKING:
    from psc.compiler.frontends.llguidance.parser import Parser

_CAPTURE: Final = re.compile(r"[A-Za-z0-9_.-]+")
_KNOWN: Final = ("capture", "lazy", "max_chars", "max_tokens", "stop", "stop_capture", "suffix", "temperature")

MAX_CHARS: Final = limit("llguidance_max_chars")


def read_attributes(parser: Parser, rule: str) -> Attributes:
    """Reads the brackets that come next.

    Raises:
        GrammarError: an attribute is unknown, has a value that it cannot have, stands twice, or beside one that excludes it.
    """
    parser.expect("[", "expected '['")
    found: dict[str, Any] = {}
    offsets: dict[str, int] = {}
    while parser.next.kind != "]":
        key = parser.expect("rule", "expected the name of an attribute")
        name = key.text
        if name not in _KNOWN:
            raise parser.error(key.at, f"attribute {name!r} is not supported; there are {', '.join(_KNOWN)}")
        if name in found:
            raise parser.error(key.at, f"{name} attribute is specified more than once")
        offsets[name] = key.at
        found[name] = _value(parser, name, key.at, rule)
        if parser.take(",") is None:
            break
    parser.expect("]", "expected ']' after attributes")
    _check(parser, found, offsets)
    return Attributes(**found, offsets=offsets)


def _value(parser: Parser, name: str, at: int, rule: str) -> Any:
    if name == "lazy":
        return True
    if name == "capture" and parser.next.kind != "=":
        return rule
    parser.expect("=", f"expected '=' after {name}")
    if name in ("suffix", "stop"):
        marker = parser.value()
        if isinstance(marker, Text) and marker.kind == "rule":
            raise parser.error(
                marker.at, f"{name} terminal name must be uppercase: a marker is a terminal, not the rule {marker.text!r}"
            )
        return marker
    if name in ("capture", "stop_capture"):
        value = parser.value()
        text = getattr(value, "text", None)
        if getattr(value, "kind", None) != "string" or text is None:
            raise parser.error(value.at, f"expected string literal after {name}=")
        if not text:
            raise parser.error(value.at, "capture name must not be empty")
        if not _CAPTURE.fullmatch(text):
            raise parser.error(value.at, "capture name must only contain letters, digits, '_', '-' and '.'")
        return text
    number = parser.expect("number", f"expected number after {name}=")
    if name == "temperature":
        temperature = float(number.text)
        if not 0 <= temperature < float("inf"):
            raise parser.error(number.at, "temperature must be a finite non-negative number")
        return temperature
    if name == "max_chars":
        if not number.text.isdecimal() or len(number.text) > 10 or int(number.text) > MAX_CHARS:
            raise parser.error(number.at, f"max_chars must be a whole number up to {MAX_CHARS:,}")
        return int(number.text)
    if not number.text.isdecimal() or len(number.text) > 9 or int(number.text) > MAX_BUDGET:
        raise parser.error(number.at, f"max_tokens must be a whole number up to {MAX_BUDGET:,}")
    if int(number.text) == 0:
        raise parser.error(number.at, "max_tokens must be positive")
    return int(number.text)


def _check(parser: Parser, found: dict[str, Any], offsets: dict[str, int]) -> None:
    if "stop" in found and "suffix" in found:
        second, first = sorted(("stop", "suffix"), key=lambda name: -offsets[name])
        raise parser.error(offsets[second], f"{second} cannot be combined with {first}; give one of them")
    if "stop_capture" in found and "stop" not in found and "suffix" not in found:
        raise parser.error(offsets["stop_capture"], "stop_capture requires stop or suffix")
