"""A batched decoding loop on a GPU, in CuPy: masks stay on the device, and a step sends four bytes a sequence.

    python examples/batched_cupy.py [--batch B] [--tokens T] [--seed S] [--tokenizer SPEC]

Half of the batch writes JSON, half writes sums. The masked logits are drawn from in one kernel (`masked_sample`: Gumbel's
trick), so the logits are read once and not written. Without a GPU it says so and ends.
"""

import argparse
import sys

from random_model import RandomModel

import psc
from psc.decoding import OverlappedMasks

SUM = """\
root ::= number (" + " number){1,3} " = ?"
number ::= [1-9] [0-9]{0,2}
"""


def decode(info: psc.TokenizerInfo, *, batch: int, max_tokens: int, seed: int) -> list[list[int]]:
    """The tokens of each sequence of the batch."""
    import cupy as cp

    from psc.runtime.cupy_masks import MaskTable, masked_sample

    compiler = psc.GrammarCompiler(info)
    grammars = [compiler.compile_builtin_json_grammar(), compiler.compile_grammar(SUM)]
    matchers = [psc.GrammarMatcher(grammars[i % 2]) for i in range(batch)]
    model = RandomModel(info, library=cp)
    table = MaskTable(info, max_batch=batch)
    state, inputs = model.start(batch), cp.arange(batch)
    texts: list[list[int]] = [[] for _ in range(batch)]
    stream = cp.cuda.get_current_stream()
    with OverlappedMasks(table, matchers) as masks:
        masks.advance(stream=stream)
        for n in range(max_tokens):
            state, logits = model(state, inputs)
            step = masks.ready(stream=stream)
            assert not step.refused
            inputs = masked_sample(logits, table.rows, step.ids, seed=seed, step=n)
            tokens = [int(t) for t in inputs.get()]
            for place, (matcher, text) in enumerate(zip(masks.matchers, texts, strict=True)):
                if matcher is None or matcher.is_terminated():
                    tokens[place] = -1
                else:
                    text.append(tokens[place])
            if all(token == -1 for token in tokens):
                break
            masks.advance(tokens, stream=stream)
    return texts


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--batch", type=int, default=8, metavar="B")
    options.add_argument("--tokens", type=int, default=60, metavar="T", help="tokens of a text at most (default 60)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    args = options.parse_args()
    try:
        import cupy

        found = cupy.cuda.is_available()
    except ImportError:
        print("This example needs CuPy (in a clone: pip install '.[gpu]'). batched_torch.py does the same on a CPU.")
        return 0
    if not found:
        print("This example needs an NVIDIA GPU, and CuPy finds none here. batched_torch.py does the same on a CPU.")
        return 0
    info = psc.load_tokenizer(args.tokenizer)
    for text in decode(info, batch=args.batch, max_tokens=args.tokens, seed=args.seed):
        print(repr(b"".join(info.token_bytes(t) for t in text).decode(errors="replace")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
