"""``psc bench serve``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.bench_options import bench_options, measuring, publish, report_options, settings_of


@click.command("serve")
@bench_options
@report_options
def command(
    tokenizer: str,
    peers: tuple[str, ...],
    no_peers: bool,
    quick: bool,
    seed: int,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """What requests cost a server: being admitted, and the steps of batches of them.

    Each request brings a new JSON schema, of tools as models are given them.
    """
    with measuring("serve", quiet=quiet) as tell:
        from psc.bench import serving

        report = serving.run(settings_of(tokenizer, peers, no_peers, quick, seed, tell=tell))
    publish(report, folder, as_json=as_json)
