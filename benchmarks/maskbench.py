"""Run MaskBench's protocol: JSON schemas with instances, psc side by side with llguidance and XGrammar in one run.

    python benchmarks/maskbench.py SCHEMAS.jsonl[.zst] --tokenizer SPEC [--engines E ...] [--every N] [--any-order] [--json FILE]

The idea: a line of the file is `{"name", "schema", "tests": [{"valid", "data"}]}`, as JSONSchemaBench's MaskBench has them. Each
engine compiles each schema once, cold, up to its first mask; then each instance is written as `json.dumps` writes it, tokenized,
and taken token by token: the mask is computed, the token looked up in it, and accepted. An instance passes if every token is
allowed and the end after the last one is. A valid one should pass, an invalid one should not. The engines take turns, schema by
schema, in changing order. Open objects are open in all of them (`strict_mode=False`).

The cost: some seconds for a hundred schemas; nothing is warmed but imports and the vocabulary.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from corpus import Encode, encoder
from json_engines import ENGINES, Bits, Compile, empty_mask, made, passes, psc_engine
from measure import in_words, machine, number, report, table

import psc

PERCENTILES = (50, 90, 99, 100)


@dataclass
class Result:
    """What an engine did with the schemas."""

    compiled: int = 0
    refused: int = 0
    first_mask: dict[str, float] = field(default_factory=dict)
    """Seconds from the schema's text to the first mask, by name."""
    masks: list[int] = field(default_factory=list)
    """Nanoseconds a mask."""
    valid_refused: list[str] = field(default_factory=list)
    invalid_accepted: list[str] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    """Names of schemas with a wrong verdict."""
    refusals: dict[str, str] = field(default_factory=dict)


def read(path: Path, every: int) -> Iterator[dict[str, Any]]:
    """The schemas of a file, one in `every`."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    for i, line in enumerate(data.decode().splitlines()):
        if i % every == 0:
            yield json.loads(line)


def run(schemas: Iterator[dict[str, Any]], by: dict[str, Compile], bits: Bits, encode: Encode, end: int) -> dict[str, Result]:
    """All schemas, the engines taking turns."""
    results = {name: Result() for name in by}
    for i, entry in enumerate(schemas):
        schema = json.dumps(entry["schema"])
        for name in list(by) if i % 2 else list(reversed(by)):
            result = results[name]
            began = time.perf_counter()
            try:
                new = by[name](schema)
                new().mask()
            except (RuntimeError, ValueError) as error:
                result.refused += 1
                result.refusals[entry["name"]] = str(error)
                continue
            result.first_mask[entry["name"]] = time.perf_counter() - began
            result.compiled += 1
            for test in entry["tests"]:
                ids = encode(json.dumps(test["data"], ensure_ascii=False).encode())
                try:
                    passed = passes(new(), bits, ids, end, result.masks)
                except (RuntimeError, ValueError):
                    passed = False
                if passed != test["valid"]:
                    (result.valid_refused if test["valid"] else result.invalid_accepted).append(entry["name"])
                    result.wrong.add(entry["name"])
    return results


def print_tables(results: dict[str, Result]) -> None:
    """Verdicts, times, and the ratios to psc's."""
    print("Verdicts: schemas compiled, schemas with a wrong verdict, instances.\n")
    rows = [
        [name, str(r.compiled), str(r.refused), str(len(r.wrong)), str(len(r.valid_refused)), str(len(r.invalid_accepted))]
        for name, r in results.items()
    ]
    print(table(["engine", "compiled", "refused", "wrong", "valid refused", "invalid accepted"], rows))
    both = set.intersection(*[set(r.first_mask) for r in results.values()])
    print(f"\nMilliseconds from text to first mask, the {len(both)} schemas that all compile:\n")
    rows = [[name, *_percentiles([r.first_mask[n] * 1e3 for n in sorted(both)])] for name, r in results.items()]
    print(table(["engine", "mean", *(f"p{p}" for p in PERCENTILES)], rows))
    print("\nMicroseconds a mask, first visits included:\n")
    rows = [[name, str(len(r.masks)), *_percentiles([x / 1e3 for x in r.masks])] for name, r in results.items()]
    print(table(["engine", "masks", "mean", *(f"p{p}" for p in PERCENTILES)], rows))


def _percentiles(values: list[float]) -> list[str]:
    if not values:
        return ["-"] * (1 + len(PERCENTILES))
    return [number(float(np.mean(values))), *(number(float(x)) for x in np.percentile(values, PERCENTILES))]


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="Run MaskBench's protocol over psc, llguidance and XGrammar.")
    options.add_argument("schemas", type=Path, metavar="SCHEMAS", help="a .jsonl file, perhaps .zst, of name, schema and tests")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="E", help="default: all installed")
    options.add_argument("--every", type=int, default=1, metavar="N", help="take one schema in N (default 1)")
    options.add_argument("--any-order", action="store_true", help="psc: members in any order, where objects are small enough")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    _, encode = encoder(args.tokenizer, info)
    bits = empty_mask(info)
    compiler = psc.GrammarCompiler(info, cache_enabled=False, store=False)
    by = made(args.engines, info, bits, encode, lambda: psc_engine(compiler, bits, any_order=args.any_order))
    results = run(read(args.schemas, args.every), by, bits, encode, info.stop_token_ids[0])
    about = machine()
    if args.json != "-":
        print(f"{info.name}; {in_words(about)}\n")
        print_tables(results)
    document = {
        name: {
            "compiled": r.compiled,
            "refusals": r.refusals,
            "first_mask_seconds": r.first_mask,
            "valid_refused": r.valid_refused,
            "invalid_accepted": r.invalid_accepted,
            "mask_nanoseconds": _percentiles([float(x) for x in r.masks]),
        }
        for name, r in results.items()
    }
    report({"benchmark": "maskbench", **about, "results": document}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
