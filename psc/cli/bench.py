"""``psc bench``: measurements that need no clone. Each is a module, imported when it is called."""

from __future__ import annotations

import importlib

import click

from psc.cli.groups import CommandGroup

_COMMANDS = {
    "masks": "What a decoding step costs on texts, beside others.",
    "first-masks": "How long from a grammar's text to its first mask, beside others.",
    "compile": "What compiling ahead of time takes, and loading.",
    "serve": "What requests cost a server: admission, and steps of batches, beside others.",
    "maskbench": "JSON schemas with instances: verdicts and times, beside others.",
    "end-to-end": "Tokens a second of a real model in vLLM, without a grammar, with psc, beside others.",
    "all": "All of these but corpus; writes the page and the pictures of docs/.",
    "corpus": "Compare a grammar with its language's own parser, on real files and mutants of them.",
}
"""Name and what the list says; `psc.cli.bench_one` has the command, but of the last three."""


class _Measurements(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name in ("all", "corpus", "end-to-end"):
            command: click.Command = importlib.import_module(f"psc.cli.bench_{cmd_name.replace('-', '_')}").command
            return command
        from psc.cli.bench_one import COMMANDS

        return COMMANDS[cmd_name]

    def describe(self, ctx: click.Context) -> list[tuple[str, str]]:
        return list(_COMMANDS.items())


@click.group("bench", cls=_Measurements)
def command() -> None:
    """Measure psc on this machine, beside others where they are installed."""
