"""``psc registry``: artifacts from here to others and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from psc.artifacts.format import decode, write_file
from psc.artifacts.references import MAX_BLOB_BYTES, MAX_PAYLOAD_BYTES, Reference, check_digest, check_name
from psc.artifacts.registry.registries import Registries
from psc.artifacts.registry.signing import Signer
from psc.artifacts.store import Store
from psc.cli.arguments import json_option, quiet_option
from psc.cli.groups import CommandGroup
from psc.cli.progress import Transfers
from psc.cli.registries import Chosen, registry_options, two_names
from psc.cli.registry_serve import keygen, serve
from psc.cli.registry_upkeep import gc, verify
from psc.cli.report import warning, write_json
from psc.errors import PscError, RegistryError, StoreError
from psc.support.readable import size


@click.group("registry", cls=CommandGroup)
def command() -> None:
    """Share artifacts between machines.

    A registry is a folder that is reached over HTTP (psc registry serve, or any static web server), as files, or in a bucket.
    """


command.add_command(serve)
command.add_command(keygen)
command.add_command(verify)
command.add_command(gc)


@command.command("push")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE.psc]…")
@registry_options
@click.option(
    "--as", "names", metavar="GRAMMAR/TOKENIZER", help="The names to publish one artifact under; by default those recorded."
)
@click.option(
    "--named", multiple=True, metavar="GRAMMAR/TOKENIZER", help="Publish this artifact of the local store; may be repeated."
)
@click.option("--all", "everything", is_flag=True, help="Publish everything in the local store.")
@click.option("--sign", type=click.Path(path_type=Path, dir_okay=False), metavar="KEYFILE", help="Add to the signed index.")
@json_option
@quiet_option()
def push(
    files: tuple[Path, ...],
    chosen: Chosen,
    names: str | None,
    named: tuple[str, ...],
    everything: bool,
    sign: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Publish artifacts, files or from the local store, to every registry named.

    Each artifact is published whole or not at all: first its bytes, then the references to it, then the index.
    """
    store = chosen.store
    if not files and not named and not everything:
        raise click.UsageError("nothing to publish: give files, --named GRAMMAR/TOKENIZER or --all")
    if names is not None and len(files) + len(named) + everything * 2 != 1:
        raise click.UsageError("--as names one artifact; give one")
    signer = Signer(sign) if sign is not None else None
    report: list[dict[str, Any]] = []
    with chosen.some_registries() as registries:
        for registry in registries.registries:
            pushed: list[Reference] = []

            def artifacts(pushed: list[Reference] = pushed) -> Iterator[tuple[bytes, Reference]]:
                for data, reference in _chosen(files, named, everything, names, store):
                    pushed.append(reference)
                    yield data, reference

            with Transfers(f"pushing to {registry.url}", quiet=quiet) as transfers:
                sent = registry.push_all(
                    artifacts(),
                    sign=signer,
                    progress=lambda r, done, total: transfers.moved(f"{r.grammar}/{r.tokenizer}", done, total),
                )
            report.append(
                {"registry": registry.url, "sent": sent, "signed": sign is not None, "artifacts": [_data(r) for r in pushed]}
            )
            if not as_json and not quiet:
                click.echo(f"{registry.url}: {len(pushed)} published, {sent} of them new there{', signed' if sign else ''}")
                for reference in pushed:
                    click.echo(f"  {reference.grammar}/{reference.tokenizer}  {size(reference.size)}  {reference.digest}")
    if as_json:
        write_json(report)


