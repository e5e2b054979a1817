"""How reports are written: aligned text for people, JSON for machines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

import click


def write_json(report: Any) -> None:
    """A report on stdout, for machines."""
    click.echo(json.dumps(report, indent=2, ensure_ascii=False))


def write_pairs(pairs: Iterable[tuple[str, object]], *, indent: int = 0) -> None:
    """A column of names and one of values, on stdout."""
    pairs = list(pairs)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"{' ' * indent}{name:<{width}}  {value}")


def note(text: str) -> None:
    """A remark on stderr. A stderr that nobody reads ends no command."""
    with contextlib.suppress(OSError):
        click.echo(f"psc: note: {text}", err=True)


def warning(text: str) -> None:
    """A warning on stderr, as a note."""
    with contextlib.suppress(OSError):
        click.echo(f"psc: warning: {text}", err=True)
