"""A batched decoding loop on the CPU, in torch, with masks that are made while the model runs.

    python examples/batched_torch.py [--requests N] [--batch B] [--tokens T] [--seed S] [--tokenizer SPEC]

Requests wait for a place in the batch, and get one when another ends. They are of four kinds: a sum (EBNF), a date (a regular
expression), JSON that begins after the model has written `</think>`, and one without a grammar. The model is a GRU with random
weights over a real vocabulary; nothing it writes means anything, but each text is what its grammar says.

What to look at is `decode`: `advance` hands the tokens over, the forward pass runs, `ready` collects the masks.
"""

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

import psc
from psc.decoding import DeferredGrammar, OverlappedMasks
from psc.runtime.numpy_masks import MaskTable, apply_rows

SUM = """\
root ::= number (" + " number){1,3} " = ?"
number ::= [1-9] [0-9]{0,2}
"""


class RandomModel(torch.nn.Module):
    """A recurrent model with random weights: states (batch, hidden), tokens (batch,) to states and logits (batch, vocabulary)."""

    def __init__(self, vocab_size: int, hidden: int = 32) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocab_size, hidden)
        self.cell = torch.nn.GRUCell(hidden, hidden)

    def forward(self, state: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(self.embedding(tokens), state)
        return state, state @ self.embedding.weight.T


@dataclass
class Request:
    """A text to be written: what constrains it, and its tokens so far."""

    kind: str
    make_matcher: Callable[[], Any]
    tokens: list[int] = field(default_factory=list)


def decode(
    model: RandomModel,
    info: psc.TokenizerInfo,
    waiting: Iterable[Request],
    *,
    batch: int,
    max_tokens: int,
    bias: torch.Tensor,
    seed: int,
) -> list[Request]:
    """Writes the text of each request, `batch` at a time."""
    queue, finished = deque(waiting), []
    torch.manual_seed(seed)
    stop = set(info.stop_token_ids)
    table = MaskTable(info, max_batch=batch)
    state = torch.zeros(batch, model.cell.hidden_size)
    places: list[Request | None] = [None] * batch
    inputs = torch.zeros(batch, dtype=torch.int64)
    with OverlappedMasks(table, [None] * batch) as masks, torch.no_grad():
        accepted = [-1] * batch
        while True:
            for place in range(batch):
                if places[place] is None and queue:
                    request = places[place] = queue.popleft()
                    masks.replace(place, request.make_matcher())
                    state[place], inputs[place], accepted[place] = 0, len(finished) + place, -1  # a prompt of one token
            if not any(places):
                return finished
            masks.advance(accepted)  # a thread accepts the tokens and finds the next masks
            state, logits = model(state, inputs)  # meanwhile, the forward pass
            step = masks.ready()
            assert not step.refused
            logits += bias
            apply_rows(logits, table.rows, step.ids)
            inputs = torch.multinomial(logits.softmax(dim=-1), 1)[:, 0]
            accepted = inputs.tolist()
            for place, request in enumerate(places):
                if request is None:
                    accepted[place] = -1
                    continue
                request.tokens.append(accepted[place])
                if accepted[place] in stop or len(request.tokens) == max_tokens:
                    finished.append(request)
                    places[place], accepted[place] = None, -1
                    masks.replace(place, None)


def requests(info: psc.TokenizerInfo, n: int) -> list[Request]:
    """Requests of each kind in turn."""
    compiler = psc.GrammarCompiler(info)
    total = compiler.compile_grammar(SUM)
    date = compiler.compile_regex(r"20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]")
    after_thinking = DeferredGrammar(compiler.compile_builtin_json_grammar(), "</think>")
    kinds: list[tuple[str, Callable[[], Any]]] = [
        ("sum", lambda: psc.GrammarMatcher(total)),
        ("thoughts, then JSON", after_thinking.matcher),
        ("date", lambda: psc.GrammarMatcher(date)),
        ("free", lambda: None),
    ]
    return [Request(*kinds[i % len(kinds)]) for i in range(n)]


def inclinations(info: psc.TokenizerInfo) -> torch.Tensor:
    """Logits to add: the model likes to stop thinking, to close brackets and strings, and to end."""
    bias = torch.zeros(info.vocab_size)
    for token in range(info.vocab_size):
        spelled = info.token_bytes(token)
        if spelled and not spelled.strip(b'":}]'):
            bias[token] = 12.0 if spelled.startswith(b'"') else 7.0
    bias[list(info.stop_token_ids)] = 7.0
    bias[[t for t in range(info.vocab_size) if info.token_bytes(t) == b"</think>"]] = 10.5
    return bias


def text_of(info: psc.TokenizerInfo, tokens: list[int]) -> str:
    """The text of a request."""
    return b"".join(info.token_bytes(t) for t in tokens).decode(errors="replace")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=10, metavar="N")
    options.add_argument("--batch", type=int, default=4, metavar="B")
    options.add_argument("--tokens", type=int, default=60, metavar="T", help="tokens of a text at most (default 60)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC")
    args = options.parse_args()
    info = psc.load_tokenizer(args.tokenizer)
    torch.manual_seed(args.seed)
    model = RandomModel(info.vocab_size).eval()
    done = decode(
        model,
        info,
        requests(info, args.requests),
        batch=args.batch,
        max_tokens=args.tokens,
        bias=inclinations(info),
        seed=args.seed,
    )
    for request in done:
        print(f"{request.kind:20} {text_of(info, request.tokens)!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
