"""Measure structural tags with many triggers: processor time and memory until the first mask, or until a limit is named.

    python benchmarks/triggers.py [--triggers N...] [--length N] [--tokenizer NAME]

Each tag is begun by a trigger of its own and holds an integer. Shapes: `numbered` triggers share a beginning, as tool names do;
`drawn` ones begin with `<` and go on at random; `overlapping` ones are random letters, so that many end as others begin; `inside`
is `numbered` within a tag, whose end is read with the free text. Each runs in a process of its own, as memory does not shrink.

The cost: a second for each.
"""

import argparse
import multiprocessing
import random
import string
import time
from typing import Any

import psc
from psc.bench.measure import in_words, machine, table
from psc.support.process_memory import peak_memory

SHAPES = ("numbered", "drawn", "overlapping", "inside")


def begins(shape: str, n: int, length: int) -> list[str]:
    """The triggers of a shape."""
    rng = random.Random(n)
    if shape in ("numbered", "inside"):
        return [f"<t{i:0{length - 3}d}>" for i in range(n)]
    first = "<" if shape == "drawn" else ""
    drawn: dict[str, None] = {}
    while len(drawn) < n:
        drawn[first + "".join(rng.choices(string.ascii_lowercase, k=length - len(first)))] = None
    return list(drawn)


def document(shape: str, n: int, length: int) -> dict[str, Any]:
    """A structural tag with these triggers."""
    triggers = begins(shape, n, length)
    integer = {"type": "json_schema", "json_schema": {"type": "integer"}}
    tags = [{"type": "tag", "begin": t, "content": integer, "end": f"</{t[1:]}"} for t in triggers]
    format_ = {"type": "triggered_tags", "triggers": triggers, "tags": tags}
    if shape == "inside":
        format_ = {"type": "tag", "begin": "<x>", "content": format_, "end": "</x>"}
    return {"type": "structural_tag", "format": format_}


def measured(shape: str, n: int, length: int, tokenizer: str) -> list[str]:
    """A row of the table."""
    info = psc.load_tokenizer(tokenizer)
    compiler = psc.GrammarCompiler(info, store=False, registry=False)
    bitmask = psc.allocate_token_bitmask(1, info.vocab_size)
    psc.GrammarMatcher(compiler.compile_regex("a")).fill_next_token_bitmask(bitmask)  # what a process makes once
    tag, memory, began = document(shape, n, length), peak_memory(), time.process_time()
    remark = ""
    try:
        psc.GrammarMatcher(compiler.compile_structural_tag(tag)).fill_next_token_bitmask(bitmask)
    except psc.ResourceLimitError as e:
        remark = str(e)[:90]
    return [shape, f"{n:,}", f"{time.process_time() - began:.2f}", f"{(peak_memory() - memory) / 2**20:.0f}", remark]


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--triggers", type=int, nargs="+", default=[30, 300, 1000, 5000], metavar="N")
    options.add_argument("--length", type=int, default=12, help="characters of a trigger (default 12)")
    options.add_argument("--tokenizer", default="qwen3")
    args = options.parse_args()
    asked = [(shape, n, args.length, args.tokenizer) for shape in SHAPES for n in args.triggers]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = pool.starmap(measured, asked, chunksize=1)
    print(f"{in_words(machine())}\n")
    print(table(["triggers", "how many", "processor s", "MB more", "remark"], rows))


if __name__ == "__main__":
    main()
