"""What matchers tell of the rules with the option `temperature`."""

import numpy as np
import pytest

import psc

VOCAB = ["a", "b", "x", "z", " "]
INFO = psc.TokenizerInfo(VOCAB, stop_token_ids=[])
BYTES = psc.TokenizerInfo([bytes([i]) for i in range(256)])


def matcher_of(text: str, default: float | None = 0.1, **named) -> psc.GrammarMatcher:
    grammar = psc.Grammar.from_lark("%llguidance {}\n" + text, named_grammars=named or None)
    return psc.GrammarMatcher(psc.GrammarCompiler(INFO, store=False).compile_grammar(grammar), default_temperature=default)


WALKS = {
    "a rule": ('start: "a" v "z"\nv[temperature=0.6]: "x"+', "axxz", (0.1, 0.6, 0.6, 0.6, 0.1)),
    "the root": ('start[temperature=2]: "a"+', "aa", (2, 2, 2)),
    "zero": ('start[temperature=0]: "a" "b"', "a", (0, 0)),
    "inner ones before outer ones": (
        'start: "a" v "z"\nv[temperature=0.6]: "x" w "b"\nw[temperature=0.3]: "a"',
        "axabz",
        (0.1, 0.6, 0.3, 0.6, 0.1, 0.1),
    ),
    "a rule that may be empty": ('start: v "z"\nv[temperature=0.6]: "x"*', "xz", (0.6, 0.6, 0.1)),
    "several, the highest": ('start: l | r\nl[temperature=0.2]: "a"+\nr[temperature=0.9]: "a" "b"', "aa", (0.9, 0.9, 0.2)),
    "through a rule between": ('start: "a" v\nv[temperature=0.6]: w\nw: "x" u\nu: "b"', "axb", (0.1, 0.6, 0.6, 0.1)),
    "recursive": ('start: v\nv[temperature=0.5]: "a" v "b" | "x"', "aaxb", (0.5, 0.5, 0.5, 0.5, 0.5)),
    "before what is ignored": ('start: v "z"\nv[temperature=0.6]: "x"\n%ignore " "', "x z", (0.6, 0.1, 0.1, 0.1)),
    "JSON": ('start: "a" v "z"\nv[temperature=0.6]: %json {"const": "x"}', 'a"x"z', (0.1, 0.6, 0.6, 0.6, 0.1, 0.1)),
    "lazy": ('start: "a" v "z"\nv[temperature=0.6, lazy]: "x"+', "axz", (0.1, 0.6, 0.1, 0.1)),
}


@pytest.mark.parametrize("case", WALKS)
def test_walks(case):
    grammar, text, expected = WALKS[case]
    matcher = matcher_of(grammar)
    found = [matcher.temperature]
    for character in text:
        assert matcher.accept_string(character)
        found.append(matcher.temperature)
    assert found == pytest.approx(expected)
    for i in range(len(text) - 1, -1, -1):
        matcher.rollback()
        assert matcher.temperature == pytest.approx(expected[i])


def test_without_a_default():
    matcher = matcher_of('start: "a" v\nv[temperature=0.6]: "x"', None)
    assert matcher.temperature is None
    assert matcher.accept_token(0) and matcher.temperature == pytest.approx(0.6)


def test_of_a_named_grammar():
    named = psc.Grammar.from_lark('start[temperature=0.3]: "x"')
    matcher = matcher_of('start: "a" v "z"\nv[temperature=0.6]: @item', item=named)
    assert matcher.accept_string("a") and matcher.temperature == pytest.approx(0.3)


def test_within_a_character():
    matcher = matcher_of('start: v | w\nv[temperature=0.6]: "é"\nw[temperature=0.9]: "x"')
    assert matcher.temperature == pytest.approx(0.9)
    assert matcher.accept_string("é".encode()[:1]) and matcher.temperature == pytest.approx(0.6)


