"""A decoder of Llama's shapes with random weights, for benchmarks whose texts are forced: its steps cost what a model's cost.

Plain torch, one token for each sequence at a step, and a cache of keys and values of a fixed length, so that a step can be captured
in a CUDA graph. Attention reads the whole cache at every step, whatever its position is.

Cost: the weights, 2 bytes each (16 GB for `SHAPES["8b"]`), and for a batch of 64 and a cache of 512 tokens 4 GB more.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    hidden: int


SHAPES = {
    "8b": Shape(4096, 32, 32, 8, 128, 14336),  # Llama 3.1 8B
    "1b": Shape(2048, 16, 32, 8, 64, 8192),  # Llama 3.2 1B
    "tiny": Shape(32, 2, 4, 2, 8, 64),
}


class _Layer(nn.Module):
    def __init__(self, shape: Shape, batch: int, length: int, like: dict[str, Any]) -> None:
        super().__init__()
        self.shape = shape
        heads = shape.heads + 2 * shape.kv_heads
        self.qkv = nn.Linear(shape.width, heads * shape.head, bias=False, **like)
        self.out = nn.Linear(shape.heads * shape.head, shape.width, bias=False, **like)
        self.up = nn.Linear(shape.width, 2 * shape.hidden, bias=False, **like)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False, **like)
        self.norms = nn.ParameterList(nn.Parameter(torch.ones(shape.width, **like)) for _ in range(2))
        self.keys = torch.zeros(batch, shape.kv_heads, length, shape.head, **like)
        self.values = torch.zeros_like(self.keys)

    def forward(self, x: Any, position: Any, turn: tuple[Any, Any], seen: Any) -> Any:
        shape, n = self.shape, x.shape[0]
        q, k, v = self.qkv(functional.rms_norm(x, (shape.width,), self.norms[0])).split(
            [heads * shape.head for heads in (shape.heads, shape.kv_heads, shape.kv_heads)], dim=-1
        )
        # The query heads that share keys are as rows of one attention.
        q = _turned(q.view(n, shape.kv_heads, -1, shape.head), turn)
        self.keys.index_copy_(2, position, _turned(k.view(n, shape.kv_heads, 1, shape.head), turn))
        self.values.index_copy_(2, position, v.view(n, shape.kv_heads, 1, shape.head))
        read = functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        x = x + self.out(read.reshape(n, -1))
        gate, up = self.up(functional.rms_norm(x, (shape.width,), self.norms[1])).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


def _turned(x: Any, turn: tuple[Any, Any]) -> Any:
    a, b = x.chunk(2, dim=-1)
    cos, sin = turn
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Decoder:
    """A model and the state of a batch: ``tokens`` goes in, ``step`` runs, ``logits`` come out."""

    def __init__(self, shape: Shape, vocab_size: int, batch: int, length: int, device: str) -> None:
        """``length``: of the cache, in tokens; the position begins anew when it is full."""
        like: dict[str, Any] = {"device": device, "dtype": torch.bfloat16 if device == "cuda" else torch.float32}
        torch.manual_seed(0)
        self.embeddings = torch.randn(vocab_size, shape.width, **like)
        self.layers = nn.ModuleList(_Layer(shape, batch, length, like) for _ in range(shape.layers))
        self.head = nn.Linear(shape.width, vocab_size, bias=False, **like)
        self.tokens = torch.zeros(batch, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.frequencies = 500_000.0 ** -(torch.arange(0, shape.head, 2, device=device) / shape.head)
        self.numbers = torch.arange(length, device=device)
        self._graph: Any = None
        with torch.no_grad():
            self.logits = self._forward()
            if device == "cuda":
                self._capture()

    def _forward(self) -> Any:
        angles = self.position * self.frequencies
        turn = (angles.cos().to(self.embeddings.dtype), angles.sin().to(self.embeddings.dtype))
        seen = (self.numbers <= self.position).view(1, 1, 1, -1)
        x = self.embeddings[self.tokens]
        for layer in self.layers:
            x = layer(x, self.position, turn, seen)
        return self.head(functional.rms_norm(x, x.shape[-1:]))

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._forward()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self.logits = self._forward()

    def step(self) -> None:
        """Computes ``logits`` after ``tokens``; on a GPU it only begins to."""
        if self._graph is not None:
            self._graph.replay()
        else:
            with torch.no_grad():
                self.logits = self._forward()

    def advance(self, tokens: Any) -> None:
        """The tokens of the next step, which comes one position later."""
        self.tokens.copy_(tokens, non_blocking=True)
        self.position.add_(1).remainder_(len(self.numbers))
