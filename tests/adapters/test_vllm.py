"""vLLM's own manager, requests and validation, with psc in the place of its XGrammar backend."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import vllm_engine as engine
from vllm.exceptions import VLLMClientError, VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm_requests import SCHEMA, Reasoner, allowed, ids

from psc.adapters.vllm import register
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.installation import _INSTALLED, uninstall
from psc.adapters.vllm.seams import find_seams

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


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("PSC_VLLM", "PSC_FALLBACK", "PSC_STORE", "PSC_REGISTRY", "PSC_WARM"):
        monkeypatch.delenv(name, raising=False)
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


STOP = engine.tokenizer().eos_token_id


def texts_of(tokens: set[int]) -> set[str]:
    return set(engine.tokenizer().convert_ids_to_tokens(sorted(tokens)))


@pytest.mark.every_release
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

    @pytest.mark.every_release
    @pytest.mark.parametrize("reasons", ["never", "simple", "inside", "deepseek_r1", "qwen3"])
    @pytest.mark.parametrize("width", [0, 1, 4])
    def test_the_same_rows(self, installed: Any, width: int, reasons: str) -> None:
        if not installed.fills_drafts and (width or reasons not in ("never", "inside")):
            pytest.skip("vLLM's own loop fills these in this release")
        parser = reasons if reasons in ("deepseek_r1", "qwen3") else ""
        manager = engine.manager(
            engine.config(
                drafts=width,
                enable_in_reasoning=reasons == "inside",
                reasoning_parser=parser,
                additional={"reasoning": "engine"},
            )
        )
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

    @pytest.mark.every_release
    def test_rows_along_drafts_are_those_of_the_matchers(self) -> None:
        """Whoever fills them: row i is the mask after i drafts."""
        manager = engine.manager(engine.config(drafts=3))
        requests, drafts = {}, {}
        texts = [
            ({"json": SCHEMA}, '{"a": true}'),
            ({"regex": "[ab]{2,9}"}, "bbabbaa"),
            ({"structural_tag": TAG}, "x<tool_call>ababab"),
        ]
        for n, (constraint, text) in enumerate(texts * 3):
            request = requests[f"r{n}"] = engine.ready(manager, f"r{n}", engine.parameters(**constraint))
            taken, tokens = n // 3, ids(text)
            assert not taken or manager.accept_tokens(request, tokens[:taken])
            drafts[f"r{n}"] = manager.validate_tokens(request, tokens[taken : taken + 3])
            assert len(drafts[f"r{n}"]) == 3
        rows = iter(manager.grammar_bitmask(requests, list(requests), drafts))
        for name, request in requests.items():
            expected = request.structured_output_request.grammar.matcher.fork()
            for draft in (*drafts[name], None):
                assert allowed(next(rows)) & set(range(len(engine.tokenizer()))) == set(expected.allowed_tokens().tolist())
                assert draft is None or expected.accept_token(draft)

    @pytest.mark.every_release
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

    @pytest.mark.every_release
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

    @pytest.mark.every_release
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


@pytest.mark.every_release
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
        try:
            from vllm.entrypoints.generate.base.protocol import validate_structural_tag_payload
        except ImportError:  # before 0.29
            from vllm.entrypoints.openai.engine.protocol import validate_structural_tag_payload

        validate_structural_tag_payload(TAG, parameter="response_format")
        with pytest.raises(VLLMValidationError):
            validate_structural_tag_payload("{}", parameter="response_format")


@pytest.mark.every_release
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
