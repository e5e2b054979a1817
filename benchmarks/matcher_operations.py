"""Measure what serving engines do with matchers: fork, rollback, draft trees, batches, ten thousand at once, long and deep
texts.

    python benchmarks/matcher_operations.py [java] [builtin-json] --tokenizer SPEC [--corpus java=DIR] [--json FILE]

The idea: each group of operations of each engine runs in a process of its own, one after the other, over the same tokens, and
is warm: it has run once before it is timed, as far as the engine is fast enough for that. psc builds just in time.

    fork, rollback   at 12,000 tokens of one text; rollback(n) of a fresh fork; the mask after it
    draft tree       64 nodes as a small draft model proposes them (workloads.py), at places all over the texts
    batch            256 matchers at 256 places: rows filled on one thread and on two, a token accepted by each
    10,000 matchers  resident memory that they add to the process: fresh, and after 300 tokens each
    100 kB           accepted a byte at a time: the first tenth and the last, and masks there
    depth 10,000     brackets opened one by one: the first tenth and the last, and masks there

An engine that would take too long does less of it; then the table says how much.

The cost: some minutes; `--engines psc` one.
"""

import argparse
import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import Any

import numpy as np
from operations import OPERATIONS, Operations
from subjects import add_subject_options, chosen, documents_of
from workloads import BYTES, DEPTH, GRAMMARS, DraftModel, Workload, workload

import psc
from psc.bench.isolated import Failed, reports
from psc.bench.measure import in_words, machine, number, report, table, timer_overhead
from psc.bench.subjects import Subject
from psc.bench.texts import encoder

Figure = tuple[str, float | str]
ROLLBACKS = (1, 10, 1_000, 10_000)
NODES = 64
BATCH = 256
MATCHERS = 10_000
TOKENS = 300
# Seconds that one loop may take.
PATIENCE = 20.0
TIMEOUT = 400.0


def timed(call: Callable[[], object]) -> int:
    """Nanoseconds of a call, the timer's own included."""
    began = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - began


def quantiles(name: str, nanoseconds: Sequence[float], overhead: float) -> Iterator[Figure]:
    """Median and 99th percentile, in microseconds."""
    us = np.maximum(np.array(nanoseconds) - overhead, 0) / 1e3
    yield f"{name}, p50", float(np.percentile(us, 50))
    yield f"{name}, p99", float(np.percentile(us, 99))


