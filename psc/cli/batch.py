"""``psc batch``: every grammar of a jobs file for every tokenizer, into the store and into registries."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psc._version import __version__
from psc.artifacts.folder import replace_whole
from psc.artifacts.store import Store, default_store
from psc.cli import ending
from psc.cli.batch_progress import run_display
from psc.cli.progress import Steps
from psc.cli.report import write_json
from psc.cli.schema_options import SchemaOptions, schema_options
from psc.errors import RegistryError, ReportError, StoreError
from psc.support.readable import duration, size

if TYPE_CHECKING:
    from psc.cluster.jobs.expansion import Job
    from psc.cluster.jobs.jobs_file import JobsFile
    from psc.cluster.run.outcomes import JobOutcome, RunReport
    from psc.cluster.run.plan import Plan
    from psc.cluster.run.publishing import Publish

INTERRUPTED = 130


@click.command("batch")
@click.argument("jobs", type=click.Path(path_type=Path), metavar="JOBS.toml")
@click.option(
    "--ray",
    metavar="local|auto|HOST:PORT",
    help="Run on Ray: started here on all cores, the cluster that this machine is part of, or the one at an address.",
)
@click.option(
    "--store",
    "store_folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where artifacts are kept, instead of what the jobs file says or the user's store.",
)
@click.option(
    "--registry",
    "registries",
    multiple=True,
    metavar="URL",
    help="Push every artifact there, instead of to what the jobs file says. May be given several times.",
)
@click.option("--no-publish", is_flag=True, help="Push nowhere, whatever the jobs file says; a later run pushes what is there.")
@click.option(
    "--simulate",
    "spec",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="SPEC.toml",
    help="Only say what it would take on the cluster that a file describes, in time, money and memory; see docs/cluster-size.md.",
)
@schema_options
@click.option("--force", is_flag=True, help="Compile what the store has, too.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.json", help="Write the report as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.html", help="Write the report as a page.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.pass_context
def command(
    ctx: click.Context,
    jobs: Path,
    ray: str | None,
    store_folder: Path | None,
    registries: tuple[str, ...],
    no_publish: bool,
    spec: Path | None,
    schema: SchemaOptions,
    force: bool,
    dry_run: bool,
    report: Path | None,
    html: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compile every grammar of JOBS.toml for every tokenizer that it names there, and keep the artifacts.

    What the store has already is not compiled again, so an interrupted run continues where it stopped. A job that fails does not
    stop the others. A store that cannot be written does, before anything is compiled, and so does a registry that cannot be pushed
    to.

    The exit code is 0 if every job has its artifact, and every registry has it; 1 if not; and 130, 143 or 129 after SIGINT
    (Ctrl-C), SIGTERM or SIGHUP, which let the run report what it has done.
    """
    from psc.cluster.jobs.jobs_file import read_jobs_file

    if spec is not None and (ray is not None or dry_run or report is not None or html is not None):
        raise click.UsageError("--simulate runs nothing: leave out --ray, --dry-run, --report and --html")
    if no_publish and registries:
        raise click.UsageError("--registry and --no-publish contradict each other")
    for path in (report, html):
        if path is not None and not path.absolute().parent.is_dir():
            raise click.UsageError(f"{path}: there is no folder {path.parent}")
    runs = spec is None and not dry_run
    outcomes: list[JobOutcome] = []
    try:
        file = read_jobs_file(jobs)
        folder = store_folder or file.store
        store = default_store() if folder is None else Store(folder)
        publishers: dict[str, Publish] = {}
        if runs and not no_publish:
            urls, relative_to = (registries, Path()) if registries else (file.registries, file.folder)
            publishers = _publishers(ctx, urls, relative_to)
        planned = _plan(file, store, outcomes, schema=schema, force=force, quiet=quiet)
        if spec is not None:
            from psc.cli.simulate_option import run_simulation

            run_simulation(planned, spec, as_json=as_json)
            ctx.exit(0)
        if dry_run:
            _show_plan(planned, as_json=as_json)
            ctx.exit(0 if all(o.status != "failed" for o in planned.outcomes) else 1)
        if planned.todo:
            _check_store(store)
        result = _run(planned, store, ray, publishers, quiet=quiet)
    except KeyboardInterrupt:
        if not runs:
            raise
        result = _interrupted(outcomes)
    _finish(ctx, result, report, html, as_json=as_json, quiet=quiet)


