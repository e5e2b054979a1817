"""SGLang's masks of a batch and along drafts, with psc and with XGrammar as its grammar backend, in one run.

    python benchmarks/sglang_batches.py --tokenizer FILE [--batches 1 64 256] [--json FILE]

The idea: requests of ten tools each, compiled by SGLang's own backends. A batch goes step by step: SGLang fills the masks of all
its requests, and each accepts the next token of a text that is valid for it. The first round meets masks for the first time, the
second has met them. Then trees of drafts: the next eight tokens of the text in a chain, each with a sibling that the grammar
refuses. The engines take turns. Needs SGLang 0.5.23 (its Python part will do) and XGrammar, and no GPU.

The cost: some minutes; XGrammar's compilation and first masks take most of it.
"""

import argparse
import logging
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerFast

from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.tool_requests import calls_of, generated_tools, request_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from absent_packages import standing_in

with standing_in("triton", "torchvision"):
    import sglang.srt.speculative.spec_utils as spec_utils
    import torch
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarRow
    from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend

from psc.adapters.sglang.backend import PscGrammarBackend
from psc.adapters.sglang.masks import fill_vocab_mask_batched, traverse_tree

DRAFTS = 8


def filled_by_psc(entries: list[GrammarRow], mask: Any) -> None:
    """As the hook has it."""
    fill_vocab_mask_batched(BaseGrammarObject.fill_vocab_mask_batched, entries, mask)


def walked_by_psc(*arguments: Any, vocab_size: int) -> None:
    """As the hook has it."""
    traverse_tree(spec_utils.traverse_tree, *arguments, vocab_size=vocab_size)


ENGINES = {
    "psc": (PscGrammarBackend, filled_by_psc, walked_by_psc),
    "xgrammar": (XGrammarGrammarBackend, BaseGrammarObject.fill_vocab_mask_batched, spec_utils.traverse_tree),
}


def steps(grammars: list[Any], texts: list[list[int]], fill: Any, vocab_size: int, n_steps: int) -> tuple[list[float], list[float]]:
    """Microseconds of a step's masks, and of accepting a token."""
    current, at = [g.copy() for g in grammars], [0] * len(grammars)
    masks, accepts = [], []
    for _ in range(n_steps):
        mask = current[0].allocate_vocab_mask(vocab_size=vocab_size, batch_size=len(current), device="cpu")
        began = time.perf_counter()
        fill([GrammarRow(row, g) for row, g in enumerate(current)], mask)
        filled = time.perf_counter()
        for i, grammar in enumerate(current):
            grammar.accept_token(texts[i][at[i]])
        accepts.append((time.perf_counter() - filled) * 1e6 / len(current))
        masks.append((filled - began) * 1e6)
        for i, text in enumerate(texts):
            at[i] += 1
            if at[i] == len(text):
                current[i], at[i] = grammars[i].copy(), 0
    return masks, accepts


def trees(grammars: list[Any], texts: list[list[int]], walk: Any, vocab_size: int, n_steps: int) -> list[float]:
    """Microseconds of the masks along a tree of drafts."""
    n = 2 * DRAFTS + 1  # node 2k + 1 is draft k, node 2k + 2 its sibling
    children = torch.full((n,), -1, dtype=torch.int64)
    siblings = torch.full((n,), -1, dtype=torch.int64)
    children[0], siblings[1::2] = 1, torch.arange(2, n, 2)
    children[1:-2:2] = torch.arange(3, n, 2)
    spent = []
    for grammar, text in zip(grammars, texts, strict=True):
        current = grammar.copy()
        for begin in range(0, min(len(text) - DRAFTS - 1, n_steps * DRAFTS), DRAFTS):
            tokens = torch.zeros((n,), dtype=torch.int64)
            tokens[1::2] = torch.tensor(text[begin : begin + DRAFTS])
            mask = current.allocate_vocab_mask(vocab_size=vocab_size, batch_size=n, device="cpu")
            began = time.perf_counter()
            walk(children, siblings, tokens, current, mask, vocab_size=vocab_size)
            spent.append((time.perf_counter() - began) * 1e6)
            for token in text[begin : begin + DRAFTS]:
                current.accept_token(token)
    return spent


def main() -> None:
    """Parse the command line, run, print."""
    options = argparse.ArgumentParser(description="SGLang's masks with psc and with XGrammar.")
    options.add_argument("--tokenizer", required=True, type=Path, metavar="FILE", help="a tokenizer.json")
    options.add_argument("--eos", default="<|im_end|>", metavar="TOKEN", help="what ends a text (default: Qwen's)")
    options.add_argument("--batches", nargs="+", type=int, default=[1, 64, 256], metavar="N")
    options.add_argument("--steps", type=int, default=60, metavar="N", help="of a batch (default 60)")
    options.add_argument("--json", metavar="FILE", help="write all figures there")
    args = options.parse_args()
    logging.disable(logging.ERROR)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(args.tokenizer), eos_token=args.eos)
    vocab_size = -(-len(tokenizer) // 128) * 128
    rng = random.Random(0)
    tools = generated_tools(100, rng)
    drawn = [rng.sample(tools, 10) for _ in range(max(args.batches))]
    texts = [
        [*tokenizer(calls_of(d, rng), add_special_tokens=False)["input_ids"], tokenizer.convert_tokens_to_ids(args.eos)]
        for d in drawn
    ]
    document: dict[str, Any] = {"machine": machine(), "vocab_size": vocab_size, "masks": {}, "accept": {}, "drafts": {}}
    grammars: dict[str, list[Any]] = {}
    for name, (backend_class, _, _) in ENGINES.items():
        backend = backend_class(tokenizer, vocab_size)
        grammars[name] = [backend.dispatch_json(request_of(d)) for d in drawn]
    for size in args.batches:
        for name, (_, fill, _) in ENGINES.items():
            for met in ("first", "again"):
                masks, accepts = steps(grammars[name][:size], texts[:size], fill, vocab_size, args.steps)
                document["masks"][f"{size} {met} {name}"] = masks
                document["accept"][f"{size} {met} {name}"] = accepts
    for name, (_, _, walk) in ENGINES.items():
        for _ in range(2):
            document["drafts"][name] = trees(grammars[name][:64], texts[:64], walk, vocab_size, 4)
    print(f"{in_words(document['machine'])}; {vocab_size} logits\n\nMasks of a batch, us a step, and accepting, us a token:\n")
    rows = []
    for batch, masks in document["masks"].items():
        p50, p99 = np.percentile(masks, (50, 99))
        rows.append([batch, number(float(p50)), number(float(p99)), number(float(np.median(document["accept"][batch])))])
    print(table(["batch", "p50", "p99", "accept"], rows))
    print(f"\nA tree of {DRAFTS} drafts with a refused sibling each, us a request:\n")
    print(
        table(
            ["engine", "p50", "p99"],
            [[n, *(number(float(p)) for p in np.percentile(t, (50, 99)))] for n, t in document["drafts"].items()],
        )
    )
    report(document, args.json)


if __name__ == "__main__":
    sys.exit(main())
