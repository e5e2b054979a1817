"""Reasoning as the first part of psc's grammar in SGLang, with the engine's own manager, reasoning wrapper and walk along drafts.

What is expected is written down here again, token by token: reasoning goes on until a token that ends it, and then the text is a
fresh matcher's.
"""

import json
import random
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)

from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject  # noqa: E402
from sglang.srt.environ import envs  # noqa: E402
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector  # noqa: E402
from sglang.srt.speculative import spec_utils  # noqa: E402
from sglang_engine import CALL, END, THINK, THINK_END, VOCAB_SIZE, Engine, bits, plugin, token_of, tokenizer  # noqa: E402
from sglang_requests import REFUSED_BY_PSC, Tree  # noqa: E402

import psc  # noqa: E402
from psc.adapters.seams import Seam  # noqa: E402
from psc.adapters.sglang import reasoning  # noqa: E402
from psc.adapters.sglang.reasoning import ReasoningGrammar  # noqa: E402

pytestmark = [
    pytest.mark.every_release,
    pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated"),  # what the engine gives to XGrammar
]
STOP, START, AFTER, TOOL = (token_of(name) for name in (END, THINK, THINK_END, CALL))
EVERYTHING = frozenset(range(VOCAB_SIZE))
TAG = {"type": "tag", "begin": CALL, "content": {"type": "regex", "pattern": "[ab]+"}, "end": "</tool_call>"}
CONSTRAINTS: list[tuple[dict[str, str], str]] = [
    ({"json_schema": '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'}, '{"a": true}'),
    ({"regex": "[ab]{2,9}"}, "bbabbaa"),
    ({"structural_tag": json.dumps({"type": "structural_tag", "format": TAG})}, f"{CALL}abab</tool_call>"),
]


@pytest.fixture(autouse=True)
def psc_plugin() -> Iterator[None]:
    with plugin():
        yield


@pytest.fixture(params=["psc", "xgrammar", "an end of several tokens"])
def requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    backend = request.param
    if backend == "an end of several tokens":
        monkeypatch.setattr("sglang.srt.parser.reasoning_parser.Qwen3Detector.__init__", ending_in_several)
        backend = "psc"
    return Engine(monkeypatch, backend, reasoning_parser="qwen3")


def ending_in_several(self: Any, *args: Any, **kwargs: Any) -> None:
    BaseReasoningFormatDetector.__init__(self, THINK, "xyx", tool_start_token=CALL)


def ids(text: str) -> list[int]:
    return list(tokenizer().encode(text))


def begun(requests: Engine, constraint: dict[str, str]) -> Any:
    request = requests.request(reasoning=True, **constraint)
    assert type(request.grammar) is ReasoningGrammar, request.to_finish
    return request


def end_of(request: Any) -> list[int]:
    """What ends its reasoning."""
    return list(request.grammar.think_end_ids)


def row_of(requests: Engine, request: Any) -> set[int]:
    return set(np.flatnonzero(requests.mask(request)[0]).tolist())


class Expected:
    """What may follow some tokens."""

    def __init__(self, request: Any, taken: Sequence[int] = ()) -> None:
        self.thoughts: list[int] = []
        self.end = end_of(request)
        self.matcher = psc.GrammarMatcher(request.grammar.grammar.ctx)
        self.reasons, self.can_call = True, TOOL in self.matcher.allowed_tokens().tolist()
        for token in taken:
            assert token in self.allowed()
            self.take(token)

    def allowed(self) -> set[int]:
        never = {STOP} if self.can_call else {STOP, TOOL}
        return set(EVERYTHING - never) if self.reasons else set(self.matcher.allowed_tokens().tolist())

    def take(self, token: int) -> None:
        if self.reasons and token != TOOL:
            self.thoughts.append(token)
            self.reasons = self.thoughts[-len(self.end) :] != self.end
        else:
            self.reasons = False
            assert self.matcher.accept_token(token)


@pytest.mark.parametrize("seed", range(2))
def test_texts_of_a_random_model(seed: int, requests: Engine) -> None:
    """Whatever is drawn from the masks is taken, and it stops behind a whole text alone."""
    rng = random.Random(seed)
    n_calls = n_ends = 0
    for constraint, _ in CONSTRAINTS * 4:
        request = begun(requests, constraint)
        expected = Expected(request)
        to_come: list[int] = []
        for _ in range(60):
            row = row_of(requests, request)
            assert row == expected.allowed()
            if expected.reasons and not to_come and rng.random() < 0.1:
                to_come = end_of(request)[: rng.choice([9, 9, 1])]  # now and then only its beginning
            likely = to_come[:1] or [t for t in ([TOOL] if expected.reasons else [STOP]) if t in row]
            token = rng.choice(likely if likely and (to_come or rng.random() < 0.2) else sorted(row))
            to_come = to_come[1:]
            n_calls, n_ends = n_calls + (expected.reasons and token == TOOL), n_ends + (token == STOP)
            assert requests.accept(request, token) == [token]
            expected.take(token)
            if request.grammar.is_terminated():
                break
        assert request.grammar.is_terminated() == expected.matcher.is_terminated()
    assert n_calls and n_ends


