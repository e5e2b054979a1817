"""``psc playground``: try a grammar in the browser."""

from __future__ import annotations

import click

from psc.cli.arguments import GRAMMAR, TOKENIZER
from psc.cli.registries import n_bytes
from psc.cli.tokenizers import SPEC_HELP


@click.command("playground")
@click.argument("grammars", nargs=-1, type=GRAMMAR, metavar="[GRAMMAR]...")
@click.option(
    "-t", "--tokenizer", "tokenizers", type=TOKENIZER, multiple=True, metavar="SPEC", help=f"To be offered, too: {SPEC_HELP}."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free one, which is printed.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1),
    default=15.0,
    show_default=True,
    help="Seconds that a look may take, first ones included.",
)
@click.option("--memory-limit", default="4GiB", show_default=True, callback=n_bytes, help="Of the process that looks.")
def command(
    grammars: tuple[str, ...],
    tokenizers: tuple[str, ...],
    port: int,
    open_browser: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Serve a web page on which a grammar is tried: type, and see tokens, stack, what is allowed, and why not.

    On it are the bundled grammars, those named here (files and artifacts), and text in every language that psc reads; with the
    tokenizers of installed packages, and those named here. It is served on 127.0.0.1 only. Ends at SIGTERM or SIGINT.
    """
    from psc.compiler.frontends.lookup import find_grammar, is_grammar
    from psc.playground.application import serve
    from psc.playground.looking import Choices
    from psc.playground.worker import Worker

    for grammar in grammars:
        if is_grammar(grammar):
            find_grammar(grammar)  # which raises where there is none

    def ready(address: str) -> None:
        click.echo(f"playground at {address}")
        if open_browser:
            click.launch(address)

    choices = Choices(grammars, tokenizers)
    serve(choices, Worker(choices, time_limit_s=time_limit, memory_limit_bytes=memory_limit), port=port, ready=ready)
