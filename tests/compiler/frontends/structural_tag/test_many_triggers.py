"""Free text with many triggers is one automaton: its masks are those of an automaton for each trigger, and its cost is linear."""

from __future__ import annotations

import random
from typing import Any

import pytest
from structural_tags.random_tags import check, random_format
from structural_tags.reading import is_text
from vocabularies import tokenizer

import psc
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.text_search import TriggerSearch
from psc.compiler.frontends.structural_tag import free_texts

PIECES = ["<t", "<a", "ab", "ba", "<t1", "</", ">", "1>", "<<", "b<", "aab", "12", "x", "/x>"]
SPECIAL = ["<t1>", "a<", "<ab>"]
INFO = psc.TokenizerInfo.from_tokens(
    [*(bytes([b]) for b in range(128)), *[p.encode() for p in PIECES], *[s.encode() for s in SPECIAL], b"</s>"],
    special_token_ids=range(128 + len(PIECES), 128 + len(PIECES) + len(SPECIAL)),
    stop_token_ids=[128 + len(PIECES) + len(SPECIAL)],
)


def _compiled(form: dict[str, Any], monkeypatch: pytest.MonkeyPatch, most: int) -> psc.CompiledGrammar:
    monkeypatch.setattr(free_texts, "MAX_COPIED_STATES", most)
    compiler = psc.GrammarCompiler(INFO, store=False, registry=False)
    return compiler.compile_structural_tag({"type": "structural_tag", "format": form})


def _random_tags(rng: random.Random) -> dict[str, Any]:
    """A format with up to 30 triggers; some overlap, some have special tokens in them."""
    letters = rng.choice(["ab", "<ab", "<t1>", "a<"])
    prefix = rng.choice(["", "", "<", "<t"])
    drawn = {prefix + "".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 30))}
    triggers = [t for t in sorted(drawn) if not any(t != other and t.startswith(other) for other in drawn)]
    ends = ["!", "</x>", "a", "<t", "ab"]

    def tag(trigger: str) -> dict[str, Any]:
        content = rng.choice(
            [{"type": "const_string", "value": "1"}, {"type": "any_text"}, {"type": "regex", "pattern": "[ab]{1,2}"}]
        )
        begin = trigger + rng.choice(["", "", ">", "b"])
        return {"type": "tag", "begin": begin, "content": content, "end": rng.choice(ends)}

    flags = {key: True for key in ("at_least_one", "stop_after_first") if rng.random() < 0.2}
    excludes = rng.sample(["ab", "<", "t1", "ba<", "1>"], rng.choice([0, 0, 1, 2]))
    form: dict[str, Any]
    if rng.random() < 0.3:
        rules = [[t, {"type": "const_string", "value": rng.choice("12")}] for t in triggers]
        form = {"type": "dispatch", "rules": rules, "loop": rng.random() < 0.7, "excludes": excludes}
    else:
        tags = [tag(t) for t in triggers if rng.random() < 0.8] or [tag(triggers[0])]
        form = {"type": "triggered_tags", "triggers": triggers, "tags": tags, "excludes": excludes, **flags}
    around = rng.random()
    if around < 0.3:
        return {"type": "tag", "begin": "<q>", "content": form, "end": rng.choice([ends[1], "<", "ba", ["!", "</"]])}
    return {"type": "sequence", "elements": [form, {"type": "const_string", "value": "."}]} if around < 0.4 else form


def _allowed(matcher: psc.GrammarMatcher) -> frozenset[int]:
    if matcher.is_terminated():
        return frozenset()
    return frozenset([t for t in range(INFO.vocab_size) if matcher.is_allowed(t)])


