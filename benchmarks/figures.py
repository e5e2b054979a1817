"""Run every benchmark of building just in time and of matchers, and hold the figures against what psc promises.

    python benchmarks/figures.py --tokenizer SPEC [--corpus GRAMMAR=PATH...] --out DIR [--quick] [--only NAME...]

The idea: each benchmark is a script of its own and runs as one; it leaves `NAME.md` and `NAME.json` in DIR. From the JSON the
promises are checked: the figure, the most (or least) it should be, whether it is. `goals.md` is that table.

The cost: half an hour on a quiet machine with all peers; `--quick` some minutes, with few texts and repetitions.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psc.bench.measure import in_words, machine, number, table
from psc.bench.subjects import own_names

HERE = Path(__file__).parent
LARGE = ("java", "go", "sql")


@dataclass(frozen=True)
class Goal:
    """One promise, and how it turned out."""

    what: str
    grammar: str
    figure: float
    most: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.figure <= self.most


def benchmarks(args: argparse.Namespace) -> dict[str, list[str]]:
    """Name -> arguments."""
    corpus = ["--corpus", *args.corpus] if args.corpus else []
    with_texts = {c.partition("=")[0] for c in args.corpus}
    small = ["builtin-json", *own_names()]
    large = ["java", *(name for name in ("go", "sql") if name in with_texts)]
    few = ["--documents", "5", "--max-bytes", "15000"] if args.quick else []
    return {
        "first-masks": [*small, *LARGE, *(["--quick"] if args.quick else [])],
        "just_in_time": [*small, *large, *corpus, *few],
        "matcher_operations": [*corpus, *few],
        "repetition": ["--timeout", "30" if args.quick else "60"],
        "cache_limit": [*corpus, *few],
        "shared_strings": [],
    }


def run(name: str, arguments: list[str], args: argparse.Namespace) -> Any:
    """A benchmark in its own process: its JSON, or None when it failed."""
    result = args.out / f"{name}.json"
    result.unlink(missing_ok=True)
    script = HERE / f"{name}.py"
    if script.exists():
        command = [str(script), *arguments, "--json", str(result)]
    else:  # one of psc's own, which leaves both files
        command = ["-m", "psc", "bench", name, *arguments, "--write", str(args.out)]
    print(f"{name}: {' '.join(arguments)}", file=sys.stderr, flush=True)
    began = time.perf_counter()
    with (args.out / f"{name}.out").open("w", encoding="utf-8") as out:
        done = subprocess.run([sys.executable, *command, "--tokenizer", args.tokenizer], stdout=out, check=False)
    if script.exists():
        (args.out / f"{name}.out").rename(args.out / f"{name}.md")
    else:
        (args.out / f"{name}.out").unlink()
    print(f"{name}: exit status {done.returncode} after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return json.loads(result.read_text(encoding="utf-8")) if result.exists() else None


def goals(found: dict[str, Any]) -> Iterator[Goal]:
    """The promises that the figures at hand can be held against."""
    for grammar, r in (found.get("first-masks") or {}).get("results", {}).items():
        most = 700.0 if grammar in LARGE else 5.0
        yield Goal("time to first mask, warm process", grammar, r["warm"]["total"] * 1e3, most, "ms")
    for r in (found.get("just_in_time") or {}).get("results", ()):
        warm = {(w["built"], w["way"]): w["step_us"] for w in r["warm"]}
        jit, aot = warm["just in time", "row"], warm["ahead of time", "row"]
        cold = [t for kind in r["cold"].values() for t in kind]
        yield Goal("warm step", r["grammar"], jit, 1.0, "us")
        yield Goal("warm step, to ahead of time", r["grammar"], jit / aot, 1.2, "x")
        yield Goal("cold step, p99", r["grammar"], float(np.percentile(cold, 99)) / 1e6, 2.0, "ms")
        yield Goal("masks that differ from ahead of time", r["grammar"], r["differences"], 0, "")
    for grammar, engines in (found.get("matcher_operations") or {}).get("results", {}).items():
        psc = engines.get("psc", {})
        for name, most, unit in (
            ("fork, p50", 1.0, "us"),
            ("rollback(1), p50", 1.0, "us"),
            ("rollback(10,000), p50", 1.0, "us"),
            ("draft tree, p50", 60.0, "us"),
            ("batch fill, 1 thread, median", 1.5, "us"),
            ("10,000 matchers, after that", 200.0, "MB"),
        ):
            if name in psc:
                yield Goal(name, grammar, psc[name], most, unit)
        if "batch fill, 1 thread to 2, fastest steps" in psc:
            scaling = 1 / float(psc["batch fill, 1 thread to 2, fastest steps"])
            yield Goal("batch fill, time on 2 threads to 1", grammar, scaling, 0.75, "x")
        for what in ("100 kB, accept", "depth 10,000, accept"):
            if f"{what}, last tenth" in psc:
                growth = psc[f"{what}, last tenth"] / psc[f"{what}, first tenth"]
                yield Goal(f"{what}: last tenth to first", grammar, growth, 1.2, "x")
    for case, engines in (found.get("repetition") or {}).get("results", {}).items():
        if "compile ms" in engines["psc"]:
            yield Goal("compile, bounded repetition", case, engines["psc"]["compile ms"], 10.0, "ms")
            yield Goal("wrong at a bound of a repetition", case, float(engines["psc"].get("at the bounds") != "right"), 0, "")
    for r in (found.get("cache_limit") or {}).get("results", ()):
        if r["limit"] >= 0:
            yield Goal("size, to its limit", f"limit {r['limit'] / 1e6:.0f} MB", r["largest"] / r["limit"], 1.0, "x")


def goals_table(checked: list[Goal]) -> str:
    """All promises, those that are not kept marked."""
    rows = [
        [g.what, g.grammar, f"{number(g.figure)} {g.unit}", f"{number(g.most)} {g.unit}", "yes" if g.kept else "NO"]
        for g in checked
    ]
    return table(["promise", "of", "figure", "at most", "kept"], rows)


def main() -> None:
    """Run what was asked for, and hold it against the promises."""
    options = argparse.ArgumentParser(description="Run every benchmark of building just in time and of matchers.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--corpus", nargs="+", default=[], metavar="GRAMMAR=PATH", help="texts; go and sql need some")
    options.add_argument("--out", type=Path, required=True, metavar="DIR", help="where results go")
    options.add_argument("--quick", action="store_true", help="few texts and repetitions")
    options.add_argument("--only", nargs="+", metavar="NAME", help="of these benchmarks; the results of others are taken from DIR")
    args = options.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    about = machine()
    found: dict[str, Any] = {}
    for name, arguments in benchmarks(args).items():
        old = args.out / f"{name}.json"
        if args.only and name not in args.only:
            found[name] = json.loads(old.read_text(encoding="utf-8")) if old.exists() else None
        else:
            found[name] = run(name, arguments, args)
    checked = list(goals(found))
    text = f"{in_words(about)}\n\n{goals_table(checked)}\n"
    (args.out / "goals.md").write_text(text, encoding="utf-8")
    (args.out / "figures.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(text)
    failed = [name for name, result in found.items() if result is None and (not args.only or name in args.only)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
