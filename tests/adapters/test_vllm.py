"""vLLM's own manager, requests and validation, with psc in the place of its XGrammar backend."""

from __future__ import annotations

import json
import logging
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import vllm_engine as engine
from vllm.exceptions import VLLMClientError, VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams

from psc.adapters.seams import Seam
from psc.adapters.vllm import register
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.installation import _INSTALLED, uninstall
from psc.adapters.vllm.seams import find_seams
from psc.errors import ResourceLimitError
from psc.serving import OptionError

pytestmark = pytest.mark.filterwarnings("ignore")
TAG = json.dumps(
    {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<tool_call>"],
            "tags": [
                {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"}
            ],
        },
    }
)
CALL = json.dumps(
    {
        "type": "structural_tag",
        "format": {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"},
    }
)
LEGACY = json.dumps(
    {
        "type": "structural_tag",
        "structures": [{"begin": "<tool_call>", "schema": {"type": "boolean"}, "end": "</tool_call>"}],
        "triggers": ["<tool_call>"],
    }
)
HOSTILE = 'root ::= root root root | "a" | "b" | ""'
SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}, "bc": {"type": "null"}}, "required": ["a"]}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("PSC_VLLM", "PSC_FALLBACK", "PSC_STORE", "PSC_REGISTRY", "PSC_WARM"):
        monkeypatch.delenv(name, raising=False)
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


def ids(text: str) -> list[int]:
    """The tokens of a text."""
    return list(engine.tokenizer()(text, add_special_tokens=False)["input_ids"])


STOP = engine.tokenizer().eos_token_id


def allowed(row: np.ndarray) -> set[int]:
    """The tokens that a mask row allows."""
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def texts_of(tokens: set[int]) -> set[str]:
    return set(engine.tokenizer().convert_ids_to_tokens(sorted(tokens)))


