"""Measure whether grammars close ahead of time, and what that takes, for several tokenizers.

    python benchmarks/closed.py [GRAMMAR...] --tokenizer SPEC [--tokenizer SPEC...] [--json FILE]

The idea: an artifact that is closed costs a server nothing that depends on its grammar's size; one that is not is built just in
time again in every process. Each pair of a grammar and a tokenizer is compiled by `psc compile` in a process of its own, one after
the other. Grammars are names of bundled ones, or files; without any, all bundled ones.

The cost: the compilations, a second to ten for a programming language.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from psc.bench.measure import in_words, machine, report, table
from psc.compiler.grammars import bundled_specs


def measure(grammar: str, tokenizer: str) -> dict[str, Any]:
    """What compiling one pair took, or why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "grammar.psc")
        command = [sys.executable, "-P", "-m", "psc", "compile", grammar, "--tokenizer", tokenizer, "-o", str(path), "--json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found: dict[str, Any] = {"grammar": grammar, "tokenizer": tokenizer}
        if process.returncode:
            return {**found, "error": err.strip().rpartition("\n")[2] or f"exit status {process.returncode}"}
        made = json.loads(out)
        return {
            **found,
            "closed": "classifier_states" in made["counts"],
            "partly": "lexer_states" in made["counts"],
            "why_not": made["warnings"][-1] if "classifier_states" not in made["counts"] else None,
            "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "peak_memory_bytes": made["build"]["peak_memory_bytes"],
            "size_bytes": made["size_bytes"],
            "sequences": made["counts"].get("terminal_sequences"),
        }


def row(found: dict[str, Any]) -> list[str]:
    if "error" in found:
        return [found["grammar"], found["tokenizer"], found["error"], "", "", ""]
    return [
        found["grammar"],
        Path(found["tokenizer"]).name,
        "yes" if found["closed"] else "partly" if found["partly"] else "no",
        f"{found['cpu_seconds']:.1f}",
        f"{found['peak_memory_bytes'] / 1e6:,.0f}",
        f"{found['size_bytes'] / 2**20:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grammars", nargs="*", metavar="GRAMMAR", help="bundled names or files; default: all bundled grammars")
    parser.add_argument("--tokenizer", action="append", required=True, metavar="SPEC", dest="tokenizers")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured; -: to standard output")
    args = parser.parse_args()
    found = []
    for tokenizer in args.tokenizers:
        for grammar in args.grammars or bundled_specs():
            found.append(measure(grammar, tokenizer))
            print(" ".join(row(found[-1])), file=sys.stderr, flush=True)
    print(in_words(machine()))
    print(table(["grammar", "tokenizer", "closed", "CPU s", "MB", "MiB on disk"], [row(one) for one in found]))
    closed = sum(one.get("closed", False) for one in found)
    print(f"{closed} of {len(found)} are closed")
    report({"machine": machine(), "pairs": found}, args.json)


if __name__ == "__main__":
    main()
