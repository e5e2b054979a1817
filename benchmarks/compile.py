"""Measure compiling: time, memory, the artifact's size and how long it takes to load, each in a fresh process.

    python benchmarks/compile.py GRAMMAR... --tokenizer SPEC... [--repeat R] [--loads N] [--out DIR] [--json FILE]

GRAMMAR is a bundled name (java, go, sql, json) or a path to a `.lark` file; SPEC is whatever `psc.load_tokenizer`
takes. The idea: a compilation is what one job of a batch does, so each runs in a process of its own and its peak memory
is that process's, interpreter and tokenizer included. The clock starts with the grammar's text and the loaded
tokenizer, after the imports, and stops when the artifact's bytes are on disk. Loading is measured in another fresh
process: the first load there, then the best and the median of the rest.

The cost: one compilation for each pair and repetition (`--repeat`; the fastest is shown), and a second for the loads.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def compile_once(grammar: str, tokenizer: str, destination: Path) -> dict[str, Any]:
    """Compile in this process; `destination` is the artifact to write."""

    import psc
    from psc.artifacts.format import encode, write_file
    from psc.compiler.build import build
    from psc.compiler.frontends.found import find_grammar
    from psc.compiler.frontends.lark.loader import load_lark
    from psc.process_memory import peak_memory

    began = time.perf_counter()
    info = psc.load_tokenizer(tokenizer)
    tokenizer_seconds = time.perf_counter() - began
    path = find_grammar(grammar).path
    text = path.read_text(encoding="utf-8")
    before = peak_memory()

    wall, cpu = time.perf_counter(), time.process_time()
    loaded = load_lark(text, source_name=str(path))
    front_end = time.perf_counter() - wall
    result = build(loaded, info)
    built = time.perf_counter()
    data = encode(result.arrays, result.metadata)
    encoded = time.perf_counter()
    write_file(destination, data)
    written = time.perf_counter()
    cpu = time.process_time() - cpu

    counts = result.metadata["counts"]
    return {
        "grammar": path.stem,
        "tokenizer": info.name,
        "vocab_size": info.vocab_size,
        "total_seconds": written - wall,
        "total_cpu_seconds": cpu,
        "seconds": {"front end": front_end, **result.seconds, "encode": encoded - built, "write": written - encoded},
        "tokenizer_seconds": tokenizer_seconds,
        "peak_memory_bytes": peak_memory(),
        "peak_memory_before_bytes": before,
        "artifact_bytes": len(data),
        "states": counts["classifier_states"],
        "transitions": counts["classifier_transitions"],
        "labels": counts["labels"],
        "counts": counts,
    }


def load_many(artifact: Path, loads: int) -> list[float]:
    """Seconds of each of `loads` loads in this process, the imports done before."""
    import psc
    import psc.loading
    import psc.runtime.compiled

    seconds = []
    for _ in range(loads):
        began = time.perf_counter()
        psc.load(artifact)
        seconds.append(time.perf_counter() - began)
    return seconds


def in_fresh_process(*arguments: str) -> Any:
    """This script with `arguments`, as another process: the JSON that it prints."""
    command = [sys.executable, __file__, "--child", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise RuntimeError(last[0].partition("Error: ")[2] or last[0])
    return json.loads(done.stdout)


def measure(grammar: str, tokenizer: str, folder: Path, repeat: int, loads: int) -> dict[str, Any]:
    """The fastest of `repeat` compilations of a pair, and its loads."""
    name = f"{Path(grammar).stem}-{Path(tokenizer).name.split('.')[0]}.psc"
    artifact = folder / name
    runs = [in_fresh_process("compile", grammar, tokenizer, str(artifact)) for _ in range(repeat)]
    result: dict[str, Any] = min(runs, key=lambda r: r["total_seconds"])
    result["all_total_seconds"] = [r["total_seconds"] for r in runs]
    seconds = in_fresh_process("load", str(artifact), str(loads + 1))
    result["load_first_seconds"] = seconds[0]
    result["load_best_seconds"] = min(seconds[1:])
    result["load_median_seconds"] = statistics.median(seconds[1:])
    return result


def print_tables(results: list[dict[str, Any]]) -> None:
    """The figures of each pair, then its stages."""
    from measure import CPU_TOLERANCE, number, table

    head = ["grammar", "tokenizer", "total s", "peak MB", "artifact KB", "load ms: first", "best", "median"]
    head += ["states", "transitions", "labels"]
    rows = [
        [
            r["grammar"],
            f"{r['tokenizer']} ({r['vocab_size']:,})",
            number(r["total_seconds"]),
            number(r["peak_memory_bytes"] / 1e6),
            number(r["artifact_bytes"] / 1e3),
            *(number(r[f"load_{k}_seconds"] * 1e3) for k in ("first", "best", "median")),
            *(f"{r[k]:,}" for k in ("states", "transitions", "labels")),
        ]
        for r in results
    ]
    print(table(head, rows))
    stages = list(results[0]["seconds"])
    print("\nSeconds by stage:\n")
    rows = [[r["grammar"], r["tokenizer"], *(number(r["seconds"][s], 2) for s in stages)] for r in results]
    print(table(["grammar", "tokenizer", *stages], rows))
    for r in results:
        if r["total_seconds"] > CPU_TOLERANCE * r["total_cpu_seconds"]:
            pair = f"{r['grammar']}, {r['tokenizer']}"
            print(f"\n{pair}: disturbed by other work; CPU time {number(r['total_cpu_seconds'])} s")


def main() -> None:
    """Parse the command line, measure every pair, print."""
    if sys.argv[1:2] == ["--child"]:
        what, *rest = sys.argv[2:]
        if what == "compile":
            print(json.dumps(compile_once(rest[0], rest[1], Path(rest[2]))))
        else:
            print(json.dumps(load_many(Path(rest[0]), int(rest[1]))))
        return
    options = argparse.ArgumentParser(description="Measure compiling, each grammar and tokenizer in a fresh process.")
    options.add_argument("grammars", nargs="+", metavar="GRAMMAR", help="java, go, sql, json, or a .lark file")
    options.add_argument("--tokenizer", nargs="+", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--repeat", type=int, default=1, metavar="R", help="compilations of each pair (default 1)")
    options.add_argument("--loads", type=int, default=20, metavar="N", help="loads after the first (default 20)")
    options.add_argument("--out", type=Path, metavar="DIR", help="keep the artifacts in this folder")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for tokenizer in args.tokenizer:
            for grammar in args.grammars:
                print(f"{grammar}, {tokenizer}", file=sys.stderr, flush=True)
                try:
                    results.append(measure(grammar, tokenizer, folder, args.repeat, args.loads))
                except RuntimeError as error:
                    print(f"{grammar}, {tokenizer}: failed: {error}", file=sys.stderr)
    if not results:
        sys.exit(1)
    from measure import machine, report

    if args.json != "-":
        print_tables(results)
    report({"benchmark": "compile", **machine(), "results": results}, args.json)


if __name__ == "__main__":
    main()
