"""The options by which a tokenizer is named, and the vocabulary of an artifact that is checked or sampled."""

from __future__ import annotations

import click

from psc.artifacts.format import Artifact
from psc.cli.arguments import TOKENIZER
from psc.errors import ArtifactError, TokenizerError
from psc.grammars.recorded_tokenizer import TokenizerRecord
from psc.runtime.compiled import is_for
from psc.vocabulary import load_tokenizer
from psc.vocabulary.tokenizer_info import TokenizerInfo

SPEC_HELP = "a short name (qwen3), a tokenizer file or folder, or a Hugging Face id in the local cache"


recorded_tokenizer_option = click.option(
    "-t",
    "--tokenizer",
    type=TOKENIZER,
    metavar="SPEC",
    help=f"The tokenizer, by default the one that an artifact records: {SPEC_HELP}.",
)


def token_ids(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that takes token ids, separated by commas; none at all is an empty value."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise click.BadParameter(f"{value!r} is not a list of token ids such as 151643,151645", ctx, param)
    return tuple(int(part) for part in parts)


def tokenizer_for(artifact: Artifact, spec: str, origin: str) -> TokenizerInfo:
    """The tokenizer that a user names for an artifact, with the stop tokens and the size that the artifact was compiled for.

    Raises:
        TokenizerError: it cannot be loaded.
        ArtifactError: the artifact was compiled for another one; the message has both fingerprints.
    """
    recorded = TokenizerRecord.of(artifact.metadata, origin)
    text = artifact.metadata["tokenizer"].get("text_fingerprint", recorded.fingerprint)
    try:
        loaded = load_tokenizer(spec, vocab_size=recorded.vocab_size, stop_token_ids=recorded.stop_token_ids)
    except TokenizerError:  # of another size
        loaded = load_tokenizer(spec)
    if is_for(artifact.metadata["tokenizer"], loaded):
        return loaded
    if loaded.fingerprint == text:
        raise ArtifactError(
            f"{origin}: the grammar names tokens, and was compiled for tokenizer {recorded.name}; {spec} has the same text, and "
            f"other special tokens, stop tokens or size. "
            f"Compile the grammar for {spec}, or name the tokenizer that it was compiled for."
        )
    raise ArtifactError(
        f"{origin}: compiled for tokenizer {recorded.name} with fingerprint {text}, but {spec} has {loaded.fingerprint}. "
        f"Compile the grammar for {spec}, or name the tokenizer that it was compiled for."
    )
