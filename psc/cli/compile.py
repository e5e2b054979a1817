"""``psc compile``: a grammar and a tokenizer to an artifact."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from psc.cli.arguments import FILE, GRAMMAR, TOKENIZER, json_option, quiet_option, with_paragraph
from psc.cli.grammars import GRAMMAR_FILE, Chosen, grammar_options
from psc.cli.progress import Steps
from psc.cli.report import note, warning, write_json, write_pairs
from psc.cli.tokenizers import SPEC_HELP, token_ids
from psc.compiler.frontends.lookup import find_grammar, with_bounded_layout
from psc.compiler.grammars import bundled_names
from psc.grammars.compile_file import CompileReport, build_record_path, compile_to_artifact
from psc.grammars.verification import check_verifiable
from psc.grammars.warm_texts import WarmRowNames
from psc.support.readable import duration, size
from psc.vocabulary import load_tokenizer
from psc.vocabulary.names import find_name


@click.command("compile", epilog=f"Bundled grammars: {', '.join(bundled_names())}.")
@click.argument("grammar", type=GRAMMAR)
@click.option("-t", "--tokenizer", required=True, type=TOKENIZER, metavar="SPEC", help=f"The tokenizer: {SPEC_HELP}.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The artifact; GRAMMAR.psc here by default.")
@grammar_options
@click.option(
    "--stop-token-ids",
    callback=token_ids,
    metavar="ID,ID…",
    help="Tokens that end the text, instead of those that the tokenizer's files name.",
)
@click.option(
    "--vocab-size", type=click.IntRange(1), help="Width of the model's output layer, instead of what the tokenizer's files say."
)
@click.option(
    "--verify",
    is_flag=True,
    help="Before anything is written, prove that the classifier equals the paper's construction, for a grammar of at most 200 LR "
    "states and 5000 terminal sequences: json has that, java, go and sql are larger. Needs the extra openfst.",
)
@click.option(
    "--warm",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A text of the language, or a folder of them; may be given several times. The artifact names the masks that texts meet, "
    "and a server that loads it makes these in advance.",
)
@json_option
@click.option("--verbose", is_flag=True, help="Print the time of each stage, and sizes of what was built.")
@quiet_option()
def command(
    grammar: str,
    tokenizer: str,
    output: Path | None,
    chosen: Chosen,
    stop_token_ids: tuple[int, ...] | None,
    vocab_size: int | None,
    verify: bool,
    warm: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Compile GRAMMAR for a tokenizer.

    The artifact is written whole or not at all, and is the same bytes every time. Times and peak memory are written
    beside it, to FILE.build.json.
    """
    found = find_grammar(grammar)
    options = chosen.of(found)
    chosen.check(found.request(**options))
    path = output or Path(f"{found.stem}.psc")
    if verify:
        check_verifiable(grammar, **options)
    with Steps(f"compiling {found.name}", quiet=quiet) as steps:
        steps.step("tokenizer", 0, 1)
        info = load_tokenizer(tokenizer, vocab_size=vocab_size, stop_token_ids=stop_token_ids)
        report = compile_to_artifact(
            grammar,
            info,
            path,
            **options,
            tokenizer_file=tokenizer if find_name(tokenizer) is None and Path(tokenizer).expanduser().exists() else None,
            verify=verify,
            warm=warm,
            progress=steps.step,
        )
    for text in report.warnings:
        warning(f"{found.name}: {text}")
    served = with_bounded_layout(found.name)
    if served != found.name and not quiet:
        note(f"servers read {found.name} as {served}, unless PSC_BOUNDED_LAYOUT=0: compile '{served}' for them")
    if not info.stop_token_ids:
        warning(f"{tokenizer}: no stop token is known, so the masks never allow one; give --stop-token-ids")
    if as_json:
        write_json(as_data(report))
    elif not quiet:
        _write(report, verbose)


with_paragraph(command, f"GRAMMAR is a bundled name, or the path of a {GRAMMAR_FILE}.")


def as_data(report: CompileReport) -> dict[str, Any]:
    """The report for machines."""
    metadata = report.metadata
    return {
        "artifact": str(report.path),
        "sha256": report.digest,
        "size_bytes": report.size,
        "build_record": str(build_record_path(report.path)),
        "grammar": {key: metadata["grammar"][key] for key in ("name", "sha256", "start", "language", "lexer", "keep_all_actions")},
        "tokenizer": metadata["tokenizer"],
        "compiler_revision": metadata["compiler_revision"],
        "counts": metadata["counts"],
        "warnings": list(report.warnings),
        "build": dict(report.record),
        "verification": report.verification,
        "warm": None if report.warm is None else _warm_as_data(report.warm),
    }


def _warm_as_data(warm: WarmRowNames) -> dict[str, Any]:
    texts = [asdict(text) for text in warm.texts]
    return {"rows": warm.n_rows, "texts": texts, "share_in_advance": warm.share_in_advance}


def _write(report: CompileReport, verbose: bool) -> None:
    if report.verification is not None:
        compared = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in report.verification.items())
        click.echo(f"verified: the classifier equals the paper's construction ({compared})")
    counts, record = report.metadata["counts"], report.record
    warm = ""
    if report.warm is not None:
        read = sum(text.problem is None for text in report.warm.texts)
        warm = f", warm for {report.warm.n_rows:,} masks of {read:,} texts"
        share = report.warm.share_in_advance
        if share is not None and not report.is_closed:
            warm += f" (what one half of them needs serves {share:.1%} of the tokens of the other half)"
    click.echo(f"{report.path}: {size(report.size)}, compiled in {duration(record['total_seconds'])}{warm}")
    if not verbose:
        return
    write_pairs(
        [
            *((stage, duration(seconds)) for stage, seconds in record["seconds"].items()),
            ("peak memory", size(record["peak_memory_bytes"])),
            ("vocabulary", f"{report.metadata['tokenizer']['vocab_size']:,} tokens"),
            *((name.replace("_", " "), f"{n:,}") for name, n in counts.items()),
        ],
        indent=2,
    )
