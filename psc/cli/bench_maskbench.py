"""``psc bench maskbench``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.bench_options import Chosen, bench_options, measuring, publish, report_options, settings_of


@click.command("maskbench")
@click.argument("schemas", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[SCHEMAS.jsonl]")
@bench_options
@report_options
def command(
    schemas: Path | None,
    chosen: Chosen,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """JSON schemas with instances: which verdicts are right, and what first masks and masks cost.

    Each line of SCHEMAS.jsonl (perhaps .zst) is {"schema": …, "tests": [{"data": …, "valid": true}]}, as JSONSchemaBench's
    MaskBench has them. Without it a clone's copy of JSON Schema's official test suite is taken, which a wheel does not have.
    """
    with measuring("maskbench", quiet=quiet) as tell:
        from psc.bench import maskbench

        report = maskbench.run(settings_of(chosen, schemas=schemas, tell=tell))
    publish(report, folder, as_json=as_json)
