"""Reasoning as the first part of psc's grammar, with vLLM's own manager and reasoning parsers.

What is expected is written down here again, token by token: reasoning goes on until a token that ends it, and then the text is a
fresh matcher's.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm")
import vllm_engine as engine
from vllm_requests import SCHEMA, Reasoner, allowed, ids

import psc
from psc.adapters.vllm import register
from psc.adapters.vllm.grammar import PscGrammar
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.every_release]
TOKENS = len(engine.tokenizer())
STOP, START, END, CALL = (
    engine.tokenizer().convert_tokens_to_ids(name) for name in ("<|end|>", "<think>", "</think>", "<tool_call>")
)
ENDS = {"deepseek_r1": [END], "step3": [END], "kimi_k3": ids("<|close|>think<|sep|>")}
"""Of parsers that psc reads, and that it asks behind each token, what ends the reasoning."""
every_end = pytest.mark.parametrize("parser", ENDS)
TAG = {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"}
CONSTRAINTS: list[tuple[dict[str, Any], str]] = [
    ({"json": SCHEMA}, '{"a": true}'),
    ({"regex": "[ab]{2,9}"}, "bbabbaa"),
    ({"choice": ["ab", "abc"]}, "abc"),
    ({"structural_tag": json.dumps({"type": "structural_tag", "format": TAG})}, "<tool_call>abab</tool_call>"),
]


@pytest.fixture(autouse=True)
def installed() -> Iterator[Any]:
    assert register()
    seams = find_seams()
    yield seams
    uninstall(seams)


def manager(parser: str = "deepseek_r1", drafts: int = 0, **additional: Any) -> Any:
    return engine.manager(engine.config(drafts=drafts, reasoning_parser=parser, additional=additional))


def begun(
    of: Any, constraint: dict[str, Any], prompt: tuple[int, ...] = (1, 2, 3), name: str = "r", ended: bool | None = None
) -> Any:
    request = engine.request(name, engine.parameters(**constraint), prompt)
    request.structured_output_request.reasoning_ended = ended
    of.grammar_init(request)
    assert not isinstance(request.structured_output_request.grammar, Exception)
    return request


def grammar_of(request: Any) -> PscGrammar:
    grammar: PscGrammar = request.structured_output_request.grammar
    return grammar


def take(of: Any, request: Any, tokens: list[int]) -> bool:
    """What the scheduler does with sampled tokens."""
    request.append_output_token_ids(tokens)
    return bool(of.accept_tokens(request, tokens))


class Expected:
    """What may follow some tokens."""

    def __init__(self, request: Any, implicit: frozenset[int] = frozenset(), parser: str = "deepseek_r1") -> None:
        self.thoughts: list[int] = []
        self.end = ENDS[parser]
        self.matcher = psc.GrammarMatcher(grammar_of(request).matcher.compiled)
        self.reasons, self.implicit = True, implicit & set(self.matcher.allowed_tokens().tolist())
        self.never = {STOP} | (implicit - self.implicit)

    def allowed(self) -> set[int]:
        return set(range(TOKENS)) - self.never if self.reasons else set(self.matcher.allowed_tokens().tolist())

    def take(self, token: int) -> None:
        assert token in self.allowed()
        if self.reasons and token not in self.implicit:
            self.thoughts.append(token)
            self.reasons = self.thoughts[-len(self.end) :] != self.end
        else:
            self.reasons = False
            assert self.matcher.accept_token(token)


def row_of(rows: Any, index: int = 0) -> set[int]:
    return allowed(rows[index]) & set(range(TOKENS))


@every_end
@pytest.mark.parametrize("seed", range(3))
def test_texts_of_a_random_model(parser: str, seed: int) -> None:
    """Whatever is drawn from the masks is taken, and it stops behind a whole text alone."""
    rng = random.Random(seed)
    of, end = manager(parser), ENDS[parser]
    for constraint, _ in CONSTRAINTS * 5:
        request = begun(of, constraint)
        expected = Expected(request, parser=parser)
        to_come: list[int] = []
        for _ in range(200):
            rows = of.grammar_bitmask({"r": request}, ["r"], {})
            assert row_of(rows) == expected.allowed()
            choices = sorted(row_of(rows))
            if expected.reasons and not to_come and rng.random() < 0.1:
                to_come = end[: rng.choice([len(end), rng.randint(1, len(end))])]  # now and then only its beginning
            token = to_come[0] if to_come else rng.choice(choices)
            to_come = to_come[1:]
            if STOP in choices and rng.random() < 0.5:
                token = STOP
            assert take(of, request, [token])
            expected.take(token)
            if token == STOP:
                break
        assert grammar_of(request).is_terminated() == expected.matcher.is_terminated()


def model_of(request: Any, parser: str) -> Expected:
    """Where a request is."""
    model = Expected(request, parser=parser)
    for token in request.output_token_ids:
        model.take(token)
    return model


@every_end
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [1, 2, 5])
def test_drafts_over_the_end(installed: Any, parser: str, seed: int, width: int, caplog: pytest.LogCaptureFixture) -> None:
    """Rows are the masks along drafts, valid drafts are found, and tokens of both parts are taken in one step."""
    rng = random.Random(seed)
    of, end = manager(parser, drafts=width), ENDS[parser]
    requests = {f"r{n}": begun(of, CONSTRAINTS[n % len(CONSTRAINTS)][0], name=f"r{n}") for n in range(6)}
    rest = {}
    for n, name in enumerate(requests):
        thoughts = [rng.choice([CALL, START, *range(60)]) for _ in range(rng.randrange(4))]
        rest[name] = [*thoughts, *end, *ids(CONSTRAINTS[n % len(CONSTRAINTS)][1]), STOP]
    n_over = 0
    while any(rest.values()):
        running = {name: request for name, request in requests.items() if rest[name]}
        drafts = {}
        for name, request in running.items():
            draft = rest[name][: rng.randint(0, width)]
            if draft and rng.random() < 0.3:
                draft[rng.randrange(len(draft))] = rng.choice([STOP, *end, *range(60)])
            model, valid = model_of(request, parser), []
            for token in draft:
                if token not in model.allowed():
                    break
                model.take(token)
                valid.append(token)
            assert of.validate_tokens(request, draft) == valid
            if valid:
                drafts[name] = valid
        rows = of.grammar_bitmask(running, list(running), drafts)
        first = 0
        for name, request in running.items():
            model, of_request = model_of(request, parser), drafts.get(name, [])
            reasoned = model.reasons
            for i, token in enumerate([*of_request, None]):
                if not model.matcher.is_terminated():
                    assert row_of(rows, first + i) == model.allowed(), (name, i, of_request)
                if token is not None:
                    model.take(token)
            n_over += reasoned and not model.reasons
            first += width + 1 if installed.fills_drafts else len(of_request) + 1
        for name, request in running.items():
            taken = rest[name][: rng.randint(0, width + 1)]
            del rest[name][: len(taken)]
            assert not taken or take(of, request, taken), (name, taken)
    assert all(grammar_of(request).is_terminated() for request in requests.values()) and (n_over or width < len(end))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@every_end
@pytest.mark.parametrize("seed", range(3))
def test_tokens_are_taken_back(parser: str, seed: int) -> None:
    rng = random.Random(seed)
    of = manager(parser)
    for constraint, text in CONSTRAINTS * 5:
        request = begun(of, constraint)
        grammar, taken = grammar_of(request), []
        tokens = [*(rng.randrange(60) for _ in range(rng.randrange(4))), *ENDS[parser], *ids(text), STOP]
        for _ in range(50):
            if rng.random() < 0.6:
                more = tokens[len(taken) :][: rng.randint(1, 5)]
                assert not more or grammar.accept_tokens("r", more)
                taken += more
            else:
                back = rng.randint(0, len(taken))
                grammar.rollback(back)
                del taken[len(taken) - back :]
            model = Expected(request, parser=parser)
            for token in taken:
                model.take(token)
            assert grammar.is_terminated() == model.matcher.is_terminated()
            if not grammar.is_terminated():
                row = np.zeros((1, -(-of.vllm_config.model_config.get_vocab_size() // 32)), np.int32)
                grammar.fill_row(row, 0)
                assert row_of(row) == model.allowed()
        grammar.reset()
        assert grammar.validate_tokens(tokens) == tokens


def test_a_refused_token_ends_the_request(caplog: pytest.LogCaptureFixture) -> None:
    of = manager()
    request = begun(of, {"regex": "a+"})
    assert not take(of, request, [*ids("b"), STOP])
    assert f"request r: its grammar does not allow token {STOP}" in caplog.text


@pytest.mark.parametrize(
    ("prompt", "ended", "reasons"),
    [
        ((1, START), None, True),
        ((1, 2, 3), None, True),
        ((1, START, 5, END), None, False),
        ((1, START, 5, END), False, True),
        ((1, START), True, False),
    ],
    ids=["open", "the model opens it", "closed", "closed of an earlier turn", "the server says so"],
)
def test_what_the_prompt_says(prompt: tuple[int, ...], ended: bool | None, reasons: bool) -> None:
    of = manager()
    request = begun(of, {"regex": "a+"}, prompt, ended=ended)
    assert grammar_of(request).reasons == reasons
    row = row_of(of.grammar_bitmask({"r": request}, ["r"], {}))
    assert row == (set(range(TOKENS)) - {STOP} if reasons else {*ids("a")})


def test_a_parser_that_stands_for_another() -> None:
    for thinking in (False, True):
        of = manager("deepseek_v3")
        request = engine.request("r", engine.parameters(regex="a+"))
        request.structured_output_request.reasoning_parser_kwargs = {"chat_template_kwargs": {"thinking": thinking}}
        of.grammar_init(request)
        assert grammar_of(request).reasons == thinking
        row = row_of(of.grammar_bitmask({"r": request}, ["r"], {}))
        assert row == (set(range(TOKENS)) - {STOP} if thinking else {*ids("a")})


def test_an_end_in_the_prompt() -> None:
    """A parser that reads the prompt, too, and finds the end of an earlier turn there, is vLLM's to ask."""

    class ReadsAll(Reasoner):
        reasoning_end_str = "</think>"
        model_tokenizer = engine.tokenizer()

        def is_reasoning_end_streaming(self, tokens: Any, delta: Any) -> bool:
            return self.is_reasoning_end(tokens)

    of = manager()
    of.reasoner_cls = ReadsAll
    assert grammar_of(begun(of, {"regex": "a+"}, (1, START), ended=False)).reasons
    assert grammar_of(begun(of, {"regex": "a+"}, (1, START, 5, END), ended=False)).reasoning is None


