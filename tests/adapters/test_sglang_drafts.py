"""The adapter for SGLang: trees of draft tokens, reasoning, and grammars that a reasoning parser puts a frame around."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)

import torch  # noqa: E402
from hostile_texts import COSTLY_MASKS  # noqa: E402
from sglang.srt.constrained import reasoner_grammar_backend  # noqa: E402
from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject  # noqa: E402
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend, ReasonerGrammarObject  # noqa: E402
from sglang.srt.environ import envs  # noqa: E402
from sglang.srt.speculative import spec_utils  # noqa: E402
from sglang_engine import CALL, END, THINK_END, VOCAB_SIZE, Engine, bits, plugin, token_bytes, token_of, xgrammars_own  # noqa: E402
from sglang_requests import Tree  # noqa: E402

from psc.adapters.sglang.backend import PscGrammarBackend  # noqa: E402
from psc.adapters.sglang.grammar import PscGrammar  # noqa: E402
from psc.errors import ResourceLimitError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated")  # what the engine gives to XGrammar
EOS, AFTER = token_of(END), token_of(THINK_END)
A, B = token_of("a"), token_of("b")
ENGINES_WALK: tuple[Callable[..., None]] = (spec_utils.traverse_tree,)
"""In a tuple: names of modules for it are replaced."""


@pytest.fixture
def psc_plugin() -> Iterator[None]:
    with plugin():
        yield


def random_tree(rng: random.Random, likely: list[int]) -> Tree:
    n = rng.randint(0, 16)
    chain = rng.random() < 0.3
    parents = [i if chain else rng.randint(0, i) for i in range(n)]
    tokens = [
        rng.choice(likely) if rng.random() < 0.9 else rng.choice((EOS, AFTER, 0, VOCAB_SIZE - 1, VOCAB_SIZE + 7)) for _ in parents
    ]
    return Tree(parents, tokens)


def tokens_of(text: str) -> list[int]:
    """Tokens whose characters are all of a text."""
    return [t for t, b in enumerate(token_bytes()) if b and set(b) <= set(text.encode())]


@pytest.mark.every_release
@pytest.mark.parametrize("phase", ["no reasoning", "thinks", "answers", "reasons in the grammar"])
def test_masks_along_drafts_are_those_of_the_engines_walk(phase: str, psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = None if phase == "no reasoning" else "qwen3"
    requests = Engine(monkeypatch, "xgrammar", reasoning_parser=parser)
    assert spec_utils.traverse_tree is not ENGINES_WALK[0]
    rng = random.Random(phase)
    ended = 0
    for constraint, text in (({"regex": "(ab|ca){1,3}c?"}, "abc"), ({"ebnf": 'root ::= "(" root ")" | [0-9]{1,2}'}, "()0123")):
        likely = tokens_of(text)
        for _ in range(40):
            request = requests.request(reasoning=phase in ("thinks", "reasons in the grammar"), **constraint)
            if phase == "reasons in the grammar":
                if not hasattr(request.grammar, "set_reasoning_in_grammar"):
                    pytest.skip("this release has no such grammars")
                request.grammar.set_reasoning_in_grammar()
            for _ in range(rng.randint(0, 3)):
                if not request.grammar.is_terminated():
                    row = requests.mask(request)[0]
                    requests.accept(request, rng.choice([t for t in np.flatnonzero(row) if not row.all() or t in likely]))
            ended += request.grammar.is_terminated()
            tree = random_tree(rng, likely + ([AFTER] * 5 if phase == "thinks" else []))
            ours = tree.walked_by(spec_utils.traverse_tree, request.grammar)
            assert torch.equal(ours, tree.walked_by(ENGINES_WALK[0], request.grammar))
            assert torch.equal(ours, tree.walked_by(spec_utils.traverse_tree, request.grammar))  # the grammar is as it was
    assert ended or phase == "thinks"


@pytest.mark.every_release
def test_a_batch_of_drafts(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Engine(monkeypatch, "psc")
    batch = [requests.request(regex="ab"), requests.request(regex="a*"), requests.request(regex="c")]
    batch[2].grammar = None
    trees = [Tree([0, 1, 2], [A, B, EOS]), Tree([0, 0, 1], [A, EOS, B]), Tree([0, 1, 2], [A, A, A])]
    mask, grammar = spec_utils.generate_token_bitmask(
        batch,
        torch.stack([t.next for t in trees]),
        torch.stack([t.sibling for t in trees]),
        torch.stack([t.tokens for t in trees]),
        VOCAB_SIZE,
    )
    assert grammar is batch[1].grammar
    rows = bits(mask)
    assert [np.flatnonzero(row).tolist() for row in rows[1:3]] == [[B], [EOS]]
    assert rows[3].all()  # after the end
    assert rows[5][EOS] and rows[5][A] and rows[6].all() and rows[7].all()
    assert rows[8:].all()
    masks = requests.backend.service.counters.get("masks")
    assert masks == 8


def test_a_limit_met_along_drafts_ends_that_request_alone(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Engine(monkeypatch, "psc")
    request = requests.request(regex="ab")

    class Failing:
        def __init__(self, matcher: Any) -> None:
            self._matcher = matcher

        def __getattr__(self, name: str) -> Any:
            return getattr(self._matcher, name)

        def traverse_draft_tree(self, *args: object) -> bool:
            raise ResourceLimitError("too many configurations")

    request.grammar.matcher = Failing(request.grammar.matcher)
    rows = bits(Tree([0, 1], [A, A]).walked_by(spec_utils.traverse_tree, request.grammar))
    assert np.flatnonzero(rows[0]).tolist() == [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
    assert rows[1:].all()
    assert requests.accept(request, A, A) == [A]  # what these rows let through is refused here
    assert "Tokens not accepted" in request.to_finish.message


def test_a_hostile_grammar_is_asked_once(
    psc_plugin: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PSC_MASK_STEPS", "3000")
    requests = Engine(monkeypatch, "psc")
    request = requests.request(ebnf=COSTLY_MASKS)
    for _ in range(100):
        rows = bits(Tree([0, 1], [A, A]).walked_by(spec_utils.traverse_tree, request.grammar))
        if request.grammar.failure is not None:
            break
        assert requests.accept(request, A) == [A]
    assert rows[0].any() and not rows[0][EOS] and rows[1:].all()
    assert caplog.text.count("cannot go on") == 1
    assert requests.accept(request, A) == [] and "more than 3000" in request.to_finish.message


@pytest.mark.every_release
@pytest.mark.parametrize("name", ["psc", "xgrammar"])
def test_reasoning_goes_before_the_grammar(name: str, psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the engine's wrapper; psc's masks for it have a file of their own."""
    monkeypatch.setenv("PSC_REASONING", "engine")
    requests = Engine(monkeypatch, name, reasoning_parser="qwen3")
    assert type(requests.backend) is ReasonerGrammarBackend and type(requests.backend.grammar_backend) is PscGrammarBackend
    request = requests.request(regex="ab", reasoning=True)
    assert type(request.grammar) is ReasonerGrammarObject
    assert requests.mask(request)[0].all()
    assert requests.accept(request, 5, 6, AFTER) == [5, 6, AFTER]
    row = requests.mask(request)[0]
    assert np.flatnonzero(row).tolist() == [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
    request.grammar.rollback(1)
    assert requests.mask(request)[0].all()
    assert requests.accept(request, AFTER, A, B, EOS) == [AFTER, A, B, EOS]
    assert request.grammar.is_terminated()
    without = requests.request(regex="ab", reasoning=False)
    assert requests.accept(without, EOS) == [] and without.to_finish is not None


@pytest.mark.every_release
def test_without_an_end_of_reasoning_the_grammar_is_not_wrapped(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from sglang.srt.parser import reasoning_parser

    detector = reasoning_parser.BaseReasoningFormatDetector
    if hasattr(detector, "get_think_end_token_ids"):
        monkeypatch.setattr(detector, "get_think_end_token_ids", lambda self, tokenizer: [])
    else:  # before 0.5.21 the tokenizer is asked
        monkeypatch.setattr(type(engine.tokenizer()), "encode", lambda self, text, **_: [])
    assert type(Engine(monkeypatch, "psc", reasoning_parser="qwen3").backend) is PscGrammarBackend


@pytest.mark.every_release
@pytest.mark.parametrize("name", ["psc", "xgrammar"])
def test_strict_thinking_filters_tokens(name: str, psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from sglang.srt.parser import reasoning_parser

    detector = reasoning_parser.Qwen3Detector.__init__

    def excluding(self: Any, *args: Any, **kwargs: Any) -> None:
        detector(self, *args, **kwargs)
        self.think_excluded_tokens = ["hello"]

    monkeypatch.setattr(reasoning_parser.Qwen3Detector, "__init__", excluding)
    with envs.SGLANG_MAX_THINK_TOKENS.override(2):
        requests = Engine(monkeypatch, name, reasoning_parser="qwen3", enable_strict_thinking=True)
    excluded = requests.backend.think_excluded_token_ids
    assert requests.manager._enable_strict_thinking and excluded
    constrained = requests.request(regex="ab", reasoning=True)
    free = requests.request(reasoning=True)  # no grammar: the filter alone
    assert free.grammar.grammar is None
    for request in (constrained, free):
        row = requests.mask(request)[0]
        assert set(np.flatnonzero(~row).tolist()) == {*excluded, *([EOS, token_of(CALL)] if request is constrained else [])}
        requests.accept(request, 5, 6)
        assert np.flatnonzero(requests.mask(request)[0]).tolist() == [AFTER]  # it has thought enough
        requests.accept(request, AFTER)
    rows = requests.mask(constrained, free)
    assert np.flatnonzero(rows[0]).tolist() == [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
    assert rows[1].all()


def framed(content: dict[str, Any]) -> dict[str, Any]:
    """As the engine's answer frames are: token, content, token."""
    mark = {"type": "token", "token": AFTER}
    return {"type": "structural_tag", "format": {"type": "sequence", "elements": [mark, content, mark]}}


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ({"regex": "ab"}, "ab"),
        ({"ebnf": 'root ::= "a" other\nother ::= "b"'}, "ab"),
        ({"json_schema": '{"const": "a"}'}, '"a"'),
        ({"json_schema": "$$ANY$$"}, "[]"),
    ],
)
def test_a_frame_goes_around_a_grammar(
    constraint: dict[str, str], text: str, psc_plugin: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Engine(monkeypatch, "psc").backend
    backend.reserve_framing_tokens([AFTER])
    ((kind, spec),) = constraint.items()
    grammar = getattr(backend, f"dispatch_{kind.removesuffix('_schema')}")(spec)
    made = backend.compile_framed_grammar(grammar, framed)
    assert isinstance(made, PscGrammar)
    for token in (AFTER, *engine.tokenizer().encode(text), AFTER, EOS):
        made.accept_token(token)
    assert made.is_terminated()


def test_tokens_of_a_frame_are_no_text_in_it(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Engine(monkeypatch, "psc").backend
    grammar = backend.dispatch_regex(".*")
    before = backend.compile_framed_grammar(grammar, framed)
    backend.reserve_framing_tokens([AFTER])
    after = backend.compile_framed_grammar(grammar, framed)
    for made in (before, after):
        made.accept_token(AFTER)
        made.accept_token(AFTER)
    # As text it could be one more character of `.*`; reserved, it has ended the frame.
    assert before.matcher.is_allowed(A)
    assert after.matcher.allowed_tokens().tolist() == [EOS]
    assert backend.dispatch_regex(".*").matcher.is_allowed(AFTER)  # only in frames


def test_a_frame_that_psc_cannot_make_is_refused(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Engine(monkeypatch, "psc").backend
    refused = backend.compile_framed_grammar(backend.dispatch_regex("ab"), lambda content: {"format": {"type": "nosuch"}})
    assert isinstance(refused, InvalidGrammarObject)
    assert "cannot be framed for the reasoning parser: " in refused.error_message
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    backend = Engine(monkeypatch, "psc").backend
    backend.reserve_framing_tokens([AFTER])
    theirs = backend.compile_framed_grammar(backend.dispatch_regex("a$b"), framed)  # XGrammar's grammar, XGrammar's frame
    assert type(backend._engine) is xgrammars_own()
    theirs.accept_token(AFTER)
    assert not isinstance(theirs, PscGrammar)


def test_the_engine_frames_requests(psc_plugin: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from sglang.srt.parser import reasoning_parser
    from sglang.srt.parser.answer_frame import AnswerFrame

    class Frame(AnswerFrame):  # type: ignore[misc]
        framed_key_types = ("regex",)

        def framing_token_ids(self) -> list[int]:
            return [AFTER]

        def ends_in_open_answer_block(self, input_ids: object) -> bool:
            return False

        def structural_tag(self, content: dict[str, Any], **_: object) -> dict[str, Any]:
            return framed(content)

        def owns_turn(self, structural_tag: str) -> bool:
            return True

    monkeypatch.setattr(reasoning_parser.Qwen3Detector, "get_answer_frame", lambda self: Frame())
    requests = Engine(monkeypatch, "xgrammar", reasoning_parser="qwen3")
    request = requests.request(regex="ab", reasoning=True)
    assert isinstance(request.grammar, PscGrammar)
    assert np.flatnonzero(requests.mask(request)[0]).tolist() == [AFTER]
    own = requests.request(structural_tag=json.dumps(framed({"type": "const_string", "value": "a"})), reasoning=True)
    assert isinstance(own.grammar, PscGrammar)  # it has its frame
    assert isinstance(requests.request(json_schema="{}", reasoning=True).grammar, reasoner_grammar_backend.ReasonerGrammarObject)
