"""Forced tokens as drafts in vLLM: its own scheduler, manager and requests, with a proposer that finds nothing or nonsense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import vllm_engine as engine
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.outputs import DraftTokenIds

from psc.adapters.vllm import register
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {
    "type": "object",
    "properties": {"true": {"enum": ["abc", "null"]}, "false": {"type": "boolean"}},
    "required": ["true", "false"],
    "additionalProperties": False,
}
MOST = 4


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("PSC_VLLM", "PSC_FALLBACK", "PSC_STORE", "PSC_REGISTRY", "PSC_WARM", "PSC_FORCED_DRAFTS"):
        monkeypatch.delenv(name, raising=False)
    before = Scheduler.update_draft_token_ids
    assert register()
    seams = find_seams()
    yield
    uninstall(seams)
    Scheduler.update_draft_token_ids = before


def scheduler(forced: bool = True, drafts: int = MOST, any_whitespace: bool = False, **options: Any) -> Any:
    """As much of one as its update looks at."""
    additional = {"forced_drafts": forced, "any_whitespace": any_whitespace}
    given = engine.config(drafts=drafts, additional=additional, **options)
    return SimpleNamespace(requests={}, structured_output_manager=engine.manager(given), vllm_config=given)


def begin(of: Any, name: str = "r", **constraint: Any) -> Any:
    given = engine.parameters(**(constraint or {"json": json.dumps(SCHEMA)}))
    request = engine.ready(of.structured_output_manager, name, given)
    request.is_prefill_chunk = False
    of.requests[name] = request
    return request


def update(of: Any, **drafts: list[int]) -> None:
    Scheduler.update_draft_token_ids(of, DraftTokenIds(list(drafts), list(drafts.values())))


def test_what_is_forced_takes_the_place_of_drafts() -> None:
    of = scheduler()
    request = begin(of)
    tokens = engine.tokenizer().encode('{"true":"', add_special_tokens=False)
    for proposed in ([], [5, 6], [-1, -1]):
        update(of, r=proposed)
        assert request.spec_token_ids == tokens[: len(request.spec_token_ids)]
        assert 0 < len(request.spec_token_ids) <= MOST
    request.structured_output_request.grammar.accept_tokens("r", tokens[:3])
    update(of, r=[])
    assert request.spec_token_ids == tokens[3 : 3 + len(request.spec_token_ids)]


def test_usual_white_space_is_drafted() -> None:
    of = scheduler(any_whitespace=True)
    request = begin(of)
    update(of, r=[])
    drafts = engine.tokenizer().decode(request.spec_token_ids)
    assert drafts and '{"true": "'.startswith(drafts)


@pytest.mark.parametrize("any_whitespace", [False, True])
def test_masks_allow_every_draft_and_the_text_is_the_same(any_whitespace: bool) -> None:
    """A sampler that takes the likeliest token of random scores, with vLLM's own rows for drafts."""
    fewer = 0
    for seed in range(6):
        written, steps = [], []
        for forced in (False, True):
            of = scheduler(forced, any_whitespace=any_whitespace)
            request = begin(of)
            grammar, manager = request.structured_output_request.grammar, of.structured_output_manager
            out: list[int] = []
            n = 0
            while not grammar.is_terminated() and n < 80:
                n += 1
                update(of, r=[])
                drafts = request.spec_token_ids
                rows = manager.grammar_bitmask({"r": request}, ["r"], {"r": drafts} if drafts else {})
                for i in range(len(drafts) + 1):
                    allowed = np.flatnonzero(np.unpackbits(rows[i].view(np.uint8), bitorder="little"))
                    assert i == len(drafts) or drafts[i] in allowed
                    scores = np.random.default_rng([seed, len(out)]).random(rows.shape[1] * 32)
                    token = int(allowed[scores[allowed].argmax()])
                    out.append(token)
                    assert grammar.accept_tokens("r", [token])
                    if i == len(drafts) or token != drafts[i] or grammar.is_terminated():
                        break
            written.append(out)
            steps.append(n)
        assert written[0] == written[1]
        fewer += steps[0] - steps[1]
    assert fewer > 0 or any_whitespace  # scores at random prefer other white space


def test_requests_that_are_left_alone() -> None:
    of = scheduler()
    plain = engine.request("plain", engine.SamplingParams(max_tokens=4))
    plain.is_prefill_chunk = False
    of.requests["plain"] = plain
    prefill = begin(of, "prefill")
    prefill.is_prefill_chunk = True
    free = begin(of, "free", regex="[ab]+")
    over = begin(of, "over", regex="a")
    over.structured_output_request.grammar.accept_tokens("over", [*engine.tokenizer().encode("a"), engine.tokenizer().eos_token_id])
    update(of, gone=[3], plain=[3, 4], prefill=[3], free=engine.tokenizer().encode("ab"), over=[3])
    assert plain.spec_token_ids == [3, 4]
    assert prefill.spec_token_ids == []
    assert free.spec_token_ids == engine.tokenizer().encode("ab")
    assert over.spec_token_ids in ([], [3])


@pytest.mark.parametrize("options", [{"forced": False}, {"drafts": 0}])
def test_where_nothing_is_asked_for(options: dict[str, Any]) -> None:
    before = Scheduler.update_draft_token_ids
    of = scheduler(**options)
    assert Scheduler.update_draft_token_ids is before
    request = begin(of)
    update(of, r=[])
    assert request.spec_token_ids == []


def test_a_request_that_reasons_has_none() -> None:
    of = scheduler()
    request = begin(of)
    of.structured_output_manager.reasoner_cls = object
    request.structured_output_request.reasoning_ended = True
    update(of, r=[])
    assert request.spec_token_ids != []
    of.structured_output_manager.validate_tokens = lambda request, tokens: tokens
    request.structured_output_request.reasoning_ended = False
    update(of, r=[])
    assert request.spec_token_ids == []


def test_an_error_of_the_tokenizer_leaves_the_request(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    of = scheduler()
    request = begin(of)

    def failing(text: str) -> list[int]:
        raise RuntimeError("no")

    monkeypatch.setattr(request.structured_output_request.grammar.matcher.compiled.tokenizer_info, "_encode", failing)
    update(of, r=[])
    assert request.spec_token_ids == []
    assert "no drafts of grammar" in caplog.text
