"""Measure decoding with a grammar that is built as it is visited, beside the same grammar built ahead of time.

    python benchmarks/just_in_time.py [GRAMMAR...] --tokenizer SPEC [--corpus GRAMMAR=PATH...] [--json FILE]

The idea: texts are replayed token by token (teacher forcing) over a machine that knows nothing yet. A step is `mask_row()` and
`accept_token()`. A step is *cold* when the machine grew in it, and is counted as the most expensive thing that was built:

    lexer state   a lexer state met first: what every token does from there
    transition    a stack met first: transitions of the stack classifier
    row           a mask composed from parts that are there (or a step that is much slower than when it is taken again:
                  composed, and found to be a row that was there)
    bytes         arcs of the lexer for bytes met first

The whole first pass is repeated over fresh machines, and each step counts as its fastest reading: the same things are built in
the same order, so what differs is other work on the machine. Later passes over the same texts are *warm*; there the two
machines take turns. Between the two is what a server sees: texts that are new, with a machine that has seen others. The
*unseen* figures are of the second half of the texts, read once after the first half. Every mask and every accept of both is
compared on the way (a pair of rows once, however often it comes up).

`psc bench masks` has the same beside llguidance and XGrammar.

The cost: `--cold` first passes, `--rounds` later ones; seconds a grammar.
"""

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from masks import Readings, ask, call_by_call, loop
from numpy.typing import NDArray
from subjects import add_subject_options, chosen, documents_of

import psc
from psc.bench.measure import Clocks, Summary, in_words, machine, median_clocks, number, report, table, timer_overhead
from psc.bench.subjects import Subject
from psc.bench.texts import encoder, tokenize
from psc.grammars.compiled_grammar import compile_ahead_of_time, compile_just_in_time

# What grows -> what a step that grows it is counted as; the first that applies.
KINDS = {
    "visited_lexer_states": "lexer state",
    "classifier_transitions": "transition",
    "rows": "row",
    "lexer_states": "bytes",
}
WAYS = ("row", "fill")
# A step that is this much slower (in ns) the first time than later has built something, whatever the counts say.
SLOWER = 5000


@dataclass
class Figures:
    """What was measured of one grammar."""

    grammar: str
    texts: int
    tokens: int
    rejected: int
    cold: dict[str, list[float]] = field(default_factory=dict)
    """Kind -> nanoseconds of each cold step."""
    first_pass_ms: float = 0.0
    """All steps of the first pass, cold or not."""
    built: dict[str, int] = field(default_factory=dict)
    built_bytes: int = 0
    warm: list[dict[str, Any]] = field(default_factory=list)
    unseen: dict[str, dict[str, float]] = field(default_factory=dict)
    """How the machine was built -> of the steps of the second half of the texts: microseconds and how many were slow."""
    ahead: dict[int, dict[str, float]] = field(default_factory=dict)
    """Masks that a thread built ahead -> milliseconds of the first mask and of a text's others, beside a model."""
    compared: int = 0
    differences: int = 0


def replay(compiled: psc.CompiledGrammar, documents: Sequence[list[int]], repeat: int = 1) -> NDArray[np.int64]:
    """Nanoseconds of every step of the texts, the fastest of a few readings."""
    now = time.perf_counter_ns
    matcher = psc.GrammarMatcher(compiled)
    fastest: NDArray[np.int64] | None = None
    for _ in range(repeat):
        took = []
        for ids in documents:
            matcher.reset()
            for token in ids:
                t0 = now()
                matcher.mask_row()
                matcher.accept_token(token)
                t1 = now()
                took.append(t1 - t0)
        fastest = np.array(took) if fastest is None else np.minimum(fastest, took)
    assert fastest is not None
    return fastest


def replay_cold(compiled: psc.CompiledGrammar, documents: Sequence[list[int]]) -> tuple[list[int], list[str]]:
    """Every step of the texts: nanoseconds, and what was built in it ("" for nothing that is counted)."""
    machine, now = compiled._machine, time.perf_counter_ns
    matcher = psc.GrammarMatcher(compiled)
    took: list[int] = []
    kinds: list[str] = []
    before = machine.counts()
    for ids in documents:
        matcher.reset()
        for token in ids:
            t0 = now()
            matcher.mask_row()
            matcher.accept_token(token)
            t1 = now()
            after = machine.counts()
            took.append(t1 - t0)
            kinds.append("" if after == before else next((KINDS[k] for k in KINDS if after[k] != before[k]), "bytes"))
            before = after
    return took, kinds


