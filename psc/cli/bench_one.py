"""``psc bench masks``, ``first-masks``, ``compile``, ``serve`` and ``maskbench``: one measurement each, and its report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from psc.cli.arguments import GRAMMAR
from psc.cli.bench_options import Chosen, bench_options, corpus_option, measuring, publish, report_options, settings_of

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_GRAMMARS: Final = click.argument("grammars", nargs=-1, type=GRAMMAR, metavar="[GRAMMAR]...")
_SCHEMAS: Final = click.argument(
    "schemas", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[SCHEMAS.jsonl]"
)


def _measurement(name: str, module: str, help: str, *decorators: _Decorator) -> click.Command:
    """A command that calls ``run`` of a module of `psc.bench`."""

    def command(
        chosen: Chosen,
        as_json: bool,
        folder: Path | None,
        quiet: bool,
        grammars: tuple[str, ...] | None = None,
        corpus: tuple[str, ...] = (),
        schemas: Path | None = None,
    ) -> None:
        with measuring(name, quiet=quiet) as announce:
            run = import_module(f"psc.bench.{module}").run
            settings = settings_of(chosen, corpus=corpus, schemas=schemas, announce=announce)
            report = run(settings) if grammars is None else run(settings, grammars)
        publish(report, folder, as_json=as_json)

    decorated: Callable[..., Any] = report_options(command)
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    return click.command(name, help=inspect.cleandoc(help))(decorated)


COMMANDS: Final = {
    "masks": _measurement(
        "masks",
        "masks",
        """What a decoding step costs on texts: the mask and the accept of a token, first and later.

        GRAMMAR is a bundled name or a path. By default the bundled grammars that there are texts of on every machine, and one of
        tool calls.
        """,
        _GRAMMARS,
        bench_options,
        corpus_option,
    ),
    "first-masks": _measurement(
        "first-masks",
        "first_masks",
        """How long it takes from a grammar's text to its first mask, nothing cached.

        GRAMMAR is a bundled name or a path. By default the bundled grammars, and some of the kind that requests bring.
        """,
        _GRAMMARS,
        bench_options,
    ),
    "compile": _measurement(
        "compile",
        "compiling",
        """What compiling ahead of time takes: time, memory, the artifact's size, and loading it.

        GRAMMAR is a bundled name or a path. By default all that are bundled.
        """,
        _GRAMMARS,
        bench_options,
    ),
    "serve": _measurement(
        "serve",
        "serving",
        """What requests cost a server: being admitted, and the steps of batches of them.

        Each request brings a new JSON schema, of tools as models are given them.
        """,
        bench_options,
    ),
    "maskbench": _measurement(
        "maskbench",
        "maskbench",
        """JSON schemas with instances: which verdicts are right, and what first masks and masks cost.

        Each line of SCHEMAS.jsonl (perhaps .zst) is {"schema": …, "tests": [{"data": …, "valid": true}]}, as JSONSchemaBench's
        MaskBench has them. Without it a clone's copy of JSON Schema's official test suite is taken, which a wheel does not have.
        """,
        _SCHEMAS,
        bench_options,
    ),
}
