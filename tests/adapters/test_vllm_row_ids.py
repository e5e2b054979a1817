"""Workers of vLLM that are sent the ids of rows mask as those that are sent masks."""

from __future__ import annotations

import logging
import pickle
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import torch
import vllm_engine as engine

from psc.adapters.vllm import register
from psc.adapters.vllm.installation import _INSTALLED, uninstall
from psc.adapters.vllm.row_ids import RowIds, follow_row_ids
from psc.adapters.vllm.seams import find_seams
from psc.errors import BitmaskError, ResourceLimitError
from psc.runtime import numpy_masks

pytestmark = pytest.mark.filterwarnings("ignore")
utils = engine.output.utils
SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}, "bc": {"type": "null"}}, "required": ["a"]}
STOP = engine.tokenizer().eos_token_id
THOUGHTS_END = engine.tokenizer().convert_tokens_to_ids("</think>")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("PSC_VLLM", "PSC_FALLBACK", "PSC_STORE", "PSC_REGISTRY", "PSC_WARM", "PSC_MASK_TABLE_MB"):
        monkeypatch.delenv(name, raising=False)
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


def ids(text: str) -> list[int]:
    """The tokens of a text."""
    return list(engine.tokenizer()(text, add_special_tokens=False)["input_ids"])


def allowed(row: np.ndarray) -> set[int]:
    """The tokens that a mask row allows."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


class Reasoner:
    """Reasons until a token, as vLLM's simple parsers do."""

    def __init__(self, tokenizer: Any, **more: Any) -> None:
        pass

    def is_reasoning_end(self, tokens: Any) -> bool:
        return THOUGHTS_END in list(tokens)

    def is_reasoning_end_streaming(self, tokens: Any, delta: Any) -> bool:
        return THOUGHTS_END in list(delta)


CONSTRAINTS: tuple[dict[str, Any], ...] = (
    {"json": SCHEMA},
    {"regex": "[ab]{2,5}"},
    {"choice": ["ab", "abc"]},
    {"grammar": 'root ::= "a" root | "b"'},
)
TEXTS = ('{"a": true}', "abab", "abc", "aaab")


def a_manager(second: bool, **more: Any) -> Any:
    config = engine.config(additional={"mask_table_mb": 1}, **more)
    config.scheduler_config.max_num_seqs = 8
    config.use_v2_model_runner = second
    return engine.manager(config)


def masked(manager: Any, second: bool, answer: Any, names: list[str], batch: list[str], logits: Any) -> Any:
    """The logits of a batch, masked by a worker that was sent an answer of the manager."""
    if second:
        from vllm.v1.worker.gpu.structured_outputs import StructuredOutputsWorker
    sent = pickle.loads(pickle.dumps(answer))
    logits = logits.clone()
    if second:
        worker = object.__new__(StructuredOutputsWorker)
        counts = torch.arange(len(batch) + 1, dtype=torch.int32)
        worker.apply_grammar_bitmask(logits, SimpleNamespace(req_ids=batch, cu_num_logits=counts), names, sent)
    else:
        utils.apply_grammar_bitmask(
            SimpleNamespace(scheduled_spec_decode_tokens={}),
            SimpleNamespace(structured_output_request_ids=names, grammar_bitmask=sent),
            SimpleNamespace(req_ids=batch),
            logits,
        )
    return logits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("second", [False, True])
def test_the_same_logits(installed: Any, second: bool, dtype: Any) -> None:
    manager = a_manager(second)
    width = manager.vllm_config.model_config.get_vocab_size()
    random_numbers = random.Random(width)
    original = next(f for _, name, f in getattr(installed.output, _INSTALLED) if name == "grammar_bitmask")
    live: dict[str, tuple[Any, list[int]]] = {}
    for step in range(120):
        while len(live) < 8 and random_numbers.random() < 0.7:
            which = random_numbers.randrange(len(CONSTRAINTS))
            name = f"r{step}.{len(live)}"
            request = engine.ready(manager, name, engine.parameters(**CONSTRAINTS[which]))
            live[name] = request, [*ids(TEXTS[which]), STOP]
        names = list(live)
        if not names:
            continue
        batch = [*names, "free"]
        random_numbers.shuffle(batch)
        requests = {name: request for name, (request, _) in live.items()}
        answer = manager.grammar_bitmask(requests, names, {})
        assert isinstance(answer, RowIds)
        logits = torch.randn(len(batch), width, generator=torch.Generator().manual_seed(step)).to(dtype)
        ours = masked(manager, second, answer, names, batch, logits)
        bitmask = original(manager, requests, names, {})
        for at, name in enumerate(batch):
            kept = allowed(bitmask[names.index(name)]) if name in live else set(range(width))
            assert set(torch.isfinite(ours[at]).nonzero().flatten().tolist()) == {t for t in kept if t < width}, (step, name)
            assert torch.equal(ours[at][torch.isfinite(ours[at])], logits[at][torch.isfinite(ours[at])])
        for name, (request, tokens) in list(live.items()):
            if not tokens:
                del live[name]
                continue
            request.append_output_token_ids(tokens[0])
            manager.accept_tokens(request, [tokens.pop(0)])


