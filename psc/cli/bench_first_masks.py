"""``psc bench first-masks``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.arguments import GRAMMAR
from psc.cli.bench_options import bench_options, measuring, publish, report_options, settings_of


@click.command("first-masks")
@click.argument("grammars", nargs=-1, type=GRAMMAR, metavar="[GRAMMAR]...")
@bench_options
@report_options
def command(
    grammars: tuple[str, ...],
    tokenizer: str,
    peers: tuple[str, ...],
    no_peers: bool,
    quick: bool,
    seed: int,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """How long it takes from a grammar's text to its first mask, nothing cached.

    GRAMMAR is a bundled name or a path. By default the bundled grammars, and some of the kind that requests bring.
    """
    with measuring("first-masks", quiet=quiet) as tell:
        from psc.bench import first_masks

        settings = settings_of(tokenizer, peers, no_peers, quick, seed, tell=tell)
        report = first_masks.run(settings, grammars)
    publish(report, folder, as_json=as_json)
