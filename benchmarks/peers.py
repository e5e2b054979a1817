"""Run psc side by side with llguidance and XGrammar: same files, same tokenizer, same machine, one run.

    python benchmarks/peers.py GRAMMAR FILES_OR_DIRS... --tokenizer SPEC [--sample N] [--peer-steps N] [--json FILE]

The idea: figures of different runs on a shared machine cannot be compared, so the engines take turns file by file. In each file
the same tokens are followed by all (teacher forcing), and the mask is computed and timed at the same places, spread evenly over
the file, together with the accept that follows. The first pass over the files finds caches empty; the later ones (`--rounds`)
do not. Every engine is asked in the way that is fastest from Python, on one thread. `psc row` is the number of a mask row, `psc
fill` the row copied into an array as the others do it; both run over a grammar that was compiled ahead of time, `psc jit row`
and `psc jit fill` over one that is built as it is visited.

An engine that is so slow that its masks of a file would take more than `--file-seconds` gets fewer of them. Absent
engines are named, and so is what an engine refuses. Accepted: tokens accepted before the first refusal in each file, of
all tokens; what comes after a refusal is not followed.

The cost: seconds to minutes a file and engine, as `--file-seconds` allows.
"""

import argparse
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from corpus import add_corpus_options, encoder, read_corpus, tokenize
from engines import ENGINES, Ready, Visit, Worker, installed
from measure import Summary, in_words, machine, number, report, table
from subjects import Subject, find_subject

import psc

COMPILE_TIMEOUT = 600.0


@dataclass
class Pass:
    """Readings of one engine in the first pass, or in all later ones."""

    masks: list[int] = field(default_factory=list)
    accepts: list[int] = field(default_factory=list)

    def add(self, visit: Visit) -> None:
        """Take in one file."""
        self.masks += visit.masks
        self.accepts += visit.accepts


@dataclass
class Contestant:
    """An engine of this run and what was measured."""

    name: str
    version: str
    worker: Worker
    compile_seconds: float = 0.0
    first_mask_seconds: float = 0.0
    grammar: str = ""
    overhead: float = 0.0
    problem: str = ""
    first: Pass = field(default_factory=Pass)
    later: Pass = field(default_factory=Pass)
    accepted: int = 0
    offered: int = 0
    files: int = 0
    files_accepted: int = 0

    def mask_seconds(self) -> float:
        """Mean seconds of a mask so far; 0 before the first."""
        masks = self.first.masks + self.later.masks
        return sum(masks) / len(masks) / 1e9 if masks else 0.0


