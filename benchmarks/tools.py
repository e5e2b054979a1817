"""Tool calls as serving engines ask for them: a new schema with every request, made of tools that come again.

    python benchmarks/tools.py --tokenizer SPEC [--schemas SCHEMAS.jsonl[.zst]] [--engines E ...] [--requests N] [--stages]

The idea: there are 100 tools, and a request brings 50 of them, drawn anew, with `tool_choice` "required". Engines then make one
JSON schema of these: an array of at least one call, `anyOf` over the tools, each an object of its name and its parameters.
Tools are generated, of the kinds of parameters that real ones have; or drawn from a file of schemas with instances, as `psc
bench maskbench` reads them. Each request is compiled by each engine in turn, and calls with valid parameters are taken token by
token. Open objects are open in all engines (`strict_mode=False`).

The cost: a minute for 100 requests; XGrammar takes longer.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import psc
from psc.bench.json_engines import ENGINES, Bits, Compile, empty_mask, made, passes, psc_engine
from psc.bench.maskbench import read
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.texts import Encode, encoder
from psc.bench.tool_requests import Tool, calls_of, generated_tools, request_of
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.cfg.lr_tables import lr_tables_of_rules
from psc.compiler.cfg.terminals import open_terminals_of_rules
from psc.compiler.pipeline.just_in_time import lazy_machine, vocabulary_index
from psc.compiler.pipeline.ready_grammar import ReadyRules
from psc.requests.json_schemas import schema_request

COMPILE_ASKED_MS, MASK_ASKED_US = 3.0, 50.0
WARM_UP = 10
"""Requests that are not counted for the asked mean."""
_MAX_SCHEMA_BYTES = 4_000


def tools_of(path: Path, n: int, rng: random.Random, takes: Callable[[Tool], bool]) -> list[Tool]:
    """Tools whose parameters are schemas of a file: of objects, without references, with valid instances."""
    entries = [e for e in read(path, 1) if _may_be_parameters(e["schema"])]
    rng.shuffle(entries)
    found: list[Tool] = []
    for entry in entries:
        valid = tuple(t["data"] for t in entry["tests"] if t["valid"])[:4]
        tool = Tool(f"tool_{len(found)}", entry["schema"], valid)
        if valid and takes(tool):
            found.append(tool)
        if len(found) == n:
            return found
    raise SystemExit(f"{path}: has {len(found)} schemas that can be the parameters of a tool, of {n}")


def _may_be_parameters(schema: Any) -> bool:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    text = json.dumps(schema)
    return len(text) <= _MAX_SCHEMA_BYTES and '"$' not in text.replace('"$schema"', "").replace('"$comment"', "")


def psc_as_served(info: psc.TokenizerInfo, bits: Bits) -> Compile:
    """psc as a server has it: one compiler for all requests."""
    return psc_engine(psc.GrammarCompiler(info, store=False, cache_limit_bytes=1 << 30), bits)


def takes_all(by: dict[str, Compile], bits: Bits, encode: Encode, end: int) -> Callable[[Tool], bool]:
    """Whether every engine takes a tool by itself, and all of its arguments."""

    def takes(tool: Tool) -> bool:
        try:
            for compile_schema in by.values():
                new = compile_schema(json.dumps(tool.parameters))
                for value in tool.arguments:
                    if not passes(new(), bits, encode(json.dumps(value, ensure_ascii=False).encode()), end, []):
                        return False
        except (RuntimeError, ValueError):
            return False
        return True

    return takes


@dataclass
class Result:
    """What an engine did with the requests."""

    compiles: list[float] = field(default_factory=list)
    """Milliseconds each."""
    first_masks: list[float] = field(default_factory=list)
    """Milliseconds from the schema's text to the first mask."""
    masks: list[int] = field(default_factory=list)
    """Nanoseconds each, first visits among them."""
    refused: list[str] = field(default_factory=list)
    """Why requests were."""
    calls: int = 0
    calls_refused: int = 0


def run(
    requests: Iterator[tuple[str, list[str]]], by: dict[str, Compile], bits: Bits, encode: Encode, end: int
) -> dict[str, Result]:
    """All requests, the engines taking turns."""
    results = {name: Result() for name in by}
    for i, (schema, texts) in enumerate(requests):
        for name in list(by) if i % 2 else list(reversed(by)):
            result = results[name]
            began = time.perf_counter()
            try:
                new = by[name](schema)
                compiled = time.perf_counter()
                new().mask()
            except (RuntimeError, ValueError) as error:
                result.refused.append(str(error))
                continue
            result.first_masks.append((time.perf_counter() - began) * 1e3)
            result.compiles.append((compiled - began) * 1e3)
            for text in texts:
                result.calls += 1
                result.calls_refused += not passes(new(), bits, encode(text.encode()), end, result.masks)
    return results


