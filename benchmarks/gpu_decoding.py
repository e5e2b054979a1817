"""Measure steps of a model on a GPU with and without a grammar, psc beside its peers, in one process.

    python benchmarks/gpu_decoding.py TOKENIZER [--shape 8b] [--batches 1 16 64 256] [--languages json java] [--json FILE]

The idea: a decoder of Llama 3's shapes with random weights, a step of it one CUDA graph, writes texts that are forced, as in the
paper. At each step the CPU makes the masks while the GPU computes the logits; then the logits are masked, the best tokens are
chosen, and the CPU waits for them, as engines do. What differs between the contestants is how masks are made and get to the logits:

    none          no masks
    psc rows      `MaskTable.step`: the ids of rows that are on the GPU, and `apply_rows`
    psc bitmask   `BatchGrammarMatcher`, one thread: a bitmask from pinned memory, and `apply_bitmask`
    xgrammar      `BatchGrammarMatcher` with its threads: a bitmask from pinned memory, and its own kernel
    llguidance    `LLExecutor` with its threads: the same, and XGrammar's kernel, as in vLLM

*json*: each request has another schema. *java*, *go*, *sql*: the subset that every engine takes, in its own language; for psc from
what was compiled ahead of time. Matchers are new in each round, so that the first masks of a text are within the times. Compilation
is not, and grammars and psc's table are those of the round before.
A text that ends begins again. Rounds of the contestants take turns.

A process without a GPU measures the loop alone: `--shape tiny`, which is for tests.

The cost: half a minute for each batch and language, and what `random_decoder` says of memory.
"""

import argparse
import gc
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch
from random_decoder import SHAPES, Decoder

import psc
from psc.bench.end_to_end.workloads import Work, works_of
from psc.bench.engines import STEP_MAX_ITEMS, installed_peers, llguidance_tokenizer, xgrammar_compiler
from psc.bench.measure import in_words, machine, number, report, table
from psc.bench.texts import encoder
from psc.grammars.compiled_grammar import compile_ahead_of_time
from psc.grammars.grammar import Grammar
from psc.runtime import cupy_masks, numpy_masks

CACHE = 512
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ON_GPU = DEVICE == "cuda"

ENDED = -1
"""In place of a token: the text has ended, and begins again."""

Step = Callable[[Sequence[int], Any], None]
"""Has each matcher accept the token before, or begin its text again, and masks the logits that the model is to have computed."""
Open = Callable[[], Step]
"""Makes new matchers, for a round."""


