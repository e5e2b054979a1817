"""``psc bench all``: every measurement, and the page that shows them."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import click

from psc.cli.arguments import json_option, quiet_option
from psc.cli.bench_options import (
    Chosen,
    bench_options,
    corpus_option,
    measuring,
    python_option,
    schemas_option,
    settings_of,
)
from psc.cli.report import note, warning, write_json
from psc.errors import PscError

_NAMES = ("masks", "first-masks", "compile", "serve", "maskbench", "end-to-end")


@click.command("all")
@bench_options
@corpus_option
@schemas_option
@python_option
@click.option("--only", multiple=True, type=click.Choice(_NAMES), help="These only; may be repeated.")
@click.option(
    "--write",
    "docs",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DOCS",
    help="Write benchmarks.md, benchmarks.json and pictures there, and the table of the README beside that folder.",
)
@json_option
@quiet_option("Show no progress.")
@click.pass_context
def command(
    ctx: click.Context,
    chosen: Chosen,
    corpus: tuple[str, ...],
    schemas: Path | None,
    python: Path | None,
    only: tuple[str, ...],
    docs: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """All measurements but corpus, which needs real files, and end-to-end, where there is no vLLM (--python).

    Less than an hour on two cores, and hours for end-to-end; with --quick, minutes. One that fails is named, and the others go on;
    the exit code is then 1. With --write, what was not measured this time is taken from what was written before.
    """
    reports = []
    failed = False
    names = [each for each in _NAMES if not only or each in only]
    if "end-to-end" in names and not only and python is None and find_spec("vllm") is None:
        names.remove("end-to-end")
        note("end-to-end: psc's own environment has no vLLM; name one that has it: --python VENV/bin/python")
    for name in names:
        began = time.monotonic()
        try:
            with measuring(name, quiet=quiet) as announce:
                from psc.bench.run import RUNS

                settings = settings_of(chosen, corpus=corpus, schemas=schemas, python=python, announce=announce)
                reports.append(RUNS[name](settings))
        except PscError as error:
            failed = True
            warning(f"{name}: {error}")
            continue
        if docs is not None:
            from psc.bench.pages import write_pages

            for missing in write_pages(reports[-1:], docs):
                note(missing)
        if not quiet:
            note(f"{name}: {time.monotonic() - began:.0f} s")
    if as_json:
        write_json({"reports": [report.document() for report in reports]})
    elif docs is None:
        click.echo("\n".join(report.markdown(level=2) for report in reports), nl=False)
    ctx.exit(1 if failed else 0)