def test_batches():
    matchers = [matcher_of('start[temperature=0.2]: "a"'), matcher_of('start: "a"', 0.4), matcher_of('start: "a"', None)]
    temperatures = np.zeros(4, np.float32)
    psc.BatchGrammarMatcher.batch_fill_temperature(matchers, temperatures, indices=[3, 0, 1])
    assert temperatures.tolist() == pytest.approx([0.4, -1, 0, 0.2])


def test_draft_trees():
    matcher = matcher_of('start: "a" v "z"\nv[temperature=0.6]: "x"+')
    child, sibling = np.array([1, 2, 3, -1, -1]), np.array([-1, 4, -1, -1, -1])
    tokens = np.array([0, 0, 2, 3, 1])  # a, x, z; and b, which may not come first
    bitmask = psc.allocate_token_bitmask(5, len(VOCAB))
    temperatures = np.zeros(5, np.float32)
    assert matcher.traverse_draft_tree(child, sibling, tokens, bitmask, temperatures=temperatures)
    assert temperatures.tolist() == pytest.approx([0.1, 0.6, 0.6, 0.1, -1])
    assert matcher.temperature == pytest.approx(0.1)


@pytest.mark.parametrize("grammar", ['root ::= "a" "b"', 'root[temperature=0.1] ::= v "b"\nv ::= "a"'])
def test_draft_trees_that_leave_the_text(grammar):
    info = psc.TokenizerInfo(["a", "b", "x", "</s>"], stop_token_ids=[3])
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(info, store=False).compile_grammar(grammar), default_temperature=0.1)
    child, sibling = np.array([1, 2, 3, 4, -1, 6, -1]), np.array([-1, 5, -1, -1, -1, -1, -1])
    tokens = np.array([0, 0, 1, 3, 0, 2, 0])  # a, b, the end, a; and x, a
    temperatures = np.zeros(7, np.float32)
    assert matcher.traverse_draft_tree(child, sibling, tokens, psc.allocate_token_bitmask(7, 4), temperatures=temperatures)
    assert temperatures.tolist() == pytest.approx([0.1, 0.1, 0.1, -1, -1, -1, -1])


def test_a_word_in_a_schema_is_no_temperature():
    schema = {
        "type": "object",
        "properties": {"temperature": {"type": "number"}, "capture": {"const": 1}},
        "required": ["temperature"],
    }
    for compiled in (
        psc.GrammarCompiler(BYTES, store=False).compile_json_schema(schema),
        psc.GrammarCompiler(BYTES, store=False).compile_structural_tag({"format": {"type": "json_schema", "json_schema": schema}}),
    ):
        matcher = psc.GrammarMatcher(compiled, default_temperature=0.3)
        assert matcher.accept_string('{"temp') and matcher.temperature == pytest.approx(0.3) and matcher.get_captures() == []


def test_in_a_structural_tag():
    grammar = 'root ::= v "!"\nv[capture, temperature=0.5] ::= [0-9]+'
    tag = {"format": {"type": "tag", "begin": "<t>", "content": {"type": "grammar", "grammar": grammar}, "end": "</t>"}}
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(BYTES, store=False).compile_structural_tag(tag))
    assert matcher.accept_string("<t>") and matcher.temperature == pytest.approx(0.5)
    assert matcher.accept_string("12!</t>") and matcher.temperature is None and matcher.get_captures() == [("v", b"12")]


def test_where_tokens_are_counted_and_no_rule_has_a_mark():
    schema = {"type": "object", "properties": {"temperature": {"type": "number"}}}
    parts = [{"type": "any_text", "max_tokens": 2, "excludes": ["{"]}, {"type": "json_schema", "json_schema": schema}]
    compiler = psc.GrammarCompiler(BYTES, store=False)
    matcher = psc.GrammarMatcher(
        compiler.compile_structural_tag({"format": {"type": "sequence", "elements": parts}}), default_temperature=0.3
    )
    assert matcher.accept_token(ord("x")) and matcher.temperature == pytest.approx(0.3) and matcher.get_captures() == []
