"""Workers of vLLM that are sent the ids of rows mask as those that are sent masks."""

from __future__ import annotations

import json
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
from cupy_places import needs_gpu

from psc.adapters.vllm import register
from psc.adapters.vllm.installation import _INSTALLED, uninstall
from psc.adapters.vllm.seams import find_seams
from psc.adapters.vllm.workers import RowIds
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


def masked(
    manager: Any,
    second: bool,
    answer: Any,
    names: list[str],
    batch: list[str],
    logits: Any,
    drafts: dict[str, list[int]],
    device: str = "cpu",
) -> Any:
    """The logits of a batch, masked by a worker on a device that was sent an answer of the manager."""
    if second:
        from vllm.v1.worker.gpu.structured_outputs import StructuredOutputsWorker
    sent = pickle.loads(pickle.dumps(answer))
    logits = logits.to(device, copy=True)
    if second:
        worker = object.__new__(StructuredOutputsWorker)
        counts = np.cumsum([0, *(1 + len(drafts.get(name, ())) for name in batch)])
        input_batch = SimpleNamespace(req_ids=batch, cu_num_logits=torch.tensor(counts, dtype=torch.int32, device=device))
        worker.apply_grammar_bitmask(logits, input_batch, names, sent)
    else:
        utils.apply_grammar_bitmask(
            SimpleNamespace(scheduled_spec_decode_tokens=drafts),
            SimpleNamespace(structured_output_request_ids=names, grammar_bitmask=sent),
            SimpleNamespace(req_ids=batch),
            logits,
        )
    return logits.cpu()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("width", [0, 3])
@pytest.mark.parametrize(
    ("second", "dtype", "reasons"),
    [(False, torch.float32, False), (False, torch.bfloat16, True), (True, torch.float32, True), (True, torch.bfloat16, False)],
)
def test_the_same_logits(installed: Any, second: bool, dtype: Any, reasons: bool, width: int, device: str) -> None:
    """As the rows say that vLLM's own loop fills, for requests that come and go, with drafts that may be wrong or padding."""
    manager = a_manager(second, drafts=width)
    manager.reasoner_cls = Reasoner if reasons else None
    n_logits = manager.vllm_config.model_config.get_vocab_size()
    rng = random.Random(width)
    original = next(f for _, name, f in getattr(installed.output, _INSTALLED) if name == "grammar_bitmask")
    live: dict[str, tuple[Any, list[int]]] = {}
    by_ids = 0
    for step in range(100):
        while len(live) < 8 and rng.random() < 0.7:
            which = rng.randrange(len(CONSTRAINTS))
            name = f"r{step}.{len(live)}"
            request = engine.ready(manager, name, engine.parameters(**CONSTRAINTS[which]))
            thoughts = [*(rng.randrange(60) for _ in range(rng.randint(0, 3))), THOUGHTS_END] if reasons else []
            live[name] = request, [*thoughts, *ids(TEXTS[which]), STOP]
        names = list(live)
        if not names:
            continue
        drafts = {"free": [1] * rng.randint(0, width)}
        for name, (_, tokens) in live.items():
            draft = tokens[: rng.randint(0, width)]
            if draft and rng.random() < 0.3:
                draft[rng.randrange(len(draft))] = rng.choice([-1, rng.randrange(len(engine.tokenizer()))])
            if draft:
                drafts[name] = draft
        batch = [*names, "free"]
        rng.shuffle(batch)
        requests = {name: request for name, (request, _) in live.items()}
        answer = manager.grammar_bitmask(requests, names, drafts)
        by_ids += isinstance(answer, RowIds)
        places = [(name, k) for name in batch for k in range(1 + len(drafts.get(name, ())))]
        logits = torch.randn(len(places), n_logits, generator=torch.Generator().manual_seed(step)).to(dtype)
        bitmask = original(manager, requests, names, drafts).copy()
        if not isinstance(answer, RowIds):  # masks, as drafts met a request that reasons
            assert reasons and width
            places = []
        ours = masked(manager, second, answer, names, batch, logits, drafts, device) if places else logits
        for at, (name, k) in enumerate(places):
            kept = allowed(bitmask[names.index(name) * (width + 1) + k]) if name in live else set(range(n_logits))
            assert set(torch.isfinite(ours[at]).nonzero().flatten().tolist()) == {t for t in kept if t < n_logits}, (step, name, k)
            assert torch.equal(ours[at][torch.isfinite(ours[at])], logits[at][torch.isfinite(ours[at])])
        for name, (request, tokens) in list(live.items()):
            if not tokens:
                del live[name]
                continue
            request.append_output_token_ids(tokens[0])
            manager.accept_tokens(request, [tokens.pop(0)])
    assert by_ids > 10