class TestEachKind:
    @pytest.mark.parametrize(
        "constraint, text, first",
        [
            ({"json": SCHEMA}, '{"a": true}', {"{", '{"'}),
            ({"json": json.dumps(SCHEMA)}, '{"a": false, "bc": null}', {"{", '{"'}),
            ({"json_object": True}, '{"x": [1]}', {"{", '{"'}),
            ({"regex": "(ab|c)+"}, "ababc", {"a", "ab", "abc", "c"}),
            ({"choice": ["true", 'nu"ll\n']}, 'nu"ll\n', {"t", "tr", "tru", "true", "n", "nu"}),
            ({"grammar": 'root ::= "abc" [x-z]+'}, "abcx", {"a", "ab", "abc"}),
            ({"grammar": 'start: "abc" X+\nX: /[x-z]/'}, "abcx", {"a", "ab", "abc"}),
            ({"grammar": 'start: <tool_call> "a" %json {"type": "boolean"}'}, "<tool_call>atrue", {"<tool_call>"}),
            ({"structural_tag": TAG}, "x<tool_call>ab</tool_call>", None),
            ({"structural_tag": LEGACY}, "x<tool_call>true</tool_call>", None),
        ],
        ids=["json", "json text", "object", "regex", "choice", "ebnf", "lark", "llguidance", "tag", "legacy tag"],
    )
    def test_from_validation_to_the_end(self, constraint: dict[str, Any], text: str, first: set[str] | None) -> None:
        manager = engine.manager()
        given = engine.parameters(**constraint)
        given._validate_structured_outputs(
            manager.vllm_config.model_config, manager.vllm_config.structured_outputs_config, engine.tokenizer()
        )
        request = engine.ready(manager, "r", given)
        assert type(request.structured_output_request.grammar) is PscGrammar
        for at, token in enumerate([*ids(text), STOP]):
            row = manager.grammar_bitmask({"r": request}, ["r"], {})[0]
            if at == 0 and first is not None:
                assert texts_of(allowed(row)) == first
            assert token in allowed(row)
            assert manager.accept_tokens(request, [token])
        assert request.structured_output_request.grammar.is_terminated()
        assert manager.accept_tokens(request, [5]), "after the end tokens are ignored"
        assert (manager.grammar_bitmask({"r": request}, ["r"], {}) == -1).all()

    def test_white_space_is_switched_off_by_vllm(self) -> None:
        manager = engine.manager(engine.config(disable_any_whitespace=True))
        request = engine.ready(manager, "r", engine.parameters(json=SCHEMA))
        assert manager.validate_tokens(request, ids('{"a":true,"bc":null}')) == ids('{"a":true,"bc":null}')
        assert manager.validate_tokens(request, ids('{"a": true}')) == ids('{"a":')

    def test_stop_tokens_of_the_request(self) -> None:
        manager = engine.manager()
        request = engine.ready(manager, "r", engine.parameters(stop_token_ids=[ids("x")[0]], regex="[a-z]*b"))
        row = manager.grammar_bitmask({"r": request}, ["r"], {})[0]
        assert ids("x")[0] not in allowed(row) and STOP not in allowed(row)
        manager.accept_tokens(request, ids("b"))
        row = manager.grammar_bitmask({"r": request}, ["r"], {})[0]
        assert {ids("x")[0], STOP} <= allowed(row)
        assert manager.accept_tokens(request, ids("x"))
        assert request.structured_output_request.grammar.is_terminated()

    def test_rollback_takes_back_the_end(self) -> None:
        manager = engine.manager()
        grammar = engine.ready(manager, "r", engine.parameters(choice=["ab"])).structured_output_request.grammar
        assert grammar.accept_tokens("r", [*ids("ab"), STOP, 3])
        assert grammar.is_terminated()
        grammar.rollback(1)
        assert not grammar.is_terminated()
        grammar.rollback(len(ids("ab")))
        assert grammar.validate_tokens([*ids("ab"), STOP, STOP]) == [*ids("ab"), STOP]
        grammar.accept_tokens("r", ids("a"))
        grammar.reset()
        assert grammar.validate_tokens(ids("ab")) == ids("ab")

    def test_beam_search_makes_a_grammar_for_each_beam(self) -> None:
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions
        from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

        config = engine.config()
        backends = [
            XgrammarBackend(vllm_config=config, tokenizer=engine.tokenizer(), vocab_size=config.model_config.get_vocab_size())
            for _ in range(2)
        ]
        assert backends[0].service is backends[1].service, "the vocabulary is read once"
        bitmask = backends[0].allocate_token_bitmask(1)
        assert bitmask.shape == (1, -(-config.model_config.get_vocab_size() // 32)) and (bitmask == -1).all()
        for beam in ([], ids("ab"), ids("abc")):
            grammar = backends[0].compile_grammar(StructuredOutputOptions.REGEX, "(abc)+")
            assert grammar.accept_tokens("beam", beam)
            grammar.fill_bitmask(bitmask, 0)
            assert allowed(bitmask.numpy()[0]) == set(grammar.matcher.allowed_tokens().tolist())


class Reasoner:
    """Reasons until a token, as vLLM's simple parsers do."""

    end = engine.tokenizer().convert_tokens_to_ids("</think>")

    def __init__(self, tokenizer: Any, **more: Any) -> None:
        pass

    def is_reasoning_end(self, tokens: Any) -> bool:
        return self.end in list(tokens)

    def is_reasoning_end_streaming(self, tokens: Any, delta: Any) -> bool:
        return self.end in list(delta)


class TestTheManagersLoop:
    """Rows by psc's filling, and by vLLM's own loop, over the same grammars."""

    def both(self, installed: Any, manager: Any, requests: dict[str, Any], drafts: dict[str, list[int]]) -> tuple[Any, Any]:
        original = next(f for _, name, f in getattr(installed.output, _INSTALLED) if name == "grammar_bitmask")
        manager._grammar_bitmask = None
        theirs = original(manager, requests, list(requests), drafts).copy()
        steps = [r.structured_output_request.grammar.matcher.n_steps for r in requests.values()]
        manager._grammar_bitmask = None
        ours = manager.grammar_bitmask(requests, list(requests), drafts)
        assert steps == [r.structured_output_request.grammar.matcher.n_steps for r in requests.values()]
        return ours, theirs

    @pytest.mark.parametrize("reasons", ["never", "simple", "inside", "deepseek_r1", "qwen3"])
    @pytest.mark.parametrize("width", [0, 1, 4])
    def test_the_same_rows(self, installed: Any, width: int, reasons: str) -> None:
        parser = reasons if reasons in ("deepseek_r1", "qwen3") else ""
        manager = engine.manager(engine.config(drafts=width, enable_in_reasoning=reasons == "inside", reasoning_parser=parser))
        if reasons in ("simple", "inside"):
            manager.reasoner_cls = Reasoner
        constraints: list[dict[str, Any]] = [
            {"json": SCHEMA},
            {"regex": "[ab]{2,5}"},
            {"choice": ["ab", "abc"]},
            {"grammar": 'root ::= "a" root | "b"'},
            {"structural_tag": TAG},
            {"structural_tag": CALL},
        ]
        texts = ['{"a": true}', "abab", "abc", "aaab", "x<tool_call>ab</tool_call>", "<tool_call>ab</tool_call>"]
        random_numbers = random.Random(width)
        for round_number in range(40):
            requests, drafts = {}, {}
            for n in range(random_numbers.randint(1, 6)):
                which = random_numbers.randrange(len(constraints))
                request = engine.ready(manager, f"r{n}", engine.parameters(**constraints[which]))
                tokens = [*ids(texts[which]), STOP]
                taken = random_numbers.randint(0, len(tokens))
                if reasons not in ("never", "inside"):
                    if random_numbers.random() < 0.6:
                        thoughts = [random_numbers.randrange(60) for _ in range(random_numbers.randint(0, 3))]
                        # A call of a tool ends Qwen's reasoning, too, and is a part of the answer.
                        tokens = [*thoughts, *([] if reasons == "qwen3" and which == 5 else [Reasoner.end]), *tokens]
                    else:
                        request.structured_output_request.reasoning_ended = True
                for token in tokens[:taken]:
                    request.append_output_token_ids(token)
                    manager.accept_tokens(request, [token])
                if width and random_numbers.random() < 0.9:
                    draft = tokens[taken : taken + random_numbers.randint(0, width)]
                    if draft and random_numbers.random() < 0.3:
                        draft[random_numbers.randrange(len(draft))] = random_numbers.randrange(len(engine.tokenizer()))
                    if random_numbers.random() < 0.5:
                        draft = [*draft, *[-1] * width][:width]
                    if draft or random_numbers.random() < 0.5:
                        drafts[f"r{n}"] = draft
                requests[f"r{n}"] = request
            ours, theirs = self.both(installed, manager, requests, drafts)
            for n, name in enumerate(requests):  # the rows beyond a request's drafts are never read
                first = n * (width + 1)
                used = slice(first, first + len(drafts.get(name, ())) + 1)
                assert np.array_equal(ours[used], theirs[used]), (round_number, name, drafts.get(name))

    def test_many_requests_without_drafts(self, installed: Any) -> None:
        manager = engine.manager()
        requests = {
            f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex=f"[ab]{{{n % 7 + 1}}}[x-z]+")) for n in range(150)
        }
        ours, theirs = self.both(installed, manager, requests, {})
        assert np.array_equal(ours, theirs)

    def test_implicit_ends_of_reasoning_are_masked(self, installed: Any) -> None:
        manager = engine.manager(engine.config(drafts=2))
        manager.reasoner_cls = Reasoner
        requests = {f"r{n}": engine.ready(manager, f"r{n}", engine.parameters(regex="[ab]+")) for n in range(2)}
        requests["r0"].structured_output_request.masked_reasoning_end_ids = (3, 40)
        ours, theirs = self.both(installed, manager, requests, {})
        assert np.array_equal(ours[[0, 3]], theirs[[0, 3]])
        assert 3 not in allowed(ours[0]) and 40 not in allowed(ours[0]) and 5 in allowed(ours[0])


