"""The command line, ``psc``. Each command is a module, imported when it is called, over functions that take no terminal.

Exit codes: 0 fine, 1 refused or a check failed, 2 wrong usage; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP (see
`psc.cli.ending`). Reports go to stdout (``--json``: for machines), everything else to stderr.
"""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

import click

from psc._version import __version__
from psc.cli import ending
from psc.cli.groups import CommandGroup, WrongUsage
from psc.errors import PscError

_COMMANDS = {
    "compile": "Compile a grammar for a tokenizer into an artifact.",
    "batch": "Compile many grammars for many tokenizers, on one machine or a Ray cluster.",
    "check": "Check files against a grammar, token by token.",
    "explain": "Explain what may come after a text, and why a token may not.",
    "playground": "Try a grammar in the browser: tokens, stack, what is allowed and why not.",
    "sample": "Draw random sentences from a grammar's masks.",
    "generate": "Let a language model on this machine write a text inside a grammar.",
    "registry": "Share artifacts: serve, push, pull, list, verify, gc, keygen.",
    "inspect": "Show what is in an artifact and where it came from.",
    "bench": "Measure psc on this machine, beside others: masks, first-masks, compile, serve, maskbench, end-to-end, corpus, all.",
    "sql-catalog": "Write a grammar of SQL whose tables and columns are those of a database.",
    "grammars": "List the bundled grammars.",
    "tokenizers": "List the tokenizers that have a short name.",
}
"""Name, which is the module's too, and what the list of commands says."""
_MODULES = {"sql-catalog": "sql_catalog", "grammars": "list_grammars", "tokenizers": "list_tokenizers"}
"""Where it is not."""


INTERRUPTED = 130
"""The exit code of an interruption without a signal."""


class _Commands(CommandGroup):
    """Imports a command's module when it is called, and prints errors in one style, without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"psc.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def describe(self, ctx: click.Context) -> list[tuple[str, str]]:
        return list(_COMMANDS.items())

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as e:
            raise WrongUsage.of(e) from e

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with ending.by_signals():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            ending.listen()
            return super().invoke(ctx)
        except (click.exceptions.Exit, SystemExit):
            raise
        except click.UsageError as e:
            raise WrongUsage.of(e) from e
        except BaseException as e:
            # What is interrupted in the middle of an import, say, may raise something else.
            if isinstance(e, KeyboardInterrupt) or ending.exit_code() is not None:
                _end(ctx, str(e) if isinstance(e, ending.Ending) else "interrupted")
            if not isinstance(e, PscError):
                raise
            click.echo(f"psc: error: {str(e).replace('lenient=True', '--lenient')}", err=True)  # its spelling here
            ctx.exit(1)


def _end(ctx: click.Context, why: str) -> NoReturn:
    with ending.held():
        click.echo(f"psc: {why}", err=True)
        code = ending.exit_code() or INTERRUPTED
        ending.leave(code)
        ctx.exit(code)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="psc")
def main() -> None:
    """Grammar-constrained decoding by parser stack classification."""
