"""Measure masks where a text is met first, built just in time, beside llguidance's masks at the same places.

    python benchmarks/first_visits.py [GRAMMAR...] --tokenizer SPEC [--documents N] [--tokens N] [--json FILE]

The idea: the texts of a grammar are followed token by token (teacher forcing), each once, and every mask is timed. psc follows them
twice: over one machine, which knows nothing when the first text begins, as a server that has one grammar for many requests; and
each text over a machine of its own, as a server whose requests all bring a new grammar. llguidance has one matcher for all texts,
as what it finds does not stay from one text to the next. The engines take turns text by text in one process, in changing order.
What compiling costs is left out (psc bench first-masks has it).

The cost: the masks of two engines, seconds a grammar, and compiling for each text.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from subjects import add_subject_options, chosen, documents_of

import psc
from psc.bench.engines import Engine, installed, llguidance_engine, psc_engine
from psc.bench.measure import Summary, in_words, machine, number, report, table, timer_overhead
from psc.bench.subjects import Subject
from psc.bench.texts import encoder, tokenize

ONE, OWN, PEER = "one machine", "a machine a text", "llguidance"
DEFAULT = ("arithmetic", "chess", "contacts", "csv", "tool_call", "java")


def follow(engine: Engine, ids: Sequence[int]) -> list[int]:
    """Nanoseconds of the masks of a text, each before its token; fewer where the engine refuses a token."""
    now = time.perf_counter_ns
    engine.reset()
    mask, accept = engine.mask, engine.accept  # after the reset, which may replace them
    took = []
    for token in ids:
        began = now()
        mask()
        took.append(now() - began)
        if not accept(token):
            break
    return took


def measure(subject: Subject, info: psc.TokenizerInfo, args: argparse.Namespace) -> dict[str, Any]:
    """Summaries of both engines over the texts of a grammar."""
    encode = encoder(args.tokenizer, info)[1]
    texts = [ids[: args.tokens] for ids in tokenize(documents_of(subject, args), info, encode)[0].values()]

    def own() -> Engine:
        return psc_engine(subject, info, ahead=False, fill=True)

    one = own()
    by: dict[str, Callable[[], Engine]] = {ONE: lambda: one, OWN: own}
    found: dict[str, Any] = {"grammar": subject.name, "texts": len(texts), "tokens": sum(map(len, texts))}
    if installed(PEER) is not None:
        try:
            peer = llguidance_engine(subject, info, encode)
            by[PEER] = lambda: peer
        except RuntimeError as error:
            found["problem"] = str(error)
    took: dict[str, list[int]] = {name: [] for name in by}
    for i, ids in enumerate(texts):
        for name in list(by) if i % 2 else list(reversed(by)):
            engine = by[name]()
            gc.collect()
            gc.disable()
            took[name] += follow(engine, ids)
            gc.enable()
    overhead = timer_overhead()
    return {**found, **{name: vars(Summary.of(all_of, overhead)) for name, all_of in took.items()}}


def print_table(results: list[dict[str, Any]]) -> None:
    """Means and 99th percentiles, and what part of the peer's they are."""
    print("Microseconds of the masks of texts that are met first; of llguidance's: psc's part of its mean and of its p99.\n")
    rows = []
    for r in results:
        peer = r.get(PEER)
        row = [r["grammar"], str(r["texts"]), f"{r['tokens']:,}"]
        for name in (ONE, OWN):
            row += [number(r[name][k]) for k in ("mean", "p99")]
            row += [number(r[name][k] / peer[k] if peer else None) for k in ("mean", "p99")]
        rows.append([*row, *(number(peer[k] if peer else None) for k in ("mean", "p99"))])
    head = ["grammar", "texts", "masks"]
    for name in (ONE, OWN):
        head += [f"{name}: mean", "p99", "of its mean", "of its p99"]
    print(table([*head, "llguidance mean", "p99"], rows))
    for r in results:
        if "problem" in r:
            print(f"\n{r['grammar']}: llguidance: {r['problem']}")


def main() -> None:
    """Parse the command line, measure every grammar, print."""
    options = argparse.ArgumentParser(description="Measure the masks of texts that are met first.")
    add_subject_options(options, DEFAULT, documents=10)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--tokens", type=int, default=1000, metavar="N", help="of a text, at most (default 1000)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    results = []
    for subject in chosen(args):
        print(subject.name, file=sys.stderr, flush=True)
        results.append(measure(subject, info, args))
    about = machine()
    if args.json != "-":
        print(f"{info.name} ({info.vocab_size:,}), seed {args.seed}; {in_words(about)}\n")
        print_table(results)
    report({"benchmark": "first_visits", **about, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