class TestFallback:
    """XGrammar takes a reference to a schema that it does not have for any value."""

    REFUSED = '{"$ref": "https://example.com/schema"}'

    def test_what_psc_refuses_goes_to_vllms_own_backend(self, caplog: pytest.LogCaptureFixture) -> None:
        manager = engine.manager(engine.config(additional={"fallback": "engine"}))
        schemas = {"theirs": self.REFUSED, "again": self.REFUSED, "ours": '{"type": "boolean"}'}
        requests = {name: engine.ready(manager, name, engine.parameters(json=schema)) for name, schema in schemas.items()}
        kinds = [type(r.structured_output_request.grammar).__name__ for r in requests.values()]
        assert kinds == ["XgrammarGrammar", "XgrammarGrammar", "PscGrammar"]
        rows = manager.grammar_bitmask(requests, list(requests), {})  # masks of both are in one batch
        assert texts_of(allowed(rows[2])) == {"t", "tr", "tru", "true", "f", "fa", "fals", "false"}
        assert {"t", "f", "{", "["} <= texts_of(allowed(rows[0]))
        for request in requests.values():
            assert manager.accept_tokens(request, ids("true"))
        assert sum("own backend" in r.getMessage() for r in caplog.records) == 1
        assert manager.backend.service.snapshot()["fallbacks.json"] == 2
        manager.clear_backend()

    def test_without_fallback_the_request_fails(self) -> None:
        manager = engine.manager()
        with pytest.raises(ValueError, match="there is no schema https:"):
            engine.ready(manager, "r", engine.parameters(json=self.REFUSED))
        assert engine.ready(manager, "r", engine.parameters(regex="[ab]+"))

    def test_the_validator_asks_vllms_own(self, monkeypatch: pytest.MonkeyPatch, installed: Any) -> None:
        given = engine.parameters(json=self.REFUSED)
        with pytest.raises(VLLMValidationError):
            installed.xgrammar.validate_xgrammar_grammar(given)
        uninstall(installed)
        monkeypatch.setenv("PSC_FALLBACK", "engine")
        assert register()
        installed.xgrammar.validate_xgrammar_grammar(given)

    def test_both_refuse(self) -> None:
        manager = engine.manager(engine.config(additional={"fallback": "engine"}))
        with pytest.raises(RuntimeError, match="not supported"):
            engine.ready(manager, "r", engine.parameters(regex="(?=a)b"))
        assert engine.ready(manager, "r", engine.parameters(regex="b"))