def evenly(length: int, n: int) -> frozenset[int]:
    """`n` positions spread over a text of `length` tokens."""
    n = min(n, length)
    return frozenset(i * length // n for i in range(n))


def assemble(subject: Subject, spec: str, names: list[str]) -> tuple[list[Contestant], dict[str, str]]:
    """Start the engines one after the other; those that cannot take part, with the reason."""
    running, out = [], {}
    for name in names:
        found = installed(name)
        if found is None:
            out[name] = "not installed"
            continue
        print(f"starting {name} {found}", file=sys.stderr, flush=True)
        contestant = Contestant(name, found, Worker(name, subject, spec))
        try:
            ready: Ready = contestant.worker.receive(COMPILE_TIMEOUT)
        except RuntimeError as error:
            out[name] = f"refused: {error}"
            contestant.worker.stop()
            continue
        contestant.compile_seconds, contestant.first_mask_seconds = ready.compile_seconds, ready.first_mask_seconds
        contestant.grammar, contestant.overhead = ready.grammar, ready.overhead
        running.append(contestant)
    return running, out


def take_turn(contestant: Contestant, ids: list[int], args: argparse.Namespace, first: bool) -> None:
    """One engine, one file."""
    steps: int = args.peer_steps
    if not contestant.first.masks:  # how slow is it? A few masks near the beginning, not recorded
        probe = contestant.worker.visit(ids[:100], evenly(100, 5), COMPILE_TIMEOUT)
        mean = sum(probe.masks) / max(len(probe.masks), 1) / 1e9
    else:
        mean = contestant.mask_seconds()
    if mean * steps > args.file_seconds:
        steps = max(5, int(args.file_seconds / mean))
    result = contestant.worker.visit(ids, evenly(len(ids), steps), COMPILE_TIMEOUT)
    (contestant.first if first else contestant.later).add(result)
    if first:
        contestant.offered += len(ids)
        contestant.accepted += result.accepted
        contestant.files += 1
        contestant.files_accepted += result.accepted == len(ids)


def run(contestants: list[Contestant], texts: list[list[int]], args: argparse.Namespace) -> None:
    """All rounds: file by file, the engines in turn."""
    for turn in range(args.rounds + 1):
        for n, ids in enumerate(texts):
            if sys.stderr.isatty():
                print(f"\rround {turn}, file {n + 1}/{len(texts)}  ", end="", file=sys.stderr, flush=True)
            for contestant in contestants:
                if contestant.problem:
                    continue
                try:
                    take_turn(contestant, ids, args, first=turn == 0)
                except RuntimeError as error:
                    contestant.problem = str(error)
    if sys.stderr.isatty():
        print(file=sys.stderr)


def print_tables(contestants: list[Contestant], out: dict[str, str]) -> None:
    """The engines, and the figures of each pass."""
    head = ["engine", "version", "grammar", "compile s", "first mask ms", "files accepted", "tokens accepted %", "remark"]
    rows = [
        [
            c.name,
            c.version,
            c.grammar,
            number(c.compile_seconds),
            number(c.first_mask_seconds * 1e3),
            f"{c.files_accepted}/{c.files}",
            f"{100 * c.accepted / max(c.offered, 1):.2f}",
            c.problem,
        ]
        for c in contestants
    ]
    rows += [[name, installed(name) or "-", "-", "-", "-", "-", "-", why] for name, why in out.items()]
    print(table(head, rows))
    print("\nMicroseconds:\n")
    head = ["engine", "pass", "masks", "mask mean", "p50", "p99", "max", "accept mean", "p50", "p99"]
    rows = []
    for c in contestants:
        for name, part in (("first", c.first), ("later", c.later)):
            mask, accept = Summary.of(part.masks, c.overhead), Summary.of(part.accepts, c.overhead)
            figures = (mask.mean, mask.p50, mask.p99, mask.max, accept.mean, accept.p50, accept.p99)
            rows.append([c.name, name, f"{mask.calls:,}", *map(number, figures)])
    print(table(head, rows))


def as_document(c: Contestant) -> dict[str, Any]:
    """The machine-readable form of one engine's part."""
    passes = {
        name: {
            "mask_us": asdict(Summary.of(part.masks, c.overhead)),
            "accept_us": asdict(Summary.of(part.accepts, c.overhead)),
        }
        for name, part in (("first", c.first), ("later", c.later))
    }
    plain = ("name", "version", "grammar", "compile_seconds", "first_mask_seconds", "problem", "accepted", "offered")
    return {**{key: getattr(c, key) for key in (*plain, "files", "files_accepted")}, **passes}


def main() -> None:
    """Parse the command line, run all engines, print."""
    options = argparse.ArgumentParser(description="Run psc side by side with llguidance and XGrammar.")
    options.add_argument("grammar", help="a bundled name (json: the Lark grammar), builtin-json, a name from grammars/, or a path")
    add_corpus_options(options)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES), help="default: all")
    options.add_argument("--rounds", type=int, default=2, metavar="R", help="passes after the first (default 2)")
    options.add_argument("--peer-steps", type=int, default=300, metavar="N", help="masks of a file and pass (300)")
    options.add_argument("--file-seconds", type=float, default=3.0, metavar="S", help="for the masks of a file (3)")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()

    subject = find_subject(args.grammar)
    corpus = read_corpus(args, "." + subject.name)
    info = psc.load_tokenizer(args.tokenizer)
    how, encode = encoder(args.tokenizer, info)
    tokenized, left_out = tokenize(corpus, info, encode)
    texts = list(tokenized.values())
    contestants, out = assemble(subject, args.tokenizer, args.engines)
    try:
        run(contestants, texts, args)
    finally:
        for c in contestants:
            c.worker.stop()
    about = machine()
    tokens = sum(map(len, texts))
    if args.json != "-":
        print(f"{subject.name}, {info.name} ({info.vocab_size:,}), tokenized by {how}: {len(texts)} files, ", end="")
        print(f"{tokens:,} tokens, {left_out} left out, seed {args.seed}; {in_words(about)}\n")
        print_tables(contestants, out)
    document = {"benchmark": "peers", **about, "grammar": subject.name, "tokenizer": info.name, "tokens": tokens}
    report({**document, "engines": [as_document(c) for c in contestants], "out": out}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