def test_what_is_sent_is_small() -> None:
    manager = a_manager(False, vocab_size=128 << 10)
    requests = {f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex="[ab]+")) for n in range(8)}
    manager.grammar_bitmask(requests, list(requests), {})
    assert len(pickle.dumps(manager.grammar_bitmask(requests, list(requests), {}))) < 1000


def test_what_a_reasoning_parser_does_is_sent_as_masks() -> None:
    manager = a_manager(False, drafts=2)
    request = engine.ready(manager, "r", engine.parameters(regex="[ab]+"))
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {}), RowIds)
    manager.reasoner_cls = Reasoner
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {"r": ids("a")}), np.ndarray)
    request.structured_output_request.masked_reasoning_end_ids = (3,)
    assert isinstance(manager.grammar_bitmask({"r": request}, ["r"], {}), np.ndarray)


@pytest.mark.parametrize("parser", ["deepseek_r1", "qwen3", "kimi_k3"])
@pytest.mark.parametrize("width", [0, 1, 4])
def test_reasoning_of_a_grammar(parser: str, width: int) -> None:
    """Workers get the same masks by ids as by rows: while a request reasons, over its end, and behind it."""
    end = ids("<|close|>think<|sep|>") if parser == "kimi_k3" else [THOUGHTS_END]
    call, call_end = (engine.tokenizer().convert_tokens_to_ids(name) for name in ("<tool_call>", "</tool_call>"))
    tag = {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"}
    cases: list[tuple[dict[str, Any], list[int]]] = [
        (one, [*end, *ids(text)]) for one, text in zip(CONSTRAINTS, TEXTS, strict=True)
    ]
    calls = {"structural_tag": json.dumps({"type": "structural_tag", "format": tag})}
    cases += [(calls, [*([] if parser == "qwen3" else end), call, *ids("abab"), call_end])]
    cases += [({"stop_token_ids": ids("x"), "regex": "[ab]+"}, [*end, *ids("ab")])]
    rng = random.Random(width)
    by_rows, by_ids = engine.manager(engine.config(drafts=width, reasoning_parser=parser)), a_manager(False, drafts=width)
    by_ids.reasoner_cls = by_rows.reasoner_cls
    requests: dict[str, tuple[Any, Any, list[int]]] = {}
    for n in range(8):
        constraint, text = cases[n % len(cases)]
        thoughts = [rng.randrange(60) for _ in range(rng.randrange(5))]
        both = [engine.ready(of, f"r{n}", engine.parameters(**constraint)) for of in (by_rows, by_ids)]
        requests[f"r{n}"] = (*both, [*thoughts, *text, STOP])
    n_reasoned, n_logits = 0, by_ids.vllm_config.model_config.get_vocab_size()
    tokens = set(range(len(engine.tokenizer())))  # what pads the logits is allowed in rows of reasoning, and by ids it is not
    while live := [name for name, (_, _, rest) in requests.items() if rest]:
        drafts = {}
        for name in live:
            draft = requests[name][2][: rng.randint(0, width)]
            if draft and rng.random() < 0.4:
                draft[rng.randrange(len(draft))] = rng.choice([-1, STOP, call, THOUGHTS_END, *range(60)])
            if draft:
                drafts[name] = draft
        rows = by_rows.grammar_bitmask({name: requests[name][0] for name in live}, live, drafts)
        answer = by_ids.grammar_bitmask({name: requests[name][1] for name in live}, live, drafts)
        assert isinstance(answer, RowIds)
        places = [(name, k) for name in live for k in range(1 + len(drafts.get(name, ())))]
        ours = masked(by_ids, False, answer, live, live, torch.zeros(len(places), n_logits), drafts)
        for at, (name, k) in enumerate(places):
            expected = allowed(rows[live.index(name) * (width + 1) + k]) & tokens
            assert set(torch.isfinite(ours[at]).nonzero().flatten().tolist()) & tokens == expected, (name, k, drafts.get(name))
        for name in live:
            ours_of, theirs, rest = requests[name]
            n_reasoned += theirs.structured_output_request.grammar.reasons
            taken = rest[: rng.randint(1, width + 1)]
            del rest[: len(taken)]
            for of, request in ((by_rows, ours_of), (by_ids, theirs)):
                request.append_output_token_ids(taken)
                assert of.accept_tokens(request, taken)
    assert n_reasoned > 8


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
    masked(manager, False, first, ["r"], ["r"], logits, {})
    with pytest.raises(BitmaskError, match="every update must be applied"):
        masked(manager, False, third, ["r"], ["r"], logits, {})


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
        limits.setattr(numpy_masks.MaskTable, "step_along", limited)
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