def test_where_it_stays_vllms() -> None:
    """By the option, and with parsers that psc cannot read."""
    others = manager()
    others.reasoner_cls = Reasoner
    for of in (manager(reasoning="engine"), others):
        request = begun(of, {"regex": "a+"})
        assert grammar_of(request).reasoning is None
        assert STOP in row_of(of.grammar_bitmask({"r": request}, ["r"], {}))
        assert take(of, request, [*ids("x"), END]) and take(of, request, ids("a"))
        assert row_of(of.grammar_bitmask({"r": request}, ["r"], {})) == {*ids("a"), STOP}


def test_a_call_ends_the_reasoning_where_the_text_begins_with_one() -> None:
    """Qwen's parser has a call in the reasoning end it. Where no call may come, one cannot begin."""
    of = manager("qwen3", drafts=2)
    for constraint, text in CONSTRAINTS:
        calls = "structural_tag" in constraint
        request = begun(of, constraint)
        if grammar_of(request).reasoning is None:
            pytest.skip("this release does not say which tokens end it")
        assert (CALL in row_of(of.grammar_bitmask({"r": request}, ["r"], {}))) == calls
        tokens = [*ids("xy"), *([] if calls else [END]), *ids(text), STOP]
        model, at = Expected(request, frozenset([CALL])), 0
        while at < len(tokens):
            draft = tokens[at : at + 2]
            assert of.validate_tokens(request, draft) == draft
            rows = of.grammar_bitmask({"r": request}, ["r"], {"r": draft})
            for i, token in enumerate(draft):
                assert row_of(rows, i) == model.allowed()
                model.take(token)
            assert take(of, request, draft)
            at += len(draft)
        grammar = grammar_of(request)
        assert grammar.is_terminated()
        grammar.rollback(len(tokens) - 2)
        assert grammar.reasons and (CALL in grammar.validate_tokens([CALL])) == calls
