"""Tool calls in free text: structural tags of 10, 100 and 400 tools, from text to the first mask, and masks along texts with calls.

    python benchmarks/structural_tags.py --tokenizer SPEC [--tools N ...] [--requests N]

The idea: a request brings tags for its tools, each a begin with the tool's name, its parameters' schema and an end, behind one
trigger. The first request has tools that nobody has seen. Those after it bring the same tools in another order, as an agent's next
turns do; and then some of them, as agents do that choose tools for each turn. Every engine that is installed gets the same
documents, as the text that it takes, and every text is taken token by token.

The cost: a minute.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import psc
from psc.bench.engines import installed, llguidance_tokenizer
from psc.bench.json_engines import Bits, Matcher, empty_mask
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.texts import Encode, encoder
from psc.bench.tool_requests import Tool, generated_tools

TRIGGER, END = "<function=", "</function>"
FREE_TEXT = b"Let me look that up for you.\n"
KNOWN_ASKED_MS, FREE_ASKED_US = 2.0, 0.1


@dataclass(frozen=True)
class Engine:
    """One that is installed."""

    document: Callable[[list[Tool]], str]
    """What it is asked with."""
    compile: Callable[[str], Callable[[], Matcher]]
    """The document to what makes matchers."""


def psc_engine(info: psc.TokenizerInfo, bits: Bits) -> Engine:
    """psc as a server has it: one compiler for all requests."""
    compiler = psc.GrammarCompiler(info, store=False)

    def document(tools: list[Tool]) -> str:
        tags = [
            {
                "type": "tag",
                "begin": f"{TRIGGER}{tool.name}>",
                "content": {"type": "json_schema", "json_schema": tool.parameters},
                "end": END,
            }
            for tool in tools
        ]
        form = {"type": "triggered_tags", "triggers": [TRIGGER], "tags": tags}
        return json.dumps({"type": "structural_tag", "format": form})

    def compile_document(text: str) -> Callable[[], Matcher]:
        compiled = compiler.compile_structural_tag(text)

        def new() -> Matcher:
            matcher = psc.GrammarMatcher(compiled)
            return Matcher(lambda: matcher.fill_next_token_bitmask(bits), matcher.accept_token)

        return new

    return Engine(document, compile_document)


def llguidance_engine(info: psc.TokenizerInfo, bits: Bits, encode: Encode) -> Engine:
    """llguidance, by its own structural tags."""
    import llguidance

    tokenizer = llguidance_tokenizer(info, encode)

    def document(tools: list[Tool]) -> str:
        tags = [
            llguidance.StructTag(
                trigger=TRIGGER,
                begin=f"{TRIGGER}{tool.name}>",
                grammar=json.dumps({**tool.parameters, "additionalProperties": False}),
                end=END,
            )
            for tool in tools
        ]
        return str(llguidance.StructTag.to_grammar(tags, assume_special=False))

    def compile_document(source: str) -> Callable[[], Matcher]:
        def new() -> Matcher:
            matcher = llguidance.LLMatcher(tokenizer, source, log_level=0)
            if matcher.is_error():
                raise RuntimeError(matcher.get_error())
            return Matcher(lambda: matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes), matcher.consume_token)

        new()
        return new

    return Engine(document, compile_document)


def text_of(tools: list[Tool], rng: random.Random) -> str:
    """An answer with a call or two."""
    calls = [rng.choice(tools) for _ in range(rng.randint(1, 2))]
    written = [f"{TRIGGER}{t.name}>{json.dumps(rng.choice(t.arguments), ensure_ascii=False)}{END}" for t in calls]
    return FREE_TEXT.decode() + "\nAnd then:\n".join(written) + "\nThat is all."


def run(
    engine: Engine, requests: list[list[Tool]], some: list[list[Tool]], texts: list[str], encode: Encode, bits: Bits
) -> dict[str, Any]:
    """Milliseconds to first masks, microseconds of masks: those in free text apart, once they were met."""
    firsts: list[float] = []
    masks: list[float] = []
    free: list[float] = []
    refused = 0
    for tools, text in zip(requests, texts, strict=True):
        ms, new = first_mask(engine, tools)
        firsts.append(ms)
        for met in (False, True):
            refused += not takes(
                new(), bits, encode(text.encode()), len(encode(FREE_TEXT)), free if met else [], [] if met else masks
            )
    of_some = statistics.median([first_mask(engine, tools)[0] for tools in some])
    return {
        "first": firsts[0],
        "known": statistics.median(firsts[1:]),
        "some": of_some,
        "masks": masks,
        "free": free,
        "refused": refused,
    }


def first_mask(engine: Engine, tools: list[Tool]) -> tuple[float, Callable[[], Matcher]]:
    """Milliseconds from a document to its first mask, and what makes matchers."""
    document = engine.document(tools)
    began = time.perf_counter()
    new = engine.compile(document)
    new().mask()
    return (time.perf_counter() - began) * 1e3, new


def takes(matcher: Matcher, bits: Bits, ids: list[int], n_free: int, free: list[float], masks: list[float]) -> bool:
    """Whether all tokens are in their masks. Notes the microseconds of the first `n_free` masks, and of all."""
    for i, token in enumerate(ids):
        began = time.perf_counter()
        matcher.mask()
        us = (time.perf_counter() - began) * 1e6
        masks.append(us)
        if 0 < i < n_free - 1:
            free.append(us)
        if not bits[token // 32] >> (token % 32) & 1:
            return False
        matcher.accept(token)
    return True


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="Compile structural tags of many tools, and take texts with calls of them.")
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--tools", nargs="+", type=int, default=[10, 100, 400], metavar="N", help="default 10 100 400")
    options.add_argument("--requests", type=int, default=6, metavar="N", help="of the same tools (default 6)")
    options.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    how, encode = encoder(args.tokenizer, info)
    bits = empty_mask(info)
    rows = []
    results: list[dict[str, Any]] = []
    for n in args.tools:
        rng = random.Random(args.seed + n)
        tools = generated_tools(min(n, 225), rng)
        tools += [
            Tool(f"{t.name}_{i}", t.parameters | {"title": str(i)}, t.arguments) for i, t in enumerate(tools[: n - len(tools)])
        ]
        requests = [rng.sample(tools, n) for _ in range(args.requests)]
        some = [rng.sample(tools, max(1, n * 3 // 4)) for _ in range(args.requests)]
        texts = [text_of(tools, rng) for _ in requests]
        engines = {"psc": psc_engine(info, bits)}
        first_mask(engines["psc"], tools[:1])  # the vocabulary is read
        if installed("llguidance") is not None:
            engines["llguidance"] = llguidance_engine(info, bits, encode)
        for name, engine in engines.items():
            r = run(engine, requests, some, texts, encode, bits)
            masks = r["masks"]
            rows.append(
                [
                    str(n),
                    name,
                    number(r["first"]),
                    number(r["known"]),
                    number(r["some"]),
                    number(float(np.mean(masks))),
                    number(float(np.percentile(masks, 99))),
                    number(statistics.median(r["free"])) if r["free"] else "-",
                    str(r["refused"]),
                ]
            )
            results.append({"tools": n, "engine": name, **r})
    about = machine()
    print(f"{info.name}; texts by {how}; {in_words(about)}\n")
    print(
        "Milliseconds from a document's text to the first mask, with new and known tools; microseconds a mask, first visits too.\n"
    )
    head = ["tools", "engine", "new", "known", "some of them", "mask mean", "mask p99", "free text, met before", "texts refused"]
    print(table(head, rows))
    print(f"\nasked of psc: with the tools known at most {KNOWN_ASKED_MS:g} ms; in free text {FREE_ASKED_US:g} us a mask")
    if args.json:
        report({"benchmark": "structural_tags", **about, "results": results}, args.json)


if __name__ == "__main__":
    main()
