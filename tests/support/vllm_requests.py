"""Parts of requests to vLLM and of what its masks allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import vllm_engine as engine

SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}, "bc": {"type": "null"}}, "required": ["a"]}


def ids(text: str) -> list[int]:
    """The tokens of a text."""
    return list(engine.tokenizer()(text, add_special_tokens=False)["input_ids"])


def allowed(row: np.ndarray) -> set[int]:
    """The tokens that a mask row allows."""
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


class Reasoner:
    """Reasons until a token, as vLLM's simple parsers do."""

    end = engine.tokenizer().convert_tokens_to_ids("</think>")

    def __init__(self, tokenizer: Any, **more: Any) -> None:
        pass

    def is_reasoning_end(self, tokens: Any) -> bool:
        return self.end in list(tokens)

    def is_reasoning_end_streaming(self, tokens: Any, delta: Any) -> bool:
        return self.end in list(delta)
