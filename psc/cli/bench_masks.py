"""``psc bench masks``."""

from __future__ import annotations

from pathlib import Path

import click

from psc.cli.arguments import GRAMMAR
from psc.cli.bench_options import Chosen, bench_options, corpus_option, measuring, publish, report_options, settings_of


@click.command("masks")
@click.argument("grammars", nargs=-1, type=GRAMMAR, metavar="[GRAMMAR]...")
@bench_options
@corpus_option
@report_options
def command(
    grammars: tuple[str, ...],
    chosen: Chosen,
    corpus: tuple[str, ...],
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """What a decoding step costs on texts: the mask and the accept of a token, first and later.

    GRAMMAR is a bundled name or a path. By default the bundled grammars that there are texts of on every machine, and one of
    tool calls.
    """
    with measuring("masks", quiet=quiet) as tell:
        from psc.bench import masks

        settings = settings_of(chosen, corpus=corpus, tell=tell)
        report = masks.run(settings, grammars)
    publish(report, folder, as_json=as_json)
