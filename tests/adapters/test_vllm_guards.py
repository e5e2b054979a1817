"""vLLM: bad input, guards around a request, and Mistral's tokenizers."""

from __future__ import annotations

import logging
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm")
import vllm_engine as engine
from hostile_texts import COSTLY_MASKS
from vllm import plugins
from vllm_requests import SCHEMA, Reasoner, allowed, ids

from psc.adapters.seams import NotAtWorkError, Seam
from psc.adapters.vllm import register
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.installation import _INSTALLED, uninstall
from psc.adapters.vllm.seams import find_seams
from psc.errors import ResourceLimitError
from psc.serving import OptionError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("PSC_VLLM", "PSC_FALLBACK", "PSC_STORE", "PSC_REGISTRY", "PSC_WARM"):
        monkeypatch.delenv(name, raising=False)
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


class TestBadInput:
    @pytest.mark.every_release
    def test_a_token_that_the_mask_forbids_ends_the_request(self, caplog: pytest.LogCaptureFixture) -> None:
        manager = engine.manager()
        bad, good = (engine.ready(manager, name, engine.parameters(regex="[ab]+")) for name in ("bad", "good"))
        assert not manager.accept_tokens(bad, ids("x"))
        assert "request bad" in caplog.text and "does not allow token" in caplog.text
        assert manager.accept_tokens(good, ids("a"))
        assert manager.backend.service.snapshot()["refused_tokens"] >= 1

    def test_a_mask_without_any_token(self, caplog: pytest.LogCaptureFixture) -> None:
        """A sampler would get no numbers from it, and all requests of the batch with it."""
        manager = engine.manager(engine.config(drafts=2))
        stuck = engine.ready(manager, "stuck", engine.parameters(stop_token_ids=ids("x"), regex="ax"))
        other = engine.ready(manager, "other", engine.parameters(regex="[ab]+"))
        requests = {"stuck": stuck, "other": other}
        assert manager.accept_tokens(stuck, ids("a"))
        for drafts in ({}, {"other": ids("ab")}, {"stuck": ids("b"), "other": ids("a")}):
            rows = manager.grammar_bitmask(requests, ["stuck", "other"], drafts)
            assert (rows[0] == -1).all()
            assert allowed(rows[3]) == set(other.structured_output_request.grammar.matcher.allowed_tokens().tolist())
        assert "the request will fail" in caplog.text
        assert not manager.accept_tokens(stuck, ids("b"))
        assert manager.accept_tokens(other, ids("b"))

    @pytest.mark.parametrize("drafts", [{}, {"bad": "a", "good": "ab"}], ids=["no drafts", "drafts"])
    @pytest.mark.parametrize("looks_ahead", [False, True])
    def test_a_mask_that_cannot_be_made(self, drafts: dict[str, str], looks_ahead: bool, caplog: pytest.LogCaptureFixture) -> None:
        """A hostile grammar among good ones: it alone fails, once, and the others' masks are what they are without it."""
        manager = engine.manager(engine.config(drafts=2, additional={"mask_steps": 3000}))
        constraints: list[dict[str, Any]] = [{"regex": "[ab]+"}, {"json": SCHEMA}, {"choice": ["ab", "abc"]}]
        good = {f"good{i}": engine.ready(manager, f"good{i}", engine.parameters(**c)) for i, c in enumerate(constraints * 5)}
        good["good"] = engine.ready(manager, "good", engine.parameters(regex="[ab]+"))
        bad = engine.ready(manager, "bad", engine.parameters(grammar=COSTLY_MASKS))
        requests = dict(random.Random(1).sample(list({**good, "bad": bad}.items()), len(good) + 1))
        grammar = bad.structured_output_request.grammar
        before = manager.backend.service.snapshot().get("failures", 0)
        scheduled = {name: ids(text) for name, text in drafts.items()}
        for _ in range(100):
            if looks_ahead and drafts:
                scheduled["bad"] = manager.validate_tokens(bad, ids("a"))
            rows = manager.grammar_bitmask(requests, list(requests), scheduled)
            for at, (name, request) in enumerate(requests.items()):
                if name != "bad":
                    matcher = request.structured_output_request.grammar.matcher
                    assert allowed(rows[3 * at]) == set(matcher.allowed_tokens().tolist())
            if grammar.failed:
                break
            assert manager.accept_tokens(bad, ids("a"))
        assert grammar.failed and grammar.matcher.n_steps > 3
        at = list(requests).index("bad")
        for _ in range(2):
            assert (rows[3 * at] == -1).all()
            rows = manager.grammar_bitmask(requests, list(requests), scheduled)
        assert caplog.text.count("will fail: steps for one token or mask: more than 3000") == 1
        assert manager.validate_tokens(bad, ids("a")) == []
        assert not manager.accept_tokens(bad, ids("a")) and manager.accept_tokens(good["good"], ids("a"))
        assert manager.backend.service.snapshot()["failures"] == before + 1

    def test_a_first_mask_that_costs_too_much_is_an_error_of_the_request(self) -> None:
        manager = engine.manager(engine.config(additional={"mask_steps": 10}))
        with pytest.raises(ResourceLimitError, match="steps for one token or mask: more than 10"):
            engine.ready(manager, "bad", engine.parameters(grammar=COSTLY_MASKS))
        assert manager.backend.service.snapshot()["failures"] >= 1

    def test_an_option_that_does_not_exist(self) -> None:
        with pytest.raises(OptionError, match="did you mean store"):
            engine.manager(engine.config(additional={"stroe": "x"}))

    @pytest.mark.parametrize("given", [{"enabled": "no"}, 3])
    def test_a_switch_that_is_none(self, given: Any) -> None:
        with pytest.raises(OptionError):
            engine.manager(engine.config(additional=given))


