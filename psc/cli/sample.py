"""``psc sample``: random sentences."""

from __future__ import annotations

import random

import click

from psc.cli.arguments import GRAMMAR, quiet_option, with_paragraph
from psc.cli.grammars import GRAMMAR_HELP, Chosen, grammar_options, open_compiled
from psc.cli.progress import Steps
from psc.cli.report import write_json
from psc.cli.tokenizers import recorded_tokenizer_option
from psc.inspection.readable import ReadableSampler
from psc.inspection.sampling import Sample, Sampler


@click.command("sample")
@click.argument("grammar", type=GRAMMAR)
@click.option("-n", "count", type=click.IntRange(1), default=1, show_default=True, help="How many sentences.")
@click.option("--seed", type=int, help="The same seed gives the same sentences; without it, other ones every time.")
@click.option(
    "--max-tokens",
    type=click.IntRange(0),
    default=64,
    show_default=True,
    help="Draw at most this many tokens, then end the sentence the short way.",
)
@click.option(
    "--uniform",
    is_flag=True,
    help="Draw every effect on the lexer about as often, from the whole vocabulary. It reaches more of a grammar, and reads badly.",
)
@recorded_tokenizer_option
@grammar_options
@click.option("--json", "as_json", is_flag=True, help="Print the sentences and their tokens as JSON.")
@quiet_option("Print nothing but the sentences.")
def command(
    grammar: str,
    count: int,
    seed: int | None,
    max_tokens: int,
    uniform: bool,
    tokenizer: str | None,
    chosen: Chosen,
    as_json: bool,
    quiet: bool,
) -> None:
    """Draw random sentences from the masks of GRAMMAR.

    Each token is one that the mask allows. A small model of texts draws it: everyday words, tokens that the vocabulary numbers
    first, blanks where a typesetter puts them, and an end after some twenty tokens. Sentences are complete: the text may end where
    they end.
    """
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    rng = random.Random(seed)
    samples: list[Sample] = []
    with Steps("sampling", quiet=quiet) as steps:
        steps.step("reading the grammar", 0, count)
        compiled = open_compiled(grammar, tokenizer, chosen)
        sampler = Sampler(compiled) if uniform else ReadableSampler(compiled)
        for i in range(count):
            steps.step(f"sentence {i + 1}", i, count)
            samples.append(sampler.sample(rng, max_tokens=max_tokens))
            if not as_json:
                if not quiet:
                    click.echo(f"--- {i + 1} of {count}, seed {seed}: {_how(samples[-1])}", err=True)
                click.echo(samples[-1].text.decode("utf-8", "replace"))
    if as_json:
        sentences = [
            {"text": s.text.decode("utf-8", "replace"), "tokens": list(s.tokens), "drawn_tokens": s.drawn} for s in samples
        ]
        write_json({"grammar": grammar, "seed": seed, "sentences": sentences})


with_paragraph(command, f"GRAMMAR is {GRAMMAR_HELP}.")


def _how(sample: Sample) -> str:
    return f"{len(sample.tokens)} tokens, {sample.drawn} of them drawn"
