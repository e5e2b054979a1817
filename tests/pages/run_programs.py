"""Runs the Python blocks of a page, one after the other in one namespace, in which there is what the page takes for granted.

    python run_programs.py PAGE

That is a vocabulary, a grammar, and a model that draws at random. A loop without an end is ended by the model, after some steps.
"""

import contextlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from markdown_blocks import blocks

import psc

BATCH = 4
STEPS = 30


class Enough(Exception):
    """The model has shown enough."""


class Model:
    """Random logits for a batch, so many times."""

    def __init__(self, width: int) -> None:
        self._rng = np.random.default_rng(1)
        self._width = width
        self._left = STEPS

    def __call__(self, *tokens: Any) -> Any:
        if self._left == 0:
            self._left = STEPS
            raise Enough
        self._left -= 1
        return self._rng.normal(size=(BATCH, self._width)).astype(np.float32)

    def forward(self, tokens: Any) -> Any:
        return self(tokens)[:1]


def sample(logits: Any) -> list[int]:
    return [int(t) for t in logits.argmax(axis=-1)]


def main() -> None:
    info = psc.load_tokenizer("models/tiny/tokenizer.json")
    compiler = psc.GrammarCompiler(info, store=False)
    compiled = compiler.compile_grammar("root ::= [a-z]{60,}")
    model = Model(160_000)  # wider than any vocabulary, as models are
    names: dict[str, Any] = {
        "psc": psc,
        "info": info,
        "compiler": compiler,
        "compiled": compiled,
        "batch": BATCH,
        "matchers": [psc.GrammarMatcher(compiled) for _ in range(BATCH)],
        "model": model,
        "logits": model()[:1],
        "tokens": [-1] * BATCH,
        "sample": sample,
    }
    page = Path(sys.argv[1])
    for block in blocks(page):
        if block.language == "python" and not block.remark:
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.suppress(Enough):
                exec(code, names)  # a page's own program


if __name__ == "__main__":
    main()
