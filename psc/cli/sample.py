"""``psc sample``: random sentences."""

from __future__ import annotations

import random
from pathlib import Path

import click

from psc.api import recorded_tokenizer
from psc.artifacts.format import read_file
from psc.cli.progress import Steps
from psc.cli.report import write_json
from psc.cli.tokenizers import SPEC_HELP, tokenizer_for
from psc.runtime.compiled import CompiledGrammar
from psc.sampling import Sample, Sampler


@click.command("sample")
@click.argument("artifact", type=click.Path(path_type=Path))
@click.option("-n", "count", type=click.IntRange(1), default=1, show_default=True, help="How many sentences.")
@click.option("--seed", type=int, help="The same seed gives the same sentences; without it, other ones every time.")
@click.option(
    "--max-tokens",
    type=click.IntRange(0),
    default=64,
    show_default=True,
    help="Draw at most so many tokens, then end the sentence the short way.",
)
@click.option("-t", "--tokenizer", metavar="SPEC", help=f"The tokenizer, by default the one recorded: {SPEC_HELP}.")
@click.option("--json", "as_json", is_flag=True, help="Print the sentences and their tokens as JSON.")
def command(artifact: Path, count: int, seed: int | None, max_tokens: int, tokenizer: str | None, as_json: bool) -> None:
    """Draw random sentences from the masks of ARTIFACT.

    At each step it is drawn what happens to the lexer, and then, among the allowed tokens that do this, a token. Sentences
    are complete: the text may end where they end.
    """
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    rng = random.Random(seed)
    samples: list[Sample] = []
    with Steps("sampling") as steps:
        steps.step("reading the artifact", 0, count)
        sampler = open_sampler(artifact, tokenizer)
        for i in range(count):
            steps.step(f"sentence {i + 1}", i, count)
            samples.append(sampler.sample(rng, max_tokens=max_tokens))
            if not as_json:
                click.echo(f"--- {i + 1} of {count}, seed {seed}: {_how(samples[-1])}", err=True)
                click.echo(samples[-1].text.decode("utf-8", "replace"))
    if as_json:
        sentences = [
            {"text": s.text.decode("utf-8", "replace"), "tokens": list(s.tokens), "drawn_tokens": s.drawn} for s in samples
        ]
        write_json({"artifact": str(artifact), "seed": seed, "sentences": sentences})


def open_sampler(path: Path, tokenizer: str | None) -> Sampler:
    """A sampler for an artifact, with the tokenizer that the user names or the recorded one.

    Raises:
        ArtifactError: the artifact cannot be read, or is for another tokenizer.
        TokenizerError: the tokenizer cannot be loaded.
    """
    artifact = read_file(path)
    info = tokenizer_for(artifact, tokenizer, str(path)) if tokenizer else recorded_tokenizer(artifact.metadata, str(path))
    return Sampler(CompiledGrammar.from_artifact(artifact, tokenizer_info=info, place=str(path)), artifact.arrays)


def _how(sample: Sample) -> str:
    return f"{len(sample.tokens)} tokens, {sample.drawn} of them drawn"