class TestValidation:
    def check(self, backend: str = "xgrammar", **constraint: Any) -> None:
        config = engine.config(backend=backend)
        engine.parameters(backend, **constraint)._validate_structured_outputs(
            config.model_config, config.structured_outputs_config, engine.tokenizer()
        )

    @pytest.mark.parametrize(
        "constraint, message",
        [
            ({"regex": "("}, r"The parenthesis is not closed"),
            ({"json": '{"type": "strin"}'}, "strin"),
            ({"json": "{"}, "line 1, column 2"),
            ({"json": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}}, "nowhere"),
            ({"grammar": 'root ::= "a" b'}, "rule 'b' is not defined"),
            ({"grammar": "start: a"}, "'a'"),
            ({"grammar": "start: %json {]"}, "json"),
            ({"structural_tag": '{"type": "structural_tag"}'}, "format: is missing"),
            ({"structural_tag": '{"type": "structural_tag", "format": {"type": "tag"}}'}, "begin"),
        ],
    )
    def test_a_refusal_has_psc_s_message(self, constraint: dict[str, Any], message: str) -> None:
        for _ in range(2):
            with pytest.raises(VLLMValidationError, match=message):
                self.check(**constraint)

    def test_no_other_backend_is_tried(self) -> None:
        """vLLM has one backend in an engine: had a request gone to guidance, no other would work."""
        with pytest.raises(VLLMClientError, match="not closed") as caught:
            self.check("auto", regex="(")
        assert not isinstance(caught.value, VLLMValidationError)

    def test_auto_is_psc(self) -> None:
        given = engine.parameters("auto", json={"type": "integer", "multipleOf": 3})  # which vLLM does not give to XGrammar
        config = engine.config(backend="auto")
        given._validate_structured_outputs(config.model_config, config.structured_outputs_config, engine.tokenizer())
        assert given.structured_outputs._backend == "xgrammar"

    def test_a_request_is_not_changed(self) -> None:
        given = engine.parameters(choice=["a", "b"])
        config = engine.config()
        given._validate_structured_outputs(config.model_config, config.structured_outputs_config, engine.tokenizer())
        assert given.structured_outputs.choice == ["a", "b"] and given.structured_outputs.grammar is None

    def test_tokens_that_a_text_names_are_looked_up_by_the_engine(self) -> None:
        self.check(grammar="start: <nothing> /a/")
        with pytest.raises(ValueError, match="nothing"):
            engine.ready(engine.manager(), "r", engine.parameters(grammar="start: <nothing> /a/"))

    def test_no_constraint_that_is_known(self, installed: Any) -> None:
        installed.xgrammar.validate_xgrammar_grammar(SamplingParams())
        empty = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a"))
        empty.structured_outputs.regex = None
        with pytest.raises(VLLMValidationError, match="no constraint"):
            installed.xgrammar.validate_xgrammar_grammar(empty)

    def test_the_servers_structural_tags(self) -> None:
        from vllm.entrypoints.generate.base.protocol import validate_structural_tag_payload

        validate_structural_tag_payload(TAG, parameter="response_format")
        with pytest.raises(VLLMValidationError):
            validate_structural_tag_payload("{}", parameter="response_format")


