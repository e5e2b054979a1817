"""Arguments and options that several commands take, with their completions in a shell.

A shell may complete at every press of a key, so nothing here reads a grammar or a vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

_F = TypeVar("_F", bound=Callable[..., Any])


class GrammarName(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.4 on
    """A bundled grammar's name, or the path of a grammar or an artifact."""

    name = "grammar"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from psc.compiler.grammars import bundled_specs

        names = [CompletionItem(n, help="bundled") for n in bundled_specs() if n.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]


class TokenizerName(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A tokenizer's short name, or the path of its file or folder."""

    name = "tokenizer"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from psc.vocabulary.names import list_names

        names = [CompletionItem(n.name, help=n.description) for n in list_names() if n.available and n.name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]


class FileName(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The path of a file, or - for standard input."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


GRAMMAR, TOKENIZER, FILE = GrammarName(), TokenizerName(), FileName()

json_option = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")


def quiet_option(help: str = "Print errors and warnings only.") -> Callable[[_F], _F]:
    """``--quiet``: no progress, and what else the help says."""
    return click.option("--quiet", is_flag=True, help=help)


def with_paragraph(command: click.Command, text: str) -> None:
    """Adds a paragraph to a command's help."""
    command.help = f"{inspect.cleandoc(command.help or '')}\n\n{text}"
