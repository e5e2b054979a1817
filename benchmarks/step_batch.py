"""Measure what a step of a batch costs on the CPU: every sequence accepts its token, and the ids of all masks lie ready to be sent.

    python benchmarks/step_batch.py [GRAMMAR] FILES_OR_DIRS... --tokenizer SPEC [--batch 256] [--evict MB] [--json FILE]

The idea: each matcher of the batch follows a file of its own, beginning somewhere in it, token by token as a model would write it;
a text that ends begins again, untimed. What is timed is one call, `MaskTable.step(matchers, tokens)`, on one thread: with a table
on a GPU it ends with the copy of the ids on its way, else (NumPy's table) with the ids in the buffer that would be copied.

The grammar is built just in time and has read all texts before; the table is empty, so that first steps also write rows.

`--evict MB` writes so much other memory between steps, as a model on the CPU would.

The cost: the grammar is compiled first; then some seconds.
"""

import argparse
import gc
import random
import time
from typing import Any

import numpy as np
from corpus import add_corpus_options, read_corpus

import psc
from psc.bench.measure import Summary, in_words, machine, number, preemptions, report, table, timer_overhead
from psc.bench.texts import encoder, tokenize
from psc.compiler.frontends.lookup import find_grammar
from psc.grammars.grammar import Grammar
from psc.runtime import cuda_device, cupy_masks, numpy_masks

ASKED_US = 150.0


class Text:
    """A sequence of the batch: a matcher, and what it is to be told."""

    def __init__(self, compiled: Any, tokens: list[int], start: int) -> None:
        self.matcher = psc.GrammarMatcher(compiled)
        self.tokens = tokens
        self.at = 0
        for token in tokens[:start]:
            assert self.matcher.accept_token(token)
            self.at += 1

    def next(self) -> int:
        """The next token; from the beginning again after the last."""
        if self.at == len(self.tokens):
            self.matcher.reset()
            self.at = 0
        self.at += 1
        return self.tokens[self.at - 1]


def accepted(compiled: Any, texts: list[list[int]]) -> list[list[int]]:
    """Those that the grammar accepts."""
    matcher, good = psc.GrammarMatcher(compiled), []
    for tokens in texts:
        matcher.reset()
        if all(matcher.accept_token(t) for t in tokens):
            good.append(tokens)
    return good


def measured(masks: Any, info: psc.TokenizerInfo, batch: list[Text], steps: int, evict: int) -> dict[str, Any]:
    """Nanoseconds a step, and what was sent."""
    rows = masks.MaskTable(info, max_batch=len(batch))
    matchers = [text.matcher for text in batch]
    other = np.zeros(evict << 20, np.uint8)
    overhead = timer_overhead()
    took: list[int] = []
    bytes_of_rows = 0
    rows.step(matchers)
    gc.collect()
    gc.disable()
    for _ in range(steps):
        tokens = [text.next() for text in batch]
        other += 1
        switched = preemptions()
        began = time.perf_counter_ns()
        step = rows.step(matchers, tokens)
        ended = time.perf_counter_ns()
        if preemptions() == switched:
            took.append(ended - began)
        assert not step.refused
        update = step.update()
        bytes_of_rows += update.nbytes - update.ids.nbytes
        bytes_of_ids = update.ids.nbytes
    gc.enable()
    return {
        "step": Summary.of(took, overhead),
        "left_out": steps - len(took),
        "bytes_of_ids": bytes_of_ids / len(batch),
        "bytes_of_rows": bytes_of_rows / steps / len(batch),
        "rows": rows.n_used,
    }


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("grammar", help="a bundled name or a path")
    add_corpus_options(options)
    options.add_argument("--tokenizer", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--batch", type=int, default=256, metavar="N", help="sequences (default 256)")
    options.add_argument("--steps", type=int, default=2000, metavar="N", help="steps timed (default 2000)")
    options.add_argument("--evict", type=int, default=0, metavar="MB", help="write so much other memory between steps")
    options.add_argument("--json", metavar="FILE", help="write what was measured; - for standard output")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    compiler = psc.GrammarCompiler(info, store=False, cache_enabled=False)
    compiled = compiler.compile_grammar(Grammar.parse(find_grammar(args.grammar).request()))
    tokenized, _ = tokenize(read_corpus(args, "." + args.grammar), info, encoder(args.tokenizer, info)[1])
    texts = accepted(compiled, list(tokenized.values()))
    if not texts:
        raise SystemExit("the grammar accepts none of the files")
    on_gpu = cuda_device.is_usable()
    about = machine()
    print(in_words(about))
    print(f"{args.grammar}, {info.name} ({info.vocab_size:,} tokens), {args.batch} sequences over {len(texts)} files, one thread;")
    print("ids end in " + ("a GPU's memory" if on_gpu else "the buffer that would be copied: there is no GPU") + "\n")

    rng = random.Random(args.seed)
    chosen = [rng.choice(texts) for _ in range(args.batch)]
    batch = [Text(compiled, t, rng.randrange(len(t))) for t in chosen]
    found = measured(cupy_masks if on_gpu else numpy_masks, info, batch, args.steps, args.evict)
    summary = found["step"]
    figures = [number(x) for x in (summary.mean, summary.p50, summary.p99)]
    counts = [f"{n:,}" for n in (summary.calls, found["left_out"], found["rows"])]
    line = [*figures, *counts, number(found["bytes_of_ids"]), number(found["bytes_of_rows"])]
    heads = ["mean us", "p50", "p99", "steps", "left out", "rows", "bytes of ids/sequence", "bytes of rows/sequence"]
    print(table(heads, [line]))
    kept = summary.p50 <= ASKED_US * args.batch / 256
    print(
        f"\nasked: at most {ASKED_US * args.batch / 256:g} us a step (median), 4 bytes a sequence: {'kept' if kept else 'NOT kept'}"
    )
    report({"machine": about, "grammar": args.grammar, "batch": args.batch, "evict": args.evict, **found}, args.json)


if __name__ == "__main__":
    main()