@command.command("pull")
@click.argument("names", nargs=-1, metavar="[GRAMMAR TOKENIZER]")
@registry_options
@click.option("--key", metavar="KEY", help="Pull the artifact of this input key.")
@click.option("--all", "everything", is_flag=True, help="Pull everything that the registries list.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the artifact here too."
)
@json_option
@quiet_option()
def pull(
    names: tuple[str, ...],
    chosen: Chosen,
    key: str | None,
    everything: bool,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Bring artifacts into the local store, from the first registry that has them whole.

    An interrupted pull continues where it stopped.
    """
    if len(names) == 1 and "/" in names[0]:
        names = two_names(names[0])
    if sum([len(names) > 0, key is not None, everything]) != 1 or len(names) not in (0, 2):
        raise click.UsageError("give GRAMMAR TOKENIZER, --key KEY or --all")
    if everything and output is not None:
        raise click.UsageError("-o takes one artifact")
    if names:
        check_name(names[0], "grammar")
        check_name(names[1], "tokenizer")
    if key is not None:
        check_digest(key, "input key")
    store = chosen.store
    pulled: list[Reference] = []
    failed: list[str] = []
    with (
        chosen.some_registries() as registries,
        Transfers("pulling", quiet=quiet) as transfers,
    ):
        if everything:
            pulled, failed = _pull_all(registries, store, transfers)
        elif key is not None:
            pulled = [registries.pull(store, key=key, progress=lambda done, total: transfers.moved(f"{key[:12]}…", done, total))]
        else:
            title = "/".join(names)
            pulled = [registries.pull_named(store, *names, progress=lambda done, total: transfers.moved(title, done, total))]
        problems = registries.problems()
    for text in problems:
        warning(text)
    if output is not None:
        data = store.read(pulled[0])
        if data is None:
            raise RegistryError(f"{store.root}: the artifact was collected as garbage just now; pull it again")
        write_file(output, data)
    if as_json:
        write_json({"store": str(store.root), "pulled": [_data(r) for r in pulled], "failed": failed})
    elif not quiet:
        for reference in pulled:
            click.echo(f"{reference.grammar}/{reference.tokenizer}  {size(reference.size)}  {reference.digest}")
    if failed:
        raise RegistryError("not everything could be pulled:" + "".join(f"\n  {f}" for f in failed))


def _pull_all(registries: Registries, store: Store, transfers: Transfers) -> tuple[list[Reference], list[str]]:
    pulled: set[Reference] = set()
    failed: dict[Reference, str] = {}
    unlisted: list[str] = []
    for registry in registries.registries:
        try:
            listed = registry.references()
        except PscError as e:
            unlisted.append(str(e))
            continue
        for reference in listed:
            if reference in pulled:
                continue
            title = f"{reference.grammar}/{reference.tokenizer}"
            try:
                registry.pull(reference, store, progress=lambda done, total, title=title: transfers.moved(title, done, total))  # type: ignore[misc]
            except StoreError:  # what follows would be downloaded in vain
                raise
            except PscError as e:
                failed.setdefault(reference, str(e))
                continue
            pulled.add(reference)
            failed.pop(reference, None)
    return sorted(pulled), [*unlisted, *failed.values()]


@command.command("list")
@registry_options
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(
    chosen: Chosen,
    as_json: bool,
) -> None:
    """List what registries have; without one, what the local store has."""
    of_store = chosen.folder is not None and not chosen.addresses
    listed: list[tuple[str, list[Reference]]] = []
    with chosen.registries() as found:
        if of_store or not found:
            listed.append((str(chosen.store.root), chosen.store.references()))
        else:
            listed.extend((registry.url, registry.references()) for registry in found.registries)
    if as_json:
        write_json([{"registry": url, "artifacts": [_data(r) for r in references]} for url, references in listed])
        return
    for url, references in listed:
        click.echo(f"{url}: {len(references)} artifact{'' if len(references) == 1 else 's'}")
        rows = [(r.grammar, r.tokenizer, size(r.size), str(r.compiler_revision), r.input_key) for r in references]
        _table(("grammar", "tokenizer", "size", "compiler", "input key"), rows)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if not rows:
        return
    widths = [max(len(row[i]) for row in (titles, *rows)) for i in range(len(titles))]
    for row in (titles, *rows):
        click.echo("  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _chosen(
    files: tuple[Path, ...], named: tuple[str, ...], everything: bool, names: str | None, store: Store
) -> Iterator[tuple[bytes, Reference]]:
    grammar, tokenizer = two_names(names) if names is not None else (None, None)
    for file in files:
        try:
            if file.stat().st_size > MAX_BLOB_BYTES:
                raise RegistryError(f"{file}: larger than {MAX_BLOB_BYTES:,} bytes")
            data = file.read_bytes()
        except OSError as e:
            raise RegistryError(f"{file}: cannot read the artifact: {e.strerror or e}") from e
        artifact = decode(data, origin=str(file), max_payload=MAX_PAYLOAD_BYTES)
        yield data, Reference.of(artifact, grammar=grammar, tokenizer=tokenizer)
    references = store.references() if everything else []
    for text in named:
        found = store.find_named(*two_names(text))
        if found is None:
            raise RegistryError(f"{text}: not in the store {store.root}")
        references.append(found)
    for reference in references:
        stored = store.read(reference)
        if stored is None:
            raise RegistryError(f"{reference.grammar}/{reference.tokenizer}: its artifact is missing or damaged in {store.root}")
        if grammar is not None and tokenizer is not None:
            reference = Reference.of(decode(stored), grammar=grammar, tokenizer=tokenizer)
        yield stored, reference


def _data(reference: Reference) -> dict[str, Any]:
    return {key: value for key, value in reference.to_json().items() if key != "schema"}
