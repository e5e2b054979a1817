"""``psc registry verify`` and ``gc``: is it all there and whole, and what may go."""

from __future__ import annotations

from pathlib import Path

import click

from psc.artifacts.store import Store
from psc.cli.arguments import json_option
from psc.cli.progress import Steps
from psc.cli.registries import Chosen, age, n_bytes, registry_options, store_at, store_option
from psc.cli.report import write_json
from psc.support.readable import size


@click.command("verify")
@click.argument("target", required=False, metavar="[DIR|URL]")
@registry_options
@json_option
def verify(
    target: str | None,
    chosen: Chosen,
    as_json: bool,
) -> None:
    """Read everything in DIR, at URL, in the registries named, or in the local store, and say what is damaged or missing.

    Nothing is changed. The exit code is 1 if anything is wrong.
    """
    report: list[tuple[str, int, list[str]]] = []
    addresses = chosen.addresses
    directory: Path | None = None
    if target is not None and "://" in target:
        addresses = (target,)
    elif target is not None:
        directory = Path(target)
        if not directory.is_dir():
            raise click.UsageError(f"{target}: there is no such folder")
    if addresses and directory is None:
        with chosen.registries(addresses) as found, Steps("verifying") as steps:
            for registry in found.registries:
                problems = registry.verify(steps.step)
                report.append((registry.url, len(registry.references()), problems))
    else:
        checked = Store(directory) if directory is not None else chosen.store
        with Steps(f"verifying {checked.root}") as steps:
            steps.step("reading", 0, 1)
            report.append((str(checked.root), checked.n_reference_files(), [p.what for p in checked.verify()]))
    if as_json:
        write_json([{"registry": url, "references": n, "problems": problems} for url, n, problems in report])
    else:
        for url, n, problems in report:
            click.echo(
                f"{url}: {n} reference{'' if n == 1 else 's'}, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}"
            )
            for what in problems:
                click.echo(f"  {what}")
    if any(problems for _, _, problems in report):
        click.get_current_context().exit(1)


@click.command("gc")
@click.argument("directory", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="[DIR]")
@store_option
@click.option("--max-age", callback=age, metavar="AGE", help="Artifacts not used for longer go: 12h, 30d, 4w.")
@click.option("--max-size", callback=n_bytes, metavar="SIZE", help="The least recently used go until the rest fits: 500MB, 10GB.")
@click.option(
    "--grace", callback=age, default="1h", show_default=True, metavar="AGE", help="What is unreachable but younger stays."
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@json_option
def gc(
    directory: Path | None,
    folder: Path | None,
    max_age: float | None,
    max_size: int | None,
    grace: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove what is not needed from DIR, a registry's folder, or from the local store.

    Without --max-age and --max-size only what nothing refers to goes. Readers, writers and a server may be at work meanwhile.
    """
    store = Store(directory) if directory is not None else store_at(folder)
    done = store.collect(max_age_s=max_age, max_bytes=max_size, grace_s=grace, dry_run=dry_run)
    if as_json:
        write_json(
            {
                "store": str(store.root),
                "dry_run": dry_run,
                "removed": [{"grammar": r.grammar, "tokenizer": r.tokenizer, "input_key": r.input_key} for r in done.references],
                "blobs": done.blobs,
                "freed_bytes": done.freed_bytes,
                "kept_bytes": done.kept_bytes,
            }
        )
        return
    for reference in done.references:
        click.echo(f"{'would remove' if dry_run else 'removed'} {reference.grammar}/{reference.tokenizer}  {size(reference.size)}")
    click.echo(
        f"{store.root}: {done.blobs} artifact{'' if done.blobs == 1 else 's'} {'would go' if dry_run else 'gone'}, "
        f"{size(done.freed_bytes)} freed, {size(done.kept_bytes)} kept"
    )
