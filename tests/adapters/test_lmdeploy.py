"""The adapter for LMDeploy, with its own `GuidedDecodingManager` and its check of formats.

The package imports CUDA's libraries, these modules of it do not: its parents are made here, and hold nothing.
"""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
xgrammar = pytest.importorskip("xgrammar")
tokenizers = pytest.importorskip("tokenizers")
found = find_spec("lmdeploy")
if found is None or found.origin is None:
    pytest.skip("LMDeploy is not installed", allow_module_level=True)
FOLDER = Path(found.origin).parent

import psc  # noqa: E402
from psc.adapters.guarded_matcher import GuardedMatcher  # noqa: E402
from psc.adapters.seams import BrokenSeamError  # noqa: E402

SPELLING = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
PIECES = [*sorted(SPELLING.alphabet()), '{"', '":', "ab", "true"]
END = len(PIECES)
pytestmark = pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated")


def tokenizer() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE({piece: i for i, piece in enumerate(PIECES)}, []))
    made.pre_tokenizer, made.decoder = SPELLING, tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>")


TEXTS = psc.TokenizerInfo.from_huggingface(tokenizer(), vocab_size=320).token_texts


def ids(text: str) -> list[int]:
    return [TEXTS.index(bytes([b])) for b in text.encode()]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """LMDeploy's module, with psc installed."""
    for name in ("lmdeploy", "lmdeploy.pytorch", "lmdeploy.pytorch.engine", "lmdeploy.pytorch.spec_decode"):
        package = ModuleType(name)
        package.__path__ = [str(FOLDER.joinpath(*name.split(".")[1:]))]
        monkeypatch.setitem(sys.modules, name, package)
    for name in ("lmdeploy._guided_decoding", "lmdeploy.pytorch.engine.guided_process", "psc.adapters.lmdeploy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("lmdeploy.pytorch.engine.guided_process")
    adapter = importlib.import_module("psc.adapters.lmdeploy")
    adapter.install()
    names = module.xgr
    adapter.install()  # again
    assert module.xgr is names
    yield module


def manager_of(engine: Any) -> Any:
    return engine.GuidedDecodingManager(tokenizer(), 320)


FORMATS: dict[str, tuple[dict[str, Any], str]] = {
    "schema": ({"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": True}}}, "true"),
    "schema as text": ({"type": "json_schema", "json_schema": '{"const": true}'}, "true"),
    "object": ({"type": "json_object"}, '{"a":1}'),
    "regex": ({"type": "regex_schema", "regex_schema": "(ab)+"}, "abab"),
    "structural tag": ({"type": "structural_tag", "format": {"type": "const_string", "value": "ab"}}, "ab"),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_served(kind: str, engine: Any) -> None:
    form, text = FORMATS[kind]
    manager = manager_of(engine)
    theirs = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo.from_huggingface(tokenizer(), vocab_size=320))
    reference = xgrammar.GrammarMatcher(engine.compile_response_format(theirs, form))
    processors = manager.get_processors([{"session_id": 1, "seq_id": 0}], (form,))
    assert type(processors[0]) is GuardedMatcher
    mask, expected = manager.allocate_batched_bitmap(1), manager.allocate_batched_bitmap(1)
    for token in (*ids(text), END):
        manager.fill_bitmap(processors[0], mask, 0)
        reference.fill_next_token_bitmask(expected, 0)
        if kind not in ("object", "schema", "schema as text"):  # where XGrammar is not right: UTF-8 in strings
            assert torch.equal(mask, expected)
        logits = torch.zeros((1, 320))
        manager.apply_batched_bitmap(logits, mask)
        assert logits[0, token] == 0 and (logits[0] != 0).any()
        manager.accept_token(processors[0], token)
        assert reference.accept_token(token)
    assert manager.is_terminated(processors[0])
    assert manager.get_processor(1, 0, form) is processors[0]
    manager.remove_processor(1)
    assert manager.get_processor(1, 0, form) is not processors[0]