def measure_cold(figures: Figures, grammar: psc.Grammar, info: psc.TokenizerInfo, documents: list[list[int]], passes: int) -> None:
    """First passes over fresh machines; the vocabulary's index is fresh too, as no other grammar holds it."""
    overhead = timer_overhead()
    fastest, kinds, warm = None, None, None
    for n in range(passes):
        compiled = compile_just_in_time(grammar, info)
        took, found = replay_cold(compiled, documents)
        if kinds is not None and kinds != found:
            raise SystemExit(f"{figures.grammar}: another first pass built other things; something is not deterministic")
        kinds = found
        fastest = np.array(took) if fastest is None else np.minimum(fastest, took)
        figures.built, figures.built_bytes = compiled._machine.counts(), compiled.memory_size_bytes
        if n == passes - 1:
            warm = replay(compiled, documents, 3)
        del compiled
        gc.collect()
    assert fastest is not None and kinds is not None and warm is not None
    kinds = [k or ("row" if cold - later > SLOWER else "") for k, cold, later in zip(kinds, fastest, warm, strict=True)]
    fastest = np.maximum(fastest - overhead, 0)
    figures.first_pass_ms = float(fastest.sum()) / 1e6
    for kind in KINDS.values():
        figures.cold[kind] = [float(t) for t, k in zip(fastest, kinds, strict=True) if k == kind]


def measure_unseen(
    figures: Figures, grammar: psc.Grammar, info: psc.TokenizerInfo, documents: list[list[int]], passes: int
) -> None:
    """Both machines over the second half of the texts, after the first."""
    half = len(documents) // 2
    if not half:
        return
    overhead = timer_overhead()
    for name, compile_ in (("just in time", compile_just_in_time), ("ahead of time", compile_ahead_of_time)):
        fastest = None
        for _ in range(passes):
            compiled = compile_(grammar, info)
            replay(compiled, documents[:half])
            took = replay(compiled, documents[half:])
            fastest = took if fastest is None else np.minimum(fastest, took)
            del compiled
            gc.collect()
        assert fastest is not None
        us = np.maximum(fastest - overhead, 0) / 1e3
        figures.unseen[name] = {
            "steps": len(us),
            "mean": float(us.mean()),
            **{f"p{q}": float(np.percentile(us, q)) for q in (50, 90, 99)},
            "slow": float((us > SLOWER / 1e3).mean()),
        }


def measure_ahead(
    figures: Figures, grammar: psc.Grammar, info: psc.TokenizerInfo, documents: list[list[int]], args: argparse.Namespace
) -> None:
    """The beginning of each text on a machine of its own, as an engine asks: after a prefill, with pauses between masks."""
    first: dict[int, list[float]] = {masks: [] for masks in (0, *args.ahead)}
    rest: dict[int, list[list[float]]] = {masks: [] for masks in first}
    for ids in documents:
        for masks in first:
            compiled = compile_just_in_time(grammar, info)
            compiled.build_ahead(masks)
            time.sleep(args.prefill / 1e3)
            matcher, took = psc.GrammarMatcher(compiled), []
            for token in ids[:100]:
                began = time.perf_counter()
                matcher.mask_row()
                took.append((time.perf_counter() - began) * 1e3)
                matcher.accept_token(token)
                time.sleep(args.model / 1e3)
            first[masks].append(took[0])
            rest[masks].append(took[1:])
            compiled.wait_until_warm()
            del compiled, matcher
            gc.collect()
    for masks in first:
        others = np.concatenate([np.array(r) for r in rest[masks]])
        figures.ahead[masks] = {
            "first": float(np.mean(first[masks])),
            "first_max": max(first[masks]),
            "p99": float(np.percentile(others, 99)),
            "max": float(others.max()),
            "text": float(others.sum()) / len(documents),
        }