def stages(schemas: list[str], info: psc.TokenizerInfo) -> dict[str, float]:
    """Milliseconds that each stage of a compilation takes, on the mean."""
    vocabulary = vocabulary_index(info)
    total = dict.fromkeys(["text", "front end", "terminals and productions", "terminals to an NFA", "LR tables", "machine"], 0.0)
    for schema in schemas:
        at = time.perf_counter()

        def lap(name: str) -> None:
            nonlocal at
            now = time.perf_counter()
            total[name] += (now - at) * 1e3 / len(schemas)
            at = now

        request = schema_request(schema, strict_mode=False)
        lap("text")
        parsed: Any = request.parse()
        lap("front end")
        rules = LoweredRules(parsed)
        lap("terminals and productions")
        open_terminals_of_rules(rules)
        lap("terminals to an NFA")
        lr_tables_of_rules(rules)
        lap("LR tables")
        ready = ReadyRules(parsed)
        at = time.perf_counter()
        lazy_machine(ready, vocabulary)
        lap("machine")
    return total


def print_tables(results: dict[str, Result], by_stage: dict[str, float]) -> None:
    """Times, and what was asked of psc."""

    def spread(values: list[float]) -> list[str]:
        after = values[WARM_UP:] or values
        return [number(x) for x in (float(np.mean(after)), *np.percentile(after, (50, 99)))] if after else ["-"] * 3

    print(f"Milliseconds a request, after the first {WARM_UP}; microseconds a mask, first visits included.\n")
    rows = []
    for name, r in results.items():
        us = [x / 1e3 for x in r.masks]
        masks = [number(x) for x in (float(np.mean(us)), *np.percentile(us, (50, 99)))] if us else ["-"] * 3
        rows.append(
            [name, *spread(r.compiles), *spread(r.first_masks), *masks, f"{r.calls_refused} of {r.calls}", str(len(r.refused))]
        )
    names = [f"{what} {how}" for what in ("compile", "first mask", "mask") for how in ("mean", "p50", "p99")]
    print(table(["engine", *names, "calls refused", "requests refused"], rows))
    if by_stage:
        print("\nWhere psc's compilation goes, milliseconds on the mean:\n")
        print(table(["stage", "ms"], [[name, number(ms)] for name, ms in by_stage.items()]))
    ours = results.get("psc")
    if ours is None or not ours.compiles:
        return
    mean = float(np.mean(ours.compiles[WARM_UP:] or ours.compiles))
    p99 = float(np.percentile(ours.masks, 99)) / 1e3
    asked = [
        [
            "mean compile after the first ten",
            f"{number(mean)} ms",
            f"at most {COMPILE_ASKED_MS:g} ms",
            _kept(mean <= COMPILE_ASKED_MS),
        ],
        ["p99 of masks", f"{number(p99)} us", f"at most {MASK_ASKED_US:g} us", _kept(p99 <= MASK_ASKED_US)],
    ]
    print()
    print(table(["of psc", "measured", "asked", ""], asked))


def _kept(holds: bool) -> str:
    return "kept" if holds else "not kept"


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="Compile requests of 50 tools, and take calls of them token by token.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--schemas", type=Path, metavar="FILE", help="draw the tools from a file as psc bench maskbench reads it")
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="E", help="default: all installed")
    options.add_argument("--tools", type=int, default=100, metavar="N", help="how many there are (default 100)")
    options.add_argument("--of-request", type=int, default=50, metavar="N", help="how many a request brings (default 50)")
    options.add_argument("--requests", type=int, default=100, metavar="N", help="default 100")
    options.add_argument("--calls", type=int, default=3, metavar="N", help="texts taken for each request (default 3)")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    options.add_argument("--stages", action="store_true", help="say where psc's compilations spend their time")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    _, encode = encoder(args.tokenizer, info)
    bits = empty_mask(info)

    def engines(names: list[str]) -> dict[str, Compile]:
        return made(names, info, bits, encode, lambda: psc_as_served(info, bits))

    by = engines(args.engines)
    end, rng = info.stop_token_ids[0], random.Random(args.seed)
    if args.schemas is None:
        tools = generated_tools(args.tools, rng)
    else:
        tools = tools_of(args.schemas, args.tools, rng, takes_all(by, bits, encode, end))
        by = engines(list(by))  # ones that have not seen them
    requests = []
    for _ in range(args.requests):
        some = rng.sample(tools, args.of_request)
        requests.append((request_of(some), [calls_of(some, rng) for _ in range(args.calls)]))
    results = run(iter(requests), by, bits, encode, end)
    by_stage = stages([schema for schema, _ in requests[: WARM_UP * 2]], info) if args.stages else {}
    about = machine()
    if args.json != "-":
        size = float(np.mean([len(schema) for schema, _ in requests])) / 1e3
        what = f"{args.requests} requests of {args.of_request} of {args.tools} tools, {size:.0f} kB each"
        print(f"{info.name}; {what}; {in_words(about)}\n")
        print_tables(results, by_stage)
    document = {name: vars(r) for name, r in results.items()}
    report({"benchmark": "tools", **about, "stages_ms": by_stage, "results": document}, args.json)


if __name__ == "__main__":
    try:
        main()
    except psc.PscError as error:
        sys.exit(str(error))
