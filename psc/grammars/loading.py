"""What programs call to load an artifact."""

from __future__ import annotations

from pathlib import Path

from psc.artifacts.format import file_bytes
from psc.grammars.compiled_grammar import CompiledGrammar, compiled_from_file
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.support.regular_file import FileOrigin
from psc.vocabulary.tokenizer_info import TokenizerInfo


def load(path: str | Path, *, tokenizer_info: TokenizerInfo | None = None) -> CompiledGrammar:
    """Loads an artifact.

    Args:
        path: a ``.psc`` file.
        tokenizer_info: the vocabulary, checked against the artifact's fingerprint. Without it, ``compiled.tokenizer_info``
            looks up the name that the grammar was compiled for when it is first asked; masks do not need it.

    Raises:
        ArtifactError: the file is missing, damaged, of another version, or made for another tokenizer.

    Cost: about 20 ms for a programming language.
    """
    place = FileOrigin(path)
    return compiled_from_file(file_bytes(path), tokenizer_info=tokenizer_info or recorded_tokenizer, place=place)
