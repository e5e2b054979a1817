"""psc's kernel masks logits on a CPU as vLLM's own function does, for the masks of any backend."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import torch
import vllm_engine as engine

from psc.adapters.vllm import register, workers
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams
from psc.runtime import numpy_masks

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.every_release]
utils = engine.output.utils
WORDS = 7
vllms_own = utils.apply_grammar_bitmask


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("PSC_VLLM", raising=False)
    monkeypatch.setattr(utils, "PIN_MEMORY", torch.cuda.is_available())  # else true where vLLM does not know its platform
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


def a_step(rng: random.Random, *, drafts: bool) -> tuple[Any, Any, Any]:
    """A step's arguments but the logits: some requests have no grammar, some have left since, and the order is another."""
    batch = [f"r{n}" for n in range(rng.randint(1, 9))]
    names = [*rng.sample(batch, rng.randint(0, len(batch))), *(["gone"] if rng.random() < 0.3 else [])]
    rng.shuffle(names)
    spoken = {name: [1] * rng.randint(0, 2) for name in batch if drafts}
    most = max((len(tokens) for tokens in spoken.values()), default=0)
    masks = np.random.default_rng(rng.randrange(1 << 30)).integers(-(1 << 31), 1 << 31, (len(names) * (1 + most), WORDS), np.int32)
    return (
        SimpleNamespace(scheduled_spec_decode_tokens=spoken),
        SimpleNamespace(structured_output_request_ids=names, grammar_bitmask=masks),
        SimpleNamespace(req_ids=batch),
    )


@pytest.mark.parametrize("drafts", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("width", [WORDS * 32, WORDS * 32 - 5, WORDS * 32 + 40])
def test_as_vllm_masks(dtype: Any, width: int, drafts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(width)
    by_us = 0
    apply_rows = numpy_masks.apply_rows

    def counted(*arguments: Any, **named: Any) -> None:
        nonlocal by_us
        by_us += 1
        apply_rows(*arguments, **named)

    monkeypatch.setattr(numpy_masks, "apply_rows", counted)
    for seed in range(60):
        scheduler_output, grammar_output, batch = a_step(rng, drafts=drafts)
        if not grammar_output.structured_output_request_ids:
            continue  # vLLM makes no masks
        counts = [len(scheduler_output.scheduled_spec_decode_tokens.get(name, ())) + 1 for name in batch.req_ids]
        logits = torch.randn(sum(counts), width, generator=torch.Generator().manual_seed(seed)).to(dtype)
        theirs, ours = logits.clone(), logits.clone()
        vllms_own(scheduler_output, grammar_output, batch, theirs)
        utils.apply_grammar_bitmask(scheduler_output, grammar_output, batch, ours)
        assert torch.equal(theirs, ours), seed
    assert by_us > 20 or drafts


def test_a_worker_that_is_imported_later_has_it_too() -> None:
    from vllm.v1.structured_output.utils import apply_grammar_bitmask

    assert apply_grammar_bitmask is not vllms_own


def test_what_is_replaced_is_put_back(installed: Any) -> None:
    once = utils.apply_grammar_bitmask
    workers.follow()
    assert utils.apply_grammar_bitmask is once
    uninstall(installed)
    assert utils.apply_grammar_bitmask is vllms_own


def test_a_release_without_the_function_keeps_its_own(
    installed: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    uninstall(installed)
    monkeypatch.delattr(utils, "apply_grammar_bitmask")
    with caplog.at_level("INFO", "psc.adapters.vllm"):
        assert register()
    assert any("vLLM's own function" in r.getMessage() for r in caplog.records)
