"""What the registry of front ends has for structural tags."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from psc import _core
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.joined_rules import JoinedRules
from psc.compiler.frontends.found import find_grammar
from psc.compiler.frontends.front_end import UNNAMED, Imports
from psc.compiler.frontends.structural_tag.document import SchemaText, read_document
from psc.compiler.frontends.structural_tag.reader import Reader, refuse
from psc.compiler.frontends.structural_tag.required import DOCUMENT, DOCUMENT_FORMAT, DOCUMENT_TYPE
from psc.compiler.frontends.structural_tag.rules import rules_of
from psc.compiler.grammars import is_bundled
from psc.errors import InvalidJSONError, InvalidStructuralTagError

if TYPE_CHECKING:
    from psc.compiler.expressions.tokens import TokenNames

_UNNAMED = "<structural tag>"
_GRAMMAR = '"grammar"'


def parse(text: str, origin: str, names: TokenNames | None) -> RuleSet:
    """The rules of a structural tag.

    Raises:
        InvalidJSONError: the text is not JSON.
        InvalidStructuralTagError: the document has another shape; the message has the path.
        GrammarError: a schema, a grammar or a regex in it cannot be read.
    """
    origin = _named(origin)
    try:
        document = read_document(text)
        root = Reader(names, "\n".join(_texts(document))).read(_format(document))
        imports = _bundled_files(document) if _may_name_a_grammar(text) else ()
        return replace(rules_of(root, names, text, origin), imports=imports)
    except InvalidJSONError as e:
        raise InvalidJSONError(f"{origin}: {e}") from None
    except InvalidStructuralTagError as e:
        raise InvalidStructuralTagError(f"Invalid structural tag error: {origin}: {e}") from None  # as XGrammar's begin


def unread(text: str, origin: str, names: TokenNames | None) -> RuleSet:
    """The rules of a structural tag in which nothing is wrong, and of which some are schemas', read when somebody needs them."""

    def read() -> JoinedRules:
        rules = parse(text, origin, names).rules
        assert isinstance(rules, JoinedRules)
        return rules

    rules = JoinedRules.unread(read)
    imports = find_imports(text)
    return RuleSet(rules, "root", text, _named(origin), {}, language="structural_tag", reads_names=True, imports=imports)


def _named(origin: str) -> str:
    return _UNNAMED if origin == UNNAMED else origin


def find_imports(text: str) -> Imports:
    """The files of the bundled grammars that a document names."""
    try:
        return _bundled_files(read_document(text)) if _may_name_a_grammar(text) else ()
    except (InvalidJSONError, InvalidStructuralTagError):
        return ()  # the reader says what is wrong


def _may_name_a_grammar(text: str) -> bool:
    """False where the document need not be walked through; words may be spelled with escapes."""
    return _GRAMMAR in text or "\\u" in text


def _bundled_files(document: Any) -> Imports:
    found: set[tuple[str, str]] = set()
    for value in _values(document):
        if isinstance(value, dict) and value.get("type") == "grammar":
            name = value.get("grammar")
            if isinstance(name, str) and is_bundled(name):
                found.update(_files_of(name))
    return tuple(sorted(found))


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


def is_one(text: str) -> bool:
    """Whether JSON text is a structural tag, and no schema: its top says so, or has structures and triggers."""
    if '"structural_tag"' not in text and '"structures"' not in text:
        return False
    try:
        document = read_document(text)
    except (InvalidJSONError, InvalidStructuralTagError):
        return False
    return isinstance(document, dict) and (
        document.get("type") == "structural_tag" or ("structures" in document and "triggers" in document)
    )


def _format(document: Any) -> Any:
    """The format of a document; of one in the older form, the one that it stands for."""
    if not isinstance(document, dict):
        refuse("the document", DOCUMENT)
    if document.get("type", "structural_tag") != "structural_tag":
        refuse("type", f"must be 'structural_tag', not {repr(document['type'])[:100]}; {DOCUMENT_TYPE}")
    if "format" in document:
        return document["format"]
    if "structures" not in document and "triggers" not in document:
        refuse("format", f"is missing; {DOCUMENT_FORMAT}")
    structures = document.get("structures")
    if not isinstance(structures, list) or not structures:
        refuse("structures", "must be a list of objects with begin, schema and end, one at least")
    tags = []
    for i, item in enumerate(structures):
        if not isinstance(item, dict):
            refuse(f"structures[{i}]", "must be an object with begin, schema and end")
        schema = item.get("schema")
        if isinstance(schema, str):  # as text
            schema = SchemaText(schema.strip() or " ")
        content = {"type": "json_schema", "json_schema": SchemaText("{}") if schema is None else schema}
        tags.append({"type": "tag", "begin": item.get("begin"), "content": content, "end": item.get("end")})
    rest = {key: document[key] for key in ("at_least_one", "stop_after_first", "excludes") if key in document}
    return {"type": "triggered_tags", "triggers": document.get("triggers"), "tags": tags, **rest}


def _texts(document: Any) -> list[str]:
    """All texts of a document but those of its schemas."""
    return [value for value in _values(document) if isinstance(value, str)]


def _values(document: Any) -> list[Any]:
    """All values in a document but those of its schemas."""
    found = [document]
    for value in found:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
    return found
