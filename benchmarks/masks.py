"""Measure masks over real files, token by token: what a decoding step costs.

    python benchmarks/masks.py GRAMMAR FILES_OR_DIRS... --tokenizer SPEC... [--sample N] [--rounds R] [--json FILE]

The idea: a file that the grammar accepts is a text that a model could have written. It is tokenized as the model would
do it, then replayed (teacher forcing): at each token the mask is asked for, in one of three ways, and the token is
accepted; after the last, a stop token.

    row    mask_row(): the number of the mask, what an engine with rows on the GPU needs
    mask   mask(): the row as a NumPy array, no copy
    fill   fill_next_token_bitmask(): the row copied into a caller's array

Two passes: the first (cold) over freshly loaded tables, which composes each row when it is first met; then, after
reset(), the same files again (steady), `--rounds` times in turn for all tokenizers and ways; there, chunks of tokens
during which the kernel took the CPU away are left out (in the first pass nothing is). `step` is mask and accept
together from whole loops, without a clock inside: the median round. The rest is of single calls, less the timer's own
cost. A mask and an accept cannot be told apart by loops, since the mask is remembered until the next accept.

With `--warm N` N of the files are texts that the artifact is warm for (`psc compile --warm`), and only the others are
replayed. One more first pass, `warm`, begins when the rows that those texts met are composed.

`--evict MB` adds steps before each of which MB of other memory are written, as a model's layers would on a CPU: what a
step costs when nothing of psc is in the caches.

The cost: compiling, then some microseconds a token and round. With `--keep DIR` artifacts are kept and used again.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from corpus import add_corpus_options, read_corpus

import psc
from psc.artifacts.format import Artifact, decode, encode, read_file, write_file
from psc.bench.measure import (
    Clocks,
    Summary,
    in_words,
    machine,
    median_clocks,
    number,
    preemptions,
    report,
    table,
    timer_overhead,
)
from psc.bench.texts import encoder, tokenize
from psc.compiler.frontends.lookup import GrammarFile, find_grammar
from psc.compiler.pipeline.build import build
from psc.compiler.revision import COMPILER_REVISION
from psc.corpus.texts import Text
from psc.grammars.compiled_grammar import compiled_from_artifact
from psc.grammars.grammar import Grammar
from psc.grammars.warm_texts import rows_met

WAYS = ("row", "mask", "fill")
CHUNK = 500  # tokens; together some 0.1 ms, far below a time slice


@dataclass
class Readings:
    """Nanoseconds of single calls, the timer's own included."""

    masks: list[int]
    accepts: list[int]

    def add(self, more: "Readings") -> None:
        """Take in what another document gave."""
        self.masks += more.masks
        self.accepts += more.accepts


