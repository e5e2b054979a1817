"""The task of a whole job: a grammar and a vocabulary to the bytes of an artifact, the same bytes on any worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psc.artifacts.format import decode, encode
from psc.artifacts.references import Reference
from psc.cluster.run.task import Progress
from psc.compiler.frontends.tables import GrammarTables
from psc.compiler.pipeline.build import Build, build
from psc.compiler.pipeline.stages import Stage
from psc.vocabulary.tokenizer_info import TokenizerInfo

ENCODING = "encoding"
"""The stage after the compiler's: compression, and reading the bytes back."""
N_STAGES = len(Stage) + 1
"""Of a whole job: the compiler's, and the encoding."""


@dataclass(frozen=True)
class Compiled:
    """An artifact's bytes, verified, and the facts to report."""

    data: bytes
    reference: Reference
    counts: Mapping[str, int]
    warnings: tuple[str, ...]


def compile_artifact(
    tables: GrammarTables, tokenizer: TokenizerInfo, *, grammar_name: str, tokenizer_name: str, progress: Progress
) -> Compiled:
    """Compiles a grammar for a vocabulary.

    Args:
        tables: of the grammar; they are made where several jobs need them.
        tokenizer: for whose vocabulary.
        grammar_name: the artifact's name.
        tokenizer_name: the tokenizer's name there.
        progress: called with each stage as it begins.

    Raises:
        GrammarError: the grammar cannot be compiled, or exceeds a limit.
    """
    result = build(tables, tokenizer, progress=lambda title, number, _: progress(title, number, N_STAGES))
    return encoded(result, grammar_name, tokenizer_name, progress)


def encoded(result: Build, grammar_name: str, tokenizer_name: str, progress: Progress) -> Compiled:
    """The artifact of a finished compilation, by these names."""
    progress(ENCODING, len(Stage), N_STAGES)
    metadata: dict[str, Any] = result.metadata
    data = encode(result.arrays, metadata)
    reference = Reference.of(decode(data), grammar=grammar_name, tokenizer=tokenizer_name)
    return Compiled(data, reference, metadata["counts"], result.warnings)
