"""What psc refuses in SGLang, or what goes wrong while it serves: one request alone gets the error."""

import logging
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)
from hostile_texts import COSTLY_MASKS  # noqa: E402
from sglang.srt.constrained import xgrammar_backend  # noqa: E402
from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject  # noqa: E402
from sglang_engine import VOCAB_SIZE, Engine, plugin, token_bytes, token_of, tokenizer, xgrammars_own  # noqa: E402
from sglang_requests import EOS, REFUSED_BY_PSC, finish  # noqa: E402

import psc  # noqa: E402
from psc.errors import ResourceLimitError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated")  # what the engine gives to XGrammar


@pytest.fixture(params=["psc", "xgrammar"])
def backend_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways: by its own name, and in the place of XGrammar's."""
    with plugin():
        yield request.param


@pytest.mark.every_release
def test_what_psc_refuses_can_go_to_the_engines_own_backend(
    backend_name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    requests = Engine(monkeypatch, backend_name)
    ours = requests.request(regex="ab|yes")
    assert requests.backend._engine is None  # not before it is needed
    theirs = [requests.request(**REFUSED_BY_PSC) for _ in range(2)]
    assert type(requests.backend._engine) is xgrammars_own()
    assert [type(r.grammar) for r in theirs] == [xgrammar_backend.XGrammarGrammar] * 2
    assert requests.backend.service.snapshot()["fallbacks.regex"] == 1
    assert caplog.text.count("goes to the engine's own backend") == 1
    # One batch has both.
    rows = requests.mask(theirs[0], ours, theirs[1])
    begin = [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
    assert [np.flatnonzero(row).tolist() for row in rows[[0, 2]]] == [begin] * 2
    assert finish(requests, ours) in (b"ab", b"yes")


@pytest.mark.every_release
def test_without_the_option_it_is_refused(backend_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Engine(monkeypatch, backend_name)
    request = requests.request(**REFUSED_BY_PSC)
    assert request.grammar is None
    assert "Failed to compile regex grammar" in request.to_finish.message
    assert requests.backend._engine is None


def test_a_token_that_the_mask_forbids_aborts_the_request_alone(backend_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Engine(monkeypatch, backend_name)
    one, other = requests.request(regex="ab"), requests.request(regex="ab")
    a, b = token_of("a"), token_of("b")
    assert requests.accept(one, a, a) == [a]
    assert re.search(rf"Tokens not accepted: {a}: .*after 1 tokens: b'a' is not allowed, expected", one.to_finish.message)
    assert other.to_finish is None
    assert requests.accept(other, a, b, EOS, a) == [a, b, EOS]  # the scheduler stops at the end
    for token in (-1, VOCAB_SIZE, 1 << 40, VOCAB_SIZE - 1):
        request = requests.request(regex="ab")
        requests.accept(request, token)
        assert "Tokens not accepted" in request.to_finish.message


@pytest.mark.parametrize("place", ["batch_fill_next_token_bitmask", "fill_next_token_bitmask", "accept_token"])
def test_a_grammar_that_cannot_go_on_aborts_its_request_alone(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        requests = Engine(monkeypatch, "psc")
        failing, other = requests.request(regex="[ab]*"), requests.request(regex="ab")

        class Failing:
            """A matcher that meets a limit in one of its methods."""

            def __init__(self, matcher: psc.GrammarMatcher) -> None:
                self._matcher = matcher

            def __getattr__(self, name: str) -> Any:
                return self._fail if name == place else getattr(self._matcher, name)

            def _fail(self, *args: object) -> None:
                raise ResourceLimitError("too many configurations")

        failing.grammar.matcher = Failing(failing.grammar.matcher)
        rows = requests.mask(failing, other)
        assert np.flatnonzero(rows[1]).tolist() == [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
        requests.accept(failing, token_of("a"))
        if place != "batch_fill_next_token_bitmask":
            assert "too many configurations" in failing.to_finish.message
            row = requests.mask(failing, other)[0]
            assert row.any() and not row[EOS]  # something is sampled, and it is not the end
            assert requests.backend.service.counters.get("failures") == 1
            assert not requests.backend.service.counters.get("empty_masks")
        assert finish(requests, other) == b"ab"


def test_a_hostile_grammar_fails_alone_and_is_asked_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The masks of the others are what they are without it, in the step in which it fails, too."""
    monkeypatch.setenv("PSC_MASK_STEPS", "3000")
    with plugin():
        requests = Engine(monkeypatch, "psc")
        batch = [requests.request(regex="[ab]*") for _ in range(15)]
        hostile = requests.request(ebnf=COSTLY_MASKS)
        batch.insert(6, hostile)
        expected = np.flatnonzero(requests.mask(batch[0])[0]).tolist()
        for _ in range(100):
            rows = requests.mask(*batch)
            assert all(np.flatnonzero(row).tolist() == expected for at, row in enumerate(rows) if at != 6)
            if hostile.grammar.failure is not None:
                break
            assert requests.accept(hostile, token_of("a")) == [token_of("a")]
        assert hostile.grammar.matcher.n_steps > 3
        assert rows[6].any() and not rows[6][EOS]
        requests.mask(*batch)
        assert requests.backend.service.counters.get("failures") == 1
        assert caplog.text.count("cannot go on") == 1
        requests.accept(hostile, token_of("a"))
        assert "steps for one token or mask: more than 3000" in hostile.to_finish.message
        assert requests.accept(batch[0], token_of("a")) == [token_of("a")]


def test_a_first_mask_that_costs_too_much_is_an_error_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSC_MASK_STEPS", "10")
    with plugin():
        requests = Engine(monkeypatch, "psc")
        refused = requests.request(ebnf=COSTLY_MASKS)
        assert "steps for one token or mask: more than 10" in refused.to_finish.message


def test_where_nothing_goes_on_the_request_fails_and_no_row_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        its = tokenizer("z")
        requests = Engine(monkeypatch, "psc", its_tokenizer=its)
        with pytest.MonkeyPatch.context() as quiet:
            quiet.setattr(logging.getLogger("psc.compiler"), "disabled", True)
            request = requests.request(regex="az")
        a = its.convert_tokens_to_ids("a")
        for _ in range(2):
            row = requests.mask(request)[0]
            if not request.grammar.matcher.n_steps and len(request.grammar.matcher.allowed_tokens()):
                assert requests.accept(request, a) == [a]
                row = requests.mask(request)[0]
            assert row.any() and not row[its.eos_token_id]
        requests.accept(request, a)
        assert "no token of the vocabulary continues" in request.to_finish.message
        assert requests.backend.service.counters.get("empty_masks")


def test_a_refusal_says_what_and_is_no_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        backend = Engine(monkeypatch, "psc").backend
        refused = backend.dispatch_json('{"type": "objct"}')
        assert isinstance(refused, InvalidGrammarObject)
        assert "there is no type 'objct'" in refused.error_message
