"""Groups of commands: a misspelt name is answered with the one that looks like it, descriptions are not cut, and what is wrong with
a command line is said in the style of every other error.
"""

from __future__ import annotations

import difflib
from typing import IO, Any

import click


class WrongUsage(click.UsageError):
    """A command line that is wrong: the usage, then what is wrong, as ``psc: error: ...``."""

    @classmethod
    def of(cls, error: click.UsageError) -> WrongUsage:
        """The same error, in this style."""
        return cls(error.format_message(), error.ctx)

    def show(self, file: IO[Any] | None = None) -> None:
        if self.ctx is not None:
            click.echo(self.ctx.get_usage(), file=file, err=True)
        click.echo(f"psc: error: {self.message}", file=file, err=True)
        if self.ctx is not None:
            click.echo(f"Try '{self.ctx.command_path} --help'.", file=file, err=True)


class CommandGroup(click.Group):
    """A group whose commands are listed whole."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if not ctx.resilient_parsing and name and not name.startswith("-") and self.get_command(ctx, name) is None:
            names = self.list_commands(ctx)
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
            raise click.UsageError(f"there is no command {name!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def describe(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Name and description of each command."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, c.get_short_help_str(limit=200)) for name, c in named if c is not None and not c.hidden]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(self.describe(ctx))
