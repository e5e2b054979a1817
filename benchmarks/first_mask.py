"""Measure the time to the first mask, from a grammar's text, nothing of it cached anywhere: psc just in time, and its peers.

    python benchmarks/first_mask.py [GRAMMAR...] --tokenizer SPEC [--repeat R] [--json FILE]

The idea: a request brings a grammar that the server has not seen. Each reading is the first of its process. *Warm* is a
server's process: everything is imported and the vocabulary indexed, by two grammars of one letter, which leave nothing that
another could use. *Known* is such a process where another one has read the grammar before, and has left its tables in the store
(psc leaves those of Lark's language only). *Parsed* reads the text, that of a bundled grammar too, whose tables are part of psc.
*Cold* is a process that has only loaded the tokenizer: the first grammar of all pays for imports and for the index too. Peers
are measured warm. The split is of the warm readings:

    front end   the text parsed, or its tables read
    lowering    EBNF rules to terminals and productions
    terminals   the automaton of all terminals: over bytes, or the nondeterministic one that a machine makes more of
    LR          the LALR(1) tables
    machine     what the matcher reads, empty yet
    first mask  a matcher, and its mask at the beginning of the text

The fastest of `--repeat` processes is shown, and its CPU time beside it: other work on the machine makes figures longer, never
shorter.

The cost: a process for each reading, about a second.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engines import Ready, Worker, installed, warm_up
from isolated import Failed, result
from measure import in_words, machine, number, report, table
from subjects import Subject, add_subject_options, chosen

import psc
from psc import known_grammars
from psc.artifacts.store import Store

STAGES = ("front end", "lowering", "terminals", "LR", "machine", "first mask")
TIMEOUT = 300.0


@dataclass(frozen=True)
class FirstMask:
    """One reading, in seconds."""

    total: float
    cpu: float
    stages: dict[str, float]


@dataclass(frozen=True)
class Conditions:
    """Of a process, before the grammar's text comes."""

    warm: bool = True
    """Whether grammars of one letter came first."""
    bundled: bool = True
    """Whether the tables that are part of psc are there."""
    store: str | None = None
    """The folder in which another process may have left tables."""


def first_mask(subject: Subject, spec: str, conditions: Conditions) -> FirstMask:
    """The first mask of this process, or, warm, the first after those of grammars of one letter."""
    info = psc.load_tokenizer(spec)
    compiler = psc.GrammarCompiler(info, cache_enabled=False, store=False)
    store = None if conditions.store is None else Store(conditions.store)
    if conditions.warm:
        warm_up(compiler)
    if not conditions.bundled:
        known_grammars._BUNDLED = Path(__file__).parent / "no folder"
    seconds = dict.fromkeys(STAGES, 0.0)
    watch(seconds)
    cpu, began = time.process_time(), time.perf_counter()
    grammar = subject.open(store)
    opened = time.perf_counter()
    compiled = compiler.compile_grammar(grammar)
    made = time.perf_counter()
    psc.GrammarMatcher(compiled).mask_row()
    ended = time.perf_counter()
    cpu = time.process_time() - cpu
    seconds["front end"], seconds["first mask"] = opened - began, ended - made
    return FirstMask(ended - began, cpu, seconds)


def leave_tables(subject: Subject, folder: str) -> None:
    """Reads a grammar and leaves its tables in a store."""
    known_grammars._BUNDLED = Path(folder) / "no folder"
    subject.open().ready(store=Store(folder))


