"""``psc grammars``: the bundled grammars, what they are of, and how large."""

from __future__ import annotations

import click

from psc.cli.arguments import json_option
from psc.cli.report import write_json, write_pairs
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_description, bundled_specs
from psc.grammars.grammar import Grammar


@click.command("grammars")
@json_option
def command(as_json: bool) -> None:
    """List the bundled grammars, and the terminals, productions and LR states of each.

    A grammar's text says what it leaves out. Other grammars are named by the path of their file.
    """
    listed = [(name, bundled_description(name), _counts(name)) for name in bundled_specs()]
    if as_json:
        write_json([{"name": name, "description": description, **counts} for name, description, counts in listed])
        return
    write_pairs((name, f"{description} ({_written(counts)})") for name, description, counts in listed)


def _counts(name: str) -> dict[str, int]:
    tables = Grammar.parse(find_grammar(name).request()).tables()
    cfg = tables.cfg
    return {"terminals": len(cfg.terminals), "productions": len(cfg.productions), "lr_states": tables.lr.n_lr_states}


def _written(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {what.replace('lr_', 'LR ').replace('_', ' ')}" for what, n in counts.items())
