"""``psc bench serve``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.bench_options import Chosen, bench_options, measuring, publish, report_options, settings_of


@click.command("serve")
@bench_options
@report_options
def command(
    chosen: Chosen,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """What requests cost a server: being admitted, and the steps of batches of them.

    Each request brings a new JSON schema, of tools as models are given them.
    """
    with measuring("serve", quiet=quiet) as tell:
        from psc.bench import serving

        report = serving.run(settings_of(chosen, tell=tell))
    publish(report, folder, as_json=as_json)