def fork_and_rollback(engine: Operations, load: Workload) -> Iterator[Figure]:
    """At 12,000 tokens of the long text."""
    overhead = timer_overhead()
    row = np.zeros(engine.n_words, np.int32)
    matcher, at = read(engine, load.long[:12_000])
    if at < 12_000:
        yield "tokens before fork", at
    slow = timed(lambda: engine.fork(matcher)) > 1e6
    repeat = 20 if slow else 500
    forks = []
    for _ in range(repeat):
        began = time.perf_counter_ns()
        copy = engine.fork(matcher)
        forks.append(time.perf_counter_ns() - began)
        del copy
    yield from quantiles("fork", forks, overhead)
    masks: list[int] = []
    for n in ROLLBACKS:
        if n > at:
            break
        took = []
        masks.clear()
        for _ in range(repeat // 4):
            copy = engine.fork(matcher)
            began = time.perf_counter_ns()
            engine.rollback(copy, n)
            took.append(time.perf_counter_ns() - began)
            if len(masks) < 20:
                masks.append(timed(lambda copy=copy: engine.fill(copy, row)))  # type: ignore[misc]
        yield from quantiles(f"rollback({n:,})", took, overhead)
    yield "fill after rollback, p50", float(np.percentile(masks, 50)) / 1e3


def read(engine: Operations, ids: Sequence[int]) -> tuple[Any, int]:
    """A matcher that has read as many of the tokens as the engine takes, in the time it may take; and how many."""
    matcher, deadline = engine.new(), time.perf_counter() + PATIENCE
    for at, token in enumerate(ids):
        if not engine.accept(matcher, token):
            return read(engine, ids[:at])  # a matcher may not survive a refusal
        if at % 100 == 0 and time.perf_counter() > deadline:
            return matcher, at + 1
    return matcher, len(ids)


def draft_trees(engine: Operations, load: Workload) -> Iterator[Figure]:
    """At 100 places, each tree three times: the fastest counts, which is warm."""
    overhead = timer_overhead()
    model = DraftModel(load.texts)
    bitmask = np.zeros((NODES, engine.n_words), np.int32)
    deadline = time.perf_counter() + PATIENCE
    took, nodes, allowed = [], [], []
    places = 100
    for k in range(places):
        ids = load.texts[k % len(load.texts)]
        at = 1 + (k * 7919) % (len(ids) - 1)
        matcher = engine.new()
        for token in ids[:at]:
            engine.accept(matcher, token)
        tree = model.tree(ids[at - 1], NODES)
        bitmask[:] = 0
        walk = engine.draft(matcher, tree, bitmask[: len(tree.tokens)])
        took.append(min(timed(walk) for _ in range(3)))
        nodes.append(len(tree.tokens))
        allowed.append(int((bitmask != 0).any(axis=1).sum()))
        if time.perf_counter() > deadline:
            yield "draft trees measured", k + 1
            break
    yield from quantiles("draft tree", took, overhead)
    yield "draft tree, nodes", float(np.mean(nodes))
    yield "draft tree, nodes allowed", float(np.mean(allowed))


def batches(engine: Operations, load: Workload) -> Iterator[Figure]:
    """Rows for all, then a token for each, and again."""
    steps, size = 40, BATCH
    texts = [ids for ids in load.texts if len(ids) > 2 * steps]
    row = np.zeros(engine.n_words, np.int32)

    def place(i: int) -> tuple[Any, list[int]]:
        ids = texts[i % len(texts)]
        at = (i * 7919) % (len(ids) - steps)
        matcher, done = read(engine, ids[: at + steps])
        engine.rollback(matcher, min(steps, done))
        at = max(0, done - steps)
        return matcher, ids[at : at + steps]

    probe = [place(i)[0] for i in range(4)]
    mean = float(np.mean([timed(lambda m=m: engine.fill(m, row)) for m in probe])) / 1e9  # type: ignore[misc]
    if mean * size * steps * 3 > PATIENCE:
        steps = max(1, int(PATIENCE / (mean * size * 3)))
        if steps == 1:
            size = max(8, int(PATIENCE / (mean * 3)))
        yield "batch size", size
        yield "batch steps", steps
    placed = [place(i) for i in range(size)]
    bitmask = np.zeros((size, engine.n_words), np.int32)

    def run(threads: int) -> tuple[list[int], list[int]]:
        matchers = [engine.fork(m) for m, _ in placed]
        fill = engine.batch_fill(matchers, bitmask, threads)
        fills, accepts = [], []
        for step in range(steps):
            fills.append(timed(fill))
            accepts.append(timed(engine.batch_accept(matchers, [rest[step] for _, rest in placed])))
        return fills, accepts

    if steps > 1:
        run(1)
    one, accepts = run(1)
    two, _ = run(2)
    per = 1e3 * size
    yield "batch fill, 1 thread, median", float(np.median(one)) / per
    yield "batch fill, 2 threads, median", float(np.median(two)) / per
    yield "batch fill, 1 thread to 2", float(np.median(one)) / float(np.median(two))
    # Of steps in which no other work held a core: what two threads can do.
    yield "batch fill, 1 thread to 2, fastest steps", min(one) / min(two)
    yield "batch accept, median", float(np.median(accepts)) / per


def many_matchers(engine: Operations, load: Workload) -> Iterator[Figure]:
    """Resident memory before and after."""
    ids, row = load.long[:TOKENS], np.zeros(engine.n_words, np.int32)
    warm = read(engine, ids)[0]
    engine.fill(warm, row)
    before = resident()
    matchers = [engine.new() for _ in range(MATCHERS)]
    yield f"{MATCHERS:,} matchers, fresh", (resident() - before) / 1e6
    deadline, done = time.perf_counter() + PATIENCE, 0
    for done, matcher in enumerate(matchers, start=1):
        for token in ids:
            engine.accept(matcher, token)
        if time.perf_counter() > deadline and done < MATCHERS:
            yield "matchers that read", done
            break
    yield f"{MATCHERS:,} matchers, tokens each", len(ids)
    yield f"{MATCHERS:,} matchers, after that", (resident() - before) / 1e6 * MATCHERS / done


def resident() -> int:
    """Bytes of this process that are in memory, once what is free has been given back."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def byte_by_byte(engine: Operations, load: Workload) -> Iterator[Figure]:
    """Twice; the second time counts, unless the first took too long."""
    yield from along(engine, load.by_bytes, 0, f"{BYTES // 1000} kB")


def deep(engine: Operations, load: Workload) -> Iterator[Figure]:
    """Brackets only; what comes before them is not timed."""
    yield from along(engine, load.deep, load.deep_from, f"depth {DEPTH:,}")


def along(engine: Operations, ids: Sequence[int], start: int, name: str) -> Iterator[Figure]:
    """Accepts from token `start` on, and a mask at every hundredth of the way."""
    overhead = timer_overhead()
    row = np.zeros(engine.n_words, np.int32)
    every = (len(ids) - start) // 100
    for turn in count():
        matcher = engine.new()
        for token in ids[:start]:
            engine.accept(matcher, token)
        deadline = time.perf_counter() + PATIENCE
        accepts: list[float] = []
        masks: list[float] = []
        late = False
        for at in range(start, len(ids) - every + 1, every):
            masks.append(timed(lambda m=matcher: engine.fill(m, row)) - overhead)  # type: ignore[misc]
            chunk = ids[at : at + every]
            began = time.perf_counter_ns()
            good = sum(engine.accept(matcher, token) for token in chunk)
            accepts.append((time.perf_counter_ns() - began) / len(chunk))
            if good < len(chunk):
                yield f"{name}, stopped at", at - start + good
                return
            late = time.perf_counter() > deadline
            if late:
                break
        if late or turn == 1:
            break
    if late:
        yield f"{name}, reached", len(accepts) * every
    tenth = max(1, len(accepts) // 10)
    for what, figures in (("accept", accepts), ("fill", masks)):
        yield f"{name}, {what}, first tenth", float(np.median(figures[:tenth])) / 1e3
        yield f"{name}, {what}, last tenth", float(np.median(figures[-tenth:])) / 1e3


GROUPS: dict[str, Callable[[Operations, Workload], Iterator[Figure]]] = {
    "fork and rollback": fork_and_rollback,
    "draft trees": draft_trees,
    "batches": batches,
    "many matchers": many_matchers,
    "bytes": byte_by_byte,
    "depth": deep,
}


def in_child(group: str, engine: str, subject: Subject, spec: str, load: Workload) -> Iterator[Figure]:
    """One group of one engine."""
    made = OPERATIONS[engine](psc.load_tokenizer(spec))
    made.compile(subject)
    gc.collect()
    gc.disable()
    yield from GROUPS[group](made, load)


def measure(subject: Subject, args: argparse.Namespace, load: Workload) -> dict[str, dict[str, float | str]]:
    """Engine -> figure -> value."""
    found: dict[str, dict[str, float | str]] = {}
    for engine in args.engines:
        figures = found[engine] = {}
        try:
            version(engine)
        except PackageNotFoundError:
            if engine != "psc":
                figures["remark"] = "not installed"
                continue
        for group in args.groups:
            print(f"{subject.name}: {engine}, {group}", file=sys.stderr, flush=True)
            try:
                for name, value in reports(in_child, group, engine, subject, args.tokenizer, load, timeout=TIMEOUT):
                    figures[name] = value
            except Failed as error:
                figures[f"{group}: failed"] = str(error)
    return found


def print_table(results: dict[str, dict[str, float | str]]) -> None:
    """A line a figure, a column an engine."""
    names = list(dict.fromkeys(name for figures in results.values() for name in figures))
    rows = [[name, *(cell(figures.get(name)) for figures in results.values())] for name in names]
    print(table(["figure", *results], rows))


def cell(value: float | str | None) -> str:
    """A figure, or words."""
    return value if isinstance(value, str) else number(value)


def main() -> None:
    """Parse the command line, measure every engine, print."""
    options = argparse.ArgumentParser(description="Measure what serving engines do with matchers.")
    add_subject_options(options, default=GRAMMARS, documents=20)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--engines", nargs="+", choices=list(OPERATIONS), default=list(OPERATIONS), help="default: all")
    options.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS), help="default: all")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    info = psc.load_tokenizer(args.tokenizer)
    encode = encoder(args.tokenizer, info)[1]
    results = {}
    for subject in chosen(args):
        load = workload(subject, documents_of(subject, args), info, encode, args.seed)
        results[subject.name] = measure(subject, args, load)
    about = machine()
    if args.json != "-":
        print(f"{info.name} ({info.vocab_size:,}); {in_words(about)}")
        for name, found in results.items():
            print(f"\n{name}: microseconds (a call, a matcher of a batch, a byte, a bracket), or MB for the memory of matchers:\n")
            print_table(found)
    report({"benchmark": "matcher_operations", **about, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
