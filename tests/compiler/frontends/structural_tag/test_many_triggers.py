"""Free text with many triggers is one automaton: its masks are those of an automaton for each trigger, and its cost is linear."""

from __future__ import annotations

import random
from typing import Any

import pytest
from structural_tags.many_triggers import check_builds_agree, format_with_triggers, one_automaton
from structural_tags.random_tags import check, random_format
from structural_tags.reading import is_text
from vocabularies import tokenizer

import psc
from psc.compiler.expressions.markers import Marker
from psc.compiler.expressions.text_search import TriggerSearch


@pytest.mark.parametrize("seed", range(40))
def test_masks_are_those_of_an_automaton_for_each_trigger(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        check_builds_agree(rng, format_with_triggers(rng))


@pytest.mark.parametrize("excludes", [[], ["ab"]])
@pytest.mark.parametrize("trigger", ["<t", "<ta", "<ta<", "<ta<a", "<ta<a<"])
@pytest.mark.parametrize("is_one", [False, True])
def test_special_tokens_within_a_trigger_and_over_its_end(trigger: str, excludes: list[str], is_one: bool) -> None:
    info = psc.TokenizerInfo.from_tokens(
        [*(bytes([b]) for b in range(128)), b"a<", b"</s>"], special_token_ids=[128], stop_token_ids=[129]
    )
    tag = {"type": "tag", "begin": "<ta<a<", "content": {"type": "const_string", "value": "1"}, "end": "!"}
    form = {"type": "triggered_tags", "triggers": [trigger], "tags": [tag], "excludes": excludes}
    with one_automaton(is_one):
        grammar = psc.GrammarCompiler(info, store=False, registry=False).compile_structural_tag(
            {"type": "structural_tag", "format": form}
        )
    spelled, special = [ord("a"), ord("<")], [128]
    for first in (spelled, special):
        for second in (spelled, special):
            matcher = psc.GrammarMatcher(grammar)
            tokens = [ord("x"), ord("<"), ord("t"), *first, *second, *b"1!y", 129]
            assert [bool(matcher.is_allowed(token)) and matcher.accept_token(token) for token in tokens] == [True] * len(tokens)


@pytest.mark.parametrize("seed", range(20))
def test_random_tags_against_the_definitions(seed: int) -> None:
    rng = random.Random(7000 + seed)
    with one_automaton():
        for _ in range(12):
            depth = rng.choice([1, 1, 2])
            check(random_format(rng, depth), is_short=depth == 1)


@pytest.mark.parametrize("seed", range(4))
def test_artifacts_of_random_tags(seed: int) -> None:
    rng = random.Random(8000 + seed)
    with one_automaton():
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


@pytest.mark.parametrize("kind", ["triggers", "rules", "excludes"])
def test_what_is_too_much_is_named(kind: str) -> None:
    texts = [f"<{i}{'ab' * 60}{i}>" for i in range(2000)] + ["<the longest" + "c" * 300 + ">"]
    call = {"type": "const_string", "value": "x"}
    forms: dict[str, dict[str, object]] = {
        "triggers": {
            "type": "triggered_tags",
            "triggers": texts,
            "tags": [{"begin": t, "content": call, "end": "."} for t in texts],
        },
        "rules": {"type": "dispatch", "rules": [[t, call] for t in texts]},
        "excludes": {"type": "any_text", "excludes": texts},
    }
    form = {"type": "sequence", "elements": [{"type": "const_string", "value": "y"}, forms[kind]]}
    with pytest.raises(
        psc.ResourceLimitError, match=rf"format.elements\[1\].{kind}: .*limit.*2,001 texts.*<the longest.* 313 ch"
    ) as e:
        psc.Grammar.from_structural_tag({"type": "structural_tag", "format": form}).to_ebnf()
    assert len(str(e.value)) < 500


def test_triggers_of_different_lengths_that_are_whole_begins() -> None:
    call = {"type": "const_string", "value": "x"}
    begins = ["<a>", "<bb>", "<ccc>"]
    form = {"type": "triggered_tags", "triggers": begins, "tags": [{"begin": b, "content": call, "end": "."} for b in begins]}
    grammar = psc.GrammarCompiler(tokenizer([b"<", b"<a", b">", b"b>x", b"."]), store=False).compile_structural_tag(
        {"type": "structural_tag", "format": form}
    )
    assert psc.GrammarMatcher(grammar).accept_string("..<a>x.<bb>x.<ccc>x.<")
    assert not psc.GrammarMatcher(grammar).accept_string("<a>y")


@pytest.mark.parametrize("begin", ["<ab>", "x<ab>"])
def test_a_special_token_stands_over_the_end_of_its_trigger(begin: str) -> None:
    words = [b"<ab>", *[bytes([b]) for b in range(128)], b"</s>"]
    info = psc.TokenizerInfo.from_tokens(words, special_token_ids=[0], stop_token_ids=[129])
    compiler = psc.GrammarCompiler(info, store=False, registry=False)
    call = {"type": "const_string", "value": "1"}
    tags = [{"begin": b, "content": call, "end": "."} for b in (begin, "<c")]
    form = {"type": "triggered_tags", "triggers": [begin[:-1], "<c"], "tags": tags}
    with one_automaton():
        matcher = psc.GrammarMatcher(compiler.compile_structural_tag({"type": "structural_tag", "format": form}))
    before = begin.removesuffix("<ab>")
    assert matcher.accept_string("y<" + before)
    assert matcher.accept_token(0)
    assert matcher.accept_string("1.<c1." + before)
    assert matcher.accept_token(0)
    assert not matcher.accept_string("2")
