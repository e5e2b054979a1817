"""``psc tokenizers``: which tokenizers have a short name, and where each comes from."""

from __future__ import annotations

import click

from psc.cli.arguments import json_option
from psc.cli.report import write_json, write_pairs
from psc.vocabulary.names import list_names


@click.command("tokenizers")
@json_option
def command(as_json: bool) -> None:
    """List the tokenizers that have a short name, and what to install for those that are missing.

    Others are named by their file or folder, or by a Hugging Face id that is in the local cache.
    """
    named = list_names()
    if as_json:
        write_json(
            [
                {"name": n.name, "description": n.description, "available": n.available, "path": n.path and str(n.path)}
                | ({} if n.available else {"install": n.install_command})
                for n in named
            ]
        )
        return
    write_pairs((n.name, n.description + ("" if n.available else f"  ({n.install_command})")) for n in named)
