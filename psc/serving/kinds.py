"""The kinds of requests that serving engines have, and the grammar for a request's kind and text.

Cost: nothing is parsed, but a list of choices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

from psc.compiler.frontends.front_end import check_text
from psc.compiler.frontends.lookup import find_grammar, names_bundled, with_bounded_layout
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError
from psc.requests.ebnf_texts import ebnf_request
from psc.requests.lark_texts import lark_request
from psc.requests.structural_tag_request import structural_tag_request
from psc.serving.options import ServiceOptions
from psc.support.readable import shortened

Kind = Literal["json", "json_object", "regex", "choice", "ebnf", "lark", "grammar", "structural_tag"]
"""json: a schema's text. json_object: any object, whatever the text. regex: what the whole text matches. choice: a JSON list of
texts. lark: Lark's language or llguidance's dialect of it. grammar: EBNF or Lark, see :func:`is_lark`. structural_tag: its JSON
text, in either form. A grammar's text may also be the name of a bundled one, such as ``java`` or ``java?layout=any``, and so may
one in a structural tag, see `bundled_request`."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_LARK_RULE = re.compile(r"[ \t]*[?!]*\w+(?:\.[-+]?\d+)?[ \t]*:(?!:?=)")
_OPAQUE = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|(?:#|//)[^\n]*|/(?:[^/\\\n]|\\[^\n])+/')
"""Texts, comments, and Lark's regexes: in EBNF a slash stands behind the `::=` of its line."""


def request_of(kind: Kind, text: str, options: ServiceOptions) -> GrammarRequest:
    """The grammar of a request.

    Args:
        kind: one of `KINDS`.
        text: in the form of the kind.
        options: the settings of JSON schemas, and how the names of bundled grammars are meant.

    Raises:
        GrammarError: there is no such kind, the text has half of a surrogate pair, or is no list of choices.
        TypeError: the text is no text.
    """
    reader = _READERS.get(kind)
    if reader is None:
        raise GrammarError(f"there is no kind of request {shortened(repr(kind), 60)}; there are {', '.join(KINDS)}")
    return reader(check_text(text, kind), options)


def bundled_request(name: str, options: ServiceOptions) -> GrammarRequest:
    """The bundled grammar that a request names. One without an option has bounded layout where it can and `options` say so.

    Raises:
        GrammarError: there is no such name or option.
    """
    return find_grammar(_served(name, options)).request()


def _served(name: str, options: ServiceOptions) -> str:
    return with_bounded_layout(name) if options.bounded_layout else name


def is_lark(text: str) -> bool:
    """Whether a text that may be EBNF or Lark is Lark: no line has ``::=`` before a comment, as vLLM distinguishes them.

    A ``::=`` within quotes or a regex in slashes, or on a line that begins as a rule or a terminal of Lark's, is none.
    """
    if "::=" not in text:
        return True
    bare = _OPAQUE.sub("", text)
    return not any("::=" in line and not _LARK_RULE.match(line) for line in bare.splitlines())


def _json(text: str, options: ServiceOptions) -> GrammarRequest:
    return GrammarRequest.of("json_schema", text, settings=options.schema_settings)


def _json_object(text: str, options: ServiceOptions) -> GrammarRequest:
    return _json('{"type": "object"}', options)


def _regex(text: str, options: ServiceOptions) -> GrammarRequest:
    return GrammarRequest.of("regex", text)


def _choice(text: str, options: ServiceOptions) -> GrammarRequest:
    try:
        choices: Any = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise GrammarError(f"choice: must be a JSON list of texts: {e}") from None
    if not isinstance(choices, list) or not choices or not all(isinstance(c, str) for c in choices):
        raise GrammarError("choice: must be a JSON list of texts, one at least")
    return GrammarRequest.of("ebnf", "root ::= " + " | ".join(map(_ebnf_literal, choices)))


def _ebnf_literal(text: str) -> str:
    escaped = check_text(text, "choice").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", lambda c: f"\\u{ord(c[0]):04x}", escaped) + '"'


def _ebnf(text: str, options: ServiceOptions) -> GrammarRequest:
    if names_bundled(text):
        return bundled_request(text, options)
    return ebnf_request(text)


def _lark(text: str, options: ServiceOptions) -> GrammarRequest:
    if names_bundled(text):
        return bundled_request(text, options)
    return lark_request(text, {}, schemas=options.schema_settings)


def _grammar(text: str, options: ServiceOptions) -> GrammarRequest:
    return _lark(text, options) if is_lark(text) else _ebnf(text, options)


def _structural_tag(text: str, options: ServiceOptions) -> GrammarRequest:
    from psc.compiler.frontends.structural_tag.front_end import with_names

    named = with_names(text, lambda name: _served(name, options))
    return structural_tag_request(named, settings=options.tag_settings)


_READERS: Final[dict[Kind, Callable[[str, ServiceOptions], GrammarRequest]]] = {
    "json": _json,
    "json_object": _json_object,
    "regex": _regex,
    "choice": _choice,
    "ebnf": _ebnf,
    "lark": _lark,
    "grammar": _grammar,
    "structural_tag": _structural_tag,
}
