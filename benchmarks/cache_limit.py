"""Measure what a limit on memory costs: the same texts with caches of several sizes, from none to a fraction of what they would
take.

    python benchmarks/cache_limit.py [GRAMMAR...] --tokenizer SPEC [--corpus GRAMMAR=PATH...] [--limits MB...] [--json FILE]

The idea: `cache_limit_bytes` bounds what the grammars of a compiler have built; when it is exceeded, what was built is let go
of and built again as it is visited. All the grammars go into one compiler, as on a server, and their texts are read in turn;
after every step the size is asked for, outside the time. The largest says whether the limit holds, the time a token what it
costs.

The cost: a pass over the texts for each limit; the small ones take long, since everything is built again and again.
"""

import argparse
import gc
import itertools
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from subjects import add_subject_options, chosen, documents_of

import psc
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.subjects import Subject
from psc.bench.texts import encoder, tokenize

GRAMMARS = ("builtin-json", "tool_call", "java")


@dataclass(frozen=True)
class Run:
    """One limit."""

    limit: int
    tokens: int
    largest: int
    """Of `get_cache_size_bytes()`, after each step."""
    machines: int
    """The same without what is shared by all grammars of the vocabulary: the sum of `memory_size_bytes`."""
    step_us: float
    """CPU time a step."""
    p99_us: float
    compilations: int
    """Grammars that had been let go of and were compiled again, the first time included."""
    refused: int


def run(limit: int, subjects: list[Subject], texts: list[list[list[int]]], info: psc.TokenizerInfo) -> Run:
    """All texts of all grammars, in turn."""
    compiler = psc.GrammarCompiler(info, store=False, cache_limit_bytes=limit)
    grammars = [subject.open() for subject in subjects]
    now = time.perf_counter_ns
    took: list[int] = []
    largest = machines = compilations = refused = 0
    seen: set[int] = set()
    alive: list[psc.CompiledGrammar] = []
    cpu = 0
    for documents in itertools.zip_longest(*texts):
        for grammar, ids in zip(grammars, documents, strict=True):
            if ids is None:
                continue
            compiled = compiler.compile_grammar(grammar)
            if id(compiled) not in seen:
                seen.add(id(compiled))
                alive.append(compiled)  # so that no other object takes its id
                compilations += 1
            matcher = psc.GrammarMatcher(compiled)
            for token in ids:
                began, t0 = time.thread_time_ns(), now()
                matcher.mask_row()
                good = matcher.accept_token(token)
                took.append(now() - t0)
                cpu += time.thread_time_ns() - began
                largest = max(largest, compiler.get_cache_size_bytes())
                machines = max(machines, sum(c.memory_size_bytes for c in alive))
                if not good:
                    refused += 1
                    break
    us = np.array(took) / 1e3
    return Run(limit, len(took), largest, machines, cpu / 1e3 / len(took), float(np.percentile(us, 99)), compilations, refused)


def print_table(results: list[Run]) -> None:
    """A line a limit."""
    free = results[0].step_us
    head = ["limit MB", "tokens", "largest MB", "of grammars MB", "within", "CPU us a step", "ratio", "p99 us", "compilations"]
    rows = [
        [
            "none" if r.limit < 0 else number(r.limit / 1e6),
            f"{r.tokens:,}",
            number(r.largest / 1e6),
            number(r.machines / 1e6),
            "-" if r.limit < 0 else "yes" if r.largest <= r.limit else "no",
            number(r.step_us),
            f"{r.step_us / free:.2f}",
            number(r.p99_us),
            str(r.compilations),
        ]
        for r in results
    ]
    print(table(head, rows))


def main() -> None:
    """Parse the command line, measure every limit, print."""
    options = argparse.ArgumentParser(description="Measure what a limit on the memory of caches costs.")
    add_subject_options(options, default=GRAMMARS)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--limits", type=float, nargs="+", default=[64, 16, 4], metavar="MB", help="default 64 16 4")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    info = psc.load_tokenizer(args.tokenizer)
    encode = encoder(args.tokenizer, info)[1]
    subjects = chosen(args)
    texts = [list(tokenize(documents_of(s, args), info, encode)[0].values()) for s in subjects]
    results = []
    for limit in (-1, *(int(mb * 1e6) for mb in args.limits)):
        print(f"limit {limit:,}", file=sys.stderr, flush=True)
        results.append(run(limit, subjects, texts, info))
        gc.collect()
    about: dict[str, Any] = machine()
    if args.json != "-":
        print(f"{', '.join(s.name for s in subjects)}; {info.name} ({info.vocab_size:,}); {in_words(about)}\n")
        print_table(results)
    report({"benchmark": "cache_limit", **about, "results": [asdict(r) for r in results]}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