@pytest.mark.parametrize("seed", range(2))
def test_tokens_are_taken_back_over_the_end(seed: int, requests: Engine) -> None:
    rng = random.Random(seed)
    for constraint, text in CONSTRAINTS * 4:
        request = begun(requests, constraint)
        thoughts = [rng.choice([START, *range(60)]) for _ in range(rng.randrange(4))]
        ends = [end_of(request), []] if text.startswith(CALL) else [end_of(request)]
        tokens = [*thoughts, *rng.choice(ends), *ids(text), STOP]
        taken: list[int] = []
        for _ in range(20):
            if rng.random() < 0.6:
                more = tokens[len(taken) :][: rng.randint(1, 5)]
                assert requests.accept(request, *more) == more
                taken += more
            else:
                back = rng.randint(0, len(taken))
                request.grammar.rollback(back)
                del taken[len(taken) - back :]
                if len(taken) <= len(thoughts):  # it may end in another way now
                    tokens = [*thoughts, *rng.choice(ends), *ids(text), STOP]
            expected = Expected(request, taken)
            assert request.grammar.is_terminated() == expected.matcher.is_terminated()
            if not request.grammar.is_terminated():
                assert row_of(requests, request) == expected.allowed()


@pytest.mark.parametrize("seed", range(2))
def test_masks_along_drafts_over_the_end(seed: int, requests: Engine) -> None:
    """Of each node that the masks before it allow. The grammar is as it was, and takes the tokens of a path."""
    rng = random.Random(seed)
    n_over = 0
    for constraint, text in CONSTRAINTS * 6:
        request = begun(requests, constraint)
        end = end_of(request)
        thoughts = [*(rng.randrange(60) for _ in range(rng.randrange(3))), *end[: rng.randrange(len(end))]]
        requests.accept(request, *thoughts)
        likely = [*(end * 2), TOOL, STOP, 7, *ids(text)]
        parents = [i if rng.random() < 0.6 else rng.randint(0, i) for i in range(12)]
        tokens = [rng.choice(likely) for _ in parents]
        rows = bits(Tree(parents, tokens).walked_by(spec_utils.traverse_tree, request.grammar))
        paths: dict[int, list[int]] = {0: thoughts}
        for node, (parent, token) in enumerate(zip(parents, tokens, strict=True), start=1):
            if parent in paths and token in Expected(request, paths[parent]).allowed():
                paths[node] = [*paths[parent], token]
        for node in range(len(parents) + 1):
            expected = Expected(request, paths[node]) if node in paths else None
            if expected is None or expected.matcher.is_terminated():
                assert rows[node].all()
            else:
                n_over += not expected.reasons
                assert set(np.flatnonzero(rows[node]).tolist()) == expected.allowed()
        longest = max(paths.values(), key=len)[len(thoughts) :]
        assert requests.accept(request, *longest) == longest
    assert n_over


def test_a_request_without_reasoning_begins_with_its_grammar(requests: Engine) -> None:
    for _ in range(2):  # the second time from the engine's cache
        request = requests.request(regex="ab", reasoning=False)
        assert row_of(requests, request) == set(Expected(request).matcher.allowed_tokens().tolist())
        assert requests.accept(request, *end_of(request)) == [] and request.to_finish is not None
        assert TOOL not in row_of(requests, begun(requests, {"regex": "ab"}))


def test_requests_with_the_same_grammar_are_apart(requests: Engine) -> None:
    for constraint, text in CONSTRAINTS:
        first = begun(requests, constraint)
        assert requests.accept(first, 5, *end_of(first), *ids(text)[:2])
        second = begun(requests, constraint)
        assert second.grammar.grammar.grammar_stats.is_cache_hit
        assert row_of(requests, second) == Expected(second).allowed()
        assert requests.accept(second, 6) == [6]
        assert row_of(requests, first) == Expected(first, [*end_of(first), *ids(text)[:2]]).allowed()


@pytest.mark.parametrize("token", [STOP, TOOL])
def test_a_refused_token_ends_the_request(token: int, requests: Engine) -> None:
    request = begun(requests, {"regex": "a+"})
    assert requests.accept(request, 5, token) == [5] and request.to_finish is not None
    assert request.grammar.grammar.counters.get("refused_tokens") == 1
    with pytest.raises(ValueError, match=f"Tokens not accepted: {token}: it is not allowed while the model reasons"):
        request.grammar.accept_token(token)


