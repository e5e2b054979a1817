"""Measure how much slower Transformers' `generate` is with a grammar than without.

    python benchmarks/transformers_overhead.py [GRAMMAR...] [--tokenizer SPEC] [--batch B...] [--tokens N] [--rounds R] [--json
    FILE]

The idea: a model with random weights, small but with the vocabulary of a real one, so that a forward pass costs what it costs.
Each round generates the same number of tokens without a grammar, with psc's processor, with XGrammar's where it is installed,
in an order that changes from round to round; a round's figures are divided by its own run without. *In the processor* is the
time that its calls took, measured in the same runs: what a larger model would have to add to a longer forward pass.

The model never stops, so all runs do equally many forward passes; *constrained* says how many of the steps had a mask.

The cost: rounds x (engines + 1) x tokens forward passes, some minutes on a CPU. Needs psc[transformers].
"""

import argparse
import statistics
import sys
import time
from typing import Any

import psc
from psc.bench.measure import in_words, machine, number, report, table


class Timed:
    """A processor of logits, and how long its calls took."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.seconds = 0.0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        began = time.perf_counter()
        scores = self.processor(input_ids, scores)
        self.seconds += time.perf_counter() - began
        return scores


def random_model(width: int, hidden: int, layers: int) -> Any:
    """A Llama with tied embeddings."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=width,
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 64,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config).eval()


def processors(compiler: Any, info: Any, grammar: str) -> dict[str, Any]:
    """For each engine a function that makes a processor for one generation."""
    from psc.adapters.transformers import GrammarLogitsProcessor

    compiled = compiler.compile_builtin_json_grammar() if grammar == "json" else compiler.compile_file(grammar)
    made: dict[str, Any] = {
        "psc": lambda: GrammarLogitsProcessor(compiled),
        "psc in place": lambda: GrammarLogitsProcessor(compiled, in_place=True),
    }
    if grammar == "json":
        try:
            import xgrammar
            from xgrammar.contrib.hf import LogitsProcessor
        except ImportError:
            return made
        stop = list(info.stop_token_ids)
        other = xgrammar.TokenizerInfo(info.decoded_vocab, xgrammar.VocabType.RAW, vocab_size=info.vocab_size, stop_token_ids=stop)
        peer = xgrammar.GrammarCompiler(other).compile_builtin_json_grammar()
        made["xgrammar"] = lambda: LogitsProcessor(peer)
    return made


def constrained_steps(compiled_stops: set[int], rows: list[list[int]]) -> int:
    """How many tokens came under a mask: those until the first stop token."""
    return sum(next((n + 1 for n, token in enumerate(row) if token in compiled_stops), len(row)) for row in rows)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("grammars", nargs="*", default=["json", "java"], metavar="GRAMMAR")
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    options.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    options.add_argument("--tokens", type=int, default=48, metavar="N", help="tokens in a generation (default 48)")
    options.add_argument("--rounds", type=int, default=7, metavar="R")
    options.add_argument("--hidden", type=int, default=512, help="size of the hidden states (default 512)")
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--threads", type=int, help="of torch; by default its own choice")
    options.add_argument("--json", metavar="FILE")
    args = options.parse_args()
    import torch

    if args.threads:
        torch.set_num_threads(args.threads)
    info = psc.load_tokenizer(args.tokenizer)
    compiler = psc.GrammarCompiler(info)
    model = random_model(info.vocab_size, args.hidden, args.layers)
    stops = set(info.stop_token_ids)
    rows: list[list[str]] = []
    readings: list[dict[str, Any]] = []
    for grammar in args.grammars:
        engines = {"without": None, **processors(compiler, info, grammar)}
        for batch in args.batch:
            ids = torch.randint(0, 1000, (batch, 8), generator=torch.Generator().manual_seed(1))

            def run(make: Any, ids: Any = ids) -> tuple[float, float, int]:
                timed = Timed(make()) if make else None
                torch.manual_seed(3)
                began = time.perf_counter()
                out = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=args.tokens,
                    do_sample=True,
                    top_k=50,
                    logits_processor=[timed] if timed else [],
                )
                seconds = time.perf_counter() - began
                generated = out[:, ids.shape[1] :].tolist()
                assert all(len(row) == args.tokens for row in generated)
                return seconds, timed.seconds if timed else 0.0, constrained_steps(stops, generated)

            for make in engines.values():  # first uses: tables, threads, memory
                run(make)
            times: dict[str, list[tuple[float, float, int]]] = {name: [] for name in engines}
            for turn in range(args.rounds):
                order = list(engines)
                for name in order[turn % len(order) :] + order[: turn % len(order)]:
                    times[name].append(run(engines[name]))
            for name, mine in times.items():
                ratios = sorted(t[0] / base[0] for t, base in zip(mine, times["without"], strict=True))
                step = statistics.median(t[0] for t in mine) / args.tokens
                inside = statistics.median(t[1] for t in mine) / args.tokens
                readings.append({"grammar": grammar, "batch": batch, "engine": name, "runs": mine, "ratios": ratios})
                rows.append(
                    [
                        grammar,
                        str(batch),
                        name,
                        number(step * 1e3),
                        "-" if name == "without" else f"{100 * (statistics.median(ratios) - 1):+.1f} %",
                        "-" if name == "without" else f"{100 * (ratios[0] - 1):+.1f} to {100 * (ratios[-1] - 1):+.1f} %",
                        "-" if name == "without" else number(inside * 1e6),
                        "-"
                        if name == "without"
                        else f"{100 * inside / statistics.median(b[0] / args.tokens for b in times['without']):.1f} %",
                        "-" if name == "without" else f"{mine[0][2]} of {batch * args.tokens}",
                    ]
                )
    parameters = sum(p.numel() for p in model.parameters())
    print(
        f"{in_words(machine())}, torch {torch.__version__}, {torch.get_num_threads()} threads, {parameters / 1e6:.0f}M parameters"
    )
    head = ["grammar", "batch", "engine", "ms a step", "slower", "over the rounds", "in the processor us", "share", "constrained"]
    print(table(head, rows))
    report({"machine": machine(), "tokenizer": args.tokenizer, "parameters": parameters, "readings": readings}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