def test_drafts_go_by_forks(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = importlib.import_module("lmdeploy.pytorch.spec_decode.guided_spec_helper").GuidedSpecHelper(manager_of(engine))
    processors = helper.get_processors([{"session_id": 1, "seq_id": 0}], ({"type": "regex_schema", "regex_schema": "ab"},))
    scores = torch.zeros((1, 3, 320))
    a, b = ids("ab")
    asyncio.run(helper.apply_serial_bitmask(scores, processors, torch.tensor([[a, b]]), 2))
    allowed = [torch.nonzero(scores[0, i] == 0).flatten().tolist() for i in range(3)]
    assert allowed == [[a, TEXTS.index(b"ab")], [b], [END]]
    rejected, drafts, bonus = torch.tensor([1]), torch.tensor([[a, b]]), torch.tensor([b])
    asyncio.run(helper.accept_rejection_sampled_tokens(processors, rejected, drafts, bonus, 2))
    assert processors[0].accept_token(END)


BAD = [
    {"type": "json_schema", "json_schema": '{"type": "objct"}'},
    {"type": "regex_schema", "regex_schema": "(a"},
    {"type": "structural_tag", "format": {"type": "nosuch"}},
]


@pytest.mark.parametrize("form", BAD)
def test_a_bad_format_is_refused_before_the_engine(form: dict[str, Any], engine: Any) -> None:
    formats = importlib.import_module("lmdeploy._guided_decoding")
    for _ in range(2):
        with pytest.raises(ValueError, match="Unsupported response format"):
            formats.ensure_response_format_compilable(form)
    formats.ensure_response_format_compilable({"type": "regex_schema", "regex_schema": "ab"})
    formats.ensure_response_format_compilable({"type": "text"})


@pytest.mark.parametrize("form", BAD)
def test_one_that_reaches_the_engine_ends_at_once(form: dict[str, Any], engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    manager = manager_of(engine)
    processor = manager.get_processor(1, 0, form)
    mask = manager.allocate_batched_bitmap(1)
    for _ in range(2):
        manager.fill_bitmap(processor, mask, 0)
        assert np.flatnonzero(np.unpackbits(mask.numpy().view(np.uint8), bitorder="little")).tolist() == [END]
        manager.accept_token(processor, 5)
    processor.fork().rollback(1)
    processor.reset()
    assert "a request ends at once, since psc refuses its grammar" in caplog.text


def test_what_psc_refuses_can_go_to_xgrammar(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"type": "regex_schema", "regex_schema": "a$b"}
    formats = importlib.import_module("lmdeploy._guided_decoding")
    with pytest.raises(ValueError, match="matches no text"):
        formats.ensure_response_format_compilable(form)
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    formats._check_response_format.cache_clear()
    formats.ensure_response_format_compilable(form)
    manager = manager_of(engine)
    processor = manager.get_processor(1, 0, form)
    assert isinstance(processor, xgrammar.GrammarMatcher)
    mask = manager.allocate_batched_bitmap(1)
    manager.fill_bitmap(processor, mask, 0)
    ours = manager.get_processor(1, 1, {"type": "regex_schema", "regex_schema": "ab"})
    assert isinstance(ours, GuardedMatcher)


def test_another_release_is_refused_by_name(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = importlib.import_module("psc.adapters.lmdeploy")
    monkeypatch.delattr(engine, "GuidedDecodingManager")
    with pytest.raises(BrokenSeamError, match="GuidedDecodingManager is not there"):
        adapter.install()


def test_without_a_check_of_formats_the_rest_is_installed(
    engine: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = importlib.import_module("psc.adapters.lmdeploy")
    monkeypatch.setattr(engine, "xgr", xgrammar)
    monkeypatch.delattr(importlib.import_module("lmdeploy._guided_decoding"), "_check_response_format")
    adapter.install()
    assert engine.xgr is not xgrammar
    assert "_check_response_format is not there" in caplog.text