def test_tokens_of_the_tokenizer_stop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine ends a request at them, whatever the model's configuration says."""
    monkeypatch.setattr(tokenizer(), "additional_stop_token_ids", {9}, raising=False)
    requests = Engine(monkeypatch, "psc", reasoning_parser="deepseek-r1")
    assert row_of(requests, begun(requests, {"regex": "a"})) == EVERYTHING - {STOP, 9}  # this parser knows no calls


@pytest.mark.parametrize("budget", [0, 2])
def test_the_budget_of_a_request(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the engine's, of strict thinking, which allows no calls in the reasoning."""
    monkeypatch.setattr("sglang.srt.parser.reasoning_parser.Qwen3Detector.__init__", excluding_calls)
    with envs.SGLANG_MAX_THINK_TOKENS.override(9):
        requests = Engine(monkeypatch, "psc", reasoning_parser="qwen3", enable_strict_thinking=True)
    for _ in range(2):  # the second time from the engine's cache
        request = requests.request(reasoning=True, custom={"thinking_budget": budget}, **CONSTRAINTS[2][0])
        assert type(request.grammar) is ReasoningGrammar
        for _ in range(budget):
            assert row_of(requests, request) == EVERYTHING - {STOP, TOOL}
            assert requests.accept(request, 5) == [5]
        assert row_of(requests, request) == {AFTER}
        assert requests.accept(request, AFTER) == [AFTER]
        assert row_of(requests, request) == set(Expected(request).matcher.allowed_tokens().tolist())


def excluding_calls(self: Any, *args: Any, **kwargs: Any) -> None:
    BaseReasoningFormatDetector.__init__(self, THINK, THINK_END, think_excluded_tokens=[CALL], tool_start_token=CALL)


def test_an_end_that_the_request_sets(requests: Engine) -> None:
    if not hasattr(ReasonerGrammarObject, "set_request_think_end_ids"):
        pytest.skip("this release has no such ends")
    request = begun(requests, {"regex": "a+"})
    request.grammar.set_request_think_end_ids([STOP])
    assert row_of(requests, request) == EVERYTHING - {TOOL}
    assert requests.accept(request, AFTER, STOP) == [AFTER, STOP]
    assert row_of(requests, request) == set(Expected(request).matcher.allowed_tokens().tolist())
    request = begun(requests, {"regex": "a+"})
    request.grammar.set_request_think_end_ids([5, 6])
    for taken in ([AFTER], [5], [5], [6]):
        assert row_of(requests, request) == EVERYTHING - {STOP, TOOL}
        assert requests.accept(request, *taken) == taken
    assert row_of(requests, request) == set(Expected(request).matcher.allowed_tokens().tolist())


def test_a_grammar_that_describes_the_reasoning(requests: Engine) -> None:
    if not hasattr(ReasonerGrammarObject, "set_reasoning_in_grammar"):
        pytest.skip("this release has no such grammars")
    request = begun(requests, {"regex": "x</think>a"})
    request.grammar.set_reasoning_in_grammar()
    for token in (*ids("x"), AFTER, *ids("a"), STOP):
        assert token in row_of(requests, request) and len(row_of(requests, request)) < 20
        assert requests.accept(request, token) == [token]
    assert request.grammar.is_terminated()


def test_where_it_stays_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the option, with parsers that read in ways of their own, and for XGrammar's grammars."""

    def check(requests: Engine, end: list[int], **constraint: str) -> None:
        request = requests.request(reasoning=True, **constraint)
        assert row_of(requests, request) == EVERYTHING
        assert requests.accept(request, 5, *end) == [5, *end]
        assert len(row_of(requests, request)) < 20

    check(Engine(monkeypatch, "psc", reasoning_parser="cohere_command4"), ids("<|END_THINKING|>"), regex="a+")
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    check(Engine(monkeypatch, "psc", reasoning_parser="qwen3"), [AFTER], **REFUSED_BY_PSC)
    monkeypatch.setenv("PSC_REASONING", "engine")
    for name in ("psc", "xgrammar"):
        requests = Engine(monkeypatch, name, reasoning_parser="qwen3")
        check(requests, [AFTER], regex="a+")
        assert type(requests.request(reasoning=True, regex="a+").grammar) is ReasonerGrammarObject


def test_a_release_without_what_is_needed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(reasoning, "REASONING_SEAMS", (Seam("sglang.srt.no_module:name"),))
    request = Engine(monkeypatch, "psc", reasoning_parser="qwen3").request(reasoning=True, regex="a+")
    assert type(request.grammar) is ReasonerGrammarObject
    assert "reasoning has no masks: sglang.srt.no_module:name is not there" in caplog.text


def test_calls_that_begin_with_several_tokens_end_nothing() -> None:
    for begin, at_line_start, tokens in (
        ("<call>", False, set()),
        (CALL, True, set()),
        (None, False, set()),
        (CALL, False, {TOOL}),
    ):
        detector = SimpleNamespace(tool_start_token=begin, tool_start_at_line_start=at_line_start)
        assert reasoning._call_ids(detector, tokenizer()) == tokens