def _finish(ctx: click.Context, result: RunReport, report: Path | None, html: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Writes and shows the report, and ends with its exit code."""
    with ending.held():
        _write_reports(result, report, html)
        if as_json:
            write_json(result.to_json())
        elif not quiet:
            _show(result)
        else:
            _show_causes(result)
        if result.interrupted:
            code = ending.exit_code() or INTERRUPTED
            ending.leave(code)
            ctx.exit(code)
    ctx.exit(ending.exit_code() or (0 if result.ok else 1))


def _plan(file: JobsFile, store: Store, outcomes: list[JobOutcome], *, schema: SchemaOptions, force: bool, quiet: bool) -> Plan:
    """The plan. `outcomes` gets the jobs' outcomes as soon as the jobs are read."""
    from psc.cluster.jobs.expansion import find_jobs
    from psc.cluster.run.plan import outcomes_of, plan

    with Steps(f"reading {file.path}", quiet=quiet) as steps:
        found_jobs = find_jobs(
            file,
            on_tokenizer=lambda name: steps.step(f"tokenizer {name}", 0, 1),
            schema_settings=schema.settings,
        )
        if schema.names and not any(_has_settings(job) for job in found_jobs):
            raise click.UsageError(f"{schema}: of JSON schemas; {file.path} has none")
        outcomes += outcomes_of(found_jobs)
        return plan(
            found_jobs,
            store,
            outcomes=outcomes,
            force=force,
            on_grammar=lambda name: steps.step(f"grammar {name}", 0, 1),
        )


def _has_settings(job: Job) -> bool:
    return job.grammar.request is not None and job.grammar.request.front_end.has_schema_settings


def _run(planned: Plan, store: Store, ray: str | None, publishers: Mapping[str, Publish], *, quiet: bool) -> RunReport:
    """Runs the plan on its executor; an empty plan starts none."""
    from psc.cluster.run.batch import run_batch
    from psc.cluster.run.executor import Executor
    from psc.cluster.run.in_process import InProcess
    from psc.cluster.run.splitting import split_long_jobs

    with contextlib.ExitStack() as stack:
        display = stack.enter_context(run_display(quiet=quiet))
        executor: Executor
        began = time.perf_counter()
        if ray is None or not planned.todo:
            executor = InProcess()
        else:
            from psc.cluster.run.lasting_ray import LastingRay

            display.connecting(f"connecting to Ray ({ray})")
            executor = lasting = LastingRay(ray, note=display.note)
            stack.enter_context(ending.last_act(lasting.kill))
            stack.callback(lasting.close)
            lasting.start_ray()
        setup = time.perf_counter() - began
        split_long_jobs(planned, executor.cpus)
        return run_batch(planned, store, executor, publishers=publishers, observer=display, setup_seconds=setup)


def _interrupted(outcomes: list[JobOutcome]) -> RunReport:
    """The report of a run that was interrupted before it began."""
    from psc.cluster.run.outcomes import RunReport

    return RunReport(
        jobs=outcomes,
        tasks=[],
        wall_seconds=0.0,
        executor="nowhere yet",
        cpus=0,
        memory_bytes=0,
        started=datetime.now().astimezone().isoformat(timespec="seconds"),
        psc_version=__version__,
        interrupted=True,
    )


def _publishers(ctx: click.Context, urls: Sequence[str], folder: Path) -> dict[str, Publish]:
    """The function that pushes to each registry until the command ends; a folder's path in a jobs file is relative to that file.

    Raises:
        RegistryError: registries cannot be pushed to; every one of them is named.
    """
    if not urls:
        return {}
    from psc.artifacts.registry.client import Registry, open_registry

    def publisher(registry: Registry) -> Publish:
        return lambda data, reference: (registry.push(data, reference), None)[1]

    opened = {url: ctx.with_resource(open_registry(url if "://" in url else str(folder / url))) for url in urls}
    problems = []
    for registry in opened.values():
        try:
            registry.check_writable()
        except RegistryError as e:
            problems.append(str(e))
    if problems:
        raise RegistryError(
            "artifacts could not be published, so nothing was compiled; --no-publish compiles without publishing, and a later run "
            "publishes what is there\n" + "\n".join(f"  {problem}" for problem in problems)
        )
    return {url: publisher(registry) for url, registry in opened.items()}


def _check_store(store: Store) -> None:
    """Raises StoreError: the store cannot be written, which would be found out after the first compilation."""
    try:
        store.check_writable()
    except StoreError as e:
        raise StoreError(f"{e}; nothing was compiled") from e


def _show_plan(planned: Plan, *, as_json: bool) -> None:
    """Shows the plan, in its order."""
    todo = [
        {
            "job": p.outcome.name,
            "input_key": p.input_key,
            "seconds_expected": round(p.estimate.seconds, 3),
            "memory_reserved_bytes": p.outcome.memory_estimate_bytes,
            "estimate_from": p.estimate.basis,
            "also_for": [follower.name for follower in p.followers],
        }
        for p in planned.todo
    ]
    done = [{"job": o.name, "status": o.status, "error": o.error} for o in planned.outcomes if o.status != "not run"]
    if as_json:
        write_json({"schema": "psc.batch-plan.v1", "todo": todo, "done": done})
        return
    for item in done:
        click.echo(f"{item['job']}: {item['status']}" + (f": {item['error']}" if item["error"] else ""))
    for p in planned.todo:
        reserved = size(p.outcome.memory_estimate_bytes)
        click.echo(f"{p.outcome.name}: to compile, about {duration(p.estimate.seconds)}, {reserved} reserved ({p.estimate.basis})")
    seconds = sum(p.estimate.seconds for p in planned.todo)
    click.echo(f"{len(planned.todo)} to compile, about {duration(seconds)} on one core; {len(done)} done")


def _write_reports(report: RunReport, as_json: Path | None, as_html: Path | None) -> None:
    if as_json is not None:
        _write(as_json, json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n")
    if as_html is not None:
        from psc.cluster.report.page import html_page

        _write(as_html, html_page(report))


def _write(path: Path, text: str) -> None:
    """A report's file, whole or not at all. Raises ReportError."""
    try:
        replace_whole(path, text.encode())
    except OSError as e:
        raise ReportError(f"{path}: cannot write the report: {e.strerror or e}; the artifacts are in the store") from e


def _show_causes(report: RunReport) -> None:
    """Shows the problems, each cause once."""
    from psc.cluster.report.summary import causes

    for cause in causes(report):
        if cause.status != "not run":
            click.echo(f"psc: error: {cause.names()}: {cause.status}: {cause.error}", err=True)


def _show(report: RunReport) -> None:
    from rich.console import Console

    from psc.cluster.report.table import terminal_table

    terminal_table(report, Console(width=None if sys.stdout.isatty() else 140))
