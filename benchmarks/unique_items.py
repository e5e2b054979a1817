"""Measure arrays of strings and numbers that must differ: masks and steps of psc beside the same array without `uniqueItems`.

    python benchmarks/unique_items.py [--items N...] [--tokenizer NAME]

Each array is `["…","…"]` of words, or of numbers, that share beginnings, so that many earlier items begin like the one that is
read. It is read twice: the second time its masks have been asked for before, where they are kept.

The cost: a second for each array.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from typing import Any

import psc
from psc.bench.measure import Summary, in_words, machine, number, table
from psc.bench.texts import encoder

SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "maxLength 40": {"type": "string", "maxLength": 40},
    "pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "string or null": {"type": ["string", "null"]},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
}
SYLLABLES = ("ka", "to", "mi", "re", "so", "lu", "an", "er", "in", "th", "pro", "ing")


def words(n: int) -> list[str]:
    """Different words, of one to five syllables."""
    rng = random.Random(n)
    out: dict[str, None] = {}
    while len(out) < n:
        out["".join(rng.choices(SYLLABLES, k=rng.randint(1, 5)))] = None
    return list(out)


def values(name: str, n: int) -> list[Any]:
    """Different values of one of the schemas."""
    if name in ("integer", "number"):
        drawn = random.Random(n).sample(range(10 * n), n)
        return drawn if name == "integer" else [one / 100 for one in drawn]
    return words(n)


def walk(matcher: psc.GrammarMatcher, ids: Sequence[int], vocab_size: int) -> tuple[list[int], list[int]]:
    """Nanoseconds of the processor, of each mask, and of each token's acceptance."""
    bitmask = psc.allocate_token_bitmask(1, vocab_size)
    masks, steps = [], []
    for token in ids:
        began = time.thread_time_ns()
        matcher.fill_next_token_bitmask(bitmask)
        filled = time.thread_time_ns()
        accepted = matcher.accept_token(token)
        steps.append(time.thread_time_ns() - filled)
        masks.append(filled - began)
        if not accepted:
            raise SystemExit(f"token {token} was refused")
    return masks, steps


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, nargs="+", default=[100, 400], metavar="N")
    options.add_argument("--tokenizer", default="qwen3")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    encode = encoder(args.tokenizer, info)[1]
    rows = []
    for name, items in SCHEMAS.items():
        for n in args.items:
            ids = encode(json.dumps(values(name, n), separators=(",", ":")).encode())
            for unique in (False, True):
                compiler = psc.GrammarCompiler(info, store=False, registry=False)
                compiled = compiler.compile_json_schema({"type": "array", "items": items, "uniqueItems": unique})
                for time_of in ("first", "second"):
                    masks, steps = walk(psc.GrammarMatcher(compiled), ids, info.vocab_size)
                    all_masks, all_steps = Summary.of(masks, 0.0), Summary.of(steps, 0.0)
                    figures = [all_masks.p50, all_masks.p99, all_masks.max, all_steps.p50]
                    rows.append([name, f"{n:,}", "yes" if unique else "no", time_of, *(number(f, 1) for f in figures)])
    print(f"{in_words(machine())}\n")
    print(table(["items", "how many", "unique", "time", "mask p50 us", "p99", "max", "step p50 us"], rows))


if __name__ == "__main__":
    main()