@pytest.mark.parametrize("seed", range(40))
def test_masks_are_those_of_an_automaton_for_each_trigger(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        form = _random_tags(rng)
        try:
            one = _compiled(form, monkeypatch, 0)
        except psc.PscError as e:
            with pytest.raises(type(e)):
                _compiled(form, monkeypatch, 10**9)
            continue
        each = _compiled(form, monkeypatch, 10**9)
        for _ in range(5):
            matchers = psc.GrammarMatcher(one), psc.GrammarMatcher(each)
            for _ in range(12):
                allowed = _allowed(matchers[0])
                assert allowed == _allowed(matchers[1]), form
                text = [t for t in allowed if chr(t) in "<abt1>!/x" or 128 <= t < INFO.vocab_size - 1] if allowed else []
                if not text:
                    break
                token = rng.choice(sorted(text))
                assert all(m.accept_token(token) for m in matchers)


@pytest.mark.parametrize("seed", range(20))
def test_random_tags_against_the_definitions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_texts, "MAX_COPIED_STATES", 0)
    rng = random.Random(7000 + seed)
    for _ in range(12):
        depth = rng.choice([1, 1, 2])
        check(random_format(rng, depth), is_short=depth == 1)


@pytest.mark.parametrize("seed", range(4))
def test_artifacts_of_random_tags(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_texts, "MAX_COPIED_STATES", 0)
    rng = random.Random(8000 + seed)
    for _ in range(8):
        check(random_format(rng, 1), ahead=True)


def _many(begins: list[str], **more: Any) -> dict[str, Any]:
    integer = {"type": "json_schema", "json_schema": {"type": "integer"}}
    tags = [{"type": "tag", "begin": b, "content": integer, "end": "!"} for b in begins]
    return {"type": "triggered_tags", "triggers": begins, "tags": tags, **more}


@pytest.mark.parametrize(
    ("begins", "are_separable"),
    [
        ([f"<t{i:05d}>" for i in range(2000)], True),
        ([f"{'<[{'[i % 3]}tool{i:05d}" for i in range(600)], True),
        ([f"<t{i:04d}<" for i in range(300)], False),
        (sorted({"".join(random.Random(i).choices("abcdefgh", k=9)) for i in range(300)}), False),
    ],
)
def test_many_triggers(begins: list[str], are_separable: bool) -> None:
    assert bool(TriggerSearch([Marker(b) for b in begins], ()).firsts) == are_separable
    compiler = psc.GrammarCompiler(tokenizer([bytes([b]) for b in range(256)]), store=False)
    compiled = compiler.compile_structural_tag({"type": "structural_tag", "format": _many(begins)})
    rng = random.Random(0)
    for _ in range(20):
        some = rng.choices(begins, k=3)
        text = "".join([f"x{b[0]}y{b}{rng.randint(0, 99)}!" for b in some]) + "z"
        form = _many(sorted(set(some)))
        for changed in (text, text.replace("!", "", 1), text.replace(some[0][1:], some[0][1:-1], 1)):
            matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
            taken = matcher.accept_string(changed) and matcher.is_terminated()
            if not are_separable or not any(b in changed for b in begins if b not in some):
                assert taken == is_text(_as_regular(form), changed) or not are_separable, changed


def _as_regular(form: dict[str, Any]) -> dict[str, Any]:
    """The same for the oracle, which knows no schemas: integers of two digits at most."""
    numbers = {"type": "or", "elements": [{"type": "const_string", "value": str(i)} for i in range(100)]}
    return {**form, "tags": [{**tag, "content": numbers} for tag in form["tags"]]}


def test_a_limit_is_named_where_triggers_overlap_too_much() -> None:
    rng = random.Random(1)
    begins = sorted({"".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(5000)})
    compiler = psc.GrammarCompiler(tokenizer([bytes([b]) for b in range(256)]), store=False)
    with pytest.raises(psc.ResourceLimitError, match=r"triggers and excluded texts of one free text need more than [0-9,]+ arcs"):
        compiler.compile_structural_tag({"type": "structural_tag", "format": _many(begins)})


def test_such_a_grammar_is_not_printed() -> None:
    grammar = psc.Grammar.from_structural_tag({"type": "structural_tag", "format": _many([f"<t{i:05d}>" for i in range(500)])})
    with pytest.raises(psc.GrammarError, match="many triggers"):
        str(grammar)
    with pytest.raises(psc.GrammarError, match="many triggers"):
        grammar.to_cfg()
