"""What it costs to admit a request, validated and compiled as a serving engine does it, with psc and llguidance in one run.

    python benchmarks/admission.py --tokenizer SPEC [--schemas SCHEMAS.jsonl[.zst]] [--requests N] [--engines E...] [--json FILE]

The idea: vLLM's server reads each request once to refuse what is wrong, and its engine compiles it. For psc that is what its
adapters call for a request (`psc.serving`), the first mask included, which is made on the thread that compiles; for llguidance
what vLLM's backend `guidance` calls: a schema to a grammar, and its validation, then the same again and a matcher. Each text comes
once. The engines take turns request by request, in changing order; a request counts only if all engines take it. Processor time,
which other programs lengthen less than that of the clock. Needs no vLLM.

The cost: some milliseconds a request and engine; some hundred for few of them.
"""

import argparse
import json
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import psc
from psc.bench.engines import llguidance_tokenizer
from psc.bench.maskbench import read
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.texts import encoder
from psc.bench.tool_requests import generated_tools, request_of
from psc.serving import GrammarService, ServiceOptions
from psc.serving.validation import ValidationCache, check_request

PERCENTILES = (50, 90, 99, 100)
STAGES = ("validate", "compile", "first mask")
Admit = Callable[[str], list[Callable[[], object]]]
"""From a request's text to the stages of its admission."""


def psc_admission(spec: str) -> Admit:
    """By what the adapters of engines call."""
    options = ServiceOptions()
    service = GrammarService(psc.load_tokenizer(spec), options=options)
    validations = ValidationCache(lambda kind, text: check_request(kind, text, options, None), options.validations)
    service.compile("regex", "a")  # reads the vocabulary

    def stages(text: str) -> list[Callable[[], object]]:
        return [
            lambda: validations.validate("json", text),
            lambda: made.append(psc.GrammarMatcher(service.compile("json", text))),
            lambda: made[-1].mask_row(),
        ]

    made: deque[psc.GrammarMatcher] = deque(maxlen=1)
    return stages


def llguidance_admission(spec: str) -> Admit:
    """By what vLLM's backend `guidance` calls."""
    import llguidance

    info = psc.load_tokenizer(spec)
    tokenizer = llguidance_tokenizer(info, encoder(spec, info)[1])
    llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_regex("a"))

    def grammar(text: str) -> Any:
        return llguidance.LLMatcher.grammar_from_json_schema(text, defaults={"whitespace_flexible": True})

    def validate(text: str) -> None:
        if said := llguidance.LLMatcher.validate_grammar(grammar(text), None):
            raise ValueError(said)

    def compile_(text: str) -> None:
        matcher = llguidance.LLMatcher(tokenizer, grammar(text), log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())

    return lambda text: [lambda: validate(text), lambda: compile_(text)]


ENGINES: dict[str, Callable[[str], Admit]] = {"psc": psc_admission, "guidance": llguidance_admission}


def admitted(stages: list[Callable[[], object]]) -> list[float]:
    """Milliseconds of processor time of each stage, of the thread that admits."""
    spent = []
    for stage in stages:
        began = time.thread_time()
        stage()
        spent.append((time.thread_time() - began) * 1e3)
    return spent


def measure(admissions: dict[str, Admit], texts: Sequence[str]) -> tuple[dict[str, list[list[float]]], dict[str, int]]:
    """What the stages of each request that all take cost, by engine, and how many each refused."""
    times: dict[str, list[list[float]]] = {name: [] for name in admissions}
    refused = dict.fromkeys(admissions, 0)
    for i, text in enumerate(texts):
        spent = {}
        for name in list(admissions) if i % 2 else list(reversed(admissions)):
            try:
                spent[name] = admitted(admissions[name](text))
            except Exception:  # whatever an engine raises is its refusal
                refused[name] += 1
        if len(spent) == len(admissions):
            for name, stages in spent.items():
                times[name].append(stages)
    return times, refused


def schemas_of(path: Path, n: int, rng: random.Random) -> list[str]:
    """Schemas that some instance is valid for, as JSON text, no two alike."""
    texts = [json.dumps(entry["schema"]) for entry in read(path, 1) if any(t["valid"] for t in entry["tests"])]
    texts = sorted(set(texts))
    return rng.sample(texts, min(n, len(texts)))


def tools_for(n: int, rng: random.Random) -> list[str]:
    """Requests of ten of a hundred tools each."""
    tools = generated_tools(100, rng)
    return [request_of(rng.sample(tools, 10)) for _ in range(n)]


def rows_of(times: dict[str, list[list[float]]]) -> list[list[str]]:
    """Percentiles of each engine, its median by stage, and psc's part of the other's."""
    rows = []
    whole = {name: np.percentile([sum(stages) for stages in each], PERCENTILES) for name, each in times.items()}
    for name, each in times.items():
        stages = [number(float(np.median(column))) for column in np.array(each).T]
        rows.append([name, *(number(float(p)) for p in whole[name]), *stages, *[""] * (len(STAGES) - len(stages))])
    if "psc" in whole and "guidance" in whole:
        ratios = whole["psc"] / whole["guidance"]
        rows.append(["psc / guidance", *(number(float(r)) for r in ratios), *[""] * len(STAGES)])
    return rows


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="Admission of requests, with psc and llguidance.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc takes it")
    options.add_argument("--schemas", type=Path, metavar="SCHEMAS", help="as psc bench maskbench reads them")
    options.add_argument("--requests", type=int, default=400, metavar="N", help="of each kind (default 400)")
    options.add_argument("--seed", type=int, default=0, metavar="S")
    options.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES), metavar="E")
    options.add_argument("--json", metavar="FILE", help="write all figures there")
    args = options.parse_args()
    rng = random.Random(args.seed)
    kinds = {"ten tools": tools_for(args.requests, rng)}
    if args.schemas:
        kinds["schemas"] = schemas_of(args.schemas, args.requests, rng)
    admissions = {name: ENGINES[name](args.tokenizer) for name in args.engines}
    document: dict[str, Any] = {"machine": machine(), "kinds": {}}
    print(f"{in_words(document['machine'])}\n")
    for kind, texts in kinds.items():
        times, refused = measure(admissions, texts)
        counted = len(next(iter(times.values())))
        print(
            f"## {kind}: {counted} of {len(texts)} requests that all take; refused: {refused}\n\nMilliseconds of processor time:\n"
        )
        print(table(["engine", *(f"p{p}" if p < 100 else "max" for p in PERCENTILES), *STAGES], rows_of(times)), end="\n\n")
        document["kinds"][kind] = times
    report(document, args.json)


if __name__ == "__main__":
    sys.exit(main())
