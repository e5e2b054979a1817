"""What the registry of front ends has for structural tags."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from psc import _core
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.joined_rules import JoinedRules
from psc.compiler.frontends.front_end import UNNAMED, Imports
from psc.compiler.frontends.lookup import find_grammar, names_bundled
from psc.compiler.frontends.structural_tag.document import read_document
from psc.compiler.frontends.structural_tag.reader import read_format
from psc.compiler.frontends.structural_tag.rules import rules_of
from psc.compiler.frontends.structural_tag.tokens import DocumentTokens
from psc.errors import GrammarError, InvalidJSONError, InvalidStructuralTagError

if TYPE_CHECKING:
    from psc.compiler.expressions.tokens import TokenNames
    from psc.compiler.frontends.json_schema.settings import SchemaSettings

_UNNAMED = "<structural tag>"
_GRAMMAR = '"grammar"'
_REFUSALS = (GrammarError, InvalidJSONError, InvalidStructuralTagError)


def parse(text: str, settings: SchemaSettings, origin: str, names: TokenNames | None) -> RuleSet:
    """The rules of a structural tag.

    Args:
        text: the document.
        settings: of the schemas in it, where their formats say nothing.
        origin: where it is from.
        names: of the vocabulary's tokens; None where it is not known yet.

    Raises:
        InvalidJSONError: the text is not JSON.
        InvalidStructuralTagError: the document has another shape; the message has the path.
        GrammarError: a schema, a grammar or a regex in it cannot be read.
    """
    origin = _named(origin)
    try:
        document = read_document(text)
        rules = rules_of(read_format(document.value), DocumentTokens(names, document), settings, text, origin)
        return replace(rules, imports=find_imports(text))
    except InvalidJSONError as e:
        raise InvalidJSONError(f"{origin}: {e}") from None
    except InvalidStructuralTagError as e:
        raise InvalidStructuralTagError(f"Invalid structural tag error: {origin}: {e}") from None  # as XGrammar's begin


def unread(text: str, settings: SchemaSettings, origin: str, names: TokenNames | None) -> RuleSet:
    """The rules of a structural tag in which nothing is wrong, and of which some are schemas', read when somebody needs them."""

    def read() -> JoinedRules:
        rules = parse(text, settings, origin, names).rules
        assert isinstance(rules, JoinedRules)
        return rules

    rules = JoinedRules.unread(read)
    imports = find_imports(text)
    return RuleSet(rules, "root", text, _named(origin), {}, language="structural_tag", reads_names=True, imports=imports)


def _named(origin: str) -> str:
    return _UNNAMED if origin == UNNAMED else origin


def find_imports(text: str) -> Imports:
    """The files of the bundled grammars that a document names."""
    if not _may_name(text):
        return ()
    try:
        bundled = {name for name in read_document(text).grammars() if names_bundled(name)}
        return tuple(sorted({file for name in bundled for file in _files_of(name)}))
    except _REFUSALS:
        return ()  # the reader says what is wrong


def with_names(text: str, named: Callable[[str], str]) -> str:
    """A document in which bundled grammars have other names; as it is where it names none.

    Args:
        text: the document.
        named: the other name for a name; for any other text the text itself.
    """
    if not _may_name(text):
        return text
    try:
        document = read_document(text)
    except _REFUSALS:
        return text
    return text if all(named(grammar) == grammar for grammar in document.grammars()) else document.renamed(named)


def _may_name(text: str) -> bool:
    return _GRAMMAR in text or "\\u" in text  # words may be spelled with escapes


@cache
def _files_of(name: str) -> Imports:
    file = find_grammar(name)
    request = file.request()
    imported = request.front_end.imports(request.text, request.origin) or ()
    return ((file.path.name, hashlib.sha256(request.text.encode()).hexdigest()), *imported)


def order_free(text: str) -> str | None:
    """The document with the tags of its lists in one order, and with no schema or tag looked into."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return None  # the reader says what is wrong
    return _core.in_order_of_tags(text)


def canonical(text: str) -> str:
    """The document without white space, see the same of JSON schemas; text that is no document is returned as it is."""
    try:
        return read_document(text).canonical
    except _REFUSALS:
        return text


def is_one(text: str) -> bool:
    """Whether JSON text is a structural tag, and no schema: its top says so, or has structures and triggers."""
    if '"structural_tag"' not in text and '"structures"' not in text:
        return False
    try:
        document = read_document(text).value
    except _REFUSALS:
        return False
    return isinstance(document, dict) and (
        document.get("type") == "structural_tag" or ("structures" in document and "triggers" in document)
    )
