"""What programs call: load an artifact, compile a grammar in the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psc.artifacts.format import read_file
from psc.artifacts.tokenizer_info import TokenizerInfo
from psc.errors import ArtifactError, MissingExtraError
from psc.runtime.compiled import CompiledGrammar
from psc.tokenizers import load_tokenizer


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
    artifact = read_file(path)
    return CompiledGrammar.from_artifact(artifact, tokenizer_info=tokenizer_info or recorded_tokenizer, place=str(path))


@dataclass(frozen=True)
class TokenizerRecord:
    """What an artifact says of the vocabulary that it was made for."""

    name: str
    fingerprint: str
    vocab_size: int
    stop_token_ids: tuple[int, ...]

    @classmethod
    def of(cls, metadata: Mapping[str, Any], place: str) -> TokenizerRecord:
        """Reads it from an artifact's metadata. Raises ArtifactError when the metadata does not describe one."""
        try:
            recorded = metadata["tokenizer"]
            stop = tuple(int(i) for i in recorded["stop_token_ids"])
            return cls(str(recorded["name"]), str(recorded["fingerprint"]), int(recorded["vocab_size"]), stop)
        except (KeyError, TypeError, ValueError) as e:
            raise ArtifactError(f"{place}: the metadata is malformed: {e!r}") from e


def recorded_tokenizer(metadata: Mapping[str, Any], place: str = "artifact") -> TokenizerInfo:
    """Looks up the vocabulary that a grammar was compiled for: by the name recorded, with the size and stop tokens recorded.

    Raises:
        TokenizerError: it cannot be found, or has another size.
        ArtifactError: the metadata does not describe one.
    """
    recorded = TokenizerRecord.of(metadata, place)
    return load_tokenizer(recorded.name, vocab_size=recorded.vocab_size, stop_token_ids=recorded.stop_token_ids)


class GrammarCompiler:
    """Compiles grammars for one vocabulary, in the process.

    Args:
        tokenizer_info: the vocabulary.
    """

    def __init__(self, tokenizer_info: TokenizerInfo) -> None:
        self.tokenizer_info = tokenizer_info

    def compile_lark(self, text: str, *, start: str = "start", source_name: str = "<string>") -> CompiledGrammar:
        """Compiles grammar text in Lark's language.

        Args:
            text: the grammar.
            start: the rule that a whole text must match.
            source_name: the file it came from, for relative imports and messages.

        Raises:
            GrammarError: the grammar does not load, has conflicts that Lark refuses, or a terminal that is not regular.
            MissingExtraError: the ``compiler`` extra is not installed.
        """
        with needs_extra("compiler"):
            from psc.compiler.build import build
            from psc.compiler.lark_frontend import load_lark
        result = build(load_lark(text, start=start, source_name=source_name), self.tokenizer_info)
        return CompiledGrammar(result.arrays, result.metadata, tokenizer_info=self.tokenizer_info, place=source_name)


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turns a failed import inside into :class:`MissingExtraError`, which names the extra to install."""
    try:
        yield
    except ImportError as e:
        raise MissingExtraError(f"this needs the package {e.name!r}, which is not installed: pip install 'psc[{extra}]'") from e
