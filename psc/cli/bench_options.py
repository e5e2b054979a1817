"""The options that all measurements of ``psc bench`` take, and where their reports go."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psc.cli.arguments import TOKENIZER, json_option, quiet_option
from psc.cli.progress import Steps
from psc.cli.report import note, write_json
from psc.errors import BenchError, needs_extra

if TYPE_CHECKING:
    from psc.bench.reports import Report, Settings

_F = TypeVar("_F", bound=Callable[..., Any])
PEERS = ("llguidance", "xgrammar")
OTHERS = ("outlines", "formatron")
"""Beside which psc is measured only on request; they take JSON schemas alone."""


@dataclass(frozen=True)
class Chosen:
    """The values of `bench_options`."""

    tokenizer: str
    peers: tuple[str, ...]
    quick: bool
    seed: int


def bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The tokenizer, the peers and the effort, given to the command as ``chosen``."""

    @functools.wraps(command)
    def with_options(
        *arguments: Any, tokenizer: str, peers: tuple[str, ...], no_peers: bool, quick: bool, seed: int, **others: Any
    ) -> Any:
        return command(*arguments, chosen=Chosen(tokenizer, () if no_peers else peers or PEERS, quick, seed), **others)

    decorated: Callable[..., Any] = with_options
    for option in reversed(
        (
            click.option(
                "--tokenizer", "-t", type=TOKENIZER, default="qwen3", show_default=True, metavar="SPEC", help="See psc tokenizers."
            ),
            click.option(
                "--peer",
                "peers",
                multiple=True,
                type=click.Choice((*PEERS, *OTHERS)),
                help=f"Beside this one only; by default {' and '.join(PEERS)}, where they are installed.",
            ),
            click.option("--no-peers", is_flag=True, help="Beside none."),
            click.option("--quick", is_flag=True, help="Few texts and repetitions: minutes, for figures that are less sure."),
            click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn at random."),
        )
    ):
        decorated = option(decorated)
    return decorated


def report_options(command: _F) -> _F:
    """Where a single report goes."""
    for option in reversed(
        (
            json_option,
            click.option(
                "--write",
                "folder",
                type=click.Path(file_okay=False, path_type=Path),
                metavar="FOLDER",
                help="Write it there, too: as Markdown, as JSON and, where matplotlib is installed, as pictures.",
            ),
            quiet_option("Show no progress."),
        )
    ):
        command = option(command)
    return command


def corpus_option(command: _F) -> _F:
    """Which texts to take."""
    return click.option(
        "--corpus",
        multiple=True,
        metavar="GRAMMAR=PATH",
        help="Take a grammar's texts from a file, or from a folder's files with its suffix; may be repeated.",
    )(command)


schemas_option = click.option(
    "--schemas",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON schemas with instances as MaskBench has them (.jsonl, perhaps .zst).",
)


python_option = click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="The interpreter of an environment that has vLLM; by default psc's own.",
)


def settings_of(
    chosen: Chosen,
    *,
    corpus: tuple[str, ...] = (),
    schemas: Path | None = None,
    python: Path | None = None,
    announce: Callable[[str], None] = lambda text: None,
) -> Settings:
    """The settings of the options. Raises BenchError for a corpus that is not there."""
    from psc.bench.reports import Settings

    texts: dict[str, tuple[Path, ...]] = {}
    for each in corpus:
        grammar, found, path = each.partition("=")
        if not found or not Path(path).exists():
            raise BenchError(f"--corpus {each}: {'there is no ' + path if found else 'write GRAMMAR=PATH'}")
        texts[grammar] = (*texts.get(grammar, ()), Path(path))
    return Settings(chosen.tokenizer, chosen.peers, chosen.quick, chosen.seed, texts, schemas, python, announce)


def publish(report: Report, folder: Path | None, *, as_json: bool) -> None:
    """A report on stdout, and into a folder where one is named."""
    if folder is not None:
        from psc.bench.pages import write_report

        for missing in write_report(report, folder):
            note(missing)
    if as_json:
        write_json(report.document())
    else:
        click.echo(report.markdown(), nl=False)


@contextlib.contextmanager
def measuring(title: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Progress of a measurement: its subject, and its duration so far. Raises MissingExtraError without the extra `bench`."""
    with Steps(title, quiet=quiet) as steps, needs_extra("bench"):
        yield lambda what: steps.step(f"{title}: {what}", 0, 1)