class TestBadInput:
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
        bad = engine.ready(manager, "bad", engine.parameters(grammar=HOSTILE))
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
            engine.ready(manager, "bad", engine.parameters(grammar=HOSTILE))
        assert manager.backend.service.snapshot()["failures"] >= 1

    def test_an_option_that_does_not_exist(self) -> None:
        with pytest.raises(OptionError, match="did you mean store"):
            engine.manager(engine.config(additional={"stroe": "x"}))

    @pytest.mark.parametrize("given", [{"enabled": "no"}, 3])
    def test_a_switch_that_is_none(self, given: Any) -> None:
        with pytest.raises(OptionError):
            engine.manager(engine.config(additional=given))


class TestGuards:
    def test_vllm_finds_and_loads_it(self, installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib.metadata import EntryPoint

        from vllm import plugins

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

    @pytest.mark.parametrize("off", [False, {"enabled": False}])
    def test_the_configuration_switches_psc_off(self, off: Any) -> None:
        manager = engine.manager(engine.config(additional=off))
        grammar = engine.ready(manager, "r", engine.parameters(regex="[ab]+")).structured_output_request.grammar
        assert type(grammar).__name__ == "XgrammarGrammar"

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
        assert called and len(rows) == 4 * (3 if why == "drafts" else 1)
        assert counters.snapshot()["masks"] == before + 4
        assert "psc_masks_total" in counters.prometheus_text() and "psc_mask_seconds_total" in counters.prometheus_text()

    @pytest.mark.parametrize("version, warned", [("0.33.0", False), ("0.33.4", False), ("0.34.0", True), ("0.32.1", True)])
    def test_another_version(
        self, version: str, warned: bool, monkeypatch: pytest.MonkeyPatch, installed: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        from psc.adapters.vllm import seams

        uninstall(installed)
        monkeypatch.setattr(seams, "_version", lambda: version)
        assert register()
        assert (f"this is vLLM {version}" in caplog.text) == warned


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


def test_no_request_harms_another() -> None:
    """200 requests, 32 at a time, compiled on threads: good ones, malformed ones, hostile ones, and ones whose client goes away."""
    given = engine.config()
    given.parallel_config.distributed_executor_backend = "mp"
    manager = engine.manager(given)
    numbers = random.Random(5)
    good: list[tuple[dict[str, Any], str]] = [
        ({"json": SCHEMA}, '{"a": true, "bc": null}'),
        ({"regex": "[ab]{2,9}c"}, "ababc"),
        ({"choice": ["one", "two"]}, "two"),
        ({"grammar": 'start: "a" X+\nX: /[x-z]/'}, "axyz"),
        ({"structural_tag": TAG}, "x<tool_call>ab</tool_call>y"),
    ]
    bad: list[dict[str, Any]] = [
        {"regex": "(" * 50},
        {"json": '{"$ref": "#/nowhere"}'},
        {"grammar": "start: nothing"},
        {"grammar": "root ::= (" + '"a" ' * 2000},
        {"structural_tag": '{"type": "structural_tag", "format": 3}'},
        {"json": json.dumps({"enum": [{"a": i} for i in range(500)]} | {"minimum": "x"})},
    ]
    waiting = [
        (f"g{i}", *numbers.choice(good)) if numbers.random() < 0.7 else (f"b{i}", numbers.choice(bad), "") for i in range(200)
    ]
    running: dict[str, Any] = {}
    rest: dict[str, list[int]] = {}
    finished = refused = 0
    while waiting or running:
        while waiting and len(running) < 32:
            name, constraint, text = waiting.pop()
            running[name] = engine.request(name, engine.parameters(**constraint))
            rest[name] = [*ids(text), STOP]
            manager.grammar_init(running[name])
        ready = []
        for name, request in list(running.items()):
            grammar = request.structured_output_request.grammar
            if isinstance(grammar, Exception):
                assert name[0] == "b" and isinstance(grammar, ValueError) and str(grammar)
                del running[name]
                refused += 1
            elif grammar is not None:
                assert name[0] == "g"
                ready.append(name)
        rows = manager.grammar_bitmask(running, ready, {})
        for row, name in enumerate(ready):
            token = rest[name].pop(0)
            assert token in allowed(rows[row])
            assert manager.accept_tokens(running[name], [token])
            if not rest[name] or numbers.random() < 0.02:  # its client goes away
                del running[name]
                finished += 1
    assert finished + refused == 200 and refused > 40
    manager.clear_backend()
