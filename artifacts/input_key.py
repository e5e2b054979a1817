"""The name of a compilation's inputs, under which its artifact can be looked up before anything is compiled.

The key has everything that the artifact's bytes depend on, except the labels that it records (file and tokenizer names): format,
compiler revision, language, grammar text, the texts that it imports, start rule, lexer, options, and the fingerprint of the
vocabulary. The artifact's own metadata records all of it, so an artifact's key can be checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from psc.artifacts.format import VERSION
from psc.errors import ArtifactError


def input_key(
    *,
    compiler_revision: int,
    language: str,
    text_sha256: str,
    imports: Sequence[tuple[str, str]],
    start: str,
    lexer: str,
    keep_all_actions: bool,
    settings: str = "",
    fingerprint: str,
    format_version: int = VERSION,
) -> str:
    """The key: sha256, in hex, of the arguments as canonical JSON.

    Args:
        compiler_revision: of the compiler.
        language: of the grammar's text: "lark", "ebnf", "regex" or "json_schema".
        text_sha256: of the grammar's text in UTF-8, in hex; where the language has a canonical text, of that.
        imports: per file imported its name, relative to the grammar's folder, and the sha256 of its text.
        start: the rule that a whole text must match.
        lexer: how text becomes terminals.
        keep_all_actions: whether any context-free grammar is taken as it is.
        settings: the language's own options; the empty text, its defaults, is left out.
        fingerprint: of the vocabulary: of its text, or of all of it, where the grammar's text may name tokens.
        format_version: of the artifact's file.
    """
    parts: dict[str, object] = {
        "compiler_revision": compiler_revision,
        "fingerprint": fingerprint,
        "format": format_version,
        "imports": sorted(list(i) for i in imports),
        "keep_all_actions": keep_all_actions,
        "language": language,
        "lexer": lexer,
        "start": start,
        "text_sha256": text_sha256,
    }
    if settings:
        parts["settings"] = settings
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def input_key_of(metadata: Mapping[str, Any], *, origin: str = "artifact", format_version: int = VERSION) -> str:
    """The key of an artifact, from its metadata. Raises ArtifactError when they lack its inputs."""
    try:
        grammar = metadata["grammar"]
        text: str = grammar["text"]
        digest = hashlib.sha256(text.encode()).hexdigest()
        if grammar["sha256"] != digest:
            raise ArtifactError(f"{origin}: the metadata's grammar text does not have the sha256 that they name")
        return input_key(
            compiler_revision=int(metadata["compiler_revision"]),
            language=str(grammar["language"]),
            text_sha256=digest,
            imports=[(str(name), str(sha256)) for name, sha256 in grammar["imports"]],
            start=str(grammar["start"]),
            lexer=str(grammar["lexer"]),
            keep_all_actions=bool(grammar["keep_all_actions"]),
            settings=str(grammar.get("settings", "")),
            fingerprint=str(metadata["tokenizer"]["fingerprint"]),
            format_version=format_version,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        if isinstance(e, ArtifactError):
            raise
        raise ArtifactError(f"{origin}: the metadata do not say what the artifact was made from: {e!r}") from e