def watch(seconds: dict[str, float]) -> None:
    """From now on, adds up the time spent in each stage of a compilation."""
    from psc.compiler import ready_grammar

    def timed(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def measured(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                seconds[stage] += time.perf_counter() - began

        return measured

    tables: Any = ready_grammar
    for name in ("terminal_automaton", "open_terminals_of_rules"):
        setattr(tables, name, timed("terminals", getattr(tables, name)))
    for name in ("lr_tables", "lr_tables_of_rules"):
        setattr(tables, name, timed("LR", getattr(tables, name)))
    tables.LoweredRules = timed("lowering", tables.LoweredRules)
    for of_language in (tables.ReadyGrammar, tables.ReadyRules):
        of_language.machine = timed("machine", of_language.machine)


def peer_first_mask(engine: str, subject: Subject, spec: str) -> Ready:
    """A peer's: its compile time and its first mask. Raises RuntimeError when it refuses the grammar or does not come back."""
    worker = Worker(engine, subject, spec)
    try:
        ready: Ready = worker.receive(TIMEOUT)
        return ready
    finally:
        worker.stop()


def measure(subject: Subject, spec: str, repeat: int, peers: list[str]) -> dict[str, Any]:
    """All readings of one grammar."""
    with TemporaryDirectory(prefix="psc-") as folder:
        if subject.language == "lark":
            result(leave_tables, subject, folder, timeout=TIMEOUT)
        conditions = {
            "warm": Conditions(),
            "parsed": Conditions(bundled=False),
            "known": Conditions(bundled=False, store=folder),
            "cold": Conditions(warm=False),
        }
        readings = {
            name: [result(first_mask, subject, spec, under, timeout=TIMEOUT) for _ in range(repeat)]
            for name, under in conditions.items()
            if subject.language == "lark" or name in ("warm", "cold")
        }
    found: dict[str, Any] = {"grammar": subject.name, "bytes": len(subject.text.encode())}
    for name, all_of in readings.items():
        best: FirstMask = min(all_of, key=lambda r: r.total)
        found[name] = {"total": best.total, "cpu": best.cpu, "stages": best.stages, "all": [r.total for r in all_of]}
    for peer in peers:
        if installed(peer) is None:
            found[peer] = {"problem": "not installed"}
            continue
        try:
            ready = [peer_first_mask(peer, subject, spec) for _ in range(repeat)]
        except RuntimeError as error:
            found[peer] = {"problem": str(error)}
            continue
        fastest = min(ready, key=lambda r: r.compile_seconds + r.first_mask_seconds)
        found[peer] = {
            "total": fastest.compile_seconds + fastest.first_mask_seconds,
            "compile": fastest.compile_seconds,
            "first mask": fastest.first_mask_seconds,
            "grammar": fastest.grammar,
        }
    return found


def milliseconds(seconds: float | None) -> str:
    """A time for a table."""
    return number(None if seconds is None else seconds * 1e3)


def print_tables(results: list[dict[str, Any]], peers: list[str]) -> None:
    """Totals side by side, then psc's stages, and why a peer is absent."""
    print("Milliseconds from the grammar's text to the first mask:\n")
    head = ["grammar", "bytes", "psc, warm", "CPU", "known", "parsed", "psc, cold", *peers]
    rows = []
    for r in results:
        others = [milliseconds(r[p].get("total")) for p in peers]
        figures = [milliseconds(r["warm"]["total"]), milliseconds(r["warm"]["cpu"])]
        figures += [milliseconds(r.get(name, {}).get("total")) for name in ("known", "parsed", "cold")]
        rows.append([r["grammar"], f"{r['bytes']:,}", *figures, *others])
    print(table(head, rows))
    print("\nOf psc, warm, milliseconds:\n")
    rows = [[r["grammar"], *(milliseconds(r["warm"]["stages"][s]) for s in STAGES)] for r in results]
    print(table(["grammar", *STAGES], rows))
    for r in results:
        for p in peers:
            if "problem" in r[p]:
                print(f"\n{r['grammar']}: {p}: {r[p]['problem']}")


def main() -> None:
    """Parse the command line, measure every grammar, print."""
    options = argparse.ArgumentParser(description="Measure the time from a grammar's text to its first mask.")
    add_subject_options(options)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--repeat", type=int, default=5, metavar="R", help="processes for each reading (default 5)")
    options.add_argument("--peers", nargs="*", default=["llguidance", "xgrammar"], help="default: both")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    results = []
    for subject in chosen(args):
        print(subject.name, file=sys.stderr, flush=True)
        try:
            results.append(measure(subject, args.tokenizer, args.repeat, args.peers))
        except Failed as error:
            print(f"{subject.name}: {error}", file=sys.stderr)
    if not results:
        sys.exit(1)
    about = machine()
    if args.json != "-":
        print(f"{psc.load_tokenizer(args.tokenizer).name}; {in_words(about)}\n")
        print_tables(results, args.peers)
    report({"benchmark": "first_mask", **about, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
