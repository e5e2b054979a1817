"""What a text that cannot be read may be instead: a path, or a text of another kind, given to the wrong call."""

from __future__ import annotations

import re

_PATH = re.compile(r"[^\s\"'{}|*?<>]{1,300}\.(lark|ebnf|gbnf|json|txt|psc)")


def looks_like(language: str, text: str) -> str | None:
    """What a message says of it; None where the text looks like nothing else.

    Args:
        language: what the text was read as.
        text: whose reading failed.
    """
    if _PATH.fullmatch(text.strip()):
        return "this looks like a path: compile_file takes one, and this call the text"
    if language == "json_schema" and "::=" in text:
        return "this looks like EBNF, which compile_grammar and Grammar.from_ebnf take"
    if language == "ebnf" and text.lstrip().startswith("{"):
        return "this looks like JSON: a schema is for compile_json_schema or Grammar.from_json_schema"
    return None
