"""Requests to SGLang's grammar backend, texts that are finished with it, and trees of drafts."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)
import torch  # noqa: E402
from sglang_engine import END, VOCAB_SIZE, Engine, token_bytes, token_of  # noqa: E402

EOS = token_of(END)
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CALL = {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": OBJECT}, "end": "</call>"}
TAG = {
    "type": "structural_tag",
    "format": {"type": "triggered_tags", "triggers": ["<call"], "tags": [CALL], "at_least_one": True},
}
OLDER_TAG = {
    "structures": [{"begin": "<tool>", "schema": {"type": "integer"}, "end": "</tool>"}],
    "triggers": ["<tool"],
    "at_least_one": True,
}


def finish(requests: Engine, request: Any, seed: int = 0) -> bytes:
    """A random text of a request, to its end."""
    rng = random.Random(seed)
    text = b""
    for step in range(400):
        allowed = np.flatnonzero(requests.mask(request)[0]).tolist()
        assert allowed
        closing = [t for t in allowed if token_bytes()[t][:1] in (b"}", b"]", b'"', b"<", b">")] if step > 20 else []
        token = EOS if EOS in allowed and (step > 20 or rng.random() < 0.3) else rng.choice(closing or allowed)
        assert requests.accept(request, token) == [token]
        if request.grammar.is_terminated():
            return text
        text += token_bytes()[token]
    raise AssertionError(f"no end: {text!r}")


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yes", None]}}, "required": ["a", "b"]}
REFUSED_BY_PSC = {"regex": "a$b"}
"""It matches no text; XGrammar reads it without the dollar."""


class Tree:
    """A tree of drafts as EAGLE has it: the links in int64, the tokens, and a mask of -1."""

    def __init__(self, parents: list[int], tokens: list[int]) -> None:
        n = len(parents) + 1
        self.next = torch.full((n,), -1, dtype=torch.int64)
        self.sibling = torch.full((n,), -1, dtype=torch.int64)
        self.tokens = torch.tensor([0, *tokens], dtype=torch.int64)
        last: dict[int, int] = {}
        for node, parent in enumerate(parents, start=1):
            if parent in last:
                self.sibling[last[parent]] = node
            else:
                self.next[parent] = node
            last[parent] = node
        self.mask = torch.full((n, -(-VOCAB_SIZE // 32)), -1, dtype=torch.int32)

    def walked_by(self, walk: Callable[..., None], grammar: Any) -> Any:
        mask = self.mask.clone()
        walk(self.next, self.sibling, self.tokens, grammar, mask, vocab_size=VOCAB_SIZE)
        return mask
