"""The options of JSON schemas, which all commands have that read grammars: what ``compile_json_schema`` takes by keyword."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from psc.cli.report import warning
from psc.compiler.frontends.front_end import Settings
from psc.compiler.frontends.lookup import GrammarFile
from psc.compiler.frontends.registry import front_end
from psc.requests.json_schemas import BOUNDED, SchemaSettings
from psc.requests.json_schemas import SchemaOptions as _Options

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FLAGS = {
    "no_strict": "Of a JSON schema: allow members that it does not name, as JSON Schema does. Without this they are refused.",
    "any_order": "Of a JSON schema: declared members in any order. An artifact takes objects that declare up to eight.",
    "lenient": "Of a JSON schema: leave out what cannot be enforced, each with a warning, instead of refusing it.",
    "no_formats": "Of a JSON schema: do not enforce format.",
    "plain_integers": "Of a JSON schema: integers are written as 1, never as 1.0.",
    "bounded": "Of a JSON schema: as servers read it, with --plain-integers --max-whitespace 20 --max-digits 20.",
}
_COUNTS = {
    "indent": (
        click.IntRange(0, 1000),
        "Of a JSON schema: no free white space; a line for each member and item, with this many spaces for each level.",
    ),
    "max_whitespace": (click.IntRange(1), "Of a JSON schema: at most so much white space at one place. Without this, any amount."),
    "max_digits": (
        click.IntRange(1),
        "Of a JSON schema: at most this many digits where it sets no bound. Without this, any number.",
    ),
}


@dataclass(frozen=True)
class SchemaOptions:
    """The options that were given."""

    names: tuple[str, ...]
    """As they are written: ``--no-strict``."""
    settings: Settings
    """Their values."""

    def of(self, grammar: GrammarFile) -> Settings:
        """The settings of a grammar.

        Raises:
            click.UsageError: some were given, and it is no JSON schema.
        """
        if self.names and not front_end(grammar.language).has_schema_settings:
            raise click.UsageError(f"{self}: of JSON schemas; {grammar.name} is {front_end(grammar.language).a_grammar}")
        return self.settings

    def __str__(self) -> str:
        return ", ".join(self.names)


def schema_options(command: _Command) -> _Command:
    """Adds the options, which the command gets as ``schema``. What psc warns of while the command runs is printed on stderr."""

    @functools.wraps(command)
    def with_options(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in (*_FLAGS, *_COUNTS)}
        with _warnings_on_stderr():
            return command(*args, schema=_read(given), **kwargs)

    added: Any = with_options
    for name, (kind, help) in reversed(_COUNTS.items()):
        added = click.option(_written(name), type=kind, help=help)(added)
    for name, help in reversed(_FLAGS.items()):
        added = click.option(_written(name), is_flag=True, help=help)(added)
    return added  # type: ignore[no-any-return]


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _read(given: dict[str, Any]) -> SchemaOptions:
    if given["indent"] is not None and given["max_whitespace"] is not None:
        raise click.UsageError("--indent fixes the white space, so there is no --max-whitespace to choose")
    default: _Options = BOUNDED if given["bounded"] else {}
    settings = SchemaSettings.of(
        any_whitespace=given["indent"] is None,
        indent=given["indent"],
        strict_mode=not given["no_strict"],
        max_whitespace_cnt=given["max_whitespace"] or default.get("max_whitespace_cnt"),
        plain_integers=given["plain_integers"] or default.get("plain_integers", False),
        max_digits=given["max_digits"] or default.get("max_digits"),
        any_order=given["any_order"],
        lenient=given["lenient"],
        assert_format=not given["no_formats"],
    )
    names = tuple(_written(name) for name, value in given.items() if value is not None and value is not False)
    return SchemaOptions(names, settings)


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        warning(record.getMessage())


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    handler, logger = _ToStderr(logging.WARNING), logging.getLogger("psc.compiler")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