def test_what_is_sent_is_small() -> None:
    manager = a_manager(False, vocab_size=128 << 10)
    requests = {f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex="[ab]+")) for n in range(8)}
    manager.grammar_bitmask(requests, list(requests), {})
    assert len(pickle.dumps(manager.grammar_bitmask(requests, list(requests), {}))) < 1000


def test_drafts_and_tokens_kept_back_are_sent_as_masks() -> None:
    manager = a_manager(False, drafts=2)
    request = engine.ready(manager, "r", engine.parameters(regex="[ab]+"))
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {"r": ids("a")}), np.ndarray)
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {}), RowIds)
    manager.reasoner_cls = Reasoner
    request.structured_output_request.masked_reasoning_end_ids = (3,)
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {}), np.ndarray)


def test_a_request_that_reasons_is_left_alone() -> None:
    manager = a_manager(False)
    manager.reasoner_cls = Reasoner
    request = engine.ready(manager, "r", engine.parameters(regex="[ab]+"))
    answer = manager.grammar_bitmask({"r": request}, ["r"], {})
    assert answer.update.ids.tolist() == [-1]


def test_a_step_that_did_not_arrive() -> None:
    manager = a_manager(False)
    request = engine.ready(manager, "r", engine.parameters(regex="[ab]+"))
    logits = torch.zeros(1, manager.vllm_config.model_config.get_vocab_size())
    first, _lost, third = (manager.grammar_bitmask({"r": request}, ["r"], {}) for _ in range(3))
    masked(manager, False, first, ["r"], ["r"], logits)
    with pytest.raises(BitmaskError, match="every update must be applied"):
        masked(manager, False, third, ["r"], ["r"], logits)


def test_a_mask_without_any_token(caplog: pytest.LogCaptureFixture) -> None:
    """All is allowed, and what is sampled is refused: that request fails, and no other."""
    manager = a_manager(False)
    stuck = engine.ready(manager, "stuck", engine.parameters(stop_token_ids=ids("x"), regex="ax"))
    other = engine.ready(manager, "other", engine.parameters(regex="[ab]+"))
    assert manager.accept_tokens(stuck, ids("a"))
    answer = manager.grammar_bitmask({"stuck": stuck, "other": other}, ["stuck", "other"], {})
    assert answer.update.ids[0] == -1 and answer.update.ids[1] >= 0
    assert "the request will fail" in caplog.text
    assert not manager.accept_tokens(stuck, ids("b"))


def test_a_mask_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step goes on with masks, which tell whose it is; the next one with ids again."""
    manager = a_manager(False)
    requests = {f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex="[ab]+")) for n in range(2)}

    def limited(*arguments: Any) -> Any:
        raise ResourceLimitError("a limit")

    with monkeypatch.context() as limits:
        limits.setattr(numpy_masks.MaskTable, "step", limited)
        assert isinstance(manager.grammar_bitmask(requests, list(requests), {}), np.ndarray)
    answer = manager.grammar_bitmask(requests, list(requests), {})
    assert isinstance(answer, RowIds) and answer.update.number == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mask_table_mb": 0}, None),
        ({"sharded": True}, "enable_batch_sharded_sampling"),
        ({"device": "tpu"}, "no table for the device 'tpu'"),
        ({"sequences": 1 << 20}, "mask_table_mb=1 is too little"),
    ],
)
def test_when_masks_are_sent_after_all(change: dict[str, Any], reason: str | None, caplog: pytest.LogCaptureFixture) -> None:
    config = engine.config(additional={"mask_table_mb": change.get("mask_table_mb", 1)})
    config.parallel_config.enable_batch_sharded_sampling = change.get("sharded", False)
    config.device_config = SimpleNamespace(device_type=change.get("device", "cpu"))
    if "sequences" in change:
        config.scheduler_config.max_num_seqs = change["sequences"]
    with caplog.at_level(logging.WARNING, "psc.adapters.vllm"):
        manager = engine.manager(config)
        request = engine.ready(manager, "r", engine.parameters(regex="[ab]+"))
        assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {}), np.ndarray)
    told = [r.getMessage() for r in caplog.records if "workers are sent masks" in r.getMessage()]
    assert len(told) == (reason is not None) and all(str(reason) in text for text in told)


def test_what_is_replaced_is_put_back(installed: Any) -> None:
    before = utils.apply_grammar_bitmask
    follow_row_ids()
    assert utils.apply_grammar_bitmask is not before
    uninstall(installed)
    assert utils.apply_grammar_bitmask is before
