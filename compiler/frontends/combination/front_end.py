"""Combinations of grammars, some of which have lexers of their own: what ``Grammar.union`` and ``concat`` make of them.

The text is JSON, ``{"combination": "union", "grammars": [{"language", "text", "start", "lexer", …}, …]}``, with a grammar as
``GrammarRequest.to_json`` has it. Grammars of characters alone do not need it: their combination is EBNF.
"""

from __future__ import annotations

import json
from collections.abc import Sequence as Many
from dataclasses import replace
from typing import Any

from psc.compiler.expressions import rule_sets
from psc.compiler.expressions.expression import Choice, Reference, RuleSet, Sequence
from psc.compiler.expressions.joined_rules import joined
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import UNNAMED, origin_of
from psc.compiler.frontends.parsed import ParsedGrammar, parsed_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import DeserializeFormatError, GrammarError
from psc.support.regular_file import FileOrigin

KINDS = ("union", "concat")


def combined(kind: str, requests: Many[GrammarRequest], grammars: Many[ParsedGrammar]) -> tuple[GrammarRequest, ParsedGrammar]:
    """A combination of grammars that were read, with the request that reads it again.

    Args:
        kind: "union" or "concat".
        requests: for the grammars.
        grammars: as they were read.

    Raises:
        GrammarError: there is no grammar.
    """
    sets = [parsed.rules for parsed in grammars if parsed.rules is not None and not parsed.has_lexer and not parsed.has_unique]
    if len(sets) == len(grammars):
        rules = rule_sets.union(sets) if kind == "union" else rule_sets.concat(sets)
        return GrammarRequest.of("ebnf", rules.source, start=rules.root, origin=rules.source_name), parsed_grammar(rules)
    origin = FileOrigin(f"<{kind}>")
    text = json.dumps({"combination": kind, "grammars": [_described(r) for r in requests]}, ensure_ascii=False)
    request = GrammarRequest.of("combination", text, origin=origin)
    return request, parsed_grammar(_rules_of(kind, grammars, text, origin))


def _rules_of(kind: str, grammars: Many[ParsedGrammar], source: str, origin: str) -> RuleSet:
    """The rules of a combination of which some parts have lexers."""
    parts = {f"grammar {i}": parsed.part for i, parsed in enumerate(grammars, 1)}
    references = tuple([Reference(name) for name in parts])
    root = Choice(references) if kind == "union" else Sequence(references)
    reads_names = any(parsed.reads_names for parsed in grammars)
    rules = joined({"root": root}, parts, "root", source=source, source_name=origin, language="combination")
    return replace(rules, reads_names=reads_names)


def parse(text: str, origin: str, names: TokenNames | None) -> RuleSet:
    """Reads a combination, and the grammars in it.

    Raises:
        GrammarError: it is no such text, or a grammar in it is malformed.
    """
    kind, requests = _read(text, origin)
    return _rules_of(kind, [request.parse(names) for request in requests], text, origin)


def names_tokens(text: str) -> bool:
    """Whether a grammar in it may name tokens."""
    try:
        return any(request.names_tokens for request in _read(text, "")[1])
    except GrammarError:  # parsing says so
        return True


def _described(request: GrammarRequest) -> dict[str, Any]:
    described = request.to_json()
    return described if request.front_end.imports(request.text, request.origin) == () else described | {"origin": request.origin}


def _origin_of(described: dict[str, Any], origin: str) -> str:
    """That of a grammar in a combination: a file only where the program combined grammars of files, see `combined`."""
    given = described.get("origin", UNNAMED)
    return origin_of(given) if isinstance(origin, FileOrigin) and isinstance(given, str) else UNNAMED


def _read(text: str, origin: str) -> tuple[str, list[GrammarRequest]]:
    try:
        document = json.loads(text)
        kind, given = document["combination"], document["grammars"]
        requests = [GrammarRequest.of_json(g, origin=_origin_of(g, origin)) for g in given]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, DeserializeFormatError) as e:
        raise GrammarError(f"{origin}: this is no combination of grammars: {e!r}") from None
    if kind not in KINDS or not requests:
        raise GrammarError(f"{origin}: a combination is {' or '.join(KINDS)}, of one grammar at least")
    return kind, requests