class TestGuards:
    @pytest.mark.every_release
    def test_all_that_is_needed_is_there(self, caplog: pytest.LogCaptureFixture) -> None:
        """The release is one of those that psc was tested with, and nothing is missing."""
        assert find_seams() is not None
        assert "psc was tested with" not in caplog.text

    @pytest.mark.every_release
    def test_vllm_finds_and_loads_it(self, installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib.metadata import EntryPoint

        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
        group = "vllm.general_plugins"
        listed = [EntryPoint(name, value, group) for name, value in project["entry-points"][group].items()]
        uninstall(installed)
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: listed)
        monkeypatch.setattr(plugins, "plugins_loaded", False)
        plugins.load_general_plugins()
        assert installed.output.XgrammarBackend.__module__ == "psc.adapters.vllm.backend"

    def test_the_log_appears_where_vllms_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """vLLM says where that is after its plugins are loaded."""
        records: list[str] = []
        handler = logging.Handler()
        monkeypatch.setattr(handler, "emit", lambda record: records.append(record.getMessage()))
        theirs = logging.getLogger("vllm")
        monkeypatch.setattr(theirs, "handlers", [handler])
        monkeypatch.setattr(theirs, "propagate", False)
        monkeypatch.setattr(theirs, "level", logging.INFO)
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        engine.manager()
        engine.manager(engine.config(additional=False))
        logging.getLogger("psc.compiler").info("not this")
        assert len(records) == 2
        assert "in the place of XGrammar" in records[0] and "switched off by additional_config" in records[1]

    @pytest.mark.every_release
    @pytest.mark.parametrize("off", [False, {"enabled": False}])
    def test_the_configuration_switches_psc_off(self, off: Any) -> None:
        manager = engine.manager(engine.config(additional=off))
        grammar = engine.ready(manager, "r", engine.parameters(regex="[ab]+")).structured_output_request.grammar
        assert type(grammar).__name__ == "XgrammarGrammar"

    @pytest.mark.every_release
    def test_the_environment_leaves_vllm_untouched(self, monkeypatch: pytest.MonkeyPatch, installed: Any) -> None:
        uninstall(installed)
        names = (
            installed.output.XgrammarBackend,
            installed.xgrammar.validate_xgrammar_grammar,
            installed.output.StructuredOutputManager.grammar_bitmask,
        )
        monkeypatch.setenv("PSC_VLLM", "0")
        assert not register()
        assert names == (
            installed.output.XgrammarBackend,
            installed.xgrammar.validate_xgrammar_grammar,
            installed.output.StructuredOutputManager.grammar_bitmask,
        )
        assert names[0].__module__ == "vllm.v1.structured_output.backend_xgrammar"

    def test_a_name_that_is_missing(
        self, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        uninstall(installed)
        monkeypatch.delattr(installed.xgrammar, "validate_xgrammar_grammar")
        assert not register()
        assert "vllm.v1.structured_output.backend_xgrammar:validate_xgrammar_grammar is not there" in caplog.text
        assert "install one of these" in caplog.text
        assert not hasattr(installed.output, _INSTALLED)

    def test_another_signature(self, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture) -> None:
        uninstall(installed)
        monkeypatch.setattr(installed.xgrammar.XgrammarBackend, "compile_grammar", lambda self, request_type, grammar_spec: None)
        assert not register()
        assert "compile_grammar takes (self, request_type, grammar_spec) and not" in caplog.text

    def test_another_way_of_filling_masks_is_left_alone(
        self, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        uninstall(installed)
        manager = installed.output.StructuredOutputManager
        own = manager.grammar_bitmask
        monkeypatch.setattr(manager, "grammar_bitmask", lambda self, requests: own)
        assert register()
        assert manager.grammar_bitmask is not own and "own loop" in caplog.text
        assert not any(name == "grammar_bitmask" for _, name, _ in getattr(installed.output, _INSTALLED))

    @pytest.mark.parametrize("missing", ["_masked_reasoning_ends", "_get_constraint_bounds", "_fill_bitmasks"])
    def test_a_release_without_what_drafts_need(
        self, missing: str, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its rows are in another order where there are drafts. Without drafts and reasoning psc fills the masks."""
        uninstall(installed)
        manager = installed.output.StructuredOutputManager
        own = manager.grammar_bitmask
        monkeypatch.delattr(manager, missing)
        assert register()
        assert manager.grammar_bitmask is not own and f"{missing} is not there" in caplog.text
        assert "where there are drafts or a reasoning parser, masks are filled by vLLM's own loop" in caplog.text
        made = engine.manager()
        requests = {f"r{n}": engine.ready(made, f"r{n}", engine.parameters(regex=f"[ab]{{{n + 1}}}")) for n in range(3)}
        assert len(made.grammar_bitmask(requests, list(requests), {})) == 3
        counters = requests["r0"].structured_output_request.grammar.counters
        assert counters.snapshot()["masks"] >= 3

    @pytest.mark.every_release
    @pytest.mark.parametrize("why", ["drafts", "reasoning"])
    def test_what_vllms_own_loop_fills_is_counted(self, why: str, monkeypatch: pytest.MonkeyPatch, installed: Any) -> None:
        """Where a release lacks what drafts need, and where psc leaves a request to that loop."""
        uninstall(installed)
        manager_class = installed.output.StructuredOutputManager
        own = manager_class.grammar_bitmask
        monkeypatch.setattr("psc.adapters.vllm.seams._OF_DRAFTS", (Seam("vllm.v1.structured_output:nothing"),))
        assert register()
        called: list[int] = []
        index = next(i for i, (_, name, _) in enumerate(getattr(installed.output, _INSTALLED)) if name == "grammar_bitmask")
        assert getattr(installed.output, _INSTALLED)[index][2] is own
        manager = engine.manager(engine.config(drafts=2 if why == "drafts" else 0))
        if why == "reasoning":
            manager.reasoner_cls = Reasoner
        monkeypatch.setattr(
            manager, "_fill_bitmasks", lambda batch, fill=manager._fill_bitmasks: (called.append(1), fill(batch))[1]
        )
        requests = {f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex="[ab]{3}")) for n in range(4)}
        for request in requests.values():
            request.structured_output_request.reasoning_ended = True
        counters = requests["r0"].structured_output_request.grammar.counters
        before = counters.snapshot().get("masks", 0)
        rows = manager.grammar_bitmask(requests, list(requests), {})
        assert called and len(rows) in (4, 12 if why == "drafts" else 4)  # some releases have rows for the drafts of a step alone
        assert counters.snapshot()["masks"] == before + 4
        assert "psc_masks_total" in counters.prometheus_text() and "psc_mask_seconds_total" in counters.prometheus_text()

    @pytest.mark.parametrize("version, warned", [("0.28.0", False), ("0.33.4", False), ("0.34.0", True), ("0.27.1", True)])
    def test_another_version(
        self, version: str, warned: bool, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        from psc.adapters.vllm import seams

        uninstall(installed)
        monkeypatch.setattr(seams, "installed_release", lambda distribution: version)
        assert register()
        assert (f"this is vLLM {version}" in caplog.text) == warned


@pytest.mark.every_release
class TestRequired:
    """``PSC_VLLM=require``: vLLM starts with psc only."""

    @pytest.fixture(autouse=True)
    def required(self, installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        uninstall(installed)
        monkeypatch.setenv("PSC_VLLM", "require")

    def test_it_is_at_work(self) -> None:
        assert register()
        for backend in ("auto", "xgrammar"):
            manager = engine.manager(engine.config(backend=backend))
            grammar = engine.ready(manager, "r", engine.parameters(regex="[ab]+")).structured_output_request.grammar
            assert type(grammar) is PscGrammar

    def test_a_name_that_is_missing(self, monkeypatch: pytest.MonkeyPatch, installed: Any) -> None:
        monkeypatch.delattr(installed.xgrammar, "validate_xgrammar_grammar")
        monkeypatch.setattr(plugins, "plugins_loaded", False)
        monkeypatch.setattr(plugins, "load_plugins_by_group", lambda group: {"psc": register})
        with pytest.raises(SystemExit, match="PSC_VLLM=require, and psc is not at work: the line before says why"):
            plugins.load_general_plugins()

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"additional": False}, "additional_config switches it off"),
            ({"backend": "guidance"}, "structured_outputs_config.backend is guidance, and must be one of auto, xgrammar"),
        ],
    )
    def test_a_configuration_that_leaves_it_out(self, settings: dict[str, Any], reason: str) -> None:
        assert register()
        with pytest.raises(NotAtWorkError, match=f"PSC_VLLM=require, and psc is not at work: {reason}"):
            engine.manager(engine.config(**settings))

    def test_an_engine_without_a_tokenizer(self) -> None:
        assert register()
        config = engine.config()
        config.model_config.skip_tokenizer_init = True
        with pytest.raises(NotAtWorkError, match="the engine starts without a tokenizer"):
            engine.manager(config)

    def test_a_tokenizer_that_psc_cannot_read(self) -> None:
        assert register()
        with pytest.raises(NotAtWorkError, match=r"psc is not at work: .*object"):
            engine.manager(with_tokenizer=object())

    def test_a_switch_that_says_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PSC_VLLM", "requires")
        with pytest.raises(SystemExit, match="PSC_VLLM=requires: it must be 1, require or 0"):
            register()


class TestMistral:
    """vLLM's tokenizer over the files that mistral-common brings."""

    @pytest.mark.parametrize(
        "file, vocab_size", [("tekken_240911.json", 131_072), ("mistral_instruct_tokenizer_240323.model.v3", 32_768)]
    )
    def test_the_vocabulary(self, file: str, vocab_size: int) -> None:
        mistral_common = pytest.importorskip("mistral_common")
        from transformers.tokenization_mistral_common import MistralCommonBackend
        from vllm.tokenizers.mistral import MistralTokenizer

        tokenizer = MistralTokenizer(MistralCommonBackend(str(Path(mistral_common.__file__).parent / "data" / file)))
        manager = engine.manager(engine.config(vocab_size=vocab_size), tokenizer)
        texts = engine.ready(manager, "r", engine.parameters(json=SCHEMA))
        # Without what precedes it a text would begin with a blank, in the manner of SentencePiece.
        tokens = tokenizer.tokenizer.encode('x{"a": true, "bc": null}', bos=False, eos=False)[1:]
        assert manager.validate_tokens(texts, tokens) == tokens
        called = engine.ready(manager, "call", engine.parameters(grammar="start: <[5]> /[a-z]+/"))
        rows = manager.grammar_bitmask({"call": called}, ["call"], {})
        assert rows.shape == (1, vocab_size // 32) and allowed(rows[0]) == {5}, "tokens by their ids, as Mistral's parser writes"
