"""Every case of the tables in tests/exactness/cases/, through its oracle and every engine, and through psc's own tools."""

from pathlib import Path

import pytest
from grammar_cases import CASES, Case
from languages import LANGUAGES, check_history, check_mask, check_short_histories, oracle_mask, replay

import psc
from psc.inspection.checking import Checker
from psc.inspection.explaining import Explainer
from psc.vocabulary.segment import Segmenter

ALL = pytest.mark.parametrize("case", CASES, ids=str)


def engines(case: Case, folder: Path) -> dict[str, psc.CompiledGrammar]:
    """All builds, and an artifact that was written and loaded again."""
    built = LANGUAGES[case.language].builds(case.grammar, case.tokens)
    path = built["ahead of time"].save(folder / "grammar.psc")
    return {**built, "artifact": psc.load(path, tokenizer_info=built["ahead of time"].tokenizer_info)}


def segments(case: Case, text: bytes) -> list[int] | None:
    """A text in tokens of the case; None where these do not spell it."""
    out: list[int] = []
    while text:
        found = max((i for i, t in enumerate(case.tokens) if text.startswith(t)), key=lambda i: len(case.tokens[i]), default=None)
        if found is None:
            return None
        out.append(found)
        text = text[len(case.tokens[found]) :]
    return out


@ALL
def test_texts_and_masks(case: Case, tmp_path: Path) -> None:
    """What is written in the table, by the oracle, every engine, and the tools that read whole texts."""
    oracle = LANGUAGES[case.language].oracle(case.grammar)
    verdicts = {**dict.fromkeys(case.accepts, True), **dict.fromkeys(case.refuses, False)}
    assert len(verdicts) == len(case.accepts) + len(case.refuses)
    n = len(case.tokens)
    for text, accepted in verdicts.items():
        assert oracle.eos_allowed(text) == accepted, text
    for where in case.allowed:
        assert where.tokens <= set(case.tokens)
        want = [token in where.tokens for token in case.tokens]
        assert oracle.allowed(where.after, case.tokens) == want, where
        assert oracle.eos_allowed(where.after) == where.stop, where
    for engine, compiled in engines(case, tmp_path).items():
        checkers = [Checker(compiled), Checker(compiled, Segmenter(compiled.tokenizer_info))]
        for text, accepted in verdicts.items():
            matcher = psc.GrammarMatcher(compiled)
            assert (matcher.accept_string(text) and matcher.is_completed()) == accepted, (engine, text)
            tokens = segments(case, text)
            for checker in checkers if tokens is not None else checkers[:1]:
                checked = checker.check(text)
                assert checked.disagreement is None and checked.passed == accepted, (engine, text, checked)
            if tokens is not None and accepted:
                assert replay(compiled, [*tokens, n]).is_terminated()
        explainer = Explainer(compiled)
        for where in case.allowed:
            matcher = psc.GrammarMatcher(compiled)
            assert matcher.accept_string(where.after)
            want = [token in where.tokens for token in case.tokens] + [where.stop]
            check_mask(matcher, want, case.tokens, engine, where.after)
            explained = explainer.explain(where.after, list(range(n)))
            assert explained.may_end == where.stop
            assert [verdict.allowed for verdict in explained.tokens] == want[:-1], (engine, where)


@ALL
def test_masks_after_every_short_history(case: Case, tmp_path: Path) -> None:
    """Whole masks and `accept_token`, of every engine, by the oracle."""
    check_short_histories(engines(case, tmp_path), LANGUAGES[case.language].oracle(case.grammar), case.tokens, seed=1)


def test_deep_nesting(tmp_path: Path) -> None:
    """A long text, where stacks and counts grow, along one path."""
    text, tokens = 'root ::= "(" root ")" root | "a"{0,200}', (b"(", b")", b"a", b"((((", b"))", b"a" * 50, b"aaa)")
    case = Case("deep nesting", "any", text, tokens, (), (), ())
    oracle = LANGUAGES["any"].oracle(text)
    history = [3] * 5 + [0] + [5] * 4 + [1] + [2] * 3 + [4] * 5 + [6, 4, 0, 5] + [4] * 4
    assert oracle.eos_allowed(b"".join(tokens[i] for i in history))
    for compiled in engines(case, tmp_path).values():
        matcher = psc.GrammarMatcher(compiled)
        for i, token in enumerate(history):
            check_mask(matcher, oracle_mask(oracle, tokens, history[:i]), tokens, i)
            assert matcher.accept_token(token)
        assert matcher.is_completed()


def test_a_wrong_mask_is_found() -> None:
    """Engines of another grammar than the oracle's do not pass."""
    tokens = [b"a", b"b"]
    built = LANGUAGES["any"].builds('root ::= "a" "b"?', tokens)
    with pytest.raises(AssertionError, match="by the oracle"):
        check_history(built, LANGUAGES["any"].oracle('root ::= "a" "a"?'), tokens, [0])