def compare(figures: Figures, jit: psc.CompiledGrammar, aot: psc.CompiledGrammar, documents: list[list[int]]) -> None:
    """Counts where the two machines differ, in a mask or in what they accept."""
    left, right = psc.GrammarMatcher(jit), psc.GrammarMatcher(aot)
    equal: dict[tuple[int, int], bool] = {}
    for ids in documents:
        left.reset()
        right.reset()
        for token in ids:
            pair = left.mask_row(), right.mask_row()
            if pair not in equal:
                equal[pair] = bool(np.array_equal(jit.row(pair[0]), aot.row(pair[1])))
            accepted = left.accept_token(token)
            figures.compared += 1
            figures.differences += (not equal[pair]) + (accepted != right.accept_token(token))
            if not accepted:
                break


def measure_warm(
    figures: Figures, machines: dict[str, psc.CompiledGrammar], documents: list[list[int]], rounds: int, vocab_size: int
) -> None:
    """Later passes, the machines and the ways to get a mask in turn."""
    overhead = timer_overhead()
    matchers = {name: psc.GrammarMatcher(compiled) for name, compiled in machines.items()}
    for matcher in matchers.values():
        for ids in documents:
            loop(matcher, matcher.mask, ids)
    clocks: dict[tuple[str, str], list[Clocks]] = {}
    readings: dict[tuple[str, str], Readings] = {}
    for _ in range(rounds):
        for way in WAYS:
            for name, matcher in matchers.items():
                mask = ask(matcher, way, vocab_size)
                parts = [c for ids in documents for c in loop(matcher, mask, ids, drop=True)]
                clocks.setdefault((name, way), []).append(Clocks.total(parts))
                kept = readings.setdefault((name, way), Readings([], []))
                for ids in documents:
                    kept.add(call_by_call(matcher, mask, ids, drop=True))
    for (name, way), taken in clocks.items():
        step, best = median_clocks(taken), min(c.wall for c in taken)
        calls = readings[name, way]
        figures.warm.append(
            {
                "built": name,
                "way": way,
                "step_us": step.wall,
                "step_cpu_us": step.cpu,
                "step_best_us": best,
                "mask": asdict(Summary.of(calls.masks, overhead)),
                "accept": asdict(Summary.of(calls.accepts, overhead)),
            }
        )


def measure(subject: Subject, info: psc.TokenizerInfo, spec: str, args: argparse.Namespace) -> Figures:
    """Everything of one grammar."""
    tokenized, _ = tokenize(documents_of(subject, args), info, encoder(spec, info)[1])
    grammar = subject.open()
    aot = compile_ahead_of_time(grammar, info)
    reader = psc.GrammarMatcher(aot)
    documents = []
    for ids in tokenized.values():
        reader.reset()
        if all(map(reader.accept_token, ids)) and reader.is_completed():
            documents.append([*ids, *info.stop_token_ids[:1]])
    if not documents:
        raise SystemExit(f"{subject.name}: the grammar accepts none of the {len(tokenized)} texts")
    figures = Figures(subject.name, len(documents), sum(map(len, documents)), len(tokenized) - len(documents))
    gc.collect()
    gc.disable()
    try:
        measure_cold(figures, grammar, info, documents, args.cold)
        measure_unseen(figures, grammar, info, documents, args.cold)
        if args.ahead:
            measure_ahead(figures, grammar, info, documents, args)
        jit = compile_just_in_time(grammar, info)
        compare(figures, jit, aot, documents)
        measure_warm(figures, {"just in time": jit, "ahead of time": aot}, documents, args.rounds, info.vocab_size)
    finally:
        gc.enable()
    return figures


def microseconds(nanoseconds: list[float]) -> list[float]:
    """Count, median, 90th and 99th percentile, maximum and sum (in ms)."""
    if not nanoseconds:
        return [0] + [float("nan")] * 4 + [0.0]
    quantiles = np.percentile(np.array(nanoseconds) / 1e3, (50, 90, 99, 100))
    return [len(nanoseconds), *map(float, quantiles), sum(nanoseconds) / 1e6]


