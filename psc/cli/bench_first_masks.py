"""``psc bench first-masks``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.arguments import GRAMMAR
from psc.cli.bench_options import Chosen, bench_options, measuring, publish, report_options, settings_of


@click.command("first-masks")
@click.argument("grammars", nargs=-1, type=GRAMMAR, metavar="[GRAMMAR]...")
@bench_options
@report_options
def command(
    grammars: tuple[str, ...],
    chosen: Chosen,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """How long it takes from a grammar's text to its first mask, nothing cached.

    GRAMMAR is a bundled name or a path. By default the bundled grammars, and some of the kind that requests bring.
    """
    with measuring("first-masks", quiet=quiet) as tell:
        from psc.bench import first_masks

        settings = settings_of(chosen, tell=tell)
        report = first_masks.run(settings, grammars)
    publish(report, folder, as_json=as_json)
