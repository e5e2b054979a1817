"""``psc bench compile``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.arguments import GRAMMAR
from psc.cli.bench_options import Chosen, bench_options, measuring, publish, report_options, settings_of


@click.command("compile")
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
    """What compiling ahead of time takes: time, memory, the artifact's size, and loading it.

    GRAMMAR is a bundled name or a path. By default all that are bundled.
    """
    with measuring("compile", quiet=quiet) as tell:
        from psc.bench import compiling

        settings = settings_of(chosen, tell=tell)
        report = compiling.run(settings, grammars)
    publish(report, folder, as_json=as_json)