def print_tables(results: list[Figures]) -> None:
    """Cold steps, their kinds, and warm steps beside those of the machine built ahead of time."""
    print("Cold steps (mask and accept together), microseconds; the share is of all steps of the first pass:\n")
    quantiles = ["p50", "p90", "p99", "max"]
    rows = []
    for f in results:
        count, *figures, total = microseconds([t for kind in f.cold.values() for t in kind])
        share = f"{100 * total / f.first_pass_ms:.0f}"
        plain = [str(f.texts), str(f.rejected), f"{f.tokens:,}", f"{count:,}"]
        rows.append([f.grammar, *plain, *map(number, figures), number(total), share, number(f.built_bytes / 1e6)])
    head = ["grammar", "texts", "rejected", "tokens", "cold", *quantiles, "sum ms", "share %", "built MB"]
    print(table(head, rows))
    print("\nThe same by what was built:\n")
    rows = []
    for f in results:
        for kind, took in f.cold.items():
            count, *figures, total = microseconds(took)
            rows.append([f.grammar, kind, f"{count:,}", *map(number, figures), number(total)])
    print(table(["grammar", "built", "steps", *quantiles, "sum ms"], rows))
    print("\nWarm steps, microseconds (step: mask and accept, from whole loops, the median round; ratio: to ahead of time):\n")
    rows = []
    for f in results:
        ahead = {w["way"]: w for w in f.warm if w["built"] == "ahead of time"}
        for w in f.warm:
            ratio = f"{w['step_us'] / ahead[w['way']]['step_us']:.2f}"
            figures = [w["step_us"], w["step_best_us"], w["step_cpu_us"]]
            figures += [w[k][v] for k in ("mask", "accept") for v in ("mean", "p50", "p99")]
            rows.append([f.grammar, w["built"], w["way"], ratio, *map(number, figures)])
    head = ["grammar", "built", "way", "ratio", "step", "best", "CPU", "mask mean", "p50", "p99", "accept mean", "p50", "p99"]
    print(table(head, rows))
    print("\nUnseen texts (the second half, read once after the first half), microseconds a step; slow: ", end="")
    print(f"over {SLOWER / 1000:.0f} us:\n")
    rows = [
        [f.grammar, name, f"{u['steps']:,}", *(number(u[k]) for k in ("mean", "p50", "p90", "p99")), f"{100 * u['slow']:.1f}"]
        for f in results
        for name, u in f.unseen.items()
    ]
    print(table(["grammar", "built", "steps", "mean", "p50", "p90", "p99", "slow %"], rows))
    if any(f.ahead for f in results):
        print("\nBuilt ahead on a thread, milliseconds of the first mask, and of the others of a text's first 100:\n")
        rows = [
            [f.grammar, str(masks), *(number(a[k]) for k in ("first", "first_max", "p99", "max", "text"))]
            for f in results
            for masks, a in f.ahead.items()
        ]
        print(table(["grammar", "masks ahead", "first", "first, max", "others p99", "max", "all of a text"], rows))
    print()
    for f in results:
        print(f"{f.grammar}: {f.compared:,} masks and accepts of both compared, {f.differences} differences")


def main() -> None:
    """Parse the command line, measure every grammar, print."""
    options = argparse.ArgumentParser(description="Measure decoding with grammars that are built as they are visited.")
    add_subject_options(options)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--cold", type=int, default=3, metavar="N", help="first passes; a step counts as its fastest (3)")
    options.add_argument("--rounds", type=int, default=3, metavar="R", help="warm passes (default 3)")
    options.add_argument("--ahead", type=int, nargs="+", default=[], metavar="N", help="also with N masks built ahead on a thread")
    options.add_argument("--prefill", type=float, default=50.0, metavar="MS", help="before the first mask, with --ahead (50)")
    options.add_argument("--model", type=float, default=5.0, metavar="MS", help="between masks, with --ahead (5)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    info = psc.load_tokenizer(args.tokenizer)
    subjects = chosen(args)
    results = []
    for subject in subjects:
        print(subject.name, file=sys.stderr, flush=True)
        results.append(measure(subject, info, args.tokenizer, args))
    about = machine()
    if args.json != "-":
        passes = f"{args.cold} first passes, {args.rounds} rounds"
        print(f"{info.name} ({info.vocab_size:,}), seed {args.seed}, {passes}; {in_words(about)}\n")
        print_tables(results)
    report({"benchmark": "just_in_time", **about, "results": results}, args.json)
    if any(f.differences for f in results):
        sys.exit("masks differ")


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