class Bitmask:
    """A bitmask in pinned memory and its copy on the GPU."""

    def __init__(self, batch: int, vocab_size: int) -> None:
        self.host = torch.full((batch, (vocab_size + 31) // 32), -1, dtype=torch.int32, pin_memory=ON_GPU)
        self.array = self.host.numpy()

    def sent(self) -> Any:
        """On the logits' device. The CPU waits for the tokens before it writes the next one, so one buffer is enough."""
        return self.host.to(DEVICE, non_blocking=True)


def begin_again(matchers: Sequence[Any], tokens: Sequence[int]) -> None:
    """Resets the matchers whose text has ended."""
    for matcher, token in zip(matchers, tokens, strict=True):
        if token == ENDED:
            matcher.reset()


def accept(accept_all: Callable[[list[Any], list[int]], Any], matchers: Sequence[Any], tokens: Sequence[int]) -> None:
    """Has matchers accept tokens in one call, and those whose text has ended begin again."""
    begin_again(matchers, tokens)
    live = [(m, t) for m, t in zip(matchers, tokens, strict=True) if t != ENDED]
    if live and not all(accept_all(*map(list, zip(*live, strict=True)))):
        raise RuntimeError("a token of a text was refused")


def psc_grammars(works: Sequence[Work], info: psc.TokenizerInfo) -> list[Any]:
    """A compiled grammar for each request."""
    compiler = psc.GrammarCompiler(info, store=False)
    ahead: dict[str, Any] = {}
    found = []
    for work in works:
        kind, text = next(iter(work.constraints["psc"].items()))
        if kind == "json":
            found.append(compiler.compile_json_schema(text))
        else:
            if text not in ahead:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of where Lark's lexer differs from the grammar
                    ahead[text] = compile_ahead_of_time(Grammar.from_lark(text), info)
            found.append(ahead[text])
    return found


def psc_rows(works: Sequence[Work], info: psc.TokenizerInfo, _spec: str) -> Open:
    """psc, by ids of rows."""
    grammars = psc_grammars(works, info)
    library: Any = cupy_masks if ON_GPU else numpy_masks
    rows = library.MaskTable(info, max_batch=len(works))

    def new() -> Step:
        matchers = [psc.GrammarMatcher(g) for g in grammars]

        def step(tokens: Sequence[int], logits: Any) -> None:
            begin_again(matchers, tokens)
            stream = torch.cuda.current_stream() if ON_GPU else None
            done = rows.step(matchers, tokens, stream=stream)
            if done.refused:
                raise RuntimeError("a token of a text was refused")
            library.apply_rows(logits, rows.rows, done.ids, stream=stream)

        return step

    return new


def by_bitmasks(engine: Any, grammars: Sequence[Any], batch: Any, mask: Bitmask, bits: Any) -> Open:
    """An engine with XGrammar's names, by bitmasks.

    Args:
        engine: the module.
        grammars: compiled, one a request.
        batch: its ``BatchGrammarMatcher``.
        mask: the batch's.
        bits: the mask's host memory, as the kind of array that the engine fills fastest.
    """

    def new() -> Step:
        matchers = [engine.GrammarMatcher(g) for g in grammars]

        def step(tokens: Sequence[int], logits: Any) -> None:
            accept(batch.batch_accept_token, matchers, tokens)
            batch.batch_fill_next_token_bitmask(matchers, bits)
            engine.apply_token_bitmask_inplace(logits, mask.sent())

        return step

    return new


def psc_bitmask(works: Sequence[Work], info: psc.TokenizerInfo, _spec: str) -> Open:
    """psc, by bitmasks."""
    mask = Bitmask(len(works), info.vocab_size)
    return by_bitmasks(psc, psc_grammars(works, info), psc.BatchGrammarMatcher(max_threads=1), mask, mask.array)


def xgrammar(works: Sequence[Work], info: psc.TokenizerInfo, _spec: str) -> Open:
    """XGrammar."""
    engine: Any = import_module("xgrammar")
    compiler = xgrammar_compiler(info)
    compiled: dict[str, Any] = {}
    grammars = []
    for work in works:
        kind, text = next(iter(work.constraints["xgrammar"].items()))
        if text not in compiled:
            if kind == "json":
                compiled[text] = compiler.compile_json_schema(text, strict_mode=False)
            else:
                compiled[text] = compiler.compile_grammar(text)
        grammars.append(compiled[text])
    mask = Bitmask(len(works), info.vocab_size)
    return by_bitmasks(engine, grammars, engine.BatchGrammarMatcher(), mask, mask.host)


def llguidance(works: Sequence[Work], info: psc.TokenizerInfo, spec: str) -> Open:
    """llguidance."""
    engine: Any = import_module("llguidance")
    kernel: Any = import_module("xgrammar").apply_token_bitmask_inplace
    tokenizer = llguidance_tokenizer(info, encoder(spec, info)[1])
    executor, mask = engine.LLExecutor(), Bitmask(len(works), info.vocab_size)
    limits = engine.LLParserLimits(step_max_items=STEP_MAX_ITEMS)
    read = {"json": engine.LLMatcher.grammar_from_json_schema, "grammar": engine.LLMatcher.grammar_from_lark}
    sources = [read[kind](text) for work in works for kind, text in work.constraints["guidance"].items()]
    row_bytes = mask.array.strides[0]

    def new() -> Step:
        matchers = [engine.LLMatcher(tokenizer, source, log_level=0, limits=limits) for source in sources]
        numbered = [(m, i) for i, m in enumerate(matchers)]

        def accept_all(some: list[Any], tokens: list[int]) -> Any:
            return executor.consume_token_par(list(zip(some, tokens, strict=True)))

        def step(tokens: Sequence[int], logits: Any) -> None:
            accept(accept_all, matchers, tokens)
            executor.unsafe_compute_mask_ptr(numbered, mask.array.ctypes.data, row_bytes, len(matchers))
            kernel(logits, mask.sent())

        return step

    return new


def unconstrained(_works: Sequence[Work], _info: psc.TokenizerInfo, _spec: str) -> Open:
    """No masks."""
    return lambda: lambda tokens, logits: None


CONTESTANTS: dict[str, Callable[[Sequence[Work], psc.TokenizerInfo, str], Open]] = {
    "none": unconstrained,
    "psc rows": psc_rows,
    "psc bitmask": psc_bitmask,
    "xgrammar": xgrammar,
    "llguidance": llguidance,
}


def a_round(decoder: Decoder, new: Open, texts: Sequence[Sequence[int]], steps: int, seconds: float) -> list[float]:
    """Runs a round of `steps` steps, or fewer if `seconds` are over before. Returns the seconds of each step."""
    mask = new()
    pinned = torch.zeros((2, len(texts)), dtype=torch.int64, pin_memory=ON_GPU)
    at = [-1] * len(texts)
    tokens = [ENDED] * len(texts)
    took: list[float] = []
    gc.collect()
    while len(took) < steps and sum(took) < seconds:
        began = time.perf_counter()
        decoder.step()
        mask(tokens, decoder.logits)
        pinned[0].copy_(decoder.logits.argmax(dim=-1), non_blocking=True)
        if ON_GPU:
            torch.cuda.current_stream().synchronize()
        took.append(time.perf_counter() - began)
        at = [(i + 1) % (len(text) + 1) for i, text in zip(at, texts, strict=True)]
        tokens = [ENDED if i == len(text) else text[i] for i, text in zip(at, texts, strict=True)]
        pinned[1] = torch.tensor(tokens).clamp(min=0)
        decoder.advance(pinned[1])
    return took


def measured(
    opened: dict[str, Open], decoder: Decoder, texts: Sequence[Sequence[int]], steps: int, seconds: float, rounds: int
) -> dict[str, Any]:
    """Of each contestant: tokens a second (of its median round), this in parts of what is without masks, milliseconds a step."""
    took: dict[str, list[float]] = {name: [] for name in opened}
    rates: dict[str, list[float]] = {name: [] for name in opened}
    a_round(decoder, opened["none"], texts, 20, seconds)
    names = list(opened)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            each = a_round(decoder, opened[name], texts, steps, seconds)
            took[name] += each
            rates[name].append(len(texts) * len(each) / sum(each))
    free = float(np.median(rates["none"]))
    return {
        name: {
            "tokens_per_second": float(np.median(rates[name])),
            "of_none": float(np.median(rates[name])) / free,
            **{f"step_ms_p{p}": float(np.percentile(took[name], p)) * 1000 for p in (50, 99)},
            "step_ms_max": max(took[name]) * 1000,
        }
        for name in names
    }


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("tokenizer", help="of the texts, as `psc compile --tokenizer` takes it")
    options.add_argument("--shape", choices=SHAPES, default="8b", help="of the model: Llama 3.1 8B's, Llama 3.2 1B's, or of a test")
    options.add_argument("--batches", type=int, nargs="+", default=[1, 16, 64, 256], metavar="N", help="sequences")
    options.add_argument("--languages", nargs="+", default=["json", "java"], choices=["json", "java", "go", "sql"])
    options.add_argument("--contestants", nargs="+", default=list(CONTESTANTS), choices=CONTESTANTS)
    options.add_argument("--steps", type=int, default=200, metavar="N", help="of a round (default 200)")
    options.add_argument("--seconds", type=float, default=10.0, metavar="S", help="of a round at most (default 10)")
    options.add_argument("--rounds", type=int, default=3, metavar="N", help="of each contestant (default 3)")
    options.add_argument("--json", metavar="FILE", help="write what was measured; - for standard output")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    encode = encoder(args.tokenizer, info)[1]
    about = {
        **machine(),
        "gpu": torch.cuda.get_device_name() if ON_GPU else None,
        "torch": torch.__version__,
        "peers": installed_peers(["xgrammar", "llguidance"]),
    }
    print(f"{in_words(about)}; {about['gpu'] or 'no GPU'}, torch {about['torch']}, {about['peers']}")
    print(f"shape {args.shape}, {info.vocab_size} tokens, {args.rounds} rounds of {args.steps} steps\n", flush=True)
    found: dict[str, dict[str, Any]] = {}
    for batch in args.batches:
        decoder = Decoder(SHAPES[args.shape], info.vocab_size, batch, CACHE, DEVICE)
        for language in args.languages:
            works = works_of(language, batch, "gpu")
            texts = [encode(work.text.encode()) for work in works]
            opened, refused = {}, {}
            for name in dict.fromkeys(["none", *args.contestants]):
                try:
                    opened[name] = CONTESTANTS[name](works, info, args.tokenizer)
                    a_round(decoder, opened[name], texts, 2, args.seconds)  # so that kernels are loaded before they are timed
                except Exception as e:  # whatever another package raises where it cannot
                    opened.pop(name, None)
                    refused[name] = f"{type(e).__name__}: {e}".splitlines()[0]
            cell = measured(opened, decoder, texts, args.steps, args.seconds, args.rounds)
            found[f"{language}, {batch}"] = {**cell, "refused": refused}
            rows = [
                [name, *(number(c[k]) for k in ("tokens_per_second", "of_none", "step_ms_p50", "step_ms_p99", "step_ms_max"))]
                for name, c in cell.items()
            ]
            print(f"{language}, batch {batch}")
            print(table(["", "tokens/s", "of none", "ms a step p50", "p99", "max"], rows))
            for name, why in refused.items():
                print(f"{name}: {why}")
            print(flush=True)
        del decoder
        gc.collect()
        if ON_GPU:
            torch.cuda.empty_cache()
    report({"machine": about, "options": vars(args), "cells": found}, args.json)


if __name__ == "__main__":
    main()