@dataclass
class Subject:
    """One tokenizer: its artifact, the token ids of the files that the grammar accepts, and what was measured."""

    info: psc.TokenizerInfo
    artifact: Artifact
    tokenized_by: str
    documents: list[list[int]]
    left_out: int
    rejected: int
    named: Artifact | None = None
    """The artifact with the names of rows that other files met."""
    rows: int = 0
    row_bytes: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Tokens of a pass."""
        return sum(map(len, self.documents))

    def warm(self) -> psc.CompiledGrammar:
        """The grammar with the rows made that other files met."""
        assert self.named is not None
        made = compiled_from_artifact(self.named, lambda: None, tokenizer_info=self.info, place="warm")
        made.wait_until_warm()
        return made

    def compiled(self) -> psc.CompiledGrammar:
        """The grammar with no mask row made yet."""
        made = psc.CompiledGrammar.from_artifact(self.artifact, tokenizer_info=self.info)
        assert isinstance(made, psc.CompiledGrammar)
        return made


def prepare(grammar: GrammarFile, spec: str, corpus: list[Text], keep: Path | None, n_warm: int) -> Subject:
    """Compile, tokenize, and drop the documents that the grammar does not accept."""
    info = psc.load_tokenizer(spec)
    artifact = _artifact(grammar, info, keep)
    how, encode_text = encoder(spec, info)
    tokenized, left_out = tokenize(corpus[n_warm:], info, encode_text)
    subject = Subject(info, artifact, how, [], left_out, 0)
    if n_warm:
        names = rows_met(artifact.arrays, artifact.metadata, info, [(d.name, d.data) for d in corpus[:n_warm]])
        subject.named = replace(artifact, arrays={**artifact.arrays, **names.arrays})
    compiled = subject.compiled()
    matcher = psc.GrammarMatcher(compiled)
    for ids in tokenized.values():
        matcher.reset()
        if all(map(matcher.accept_token, ids)) and matcher.is_completed():
            subject.documents.append([*ids, *info.stop_token_ids[:1]])
        else:
            subject.rejected += 1
    if not subject.documents:
        raise SystemExit(f"{spec}: the grammar accepts none of the {len(corpus)} documents")
    return subject


def _artifact(grammar: GrammarFile, info: psc.TokenizerInfo, keep: Path | None) -> Artifact:
    """A kept artifact of this very grammar, vocabulary and compiler, or a new one."""
    request = grammar.request()
    path = keep and keep / f"{grammar.stem}-{info.name.split('.')[0] or info.fingerprint[:12]}.psc"
    if path and path.exists() and (kept := _kept(path, request.text, info)):
        return kept
    result = build(Grammar.parse(request).artifact_tables(), info)
    data = encode(result.arrays, result.metadata)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data)
    return decode(data)


def _kept(path: Path, source: str, info: psc.TokenizerInfo) -> Artifact | None:
    try:
        artifact = read_file(path)
    except psc.ArtifactError:  # of another version
        return None
    found = artifact.metadata
    key = (found["grammar"]["text"], found["tokenizer"]["fingerprint"], found["compiler_revision"])
    return artifact if key == (source, info.fingerprint, COMPILER_REVISION) else None


def ask(matcher: psc.GrammarMatcher, way: str, vocab_size: int) -> Callable[[], object]:
    """What gets the matcher's mask in one of the three ways."""
    if way == "row":
        return cast(Callable[[], object], matcher.mask_row)
    if way == "mask":
        return cast(Callable[[], object], matcher.mask)
    bitmask = np.full((vocab_size + 31) // 32, -1, np.int32)
    return partial(matcher.fill_next_token_bitmask, bitmask)  # cheaper than the frame of a lambda


def loop(matcher: psc.GrammarMatcher, mask: Callable[[], object], ids: list[int], *, drop: bool = False) -> list[Clocks]:
    """Replay a document without a clock inside but one for each chunk; `drop` leaves out disturbed chunks."""
    accept = matcher.accept_token

    def run(chunk: list[int]) -> int:
        for token in chunk:
            mask()
            accept(token)
        return len(chunk)

    kept = []
    matcher.reset()
    for at in range(0, len(ids), CHUNK):
        before = preemptions()
        clocks = Clocks.over(partial(run, ids[at : at + CHUNK]))
        if not drop or preemptions() == before:
            kept.append(clocks)
    return kept


def call_by_call(matcher: psc.GrammarMatcher, mask: Callable[[], object], ids: list[int], *, drop: bool = False) -> Readings:
    """Replay a document, every call timed; `drop` leaves out disturbed chunks."""
    accept, now = matcher.accept_token, time.perf_counter_ns
    kept = Readings([], [])
    matcher.reset()
    for at in range(0, len(ids), CHUNK):
        masks: list[int] = []
        accepts: list[int] = []
        before = preemptions()
        for token in ids[at : at + CHUNK]:
            t0 = now()
            mask()
            t1 = now()
            accept(token)
            t2 = now()
            masks.append(t1 - t0)
            accepts.append(t2 - t1)
        if not drop or preemptions() == before:
            kept.add(Readings(masks, accepts))
    return kept


def measure_first(subject: Subject, way: str, phase: str, fresh: Callable[[], psc.CompiledGrammar], overhead: float) -> None:
    """First passes: one as a loop and one call by call, each over fresh tables."""
    matcher = psc.GrammarMatcher(fresh())
    mask = ask(matcher, way, subject.info.vocab_size)
    clocks = Clocks.total([c for ids in subject.documents for c in loop(matcher, mask, ids)])
    compiled = fresh()
    matcher = psc.GrammarMatcher(compiled)
    mask = ask(matcher, way, subject.info.vocab_size)
    readings = Readings([], [])
    for ids in subject.documents:
        readings.add(call_by_call(matcher, mask, ids))
    if phase == "cold":
        subject.rows, subject.row_bytes = compiled.n_rows, compiled.memory_size_bytes
    _record(subject, way, phase, [clocks], readings, overhead)


def measure_evicted(subject: Subject, way: str, steps: int, megabytes: int, overhead: float) -> None:
    """A later pass in which `steps` steps, spread over the documents, find the CPU's caches full of other data."""
    matcher = psc.GrammarMatcher(subject.compiled())
    mask, now = ask(matcher, way, subject.info.vocab_size), time.perf_counter_ns
    other = np.zeros(megabytes << 17, np.int64)
    every = max(1, subject.tokens // steps)
    readings = Readings([], [])
    for ids in subject.documents:
        loop(matcher, matcher.mask, ids)
        matcher.reset()
        for n, token in enumerate(ids):
            if n % every != every // 2:
                matcher.accept_token(token)
                continue
            other += 1
            before = preemptions()
            t0 = now()
            mask()
            t1 = now()
            matcher.accept_token(token)
            t2 = now()
            if preemptions() == before:
                readings.add(Readings([t1 - t0], [t2 - t1]))
    _record(subject, way, "evicted", [], readings, overhead)


def measure_steady(subjects: list[Subject], ways: list[str], rounds: int, overhead: float) -> None:
    """Later passes, all subjects and ways in turn in each round."""
    matchers = [psc.GrammarMatcher(s.compiled()) for s in subjects]
    for subject, matcher in zip(subjects, matchers, strict=True):  # make the rows and their views
        for ids in subject.documents:
            loop(matcher, matcher.mask, ids)
    clocks: dict[tuple[int, str], list[Clocks]] = {}
    readings: dict[tuple[int, str], Readings] = {}
    for _ in range(rounds):
        for i, (subject, matcher) in enumerate(zip(subjects, matchers, strict=True)):
            for way in ways:
                mask = ask(matcher, way, subject.info.vocab_size)
                loops = [c for ids in subject.documents for c in loop(matcher, mask, ids, drop=True)]
                clocks.setdefault((i, way), []).append(Clocks.total(loops))
                kept = readings.setdefault((i, way), Readings([], []))
                for ids in subject.documents:
                    kept.add(call_by_call(matcher, mask, ids, drop=True))
    for i, subject in enumerate(subjects):
        for way in ways:
            _record(subject, way, "steady", clocks[i, way], readings[i, way], overhead)


def _record(subject: Subject, way: str, phase: str, clocks: list[Clocks], readings: Readings, overhead: float) -> None:
    step = median_clocks(clocks) if clocks else None
    subject.results.append(
        {
            "way": way,
            "pass": phase,
            "step_us": step and step.wall,
            "step_cpu_us": step and step.cpu,
            "step_best_us": min((c.wall for c in clocks), default=None),
            "disturbed": step is not None and step.disturbed,
            "mask": asdict(Summary.of(readings.masks, overhead)),
            "accept": asdict(Summary.of(readings.accepts, overhead)),
        }
    )


def print_tables(subjects: list[Subject]) -> None:
    """What was run, then the figures."""
    head = ["tokenizer", "vocabulary", "tokenized by", "files", "rejected", "not spelled", "tokens"]
    head += ["distinct rows", "rows MB"]
    print(
        table(
            head,
            [
                [
                    s.info.name,
                    f"{s.info.vocab_size:,}",
                    s.tokenized_by,
                    f"{len(s.documents):,}",
                    str(s.rejected),
                    str(s.left_out),
                    f"{s.tokens:,}",
                    f"{s.rows:,}",
                    number(s.row_bytes / 1e6),
                ]
                for s in subjects
            ],
        )
    )
    print("\nMicroseconds (step: mask and accept, mean of whole loops; best: of the fastest round):\n")
    head = ["tokenizer", "pass", "way", "step", "step, best", "step, CPU"]
    head += ["mask mean", "p50", "p99", "max", "accept mean", "p50", "p99", "max"]
    rows = []
    for s in subjects:
        for r in sorted(s.results, key=lambda r: (r["pass"], WAYS.index(r["way"]))):
            figures = [r["step_us"], r["step_best_us"], r["step_cpu_us"]]
            figures += [r[k][f] for k in ("mask", "accept") for f in ("mean", "p50", "p99", "max")]
            rows.append([s.info.name, r["pass"], r["way"], *map(number, figures)])
    print(table(head, rows))
    if any(r["disturbed"] for s in subjects for r in s.results):
        print("\nDisturbed: wall time exceeds CPU time by more than 20 % in some rows; trust `step, CPU` there.")


def main() -> None:
    """Parse the command line, prepare every tokenizer, measure, print."""
    options = argparse.ArgumentParser(description="Measure masks over real files, token by token.")
    options.add_argument("grammar", help="java, go, sql, json, or a .lark file")
    add_corpus_options(options)
    options.add_argument("--tokenizer", nargs="+", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="ways to get a mask (all)")
    options.add_argument("--rounds", type=int, default=3, metavar="R", help="steady passes (default 3)")
    options.add_argument("--evict", type=int, default=0, metavar="MB", help="also time steps after MB of other data")
    options.add_argument(
        "--warm", type=int, default=0, metavar="N", help="name the rows that the first N files meet, replay the others"
    )
    options.add_argument("--keep", type=Path, metavar="DIR", help="keep artifacts here and use them again")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    grammar = find_grammar(args.grammar)
    corpus = read_corpus(args, "." + grammar.stem)
    subjects = []
    for spec in args.tokenizer:
        print(f"preparing {grammar.stem}, {spec}", file=sys.stderr, flush=True)
        subjects.append(prepare(grammar, spec, corpus, args.keep, args.warm))
    # The cycle collector would run in the middle of a pass and find nothing.
    gc.collect()
    gc.disable()
    overhead = timer_overhead()
    for subject in subjects:
        for way in args.ways:
            measure_first(subject, way, "cold", subject.compiled, overhead)
            if args.warm:
                measure_first(subject, way, "warm", subject.warm, overhead)
            if args.evict:
                measure_evicted(subject, way, 1000, args.evict, overhead)
    measure_steady(subjects, args.ways, args.rounds, overhead)
    about = machine()
    if args.json != "-":
        size = sum(len(d.data) for d in corpus)
        print(f"{grammar.stem}: {len(corpus)} files, {size:,} bytes, seed {args.seed}; {in_words(about)}")
        print(f"The timer's own cost, taken off single calls: {overhead:.0f} ns\n")
        print_tables(subjects)
    results = [
        {
            "tokenizer": s.info.name,
            "vocab_size": s.info.vocab_size,
            "tokenized_by": s.tokenized_by,
            "files": len(s.documents),
            "rejected": s.rejected,
            "not_spelled": s.left_out,
            "tokens": s.tokens,
            "rows": s.rows,
            "row_bytes": s.row_bytes,
            "figures": s.results,
        }
        for s in subjects
    ]
    document = {"benchmark": "masks", **about, "grammar": grammar.stem, "timer_overhead_ns": overhead}
    report({**document, "results": results}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
