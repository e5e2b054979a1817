"""Measure how long a serving process that finds its artifact in the local store takes to its first mask.

    python benchmarks/cold_start.py [GRAMMAR...] --tokenizer SPEC [--repeat R] [--json FILE]

The idea: the artifact is in a store, as `psc batch` or a download leaves it. Each reading is a new process that has imported
psc and loaded the tokenizer; from `GrammarCompiler(...)` to the mask at the beginning of the text. *First* is the process that
finds the artifact compressed, and leaves the uncompressed copy; *later* are those that map it. *Built* is a process with no
store, which builds the grammar just in time.

*Shared* is what a later process maps and shares with the others on the host.

The cost: a process for each reading, about a second.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psc
from psc.bench.isolated import result
from psc.bench.measure import machine, number, report, table

TIMEOUT = 300.0


@dataclass(frozen=True)
class Start:
    """One reading."""

    seconds: float
    key: float
    """Of them until the artifact's key was known."""
    lazy: bool
    shared_bytes: int


def start(grammar: str, spec: str, store: str | None) -> Start:
    """The first mask of this process."""
    info = psc.load_tokenizer(spec)
    _ = psc.GrammarCompiler, psc.GrammarMatcher  # imported
    from psc.compiler.frontends.found import find_grammar

    before = mapped()
    began = time.perf_counter()
    compiler = psc.GrammarCompiler(info, store=store or False)
    compiled = compiler.compile_file(grammar)
    psc.GrammarMatcher(compiled).mask_row()
    seconds = time.perf_counter() - began
    after = mapped()
    began = time.perf_counter()
    asked = find_grammar(grammar).request().key()
    assert asked is not None
    asked.with_vocabulary(info.fingerprint)
    key = time.perf_counter() - began
    return Start(seconds, key, compiled.is_lazy, after - before)


def mapped() -> int:
    """Resident bytes of this process that are pages of files."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    kib = {name: int(value.split()[0]) for name, value in fields.items()}
    return (kib["Rss"] - kib["Anonymous"]) * 1024


def compile_into(grammar: str, spec: str, store: str) -> None:
    """Leaves the artifact in a store, as another process would."""
    from psc.artifacts.store import Store
    from psc.compiler.frontends.found import find_grammar
    from psc.grammars.build_grammar import artifact_bytes
    from psc.grammars.grammar import Grammar

    Store(store).add(artifact_bytes(Grammar.parse(find_grammar(grammar).request()), psc.load_tokenizer(spec)))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("grammars", nargs="*", default=["java", "go", "sql", "json"], metavar="GRAMMAR")
    options.add_argument("--tokenizer", required=True, metavar="SPEC")
    options.add_argument("--repeat", type=int, default=5, metavar="R", help="later processes (default 5); the median is shown")
    options.add_argument("--json", metavar="FILE")
    args = options.parse_args()
    rows, readings = [], []
    with tempfile.TemporaryDirectory(prefix="psc-cold-start-") as folder:
        for grammar in args.grammars:
            store = os.path.join(folder, grammar.replace("/", "-"))
            result(compile_into, grammar, args.tokenizer, store, timeout=TIMEOUT)
            first = result(start, grammar, args.tokenizer, store, timeout=TIMEOUT)
            later = [result(start, grammar, args.tokenizer, store, timeout=TIMEOUT) for _ in range(args.repeat)]
            built = result(start, grammar, args.tokenizer, None, timeout=TIMEOUT)
            if first.lazy or any(r.lazy for r in later) or not built.lazy:
                sys.exit(f"{grammar}: the artifact was not found in the store")
            middle = sorted(later, key=lambda r: r.seconds)[len(later) // 2]
            shutil.rmtree(store)
            readings.append({"grammar": grammar, "first": vars(first), "later": [vars(r) for r in later], "built": vars(built)})
            rows.append(
                [
                    grammar,
                    number(middle.seconds * 1e3),
                    number(max(r.seconds for r in later) * 1e3),
                    number(first.seconds * 1e3),
                    number(middle.key * 1e3),
                    number(built.seconds * 1e3),
                    number(middle.shared_bytes / 1e6),
                ]
            )
    head = ["grammar", "later ms", "worst later", "first ms", "key ms", "built ms", "shared MB"]
    print(table(head, rows))
    report({"machine": machine(), "tokenizer": args.tokenizer, "readings": readings}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
