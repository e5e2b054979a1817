"""The vocabulary that an artifact was made for, as the artifact and the build record beside it name it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psc.errors import ArtifactError, TokenizerError
from psc.grammars.compile_file import MAX_RECORD_BYTES, build_record_path
from psc.support.readable import shortened
from psc.support.regular_file import FileOrigin, read_regular
from psc.vocabulary import load_tokenizer
from psc.vocabulary.resolve import load_recorded_tokenizer
from psc.vocabulary.tokenizer_info import TokenizerInfo


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
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise ArtifactError(f"{place}: the metadata is malformed: {e!r}") from e


def recorded_tokenizer(metadata: Mapping[str, Any], place: str = "artifact") -> TokenizerInfo:
    """Looks up the vocabulary that a grammar was compiled for, with the size and stop tokens recorded.

    By the file that the build record beside the artifact names, where there is one, else by the name that the artifact records. Who
    wrote the artifact chose that name, so it is no path: a short name, or a Hugging Face id in the local cache.

    Raises:
        TokenizerError: it cannot be found, or has another size.
        ArtifactError: the metadata does not describe one.
    """
    recorded = TokenizerRecord.of(metadata, place)
    file = _tokenizer_file(place)
    try:
        if file is not None and file.exists():
            return load_tokenizer(file, vocab_size=recorded.vocab_size, stop_token_ids=recorded.stop_token_ids)
        return load_recorded_tokenizer(recorded.name, vocab_size=recorded.vocab_size, stop_token_ids=recorded.stop_token_ids)
    except TokenizerError as e:
        raise TokenizerError(
            f"{place}: compiled for tokenizer {shortened(recorded.name)!r}, which is not found by that name here; give the "
            f"tokenizer itself (-t/--tokenizer, tokenizer_info=): {e}"
        ) from e


def _tokenizer_file(place: str) -> Path | None:
    """The file of the vocabulary, as the build record beside an artifact names it; what it holds is checked by its fingerprint."""
    if not isinstance(place, FileOrigin):
        return None
    try:
        record = json.loads(read_regular(build_record_path(place), MAX_RECORD_BYTES))
        return Path(record["tokenizer_file"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
