"""``psc bench end-to-end``: a real model in vLLM on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from psc.cli.bench_options import measuring, publish, python_option, report_options
from psc.cli.report import note

_BACKENDS = ("none", "psc", "psc jit", "guidance", "xgrammar")
_LANGUAGES = ("json", "java", "go", "sql")
_WAYS = ("forced", "free")


@click.command("end-to-end")
@python_option
@click.option("--models", metavar="NAME[,NAME]…", help="As psc generate --model; by default smollm2,gemma3.")
@click.option("--backends", metavar="NAME[,NAME]…", help=f"Of {', '.join(_BACKENDS)}; by default all.")
@click.option("--languages", metavar="NAME[,NAME]…", help=f"Of {', '.join(_LANGUAGES)}; by default all.")
@click.option("--tokens", "ways", metavar="WAY[,WAY]", help="forced: the reference's tokens; free: sampled; by default both.")
@click.option("--batches", metavar="N[,N]…", help="By default 1,4,16,64.")
@click.option("--seconds-per-cell", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Of a cell and backend.")
@click.option("--quick", is_flag=True, help="One model, JSON, batches of 1 and 4, short cells: minutes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of requests and of what is sampled.")
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write each cell there when it is measured, and go on where an earlier run ended.",
)
@report_options
def command(
    python: Path | None,
    models: str | None,
    backends: str | None,
    languages: str | None,
    ways: str | None,
    batches: str | None,
    seconds_per_cell: float | None,
    quick: bool,
    seed: int,
    keep: Path | None,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> None:
    """Tokens a second, times to first tokens and between tokens of a real model in vLLM, as the paper's figures 2 and 3.

    Without a grammar, with psc ahead of time and just in time, and with guidance and XGrammar, which take turns. All of it takes
    hours (the command says how many first); --keep lets a run end early and go on later.
    """
    listed = {
        "models": _listed(models, "--models", ()),
        "backends": _listed(backends, "--backends", _BACKENDS),
        "languages": _listed(languages, "--languages", _LANGUAGES),
        "ways": _listed(ways, "--tokens", _WAYS),
        "batches": _numbers(batches),
    }
    with measuring("end-to-end", quiet=quiet) as announce:
        from psc.bench.end_to_end.measuring import Plan
        from psc.bench.end_to_end.run import quick as quick_plan
        from psc.bench.end_to_end.run import run_plan
        from psc.bench.reports import Settings

        plan = Plan(seed=seed)
        plan = replace(quick_plan(plan) if quick else plan, **{name: given for name, given in listed.items() if given})  # type: ignore[arg-type]
        if seconds_per_cell is not None:
            plan = replace(plan, seconds=seconds_per_cell)
        if not quiet:
            note(f"about {max(1, round(plan.minutes()))} minutes")
        report = run_plan(Settings(quick=quick, seed=seed, python=python, announce=announce), plan, keep=keep)
    publish(report, folder, as_json=as_json)


def _listed(text: str | None, option: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a list; those that are not known are an error."""
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if known and name not in known:
            raise click.BadParameter(f"{name} is none of {', '.join(known)}", param_hint=option)
    return names


def _numbers(text: str | None) -> tuple[int, ...]:
    """Batches."""
    names = _listed(text, "--batches", ())
    if not all(name.isdecimal() and 0 < int(name) <= 1024 for name in names):
        raise click.BadParameter(f"{text}: numbers from 1 to 1024, with commas between", param_hint="--batches")
    return tuple(sorted({int(name) for name in names}))
